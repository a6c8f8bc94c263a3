#!/usr/bin/env python3
"""Compares how GGUF files are read with the PyPI package gguf: it writes a file with values and tensors of all types, random blocks among them, and
what it unpacks of these itself; test_gguf compares, blocks bit by bit.

usage: scripts/gguf_peer.py TEST_GGUF [--blocks N]       (build/tests/test_gguf; needs the packages gguf and numpy)
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np

SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_K": [0, 2], "Q6_K": [208], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108], "Q5_K": [0, 2],
          "IQ4_NL": [0], "IQ4_XS": [0]}  # where halves stand in a block


def random_blocks(quant, rows, columns, random):
    """Random bits; scales are finite halves of any size, among them denormal ones, 0 and -0."""
    elements, size = gguf.GGML_QUANT_SIZES[quant]
    raw = random.integers(0, 256, (rows * columns // elements, size), np.uint8)
    for at in SCALES[quant.name]:
        halves = random.integers(0, 1 << 16, len(raw), np.uint16)
        halves[(halves & 0x7C00) == 0x7C00] &= 0x83FF  # no infinities, no NaN
        raw[:, at:at + 2] = halves.view(np.uint8).reshape(-1, 2)
    return raw.reshape(rows, -1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test")
    parser.add_argument("--blocks", type=int, default=20000)
    args = parser.parse_args()
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        writer = gguf.GGUFWriter(folder / "peer.gguf", "peer")
        writer.add_uint8("p.u8", 200)
        writer.add_int64("p.i64", -(1 << 40))
        writer.add_float64("p.f64", 0.1)
        writer.add_bool("p.bool", True)
        writer.add_string("p.text", "\u00e9t\u00e9")
        writer.add_array("p.texts", ["a", "", "\u2581the"])
        writer.add_array("p.floats", [0.5, -1.0])
        for name in SCALES:
            quant = gguf.GGMLQuantizationType[name]
            elements = gguf.GGML_QUANT_SIZES[quant][0]
            raw = random_blocks(quant, args.blocks // 4, 4 * elements, random)
            writer.add_tensor(name, raw, raw_dtype=quant)
            gguf.dequantize(raw, quant).astype(np.float32).tofile(folder / f"{name}.f32")
        for name, dtype in (("F32", np.float32), ("F16", np.float16), ("I32", np.int32), ("F64", np.float64)):
            plain = (random.standard_normal((3, 5)) * 100).astype(dtype)
            writer.add_tensor(name, plain)
            plain.astype(np.float32).tofile(folder / f"{name}.f32")
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        done = subprocess.run([args.test, "--gtest_filter=GgufPeer.*"], env={**os.environ, "REPRISE_TEST_GGUF_PEER": str(folder)})
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
