#!/usr/bin/env python3
"""What is kept for backward, by Reprise's partition of joint graphs and by PyTorch's, of the same three models at the same sizes, and of random functions.

usage: compare_partition.py [--partition build/bench/reprise_partition] [--programs 200] [--seed 1]

Needs PyTorch (PyPI). Counted are tensors that forward makes for backward, without inputs and parameters, which are there anyway. PyTorch's two numbers are those of
min_cut_rematerialization_partition, which torch.compile uses, and of saving whatever backward reads (default_partition). Prints a table of the models, with
what Reprise's other partitioners keep and the time of a step with each, and of the random functions those of which Reprise keeps more; exit status 1 where it keeps more than
saving everything, or more than 1.1 of PyTorch's minimum cut.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import torch._inductor.decomposition
import torch.nn.functional as F
from functorch.compile import aot_function, default_partition, make_boxed_func, min_cut_rematerialization_partition

ROOT = Path(__file__).resolve().parents[1]
parser = argparse.ArgumentParser()
parser.add_argument("--partition", default=str(ROOT / "build" / "bench" / "reprise_partition"))
parser.add_argument("--programs", type=int, default=200)
parser.add_argument("--seed", type=int, default=1)
options = parser.parse_args()


def kept(loss, args, partition):
    """Bytes of what the forward graph gives behind the loss, but for its own inputs and what they alone are seen through."""
    told = []

    def forward(graph, _):
        inputs = {n for n in graph.graph.nodes if n.op == "placeholder"}
        views = {"view", "t", "transpose", "permute", "expand", "unsqueeze", "squeeze", "slice", "select", "_unsafe_view", "alias", "detach"}

        def base(n):
            while n.op == "call_function" and n.target.__name__.split(".")[0] in views:
                n = n.args[0]
            return n

        results = list(graph.graph.nodes)[-1].args[0]
        own = {base(n) for n in results[1:] if isinstance(n, torch.fx.Node)} - inputs
        told.append(sum(v.numel() * v.element_size() for n in own for v in [n.meta["val"]] if isinstance(v, torch.Tensor)))
        return make_boxed_func(graph.forward)

    torch._functorch.config.functionalize_rng_ops = False
    f = aot_function(loss, fw_compiler=forward, bw_compiler=lambda graph, _: make_boxed_func(graph.forward), partition_fn=partition, decompositions=torch._inductor.decomposition.select_decomp_table())
    f(*args).backward()
    return told[0]


def leaf(*sizes):
    return (torch.randn(sizes) * 0.1).requires_grad_()


def mlp(x, w1, b1, w2, b2, w3, b3, y):
    h = F.gelu(F.linear(F.gelu(F.linear(x, w1, b1)), w2, b2))
    return F.mse_loss(torch.tanh(F.linear(h, w3, b3)), y)


def convolutions(x, w1, s1, b1, w2, s2, b2, head, labels):
    block = lambda x, w, s, b: F.max_pool2d(torch.relu(F.batch_norm(F.conv2d(x, w, None, 1, 1), None, None, s, b, True, 0.1, 1e-5)), 2)
    return F.cross_entropy(F.linear(block(block(x, w1, s1, b1), w2, s2, b2).flatten(1), head), labels)


LAYERS, DIM, HEADS, HIDDEN, VOCAB, LENGTH = 2, 128, 4, 352, 256, 64


def llama(tokens, cos, sin, embedding, norm, *layers):
    def rope(u):
        a, b = u.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    n, split = tokens.shape[0], lambda u: u.view(n, LENGTH, HEADS, -1).transpose(1, 2)
    x = F.embedding(tokens[:, :-1], embedding)
    for i in range(LAYERS):
        an, fn, wq, wk, wv, wo, w1, w2, w3 = layers[9 * i:9 * i + 9]
        h = F.rms_norm(x, (DIM,), an, 1e-5)
        y = F.scaled_dot_product_attention(rope(split(F.linear(h, wq))), rope(split(F.linear(h, wk))), split(F.linear(h, wv)), is_causal=True)
        x = x + F.linear(y.transpose(1, 2).reshape(n, LENGTH, DIM), wo)
        h = F.rms_norm(x, (DIM,), fn, 1e-5)
        x = x + F.linear(F.silu(F.linear(h, w1)) * F.linear(h, w3), w2)
    logits = F.linear(F.rms_norm(x, (DIM,), norm, 1e-5), embedding)
    return F.cross_entropy(logits.reshape(-1, VOCAB), tokens[:, 1:].reshape(-1))


def llama_layers():
    for _ in range(LAYERS):
        yield from (leaf(DIM), leaf(DIM), *(leaf(DIM, DIM) for _ in range(4)), leaf(HIDDEN, DIM), leaf(DIM, HIDDEN), leaf(HIDDEN, DIM))


MODELS = {
    "mlp": (mlp, [torch.randn(64, 128), leaf(256, 128), leaf(256), leaf(256, 256), leaf(256), leaf(10, 256), leaf(10), torch.randn(64, 10)]),
    "convolutions": (convolutions, [torch.randn(16, 3, 32, 32), leaf(16, 3, 3, 3), leaf(16), leaf(16), leaf(32, 16, 3, 3), leaf(32), leaf(32), leaf(10, 2048), torch.randint(0, 10, (16,))]),
    "llama": (llama, [torch.randint(0, VOCAB, (4, LENGTH + 1)), torch.randn(LENGTH, DIM // HEADS // 2), torch.randn(LENGTH, DIM // HEADS // 2), leaf(VOCAB, DIM), leaf(DIM), *llama_layers()]),
}
# Random functions: a pool of values, and steps that name two of them (bench/partition.cc runs the same).
heads = lambda t: t.reshape(1, 64, 4, 16).transpose(1, 2)
UNARY = {
    "exp": lambda a, r: (a * 0.1).exp(), "sin": lambda a, r: a.sin(), "cos": lambda a, r: a.cos(), "tanh": lambda a, r: a.tanh(),
    "sigmoid": lambda a, r: a.sigmoid(), "relu": lambda a, r: a.relu(), "gelu": lambda a, r: F.gelu(a), "silu": lambda a, r: F.silu(a),
    "square": lambda a, r: a.square(), "log": lambda a, r: (a * a + 1.0).log(), "scale": lambda a, r: a * 0.5 + 0.25,
    "row": lambda a, r: a * r, "transposed": lambda a, r: a.transpose(0, 1) * 1.5,
    "softmax": lambda a, r: a.softmax(-1), "log_softmax": lambda a, r: a.log_softmax(-1),
    "layer_norm": lambda a, r: F.layer_norm(a, (64,)), "rms_norm": lambda a, r: F.rms_norm(a, (64,), r, 1e-5),
}
BINARY = {
    "add": torch.add, "mul": torch.mul, "sub": torch.sub, "matmul": lambda a, b: torch.matmul(a, b) * 0.125,
    "attention": lambda a, b: F.scaled_dot_product_attention(heads(a), heads(b), heads(a)).transpose(1, 2).reshape(64, 64),
}


def draw(rng):
    """A program as text."""
    steps, values = [], [0, 1, 2]
    for i in range(rng.randint(2, 10)):
        latest = lambda: values[-1] if rng.random() < 0.75 else rng.choice(values)
        if rng.random() < 0.7:
            steps.append(f"{rng.choice(list(UNARY))} {latest()}")
        else:
            steps.append(f"{rng.choice(list(BINARY))} {latest()} {rng.choice(values)}")
        values.append(4 + i)
    return ";".join(steps)


def as_function(program):
    def run(x, w, v, row):
        pool = [x, w, v, row]
        for step in program.split(";"):
            op, *at = step.split()
            pool.append(UNARY[op](pool[int(at[0])], row) if op in UNARY else BINARY[op](pool[int(at[0])], pool[int(at[1])]))
        return pool[-1].square().mean()

    return run


def own(*arguments):
    text = subprocess.run([options.partition, *arguments], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]


failed = False
lines = own()
BY = ("min-cut", "all", "nothing", "products")
print(f"{'model':<14} " + " ".join(f"{k:>10}" for k in BY) + "  " + " ".join(f"us {k:>8}" for k in BY) + f"  {'PyTorch':>10} {'of all':>10}   ratio")
for name, (loss, args) in MODELS.items():
    cut, everything = kept(loss, args, min_cut_rematerialization_partition), kept(loss, args, default_partition)
    by = {line["by"]: line for line in lines if line["model"] == name}
    saved = by["min-cut"]["saved"]
    bad = saved > by["min-cut"]["all"] or saved > 1.1 * cut
    failed |= bad
    print(f"{name:<14} " + " ".join(f"{by[k]['saved']:>10}" for k in BY) + "  " +
          " ".join(f"{by[k]['us']:>11.0f}" for k in BY) + f"  {cut:>10} {everything:>10}   {saved / max(cut, 1):.2f}{'  too much' if bad else ''}")

rng = random.Random(options.seed)
programs = [draw(rng) for _ in range(options.programs)]
with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    file.write("\n".join(programs) + "\n")
    file.flush()
    lines = own("--programs", file.name)
ours = theirs = more = 0
for program, line in zip(programs, lines):
    args = [leaf(64, 64), leaf(64, 64), leaf(64, 64), leaf(64)]
    cut = kept(as_function(program), args, min_cut_rematerialization_partition)
    ours, theirs = ours + line["saved"], theirs + cut
    if line["saved"] > 1.1 * cut + 64:
        more += 1
        print(f"keeps {line['saved']} of {cut}: {program}")
print(f"{len(programs)} random functions: Reprise keeps {ours} bytes, PyTorch {theirs}; of {more} more than 1.1")
sys.exit(failed or more > 0)
