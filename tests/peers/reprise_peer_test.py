#!/usr/bin/env python3
"""What reprise_peer answers (bench/peers/reprise_peer.cc), with the driver's end of the protocol: reprise_peer_test.py PROGRAM."""
import json
import math
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from peers import tensors  # noqa: E402
from peers.process import Absent, Process, Refused  # noqa: E402

PROGRAM = ""


def write(path, named):
    """(sizes, values) by name: float32, or another dtype, which is named behind them."""
    header, data = {}, b""
    for name, (sizes, values, *dtype) in named.items():
        dtype = dtype[0] if dtype else "F32"
        raw = struct.pack(f"<{len(values)}{dict(F32='f', I8='b', U8='B', I64='q')[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": sizes, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class ReprisePeerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.peer = Process("reprise", [PROGRAM, "1"]).greeted(60)
        self.addCleanup(self.peer.end)

    def prepare(self, net, inputs, weights=None, **point):
        write(self.folder / "inputs", inputs)
        if weights:
            write(self.folder / "weights", weights)
        return self.peer.ask(60, do="prepare", net=net, point=point, dynamic={}, inputs=str(self.folder / "inputs"), weights=str(self.folder / "weights") if weights else None, onnx=None)

    def result(self):
        self.peer.ask(60, do="result", file=str(self.folder / "result"))
        return tensors.read_samples(self.folder / "result")

    def test_sets_are_called_in_turn(self):
        answer = self.prepare("add", {"0.x": ([2], [1, 2]), "0.y": ([2], [10, 20]), "1.x": ([3], [1, 2, 3]), "1.y": ([3], [5, 5, 5])}, elements=2)
        self.assertGreater(answer["first_call"], 0)
        count, values = self.result()
        self.assertEqual(count, 5)
        self.assertEqual(list(values), [11, 22, 6, 7, 8])
        run = self.peer.ask(60, do="run", seconds=0.01)
        self.assertGreater(run["calls"], 0)
        self.assertLess(run["seconds"], 0.01)
        self.assertGreater(self.peer.ask(60, do="memory")["peak_bytes"], 1 << 20)

    def test_samples_are_those_of_the_other_side(self):
        n = tensors.SAMPLES * 3
        self.prepare("add", {"0.x": ([n], range(n)), "0.y": ([n], [0] * n)})
        count, values = self.result()
        self.assertEqual(count, n)
        self.assertEqual(list(values), list(map(float, range(0, n, tensors.sample_step(n)))))

    def test_results_of_several_tensors(self):
        self.prepare("residual_rms_norm", {"0.x": ([1, 2], [3, 3]), "0.r": ([1, 2], [1, 1])}, {"w": ([2], [1, 2])})
        count, values = self.result()
        self.assertEqual(count, 4)
        self.assertLess(tensors.difference((4, values), (4, [1, 2, 4, 4])), 1e-5)

    def test_quantized_llamas_are_the_same_model(self):
        """One layer, whose matrices are integers from -7 to 7 times powers of two: int8, 4 bits, and those numbers in float32."""
        dim, heads, vocab, tokens = 64, 2, 96, 3
        rng = random.Random(5)
        shared = {"embedding": ([vocab, dim], [rng.uniform(-1, 1) for _ in range(vocab * dim)]), "norm": ([dim], [1.0] * dim)}
        for name in ("attention_norm", "ffn_norm"):
            shared[f"layers.0.{name}"] = ([dim], [rng.uniform(0.5, 1.5) for _ in range(dim)])
        files = {"float32": dict(shared), "int8": dict(shared), "int4": dict(shared)}
        for name, rows in [("head", vocab)] + [(f"layers.0.{w}", dim) for w in ("wq", "wk", "wv", "wo", "w1", "w2", "w3")]:
            scale = [2.0 ** -rng.randint(5, 7) for _ in range(rows)]
            q = [[rng.randint(-7, 7) for _ in range(dim)] for _ in range(rows)]
            files["float32"]["embedding" if name == "head" else name] = ([rows, dim], [e * s for row, s in zip(q, scale) for e in row])
            files["int8"] |= {name: ([rows, dim], [e for row in q for e in row], "I8"), name + ".scale": ([rows], scale)}
            halves = [row[i] + 8 | (row[i + 1] + 8) << 4 for row in q for i in range(0, dim, 2)]
            files["int4"] |= {name: ([rows, dim // 32, 16], halves, "U8"), name + ".scale": ([rows, dim // 32], [s for s in scale for _ in range(dim // 32)])}
        # Embedding and head are one matrix where nothing is quantized.
        for kind in ("int8", "int4"):
            files[kind]["embedding"] = files["float32"]["embedding"]
        half = dim // heads // 2
        inputs = {"0.tokens": ([tokens], [5, 60, 95], "I64"), "0.cos": ([tokens, half], [math.cos(t * 0.3**i) for t in range(tokens) for i in range(half)]),
                  "0.sin": ([tokens, half], [math.sin(t * 0.3**i) for t in range(tokens) for i in range(half)])}
        results = {}
        for kind, weights in files.items():
            self.prepare("llama", inputs, weights, dtype=kind, length=tokens, past=0, heads=heads, kv=heads, head=dim // heads)
            results[kind] = self.result()
            self.assertEqual(results[kind][0], vocab)
        self.assertLess(tensors.difference(results["int4"], results["float32"]), 5e-2)  # activations are integers: of 32 elements of a row, and of a whole row
        self.assertLess(tensors.difference(results["int8"], results["float32"]), 5e-2)

    def test_what_is_wrong_is_said_and_the_next_is_served(self):
        with self.assertRaisesRegex(Absent, "no net 'nothing'"):
            self.prepare("nothing", {"0.x": ([1], [1])})
        with self.assertRaisesRegex(Refused, "nothing is prepared"):
            self.peer.ask(60, do="run", seconds=0.01)
        with self.assertRaisesRegex(Refused, "size"):
            self.prepare("add", {"0.x": ([2], [1, 2]), "0.y": ([3], [1, 2, 3])})
        with self.assertRaises(Refused):
            self.peer.ask(60, do="prepare", net="add", point={}, inputs=str(self.folder / "none"))
        self.prepare("add", {"0.x": ([1], [1]), "0.y": ([1], [2])})
        self.assertEqual(list(self.result()[1]), [3])

    def test_arguments(self):
        for arguments in ([], ["0"], ["two"], ["1", "2"]):
            r = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self.assertEqual((r.returncode, r.stdout), (2, ""))
            self.assertIn("usage: reprise_peer THREADS", r.stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
