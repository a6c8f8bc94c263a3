#!/usr/bin/env bash
# Installs the build tree $1 into a fresh prefix and builds users' programs against it; then looks what a project that has Reprise as a part of it
# finds changed: nothing. Further arguments: flags for every compilation.
set -euo pipefail
build="$1"
shift
here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
"$here/../packages/clients.sh" "$work/prefix" "$@"

# Only configured: it would compile all of it.
for how in add_subdirectory fetch; do
  cmake -S "$here/parent" -B "$work/$how" -DHOW="$how" -DREPRISE_SOURCE="$here/../.." >/dev/null
  if grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=.\+' "$work/$how/CMakeCache.txt"; then
    echo "$how: the parent's build type was set"
    exit 1
  fi
  if find "$work/$how" -name cmake_install.cmake -exec grep -q "file(INSTALL" {} + ; then
    echo "$how: installing the parent would install Reprise"
    exit 1
  fi
  echo "ok: $how leaves the parent's build type and install rules alone"
done
