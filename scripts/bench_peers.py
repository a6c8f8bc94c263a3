#!/usr/bin/env python3
"""Measures Reprise and its peers in turn, in one run: ./run bench --peers [--rounds N] [--json].

Each round runs every contender once on every case, so that drift of the machine hits all of them; the medians over the
rounds are compared. One thread. Peers: numpy (OpenBLAS), ONNX Runtime (MLAS), and PyTorch (oneDNN, and torch.compile for
the pointwise chain) when it is installed. Peers read the shapes of convolutions from the names of reprise_bench's cases.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402  (after the thread counts)

SIZES = (128, 512, 1024)


def seconds(f, budget=0.05):
    """Mean seconds of a call, over as many calls as fill the budget."""
    f()
    n, spent, start = 0, 0.0, time.perf_counter()
    while spent < budget:
        f()
        n += 1
        spent = time.perf_counter() - start
    return spent / n


CONV = re.compile(r"conv n(\d+) c(\d+) hw(\d+) o(\d+) k(\d+) s(\d+) g(\d+)")


def convolutions(build):
    """(case, arrays of image, weight and bias, step, padding, groups) of each convolution that reprise_bench has: its name says the shape."""
    listed = subprocess.run([os.path.join(build, "bench", "reprise_bench"), "--benchmark_list_tests", "--benchmark_filter=^Peer/conv"], capture_output=True, text=True, check=True).stdout
    for line in listed.split():
        case = line.split("/")[1].replace("_", " ")
        n, c, hw, o, k, s, g = map(int, CONV.fullmatch(case).groups())
        yield case, [np.random.randn(*sizes).astype("f") for sizes in ((n, c, hw, hw), (o, c // g, k, k), (o,))], s, k // 2, g


def numpy_cases(build):
    cases = {}
    for n in SIZES:
        a, b = np.random.rand(n, n).astype("f"), np.random.rand(n, n).astype("f")
        cases[f"mm {n}"] = lambda a=a, b=b: a @ b
    return cases


def onnxruntime_cases(build):
    import onnx
    from onnx import TensorProto, helper
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3

    def session(nodes, inputs, out_rank):
        infos = [helper.make_tensor_value_info(k, TensorProto.FLOAT, [None] * v.ndim) for k, v in inputs.items()]
        out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * out_rank)
        model = helper.make_model(helper.make_graph(nodes, "g", infos, [out]), opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        s = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return lambda: s.run(None, inputs)

    cases = {}
    for n in SIZES:
        inputs = {"a": np.random.rand(n, n).astype("f"), "b": np.random.rand(n, n).astype("f")}
        cases[f"mm {n}"] = session([helper.make_node("MatMul", ["a", "b"], ["y"])], inputs, 2)
    x = np.random.rand(4096, 1024).astype("f")
    for case, (image, weight, bias), step, margin, groups in convolutions(build):
        node = helper.make_node("Conv", ["a", "b", "c"], ["y"], strides=[step] * 2, pads=[margin] * 4, group=groups)
        cases[case] = session([node], {"a": image, "b": weight, "c": bias}, 4)
    cases["softmax 4096x1024"] = session([helper.make_node("Softmax", ["a"], ["y"], axis=-1)], {"a": x}, 2)
    return cases


def torch_cases(build):
    import torch

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    cases = {}
    for n in SIZES:
        a, b = torch.rand(n, n), torch.rand(n, n)
        cases[f"mm {n}"] = lambda a=a, b=b: a @ b
    for case, arrays, step, margin, groups in convolutions(build):
        image, weight, bias = map(torch.from_numpy, arrays)
        cases[case] = lambda i=image, w=weight, b=bias, s=step, m=margin, g=groups: torch.nn.functional.conv2d(i, w, b, s, m, 1, g)
    x = torch.rand(4096, 1024)
    cases["softmax 4096x1024"] = lambda: torch.softmax(x, -1)
    small = torch.rand(16)
    plus = torch.compile(lambda t: t + 1, dynamic=True)
    cases["x + 1 on 16"] = lambda: plus(small)
    return cases


def reprise_round(build):
    out = subprocess.run([os.path.join(build, "bench", "reprise_bench"), "--benchmark_filter=^Peer", "--benchmark_format=json",
                          "--benchmark_min_time=0.05"], capture_output=True, text=True, check=True).stdout
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    return {b["name"].split("/")[1].replace("_", " "): b["real_time"] * unit[b["time_unit"]] for b in json.loads(out)["benchmarks"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    peers = {}
    for name, make in (("numpy", numpy_cases), ("onnxruntime", onnxruntime_cases), ("torch", torch_cases)):
        try:
            peers[name] = make(options.build)
        except Exception as error:  # a peer that is missing or broken here is left out, and said so
            print(f"bench: {name} is left out: {error}", file=sys.stderr)
    times = {}
    for _ in range(options.rounds):
        for case, t in reprise_round(options.build).items():
            times.setdefault(case, {}).setdefault("reprise", []).append(t)
        for name, cases in peers.items():
            for case, f in cases.items():
                times.setdefault(case, {}).setdefault(name, []).append(seconds(f))

    rows = []
    for case, by in sorted(times.items()):
        medians = {name: statistics.median(t) for name, t in by.items()}
        others = {n: t for n, t in medians.items() if n != "reprise"}
        best = min(others, key=others.get) if others else None
        rows.append({"case": case, "seconds": medians, "best_peer": best,
                     "of_best_peer": others[best] / medians["reprise"] if best and "reprise" in medians else None})
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for r in rows:
        each = "  ".join(f"{n} {t * 1e6:.2f} us" for n, t in sorted(r["seconds"].items()))
        speed = f"{r['of_best_peer']:.2f} of {r['best_peer']}'s speed" if r["of_best_peer"] else ""
        print(f"{r['case']:<24} {each}   {speed}")


if __name__ == "__main__":
    main()
