#!/usr/bin/env bash
# Runs ONNX's backend node tests, eagerly and compiled, and prints "N passed, M failed, K skipped" last. Which are skipped, and which may be served eagerly, stands in the
# tables of docs/onnx.md, which are read here; a compiled call that is served eagerly and does not stand there is a failure.
#
#   scripts/onnx_backend.sh [PATTERN]      PATTERN: of folders, e.g. 'test_conv*'
#
# The PyPI package onnx, which is installed into .venv, writes the tests (ONNX_TESTS: a folder that has them, instead).
# BUILD_DIR (default build).
set -euo pipefail
cd "$(dirname "$0")/.."
version=1.23.2  # operator set 28
build_dir="${BUILD_DIR:-build}"
pattern="${1:-test_*}"
if [ -z "${ONNX_TESTS:-}" ]; then
  [ -x .venv/bin/python ] || python3 -m venv .venv
  .venv/bin/python -c "import onnx; assert onnx.__version__ == '$version'" 2>/dev/null || .venv/bin/python -m pip install --quiet "onnx==$version" >&2
  ONNX_TESTS="$build_dir/onnx_node_tests_$version/node"
  [ -d "$ONNX_TESTS" ] || .venv/bin/python -W ignore - "$build_dir/onnx_node_tests_$version" <<'END'
import argparse, sys
import onnx.backend.test.case.model as models
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.cmd_tools import generate_data

cases = collect_testcases()
models.collect_testcases = lambda: cases
generate_data(argparse.Namespace(output=sys.argv[1]))
END
fi
[ -d "$ONNX_TESTS" ] || { echo "onnx_backend.sh: no folder '$ONNX_TESTS'" >&2; exit 1; }
cmake --build "$build_dir" --target reprise_onnx_backend >&2

# The patterns of a table: the first column of the rows between two marks.
listed() { sed -n "/<!-- $1 -->/,/<!-- end -->/p" docs/onnx.md | sed -nE 's/^\| (`[^|]*`) \|.*/\1/p' | tr -d '`,' | tr ' ' '\n'; }
mapfile -t skips < <(listed skipped)
mapfile -t eagers < <(listed 'served eagerly')
is_in() {
  local name="$1" glob; shift
  for glob in "$@"; do
    # shellcheck disable=SC2053
    [[ "$name" == $glob ]] && return 0
  done
  return 1
}

skipped=0 run=()
for folder in "$ONNX_TESTS"/$pattern; do
  [ -f "$folder/model.onnx" ] || continue
  if is_in "$(basename "$folder")" "${skips[@]}"; then skipped=$((skipped + 1)); else run+=("$folder"); fi
done
results=$(mktemp)
trap 'rm -f "$results"' EXIT
[ ${#run[@]} -eq 0 ] || REPRISE_CACHE_DIR=off "$build_dir/tools/reprise_onnx_backend" "${run[@]}" >"$results" || true
passed=0 failed=0 eager=0
while read -r how name why; do
  name="${name%:}"
  case "$how" in
    passed) passed=$((passed + 1)) ;;
    eager)
      if is_in "$name" "${eagers[@]}"; then passed=$((passed + 1)); eager=$((eager + 1)); else failed=$((failed + 1)); echo "failed $name: served eagerly: $why"; fi
      ;;
    *) failed=$((failed + 1)); echo "failed $name: $why" ;;
  esac
done <"$results"
[ "$eager" -eq 0 ] || echo "of those that passed, $eager were served eagerly, as docs/onnx.md lists"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
