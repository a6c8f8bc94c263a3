#!/usr/bin/env bash
# A libtorch program ported by examples/torch_llama/port.sed and at most 6 lines by hand; the port ($1) compiled and eager writes the same.
set -euo pipefail
folder="$(cd "$(dirname "$0")/../.." && pwd)/examples/torch_llama"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

lines="$(wc -l <"$folder/llama_torch.cpp")"
sed -E -f "$folder/port.sed" "$folder/llama_torch.cpp" >"$work/mechanical.cc"
diff "$work/mechanical.cc" "$folder/llama.cc" >"$work/by_hand" || true
# A line that is replaced counts once, one that is added or taken away, too.
gone="$(grep -c '^<' "$work/by_hand" || true)" made="$(grep -c '^>' "$work/by_hand" || true)"
changed=$((gone > made ? gone : made))
echo "$changed of $lines lines changed by hand"
if ! diff <(sed -n '/^```diff$/,/^```$/p' "$folder/../../docs/from_libtorch.md" | sed '1d;$d') "$work/by_hand"; then echo "docs/from_libtorch.md shows other lines"; exit 1; fi
[ "$lines" -ge 210 ] && [ "$changed" -gt 0 ] && [ "$changed" -le 6 ]

# rule LINE WANTED: what the script makes of a line.
rule() {
  local got
  got="$(sed -E -f "$folder/port.sed" <<<"$1")"
  [ "$got" = "$2" ] || { printf 'port.sed makes\n  %s\nof\n  %s\nnot\n  %s\n' "$got" "$1" "$2"; exit 1; }
}
rule '#include <torch/script.h>' '#include <reprise/compat.h>'
rule '  const int64_t n = x.size(0), m = x.size(1);' '  const torch::Int n = x.size(0), m = x.size(1);'
rule '  int64_t n = layer.weight.numel();' '  torch::Int n = layer.weight.numel();'
rule '  int64_t n = 3;' '  int64_t n = 3;'

REPRISE_MODE=full "$1" 40 >"$work/compiled" 2>"$work/log"
REPRISE_MODE=off "$1" 40 >"$work/eager" 2>>"$work/log"
[ -s "$work/compiled" ]
cmp "$work/compiled" "$work/eager"
REPRISE_MODE=full REPRISE_LOG=recompiles "$1" 40 2>&1 >/dev/null | tee "$work/recompiles"
# The prompt, and one token at a time.
[ "$(grep -c 'new specialization' "$work/recompiles")" -le 1 ]
