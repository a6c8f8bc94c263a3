#!/usr/bin/env bash
# Runs everything that concerns CUDA on a machine with a GPU that has neither LLVM nor a compiler.
#
#   scripts/gpu.sh bundle           build here, LLVM linked in, and gather it in gpu-bundle/ (under 60 MiB)
#   scripts/gpu.sh run [OPTION...]  in a checkout beside gpu-bundle/: tests, compute-sanitizer on a part of them where it
#                                   works, measurements of Reprise and of its peers (PyTorch, Triton)
#   scripts/gpu.sh                  both, one after the other
#
# Options of run:
#   --tests, --bench   only the one or the other
#   --suite NAME       only this suite of tests: cuda llama runtime gpu_kernels gpu_loop random ops products-own products-library
#                      demo sanitizer
#   --seconds N        what the tests may take in all, and the measurements likewise (default 540; 3600 with --simulator). A
#                      suite at its limit is stopped and reported, and the next one runs.
#   --out DIR          where results go (default bench/results)
#   --simulator        the simulator of the driver instead of a GPU, with small sizes: shows that the script works
#
# Results, in DIR/<gpu>-<date>, written while it runs, so that a run that is cut off leaves what was done:
#   .tests.json .bench.json (.test-NAME.json)   what ran, on what, and how it ended
#   .tests.txt .bench.txt                       the same as a table, with the measurements
#   .figures.json .nodes.json .peers.json       the measurements; the second with REPRISE_CUDA_POINTERS=nodes
#   .tests.log .bench.log                       of what failed
#
# Kept from run to run: CUDA_CACHE_PATH and REPRISE_CACHE_DIR (and Triton's), under TMPDIR unless they are set. PYTHON:
# the peers' interpreter. FUZZ_PROGRAMS: random programs to run.
set -euo pipefail
cd "$(dirname "$0")/.."
bundle_dir=gpu-bundle
build_dir="${BUILD_DIR:-build-gpu}"
most_bytes=$((60 << 20))
tests=(cuda llama runtime gpu_kernels gpu_loop random ops)  # long ones last

say() { printf 'gpu.sh: %s\n' "$*" >&2; }

bundle() {
  local missing=()
  [ -e /usr/lib/llvm-19/lib/libLLVMNVPTXCodeGen.a ] || missing+=(llvm-19-dev)
  [ -e /usr/include/zstd.h ] || missing+=(libzstd-dev)
  [ -e /usr/include/zlib.h ] || missing+=(zlib1g-dev)
  [ -e /usr/include/gtest/gtest.h ] || missing+=(libgtest-dev)
  [ -e /usr/include/benchmark/benchmark.h ] || missing+=(libbenchmark-dev)
  if [ ${#missing[@]} -gt 0 ]; then
    say "missing packages: ${missing[*]} (apt-get install ${missing[*]})"
    exit 1
  fi
  cmake -G Ninja -B "$build_dir" -DCMAKE_BUILD_TYPE=Release -DREPRISE_BUILD_TESTS=ON -DREPRISE_BUILD_BENCH=ON -DREPRISE_BUILD_EXAMPLES=ON -DBUILD_SHARED_LIBS=ON -DREPRISE_STATIC_LLVM=ON -DREPRISE_EXPORT_INTERNALS=ON -DREPRISE_TEST_ROOT=. \
    '-DCMAKE_BUILD_RPATH=$ORIGIN/../lib' >&2
  local targets=(llama reprise_tool reprise_device_figures) t
  for t in "${tests[@]}"; do [ ! -d "tests/$t" ] || targets+=("test_$t"); done
  [ ! -d tests/cuda_sim ] || targets+=(reprise_cuda_sim reprise_blaslt_sim)
  cmake --build "$build_dir" -j "${JOBS:-$(nproc)}" --target "${targets[@]}" >&2
  rm -rf "$bundle_dir"
  mkdir -p "$bundle_dir/bin" "$bundle_dir/lib"
  cp "$build_dir/examples/llama" "$build_dir/tools/reprise" "$build_dir/bench/reprise_device_figures" "$bundle_dir/bin/"
  for t in "${tests[@]}"; do [ ! -x "$build_dir/tests/test_$t" ] || cp "$build_dir/tests/test_$t" "$bundle_dir/bin/"; done
  cp "$build_dir"/libreprise.so.0 "$bundle_dir/lib/"  # the name that programs ask for
  # What a machine may lack: everything but the C library and the loader.
  ldd "$build_dir/libreprise.so" | awk '/=> \//{print $3}' | grep -vE '/(libc|libm|libdl|librt|libpthread)\.so' |
    while read -r lib; do cp -L "$lib" "$bundle_dir/lib/"; done
  strip "$bundle_dir"/bin/* "$bundle_dir"/lib/*.so*
  git rev-parse --short HEAD > "$bundle_dir/commit" 2>/dev/null || echo unknown > "$bundle_dir/commit"
  local bytes
  bytes=$(du -sb "$bundle_dir" | cut -f1)
  say "$bundle_dir: $((bytes >> 20)) MiB"
  if [ "$bytes" -gt "$most_bytes" ]; then
    say "that is more than the 60 MiB it may have"
    exit 1
  fi
}

# ---- what a run leaves: steps of the part that runs (tests or bench), in $stem.$part.json and .txt
json_string() { printf '"%s"' "$(printf '%s' "$1" | tr '\n\t' '  ' | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"; }

write_json() {
  local i
  {
    printf '{\n "gpu": %s,\n "driver": %s,\n "products": %s,\n "commit": %s,\n "date": %s,\n "seconds": %d,\n "running": %s,\n "steps": [' \
      "$(json_string "$gpu")" "$(json_string "$driver")" "$(json_string "$products")" "$(json_string "$commit")" "\"$(date +%F)\"" $((SECONDS - began)) \
      "$(json_string "$running")"
    for ((i = 0; i < ${#steps[@]}; ++i)); do printf '%s\n  %s' "$([ "$i" = 0 ] || echo ,)" "${steps[i]}"; done
    printf '\n ]\n}\n'
  } > "$stem.$part.json.new"
  mv "$stem.$part.json.new" "$stem.$part.json"
}

table() { tee -a "$stem.$part.txt"; }

# begin_part NAME: its files, its time.
begin_part() {
  part=$1 steps=() running="" began=$SECONDS
  rm -f "$stem.$part.log"
  printf '%s, driver %s, commit %s, %s\nproducts: %s\n' "$gpu" "$driver" "$commit" "$(date +%F)" "$products" | tee "$stem.$part.txt"
  write_json
}

begin() { running=$1 step_began=$SECONDS; write_json; }

# record NAME STATUS [DETAIL]: STATUS is passed, failed, timed out, or not run.
record() {
  local took=0
  [ "$running" != "$1" ] || took=$((SECONDS - step_began))
  running=""
  steps+=("{\"name\": $(json_string "$1"), \"status\": $(json_string "$2"), \"detail\": $(json_string "${3:-}"), \"seconds\": $took}")
  printf '%-18s %s%s (%d s)\n' "$1" "$2" "${3:+: $3}" "$took" | table
  case "$2" in failed | "timed out") failed+=("$1") ;; esac
  write_json
}

# time_for PERCENT: seconds that a step may take of those left; a few stay for writing down how it ended.
time_for() { echo $(((seconds - (SECONDS - began) - 8) * $1 / 100)); }
enough_time() { [ "$1" -ge 5 ] || { record "$2" "not run" "no time left of $seconds s"; failed+=("$2"); return 1; }; }
keep_log() { { printf '==== %s\n' "$1"; grep -avE '^\[ (RUN  |      OK) ' "$log" | tail -n 400; } >> "$stem.$part.log" || true; }

# limited SECONDS COMMAND...: as timeout does, but in the background, so that a run that is ended ends it, too.
limited() {
  local rc=0
  timeout -k 5 "$@" &
  child=$!
  wait "$child" || rc=$?
  child=""
  return $rc
}

ended() {
  [ -z "$child" ] || kill "$child" 2> /dev/null || true
  [ -z "$running" ] || record "$running" failed "cut off"
  rm -f "$log" "$scratch/$$".*.json
}

wanted() { [ -z "$suite" ] || [ "$suite" = "$1" ]; }

# test_suite NAME PERCENT COMMAND...: a GoogleTest program.
test_suite() {
  local name=$1 limit rc=0 counts last bad skipped
  limit=$(time_for "$2")
  shift 2
  enough_time "$limit" "$name" || return 0
  begin "$name"
  limited "$limit" "$@" > "$log" 2>&1 || rc=$?
  counts=$(grep -acE '^\[       OK \] ' "$log") || true
  bad=$(grep -acE '^\[  FAILED  \] .* ms\)$' "$log") || true
  skipped=$(grep -acE '^\[  SKIPPED \] .* ms\)$' "$log") || true
  counts+=" passed"
  [ "$skipped" = 0 ] || counts+=", $skipped skipped"
  [ "$bad" = 0 ] || counts+=", $bad failed"
  last=$(grep -aE '^\[ RUN      \] ' "$log" | tail -1 | cut -c14-) || true
  case $rc in
    0) record "$name" passed "$counts" ;;
    124 | 137) record "$name" "timed out" "after $limit s in $last: $counts" ;;
    1) record "$name" failed "$counts" ;;
    *) record "$name" failed "exit $rc in ${last:-its start}: $counts; $(tail -n 1 "$log" | cut -c1-200)" ;;
  esac
  [ $rc = 0 ] || keep_log "$name"
}

sanitizer() {
  local tool limit rc=0 words
  tool=$(PATH="$PATH:/usr/local/cuda/bin" command -v compute-sanitizer) || { record sanitizer "not run" "no compute-sanitizer"; return 0; }
  [ -z "$simulator" ] || { record sanitizer "not run" "the simulator is no GPU"; return 0; }
  limit=$(time_for 90)
  enough_time "$limit" sanitizer || return 0
  begin sanitizer
  # A program that does little with CUDA shows whether the tool works on this machine at all.
  if ! limited $((limit < 60 ? limit : 60)) "$tool" --tool memcheck --require-cuda-init=no --error-exitcode 9 --report-api-errors no "$bin/reprise" info > "$log" 2>&1; then
    words=$(grep -aiE 'error|not supported|unable|fail' "$log" | head -1 | cut -c1-200) || true
    record sanitizer "not run" "it does not work here: ${words:-$(tail -n 1 "$log" | cut -c1-200)}"
    keep_log sanitizer
    return 0
  fi
  # Reprise checks every driver call itself; what the tool adds is accesses to memory.
  limit=$(time_for 90)
  limited "$limit" "$tool" --tool memcheck --require-cuda-init=no --error-exitcode 9 --report-api-errors no "$bin/test_ops" \
    --gtest_filter='*/softmax:*/layer_norm:*/mm:*/linear:*/sum:*/gather:*/cumsum:*/scaled_dot_product_attention' > "$log" 2>&1 || rc=$?
  words=$(grep -acE '^\[       OK \] ' "$log") || true
  words+=" tests passed; $(grep -aE 'ERROR SUMMARY' "$log" | tail -1 | sed 's/^=* *//')" || true
  case $rc in
    0) record sanitizer passed "memcheck, $words" ;;
    124 | 137) record sanitizer "timed out" "after $limit s: $words" ;;
    *) record sanitizer failed "exit $rc: $words" ;;
  esac
  [ $rc = 0 ] || keep_log sanitizer
}

demo() {
  local limit rc=0 d
  limit=$(time_for 40)
  enough_time "$limit" demo || return 0
  begin demo
  for d in cpu cuda; do
    limited "$limit" "$bin/llama" "It is a truth" --model examples/llama/model.safetensors --tokens 60 --temperature 0 --json --device $d > "$scratch/$$.$d.json" 2> "$log" || { rc=$?; break; }
  done
  if [ $rc = 124 ] || [ $rc = 137 ]; then
    record demo "timed out" "after $limit s on $d"
  elif [ $rc != 0 ]; then
    record demo failed "exit $rc on $d: $(tail -n 1 "$log" | cut -c1-200)"
    keep_log demo
  elif [ "$(grep -ao '"text": "[^"]*"' "$scratch/$$.cpu.json")" = "$(grep -ao '"text": "[^"]*"' "$scratch/$$.cuda.json")" ]; then
    record demo passed "the same text as on the CPU"
  else
    record demo failed "the text differs from the CPU's"
    cat "$scratch/$$.cpu.json" "$scratch/$$.cuda.json" > "$log"
    keep_log demo
  fi
  rm -f "$scratch/$$.cpu.json" "$scratch/$$.cuda.json"
}

# measurement NAME PERCENT COMMAND...: its rows go into the table as they come.
measurement() {
  local name=$1 limit rc=0 pump i
  limit=$(time_for "$2")
  shift 2
  enough_time "$limit" "$name" || return 0
  begin "$name"
  exec 3> >(table)
  pump=$!
  limited "$limit" "$@" >&3 2> "$log" || rc=$?
  exec 3>&-
  for ((i = 0; i < 30; ++i)); do  # a helper process that outlives its program may hold the pipe open
    kill -0 "$pump" 2> /dev/null || break
    sleep 0.1
  done
  case $rc in
    0) record "$name" passed ;;
    3) record "$name" "not run" "$(tail -n 1 "$log" | cut -c1-200)" ;;  # scripts/gpu_peers.py has nothing to measure with
    124 | 137) record "$name" "timed out" "after $limit s; the rows before are kept" ;;
    *) record "$name" failed "exit $rc: $(tail -n 1 "$log" | cut -c1-200)" ;;
  esac
  [ $rc = 0 ] || [ $rc = 3 ] || keep_log "$name"
}

# Where the loader finds no cuBLASLt, PyTorch's packages or a toolkit may have brought one.
find_cublaslt() {
  local version found d folders=()
  while read -r d; do folders+=("$d"); done < <("$python" -c 'import sys; print("\n".join(p for p in sys.path if p))' 2> /dev/null)
  for version in 13 12; do
    for d in ${folders[@]+"${folders[@]/%//nvidia/*/lib}" "${folders[@]/%//torch/lib}"} '/usr/local/cuda*/lib64' '/usr/local/cuda*/targets/*/lib'; do
      while read -r found; do
        REPRISE_CUBLASLT="$found" "$bin/reprise" info 2> /dev/null | grep '^products  cuBLASLt' > /dev/null || continue
        echo "$found"
        return 0
      done < <(compgen -G "$d/libcublasLt.so.$version" || true)
    done
  done
  return 1
}

run() {
  local out=bench/results do_tests=1 do_bench=1 t
  simulator="" seconds="" suite=""
  while [ $# -gt 0 ]; do
    case "$1" in
      --out) out="${2:?--out needs a folder}"; shift ;;
      --seconds) seconds="${2:?--seconds needs a number}"; shift ;;
      --suite) suite="${2:?--suite needs a name}"; do_bench=0; shift ;;
      --simulator) simulator=$(find . -name libreprise_cuda_sim.so -not -path './.git/*' | head -1); [ -n "$simulator" ] || { say "no libreprise_cuda_sim.so: build it first"; exit 1; } ;;
      --tests) do_bench=0 ;;
      --bench) do_tests=0 ;;
      *) say "unknown option '$1'"; exit 2 ;;
    esac
    shift
  done
  seconds="${seconds:-$([ -n "$simulator" ] && echo 3600 || echo 540)}"
  [[ "$seconds" =~ ^[0-9]+$ ]] || { say "--seconds: '$seconds' is no number"; exit 2; }
  case " ${tests[*]} products-own products-library demo sanitizer " in
    *" ${suite:-ops} "*) ;;
    *) say "no suite '$suite'; there are: ${tests[*]} products-own products-library demo sanitizer"; exit 2 ;;
  esac
  [ -x "$bundle_dir/bin/reprise_device_figures" ] || { say "no $bundle_dir/: make it with scripts/gpu.sh bundle"; exit 1; }

  # The programs find their libraries by their own paths. LD_LIBRARY_PATH stays as it is: python3 and compute-sanitizer
  # must not be given this bundle's C++ library.
  bin="$PWD/$bundle_dir/bin" python="${PYTHON:-python3}"
  scratch="${TMPDIR:-/tmp}/reprise-gpu-$(id -u)"
  { mkdir -p -m 700 "$scratch" && [ -O "$scratch" ] && [ -w "$scratch" ]; } 2> /dev/null || scratch=$(mktemp -d)
  log="$scratch/$$.log"
  export CUDA_CACHE_PATH="${CUDA_CACHE_PATH:-$scratch/cuda}" REPRISE_CACHE_DIR="${REPRISE_CACHE_DIR:-$scratch/reprise}"
  export TRITON_CACHE_DIR="${TRITON_CACHE_DIR:-$scratch/triton}" TORCHINDUCTOR_CACHE_DIR="${TORCHINDUCTOR_CACHE_DIR:-$scratch/inductor}"
  export REPRISE_TEST_DEVICE=cuda FUZZ_PROGRAMS="${FUZZ_PROGRAMS:-$([ -n "$simulator" ] && echo 100 || echo 200)}"

  local quick=() info
  part="" steps=() running="" child="" began=0 step_began=0 failed=()
  if [ -n "$simulator" ]; then
    export REPRISE_CUDA_DRIVER="$PWD/$simulator"
    REPRISE_CUBLASLT="${REPRISE_CUBLASLT:-$(find "$PWD" -name libreprise_blaslt_sim.so -not -path '*/.git/*' | head -1)}"
    export REPRISE_CUBLASLT="${REPRISE_CUBLASLT:-off}"
    quick=(--quick)
  else
    export REPRISE_CUDA_DRIVER="${REPRISE_CUDA_DRIVER:-libcuda.so.1}"  # tests take the simulator where they are built, unless a driver is named
  fi
  info=$("$bin/reprise" info 2>&1) || { say "$bin/reprise does not run here: $info"; exit 1; }
  products=$(sed -n 's/^products  //p' <<< "$info")
  if [ -z "$products" ]; then
    say "no GPU: $(sed -n 's/^gpu  *//p' <<< "$info")"
    exit 1
  fi
  if [[ "$products" != cuBLASLt* ]] && [ -z "${REPRISE_CUBLASLT:-}" ] && REPRISE_CUBLASLT=$(find_cublaslt); then
    export REPRISE_CUBLASLT
    info=$("$bin/reprise" info 2>&1)
    products=$(sed -n 's/^products  //p' <<< "$info")
  fi
  [ -n "${REPRISE_CUBLASLT:-}" ] || unset REPRISE_CUBLASLT
  printf '%s\n' "$info" >&2
  if [ -n "$simulator" ]; then
    gpu=simulator driver=simulator
  else
    gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2> /dev/null | head -1) || gpu=""
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2> /dev/null | head -1) || driver=""
    [ -n "$gpu" ] || gpu=$(sed -n 's/^gpu  *\([^,]*\),.*/\1/p' <<< "$info")
    [ -n "$driver" ] || driver=$(sed -n 's/^gpu .*driver of \(.*\)/\1/p' <<< "$info")
  fi
  gpu="${gpu:-gpu}" driver="${driver:-unknown}" commit=$(cat "$bundle_dir/commit")
  mkdir -p "$out"
  stem="$out/$(printf '%s' "$gpu" | tr -c 'A-Za-z0-9._-' '-')-$(date +%F)"
  trap ended EXIT
  trap 'exit 143' TERM INT HUP

  if [ "$do_tests" = 1 ]; then
    begin_part "tests${suite:+-$suite}"
    local by_products='*/mm:*/bmm:*/linear:*/addmm:*/matmul'
    if wanted demo; then demo; fi
    if wanted products-own; then REPRISE_CUDA_PRODUCTS=own test_suite products-own 30 "$bin/test_ops" --gtest_filter="$by_products"; fi
    if wanted products-library; then
      if [[ "$products" = cuBLASLt* ]]; then REPRISE_CUDA_PRODUCTS=library test_suite products-library 30 "$bin/test_ops" --gtest_filter="$by_products"
      else record products-library "not run" "$products"; fi
    fi
    for t in "${tests[@]}"; do
      if ! wanted "$t"; then continue; fi
      if [ -x "$bin/test_$t" ]; then test_suite "$t" "$([ -n "$suite" ] && echo 100 || { [ "$t" = ops ] && echo 80 || echo 50; })" "$bin/test_$t"
      else record "$t" "not run" "it is not in the bundle"; fi
    done
    if wanted sanitizer; then sanitizer; fi
  fi

  if [ "$do_bench" = 1 ]; then
    begin_part bench
    rm -f "$stem.figures.json" "$stem.nodes.json" "$stem.peers.json"
    measurement figures 60 "$bin/reprise_device_figures" "${quick[@]}" --json "$stem.figures.json"
    printf '\nAddresses by node updates (REPRISE_CUDA_POINTERS=nodes)\n' | table
    REPRISE_CUDA_POINTERS=nodes measurement figures-nodes 30 "$bin/reprise_device_figures" "${quick[@]}" --only graphs --json "$stem.nodes.json"
    if [ -n "$simulator" ]; then record peers "not run" "the simulator is no GPU"
    elif ! command -v "$python" > /dev/null; then record peers "not run" "no $python"
    else measurement peers 100 "$python" scripts/gpu_peers.py --json "$stem.peers.json"; fi
  fi
  if [ ${#failed[@]} -gt 0 ]; then
    say "failed: ${failed[*]}"
    exit 1
  fi
}

{  # read as a whole: the file may be replaced while this runs
  case "${1:-all}" in
    bundle) bundle ;;
    run) shift; run "$@" ;;
    all) bundle; run ;;
    *) sed -n '2,30s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
  exit
}
