#!/usr/bin/env bash
# The library for aarch64, cross-compiled, and its small suites under qemu-user: what generated code does on a processor of another kind.
#
#   scripts/aarch64.sh [FILTER]     FILTER: a regular expression of suites (default: all of `suites` below)
#
# arm64's packages are fetched from the mirrors of this machine and unpacked below BUILD_DIR (default build-aarch64); nothing of them is installed. JOBS.
# `./run aarch64` installs what this needs first.
set -euo pipefail
cd "$(dirname "$0")/.."
build_dir="${BUILD_DIR:-build-aarch64}"
mkdir -p "$build_dir" && build_dir=$(cd "$build_dir" && pwd)
filter="${1:-.}"
say() { printf 'aarch64.sh: %s\n' "$*" >&2; }
suites=(base guards graph passes tensor lower jit matmul ops)
packages="llvm-19-dev libgtest-dev nlohmann-json3-dev libstdc++-12-dev"

for needed in aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64-static:qemu-user-static; do
  command -v "${needed%%:*}" > /dev/null || { say "${needed%%:*} is missing (apt-get install ${needed##*:})"; exit 1; }
done

root="$build_dir/root"
if [ ! -e "$root/complete" ]; then
  say "fetching arm64's packages: $packages"
  fetched="$build_dir/packages"
  mkdir -p "$fetched"/{state/lists/partial,cache/archives/partial}
  : > "$fetched/status"
  # A database of its own, in which nothing is installed: apt fetches what they need, too, and asks for no rights.
  apt=(apt-get -qq -o Dir::State="$fetched/state" -o Dir::State::status="$fetched/status" -o Dir::Cache="$fetched/cache" -o APT::Architecture=arm64
       -o APT::Architectures=arm64 -o APT::Sandbox::User= -o Debug::NoLocking=1)
  "${apt[@]}" update >&2
  # shellcheck disable=SC2086
  "${apt[@]}" install --download-only --no-install-recommends -y $packages >&2
  rm -rf "$root"
  mkdir -p "$root"
  for deb in "$fetched"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$root"; done
  rm -rf "$fetched"
  touch "$root/complete"
fi

cmake -G Ninja -B "$build_dir" -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake" -DREPRISE_SYSROOT="$root" -DREPRISE_BUILD_TESTS=ON \
  -DREPRISE_BUILD_BENCH=OFF -DREPRISE_BUILD_EXAMPLES=OFF -DREPRISE_BUILD_TOOL=OFF -DREPRISE_INSTALL=OFF -DREPRISE_ONNX=OFF -DREPRISE_UNITY="${UNITY:-ON}" >&2
chosen=()
for s in "${suites[@]}"; do [[ "$s" =~ $filter ]] && [ -d "tests/$s" ] && chosen+=("$s"); done
[ "${#chosen[@]}" -gt 0 ] || { say "no suite fits '$filter' (there are: ${suites[*]})"; exit 2; }
cmake --build "$build_dir" -j "${JOBS:-$(nproc)}" --target "${chosen[@]/#/test_}" >&2
failed=()
for s in "${chosen[@]}"; do
  say "test_$s"
  qemu-aarch64-static -L "$root" "$build_dir/tests/test_$s" --gtest_brief=1 || failed+=("$s")
done
[ "${#failed[@]}" = 0 ] || { say "failed: ${failed[*]}"; exit 1; }
say "passed on aarch64: ${chosen[*]}"
