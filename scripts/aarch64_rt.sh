#!/usr/bin/env bash
# libreprise-rt for 64-bit Arm, cross-compiled (rt/CMakeLists.txt), and the programs of tests/export with it under qemu-user: the files that an x86-64 machine has
# written run there, and give what they give here.
#
#   scripts/aarch64_rt.sh HOST_BUILD      HOST_BUILD: a build of the library, for test_export and rprt_run
#
# BUILD_DIR (default build-aarch64-rt), JOBS. `./run aarch64-rt` installs what this needs, and builds HOST_BUILD, first.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(cd "${1:?usage: aarch64_rt.sh HOST_BUILD}" && pwd)
build_dir="${BUILD_DIR:-build-aarch64-rt}"
mkdir -p "$build_dir/include" && build_dir=$(cd "$build_dir" && pwd)
say() { printf 'aarch64_rt.sh: %s\n' "$*" >&2; }
for needed in aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64-static:qemu-user-static; do
  command -v "${needed%%:*}" > /dev/null || { say "${needed%%:*} is missing (apt-get install ${needed##*:})"; exit 1; }
done
# Headers alone, which are the same for every processor, and not the rest of that folder.
ln -sfn "${JSON_INCLUDE:-/usr/include}/nlohmann" "$build_dir/include/nlohmann"
cmake -G Ninja -S rt -B "$build_dir" -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DREPRISE_JSON_INCLUDE="$build_dir/include" ${FLAGS:+-DCMAKE_CXX_FLAGS_RELEASE="$FLAGS"} >&2
cmake --build "$build_dir" -j "${JOBS:-$(nproc)}" >&2
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
WRITE_PROGRAMS="$programs" "$host/tests/test_export" --gtest_brief=1 --gtest_filter=Runtime.FilesHoldCodeForOtherProcessors
scripts/compare_rt.py "$programs" "$host/examples/rprt_run" -- qemu-aarch64-static -L /usr/aarch64-linux-gnu "$build_dir/rprt_run"
