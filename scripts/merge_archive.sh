#!/usr/bin/env bash
# An archive that has all it needs of LLVM's archives inside, as one object whose unused sections a program's linker leaves out (-Wl,--gc-sections).
#
#   merge_archive.sh OUT ARCHIVE LLVM_LIBRARY_DIR
#
# LLVM's names stay visible in it: a program that links LLVM's archives itself takes the shared library instead.
set -euo pipefail
out="$1" archive="$2" llvm="$3"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# What a user's code may refer to; the rest of LLVM goes.
nm --defined-only -g "$archive" | awk 'NF == 3 {print $3}' | grep -E '7reprise|^reprise' | sort -u | sed 's/^/-u /' >"$work/roots"
ld -r --gc-sections @"$work/roots" --whole-archive "$archive" --no-whole-archive --start-group "$llvm"/libLLVM*.a --end-group -o "$work/reprise.o"
strip --strip-unneeded "$work/reprise.o"
mkdir -p "$(dirname "$out")"
rm -f "$out"
ar rcs "$out" "$work/reprise.o"
