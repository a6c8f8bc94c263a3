#!/usr/bin/env bash
# Builds and runs users' programs against an installed prefix (with /usr in it or not), each way that a user might.
#
#   clients.sh PREFIX [FLAG...]     flags: for every compilation (sanitizers)
#
# With each compiler that is here (g++, clang++, clang++-19), as C++20 and C++23, with and without RTTI, without a warning under the strictest
# flags; found by pkg-config and by CMake. A program whose containers are the debugging ones is refused by the linker, in words.
set -euo pipefail
prefix="$(cd "$1" && pwd)"
shift
here="$(cd "$(dirname "$0")" && pwd)"
program="$here/../install/consumer/main.cc"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
lib="$(dirname "$(find "$prefix" -name 'libreprise.*' | grep -E '\.(a|so)$' | head -1)")"
export PKG_CONFIG_PATH="$lib/pkgconfig" LD_LIBRARY_PATH="$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
say() { printf '%s\n' "$*"; }

flags=$(pkg-config --cflags reprise)
libs=$(pkg-config --libs reprise)
[ -e "$lib/libreprise.so" ] || libs=$(pkg-config --libs --static reprise)
[ "$(pkg-config --modversion reprise)" = "$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$lib/cmake/reprise/reprise-config-version.cmake")" ]

strict="-Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Werror"
for compiler in g++ clang++ clang++-19; do
  command -v "$compiler" >/dev/null || continue
  for std in c++20 c++2b; do
    for rtti in "" -fno-rtti; do
      # shellcheck disable=SC2086
      "$compiler" ${flags/-std=c++20/-std=$std} $rtti $strict -O1 "$@" -fsyntax-only "$program"
    done
  done
  # shellcheck disable=SC2086
  "$compiler" $flags -fno-rtti -O1 "$@" "$program" -o "$work/client" $libs
  "$work/client" >/dev/null
  say "ok: $compiler, C++20 and C++23, without RTTI, strict warnings, pkg-config"
done

# shellcheck disable=SC2086
if g++ $flags -D_GLIBCXX_DEBUG "$@" "$program" -o "$work/debug" $libs 2>"$work/said"; then
  say "a program with _GLIBCXX_DEBUG was linked to a library without"
  exit 1
fi
grep -q 'reprise_is_built_with_GLIBCXX_DEBUG' "$work/said" || { cat "$work/said"; exit 1; }
say "ok: _GLIBCXX_DEBUG is refused by name"

cmake -S "$here/../install/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release ${1:+-DCMAKE_CXX_FLAGS="$*"} >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/consumer" >/dev/null
say "ok: find_package"
if [ -x "$work/build/extender" ]; then
  "$work/build/extender" >/dev/null
  say "ok: find_package with the component extend"
fi
if [ -x "$prefix/bin/reprise" ]; then
  env -u LD_LIBRARY_PATH "$prefix/bin/reprise" info >/dev/null
  say "ok: the tool starts"
fi
