#!/bin/bash
# Sources that use base/mutex.h, seen by clang's -Wthread-safety: what is guarded is read and written under its mutex.
#   check_threads.sh [FILE...]     these sources alone
# Without clang there is nothing to see with: it says so and goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
clang=$(command -v clang++ || command -v clang++-14 || true)
if [ -z "$clang" ]; then
  echo "check_threads: there is no clang++ here: not checked (apt install clang)" >&2
  exit 0
fi
rooms="base guards device tensor graph autograd passes kernels jit operators runtime validate import"
if [ $# -gt 0 ]; then
  files=("$@")
else
  # The sources that name a mutex, and those beside a header that does.
  mapfile -t files < <(grep -rlE 'MutexLock|REPRISE_(GUARDED_BY|REQUIRES)' --include='*.cc' --include='*.h' $rooms |
    sed 's/\.h$/.cc/' | sort -u | while read -r f; do [ -f "$f" ] && echo "$f"; done)
fi
llvm=$(llvm-config-19 --includedir 2>/dev/null || true)
check() {
  "$clang" -std=c++20 -fsyntax-only -Wno-everything -Wthread-safety -Werror=thread-safety -I. -Iinclude ${llvm:+-isystem "$llvm"} "$1" 2>&1 |
    grep -E 'error:|fatal' || true
}
export -f check
export clang llvm
found=$(printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I{} bash -c 'check {}')
if [ -n "$found" ]; then
  echo "$found" | sort -u
  exit 1
fi
echo "check_threads: ${#files[@]} sources are right"
