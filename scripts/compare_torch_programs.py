#!/usr/bin/env python3
"""Random programs with in-place operators, views, custom functions and hooks: their values and gradients beside PyTorch's.

usage: compare_torch_programs.py [--test build/tests/test_autograd] [--programs 1000] [--seed 0] [--calls FILE]

Runs the test RandomGradients, which writes its eager calls down (or takes those of --calls), and computes each with PyTorch (PyPI). Prints `N calls, ..., M agree, D differ`
last; exit status 1 if any differs. A program whose tape was written over in place is refused by both, or by PyTorch alone where it keeps what Reprise
does not; then the gradients must be those with copies of what PyTorch keeps (allow_mutation_on_saved_tensors).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[1]


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(c, x, y):
        c.save_for_backward(x, y)
        return x * y.sigmoid()

    @staticmethod
    def backward(c, g):
        x, y = c.saved_tensors
        p = y.sigmoid()
        return g * p, g * x * p * (1 - p)


class Halve(torch.autograd.Function):
    @staticmethod
    def forward(c, x):
        x.mul_(0.5)
        c.mark_dirty(x)
        return x

    @staticmethod
    def backward(c, g):
        return g * 0.5


def add_hook(made, kind):
    if kind % 3 == 0 or made.grad_fn is None:
        made.register_hook(lambda g: g * 2)
    elif kind % 3 == 1:
        made.grad_fn.register_prehook(lambda grads: tuple(g if g is None else g * 0.5 for g in grads))
    else:
        made.grad_fn.register_hook(lambda given, taken: (given[0] + taken[0].sum(), *given[1:]))


def run(call, x, y, w, b):
    """The switch of tests/autograd/random_test.cc."""
    pool = [x * 1, y + 0, F.linear(x, w, b)]
    for op, at, bt, p in call["steps"]:
        a, o, c = pool[at % len(pool)], pool[bt % len(pool)], 0.25 + p % 8 / 8.0
        if op == 0: made = a + o * c
        elif op == 1: made = a * o
        elif op == 2: made = a.tanh()
        elif op == 3: made = (a * 0.3).exp()
        elif op == 4: made = a.softmax(-1)
        elif op == 5: made = a - a.mean(-1, True)
        elif op == 6: made = a.mm(w)
        elif op == 7: made = F.linear(o, w, b).relu()
        elif op == 8: made = torch.where(a > o, a, o * c)
        elif op == 9: made = torch.cat([a[:1], o[1:a.size(0)]], 0)
        elif op == 10: made = a.t().reshape(a.size(0), a.size(1))
        elif op == 11: made = a.sigmoid() * a.detach()
        elif op == 12: made = a.sum(0, True).expand(a.size()) * c
        elif op == 13:
            with torch.no_grad():
                made = a * 2
        elif op == 14: made = F.layer_norm(a, (a.size(1),), b)
        elif op == 15: made = a.clone()
        elif op == 16: made = a.add_(o, alpha=c)
        elif op == 17: made = a.mul_(c)
        elif op == 18: a[:, 0:1].copy_(o[:, 1:2]); made = a
        elif op == 19: a[0].mul_(c); made = a * 1
        elif op == 20: a.t().select(0, 1).add_(1); made = a
        elif op == 21:
            made = torch.zeros_like(a)
            made.select(1, 0).copy_(a.select(1, 1))
            made[0:1].add_(o[0:1])
        elif op == 22: made = a.copy_(o)
        elif op == 23: made = a.tanh_()
        elif op == 24: made = a.view(-1).view(a.size())
        elif op == 25: made = a.unsqueeze(0).squeeze(0)
        elif op == 26: made = Scaled.apply(a, o)
        elif op == 27: made = Halve.apply(a)
        elif op == 28:
            made = a * c
            if call["hooks"] and made.requires_grad:
                add_hook(made, p)
        else:
            t, u = a.clone(), o.clone()
            made = (t * u).tanh() + t
        pool.append(made)
    return pool[-3:]


def tensor_of(told):
    return None if told is None else torch.tensor(told["values"], dtype=torch.float64).reshape(told["sizes"])


def difference(call):
    leaves = [tensor_of(l).requires_grad_(wants) for l, wants in zip(call["leaves"], call["wants"])]
    try:
        results = run(call, *leaves)
        values = [r.detach().clone() for r in results]
        loss, weight = 0, 1.0
        for r in results:
            loss, weight = loss + (r * r).sum() * weight + r.sum(), weight * 0.7
        wanted = [l for l in leaves if l.requires_grad]
        grads = torch.autograd.grad(loss, wanted, allow_unused=True) if loss.requires_grad else [None] * len(wanted)
    except RuntimeError as e:
        return None if call["error"] else f"refused there: {str(e)[:200]}"
    if call["error"]:
        return "refused here: " + call["error"][:200]
    for what, mine, theirs in (("value", call["values"], values), ("gradient", call["gradients"], grads)):
        for i, (a, b) in enumerate(zip(mine, theirs)):
            a = tensor_of(a)
            if (a is None) != (b is None):  # nobody has asked: PyTorch has zeros where a path ends
                if not (a if b is None else b).abs().max() == 0:
                    return f"{what} {i} is undefined in one"
            elif a is not None and not torch.allclose(a, b, 1e-9, 1e-11, equal_nan=True):
                return f"{what} {i}: {a.tolist()} for {b.tolist()}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", default=str(ROOT / "build" / "tests" / "test_autograd"))
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--calls")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        calls = options.calls or os.path.join(folder, "calls.jsonl")
        if not options.calls:
            environment = dict(os.environ, AUTOGRAD_PROGRAMS=str(options.programs), AUTOGRAD_SEED=str(options.seed), AUTOGRAD_WRITE=calls)
            if subprocess.run([options.test, "--gtest_filter=RandomGradients.*", "--gtest_brief=1"], env=environment, stdout=sys.stderr).returncode:
                raise SystemExit("compare_torch_programs.py: the test itself fails")
        total = differ = refused = alone = 0
        with open(calls) as f:
            for line in f:
                call = json.loads(line)
                total, refused = total + 1, refused + bool(call["error"])
                d = difference(call)
                if d and "modified by an inplace operation" in d:  # what Reprise keeps for backward was not: then the gradients of what stood there are meant
                    with torch.autograd.graph.allow_mutation_on_saved_tensors():
                        d = difference(call)
                    alone += not d
                if d and "a leaf Variable that requires grad" in d:  # PyTorch takes a view for a leaf whose base was written with what wants gradients
                    alone += 1
                elif d:
                    differ += 1
                    print(f"seed {call['seed']}: {d}\n  {call['steps']}")
    print(f"{total} calls, {refused} of them refused, {alone} by PyTorch alone, {total - alone - differ} agree, {differ} differ")
    raise SystemExit(differ > 0)


if __name__ == "__main__":
    main()
