#!/usr/bin/env bash
# Every header compiles alone, without a warning: with the C++ compiler all of them, with clang (where there is one) those that users
# include. JOBS: how many at once (default: processors).
set -euo pipefail
cd "$(dirname "$0")/.."

llvm=/usr/lib/llvm-19/include
[ -d "$llvm" ] || llvm=$(llvm-config-19 --includedir 2>/dev/null || llvm-config --includedir)
cuda="${CUDA_HOME:-/usr/local/cuda}/include"
export FLAGS="-std=c++20 -fsyntax-only -Wall -Wextra -Werror -Wno-maybe-uninitialized -Wno-restrict -I. -Iinclude -isystem $llvm -isystem $cuda"

alone() {  # COMPILER HEADER
  # shellcheck disable=SC2086
  printf '#include "%s"\n' "$2" | "$1" $FLAGS $([ "$1" = clang++ ] && echo -Wno-unknown-warning-option) -x c++ - 2>"$DIR/$$" && rm "$DIR/$$" && return
  { printf 'check_headers: %s does not compile alone (%s):\n' "$2" "$1"; cat "$DIR/$$"; } >&2
  return 1
}
export -f alone
DIR=$(mktemp -d)
export DIR
trap 'rm -rf "$DIR"' EXIT

headers() {
  find include base guards device tensor graph autograd passes kernels jit operators runtime import -name '*.h' | sort |
    { [ -e "$cuda/cuda.h" ] && cat || grep -v '^device/cuda/'; }
}
{
  headers | sed 's/^/c++ /'
  if command -v clang++ >/dev/null; then headers | grep '^include/' | sed 's/^/clang++ /'; fi
} | xargs -P "${JOBS:-$(nproc 2>/dev/null || echo 2)}" -L 1 bash -c 'alone "$0" "$1"'
