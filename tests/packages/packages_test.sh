#!/usr/bin/env bash
# What the packages in folder $1 promise: users need no LLVM; only what is public is exported; the tool starts.
#
#   packages_test.sh DIR            unpacked into a prefix of their own
#   packages_test.sh DIR --root R   installed by dpkg into R, a fresh Debian 12 root (debootstrap --variant=minbase --include=g++ bookworm R), and used there (root only)
set -euo pipefail
dir="$(cd "$1" && pwd)"
here="$(cd "$(dirname "$0")" && pwd)"
say() { printf '%s\n' "$*"; }
fail() { printf 'packages_test: %s\n' "$*" >&2; exit 1; }

if [ "${2:-}" = --root ]; then
  root="$3"
  cp "$dir"/*.deb "$root/tmp/"
  cp "$here/../install/consumer/main.cc" "$root/tmp/"
  chroot "$root" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/*.deb' >/dev/null
  chroot "$root" g++ -std=c++20 /tmp/main.cc -o /tmp/client -lreprise
  chroot "$root" /tmp/client
  chroot "$root" reprise info
  if chroot "$root" dpkg -l | grep -qE 'llvm|libz3'; then fail "LLVM or z3 was installed, too"; fi
  say "ok: installed, compiled and run in $root"
  exit 0
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
for deb in "$dir"/libreprise0_*.deb "$dir"/libreprise-rt0_*.deb "$dir"/libreprise-dev_*.deb "$dir"/reprise-tools_*.deb; do
  [ -e "$deb" ] || fail "no $(basename "$deb")"
  dpkg-deb -x "$deb" "$work"
done
so="$(find "$work" -name 'libreprise.so.0.*')"
bytes=$(stat -c %s "$so")
[ "$bytes" -le $((45 << 20)) ] || fail "the library has $bytes bytes"
needed=$(readelf -d "$so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if printf '%s\n' "$needed" | grep -E 'LLVM|z3|icu|xml2|edit|ffi'; then fail "the library needs what users may not have"; fi
readelf -d "$so" | grep -q 'SONAME.*\[libreprise.so.0\]' || fail "no SONAME libreprise.so.0"
foreign=$(nm -D --defined-only "$so" | awk '$2 ~ /[TBDRV]/ {print $3}' | c++filt | grep -vE 'reprise::|^std::|^void std::|^bool std::|^guard variable|^(vtable|typeinfo|typeinfo name) for|^(unsigned long|char|int) const& std|^operator ' | head -5 || true)
[ -z "$foreign" ] || fail "exported, and not ours: $foreign"
inside=$(nm -D --defined-only "$so" | c++filt | grep -cE ' [TBDR] reprise::(graph|passes|kernels|jit|runtime|device|guards|log|timeline|epochs|files)::' || true)
say "ok: $bytes bytes, needs $(printf '%s ' $needed)"
say "exported: $(nm -D --defined-only "$so" | wc -l) names, of rooms inside $inside"
python3 -B "$here/../../scripts/check_rt_symbols.py" "$(find "$work" -name 'libreprise-rt.so.0.*')" "$work/usr/include/reprise/rt.h"
"$here/clients.sh" "$work/usr"
