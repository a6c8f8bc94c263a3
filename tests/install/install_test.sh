#!/usr/bin/env bash
# Installs the build tree $1 into a fresh prefix and builds and runs a separate CMake project against it.
set -euo pipefail
build="$1"
here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$here/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release ${2:+-DCMAKE_CXX_FLAGS="$2"} >/dev/null
cmake --build "$work/build"
"$work/build/consumer"
"$work/build/extender"
