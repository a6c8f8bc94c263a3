#!/usr/bin/env python3
"""What Reprise is expected to take on a GPU, from bytes, launches and instructions; and measured figures beside it.

usage: gpu_model.py predict --gpu h100|h200 [--account FILE] [--before] [--out STEM]   writes STEM.json and STEM.md
       gpu_model.py compare --model FILE --figures FILE [--figures FILE...]   a table on stdout, with the difference in per cent

--account: what `reprise_device_figures --account` prints (bench/results/model-account.json). Kernels are those of tests/gpu/kernels.txt. Rows have the groups, names
and units of reprise_device_figures. The model is written before a run, so that the run tests it: it is not fitted to one, but for what graphs cost.

A kernel takes as long as the slowest of: its bytes at the memory's rate; its instructions at the rate of the schedulers; its bytes at the
rate that the loads under way allow (Little's law); besides, a part of the others, which is not hidden behind that, and a ramp.
"""
import argparse
import json
import math
import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

# From the vendor's data sheets (SXM modules): GB/s, multiprocessors, GHz at load, KiB of L2. `copy`, `read`: parts of the nominal
# bandwidth that copies and reads are known to reach on HBM3 (published measurements; the H200's of 4.8 TB/s).
GPUS = {
    "h100": {"name": "H100 SXM", "bandwidth": 3350e9, "sms": 132, "clock": 1.755e9, "copy": 0.89, "read": 0.90},
    "h200": {"name": "H200 SXM", "bandwidth": 4800e9, "sms": 132, "clock": 1.755e9, "copy": 0.895, "read": 0.88},
}
REGISTERS, SHARED, THREADS, BLOCKS = 65536, 227 << 10, 2048, 32  # of a multiprocessor of sm_90 (CUDA's programming guide)
ISSUE = 0.70          # part of the four schedulers' slots that straight code fills: an assumption
LATENCY = 0.65e-6     # s, of a load of global memory under load: published microbenchmarks say 0.5 to 0.8
L2, L1, MEET = 0.30e-6, 0.05e-6, 0.04e-6  # s, of a load that the second or first cache has, with what is done of it; of a barrier of 256 threads: published latencies
EXPOSED = 0.25        # part of the shorter of memory and instructions that is not hidden behind the longer: an assumption
NODE_GAP = 1.3e-6     # s between dependent nodes of a graph: published for H100
RAMP = 2.0e-6         # s until a kernel's loads flow, and for its last blocks: an assumption
# Of graphs, measured (bench/results/nvidia-h100-80gb-hbm3-2026-11-27.md): s of the host for a launch and a node of it, where one was changed, to build, to change; s of the device for a run, and a node.
LAUNCH, LAUNCH_NODE, SET_NODE = 1.5e-6, 0.004e-6, 3.3e-6
BUILD, BUILD_NODE, CHANGE, CHANGE_NODE = 20e-6, 2.0e-6, 1.5e-6, 1.4e-6
RUN, NODE = 1.7e-6, 0.9e-6
NEW_SIZE = 210e-6     # s of the host for guards, sizes, choice of launches and plan of memory: measured in the same run
SMALL = 2.5e-6        # s of a node with little to do, of one block or few: an assumption
ONE_AFTER_OTHER, SIDE_BY_SIDE = 4.5, 2.0  # cycles of an instruction of the only warp of a scheduler: that waits for the one before it; among others: assumptions
READ_BACK = 8e-6      # s, of a wait with a few bytes copied to the host
TENSOR = 6.3          # cycles of a scheduler for an m16n8k16 of 16 bits: mma.sync is published to reach 0.6 to 0.65 of the data sheet's rate
TENSOR_GROUP = 4.8    # of the same number of products that a warp has of a warpgroup's (wgmma): the data sheet's 4 are reached to 0.8 to 0.85, the rest is power
GROUP_BUSY = 0.90     # part of the time that warpgroups keep the tensor cores busy, whose products run on while warps meet: an assumption
PORT = 64             # bytes a cycle that one multiprocessor can have of the second cache
KEPT_BUSY = 0.85      # part of the time that warps keep the tensor cores of a product busy between its barriers: an assumption
L2_RATE = 5.5e12      # bytes a second, of reads that the second cache has: published for H100
SPECIAL = 8           # cycles of a scheduler for a warp's instruction of the special-function unit: 16 lanes a multiprocessor's quarter and clock at most, 4 sustained
FMA_TURN = 512        # of a thread in a turn of the tiled product: 64 x 64 x 16 by 128 threads
SIZE = {"f32": 4, "bf16": 2, "f16": 2}

# What a kernel of a decoded token does one after the other, counted in its code: from where it has waited to where it has made use of its first weights, and behind the last of them.
# Round trips to the second cache and to memory, instructions that wait for each other and others. Attention: of 110 keys. `under_way`: bytes of a warp's weights that are asked for without
# having been waited for. before: commit 7e10a8a, whose early launches hid nothing: 829, 172 and 3061 tokens/s measured for 1B, 8B and 0.1B, where this gives 918, 183 and 3240.
CHAINS = {
    "before": {"under_way": 4096, "early": False,
               "qkv": ((2, 2, 320, 400), (0, 1, 200, 0)), "attention": ((6, 2, 1000, 1100), (0, 0, 0, 0)), "out": ((1, 0, 60, 230), (1, 0, 80, 0)),
               "gate": ((2, 2, 280, 400), (0, 0, 120, 0)), "down": ((1, 0, 60, 220), (1, 0, 80, 0))},
    "now": {"under_way": 12288, "early": True,
            "qkv": ((2, 0, 260, 430), (0, 0, 150, 0)), "attention": ((1, 0, 400, 2080), (0, 0, 0, 0)), "out": ((1, 0, 30, 230), (0, 0, 40, 0)),
            "gate": ((2, 0, 230, 400), (0, 0, 60, 0)), "down": ((1, 0, 30, 220), (0, 0, 40, 0))},
    # The same code, whose kernels start when the one before has ended: then addresses, norms' weights, keys and values are still far.
    "now, no early launches": {"under_way": 12288, "early": False,
                               "qkv": ((2, 1, 360, 430), (0, 0, 150, 0)), "attention": ((2, 1, 580, 2080), (0, 0, 0, 0)), "out": ((2, 0, 60, 230), (0, 0, 40, 0)),
                               "gate": ((2, 1, 330, 400), (0, 0, 60, 0)), "down": ((2, 0, 60, 220), (0, 0, 40, 0))},
}
LONG = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


class Kernel:
    def __init__(self, line):
        words = line.split(None, 11)
        (self.regs, _, self.shared, self.threads, self.load, self.store, self.flight, self.tensor, self.mufu, self.copies, self.instr) = map(int, words[:11])
        rest = words[11].split()
        self.turns, self.tensor_turns, self.straight = [], [], None
        self.by_warpgroups = bool(re.search(r"\d+w\d+\^", words[11]))
        while rest and (m := re.fullmatch(r"(=?)(\d+)/(\d+)\+(\d+)@(\d+)|(\d+)([*w])(\d+)\^(\d+)", rest[0])):
            numbers = tuple(int(x) for x in m.groups()[1:] if x and x.isdigit())
            if m.group(1):
                self.straight = numbers
            else:
                (self.turns if len(numbers) == 4 else self.tensor_turns).append(numbers)
            rest.pop(0)
        if rest and rest[0] == "-":
            rest.pop(0)
        self.name = " ".join(rest)

    def blocks(self):
        """Resident on a multiprocessor."""
        per_warp = -(-self.regs * 32 // 256) * 256
        return max(1, min(REGISTERS // (per_warp * self.threads // 32), SHARED // (self.shared + 1024), THREADS // self.threads, BLOCKS))

    def passes(self):
        """Turns of the vector path, without the tails of loops that take several at a time; of rows that stay in registers, all that is done of one."""
        if self.straight:
            return [self.straight]
        out = []
        for t in self.turns:
            if t[3] != self.load:
                continue
            if out and t[2] == 0 and out[-1][2] == 0 and out[-1][1] == 2 * t[1]:
                continue
            out.append(t)
        return out

    def instructions_per_byte(self, inputs, outputs):
        """A thread's, for a byte of one of the row's tensors: what is read in each pass, or written in the last."""
        return sum(i / (stored / outputs if stored and outputs else loaded / inputs) for i, loaded, stored, _ in self.passes())


def kernels(path):
    out = {}
    with open(path) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                k = Kernel(line)
                out.setdefault(k.name, k)
    return out


def find(table, start):
    for name, k in table.items():
        if name.startswith(start):
            return k
    raise SystemExit(f"gpu_model.py: tests/gpu/kernels.txt has no kernel '{start}...'")


class Model:
    def __init__(self, gpu, table, account):
        self.g, self.table, self.account, self.rows = gpu, table, account, []
        self.read, self.copy = gpu["bandwidth"] * gpu["read"], gpu["bandwidth"] * gpu["copy"]
        self.issue = gpu["sms"] * 4 * gpu["clock"] * ISSUE * 32  # threads' instructions a second

    def row(self, group, name, value, unit, why, part=0.0, of=""):
        self.rows.append({"group": group, "name": name, "predicted": value, "unit": unit, "because": why, **({"part": part, "of": of} if part else {})})

    def in_flight_rate(self, k, blocks=None, flight=None, duty=1.0):
        """Bytes a second that the loads under way allow. blocks: of the whole grid, where it does not fill the device."""
        resident = self.g["sms"] * k.blocks() if blocks is None else min(blocks, self.g["sms"] * k.blocks())
        return resident * k.threads * (flight or k.flight) * k.load * duty / LATENCY

    def fused(self):
        rows, cols = 65536, 4096
        cases = [("gelu(2 x + y) y - x", "gelu_chain", 3, 1, 1, False), ("rms_norm", "rms_norm", 2, 1, 1, False), ("layer_norm", "layer_norm", 2, 1, 1, False),
                 ("softmax", "softmax", 2, 1, 1, False), ("silu(x) y", "silu_mul", 3, 2, 1, False), ("sum over rows", "column_sums", 1, 1, 0, True)]
        for t in ("f32", "bf16"):
            moved = rows * cols * SIZE[t]
            for name, kernel, tensors, inputs, outputs, reads in cases:
                k = find(self.table, f"{kernel} {LONG[t]}:")
                best = self.read if reads else self.copy
                instructions = k.instructions_per_byte(inputs, outputs) * moved
                # Column sums: a block for a line of the cache of each row, in chunks of rows (kernels/gpu/split_reduction.cc: 512 blocks).
                flying = self.in_flight_rate(k, blocks=512 if reads else None, flight=k.flight)
                times = {"bytes": tensors * moved / best, "instructions": instructions / self.issue, "loads under way": tensors * moved / flying}
                why = max(times, key=times.get)
                shorter = min(times["instructions"], max(times["bytes"], times["loads under way"]))
                seconds = max(times.values()) + EXPOSED * shorter + RAMP
                rate = tensors * moved / seconds
                self.row("fused kernels", f"{name} {t}", rate / 1e9, "GB/s", why, rate / best, "read" if reads else "copy")

    def dot_rate(self, k, n, depth):
        """product_dot of one row: four warps share a column where there are few; the batched loop needs eight runs a lane."""
        runs = depth * 2 / 16 / 32 / (4 if n < 4096 else 1)
        flight, duty = (8, 0.45) if runs >= 8 else (max(1, 1 << int(math.log2(max(1, runs)))), 0.8)
        return min(self.read, self.in_flight_rate(k, flight=flight, duty=duty))

    def tensor_product(self, t, rows, n, depth):
        """Seconds on tensor cores, of the tile that kernels/gpu/matmul.cc takes (kProductTilesOfCores), and what bounds it."""
        for down, across in ((128, 256), (128, 64), (64, 64)):
            tiles = -(-rows // down) * -(-n // across)
            if tiles >= 112 and rows > down // 2:
                break
        k = find(self.table, f"product(dtype={t}, a_lines=deep, b_lines=deep, row_dims=1, bias=0, tile_rows={down}, tile_columns={across},")
        in_turn = max(x[1] for x in k.tensor_turns)  # a step of 64 along k
        each = -(-tiles // self.g["sms"])  # tiles of a multiprocessor
        cycles = TENSOR_GROUP / GROUP_BUSY if k.by_warpgroups else TENSOR / KEPT_BUSY
        second_cache = min(L2_RATE / min(tiles, self.g["sms"]), PORT * self.g["clock"])
        step = {"tensor cores": in_turn * k.threads / 128 * cycles / self.g["clock"], "second cache": (down + across) * 64 * SIZE[t] / second_cache}
        times = {what: each * math.ceil(depth / 64) * s for what, s in step.items()} | {"bytes": (rows * depth + n * depth + rows * n) * SIZE[t] / self.read}
        why = max(times, key=times.get)
        return times[why] + RAMP, f"{why}, tiles of {down} x {across}"

    def products(self):
        for t in ("f32", "bf16"):
            k = find(self.table, f"product(dtype={t}, a_lines=deep, b_lines=deep")
            loop = max(k.turns, key=lambda x: x[0])  # what a block does but for prologue and epilogue
            rate = self.g["sms"] * 4 * self.g["clock"] * ISSUE * 32 * 2 * FMA_TURN / loop[0]
            for m in ("1024 x 1024 x 1024", "4096 x 4096 x 4096", "128 x 4096 x 4096"):
                rows, n, depth = (int(x) for x in m.split(" x "))
                if t == "bf16":
                    seconds, why = self.tensor_product(t, rows, n, depth)
                    self.row("products", f"{m} {t}", 2.0 * rows * n * depth / seconds / 1e12, "Tflop/s", why)
                    continue
                tiles = -(-rows // 64) * (n // 64)
                waves = -(-tiles // (self.g["sms"] * k.blocks()))
                full = min(1.0, tiles / (waves * self.g["sms"] * k.blocks()))
                flops = 2.0 * rows * n * depth
                seconds = flops / (rate * full) + RAMP
                self.row("products", f"{m} {t}", flops / seconds / 1e12, "Tflop/s", "instructions")
            dot = find(self.table, f"product_dot(dtype={t}, m=1, bias=0")
            for n, depth, name in ((4096, 4096, "1 x 4096 x 4096"), (14336, 4096, "1 x 14336 x 4096 and back")):
                size = n * depth * SIZE[t]
                seconds = size / self.dot_rate(dot, n, depth) + RAMP + NODE_GAP
                self.row("products", f"{name} {t}", size / seconds / 1e9, "GB/s", "bytes and a node's ramp", size / seconds / self.read, "read")

    def long_rows(self):
        """One row of 131072: the first 50, and running sums. Blocks of 256 threads have chunks; what a row is ordered by is 32 bits."""
        n, k, threads = 131072, 50, 256

        def select(elements, far):
            """Four digits are counted, then what is kept is found and ordered in shared memory (jit/gpu/kernels/order.cc)."""
            turns = -(-elements // threads)
            digits = turns * far + 3 * turns * L1 + 4 * 6 * MEET
            keep = turns * (L1 + 4 * MEET)
            return digits + keep + 21 * (2 * L1 + MEET)

        chunks = n // 2048
        seconds = select(n // chunks, LATENCY) + select(chunks * k, L2) + 2 * NODE_GAP + 2 * RAMP
        self.row("rows", "top-k of 131072, k = 50, f32", seconds * 1e6, "us", f"{chunks} chunks, then their first {k}")
        each = n // (n // 4096)
        turns = -(-each // (4 * threads))
        seconds = turns * LATENCY + 2 * MEET + turns * (L2 + 3 * MEET) + 2 * MEET + L2 + 2 * NODE_GAP + 2 * RAMP
        self.row("rows", "cumsum of 131072, f32", seconds * 1e6, "us", f"{n // each} chunks, twice")

    def chain(self, c):
        near, far, alone, beside = c
        return near * L2 + far * LATENCY + (alone * ONE_AFTER_OTHER + beside * SIDE_BY_SIDE) / self.g["clock"]

    def beside(self, k, prev, blocks):
        """Blocks of k that find room on a multiprocessor beside the last ones of the kernel before it."""
        last = -(-min(blocks, (blocks - 1) % (self.g["sms"] * prev.blocks()) + 1) // self.g["sms"])
        size = lambda x: -(-x.regs * 32 // 256) * 256 * x.threads // 32
        return max(0, REGISTERS - last * size(prev)) // size(k)

    def token(self, a, chains):
        """Seconds of the device. Memory has one queue: a kernel's weights that are asked for before it has waited come while the one before it runs. Blocks that are there when it has waited
        have some under way while its chain runs; what is left comes behind that."""
        d, h, q, kv = a["dim"], a["hidden"], a["heads"] * a["head_dim"], a["kv_heads"] * a["head_dim"]
        # Elements, depth, elements of a warp.
        joined = {"qkv": (q + 2 * kv, d, 2), "attention": (0, 0, 0), "out": (d, q, 1), "gate": (2 * h, d, 2), "down": (d, h, 1)}
        kernel = {x: find(self.table, f"product_joined: {x} bfloat16") for x in joined if x != "attention"}
        kernel["attention"] = find(self.table, f"attention_part(dtype=bf16, depth={a['head_dim']}, width={a['head_dim']}, mask=none, causal=0, rows=4")
        grid = {x: n // (c * 4) if n else a["kv_heads"] for x, (n, _, c) in joined.items()}
        names = list(joined)
        begun = end = busy = 0.0  # when the kernel before has waited, and ends; until when memory has something to do
        for _ in range(a["layers"]):
            for i, x in enumerate(names):
                n, depth, columns = joined[x]
                size, k = 2 * n * depth, kernel[x]
                block = 4 * min(chains["under_way"], 2 * depth * columns)
                head, tail = (self.chain(c) for c in chains[x])
                if chains["early"]:
                    asked = min(size, min(grid[x], self.beside(k, kernel[names[i - 1]], grid[names[i - 1]]) * self.g["sms"]) * block)
                    busy = max(busy, begun) + asked / self.read
                else:
                    asked = 0
                begun = end + NODE
                flying = min(size - asked, min(grid[x], k.blocks() * self.g["sms"]) * block)
                ready = max(max(busy, begun) + flying / self.read, begun + head)
                busy = ready + (size - asked - flying) / self.read
                end = busy + tail
        cache = 4 * kv * a["layers"] * a["position"] / self.read if not chains["early"] else 0
        vocabulary = 2 * a["vocabulary"] * d / self.read + NODE + self.chain(chains["gate"][0])
        return end + cache + vocabulary + (a["depth"] - 5 * a["layers"] - 1) * SMALL

    def decode(self, before=False):
        for name, a in self.account.items():
            host = 2 * LAUNCH + a["nodes"] * LAUNCH_NODE + 2 * READ_BACK + SET_NODE
            for what, chains in (("", "before" if before else "now"), (", no early launches", "before" if before else "now, no early launches")):
                device = self.token(a, CHAINS[chains])
                seconds, bytes_alone = device + host, a["weight_bytes"] / self.read
                self.row("decode", f"Llama {name} bfloat16, batch 1{what}", 1 / seconds, "tokens/s",
                         f"weights {bytes_alone * 1e3:.2f} ms, what {a['depth']} dependent nodes take beside {1e3 * (device - bytes_alone):.2f} ms, host {host * 1e3:.2f} ms", bytes_alone / seconds, "read")

    def attention(self):
        for length in (2048, 8192):
            for depth in (64, 128):
                k = find(self.table, f"attention(dtype=bf16, depth={depth}, width={depth}, mask=none")
                heads = 32
                flops = 4.0 * heads * length * length * depth / 2
                if k.tensor_turns:
                    # The shortest loop is the one whose blocks of 64 keys all queries see; a warp has 16 of them. Half a block a query is computed for nothing.
                    instructions, tensor, special = min(k.tensor_turns)
                    times = {"tensor cores": tensor * (TENSOR_GROUP if k.by_warpgroups else TENSOR), "instructions": instructions / ISSUE, "powers": special * SPECIAL}
                    why = max(times, key=times.get)
                    rest = sorted(times.values())[-2]
                    # With few warps a scheduler the shorter part is hidden the less.
                    hidden = 1 - 1 / max(1, k.blocks() * k.threads // 128)
                    turn = (times[why] + (1 - hidden) * rest) / self.g["clock"]
                    turns = heads * (length / 16) * (length / 64 / 2 + 0.5) / (self.g["sms"] * 4)
                    seconds = turns * turn + RAMP
                    self.row("prefill attention", f"causal, 32 heads of {depth}, {length} tokens bf16", flops / seconds / 1e12, "Tflop/s", f"{why}, {k.blocks()} blocks a multiprocessor")
                    continue
                # A turn over 64 keys: 2 * queries * 64 * depth multiplications by 128 threads, of the instructions of the whole loop.
                queries = 64 if depth <= 64 else 32
                fmas = 2 * queries * 64 * depth / 128
                loop = max(t[0] for t in k.turns)
                rate = self.g["sms"] * 4 * self.g["clock"] * ISSUE * 32 * 2 * min(0.6, fmas / (fmas + loop))
                seconds = flops / rate + RAMP
                self.row("prefill attention", f"causal, 32 heads of {depth}, {length} tokens bf16", flops / seconds / 1e12, "Tflop/s", "instructions: no tensor cores")

    def graphs(self):
        for nodes in (1, 10, 100, 500, 1000, 5000):
            at = f"{nodes} nodes" if nodes != 1 else "1 nodes"
            why = "measured on an H100"
            self.row("graphs", f"build and instantiate, {at}", (BUILD + nodes * BUILD_NODE) * 1e6, "us", why)
            self.row("graphs", f"launch (host), {at}", (LAUNCH + nodes * LAUNCH_NODE) * 1e6, "us", why)
            self.row("graphs", f"launch (host) with addresses that moved, {at}", (LAUNCH + SET_NODE + nodes * LAUNCH_NODE) * 1e6, "us", "one node is updated")
            self.row("graphs", f"run (device), {at}", (RUN + nodes * NODE) * 1e6, "us", why)
            self.row("graphs", f"build and change to another size, {at}", (CHANGE + nodes * CHANGE_NODE) * 1e6, "us", "every node is set")
        self.row("changing sizes", "host time of a call with a size never seen", (LAUNCH + 25 * CHANGE_NODE + NEW_SIZE) * 1e6, "us", "25 nodes are set")

    def all(self, before=False):
        self.row("bandwidth", "copy, read and written", self.copy / 1e9, "GB/s", "data sheet")
        self.row("bandwidth", "sum of all", self.read / 1e9, "GB/s", "data sheet")
        self.fused(), self.long_rows(), self.products(), self.attention(), self.decode(before), self.graphs()
        return self.rows


def markdown(title, rows, measured=None):
    out = [f"# {title}", ""]
    out.append("Written by scripts/gpu_model.py from tests/gpu/kernels.txt and `reprise_device_figures --account`. Measured is what graphs cost; nothing else here.\n" if measured is None else "Measured figures beside the model's.\n")
    group = None
    for r in rows:
        if r["group"] != group:
            group = r["group"]
            out += ["", f"## {group}", ""]
            out += ["| what | expected | unit | part | bound by |", "|---|---|---|---|---|"] if measured is None else ["| what | expected | measured | unit | difference | |", "|---|---|---|---|---|---|"]
        if measured is None:
            part = f"{r['part']:.2f} of {r['of']}" if r.get("part") else ""
            out.append(f"| {r['name']} | {r['predicted']:.4g} | {r['unit']} | {part} | {r['because']} |")
            continue
        m = measured.get((r["group"], r["name"]))
        if m is None:
            out.append(f"| {r['name']} | {r['predicted']:.4g} | | {r['unit']} | not measured | |")
        else:
            off = 100 * (m / r["predicted"] - 1)
            out.append(f"| {r['name']} | {r['predicted']:.4g} | {m:.4g} | {r['unit']} | {off:+.0f} % | {'to be explained: ' + r['because'] if abs(off) > 20 else ''} |")
    return "\n".join(out) + "\n"


def read_json(path):
    try:
        with open(path) as f:
            return json.load(f)
    except (OSError, ValueError) as e:
        raise SystemExit(f"gpu_model.py: {path}: {e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = parser.add_subparsers(dest="what", required=True)
    p = sub.add_parser("predict")
    p.add_argument("--gpu", choices=sorted(GPUS), required=True)
    p.add_argument("--account", default=os.path.join(ROOT, "bench", "results", "model-account.json"))
    p.add_argument("--out")
    p.add_argument("--before", action="store_true", help="decode by the chains of kernels that were measured (CHAINS)")
    c = sub.add_parser("compare")
    c.add_argument("--model", required=True)
    c.add_argument("--figures", action="append", required=True)
    a = parser.parse_args()
    if a.what == "predict":
        gpu = GPUS[a.gpu]
        table = kernels(os.path.join(ROOT, "tests", "gpu", "kernels.txt"))
        rows = Model(gpu, table, read_json(a.account)).all(a.before)
        text = markdown(f"What is expected on {gpu['name']}", rows)
        if not a.out:
            sys.stdout.write(text)
            return
        with open(a.out + ".md", "w") as f:
            f.write(text)
        with open(a.out + ".json", "w") as f:
            json.dump({"gpu": gpu["name"], "constants": gpu, "rows": rows}, f, indent=1)
            f.write("\n")
        return
    model, measured = read_json(a.model), {}
    for path in a.figures:
        for r in read_json(path).get("rows", []):
            measured.setdefault((r["group"], r["name"]), r["measured"])
    sys.stdout.write(markdown(f"{model['gpu']}: measured and expected", model["rows"], measured))


if __name__ == "__main__":
    main()
