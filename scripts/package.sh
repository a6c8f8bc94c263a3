#!/usr/bin/env bash
# Debian packages in DIR (default build-package/packages): libreprise0, libreprise-dev, reprise-tools, with LLVM inside the library.
#
#   scripts/package.sh [DIR]
#
# BUILD_DIR (default build-package), JOBS. `./run package` installs what this needs first.
set -euo pipefail
cd "$(dirname "$0")/.."
build_dir="${BUILD_DIR:-build-package}"
out="${1:-$build_dir/packages}"
say() { printf 'package.sh: %s\n' "$*" >&2; }

command -v dpkg-shlibdeps >/dev/null || { say "dpkg-shlibdeps is missing (apt-get install dpkg-dev)"; exit 1; }
cmake -G Ninja -B "$build_dir" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DREPRISE_HARDEN=ON -DBUILD_SHARED_LIBS=ON -DREPRISE_STATIC_LLVM=ON \
  -DREPRISE_BUILD_TESTS=OFF -DREPRISE_BUILD_BENCH=OFF -DREPRISE_BUILD_EXAMPLES=OFF -DREPRISE_BUILD_TOOL=ON -DREPRISE_ONNX=OFF >&2
cmake --build "$build_dir" -j "${JOBS:-$(nproc)}" >&2
rm -rf "$out"
mkdir -p "$out"
(cd "$build_dir" && cpack -G DEB -B "$PWD/cpack" >&2)
mv "$build_dir"/cpack/*.deb "$out"/
for deb in "$out"/*.deb; do
  printf '%s: %s bytes, needs %s\n' "$deb" "$(stat -c %s "$deb")" "$(dpkg-deb -f "$deb" Depends)"
done
