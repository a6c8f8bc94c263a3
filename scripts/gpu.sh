#!/usr/bin/env bash
# Runs everything that concerns CUDA on a machine with a GPU that has neither LLVM nor a compiler.
#
#   scripts/gpu.sh bundle             build here, LLVM linked in, and gather it in gpu-bundle/ (under 60 MiB)
#   scripts/gpu.sh run [--out DIR]    in a checkout beside gpu-bundle/: tests, compute-sanitizer on a part of them where it
#                                     works, benchmarks; writes DIR/<gpu>-<date>.json and a table (default bench/results)
#   scripts/gpu.sh                    both, one after the other
#
# run --simulator uses the simulator of the driver instead of a GPU, with small sizes: it shows that the script works.
# run --tests or --bench does only the one or the other.
set -euo pipefail
cd "$(dirname "$0")/.."
bundle_dir=gpu-bundle
build_dir="${BUILD_DIR:-build-gpu}"
most_bytes=$((60 << 20))
tests=(ops random llama runtime grid gridk cuda)

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
  cmake -G Ninja -B "$build_dir" -DCMAKE_BUILD_TYPE=Release -DREPRISE_BUILD_TESTS=ON -DREPRISE_BUILD_BENCH=ON -DREPRISE_BUILD_EXAMPLES=ON -DBUILD_SHARED_LIBS=ON -DREPRISE_STATIC_LLVM=ON -DREPRISE_TEST_ROOT=. \
    '-DCMAKE_BUILD_RPATH=$ORIGIN/../lib' >&2
  local targets=(llama reprise_tool reprise_device_figures) t
  for t in "${tests[@]}"; do [ ! -d "tests/$t" ] || targets+=("test_$t"); done
  [ ! -d tests/cuda_sim ] || targets+=(reprise_cuda_sim reprise_blaslt_sim)
  cmake --build "$build_dir" -j "${JOBS:-$(nproc)}" --target "${targets[@]}" >&2
  rm -rf "$bundle_dir"
  mkdir -p "$bundle_dir/bin" "$bundle_dir/lib"
  cp "$build_dir/examples/llama" "$build_dir/tools/reprise" "$build_dir/bench/reprise_device_figures" "$bundle_dir/bin/"
  for t in "${tests[@]}"; do [ ! -x "$build_dir/tests/test_$t" ] || cp "$build_dir/tests/test_$t" "$bundle_dir/bin/"; done
  cp "$build_dir/libreprise.so" "$bundle_dir/lib/"
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

run() {
  local out=bench/results simulator="" do_tests=1 do_bench=1
  while [ $# -gt 0 ]; do
    case "$1" in
      --out) out="${2:?--out needs a folder}"; shift ;;
      --simulator) simulator=$(find . -name libreprise_cuda_sim.so -not -path './.git/*' | head -1); [ -n "$simulator" ] || { say "no libreprise_cuda_sim.so: build it first"; exit 1; } ;;
      --tests) do_bench=0 ;;
      --bench) do_tests=0 ;;
      *) say "unknown option '$1'"; exit 2 ;;
    esac
    shift
  done
  [ -x "$bundle_dir/bin/reprise_device_figures" ] || { say "no $bundle_dir/: make it with scripts/gpu.sh bundle"; exit 1; }
  export LD_LIBRARY_PATH="$PWD/$bundle_dir/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" REPRISE_TEST_DEVICE=cuda
  local quick=() gpu driver
  if [ -n "$simulator" ]; then
    export REPRISE_CUDA_DRIVER="$PWD/$simulator" FUZZ_PROGRAMS="${FUZZ_PROGRAMS:-100}"
    REPRISE_CUBLASLT=$(find "$PWD" -name libreprise_blaslt_sim.so -not -path '*/.git/*' | head -1)
    export REPRISE_CUBLASLT="${REPRISE_CUBLASLT:-off}"
    quick=(--quick)
    gpu=simulator driver=simulator
  else
    export REPRISE_CUDA_DRIVER=libcuda.so.1  # tests take the simulator where they are built, unless a driver is named
    "$bundle_dir/bin/reprise" info >&2
    gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1 | tr ' /' '--')
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -1)
    gpu="${gpu:-gpu}" driver="${driver:-unknown}"
  fi
  mkdir -p "$out"
  local stem failed=() t
  stem="$out/$gpu-$(date +%F)"
  : > "$stem.txt"
  printf 'gpu %s, driver %s, commit %s, %s\n' "$gpu" "$driver" "$(cat "$bundle_dir/commit")" "$(date +%F)" | tee -a "$stem.txt"

  if [ "$do_tests" = 1 ]; then
    for t in "${tests[@]}"; do
      [ -x "$bundle_dir/bin/test_$t" ] || continue
      if timeout 900 "$bundle_dir/bin/test_$t" --gtest_brief=1 > "$stem.test_$t.log" 2>&1; then
        printf 'test_%-8s %s\n' "$t" "$(grep -E '^\[  PASSED' "$stem.test_$t.log" | tail -1)" | tee -a "$stem.txt"
        rm "$stem.test_$t.log"
      else
        printf 'test_%-8s FAILED: %s\n' "$t" "$(grep -cE '^\[  FAILED  \] [A-Z]' "$stem.test_$t.log" || true) tests, see $stem.test_$t.log" | tee -a "$stem.txt"
        tail -n 400 "$stem.test_$t.log" > "$stem.tail" && mv "$stem.tail" "$stem.test_$t.log"
        failed+=("$t")
      fi
    done
    for t in own library; do
      if REPRISE_CUDA_PRODUCTS=$t timeout 300 "$bundle_dir/bin/test_ops" --gtest_brief=1 --gtest_filter='*/mm:*/bmm:*/linear:*/addmm:*/matmul' > "$stem.products.log" 2>&1; then
        printf 'products by %-8s %s\n' "$t" "$(tail -1 "$stem.products.log")" | tee -a "$stem.txt"
        rm "$stem.products.log"
      else
        printf 'products by %-8s FAILED: see %s\n' "$t" "$stem.products.log" | tee -a "$stem.txt"
        failed+=("products-$t")
        break
      fi
    done
    if [ -z "$simulator" ] && command -v compute-sanitizer > /dev/null && compute-sanitizer --tool memcheck true > /dev/null 2>&1; then
      compute-sanitizer --tool memcheck --error-exitcode 9 "$bundle_dir/bin/test_ops" --gtest_brief=1 \
        --gtest_filter='*/softmax:*/layer_norm:*/mm:*/linear:*/sum:*/gather:*/cumsum:*/scaled_dot_product_attention' > "$stem.sanitizer.log" 2>&1 &&
        printf 'compute-sanitizer memcheck: clean\n' | tee -a "$stem.txt" || { printf 'compute-sanitizer: see %s\n' "$stem.sanitizer.log" | tee -a "$stem.txt"; failed+=(sanitizer); }
    else
      printf 'compute-sanitizer: not run here\n' | tee -a "$stem.txt"
    fi
    "$bundle_dir/bin/llama" "It is a truth" --model examples/llama/model.safetensors --tokens 60 --temperature 0 --json > "$stem.cpu.json" &&
      "$bundle_dir/bin/llama" "It is a truth" --model examples/llama/model.safetensors --tokens 60 --temperature 0 --json --device cuda > "$stem.cuda.json" || failed+=(demo)
    if [ "$(grep -o '"text": "[^"]*"' "$stem.cpu.json")" = "$(grep -o '"text": "[^"]*"' "$stem.cuda.json")" ]; then
      printf 'demo: the same text as on the CPU\n' | tee -a "$stem.txt"
    else
      printf 'demo: the text differs from the CPU'"'"'s (%s, %s)\n' "$stem.cpu.json" "$stem.cuda.json" | tee -a "$stem.txt"
      failed+=(text)
    fi
    rm -f "$stem.cpu.json" "$stem.cuda.json"
  fi

  if [ "$do_bench" = 1 ]; then
    "$bundle_dir/bin/reprise_device_figures" "${quick[@]}" --json "$stem.json" | tee -a "$stem.txt" || failed+=(figures)
    printf '\nAddresses by node updates (REPRISE_CUDA_POINTERS=nodes)\n' | tee -a "$stem.txt"
    REPRISE_CUDA_POINTERS=nodes "$bundle_dir/bin/reprise_device_figures" "${quick[@]}" --only graphs --json "$stem.nodes.json" | tee -a "$stem.txt" || failed+=(figures-nodes)
    if command -v python3 > /dev/null && python3 -c 'import torch' 2> /dev/null; then
      python3 scripts/gpu_peers.py "${quick[@]}" --json "$stem.peers.json" | tee -a "$stem.txt" || failed+=(peers)
    fi
  fi
  if [ ${#failed[@]} -gt 0 ]; then
    say "failed: ${failed[*]}"
    exit 1
  fi
}

case "${1:-all}" in
  bundle) bundle ;;
  run) shift; run "$@" ;;
  all) bundle; run ;;
  *) sed -n '2,13p' "$0"; exit 2 ;;
esac
