#!/usr/bin/env bash
# Holds the floor plan of docs/map.md: a file includes only from its own room and from the rooms before it; LLVM is seen
# in jit/ alone, the CUDA driver in device/cuda/ alone (both also in their simulator, tests/cuda_sim), and the public headers include nothing but public headers.
set -euo pipefail
cd "$(dirname "$0")/.."
fail=0
report() { printf 'check_layers: %s\n%s\n' "$1" "$2" >&2; fail=1; }

rooms=(base guards device tensor graph passes kernels jit runtime)
above=""
for ((i = ${#rooms[@]} - 1; i >= 0; --i)); do
  room=${rooms[i]}
  if [ -n "$above" ]; then
    hits=$(grep -rnE "#include \"($above)/" "$room" --include=*.h --include=*.cc --include=*.inc 2>/dev/null || true)
    [ -z "$hits" ] || report "$room/ includes from a room after it:" "$hits"
  fi
  above="${above:+$above|}$room"
done

hits=$(grep -rnE '#include [<"]llvm' --include=*.h --include=*.cc . 2>/dev/null | grep -vE '^\./(jit|tests/cuda(_sim|_sim_test)?|build[^/]*)/' || true)
[ -z "$hits" ] || report "LLVM is seen outside jit/:" "$hits"
hits=$(grep -rnE '#include [<"]llvm' jit --include=*.h 2>/dev/null | grep -v 'jit/engine.h\|jit/emit' || true)
[ -z "$hits" ] || report "LLVM is seen in a header that other rooms include:" "$hits"
hits=$(grep -rnE '#include [<"]cuda(_runtime)?\.h' --include=*.h --include=*.cc . 2>/dev/null | grep -vE '^\./(device/cuda|tests/cuda(_sim|_sim_test)?|build[^/]*)/' || true)
[ -z "$hits" ] || report "the CUDA driver is seen outside device/cuda/:" "$hits"
hits=$(grep -rnE '#include "' include 2>/dev/null | grep -v '#include "reprise/' || true)
[ -z "$hits" ] || report "a public header includes one that is not installed:" "$hits"

exit $fail
