#!/usr/bin/env bash
# ./run bench --since REVISION: builds that revision beside this one, measures both in turns, and says which figures have fallen
# by more than they vary. BUILD, then the arguments. BUILD "": only looks at the arguments.
set -euo pipefail
cd "$(dirname "$0")/.."
build="$1"; shift
usage="usage: ./run bench --since REVISION [--rounds N (default 5)] [--only GROUP]"
revision="" rounds=5 only=()
while [ $# -gt 0 ]; do
  case "$1" in
    --rounds) rounds="${2:?$usage}"; shift 2 ;;
    --only) only=(--only "${2:?$usage}"); shift 2 ;;
    -*) echo "$usage" >&2; exit 2 ;;
    *) [ -z "$revision" ] || { echo "$usage" >&2; exit 2; }; revision="$1"; shift ;;
  esac
done
[ -n "$revision" ] || { echo "$usage" >&2; exit 2; }
case "$rounds" in '' | *[!0-9]* | 0) echo "bench: --rounds takes a number from 1 on, not '$rounds'" >&2; exit 2 ;; esac
commit=$(git rev-parse --verify --quiet "$revision^{commit}") || { echo "bench: there is no revision '$revision' here" >&2; exit 2; }
[ -n "$build" ] || exit 0

old="$(realpath -m "$build")/since/$commit"
if [ ! -e "$old/done" ]; then
  echo "bench: building ${commit:0:12} in $old" >&2
  rm -rf "$old"
  mkdir -p "$old/source"
  git archive "$commit" | tar -x -C "$old/source"
  (cd "$old/source" && cmake --preset "${PRESET:-release}" -B "$old/build" -DREPRISE_BUILD_TESTS=OFF -DREPRISE_BUILD_BENCH=ON >&2)
  cmake --build "$old/build" -j "${JOBS:-$(nproc)}" --target reprise_figures >&2
  touch "$old/done"
fi
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
mkdir "$results/before" "$results/now"
for round in $(seq "$rounds"); do
  echo "bench: round $round of $rounds" >&2
  "$old/build/bench/reprise_figures" --json "${only[@]}" >"$results/before/$round.json" 2>/dev/null
  "$build/bench/reprise_figures" --json "${only[@]}" >"$results/now/$round.json" 2>/dev/null
done
"$build/bench/reprise_figures" --since "$results/before" "$results/now"
