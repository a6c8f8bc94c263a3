#!/usr/bin/env bash
# Wrong programs: of each, every compiler that is here (g++, clang++) says among its first lines, and in few, what to do. The first line of a
# program has these words, behind "// expect: ".
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
include="$(cd "$here/../../../include" && pwd)"
export FIRST=20 ALL=40 WORK include
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT

# The header is compiled once for each compiler.
for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || continue
  mkdir -p "$WORK/$compiler/reprise"
  "$compiler" -std=c++20 -w -I"$include" -x c++-header "$include/reprise/reprise.h" -o "$WORK/$compiler/reprise/reprise.h.gch"
done

one() {  # COMPILER PROGRAM
  local expected said line lines header
  said="$WORK/$1.$(basename "$2")"
  expected=$(sed -n '1s#^// expect: ##p' "$2")
  [ -n "$expected" ] || { echo "$2: the first line expects nothing"; return 1; }
  header=("-I$WORK/$1")
  case "$1" in clang++) header=(-include-pch "$WORK/$1/reprise/reprise.h.gch") ;; esac
  if "$1" -std=c++20 -fsyntax-only "${header[@]}" -I"$include" "$2" >"$said" 2>&1; then
    echo "$2: $1 takes it"
    return 1
  fi
  line=$(grep -nF -- "$expected" "$said" | head -1 | cut -d: -f1)
  lines=$(wc -l <"$said")
  if [ "${line:-1000}" -gt "$FIRST" ] || [ "$lines" -gt "$ALL" ]; then
    printf '%s: %s says it in line %s of %s (at most %s of %s). Expected: %s\n' "$2" "$1" "${line:-none}" "$lines" "$FIRST" "$ALL" "$expected"
    head -30 "$said"
    return 1
  fi
}
export -f one

for compiler in "$WORK"/*/; do
  for program in "$here"/*.cc; do printf '%s %s\n' "$(basename "$compiler")" "$program"; done
done | xargs -P 2 -L 1 bash -c 'one "$0" "$1"' && echo "ok: $(find "$here" -name '*.cc' | wc -l) wrong programs"
