#!/usr/bin/env bash
# Runs everything that concerns CUDA on a machine with a GPU that has neither LLVM nor a compiler.
#
#   scripts/gpu.sh bundle           build here, LLVM linked in, and gather it in gpu-bundle/ (with the checkout under 60 MiB)
#   scripts/gpu.sh run [OPTION...]  in a checkout beside gpu-bundle/
#   scripts/gpu.sh                  both, one after the other
#
# What runs, in parts of limited time, 27 minutes in all:
#   tests      4 min  info, the demo, the driver's suite; then operators in shards, random programs, kernels, loops, products by
#                     either side, the rest, as many at a time as there are processors. Without what only asks ptxas
#   bench      9 min  measurements of Reprise, and scripts/gpu_model.py's expectation beside them
#   check      5 min  compute-sanitizer's memcheck, racecheck and synccheck on parts of the suites; eager PyTorch, its CUDA graphs, Triton
#   rest       2 min  what failed in `tests`, each in a process of its own, with REPRISE_CUDA_DEBUG=serial
#   profiles   2 min  Nsight Compute's account of the kernels that take the longest (scripts/gpu_profiles.py)
#   compiled   5 min  torch.compile
#
# Options of run:
#   --part NAME        only this part; several times for several. --tests, --bench: as --part tests, --part bench
#   --suite NAME       only this suite of tests: cuda llama runtime gpu_kernels gpu_loop random matrix operators ops products-own products-library products-flat
#                      demo
#   --seconds N        what a part may take, in place of the above (3600 with --simulator). What is at its limit is stopped and reported
#   --out DIR          where results go (default bench/results)
#   --simulator        the simulator of the driver instead of a GPU, with small sizes: shows that the script works
#
# Results, in DIR/<gpu>-<date>:
#   .tar.gz            all that follows and logs of what failed, packed anew after every step, so that a run that is cut off leaves what
#                      was done. Files of parts that ran before on the same day are kept
#   .json .md          of `bench`: the measurements; the table with what was expected
# In the archive: PART.json, how each step ended; PART.txt, the same as a table; PART.log; figures.json, nodes.json and calls-nodes.json (with REPRISE_CUDA_POINTERS=nodes), late.json (with
# REPRISE_CUDA_EARLY=off), warps.json (products and attention with REPRISE_CUDA_WARPGROUPS=off), peers.json, compiled.json, profiles.json; failed, what `rest` runs again.
#
# Kept from run to run: CUDA_CACHE_PATH and REPRISE_CACHE_DIR (and Triton's), under TMPDIR unless they are set. PYTHON:
# the peers' interpreter. FUZZ_PROGRAMS: random programs to run. JOBS: suites at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
bundle_dir=gpu-bundle
build_dir="${BUILD_DIR:-build-gpu}"
most_bytes=$((60 << 20))
tests=(cuda llama runtime gpu_kernels gpu_loop random matrix operators ops)  # long ones last

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
  git describe --always --dirty > "$bundle_dir/commit" 2>/dev/null || echo unknown > "$bundle_dir/commit"
  # Packed, because what may be carried is bounded; `run` unpacks it in a folder of its own.
  tar -C "$bundle_dir" -czf "$bundle_dir.tar.gz" bin lib commit
  rm -rf "$bundle_dir"/*
  mv "$bundle_dir.tar.gz" "$bundle_dir/"
  local bytes
  bytes=$(du -sb "$bundle_dir" | cut -f1)
  local checkout
  checkout=$(git ls-files -z 2> /dev/null | xargs -0 -r stat -c %s 2> /dev/null | awk '{n += $1} END {print n + 0}')
  say "$bundle_dir: $((bytes >> 20)) MiB, with the checkout $(((bytes + checkout) >> 20)) MiB"
  if [ $((bytes + checkout)) -gt "$most_bytes" ]; then
    say "that is more than the 60 MiB they may have together"
    exit 1
  fi
}

# ---- what a run leaves: steps of the part that runs, in $work/$part.json and .txt
json_string() { printf '"%s"' "$(printf '%s' "$1" | tr '\n\t' '  ' | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"; }

write_json() {
  local i
  {
    printf '{\n "gpu": %s,\n "driver": %s,\n "products": %s,\n "commit": %s,\n "date": %s,\n "seconds": %d,\n "running": %s,\n "steps": [' \
      "$(json_string "$gpu")" "$(json_string "$driver")" "$(json_string "$products")" "$(json_string "$commit")" "\"$(date +%F)\"" $((SECONDS - began)) \
      "$(json_string "$running")"
    for ((i = 0; i < ${#steps[@]}; ++i)); do printf '%s\n  %s' "$([ "$i" = 0 ] || echo ,)" "${steps[i]}"; done
    printf '\n ]\n}\n'
  } > "$work/$part.json.new"
  mv "$work/$part.json.new" "$work/$part.json"
  pack
}

# The archive is whole at any time.
pack() { tar -C "$work" -czf "$stem.tar.gz.new" . && mv "$stem.tar.gz.new" "$stem.tar.gz"; }

table() { tee -a "$work/$part.txt"; }

# begin_part NAME: its files, its time.
begin_part() {
  part=$1 steps=() running="" began=$SECONDS
  rm -f "$work/$part.log"
  printf '%s, driver %s, commit %s, %s\nproducts: %s\n' "$gpu" "$driver" "$commit" "$(date +%F)" "$products" | tee "$work/$part.txt"
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
keep_log() { { printf '==== %s\n' "$1"; grep -avE '^\[ (RUN  |      OK) ' "$log" | tail -n 400; } >> "$work/$part.log" || true; }

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
  [ ${#children[@]} = 0 ] || kill "${children[@]}" 2> /dev/null || true
  [ -z "$running" ] || record "$running" failed "cut off"
  rm -f "$log" "$scratch/$$".*.json "$scratch/$$".suite*
}

wanted() { [ -z "$suite" ] || [ "$suite" = "$1" ]; }

# judge NAME STATUS LIMIT: how a GoogleTest program ended, by its output in $log. What failed in it is kept for `rest`.
judge() {
  local name=$1 rc=$2 limit=$3 counts last bad skipped names
  counts=$(grep -acE '^\[       OK \] ' "$log") || true
  bad=$(grep -acE '^\[  FAILED  \] .* ms\)$' "$log") || true
  skipped=$(grep -acE '^\[  SKIPPED \] .* ms\)$' "$log") || true
  counts+=" passed"
  [ "$skipped" = 0 ] || counts+=", $skipped skipped"
  [ "$bad" = 0 ] || counts+=", $bad failed"
  last=$(grep -aE '^\[ RUN      \] ' "$log" | tail -1 | cut -c14-) || true
  case $rc in
    0) record "$name" passed "$counts"; return 0 ;;
    124 | 137) record "$name" "timed out" "after $limit s in $last: $counts" ;;
    1) record "$name" failed "$counts" ;;
    *) record "$name" failed "exit $rc in ${last:-its start}: $counts; $(tail -n 1 "$log" | cut -c1-200)" ;;
  esac
  keep_log "$name"
  names=$(sed -nE 's/^\[  FAILED  \] ([^ ,]+).* ms\)$/\1/p' "$log" | paste -sd: -)
  # A program that ended in a test has failed in that one, and the tests behind it did not run.
  case $rc in 0 | 1 | 124 | 137) ;; *) [ -z "$last" ] || names+="${names:+:}$last" ;; esac
  [ -z "$names" ] || printf '%s\t%s\n' "$name" "$names" >> "$work/failed"
}

# Suites that run side by side: suite NAME COMMAND... queues one; run_suites LIMIT runs them all, JOBS at a time.
suite_names=() suite_commands=()
suite() { suite_names+=("$1"); shift; suite_commands+=("$(printf '%q ' "$@")"); }

run_suites() {
  local limit=$1 next=0 at pid rc jobs=${JOBS:-$(nproc)} count=${#suite_names[@]}
  local -A running_at=() from=()
  [ "$count" -gt 0 ] || return 0
  if [ "$limit" -lt 5 ]; then
    for at in "${!suite_names[@]}"; do record "${suite_names[at]}" "not run" "no time left of $seconds s"; failed+=("${suite_names[at]}"); done
    suite_names=() suite_commands=()
    return 0
  fi
  local until=$((SECONDS + limit))
  running="${suite_names[*]}" step_began=$SECONDS
  write_json
  while [ "$next" -lt "$count" ] || [ ${#running_at[@]} -gt 0 ]; do
    while [ "$next" -lt "$count" ] && [ ${#running_at[@]} -lt "$jobs" ]; do
      local left=$((until - SECONDS))
      [ "$left" -ge 5 ] || left=5
      eval "exec timeout -k 5 $left ${suite_commands[next]}" > "$scratch/$$.suite$next" 2>&1 &
      running_at[$!]=$next from[$next]=$SECONDS
      next=$((next + 1))
    done
    children=("${!running_at[@]}") rc=0
    wait -n -p pid "${children[@]}" || rc=$?
    at=${running_at[$pid]}
    unset "running_at[$pid]"
    log="$scratch/$$.suite$at" running="${suite_names[at]}" step_began=${from[$at]}
    judge "${suite_names[at]}" "$rc" $((until - from[$at]))
    rm -f "$log"
    log="$scratch/$$.log"
  done
  children=() suite_names=() suite_commands=()
}

# sanitizer TOOL PERCENT COMMAND...: Reprise checks every driver call itself; what the tools add is accesses to memory and barriers.
sanitizer() {
  local which=$1 percent=$2 tool limit rc=0 words
  shift 2
  [ -z "$simulator" ] || { record "$which" "not run" "the simulator is no GPU"; return 0; }
  tool=$(PATH="$PATH:/usr/local/cuda/bin" command -v compute-sanitizer) || { record "$which" "not run" "no compute-sanitizer"; return 0; }
  limit=$(time_for "$percent")
  enough_time "$limit" "$which" || return 0
  begin "$which"
  # A program that does little with CUDA shows whether the tool works on this machine at all.
  if ! limited $((limit < 40 ? limit : 40)) "$tool" --tool "$which" --require-cuda-init=no --error-exitcode 9 --report-api-errors no "$bin/reprise" info > "$log" 2>&1; then
    words=$(grep -aiE 'error|not supported|unable|fail' "$log" | head -1 | cut -c1-200) || true
    record "$which" "not run" "it does not work here: ${words:-$(tail -n 1 "$log" | cut -c1-200)}"
    keep_log "$which"
    return 0
  fi
  limit=$(time_for "$percent")
  limited "$limit" "$tool" --tool "$which" --require-cuda-init=no --error-exitcode 9 --report-api-errors no "$@" > "$log" 2>&1 || rc=$?
  words=$(grep -acE '^\[       OK \] ' "$log") || true
  words+=" tests passed; $(grep -aE '(ERROR|RACECHECK) SUMMARY' "$log" | tail -1 | sed 's/^=* *//')" || true
  case $rc in
    0) record "$which" passed "$words" ;;
    124 | 137) record "$which" "timed out" "after $limit s: $words" ;;
    *) record "$which" failed "exit $rc: $words" ;;
  esac
  [ $rc = 0 ] || keep_log "$which"
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

# program SUITE: of the bundle, without the tests that only ask ptxas where that proves nothing, as command words.
program() {
  command=("$bin/test_$1")
  [ -n "$simulator" ] || command+=("--gtest_filter=-*Assemble*")
}

# shards N SUITE: `command` in N processes.
shards() {
  local at
  for ((at = 0; at < $1; ++at)); do suite "$2-$at" env GTEST_TOTAL_SHARDS="$1" GTEST_SHARD_INDEX="$at" "${command[@]}"; done
}

part_tests() {
  local by_products='*/mm:*/bmm:*/linear:*/addmm:*/matmul' t i command=()
  rm -f "$work/failed"
  if wanted demo; then demo; fi
  for t in "${tests[@]}"; do
    if ! wanted "$t"; then continue; fi
    if [ ! -x "$bin/test_$t" ]; then record "$t" "not run" "it is not in the bundle"; continue; fi
    program "$t"
    # In shards: a kernel that faults takes its process with it, and what else that would have run.
    case "$t" in
      cuda) shards 4 cuda; run_suites "$(time_for 50)" ;;  # alone: it runs out of memory on purpose
      ops | operators) shards 8 "$t" ;;
      random) for i in 0 1; do suite "random-$i" env FUZZ_SEED=$((1 + i * 100000)) "${command[@]}"; done ;;
      llama | matrix) suite "$t" "${command[@]}" ;;
      *) shards 3 "$t" ;;
    esac
  done
  if wanted products-own; then suite products-own env REPRISE_CUDA_PRODUCTS=own "$bin/test_ops" --gtest_filter="$by_products"; fi
  if wanted products-library; then
    if [[ "$products" = cuBLASLt* ]]; then suite products-library env REPRISE_CUDA_PRODUCTS=library "$bin/test_ops" --gtest_filter="$by_products"
    else record products-library "not run" "$products"; fi
  fi
  if wanted products-flat; then
    if [[ "$products" = cuBLASLt* ]]; then suite products-flat env REPRISE_CUDA_PRODUCTS=library REPRISE_CUDA_CAPTURES=flat "$bin/test_ops" --gtest_filter="$by_products"
    else record products-flat "not run" "$products"; fi
  fi
  run_suites "$(time_for 100)"
}

part_bench() {
  rm -f "$work/figures.json" "$work/nodes.json" "$work/calls-nodes.json" "$work/late.json" "$work/warps.json"
  measurement figures 95 "$bin/reprise_device_figures" "${quick[@]}" --json "$work/figures.json"
  printf '\nAddresses by node updates (REPRISE_CUDA_POINTERS=nodes)\n' | table
  REPRISE_CUDA_POINTERS=nodes measurement figures-nodes 60 "$bin/reprise_device_figures" "${quick[@]}" --only graphs --json "$work/nodes.json"
  printf '\nHost time of calls, addresses by node updates (REPRISE_CUDA_POINTERS=nodes)\n' | table
  REPRISE_CUDA_POINTERS=nodes measurement figures-calls-nodes 40 "$bin/reprise_device_figures" "${quick[@]}" --only calls --json "$work/calls-nodes.json"
  printf '\nNothing starts early (REPRISE_CUDA_EARLY=off)\n' | table
  REPRISE_CUDA_EARLY=off measurement figures-late 60 "$bin/reprise_device_figures" "${quick[@]}" --only decode --json "$work/late.json"
  printf '\nTensor cores of warps (REPRISE_CUDA_WARPGROUPS=off)\n' | table
  REPRISE_CUDA_WARPGROUPS=off measurement figures-warps 60 "$bin/reprise_device_figures" "${quick[@]}" --only products --only attention --json "$work/warps.json"
  [ ! -e "$work/figures.json" ] || cp "$work/figures.json" "$stem.json"
  local model=bench/results/model-h100.json
  case "$gpu" in *H200*) model=bench/results/model-h200.json ;; esac
  if [ -n "$simulator" ]; then record model "not run" "the simulator's figures say nothing"
  elif ! command -v "$python" > /dev/null; then record model "not run" "no $python"
  elif [ -e "$work/figures.json" ]; then
    begin model
    if "$python" scripts/gpu_model.py compare --model "$model" --figures "$work/figures.json" $([ ! -e "$work/late.json" ] || echo --figures "$work/late.json") > "$stem.md" 2> "$log"; then record model passed "$(grep -c 'to be explained' "$stem.md" || true) figures differ by more than 20 %"
    else record model failed "$(tail -n 1 "$log" | cut -c1-200)"; fi
  fi
}

# peers NAME ARGUMENT...: scripts/gpu_peers.py
peers() {
  local name=$1
  shift
  if [ -n "$simulator" ]; then record "$name" "not run" "the simulator is no GPU"
  elif ! command -v "$python" > /dev/null; then record "$name" "not run" "no $python"
  else measurement "$name" 100 "$python" scripts/gpu_peers.py --json "$work/$name.json" "$@"; fi
}

part_check() {
  sanitizer memcheck 30 "$bin/test_ops" --gtest_filter='*/softmax:*/layer_norm:*/mm:*/linear:*/sum:*/gather:*/cumsum:*/scaled_dot_product_attention'
  sanitizer racecheck 35 "$bin/test_gpu_kernels" --gtest_filter='-*Assemble*'
  sanitizer synccheck 35 "$bin/test_gpu_kernels" --gtest_filter='-*Assemble*'
  peers peers --no-compile
}

# What failed, each test in a process of its own, one kernel at a time, each waited for and named.
part_rest() {
  local name filter test seed count=0
  if [ -s "$work/failed" ]; then
    while IFS=$'\t' read -r name filter; do
      for test in ${filter//:/ }; do
        [ $((count += 1)) -le 60 ] || break
        seed=1
        [[ "$name" != random-* ]] || seed=$((1 + ${name#random-} * 100000))
        suite "serial-$test" env REPRISE_CUDA_DEBUG=serial FUZZ_SEED=$seed "$bin/test_$(sed -E 's/-[0-9]+$//; s/^products-.*/ops/' <<< "$name")" --gtest_filter="$test"
      done
    done < "$work/failed"
    run_suites "$(time_for 100)"
  else
    record serial "not run" "nothing has failed"
  fi
}

part_profiles() {
  if [ -n "$simulator" ]; then record profiles "not run" "the simulator is no GPU"
  elif ! command -v "$python" > /dev/null; then record profiles "not run" "no $python"
  else measurement profiles 100 "$python" scripts/gpu_profiles.py "$bin/reprise_device_figures" --json "$work/profiles.json" --seconds "$(time_for 95)"; fi
}

part_compiled() { peers compiled --only-compile; }

run() {
  local out=bench/results parts=() per_part="" t
  simulator="" seconds="" suite=""
  while [ $# -gt 0 ]; do
    case "$1" in
      --out) out="${2:?--out needs a folder}"; shift ;;
      --seconds) per_part="${2:?--seconds needs a number}"; shift ;;
      --suite) suite="${2:?--suite needs a name}"; parts=(tests); shift ;;
      --part) parts+=("${2:?--part needs a name}"); shift ;;
      --simulator) simulator=$(find . -name libreprise_cuda_sim.so -not -path './.git/*' | head -1); [ -n "$simulator" ] || { say "no libreprise_cuda_sim.so: build it first"; exit 1; } ;;
      --tests) parts+=(tests) ;;
      --bench) parts+=(bench) ;;
      *) say "unknown option '$1'"; exit 2 ;;
    esac
    shift
  done
  [ -z "$per_part" ] || [[ "$per_part" =~ ^[0-9]+$ ]] || { say "--seconds: '$per_part' is no number"; exit 2; }
  case " ${tests[*]} products-own products-library products-flat demo " in
    *" ${suite:-ops} "*) ;;
    *) say "no suite '$suite'; there are: ${tests[*]} products-own products-library products-flat demo"; exit 2 ;;
  esac
  [ ${#parts[@]} -gt 0 ] || parts=(tests bench check rest profiles compiled)
  for t in "${parts[@]}"; do
    case "$t" in tests | bench | check | rest | profiles | compiled) ;; *) say "no part '$t'; there are: tests bench check rest profiles compiled"; exit 2 ;; esac
  done
  [ -e "$bundle_dir/$bundle_dir.tar.gz" ] || { say "no $bundle_dir/: make it with scripts/gpu.sh bundle"; exit 1; }

  # The programs find their libraries by their own paths. LD_LIBRARY_PATH stays as it is: python3 and compute-sanitizer
  # must not be given this bundle's C++ library.
  scratch="${TMPDIR:-/tmp}/reprise-gpu-$(id -u)"
  { mkdir -p -m 700 "$scratch" && [ -O "$scratch" ] && [ -w "$scratch" ]; } 2> /dev/null || scratch=$(mktemp -d)
  log="$scratch/$$.log"
  rm -rf "$scratch/bundle"
  mkdir -p "$scratch/bundle"
  tar -C "$scratch/bundle" -xzf "$bundle_dir/$bundle_dir.tar.gz"
  bin="$scratch/bundle/bin" python="${PYTHON:-python3}"
  export CUDA_CACHE_PATH="${CUDA_CACHE_PATH:-$scratch/cuda}" REPRISE_CACHE_DIR="${REPRISE_CACHE_DIR:-$scratch/reprise}"
  export TRITON_CACHE_DIR="${TRITON_CACHE_DIR:-$scratch/triton}" TORCHINDUCTOR_CACHE_DIR="${TORCHINDUCTOR_CACHE_DIR:-$scratch/inductor}"
  export REPRISE_TEST_DEVICE=cuda FUZZ_PROGRAMS="${FUZZ_PROGRAMS:-$([ -n "$simulator" ] && echo 100 || echo 200)}"

  quick=()
  local info
  part="" steps=() running="" child="" children=() began=0 step_began=0 failed=()
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
  gpu="${gpu:-gpu}" driver="${driver:-unknown}" commit=$(cat "$scratch/bundle/commit")
  mkdir -p "$out"
  stem="$out/$(printf '%s' "$gpu" | tr -c 'A-Za-z0-9._-' '-')-$(date +%F)"
  work="$scratch/$(basename "$stem")"
  mkdir -p "$work"
  trap ended EXIT
  trap 'exit 143' TERM INT HUP

  for part in "${parts[@]}"; do
    case "$part" in tests) seconds=240 ;; bench) seconds=540 ;; check) seconds=300 ;; rest | profiles) seconds=120 ;; compiled) seconds=300 ;; esac
    [ -z "$simulator" ] || seconds=3600
    seconds="${per_part:-$seconds}"
    begin_part "$part"
    "part_$part"
    pack
  done
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
    *) sed -n '2,40s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
  exit
}
