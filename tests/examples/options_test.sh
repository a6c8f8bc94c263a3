#!/usr/bin/env bash
# The gallery ($1: its folder) at the command line: --help, and what it says to mistakes.
set -uo pipefail
failed=0
# check EXIT_CODE PATTERN COMMAND...
check() {
  local want="$1" pattern="$2" out code; shift 2
  out="$("$@" 2>&1 </dev/null)"; code=$?
  if [ "$code" != "$want" ] || ! grep -qE -- "$pattern" <<<"$out"; then
    printf 'FAILED %s: exit code %s (wanted %s), pattern /%s/ in:\n%s\n' "$*" "$code" "$want" "$pattern" "$(head -c 1000 <<<"$out")"
    failed=1
  fi
}
for name in gpt2 whisper resnet control train lora minilm gguf_llama $([ -x "$1/example_vision" ] && echo vision); do
  check 0 "^usage: $name \[options\]" "$1/example_$name" --help
  check 0 '^  --[a-z]+ N +.*\(default [0-9]+\)$' "$1/example_$name" --help
  check 2 "^$name: unknown option '--frobnicate'" "$1/example_$name" --frobnicate
  check 2 "^$name: takes no 'word'" "$1/example_$name" word
done
check 2 "^gpt2: --layers is 'many', expected a whole number from 1 to 200" "$1/example_gpt2" --layers many
check 2 "^gpt2: --layers is '0', expected" "$1/example_gpt2" --layers 0
check 2 '^gpt2: --layers needs a value' "$1/example_gpt2" --layers
check 2 '^gpt2: --dim 65 is no multiple of --heads 8' "$1/example_gpt2" --dim 65
check 2 '^gpt2: --prompt and --tokens are 300 together, --context holds 256' "$1/example_gpt2" --prompt 100 --tokens 200 --context 256
check 2 '^whisper: --dim 66 is no even multiple' "$1/example_whisper" --dim 66
check 2 "^control: --force is 'nan', expected a number from 2 to 1000" "$1/example_control" --force nan
check 2 "^train: --device is 'tpu', expected cpu or cuda" "$1/example_train" --device tpu
check 1 "^train: .*/nowhere" "$1/example_train" --resume /nowhere
check 2 "^lora: cannot read '/nowhere'" "$1/example_lora" --text /nowhere
short=$(mktemp); echo short >"$short"
check 2 "^lora: '.*' has 6 bytes, and a piece takes" "$1/example_lora" --text "$short"; rm "$short"
# Options that the documents show are there.
root="$(cd "$(dirname "$0")/../.." && pwd)"
while read -r name options; do
  for option in $options; do
    case "$option" in
      --*) "$1/example_$name" --help | grep -q -- "^  $option " || { echo "FAILED the documents show ./run example $name $option"; failed=1; } ;;
    esac
  done
done < <(grep -rhoE '\./run example (gpt2|whisper|resnet|control|train|lora)[^#`]*' "$root/README.md" "$root/docs" | sed 's|./run example ||')
exit "$failed"
