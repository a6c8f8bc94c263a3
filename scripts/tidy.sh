#!/bin/bash
# clang-tidy (.clang-tidy) over sources: those that differ from a revision, or all.
#   tidy.sh [--all] [--since REV] [FILE...]      REV: origin/main, or main, where there is one; else HEAD
set -euo pipefail
cd "$(dirname "$0")/.."
tidy=$(command -v clang-tidy || command -v clang-tidy-14 || true)
if [ -z "$tidy" ]; then
  echo "tidy: there is no clang-tidy here (apt install clang-tidy)" >&2
  exit 2
fi
since="" all="" files=()
while [ $# -gt 0 ]; do
  case $1 in
    --all) all=1 ;;
    --since) since=${2:?tidy: --since takes a revision}; shift ;;
    -*) echo "tidy: takes --all, --since REV and files, not '$1'" >&2; exit 2 ;;
    *) files+=("$1") ;;
  esac
  shift
done
rooms='^(base|guards|device|tensor|graph|autograd|passes|kernels|jit|operators|runtime|validate|import|tools)/.*\.cc$'
if [ -n "$all" ]; then
  mapfile -t files < <(git ls-files '*.cc' | grep -E "$rooms")
elif [ ${#files[@]} = 0 ]; then
  if [ -z "$since" ]; then
    since=HEAD
    for rev in origin/main main; do git rev-parse -q --verify "$rev" >/dev/null && { since=$rev; break; }; done
  fi
  mapfile -t files < <({ git diff --name-only --diff-filter=d "$since"; git ls-files -o --exclude-standard; } | sort -u |
    grep -E "$rooms" || true)
fi
[ ${#files[@]} -gt 0 ] || { echo "tidy: no source differs from $since"; exit 0; }
llvm=$(llvm-config-19 --includedir 2>/dev/null || true)
look() {
  "$tidy" -quiet "$1" -- -std=c++20 -I. -Iinclude ${llvm:+-isystem "$llvm"} 2>/dev/null | grep -E 'error:|warning:' || true
}
export -f look
export tidy llvm
found=$(printf '%s\n' "${files[@]}" | xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'look {}' | sort -u)
if [ -n "$found" ]; then
  echo "$found"
  exit 1
fi
echo "tidy: ${#files[@]} sources are right"
