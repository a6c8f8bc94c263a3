#!/usr/bin/env python3
"""The same measurements as bench/device, made by PyTorch (eager and compiled), Triton and cuBLASLt through PyTorch.

usage: gpu_peers.py [--quick] [--json FILE] [--device cuda] [--no-compile | --only-compile]

Exit status 3: none of it can run here.

Rows have the groups and names of reprise_device_figures, so that the two can be laid side by side.
"""
import argparse
import json
import os
import statistics
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--quick", action="store_true")
parser.add_argument("--json")
parser.add_argument("--device", default="cuda")
which = parser.add_mutually_exclusive_group()
which.add_argument("--no-compile", action="store_true", help="all but torch.compile, which takes minutes")
which.add_argument("--only-compile", action="store_true", help="only torch.compile")
args = parser.parse_args()
rows, skipped, versions = [], [], {}
KEEP_BUSY = 0.12  # seconds before anything is timed: clocks rise with load
PAST_CACHES = 1 << 29  # as kPastCaches in bench/device/device_figures.h


def write():
    """After each row, at once in place: what was measured stays when the run is cut off."""
    if args.json:
        with open(args.json + ".new", "w") as f:
            json.dump({"versions": versions, "skipped": skipped, "rows": rows}, f, indent=1)
        os.replace(args.json + ".new", args.json)


def skip(peer, what, e):
    text = str(e).strip()
    why = type(e).__name__ + (": " + text.splitlines()[0][:200] if text else "")
    skipped.append({"peer": peer, "what": what, "why": why})
    print(f"  {peer:<14} {what:<44} not measured: {why}", flush=True)
    write()


def nothing_measured():
    print(skipped[-1]["why"], file=sys.stderr)
    raise SystemExit(3)


def attempt(peer, what, f):
    try:
        f()
    except Exception as e:  # a peer that is not there or fails is a gap in the table, not the end of it
        skip(peer, what, e)


print("\nPeers")
try:
    import torch
    import torch.nn.functional as F

    device = torch.device(args.device)
    torch.zeros(1, device=device)
    versions["torch"] = torch.__version__
except Exception as e:
    skip("torch", "everything", e)
    nothing_measured()
try:
    import triton

    versions["triton"] = triton.__version__
except Exception as e:
    skip("triton", "everything", e)
    triton = None
print(f"  {versions}")


def wait():
    if device.type == "cuda":
        torch.cuda.synchronize()


def warm_up(f):
    """Calls until the device has been busy for a while. Gives the seconds of one call."""
    for _ in range(3):  # compiles, records
        f()
    wait()
    start, calls, batch = time.perf_counter(), 0, 1
    while True:
        for _ in range(batch):
            f()
        wait()
        calls += batch
        took = time.perf_counter() - start
        if args.quick or took >= KEEP_BUSY:
            return took / calls
        if took < 0.02:
            batch = min(batch * 2, 256)


def seconds(f):
    """Median over rounds of queueing some calls and waiting for them all."""
    once = max(warm_up(f), 1e-6)
    calls = 1 if args.quick else max(3, min(2000, int(0.02 / once)))
    rounds = 1 if args.quick else max(3, min(11, int(1.5 / (calls * once))))
    means = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            f()
        wait()
        means.append((time.perf_counter() - start) / calls)
    return statistics.median(means)


def row(peer, group, name, measured, unit, part=0.0, of=""):
    rows.append({"peer": peer, "group": group, "name": name, "measured": measured, "unit": unit})
    if part:
        rows[-1].update(part=part, of=of)
    print(f"  {peer:<14} {name:<44} {measured:14.6g} {unit:<9}" + (f" {part:5.2f} of {of}" if part else ""), flush=True)
    write()


def bandwidth():
    n = 1 << 16 if args.quick else 1 << 28
    a, b = torch.zeros(n, device=device), torch.zeros(n, device=device)
    copy = 8 * n / seconds(lambda: b.copy_(a))
    row("torch", "bandwidth", "copy, read and written", copy / 1e9, "GB/s")
    read = 4 * n / seconds(lambda: a.sum())
    row("torch", "bandwidth", "sum of all", read / 1e9, "GB/s", read / copy, "copy")
    return copy, max(read, copy)  # as in bench/device/kernels.cc


def triton_softmax():
    global tl  # where Triton looks for the names in a kernel
    import triton.language as tl

    @triton.jit
    def kernel(x, y, cols, BLOCK: tl.constexpr):
        r = tl.program_id(0).to(tl.int64)
        at = tl.arange(0, BLOCK)
        v = tl.load(x + r * cols + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        e = tl.exp(v - tl.max(v, 0))
        tl.store(y + r * cols + at, (e / tl.sum(e, 0)).to(y.dtype.element_ty), mask=at < cols)

    def run(x):
        y = torch.empty_like(x)
        kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=8)
        return y

    return run


def asked(peer):
    return not args.no_compile if peer == "torch.compile" else not args.only_compile


def fused(copy_rate, read_rate):
    r, c = (16, 256) if args.quick else (65536, 4096)
    for dtype, short in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
        x, y = torch.randn(r, c, device=device).to(dtype), torch.randn(r, c, device=device).to(dtype)
        w, b = torch.randn(c, device=device).to(dtype), torch.randn(c, device=device).to(dtype)
        moved = r * c * x.element_size()
        cases = [
            ("gelu(2 x + y) y - x", 3, lambda x, y, w, b: F.gelu(x * 2.0 + y) * y - x),
            ("rms_norm", 2, lambda x, y, w, b: F.rms_norm(x, (c,), w, 1e-5)),
            ("layer_norm", 2, lambda x, y, w, b: F.layer_norm(x, (c,), w, b, 1e-5)),
            ("softmax", 2, lambda x, y, w, b: torch.softmax(x, -1)),
            ("silu(x) y", 3, lambda x, y, w, b: F.silu(x) * y),
            ("sum over rows", 1, lambda x, y, w, b: x.sum(0)),
        ]
        for name, times, f in cases:
            for peer, g in (("torch", f), ("torch.compile", f)):
                if not asked(peer):
                    continue
                g = torch.compile(f) if peer == "torch.compile" else f

                def measure(peer=peer, g=g, name=name, times=times):
                    rate, reads = times * moved / seconds(lambda: g(x, y, w, b)), times == 1
                    row(peer, "fused kernels", f"{name} {short}", rate / 1e9, "GB/s", rate / (read_rate if reads else copy_rate), "read" if reads else "copy")
                attempt(peer, f"{name} {short}", measure)

        def measure_triton():
            f = triton_softmax()
            rate = 2 * moved / seconds(lambda: f(x))
            row("triton", "fused kernels", f"softmax {short}", rate / 1e9, "GB/s", rate / copy_rate, "copy")
        if triton and asked("triton"):
            attempt("triton", f"softmax {short}", measure_triton)


def queued_at_once(f):
    """f as one graph, so that the host does not bound what is measured."""
    if device.type != "cuda":
        return f
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            f()
    wait()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        f()
    return graph.replay


def products(read_rate):
    """Chains over different matrices, as in bench/device/kernels.cc."""
    shapes = [(32, 32, 32), (1, 64, 32)] if args.quick else [(1024, 1024, 1024), (4096, 4096, 4096), (128, 4096, 4096), (1, 4096, 4096), (1, 14336, 4096)]
    for dtype, short in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
        for m, n, k in shapes:
            name = f"{m} x {n} x {k} " + ("and back " if n != k else "") + short

            def measure():
                size = n * k * (2 if dtype == torch.bfloat16 else 4)
                links = 2 if args.quick else -(-PAST_CACHES // size) if m == 1 else 32 if 2 * m * n * k < 1e10 else 8
                links += links % 2
                x = torch.randn(m, k, device=device).to(dtype)
                weights = []
                for i in range(links):
                    r, c = (k, n) if i % 2 and n != k else (n, k)
                    weights.append((torch.randn(r, c, device=device) / c**0.5).to(dtype))

                def chain():
                    y = x
                    for w in weights:
                        y = F.linear(y, w)
                    return y

                s = seconds(queued_at_once(chain)) / links
                if m == 1:
                    row("torch (cublas)", "products", name, size / s / 1e9, "GB/s", size / s / read_rate, "read")
                else:
                    row("torch (cublas)", "products", name, 2 * m * n * k / s / 1e12, "Tflop/s")
            attempt("torch (cublas)", name, measure)


def other_products():
    """Float32 by TF32, bytes and Float8, as in bench/device/products.cc."""
    for short in ("tf32", "i8", "f8e4m3fn"):
        for m, n, k in [(32, 32, 32)] if args.quick else [(1024, 1024, 1024), (4096, 4096, 4096), (128, 4096, 4096)]:
            name = f"{m} x {n} x {k} {short}"

            def measure():
                links = 2 if args.quick else 32 if 2 * m * n * k < 1e10 else 8
                values = lambda rows: (torch.randn(rows, k, device=device) * 32).round().clamp(-127, 127)
                one = torch.ones((), device=device)
                if short == "tf32":
                    x, weights, f = values(m), [values(n) for _ in range(links)], F.linear
                elif short == "i8":
                    x, weights = values(m).to(torch.int8), [values(n).to(torch.int8) for _ in range(links)]
                    f = lambda a, w: torch._int_mm(a, w.t())
                else:
                    x, weights = values(m).to(torch.float8_e4m3fn), [values(n).to(torch.float8_e4m3fn) for _ in range(links)]
                    f = lambda a, w: torch._scaled_mm(a, w.t(), one, one, out_dtype=torch.bfloat16)
                s = seconds(queued_at_once(lambda: [f(x, w) for w in weights])) / links
                row("torch (cublas)", "products", name, 2 * m * n * k / s / 1e12, "Tflop/s")
            before = torch.backends.cuda.matmul.allow_tf32
            torch.backends.cuda.matmul.allow_tf32 = short == "tf32"
            attempt("torch (cublas)", name, measure)
            torch.backends.cuda.matmul.allow_tf32 = before


def attention():
    heads = 2 if args.quick else 32
    for length in (64,) if args.quick else (2048, 8192):
        for depth in (64, 128):
            name = f"causal, {heads} heads of {depth}, {length} tokens bf16"

            def measure():
                q, k, v = (torch.randn(1, heads, length, depth, device=device).to(torch.bfloat16) for _ in range(3))
                s = seconds(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))
                row("torch", "prefill attention", name, 4 * heads * length * length * depth / 2 / s / 1e12, "Tflop/s")
            attempt("torch", name, measure)


class Layer(torch.nn.Module):
    """Registered weights and caches: torch.compile's graphs then take their addresses as they are and copy nothing."""

    def __init__(self, make, dim, heads, kv, hd, hidden, context):
        super().__init__()
        bf = dict(dtype=torch.bfloat16, device=device)
        for name, (r, c) in dict(q=(heads * hd, dim), k=(kv * hd, dim), v=(kv * hd, dim), o=(dim, dim), w1=(hidden, dim), w2=(dim, hidden), w3=(hidden, dim)).items():
            self.register_parameter(name, make(r, c))
        self.n1 = torch.nn.Parameter(torch.ones(dim, **bf), requires_grad=False)
        self.n2 = torch.nn.Parameter(torch.ones(dim, **bf), requires_grad=False)
        self.register_buffer("ck", torch.zeros(1, kv, context, hd, **bf))
        self.register_buffer("cv", torch.zeros(1, kv, context, hd, **bf))


class Llama(torch.nn.Module):
    # context: as many positions as are decoded; attention over all of it, masked, then reads little that Reprise does not.
    def __init__(self, dim, layers, heads, kv, hidden, vocab, context):
        super().__init__()
        self.heads, self.kv, self.hd = heads, kv, dim // heads
        make = lambda r, c: torch.nn.Parameter((torch.randn(1, c, device=device) * 0.02).to(torch.bfloat16).expand(r, c).contiguous(), requires_grad=False)
        self.embedding = make(vocab, dim)
        self.norm = torch.nn.Parameter(torch.ones(dim, dtype=torch.bfloat16, device=device), requires_grad=False)
        self.layers = torch.nn.ModuleList(Layer(make, dim, heads, kv, self.hd, hidden, context) for _ in range(layers))
        self.register_buffer("cos", torch.ones(context, self.hd // 2, device=device))
        self.register_buffer("sin", torch.zeros(context, self.hd // 2, device=device))
        self.register_buffer("at", torch.arange(context, device=device))
        self.bytes = 2 * (vocab * dim + layers * (2 * dim * dim + 2 * kv * self.hd * dim + 3 * hidden * dim))

    def rope(self, x, pos):
        c, s = self.cos[pos], self.sin[pos]
        a, b = x.chunk(2, -1)
        return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)

    def forward(self, token, pos):
        x = self.embedding[token]
        mask = (self.at <= pos)[None, None, None, :]
        for l in self.layers:
            h = F.rms_norm(x, (x.shape[-1],), l.n1, 1e-5)
            q = F.linear(h, l.q).view(1, 1, self.heads, self.hd).transpose(1, 2)
            k = F.linear(h, l.k).view(1, 1, self.kv, self.hd).transpose(1, 2)
            v = F.linear(h, l.v).view(1, 1, self.kv, self.hd).transpose(1, 2)
            l.ck.index_copy_(2, pos, self.rope(k, pos))
            l.cv.index_copy_(2, pos, v)
            y = F.scaled_dot_product_attention(self.rope(q, pos), l.ck, l.cv, attn_mask=mask, enable_gqa=True)
            x = x + F.linear(y.transpose(1, 2).reshape(1, -1), l.o)
            h = F.rms_norm(x, (x.shape[-1],), l.n2, 1e-5)
            x = x + F.linear(F.silu(F.linear(h, l.w1)) * F.linear(h, l.w3), l.w2)
        return F.linear(F.rms_norm(x, (x.shape[-1],), self.norm, 1e-5), self.embedding).float()


def decode(read_rate):
    shapes = {"tiny": (64, 2, 4, 2, 128, 256, 32)} if args.quick else {
        "0.1B": (768, 12, 12, 4, 2048, 32000, 256), "1B": (2048, 16, 32, 8, 8192, 128256, 256), "8B": (4096, 32, 32, 8, 14336, 128256, 256)}
    warm, most = (2, 8) if args.quick else (20, 200)
    for name, shape in shapes.items():
        model = None
        for peer in ("torch", "torch, CUDA graph", "torch.compile"):
            if not asked(peer) or ("graph" in peer and device.type != "cuda"):
                continue

            def measure():
                nonlocal model
                model = model or Llama(*shape)
                f = torch.compile(model, mode="reduce-overhead", fullgraph=True) if peer == "torch.compile" else model
                token = torch.tensor([7], device=device)
                positions = [torch.tensor([p], device=device) for p in range(most)]
                if "graph" in peer:  # one graph for all positions: the position is where it reads it
                    at, out = positions[0].clone(), []
                    with torch.no_grad():
                        replay = queued_at_once(lambda: out.append(model(token, at)))

                    def f(_, p):
                        at.copy_(p)
                        replay()
                        return out[-1]

                def step(p):
                    f(token, p).argmax().item()

                times = []
                with torch.no_grad():
                    for p in positions[:warm]:
                        step(p)
                    start = time.perf_counter()
                    while not args.quick and time.perf_counter() - start < KEEP_BUSY:
                        step(positions[warm])
                    for p in positions[warm:]:
                        start = time.perf_counter()
                        step(p)
                        times.append(time.perf_counter() - start)
                s = statistics.median(times)
                row(peer, "decode", f"Llama {name} bfloat16, batch 1", 1 / s, "tokens/s", model.bytes / s / read_rate, "read")
            attempt(peer, f"decode {name}", measure)
        model = None
        torch._dynamo.reset()
        if device.type == "cuda":
            torch.cuda.empty_cache()


# What takes torch.compile the longest comes last.
try:
    copy_rate, read_rate = bandwidth()
except Exception as e:
    skip("torch", "everything", e)
    nothing_measured()
if not args.only_compile:
    products(read_rate)
    other_products()
    attention()
attempt("torch", "fused kernels", lambda: fused(copy_rate, read_rate))
attempt("torch", "decode", lambda: decode(read_rate))
write()
