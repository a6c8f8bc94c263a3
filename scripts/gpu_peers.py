#!/usr/bin/env python3
"""The same measurements as bench/device, made by PyTorch (eager and compiled), Triton and cuBLASLt through PyTorch.

usage: gpu_peers.py [--quick] [--json FILE] [--device cuda]

Rows have the groups and names of reprise_device_figures, so that the two can be laid side by side.
"""
import argparse
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--quick", action="store_true")
parser.add_argument("--json")
parser.add_argument("--device", default="cuda")
args = parser.parse_args()
device = torch.device(args.device)
rows = []


def wait():
    if device.type == "cuda":
        torch.cuda.synchronize()


def seconds(f):
    """Median over rounds of queueing some calls and waiting for them all."""
    for _ in range(2):
        f()
    wait()
    start = time.perf_counter()
    f()
    wait()
    once = time.perf_counter() - start
    calls, rounds = (1, 1) if args.quick else (max(3, min(2000, int(0.02 / max(once, 1e-6)))), 11)
    means = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            f()
        wait()
        means.append((time.perf_counter() - start) / calls)
    return statistics.median(means)


def row(peer, group, name, measured, unit, part=0.0, of=""):
    rows.append({"peer": peer, "group": group, "name": name, "measured": measured, "unit": unit, "part": part, "of": of})
    print(f"  {peer:<14} {name:<44} {measured:14.6g} {unit:<9}" + (f" {part:5.2f} of {of}" if part else ""), flush=True)


def attempt(peer, what, f):
    try:
        f()
    except Exception as e:  # a peer that is not there or fails is a gap in the table, not the end of it
        print(f"  {peer:<14} {what}: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}", file=sys.stderr)


def bandwidth():
    n = 1 << 16 if args.quick else 1 << 28
    a, b = torch.zeros(n, device=device), torch.zeros(n, device=device)
    rate = 8 * n / seconds(lambda: b.copy_(a))
    row("torch", "bandwidth", "copy, read and written", rate / 1e9, "GB/s")
    return rate


def triton_softmax():
    import triton
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


def fused(copy_rate):
    r, c = (16, 256) if args.quick else (16384, 4096)
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
            for peer, g in (("torch", f), ("torch.compile", torch.compile(f))):
                def measure(peer=peer, g=g, name=name, times=times):
                    rate = times * moved / seconds(lambda: g(x, y, w, b))
                    row(peer, "fused kernels", f"{name} {short}", rate / 1e9, "GB/s", rate / copy_rate, "copy")
                attempt(peer, name, measure)

        def measure_triton():
            f = triton_softmax()
            rate = 2 * moved / seconds(lambda: f(x))
            row("triton", "fused kernels", f"softmax {short}", rate / 1e9, "GB/s", rate / copy_rate, "copy")
        attempt("triton", "softmax", measure_triton)


def products():
    shapes = [(32, 32, 32)] if args.quick else [(1024, 1024, 1024), (4096, 4096, 4096), (128, 4096, 4096), (1, 4096, 4096), (1, 14336, 4096)]
    for dtype, short in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
        for m, n, k in shapes:
            x, w = torch.randn(m, k, device=device).to(dtype), torch.randn(n, k, device=device).to(dtype)
            s = seconds(lambda: F.linear(x, w))
            name = f"{m} x {n} x {k} {short}"
            if m == 1:
                row("torch (cublas)", "products", name, n * k * x.element_size() / s / 1e9, "GB/s")
            else:
                row("torch (cublas)", "products", name, 2 * m * n * k / s / 1e12, "Tflop/s")


class Llama(torch.nn.Module):
    def __init__(self, dim, layers, heads, kv, hidden, vocab, context):
        super().__init__()
        self.heads, self.kv, self.hd = heads, kv, dim // heads
        bf = dict(dtype=torch.bfloat16, device=device)
        make = lambda r, c: torch.nn.Parameter((torch.randn(1, c, device=device) * 0.02).to(torch.bfloat16).expand(r, c).contiguous(), requires_grad=False)
        self.embedding, self.norm = make(vocab, dim), torch.ones(dim, **bf)
        self.layers = [dict(n1=torch.ones(dim, **bf), n2=torch.ones(dim, **bf), q=make(heads * self.hd, dim), k=make(kv * self.hd, dim), v=make(kv * self.hd, dim),
                            o=make(dim, dim), w1=make(hidden, dim), w2=make(dim, hidden), w3=make(hidden, dim)) for _ in range(layers)]
        self.cache = [(torch.zeros(1, kv, context, self.hd, **bf), torch.zeros(1, kv, context, self.hd, **bf)) for _ in range(layers)]
        self.cos, self.sin = torch.ones(context, self.hd // 2, device=device), torch.zeros(context, self.hd // 2, device=device)
        self.at = torch.arange(context, device=device)
        self.bytes = 2 * (vocab * dim + layers * (2 * dim * dim + 2 * kv * self.hd * dim + 3 * hidden * dim))

    def rope(self, x, pos):
        c, s = self.cos[pos], self.sin[pos]
        a, b = x.chunk(2, -1)
        return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)

    def forward(self, token, pos):
        x = self.embedding[token]
        mask = (self.at <= pos)[None, None, None, :]
        for l, (ck, cv) in zip(self.layers, self.cache):
            h = F.rms_norm(x, (x.shape[-1],), l["n1"], 1e-5)
            q = F.linear(h, l["q"]).view(1, 1, self.heads, self.hd).transpose(1, 2)
            k = F.linear(h, l["k"]).view(1, 1, self.kv, self.hd).transpose(1, 2)
            v = F.linear(h, l["v"]).view(1, 1, self.kv, self.hd).transpose(1, 2)
            ck.index_copy_(2, pos, self.rope(k, pos))
            cv.index_copy_(2, pos, v)
            y = F.scaled_dot_product_attention(self.rope(q, pos), ck, cv, attn_mask=mask, enable_gqa=True)
            x = x + F.linear(y.transpose(1, 2).reshape(1, -1), l["o"])
            h = F.rms_norm(x, (x.shape[-1],), l["n2"], 1e-5)
            x = x + F.linear(F.silu(F.linear(h, l["w1"])) * F.linear(h, l["w3"]), l["w2"])
        return F.linear(F.rms_norm(x, (x.shape[-1],), self.norm, 1e-5), self.embedding).float()


def decode(copy_rate):
    shapes = {"tiny": (64, 2, 4, 2, 128, 256, 32)} if args.quick else {
        "0.1B": (768, 12, 12, 4, 2048, 32000, 2048), "1B": (2048, 16, 32, 8, 8192, 128256, 2048), "8B": (4096, 32, 32, 8, 14336, 128256, 2048)}
    for name, shape in shapes.items():
        model = Llama(*shape)
        for peer, f in (("torch", model), ("torch.compile", torch.compile(model, mode="reduce-overhead", fullgraph=True))):
            def measure(peer=peer, f=f):
                token = torch.tensor([7], device=device)
                positions = [torch.tensor([p], device=device) for p in range(8 if args.quick else 200)]
                times = []
                with torch.no_grad():
                    for i, p in enumerate(positions):
                        wait()
                        start = time.perf_counter()
                        f(token, p).argmax().item()
                        if i >= (2 if args.quick else 20):
                            times.append(time.perf_counter() - start)
                s = statistics.median(times)
                row(peer, "decode", f"Llama {name} bfloat16, batch 1", 1 / s, "tokens/s", model.bytes / s / copy_rate, "copy")
            attempt(peer, f"decode {name}", measure)
        del model


print(f"\nPeers: torch {torch.__version__}")
rate = bandwidth()
fused(rate)
products()
decode(rate)
if args.json:
    with open(args.json, "w") as f:
        json.dump({"torch": torch.__version__, "rows": rows}, f, indent=1)
