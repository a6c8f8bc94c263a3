"""Runs the module and the examples in C with programs that tests/export/rt_test.cc has written.

usage: test_reprise_rt.py FOLDER [RUNNER] [PLUGIN]; RPRT_LIBRARY names the library."""
import array
import ctypes
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reprise_rt  # noqa: E402

FOLDER, RUNNER, PLUGIN = (sys.argv[1:4] + [None, None])[:3]


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
