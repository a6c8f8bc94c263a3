#!/usr/bin/env bash
# The command-line tool ($1), the language model ($2) and the quantized one ($3) as a user meets them: what they print, and what they say to mistakes.
set -uo pipefail
tool="$1" llama="$2" quantized="$3"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failed=0
# Most of these programs compile the same kernels: only those whose compilations are looked at make them anew.
export REPRISE_CACHE_DIR="$work/shared"

# check NAME EXIT_CODE PATTERN COMMAND...: the exit code, and a pattern in stdout and stderr together.
check() {
  local name="$1" want="$2" pattern="$3"; shift 3
  local out code
  out="$("$@" 2>&1 </dev/null)"; code=$?
  if [ "$code" != "$want" ] || ! grep -qE -- "$pattern" <<<"$out"; then
    printf 'FAILED %s: exit code %s (wanted %s), pattern /%s/ in:\n%s\n' "$name" "$code" "$want" "$pattern" "$(head -c 2000 <<<"$out")"
    failed=1
  else
    printf 'ok     %s\n' "$name"
  fi
}

check "info" 0 '^cpu ' "$tool" info
check "info says why there is no GPU, or that there is one" 0 '^gpu +.+' "$tool" info
check "ops lists schemas" 0 '^softmax\(Tensor self' "$tool" ops softmax
check "every operator of tensors has dtypes" 0 '^none$' bash -c '"$0" ops | grep -B2 "dtypes: $" | grep "Tensor.*self" || echo none' "$tool"
check "ops lists columns" 0 'known: reference kernel, pointwise formula' "$tool" ops expm1
check "ops of nothing" 1 'no operator' "$tool" ops no_such_operator
check "settings lists variables" 0 '^REPRISE_RECORDINGS_MAX \(int, default 256\)$' "$tool" settings
check "settings show what is set" 0 '^REPRISE_THREADS .* = 1$' env REPRISE_THREADS=1 "$tool" settings
check "settings name what is none" 1 'unknown variable REPRISE_MODEL; did you mean REPRISE_MODE' env REPRISE_MODEL=x "$tool" settings
check "patterns that are none" 0 "unknown pattern 'gelo'; did you mean 'gelu'\\? There are: " env REPRISE_PATTERNS=gelo "$llama" "Hello" --tokens 2
check "log-schema is a schema" 0 'json-schema.org/draft/2020-12' "$tool" log-schema
check "log-schema takes nothing" 2 'takes no arguments' "$tool" log-schema x
printf 'GGUF\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\14\0\0\0\0\0\0\0general.name\10\0\0\0\4\0\0\0\0\0\0\0de\33o' >"$work/small.gguf"
check "gguf shows metadata, and passes no escape on" 0 '^  general.name +a text +"de\\x1bo"$' "$tool" gguf "$work/small.gguf"
check "gguf of what is none" 1 "does not begin with 'GGUF'" "$tool" gguf "$0"
check "gguf of nothing" 2 'usage: reprise gguf FILE' "$tool" gguf
check "help" 0 'usage: reprise' "$tool" help
check "unknown command" 2 "unknown command 'frobnicate'" "$tool" frobnicate
check "no command" 2 'usage: reprise' "$tool"
check "explain a missing file" 1 'cannot read' "$tool" explain "$work/none.jsonl"
printf 'not json\n' >"$work/bad.jsonl"
check "explain what is no log" 1 'not JSON objects' "$tool" explain "$work/bad.jsonl"
check "explain a folder" 1 'cannot read' "$tool" explain "$work"
printf '%s\n' '{"event":"compiled","function":"f\u001b[31m/1","t_us":1e300,"guards":18446744073709551615}' '{"event":"not_traceable","function":"f/1","reason":"\u001b]0;title\u0007\u009b"}' >"$work/hostile.jsonl"
check "explain passes no escape on" 0 '^f\\x1b\[31m$' "$tool" explain "$work/hostile.jsonl"
check "explain passes none of a reason on" 0 'served eagerly: \\x1b\]0;title\\x07\\xc2\\x9b$' "$tool" explain "$work/hostile.jsonl"
# 8 MB, in which each recompilation once looked through all compilations.
awk 'BEGIN { for (i = 0; i < 100000; ++i) printf "{\"event\":\"compiled\",\"function\":\"f/%d\"}\n{\"event\":\"recompiled\",\"function\":\"f/%d\"}\n", i, i }' >"$work/long.jsonl"
check "explain a long log" 0 '100000 compilations' timeout 20 "$tool" explain "$work/long.jsonl"
check "an empty mode is none" 0 'tokens/s' env REPRISE_MODE= "$llama" "Hello" --tokens 5
check "a mode that is none" 0 'REPRISE_MODE=fast is none of off, interpret, no-fuse, full; ignored' env REPRISE_MODE=fast "$tool" ops softmax
REPRISE_CACHE_DIR=off REPRISE_LOG_FILE="$work/log.jsonl" "$llama" "Hello" --tokens 4 --json >"$work/out.json" 2>/dev/null
check "explain a log" 0 'compilations?$' "$tool" explain "$work/log.jsonl"
check "explain says what to do first" 0 '^  1\. llama: compiled again' "$tool" explain "$work/log.jsonl"
check "explain shows phases" 0 'machine code' "$tool" explain "$work/log.jsonl"
check "a report" 0 'report.html$' "$tool" report "$work/log.jsonl" -o "$work/report.html"
check "a report has the functions" 0 'class="function" data-name="llama' cat "$work/report.html"
check "a report of nothing" 2 'report takes a log' "$tool" report
check "each command helps" 0 '^7$' bash -c 'n=0; for c in info ops gguf settings log-schema explain report; do "$0" $c --help | grep -q "^usage: reprise $c" && n=$((n + 1)); done; echo $n' "$tool"
check "a log that cannot be written" 0 'REPRISE_LOG_FILE: cannot write' env REPRISE_LOG_FILE=/no/such/x.jsonl "$llama" "Hello" --tokens 4
check "explain names recompilations" 0 'did not fit' "$tool" explain "$work/log.jsonl"
check "a JSON object with every key" 0 '"text": .*"prompt_tokens": 5, "tokens": 4, "tokens_per_second": .*"eager_tokens_per_second": .*"compilations": .*"recordings": .*"pool_bytes": .*"copied_bytes": 0, .*"dispatch_ns": .*"bandwidth_fraction": ' cat "$work/out.json"

check "a table at the end" 0 'guards and dispatch' "$llama" "Hello" --tokens 5
check "eager" 0 'eager +[0-9]+ tokens/s' "$llama" "Hello" --tokens 5 --eager
check "empty prompt" 1 'the prompt is empty' "$llama" ""
check "prompt longer than the cache" 1 'the prompt has 600 bytes, the cache holds 512' "$llama" "$(printf 'a%.0s' $(seq 600))"
check "unknown option" 2 "unknown option '--frob'" "$llama" --frob
check "a number that is none" 2 "--tokens is 'many'" "$llama" --tokens many
check "a negative number" 2 "--tokens is '-3'" "$llama" --tokens -3
check "two prompts" 2 'one prompt at a time' "$llama" one two
check "a device that is not here" 1 "device 'tpu'" "$llama" hi --device tpu
if [ -n "${REPRISE_TEST_SIMULATOR:-}" ]; then
  check "info says who serves matrix products" 0 '^products +cuBLASLt [0-9.]+ \(' env REPRISE_CUDA_DRIVER="$REPRISE_TEST_SIMULATOR" REPRISE_CUBLASLT="$(dirname "$REPRISE_TEST_SIMULATOR")/blaslt/libreprise_blaslt_sim.so" "$tool" info
  check "info says why no library serves them" 0 '^products +own kernels \(nothere.so: cannot open' env REPRISE_CUDA_DRIVER="$REPRISE_TEST_SIMULATOR" REPRISE_CUBLASLT=nothere.so "$tool" info
  check "on CUDA the same text" 0 '^same$' env REPRISE_CUDA_DRIVER="$REPRISE_TEST_SIMULATOR" bash -c '[ "$("$0" "It is a" --tokens 6 --temperature 0 | head -1)" = "$("$0" "It is a" --tokens 6 --temperature 0 --device cuda | head -1)" ] && echo same' "$llama"
fi
# A timeline, from the beginning to the end of a process.
REPRISE_CACHE_DIR=off REPRISE_TRACE="$work/trace.json" "$llama" "Hello" --tokens 4 >/dev/null 2>&1
check "a timeline is one array" 0 '^whole$' bash -c 'head -c 2 "$0" | grep -q "^\[" && [ "$(tail -n 1 "$0")" = "]" ] && echo whole' "$work/trace.json"
check "a timeline has calls" 0 '"ph":"X","cat":"call","name":"llama' cat "$work/trace.json"
check "a timeline that cannot be written" 0 'REPRISE_TRACE: cannot write' env REPRISE_TRACE=/no/such/x.json "$llama" "Hello" --tokens 4
check "a timeline of few bytes" 0 'REPRISE_TRACE_BYTES\) and ends here' env REPRISE_TRACE="$work/few.json" REPRISE_TRACE_BYTES=5000 "$llama" "Hello" --tokens 4
if [ -n "${REPRISE_TEST_SIMULATOR:-}" ]; then
  REPRISE_TRACE="$work/cuda.json" REPRISE_CUDA_DRIVER="$REPRISE_TEST_SIMULATOR" "$llama" "Hello" --tokens 2 --device cuda >/dev/null 2>&1
  check "a timeline of a device has its graphs" 0 '"name":"start a graph of [0-9]+ launches"' cat "$work/cuda.json"
fi
check "no CUDA without a driver, and why" 1 "device 'cuda': (no CUDA driver|this build has no CUDA)" env REPRISE_CUDA_DRIVER=/nonexistent.so "$llama" hi --device cuda
check "a model file that is missing" 1 'none.safetensors' "$llama" hi --model "$work/none.safetensors"
head -c 1000 "$(dirname "$0")/../../examples/llama/model.safetensors" >"$work/cut.safetensors"
check "a model file that is cut off" 1 'cut.safetensors' "$llama" hi --model "$work/cut.safetensors"
check "the same seed, the same text" 0 '^same$' bash -c '[ "$("$0" "The" --tokens 20 --seed 3 | head -1)" = "$("$0" "The" --tokens 20 --seed 3 | head -1)" ] && echo same' "$llama"
check "a table of what launches took" 0 'linear.*model.cc:[0-9]+' bash -c 'REPRISE_PROFILE=1 "$0" "Hello" --tokens 5 2>&1 >/dev/null' "$llama"
check "and of eager operators" 0 'this machine copies [0-9.]+ GB/s' bash -c 'REPRISE_PROFILE=1 REPRISE_MODE=off "$0" "Hello" --tokens 2 2>&1 >/dev/null' "$llama"
# What one process compiled the next one finds; nothing of it with a folder that anybody can write.
mkdir "$work/open" && chmod 777 "$work/open"
check "kernels are kept" 0 'tokens/s' env REPRISE_CACHE_DIR="$work/kernels" "$llama" "Hello" --tokens 5
check "and found" 0 '^same$' bash -c 'before=$(ls "$1" | wc -l); [ "$before" -gt 5 ] && REPRISE_CACHE_DIR="$1" "$0" "Hello" --tokens 5 >/dev/null && [ "$(ls "$1" | wc -l)" = "$before" ] && echo same' "$llama" "$work/kernels"
check "a folder for everybody is not used" 0 'others than its owner can write' env REPRISE_CACHE_DIR="$work/open" "$llama" "Hello" --tokens 5
# One source in three formats: nothing is served eagerly or copied, and the quantized ones nearly agree with the first.
REPRISE_CACHE_DIR=off "$quantized" "She said" --tokens 60 --json >"$work/formats.json" 2>/dev/null
tr '}' '\n' <"$work/formats.json" >"$work/formats.txt"
# field FORMAT NAME: a number of its row.
field() { grep "\"format\": \"$1\"" "$work/formats.txt" | sed -E "s/.*\"$2\": ([0-9.]+).*/\1/"; }
for format in bf16 int8 fp8; do
  check "$format agrees with the first on the next byte" 0 '^yes$' awk -v a="$(field $format agrees)" 'BEGIN { print (a >= 0.85 ? "yes" : "agrees in " a) }'
  check "$format compiles twice, copies nothing and is never eager" 0 '^[12] 0 0$' echo "$(field $format compilations)" "$(field $format copied_bytes)" "$(field $format eager_fallbacks)"
done
check "int8 reads little more than half of the bytes" 0 '^yes$' awk -v a="$(field bf16 weight_bytes)" -v b="$(field int8 weight_bytes)" 'BEGIN { print (b > 0 && b < 0.6 * a ? "yes" : b " of " a) }'
check "formats: a table" 0 '^int8 +[0-9]+ ' "$quantized" "Hello" --tokens 5 --formats bf16,int8
check "formats: a kernel of one's own is found where the model quantizes a norm" 0 'rms_norm_int8 [1-9]' "$quantized" "Hello" --tokens 5 --formats int8 --fused-norm
check "formats: random weights" 0 '^fp8 +[0-9]+ ' "$quantized" --random 128x2 --tokens 5 --formats fp8
check "formats: help" 0 'usage: quantized_llama' "$quantized" --help
check "formats: one that is none" 2 "--formats has 'int4', expected bf16, int8 or fp8" "$quantized" --formats bf16,int4
check "formats: a size that is none" 2 "--random is '128', expected DIMxLAYERS" "$quantized" --random 128
check "formats: a size that heads do not fit" 2 'a multiple of 64' "$quantized" --random 100x2
check "formats: too many bytes" 2 'context holds 512' "$quantized" --tokens 600
check "formats: unknown option" 2 "unknown option '--frob'" "$quantized" --frob
check "formats: a model file that is missing" 1 'none.safetensors' "$quantized" hi --model "$work/none.safetensors"
exit $failed
