#!/usr/bin/env bash
# Holds the floor plan of docs/map.md: a file includes only from its own room and from the rooms before it, and inside the large rooms
# only from the rooms that the table below names; LLVM is seen in jit/ alone, the CUDA driver in device/cuda/ alone (both also in
# their simulator, tests/cuda_sim), and the public headers include nothing but public headers.
set -euo pipefail
cd "$(dirname "$0")/.."
fail=0
report() { printf 'check_layers: %s\n%s\n' "$1" "$2" >&2; fail=1; }
# Lines of all sources, but of builds and of Python's packages.
everywhere() { grep -rnE "$1" --include=*.h --include=*.cc --include=*.inc --exclude-dir='build*' --exclude-dir=.venv . 2>/dev/null; }

rooms=(base guards device tensor comm graph autograd passes kernels jit operators runtime rt validate import)
above=""
for ((i = ${#rooms[@]} - 1; i >= 0; --i)); do
  room=${rooms[i]}
  if [ -n "$above" ]; then
    hits=$(grep -rnE "#include \"($above)/" "$room" --include=*.h --include=*.cc --include=*.inc 2>/dev/null || true)
    [ -z "$hits" ] || report "$room/ includes from a room after it:" "$hits"
  fi
  above="${above:+$above|}$room"
done

# The rooms inside kernels/, jit/ and runtime/: each, and those of the three that it may include from besides itself (of runtime/
# only its own are listed: it stands after the others).
inside=(
  'kernels/loop:'
  'kernels/launch:    kernels/loop'
  'kernels/reference: kernels/loop kernels/launch'
  'kernels/cpu:       kernels/loop kernels/launch kernels/reference'
  'kernels/gpu:       kernels/loop kernels/launch kernels/reference'
  'kernels/plan:      kernels/loop kernels/launch kernels/reference kernels/cpu kernels/gpu'
  'jit/engine:        kernels/loop'
  'jit/emit:          jit/engine kernels/loop'
  'jit/cpu/loop:      jit/engine jit/emit kernels/loop'
  'jit/cpu/micro:     jit/engine jit/emit jit/cpu/loop kernels/loop kernels/launch kernels/cpu'
  'jit/gpu:           jit/engine jit/emit'
  'jit/gpu/loop:      jit/engine jit/emit jit/gpu kernels/loop'
  'jit/gpu/kernels:   jit/engine jit/emit jit/gpu jit/gpu/loop kernels/loop kernels/launch kernels/gpu'
  'runtime/call:'
  'runtime/trace:     runtime/call'
  'runtime/replay:    runtime/call runtime/trace'
  'runtime/build:     runtime/call runtime/trace runtime/replay'
  'runtime/front:     runtime/call runtime/trace runtime/replay runtime/build'
  'runtime/users:     runtime/call runtime/trace runtime/replay runtime/build runtime/front'
  'runtime/export:    runtime/call runtime/trace runtime/replay runtime/build runtime/front'
)
known=" "
declare -A of=([kernels]="kernels|jit" [jit]="kernels|jit" [runtime]="runtime")
for line in "${inside[@]}"; do
  sub=${line%%:*} allowed=${line#*:}
  known+="$sub "
  for file in "$sub"/*.h "$sub"/*.cc "$sub"/*.def "$sub"/*.inc; do
    [ -e "$file" ] || continue
    for path in $(sed -nE "s,^ *#include \"((${of[${sub%%/*}]})/[^\"]+)\".*,\\1,p" "$file"); do
      from=${path%/*}
      [ "$from" = "$sub" ] || [[ " $allowed " = *" $from "* ]] ||
        report "$sub/ includes from a room inside ${from%%/*}/ that it must not know:" "$file: $path"
    done
  done
done
for file in $(find kernels jit runtime -name '*.*' -type f); do
  [[ "$known" = *" ${file%/*} "* ]] || report "a file stands in no room of the table:" "$file"
done

# Do not switch on OpId outside a column table (graph/op_column.h): add a column, or ask for the operator's class. Passes and traces may
# name operators that they make. The exception: functionalization asks the traced graph whether a write was the program's own copy_.
hits=$(grep -rnE '([=!]= *|case +|switch *\(.*)(graph::)?OpId::|OpId::[a-z_0-9]+ *[=!]=' passes kernels jit operators runtime --include=*.h --include=*.cc --include=*.inc 2>/dev/null |
  grep -vE '^passes/functionalize[a-z_]*\.cc:[0-9]+: .*= n\.op == OpId::copy;' || true)
[ -z "$hits" ] || report "an operator is asked for by its name:" "$hits"

hits=$(everywhere '#include [<"]llvm' | grep -vE '^\./(jit|tests/cuda(_sim|_sim_test)?)/' || true)
[ -z "$hits" ] || report "LLVM is seen outside jit/:" "$hits"
# What others see of jit/: its engine, and a compile.h for each kind of kernel. These are free of LLVM, so that nobody else compiles it.
hits=$(everywhere '#include "jit/' | grep -vE '^\./jit/|"jit/engine/|"jit/[^"]*/compile\.h"' || true)
[ -z "$hits" ] || report "of jit/ others include engine/ and compile.h alone:" "$hits"
seen=$(find jit/engine -name '*.h'; find jit -name compile.h)
# shellcheck disable=SC2086
hits=$(grep -nE '#include ([<"]llvm|"jit/([^e]|e[^n]))' $seen 2>/dev/null || true)
[ -z "$hits" ] || report "LLVM, or an emitter, is seen in a header of jit/ that other rooms include:" "$hits"
hits=$(everywhere '#include [<"]cuda(_runtime)?\.h' | grep -vE '^\./(device/cuda|tests/cuda(_sim|_sim_test)?)/' || true)
[ -z "$hits" ] || report "the CUDA driver is seen outside device/cuda/:" "$hits"
hits=$(everywhere '#include [<"]z3' | grep -vE '^\./validate/' || true)
[ -z "$hits" ] || report "Z3 is seen outside validate/:" "$hits"
hits=$(everywhere '#include [<"](google/protobuf|.*\.pb\.h)' | grep -vE '^\./import/onnx/decode\.cc' || true)
[ -z "$hits" ] || report "protobuf is seen outside import/onnx/decode.cc:" "$hits"
hits=$(grep -rnE '#include "' include 2>/dev/null | grep -v '#include "reprise/' || true)
[ -z "$hits" ] || report "a public header includes one that is not installed:" "$hits"

exit $fail
