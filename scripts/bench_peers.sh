#!/usr/bin/env bash
# ./run bench --peers: installs peers into .venv (PyPI, only for measuring) and measures them and Reprise in turn.
set -euo pipefail
cd "$(dirname "$0")/.."
build="$1"; shift
python=$(command -v python3 || true)
if [ -z "$python" ]; then
  echo "bench: peers need python3 (Debian: python3 python3-venv)" >&2
  exit 1
fi
if [ ! -x .venv/bin/python ]; then
  echo "bench: making .venv" >&2
  if ! "$python" -m venv .venv; then
    rm -rf .venv
    echo "bench: python3 cannot make virtual environments here (Debian: python3-venv)" >&2
    exit 1
  fi
fi
# numpy brings OpenBLAS, onnxruntime brings MLAS; torch (oneDNN) is large and taken when PEERS_TORCH=1 or already there.
peers="numpy onnx onnxruntime"
[ "${PEERS_TORCH:-0}" = 1 ] && peers="$peers torch"
.venv/bin/python -m pip install --quiet --disable-pip-version-check $peers >&2
exec .venv/bin/python scripts/bench_peers.py "$build" "$@"
