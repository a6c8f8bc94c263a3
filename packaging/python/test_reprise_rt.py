"""Runs the module and the examples in C with programs that tests/export/rt_test.cc has written.

usage: test_reprise_rt.py FOLDER [RUNNER] [PLUGIN] [VAD] [MAKE_VAD] [RUST]; RPRT_LIBRARY names the library, RPRT_MODULE the folder of a
module that is installed."""
import array
import ctypes
import math
import os
import random
import struct
import subprocess
import sys
import unittest
import wave

sys.path.insert(0, os.environ.get("RPRT_MODULE", os.path.dirname(os.path.abspath(__file__))))
import reprise_rt  # noqa: E402

FOLDER, RUNNER, PLUGIN, VAD, MAKE_VAD, RUST = (sys.argv[1:7] + [None] * 5)[:6]


def pattern(*sizes):
    n = 1
    for s in sizes:
        n *= s
    flat = array.array("f", ((i * 37 % 101) / 101 - 0.5 for i in range(n)))
    return memoryview(flat).cast("B").cast("f", sizes)


def expected(name):
    with open(os.path.join(FOLDER, name + ".txt")) as f:
        return [float.fromhex(x) for x in f.read().split()]


def flat(values):
    return [x for v in values for x in flat(v)] if isinstance(values, list) else [values]


class Module(unittest.TestCase):
    def test_results_are_those_of_the_compiled_function(self):
        with reprise_rt.load(os.path.join(FOLDER, "net.rpx")) as net:
            self.assertEqual(net.signature, "(x: f32[batch, s1]) -> (f32[batch, s3])")
            y = net(pattern(5, 8))
            self.assertEqual((y.dtype, y.shape), ("float32", (5, 3)))
            self.assertEqual(flat(y.tolist()), expected("net"))
            self.assertEqual(list(y.memoryview().cast("B").cast("f")), expected("net"))
        self.assertEqual(flat(y.tolist()), expected("net"))  # results outlive the program

    def test_errors_name_guard_and_value(self):
        net = reprise_rt.load(os.path.join(FOLDER, "net.rpx"))
        for arguments, text in (((pattern(65, 8),), "x.size(0) is 65"), ((3,), "no tensor"), ((), "0 arguments"),
                                ((array.array("d", [1.0] * 8),), "float64")):
            with self.assertRaises(reprise_rt.Error) as e:
                net(*arguments)
            self.assertIn(text, str(e.exception))
        with self.assertRaises(reprise_rt.Error) as e:
            reprise_rt.load(os.path.join(FOLDER, "net.txt"))
        self.assertIn("net.txt", str(e.exception))
        net.close()
        with self.assertRaises(reprise_rt.Error):
            net(pattern(5, 8))

    def test_writes_and_views(self):
        add = reprise_rt.load(os.path.join(FOLDER, "add.rpx"))
        x = array.array("f", range(6))
        made = add(memoryview(x).cast("B").cast("f", (2, 3)), pattern(2, 3))
        want = array.array("f", [i + p for i, p in zip(range(6), flat(pattern(2, 3).tolist()))])
        self.assertEqual(list(x), list(want))
        self.assertEqual(made.shape, (3, 2))
        self.assertEqual(made.tolist()[2][1], x[5])
        with self.assertRaises(ValueError):
            add(memoryview(bytes(24)).cast("f", (2, 3)), pattern(2, 3))  # read-only

    def test_dlpack(self):
        net = reprise_rt.load(os.path.join(FOLDER, "net.rpx"))
        y = net(pattern(5, 8))

        class Foreign:  # what another library gives: DLPack, and no buffer
            def __init__(self, of):
                self.of = of

            def __dlpack__(self, **kwargs):
                return self.of.__dlpack__(**kwargs)

            def __dlpack_device__(self):
                return self.of.__dlpack_device__()

        before = len(reprise_rt._given)
        x = Foreign(reprise_rt.tensor(pattern(5, 8)))
        self.assertEqual(net(x).tolist(), y.tolist())
        shown = reprise_rt.from_dlpack(y)
        self.assertEqual((shown.shape, shown.strides, shown.dtype), (y.shape, y.strides, y.dtype))
        self.assertEqual(shown._value.tensor.data, y._value.tensor.data)
        capsule = y.__dlpack__()  # that nobody takes
        self.assertEqual(len(reprise_rt._given), before + 2)
        del capsule, shown
        self.assertEqual(len(reprise_rt._given), before)
        for dtype, size in zip(reprise_rt.DTYPES, reprise_rt.SIZES):
            t = reprise_rt.tensor(bytes(6 * size), dtype, (2, 3))
            again = reprise_rt.from_dlpack(t)
            self.assertEqual((again.dtype, again.shape, again.bytes()), (dtype, (2, 3), bytes(6 * size)))
        with self.assertRaises(BufferError):
            y.__dlpack__(stream=1)
        try:
            import torch
        except ImportError:
            return
        made = torch.from_dlpack(y)
        self.assertEqual(made.tolist(), y.tolist())
        self.assertEqual(made.data_ptr(), y._value.tensor.data)
        self.assertEqual(net(torch.tensor(pattern(5, 8).tolist())).tolist(), y.tolist())

    def test_weights(self):
        net = reprise_rt.load(os.path.join(FOLDER, "net.rpx"))
        (name, w), = net.weights.items()
        self.assertEqual(w.shape, (8, 3))
        net.bind(name, memoryview(bytes(96)).cast("f", (8, 3)))
        self.assertEqual(set(flat(net(pattern(4, 8)).tolist())), {1.0})


class Examples(unittest.TestCase):
    @unittest.skipUnless(RUNNER, "no runner")
    def test_runner(self):
        out = subprocess.run([RUNNER, os.path.join(FOLDER, "net.rpx"), "x=5x8", "--times", "3"], check=True,
                             capture_output=True, text=True).stdout
        line = [x for x in out.splitlines() if x.startswith("result")][0]
        self.assertEqual([float.fromhex(x) for x in line.split("] ")[1].split(" sum")[0].split()], expected("net")[:4])
        print(out.splitlines()[-1])
        bad = subprocess.run([RUNNER, os.path.join(FOLDER, "net.rpx"), "x=70x8"], capture_output=True, text=True)
        self.assertEqual(bad.returncode, 1)
        self.assertIn("x.size(0) is 70", bad.stderr)

    @unittest.skipUnless(RUST, "no Rust")
    def test_rust(self):
        path = os.path.join(FOLDER, "net.rpx")
        out = subprocess.run([RUST, path, "5", "8"], check=True, capture_output=True, text=True).stdout.split()
        made = [struct.unpack("!f", bytes.fromhex(x))[0] for x in out]
        self.assertEqual(made, expected("net"))
        bad = subprocess.run([RUST, path, "70", "8"], capture_output=True, text=True)
        self.assertEqual(bad.returncode, 1)
        self.assertIn("x.size(0) is 70", bad.stderr)

    @unittest.skipUnless(VAD and MAKE_VAD, "no detector of voice")
    def test_vad(self):
        net, sound = os.path.join(FOLDER, "vad.rpx"), os.path.join(FOLDER, "sound.wav")
        subprocess.run([MAKE_VAD, net], check=True, capture_output=True)
        draw = random.Random(1)
        voices = ((1.0, 2.0), (3.0, 3.6))
        samples = array.array("h")
        for i in range(5 * 16000):
            t = i / 16000
            x = 30 * draw.gauss(0, 1)  # a room
            if any(begin <= t < end for begin, end in voices):  # vowels of 150 Hz, syllables of 250 ms
                swell = 0.6 + 0.4 * math.sin(8 * math.pi * t)
                x += swell * sum(1500 / h * math.sin(2 * math.pi * 150 * h * t) for h in range(1, 12))
            samples.append(int(max(-32768, min(32767, x))))
        with wave.open(sound, "wb") as f:
            f.setnchannels(1), f.setsampwidth(2), f.setframerate(16000)
            f.writeframes(samples.tobytes())
        out = subprocess.run([VAD, net, sound], check=True, capture_output=True, text=True).stdout
        found = [tuple(map(float, line.split())) for line in out.splitlines()]
        self.assertEqual(len(found), len(voices), out)
        for (begin, end), (b, e) in zip(voices, found):
            self.assertLess(abs(begin - b), 0.15, out)
            self.assertLess(abs(end - e), 0.4, out)  # it waits for the next syllable
        for name, text in (("net.txt", "no WAV file"), ("nowhere.wav", "cannot be opened")):
            bad = subprocess.run([VAD, net, os.path.join(FOLDER, name)], capture_output=True, text=True)
            self.assertEqual(bad.returncode, 1)
            self.assertIn(text, bad.stderr)

    @unittest.skipUnless(PLUGIN, "no plug-in")
    def test_plugin(self):
        lib = ctypes.CDLL(PLUGIN)
        lib.plugin_open.restype = lib.plugin_process.restype = ctypes.c_void_p
        lib.plugin_close.argtypes = [ctypes.c_void_p]
        lib.plugin_process.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        lib.plugin_open.argtypes = [ctypes.c_char_p]
        one, two = (lib.plugin_open(os.fsencode(os.path.join(FOLDER, "filter.rpx"))) for _ in range(2))
        x, y = (ctypes.c_float * 4)(1, 2, 3, 4), (ctypes.c_float * 4)()
        for _ in range(2):
            self.assertIsNone(lib.plugin_process(one, x, y, 4))
        self.assertEqual(list(y), [1.5, 3.0, 4.5, 6.0])  # half of what was there is added
        self.assertIsNone(lib.plugin_process(two, x, y, 4))
        self.assertEqual(list(y), [1.0, 2.0, 3.0, 4.0])  # state is an instance's own
        self.assertIn(b"is 5", ctypes.string_at(lib.plugin_process(one, x, y, 5)))
        lib.plugin_close(one), lib.plugin_close(two)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
