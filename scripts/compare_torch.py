#!/usr/bin/env python3
"""Reprise's functions against PyTorch on the CPU: special values, promotions, empty and broadcast sizes, edges of arguments.

usage: compare_torch.py [--evaluate build/bench/reprise_evaluate] [--only REGEX] [--list] [--verbose] [--gradients]

With --gradients: the gradients of the results, rather than the results, of all calls that PyTorch differentiates.

Needs PyTorch (PyPI). Every result must agree in dtype, sizes and values; what does not is looked up among those that are
known (KNOWN below; docs/differences.md has the reasons). Prints `N results, M agree, L listed, D differ` last; exit status 1 if any differs that is not listed.
"""
import argparse
import itertools
import math
import re
import sys
from collections import defaultdict

import torch
import torch.nn.functional as F

import compare_torch_vision
import evaluator
from evaluator import ULP, largest, told

parser = argparse.ArgumentParser()
parser.add_argument("--evaluate", default=evaluator.PROGRAM)
parser.add_argument("--only", default="")
parser.add_argument("--list", action="store_true", help="names of the functions that are compared")
parser.add_argument("--verbose", action="store_true", help="every difference, not the first of each function")
parser.add_argument("--gradients", action="store_true", help="gradients by the floating tensors among the arguments, rather than results")
options = parser.parse_args()
torch.manual_seed(0)
torch.set_num_threads(1)

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.int8, torch.uint8]
ALL = FLOATS + INTS + [torch.bool]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1.5, -2.5, 3.7, -3.7, 1e-3, -1e-3, 0.99, 10.0, -10.0, 88.0, -88.0, 1e4, 1e30, math.inf, -math.inf, math.nan]
WHOLE = [0, 1, -1, 2, -2, 3, -7, 7, 100, -100, 127, -128]
SIZES = [(), (1,), (0,), (5,), (2, 3), (3, 0), (2, 1, 4)]
PAIRS = [((), ()), ((3,), ()), ((), (2, 3)), ((2, 3), (3,)), ((4, 1), (1, 3)), ((0,), (1,)), ((2, 0), (1, 1)), ((2, 3), (2, 1)), ((3,), (4,)), ((2, 3), (0, 3))]


def special(t):
    if t.is_floating_point:
        return torch.tensor(SPECIAL, dtype=torch.float64).to(t)
    if t == torch.bool:
        return torch.tensor([False, True])
    return torch.tensor([v for v in WHOLE if t != torch.uint8 or v >= 0], dtype=torch.int64).to(t)


def some(size, t=torch.float32, seed=0):
    g = torch.Generator().manual_seed(seed + 7 * len(size))
    n = math.prod(size)
    if t.is_floating_point:
        return ((torch.randint(-12, 13, (n,), generator=g).double()) / 4).to(t).reshape(size)
    if t == torch.bool:
        return torch.randint(0, 2, (n,), generator=g).bool().reshape(size)
    return torch.randint(0 if t == torch.uint8 else -6, 7, (n,), generator=g).to(t).reshape(size)


# ---- results that are near enough

TINY = {torch.float64: 1e-300, torch.float32: 1e-37, torch.float16: 6.2e-5, torch.bfloat16: 1e-37}


def difference(got, want, ulps):
    """None, or what differs of one result."""

    def close(values, expected):
        ulp = ulps * ULP[want.dtype]
        near = (values - expected).abs() <= ulp * expected.abs() + ulp * TINY[want.dtype]
        if ulps > 4:  # sums: beside the largest that took part
            near |= (values - expected).abs() <= ulp * largest(expected)
        return near

    return evaluator.difference(got, want, close)


class Evaluator(evaluator.Evaluator):
    def __call__(self, name, args, **more):
        answer = super().__call__({"f": name, "a": [told(a) for a in args], **more})
        if answer.get("e") == "Crash":
            print(f"{options.evaluate}: {answer['m']} at {name} {args}", file=sys.stderr)
            sys.exit(2)
        return answer


# ---- the functions: name -> (PyTorch's, ulps, cases)

TABLE = {}


def function(name, torch_function, cases, ulps=2):
    TABLE[name] = (torch_function, ulps, cases)


def unary(name, torch_function=None, ulps=2, dtypes=ALL):
    f = torch_function or getattr(torch, name)
    function(name, f, [(special(t),) for t in dtypes] + [(some(s, t),) for t in (torch.float32, torch.int64) for s in SIZES], ulps)


def binary(name, torch_function=None, ulps=2, dtypes=ALL, numbers=True, extra=()):
    f = torch_function or getattr(torch, name)
    cases = []
    for t in dtypes:
        v = special(t)
        cases.append((v.reshape(-1, 1), v.reshape(1, -1), *extra))
    for a, b in itertools.product(dtypes, dtypes):
        if a != b:
            cases.append((some((4,), a), some((4,), b, 1), *extra))
            cases.append((some((4,), a), some((), b, 1), *extra))
    for p, q in PAIRS:
        cases.append((some(p), some(q, seed=1), *extra))
    if numbers:
        for t in dtypes:
            for n in (2, -3, 0, 0.5, True, math.nan, math.inf):
                cases.append((special(t), n, *extra))
                cases.append((n, special(t), *extra))
    function(name, f, cases, ulps)


UNARY = ("neg abs sign square reciprocal sqrt rsqrt isnan isinf isfinite logical_not bitwise_not floor ceil round trunc frac exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh "
         "asinh acosh atanh erf erfc lgamma sigmoid i0 sinc isposinf isneginf signbit deg2rad rad2deg digamma erfinv")
for n in UNARY.split():
    unary(n, ulps={"lgamma": 400, "digamma": 400, "i0": 64, "sinc": 64, "tan": 16, "erfinv": 16}.get(n, 4))
unary("i0e", torch.special.i0e, 64)
unary("entr", torch.special.entr, 4)
unary("ndtr", torch.special.ndtr, 64)
for n in "relu relu6 selu silu mish hardsigmoid hardswish softsign".split():
    unary(n, getattr(F, n), 8)
unary("log_sigmoid", F.logsigmoid, 8)
unary("tanhshrink", F.tanhshrink, 400)
for n in "mul floor_divide remainder fmod maximum minimum hypot atan2 copysign eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor fmax fmin logaddexp logaddexp2 xlogy".split():
    binary(n, ulps=8 if n in ("hypot", "atan2", "logaddexp", "logaddexp2", "xlogy", "remainder", "floor_divide") else 2,
           numbers=n not in ("maximum", "minimum", "hypot", "atan2", "copysign", "fmax", "fmin", "logaddexp", "logaddexp2", "logical_and", "logical_or", "logical_xor", "eq", "ne", "lt", "le", "gt", "ge"))
binary("bitwise_left_shift", dtypes=INTS)
binary("bitwise_right_shift", dtypes=INTS)
binary("pow", ulps=8)
binary("add", lambda a, b, alpha: torch.add(a, b, alpha=alpha), extra=(1,))
binary("sub", lambda a, b, alpha: torch.sub(a, b, alpha=alpha), extra=(1,))
binary("div", lambda a, b, mode: torch.div(a, b, rounding_mode=mode or None), extra=("",))
binary("xlog1py", torch.special.xlog1py, 8)
binary("float_power", ulps=8)
binary("nextafter", dtypes=[torch.float32, torch.float64, torch.bfloat16], numbers=False)
binary("gcd", dtypes=INTS, numbers=False)
binary("lcm", dtypes=INTS, numbers=False)
binary("heaviside", lambda a, b: torch.heaviside(a, b), numbers=False, dtypes=FLOATS)
TABLE["heaviside"][2][:] = [c for c in TABLE["heaviside"][2] if c[0].dtype == c[1].dtype]


for n in ("add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor"):
    f, ulps, cases = TABLE[n]
    # A number on the left is a wrapped number in Python's operators alone.
    left = {"add": lambda a, b, *_: a + b, "sub": lambda a, b, *_: a - b, "mul": lambda a, b: a * b, "div": lambda a, b, *_: a / b, "floor_divide": lambda a, b: a // b, "remainder": lambda a, b: a % b,
            "bitwise_and": lambda a, b: a & b, "bitwise_or": lambda a, b: a | b, "bitwise_xor": lambda a, b: a ^ b}.get(n)
    kept = [c for c in cases if isinstance(c[0], torch.Tensor) or left]
    TABLE[n] = ((lambda f, left: lambda a, b, *rest: left(a, b, *rest) if not isinstance(a, torch.Tensor) else f(a, b, *rest))(f, left), ulps, kept)

DIMS = [((), None), ((), 0), ((5,), 0), ((5,), None), ((2, 3), 1), ((2, 3), (0, 1)), ((2, 3), -1), ((3, 0), 1), ((3, 0), 0), ((0,), None), ((2, 3), 2), ((2, 3), (0, 0)), ((2, 3), ())]


def with_nan(x):
    if x.dtype.is_floating_point and x.numel() > 2:
        x = x.clone()
        x.view(-1)[1] = math.nan
    return x


def reduction(name, f, ulps=16, dtypes=ALL, keepdims=(False, True), tail=()):
    cases = []
    for t in dtypes:
        for size, dim in DIMS:
            for k in keepdims if t == torch.float32 else (False,):
                cases.append((some(size, t), dim, k, *tail))
                cases.append((with_nan(some(size, t)), dim, k, *tail))
        cases.append((special(t), 0, False, *tail))
    function(name, f, cases, ulps)


def listed(d):
    return list(d) if isinstance(d, tuple) else d


reduction("sum", lambda x, d, k, t: torch.sum(x, dim=d, keepdim=k, dtype=t), tail=(None,))
reduction("mean", lambda x, d, k, t: torch.mean(x, dim=d, keepdim=k, dtype=t), tail=(None,))
reduction("nansum", lambda x, d, k, t: torch.nansum(x, dim=d, keepdim=k, dtype=t), tail=(None,))
reduction("nanmean", lambda x, d, k, t: torch.nanmean(x, dim=d, keepdim=k, dtype=t), tail=(None,), dtypes=FLOATS)
reduction("amax", lambda x, d, k: torch.amax(x, dim=() if d is None else d, keepdim=k))
reduction("amin", lambda x, d, k: torch.amin(x, dim=() if d is None else d, keepdim=k))
reduction("any", lambda x, d, k: torch.any(x, dim=d, keepdim=k))
reduction("all", lambda x, d, k: torch.all(x, dim=d, keepdim=k))
reduction("logsumexp", lambda x, d, k: torch.logsumexp(x, dim=d, keepdim=k))
TABLE["logsumexp"] = (*TABLE["logsumexp"][:2], [c for c in TABLE["logsumexp"][2] if c[1] is not None])
function("prod", lambda x, d, k, t: torch.prod(x, d, k, dtype=t), [(some(s, t), d, k, None) for t in ALL for s, d in DIMS if isinstance(d, int) for k in (False, True)], 16)
for n in ("var", "std"):
    function(n, (lambda f: lambda x, d, c, k: f(x, dim=d, correction=c, keepdim=k))(getattr(torch, n)), [(some(s, t), d, c, k) for t in FLOATS for s, d in DIMS for c in (0, 1, 2) for k in (False, True)], 64)
function("norm", lambda x, p, d, k: torch.linalg.vector_norm(x, p, d, k), [(some(s, t), float(p), d, k) for t in FLOATS for s, d in DIMS for p in (0, 1, 2, 3, -1, math.inf, -math.inf) for k in (False,)], 64)
for n in ("argmax", "argmin"):
    function(n, (lambda f: lambda x, d, k: f(x, dim=d, keepdim=k))(getattr(torch, n)), [(with_nan(some(s, t)), d, k) for t in ALL[:-1] for s, d in DIMS if not isinstance(d, tuple) for k in (False, True)])
ONE_DIM = [((), 0), ((5,), 0), ((5,), -1), ((2, 3), 1), ((2, 3), 0), ((3, 0), 1), ((3, 0), 0), ((2, 3), 2)]


def along(name, f, ulps=16, dtypes=ALL, tail=((),), nan=True):
    function(name, f, [(x, d, *rest) for t in dtypes for s, d in ONE_DIM for x in ((some(s, t), with_nan(some(s, t))) if nan else (some(s, t),)) for rest in tail] + [(special(t), 0, *rest) for t in dtypes for rest in tail], ulps)


along("cumsum", lambda x, d, t: torch.cumsum(x, d, dtype=t), tail=((None,), (torch.float32,), (torch.int8,)))
along("cumprod", lambda x, d, t: torch.cumprod(x, d, dtype=t), tail=((None,), (torch.float32,), (torch.int8,)))
along("cummax", lambda x, d: tuple(torch.cummax(x, d)))
along("cummin", lambda x, d: tuple(torch.cummin(x, d)))
along("logcumsumexp", lambda x, d: torch.logcumsumexp(x, d), dtypes=FLOATS, ulps=16)
along("softmax", lambda x, d, t: torch.softmax(x, d, dtype=t), tail=((None,), (torch.float64,)))
along("log_softmax", lambda x, d, t: torch.log_softmax(x, d, dtype=t), tail=((None,), (torch.float64,)))
along("max_dim", lambda x, d, k: tuple(torch.max(x, d, k)), tail=((False,), (True,)))
along("min_dim", lambda x, d, k: tuple(torch.min(x, d, k)), tail=((False,), (True,)))
along("median", lambda x, d, k: torch.median(x, d, k).values, tail=((False,), (True,)), dtypes=ALL[:-1])
along("nanmedian", lambda x, d, k: torch.nanmedian(x, d, k).values, tail=((False,), (True,)), dtypes=ALL[:-1])
along("mode", lambda x, d, k: tuple(torch.mode(x, d, k)), tail=((False,), (True,)), nan=False)
along("aminmax", lambda x, d, k: tuple(torch.aminmax(x, dim=d, keepdim=k)), tail=((False,), (True,)))
along("sort", lambda x, d, desc: tuple(torch.sort(x, dim=d, descending=desc, stable=True)), tail=((False,), (True,)))
along("flip", lambda x, d: torch.flip(x, [d]))
along("unbind", lambda x, d: torch.unbind(x, d), nan=False)
along("squeeze", lambda x, d: torch.squeeze(x, d), nan=False)
along("unsqueeze", lambda x, d: torch.unsqueeze(x, d), nan=False)
function("kthvalue", lambda x, k, d, keep: torch.kthvalue(x, k, d, keep).values, [(with_nan(some(s, t)), k, d, keep) for t in ALL[:-1] for s, d in ONE_DIM for k in (0, 1, 2, 9) for keep in (False, True)])
function("topk", lambda x, k, d, largest, s: torch.topk(x, k, d, largest, s).values, [(with_nan(some(s, t)), k, d, largest, True) for t in ALL[:-1] for s, d in ONE_DIM for k in (0, 1, 2, 9) for largest in (False, True)])
function("median_all", torch.median, [(with_nan(some(s, t)),) for t in ALL[:-1] for s in SIZES] + [(special(t),) for t in ALL[:-1]])
function("nanmedian_all", torch.nanmedian, [(with_nan(some(s, t)),) for t in ALL[:-1] for s in SIZES] + [(special(t),) for t in ALL[:-1]])
QUANTILES = [(x, q, d, k, i) for t in (torch.float32, torch.float64) for s, d in ONE_DIM + [((2, 3), None)] for x in (some(s, t), with_nan(some(s, t))) for q in (0.3, torch.tensor([0.0, 0.5, 1.0], dtype=t)) for k in (False, True)
             for i in ("linear", "lower", "higher", "midpoint", "nearest")]
function("quantile", lambda x, q, d, k, i: torch.quantile(x, q, d, k, interpolation=i), QUANTILES, 16)
function("nanquantile", lambda x, q, d, k, i: torch.nanquantile(x, q, d, k, interpolation=i), QUANTILES, 16)
function("count_nonzero", lambda x, d: torch.count_nonzero(x, d), [(some(s, t), listed(d)) for t in ALL for s, d in DIMS if d != ()])
function("diff", lambda x, n, d, a, b: torch.diff(x, n, d, prepend=a, append=b), [(some(s, t), n, d, a, None) for t in ALL for s, d in ONE_DIM for n in (0, 1, 2, 5) for a in (None, *([some(s, t, 1)] if s else []))])
function("searchsorted", lambda s, x, i, r, side, sorter: torch.searchsorted(s, x, out_int32=i, right=r, side=side or None, sorter=sorter),
         [(torch.sort(some((5,), t)).values, some(s, t, 1), i, r, "", None) for t in ALL[:-1] for s in SIZES for i in (False, True) for r in (False, True)] +
         [(torch.sort(some((2, 5), t)).values, some(s, t, 1), False, r, "", None) for t in ALL[:-1] for s in ((2, 3), (2, 0), (3, 3), (2,)) for r in (False, True)] +
         [(torch.sort(some((5,))).values, v, False, False, side, None) for v in (0.5, math.nan, math.inf) for side in ("left", "right", "middle")] + [(torch.sort(some((5,))).values, special(torch.float32), False, False, "", None)])
function("bucketize", lambda x, b, i, r: torch.bucketize(x, b, out_int32=i, right=r), [(some(s, t), torch.sort(some((5,), t, 1)).values, i, r) for t in ALL[:-1] for s in SIZES for i in (False, True) for r in (False, True)])
function("histc", lambda x, n, a, b: torch.histc(x, n, a, b), [(some(s, t), n, a, b) for t in (torch.float32, torch.float64) for s in SIZES for n, a, b in ((4, 0, 0), (7, -1, 2), (3, 1, 1), (0, 0, 1), (3, 2, 1))] + [(torch.rand(1000), 10, 0, 1), (special(torch.float32), 4, -3, 3)])
function("bincount", lambda x, w, n: torch.bincount(x, w, n), [(some((9,), t).abs(), w, n) for t in INTS for w in (None, some((9,)), some((9,), torch.float64), some((9,), torch.int32)) for n in (0, 3, 12)] + [(torch.zeros(0, dtype=torch.int64), None, 2), (some((3,)), None, 0), (some((2, 2), torch.int64), None, 0), (torch.tensor([-1]), None, 0)])

# ---- pointwise with more arguments
function("lerp", torch.lerp, [(special(t).reshape(-1, 1), special(t), 0.3) for t in FLOATS] + [(some(p, t), some(q, t, 1), 0.75) for t in FLOATS + [torch.int64] for p, q in PAIRS] + [(some((3,)), some((3,), seed=1), some((3,), seed=2))], 8)
function("addcmul", lambda a, b, c, v: torch.addcmul(a, b, c, value=v), [(some((3,), t), some((2, 3), t, 1), some((), t, 2), v) for t in ALL for v in (1, 2, 0.5)] + [(special(t), special(t), special(t), 1) for t in FLOATS], 8)
function("addcdiv", lambda a, b, c, v: torch.addcdiv(a, b, c, value=v), [(some((3,), t), some((2, 3), t, 1), some((), t, 2), v) for t in ALL for v in (1, 2, 0.5)] + [(special(t), special(t), special(t), 1) for t in FLOATS], 8)
function("isclose", lambda a, b, r, at, e: torch.isclose(a, b, r, at, e), [(special(t).reshape(-1, 1), special(t), r, at, e) for t in ALL for r, at in ((1e-5, 1e-8), (0.5, 0.0), (0.0, 1.0)) for e in (False, True)])
function("logit", lambda x, e: torch.logit(x, e), [(special(t), e) for t in ALL for e in (None, 0.1)], 8)
function("nan_to_num", lambda x, a, b, c: torch.nan_to_num(x, a, b, c), [(special(t), *v) for t in ALL for v in ((None, None, None), (1.0, 2.0, -2.0))])
ACTIVATIONS = [special(t) for t in ALL] + [some(s) for s in SIZES]
function("leaky_relu", F.leaky_relu, [(x, s) for x in ACTIVATIONS for s in (0.01, -1.0)], 4)
function("elu", lambda x, a, s, i: torch.ops.aten.elu(x, a, s, i), [(x, *v) for x in ACTIVATIONS for v in ((1.0, 1.0, 1.0), (0.5, 2.0, 0.3))], 8)
function("celu", F.celu, [(x, a) for x in ACTIVATIONS for a in (1.0, 0.5)], 8)
function("gelu", lambda x, a: F.gelu(x, approximate=a), [(x, a) for x in ACTIVATIONS for a in ("none", "tanh")], 64)
function("softplus", F.softplus, [(x, *v) for x in ACTIVATIONS for v in ((1.0, 20.0), (2.0, 5.0))], 8)
function("hardtanh", F.hardtanh, [(x, *v) for x in ACTIVATIONS for v in ((-1, 1), (0, 2))])
function("threshold", F.threshold, [(x, 1, 3) for x in ACTIVATIONS])
function("hardshrink", lambda x, l: F.hardshrink(x, l), [(x, l) for x in ACTIVATIONS for l in (0.5, 1.0)])
function("softshrink", F.softshrink, [(x, l) for x in ACTIVATIONS for l in (0.5, 1.0)])
function("where", torch.where, [(some((2, 1), torch.bool), some((3,), a), some((2, 3), b, 1)) for a in ALL for b in ALL] + [(some((3,), torch.bool), some((3,), t), v) for t in ALL for v in (1, 0.5, True)])
function("clamp", torch.clamp, [(special(t), *v) for t in ALL for v in ((-1, 1), (None, 0.5), (0, None), (2, 1))] + [(some((2, 3), t), some((3,), u, 1), None) for t in ALL for u in ALL])
function("masked_fill", torch.masked_fill, [(some((2, 3), t), some((3,), torch.bool), v) for t in ALL for v in (1, 0.5, True, math.inf)])
function("to", lambda x, t: x.to(t), [(special(a), b) for a in ALL for b in FLOATS] + [(some((2, 3), a), b) for a in ALL for b in ALL])
function("mvlgamma", torch.special.multigammaln, [(some((4,), t) + 5, p) for t in FLOATS for p in (1, 2, 3)], 16)
function("ldexp", torch.ldexp, [(some((4,), t), some((4,), u, 1)) for t in ALL for u in (torch.int64, torch.float32)], 4)
function("glu", F.glu, [(some(s, t), d) for t in FLOATS for s, d in (((4,), 0), ((2, 4), -1), ((2, 3), 1), ((0, 2), 0))], 8)

# ---- products
for n, sizes in {"mm": [((2, 3), (3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((2, 3), (2, 3)), ((3,), (3, 2))], "bmm": [((2, 2, 3), (2, 3, 4)), ((0, 2, 3), (0, 3, 1)), ((2, 2, 3), (1, 3, 2))],
                 "matmul": [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 2, 3), (3, 2)), ((4, 1, 2, 3), (2, 3, 2)), ((), (3,)), ((2, 0), (0, 2))], "mv": [((2, 3), (3,)), ((2, 0), (0,))], "dot": [((3,), (3,)), ((0,), (0,)), ((2,), (3,))],
                 "outer": [((2,), (3,)), ((0,), (2,)), ((2, 2), (2,))], "kron": [((2, 3), (2, 2)), ((3,), (2, 2)), ((), (3,)), ((0,), (2,))]}.items():
    function(n, getattr(torch, n), [(some(p, t), some(q, t, 1)) for t in ALL for p, q in sizes] + [(some(sizes[0][0]), some(sizes[0][1], torch.float64))], 64)
function("linear", F.linear, [(some(p, t), some((4, 3), t, 1), b) for t in FLOATS for p in ((2, 3), (3,), (0, 3), (2, 2, 3)) for b in (None, some((4,), t, 2))], 64)
function("addmm", lambda a, b, c, beta, alpha: torch.addmm(a, b, c, beta=beta, alpha=alpha), [(some(s, t), some((2, 3), t, 1), some((3, 4), t, 2), *v) for t in FLOATS + INTS for s in ((2, 4), (4,), (1,), ()) for v in ((1, 1), (0, 2), (2, 1))], 64)
function("einsum", lambda e, l: torch.einsum(e, *l), [(e, [some(s, t, i) for i, s in enumerate(ss)]) for t in (torch.float32, torch.float64, torch.int64) for e, ss in
         (("ij,jk->ik", ((2, 3), (3, 2))), ("ij->ji", ((2, 3),)), ("ii->i", ((3, 3),)), ("ii", ((3, 3),)), ("i,j", ((2,), (3,))), ("...ij,...jk->...ik", ((2, 2, 3), (3, 2))), ("bij,bjk", ((2, 2, 3), (2, 3, 2))), ("ij,kj", ((2, 3), (2, 3))))], 64)
function("tensordot", lambda a, b, p, q: torch.tensordot(a, b, (p, q)), [(some((2, 3, 4), t), some((4, 3, 5), t, 1), [1, 2], [1, 0]) for t in FLOATS + [torch.int64]] + [(some((2, 3)), some((3, 2)), [], [])], 64)
function("scaled_dot_product_attention", lambda q, k, v, m, p, c: F.scaled_dot_product_attention(q, k, v, m, p, c),
         [(some((2, n, e), t) / 2, some((2, l, e), t, 1) / 2, some((2, l, 4), t, 2), None, 0.0, c) for t in FLOATS for n, l, e in ((3, 3, 4), (2, 5, 4), (1, 1, 1), (0, 3, 4), (2, 0, 4), (2, 3, 0)) for c in (False, True)], 64)

# ---- indexing and rearranging
I = torch.int64
X = [some((3, 4), t) for t in (torch.float32, torch.int64, torch.bfloat16, torch.bool)]
function("embedding", lambda w, i: F.embedding(i, w), [(some((4, 3)), torch.tensor(i)) for i in ([0, 3], [[1, 2], [3, 0]], [4], [-1])] + [(some((4, 3)), torch.tensor(2))])
INDICES = [torch.tensor(v, dtype=t) for v in ([0, 2], [2, 2, 1], [3], [-1], 1) for t in (torch.int64, torch.int32)] + [torch.zeros(0, dtype=I)]
function("index_select", torch.index_select, [(x, d, i) for x in X + [torch.tensor(2.0)] for d in (0, -1, 2) for i in INDICES])
function("gather", torch.gather, [(x, d, i) for x in X + [torch.tensor(2.0)] for d in (0, 1) for i in (torch.tensor([[0, 1], [2, 0]]), torch.tensor([[3]]), torch.tensor([[-1]]), torch.tensor([0]), torch.tensor(0), torch.zeros((0, 2), dtype=I), torch.tensor([[0, 1]], dtype=torch.int32))])
SCATTER = [(x, d, i, some(tuple(i.shape), x.dtype, 3)) for x in X for d in (0, 1) for i in (torch.tensor([[0, 1], [2, 0]]), torch.tensor([[3]]), torch.tensor([[-1]]), torch.tensor([0]), torch.zeros((0, 2), dtype=I))] + [(torch.tensor(2.0), 0, torch.tensor(0), torch.tensor(1.0))]
function("scatter", torch.scatter, SCATTER + [(x, 0, torch.tensor([[0, 1]]), 1) for x in X])
function("scatter_add", torch.scatter_add, SCATTER)
function("scatter_reduce", lambda x, d, i, s, r, inc: torch.scatter_reduce(x, d, i, s, r, include_self=inc), [(*c, r, inc) for c in SCATTER if c[0].dtype != torch.bool for r in ("sum", "prod", "mean", "amax", "amin", "median") for inc in (True, False)], 4)
WRITE = [(x, d, i, some(tuple(len(i) if k == d else n for k, n in enumerate((3, 4))), x.dtype, 3)) for x in X for d in (0, 1) for i in (torch.tensor([0, 2]), torch.tensor([1, 1]), torch.tensor([4]), torch.tensor([-1]), torch.tensor([0, 1], dtype=torch.int32))] + \
        [(X[0], 0, torch.tensor([0, 2]), some((1, 4))), (X[0], 0, torch.tensor([0, 2]), some((4,))), (torch.tensor(2.0), 0, torch.tensor([0]), torch.tensor([3.0])), (torch.tensor(2.0), 0, torch.tensor(0), torch.tensor(3.0))]
function("index_copy", torch.index_copy, WRITE)
function("index_add", torch.index_add, WRITE)
function("index_fill", torch.index_fill, [(x, d, i, v) for x, d, i, _ in WRITE for v in (1, 0.5)])
function("index_reduce", lambda x, d, i, s, r, inc: torch.index_reduce(x, d, i, s, r, include_self=inc), [(*c, r, inc) for c in WRITE if c[0].dtype not in (torch.bool,) for r in ("prod", "mean", "amax", "amin") for inc in (True, False)], 4)
function("put", lambda x, i, s, a: torch.Tensor.put_(x.clone(), i, s, a), [(x, i, some(tuple(i.shape), x.dtype, 3), a) for x in X for i in (torch.tensor([0, 11]), torch.tensor([-1, 3]), torch.tensor([12])) for a in (False, True)])
function("take", torch.take, [(x, i) for x in X for i in (torch.tensor([[0, 11], [-1, 3]]), torch.tensor(4), torch.tensor([12]), torch.zeros(0, dtype=I))])
function("take_along_dim", torch.take_along_dim, [(x, i, d) for x in X for i, d in ((torch.tensor([[0, 1, 2, 0]]), 0), (torch.tensor([[3], [0], [1]]), 1), (torch.tensor([5, 0]), None), (torch.tensor([0]), 0), (torch.tensor([[4]]), 1))])
function("masked_scatter", torch.masked_scatter, [(x, some(s, torch.bool), some((12,), x.dtype, 2)) for x in X for s in ((3, 4), (4,), (2, 4))])
function("one_hot", F.one_hot, [(torch.tensor(v), n) for v in ([0, 2], [[1], [0]], 2) for n in (3, 4, 2)])
function("cat", lambda l, d: torch.cat(l, d), [([some((2, 3), a), some((1, 3), b, 1)], d) for a in ALL for b in (torch.float32, torch.int64, torch.bool) for d in (0, 1)] + [([some((0,)), some((2, 3))], 0), ([some(()), some(())], 0)])
function("stack", lambda l, d: torch.stack(l, d), [([some((2, 3), a), some((2, 3), torch.float32, 1)], d) for a in ALL for d in (0, 2, -1, 3)])
function("flip", lambda x, d: torch.flip(x, d), [(x, d) for x in X for d in ([0], [1, 0], [-1], [0, 0], [], [2])])
function("roll", lambda x, s, d: torch.roll(x, s, d), [(x, s, d) for x in X for s, d in (([1], [0]), ([1, -2], [0, 1]), ([5], []), ([1, 1], [0, 0]), ([1], [2]), ([1, 2], [0]))])
function("repeat", lambda x, r: x.repeat(r), [(x, r) for x in X for r in ([2, 1], [1, 0], [2, 1, 3], [2], [-1, 1])])
function("squeeze", lambda x, d: torch.squeeze(x) if d is None else torch.squeeze(x, d), [(some(s), d) for s in ((1, 3, 1), (), (2, 3)) for d in (None, 0, 1, -1, (0, 2), (0, 0), 5)])
function("tril", torch.tril, [(some(s, t), k) for t in ALL for s in ((3, 4), (2, 0), (2, 3, 3)) for k in (-1, 0, 2)] + [(some((3,)), 0)])
function("triu", torch.triu, [(some(s, t), k) for t in ALL for s in ((3, 4), (2, 0), (2, 3, 3)) for k in (-1, 0, 2)] + [(some((3,)), 0)])
function("unfold", lambda x, d, n, s: x.unfold(d, n, s), [(some((5,)), 0, 2, 2), (some((5,)), 0, 6, 1), (some(()), 0, 1, 1), (some((2, 5)), -1, 3, 1), (some((5,)), 0, 0, 1), (some((5,)), 0, 2, 0)])
function("diagonal", torch.diagonal, [(some((3, 4)), o, 0, 1) for o in (0, 1, -2, 5)] + [(some((3, 4)), 0, 0, 0), (some((2, 3, 4)), 1, -1, 0)])
function("arange", lambda a, b, s, t: torch.arange(a, b, s, dtype=t), [(0, 5, 1, None), (0, 1, 0.25, None), (5, 0, -2, None), (0, 5, -1, None), (0, 5, 0, None), (1.0, 4.5, 1, torch.float64), (0, 3, 1, torch.bfloat16)])
function("linspace", lambda a, b, n, t: torch.linspace(a, b, n, dtype=t), [(0, 1, 5, None), (1, 0, 1, None), (0, 1, 0, None), (-2.0, 2.0, 7, torch.float64)], 8)
function("layer_norm", lambda x, s, w, b, e: F.layer_norm(x, s, w, b, e), [(some(s, t), [3], w, None, 1e-5) for t in FLOATS for s in ((2, 3), (0, 3), (3,)) for w in (None, some((3,), t, 1))], 64)
function("rms_norm", lambda x, s, w, e: F.rms_norm(x, s, w, e), [(some(s, t), [3], w, e) for t in FLOATS for s in ((2, 3), (0, 3), (3,)) for w in (None, some((3,), t, 1)) for e in (None, 1e-3)], 64)

# ---- Fourier transforms: pairs are view_as_real's
C = torch.view_as_complex


def pairs(z):
    return torch.view_as_real(z.resolve_conj()).contiguous()


SPECTRA = [some((n, 2), t) for n in (1, 2, 5, 8, 12, 31, 37, 64, 74) for t in (torch.float32, torch.float64)] + [some((3, 4, 2)), some((0, 4, 2))]
for n in ("fft", "ifft"):
    function(n, (lambda f: lambda x, k, d, m: pairs(f(C(x.contiguous()), k, d, m)))(getattr(torch.fft, n)), [(x, k, d, m) for x in SPECTRA for k in (None, 3, 40) for d in (-1,) for m in ("backward", "ortho", "forward")], 64)
function("rfft", lambda x, k, d, m: pairs(torch.fft.rfft(x, k, d, m)), [(x[..., 0].contiguous(), k, d, m) for x in SPECTRA for k in (None, 3, 40) for d in (-1,) for m in ("backward", "ortho", "forward")] + [(some((4,), I), None, -1, "backward"), (some(()), None, -1, "backward")], 64)
function("irfft", lambda x, k, d, m: torch.fft.irfft(C(x.contiguous()), k, d, m), [(x, k, d, m) for x in SPECTRA for k in (None, 3, 40) for d in (-1,) for m in ("backward", "ortho", "forward")], 64)
for n in ("fft2", "fftn"):
    function(n, (lambda f: lambda x, *a: pairs(f(C(x.contiguous()))))(getattr(torch.fft, n)), [(x,) if n == "fftn" else (x, [], [-2, -1], "backward") for x in (some((3, 4, 2)), some((2, 3, 5, 2), torch.float64))], 64)
TABLE["fftn"] = (TABLE["fftn"][0], 64, [(x, [], None, "backward") for x in (some((3, 4, 2)), some((2, 3, 5, 2), torch.float64))])
function("stft", lambda x, n, h, w, win, c, p, norm, one: pairs(torch.stft(x, n, h, w, win, c, p, norm, one, return_complex=True)),
         [(some((2, 30), t), 8, h, w, torch.hann_window(w or 8, dtype=t), c, p, norm, one) for t in (torch.float32, torch.float64) for h in (None, 3) for w in (None, 6) for c in (True, False) for p in ("reflect", "constant") for norm in (False, True) for one in (True, False)] + [(some((5,)), 16, None, None, None, True, "reflect", False, True)], 64)
WAVES = [torch.stft(some((2, 30), torch.float64), 8, 2, window=torch.hann_window(8, dtype=torch.float64), return_complex=True)]
function("istft", lambda x, n, h, w, win, c, norm, one, length: torch.istft(C(x.contiguous()), n, h, w, win, c, norm, one, length), [(pairs(s), 8, 2, None, torch.hann_window(8, dtype=torch.float64), True, norm, True, k) for s in WAVES for norm in (False, True) for k in (None, 20, 30)], 64)
for n in ("hann_window", "blackman_window", "bartlett_window"):
    function(n, (lambda f: lambda k, p, t: f(k, periodic=p, dtype=t))(getattr(torch, n)), [(k, p, t) for k in (0, 1, 2, 7, 8) for p in (True, False) for t in (None, torch.float64)], 64)
function("hamming_window", lambda k, p, a, b, t: torch.hamming_window(k, p, a, b, dtype=t), [(k, p, 0.54, 0.46, t) for k in (0, 1, 2, 7, 8) for p in (True, False) for t in (None, torch.float64)], 64)
function("kaiser_window", lambda k, p, b, t: torch.kaiser_window(k, p, b, dtype=t), [(k, p, 12.0, t) for k in (0, 1, 2, 7, 8) for p in (True, False) for t in (None, torch.float64)], 64)
function("fftfreq", lambda n, d, t: torch.fft.fftfreq(n, d, dtype=t), [(n, d, None) for n in (1, 4, 5) for d in (1.0, 0.5)], 4)
function("rfftfreq", lambda n, d, t: torch.fft.rfftfreq(n, d, dtype=t), [(n, d, None) for n in (1, 4, 5) for d in (1.0, 0.5)], 4)
function("fftshift", torch.fft.fftshift, [(some((4, 5)), d) for d in (None, 0, [1])])

# ---- linear algebra
SQUARE = [some((*b, n, n), t) + 4 * torch.eye(n, dtype=t) for t in (torch.float32, torch.float64) for n in (0, 1, 3, 6) for b in ((), (2,))]
SINGULAR = [torch.zeros((2, 2)), torch.ones((3, 3)), some((2, 3)), some((2, 2), I)]
function("inverse", torch.linalg.inv, [(m,) for m in SQUARE + SINGULAR], 4096)
function("det", torch.linalg.det, [(m,) for m in SQUARE + SINGULAR], 4096)
function("slogdet", lambda m: tuple(torch.linalg.slogdet(m)), [(m,) for m in SQUARE + SINGULAR], 4096)
function("lu_factor", lambda m: tuple(torch.linalg.lu_factor(m)), [(m,) for m in SQUARE], 4096)
function("cholesky", torch.linalg.cholesky, [(m @ m.mT + torch.eye(m.shape[-1], dtype=m.dtype),) for m in SQUARE] + [(m,) for m in SINGULAR], 4096)
function("solve", lambda a, b, left: torch.linalg.solve(a, b, left=left), [(m, some((*m.shape[:-1], 2), m.dtype, 1), True) for m in SQUARE] + [(m, some(tuple(m.shape[:-1]), m.dtype, 1), True) for m in SQUARE] + [(SINGULAR[0], some((2, 1)), True), (SINGULAR[1], some((2, 1)), True)], 4096)
function("solve_triangular", lambda a, b, u, left, uni: torch.linalg.solve_triangular(a, b, upper=u, left=left, unitriangular=uni), [(m, some((*m.shape[:-1], 2), m.dtype, 1), u, True, uni) for m in SQUARE for u in (False, True) for uni in (False, True)], 65536)
function("trace", torch.trace, [(some((3, 4), t),) for t in ALL] + [(some((3,)),), (some((0, 2)),)], 16)
function("cross", torch.linalg.cross, [(some((2, 3), t), some((2, 3), t, 1)) for t in ALL] + [(some((3,)), some((2, 3), seed=1)), (some((2,)), some((2,)))], 8)
TABLE["cross"] = (lambda a, b, d: torch.linalg.cross(a, b, dim=d), 8, [(*c, -1) for c in TABLE["cross"][2]])
function("cdist", lambda a, b, p: torch.cdist(a, b, p, compute_mode="donot_use_mm_for_euclid_dist"), [(some((*s, 4), t), some((3, 4), t, 1), p) for t in (torch.float32, torch.float64) for s in ((2,), (2, 5), (0,)) for p in (0.0, 1.0, 2.0, 3.0, math.inf)] + [(some((2, 0)), some((3, 0)), p) for p in (0.0, 1.0, 2.0, math.inf)], 64)

# ---- losses
def loss(name, f, cases, ulps=64):
    function(name, f, cases, ulps)


R = ("none", "mean", "sum")
XY = [(some(s, t), some(s, t, 1)) for t in FLOATS for s in ((), (3,), (2, 3), (0,))] + [(some((2, 3)), some((3,), seed=1)), (some((2,), I), some((2,), I, 1)), (special(torch.float32), some((24,)))]
loss("l1_loss", lambda x, y, r: F.l1_loss(x, y, reduction=r), [(*c, r) for c in XY for r in R])
loss("mse_loss", lambda x, y, r: F.mse_loss(x, y, reduction=r), [(*c, r) for c in XY for r in R])
loss("smooth_l1_loss", lambda x, y, r, b: F.smooth_l1_loss(x, y, reduction=r, beta=b), [(*c, r, b) for c in XY for r in R for b in (0.0, 0.5, 1.0)])
loss("huber_loss", lambda x, y, r, d: F.huber_loss(x, y, reduction=r, delta=d), [(*c, r, d) for c in XY for r in R for d in (0.5, 1.0)])
P01 = [(torch.sigmoid(some(s, t)), torch.sigmoid(some(s, t, 1)), w) for t in (torch.float32, torch.float64) for s in ((), (3,), (2, 3)) for w in (None, some((3,), t, 2))] + [(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0]), None)]
loss("binary_cross_entropy", lambda x, y, w, r: F.binary_cross_entropy(x, y, w, reduction=r), [(*c, r) for c in P01 for r in R])
loss("binary_cross_entropy_with_logits", lambda x, y, w, p, r: F.binary_cross_entropy_with_logits(x, y, w, reduction=r, pos_weight=p), [(some(s, t) * 9, torch.sigmoid(some(s, t, 1)), w, p, r) for t in FLOATS for s in ((3,), (2, 3)) for w in (None, some((3,), t, 2)) for p in (None, some((3,), t, 3)) for r in R] +
     [(special(torch.float32), torch.ones(24), None, None, "none")])
CLASSES = [(some((4, 5), t), torch.tensor([0, 4, -100, 2])) for t in FLOATS] + [(some((2, 5, 3)), torch.tensor([[0, 1, 2], [3, 4, 2]])), (some((5,)), torch.tensor(3)), (some((4, 5)), torch.tensor([0, 5, 1, 2])), (some((0, 5)), torch.zeros(0, dtype=I)), (some((4, 5)), torch.tensor([0, 1]))]
loss("nll_loss", lambda x, y, w, r, i: F.nll_loss(x, y, w, ignore_index=i, reduction=r), [(*c, w, r, -100) for c in CLASSES for w in (None, some((5,), c[0].dtype, 3).abs()) for r in R])
loss("cross_entropy", lambda x, y, w, r, i, s: F.cross_entropy(x, y, w, ignore_index=i, reduction=r, label_smoothing=s), [(*c, w, r, -100, s) for c in CLASSES for w in (None, some((5,), c[0].dtype, 3).abs()) for r in R for s in (0.0, 0.1)] +
     [(some((4, 5)), torch.softmax(some((4, 5), seed=1), 1), w, r, -100, s) for w in (None, some((5,), seed=3).abs()) for r in R for s in (0.0, 0.1)], 256)
loss("kl_div", lambda x, y, r, l: F.kl_div(x, y, reduction=r, log_target=l), [(*c, r, l) for c in XY[:-2] for r in (*R, "batchmean") for l in (False, True)], 64)
loss("poisson_nll_loss", lambda x, y, l, f, e, r: F.poisson_nll_loss(x, y, l, full=f, eps=e, reduction=r), [(c[0], c[1].abs(), l, f, 1e-8, r) for c in XY[:9] for l in (True,) for f in (False, True) for r in R], 256)
loss("gaussian_nll_loss", lambda x, y, v, f, e, r: F.gaussian_nll_loss(x, y, v, full=f, eps=e, reduction=r), [(*c, c[0].abs() + 0.5, f, 1e-6, r) for c in XY[:9] if c[0].dim() for f in (False, True) for r in R], 256)
loss("cosine_similarity", lambda x, y, d, e: F.cosine_similarity(x, y, d, e), [(some((2, 3), t), some((2, 3), t, 1), d, 1e-8) for t in FLOATS for d in (0, 1, -1)] + [(some((2, 3)), some((1, 3), seed=1), 0, 1e-8), (torch.zeros(2, 3), some((2, 3)), 1, 1e-8), (some((2, 3)), some((2, 3)), 2, 1e-8)], 64)
loss("pairwise_distance", lambda x, y, p, e, k: F.pairwise_distance(x, y, p, e, k), [(some((2, 3), t), some((2, 3), t, 1), p, 1e-6, k) for t in FLOATS for p in (1.0, 2.0, 3.0, math.inf) for k in (False, True)], 64)
loss("cosine_embedding_loss", lambda x, y, z, m, r: F.cosine_embedding_loss(x, y, z, m, reduction=r), [(some((4, 3), t), some((4, 3), t, 1), torch.tensor([1, -1, 1, -1]), m, r) for t in (torch.float32, torch.float64) for m in (0.0, 0.3) for r in R], 64)
loss("triplet_margin_loss", lambda a, b, c, m, p, e, s, r: F.triplet_margin_loss(a, b, c, m, p, e, s, reduction=r), [(some((4, 3), t), some((4, 3), t, 1), some((4, 3), t, 2), m, p, 1e-6, s, r) for t in (torch.float32, torch.float64) for m in (1.0, 0.3) for p in (1.0, 2.0) for s in (False, True) for r in R], 256)
loss("margin_ranking_loss", lambda x, y, z, m, r: F.margin_ranking_loss(x, y, z, m, reduction=r), [(some((4,), t), some((4,), t, 1), torch.tensor([1, -1, 1, -1]).to(t), m, r) for t in FLOATS for m in (0.0, 0.5) for r in R])
loss("hinge_embedding_loss", lambda x, z, m, r: F.hinge_embedding_loss(x, z, m, reduction=r), [(some((4,), t), torch.tensor([1, -1, 1, -1]).to(t), m, r) for t in FLOATS for m in (1.0, 0.5) for r in R])
loss("soft_margin_loss", lambda x, z, r: F.soft_margin_loss(x, z, reduction=r), [(some((4,), t), torch.tensor([1, -1, 1, -1]).to(t), r) for t in FLOATS for r in R])

# ---- recurrent networks, quantization, bags
def weights(gates, i, h, layers, both, biases, t):
    return [w / 4 for l in range(layers) for d in range(2 if both else 1) for w in
            [some((gates * h, i if l == 0 else h * (2 if both else 1)), t, 3 * l + d), some((gates * h, h), t, 5 + l + d)] + ([some((gates * h,), t, 9 + l), some((gates * h,), t, 11 + d)] if biases else [])]


for n, gates in {"gru": 3, "rnn_tanh": 1, "rnn_relu": 1}.items():
    function(n, (lambda f: lambda x, h, w, b, l, dr, tr, bi, bf: f(x, h, w, b, l, dr, tr, bi, bf))(getattr(torch, n)),
             [(some((4, 2, 3), t), some((2 * (2 if bi else 1), 4 if bf else 2, 5), t) / 2, weights(gates, 3, 5, 2, bi, b, t), b, 2, 0.0, False, bi, bf) for t in (torch.float32, torch.float64) for bi in (False, True) for b in (False, True) for bf in (False, True)], 256)
function("lstm", lambda x, h, w, b, l, dr, tr, bi, bf: torch.lstm(x, h, w, b, l, dr, tr, bi, bf),
         [(some((4, 2, 3), t), [some((2 * (2 if bi else 1), 4 if bf else 2, 5), t) / 2] * 2, weights(4, 3, 5, 2, bi, b, t), b, 2, 0.0, False, bi, bf) for t in (torch.float32, torch.float64) for bi in (False, True) for b in (False, True) for bf in (False, True)], 256)
CELL = lambda g, t: (some((4 * 0 + 2, 3), t), some((2, 5), t) / 2, *weights(g, 3, 5, 1, False, True, t))
for n, gates in {"gru_cell": 3, "rnn_tanh_cell": 1, "rnn_relu_cell": 1}.items():
    function(n, getattr(torch, n), [CELL(gates, t) for t in (torch.float32, torch.float64)], 64)
function("lstm_cell", lambda x, h, *w: torch.lstm_cell(x, h, *w), [(c[0], [c[1], c[1]], *c[2:]) for c in (CELL(4, t) for t in (torch.float32, torch.float64))], 64)
function("quantize_per_tensor", lambda x, s, z, t: torch.quantize_per_tensor(x, s, z, {torch.int8: torch.qint8, torch.uint8: torch.quint8}[t]).int_repr(), [(special(torch.float32)[:-3], s, z, t) for s in (0.1, 0.5) for z in (0, 3) for t in (torch.int8, torch.uint8)])
function("fake_quantize_per_tensor_affine", torch.fake_quantize_per_tensor_affine, [(special(torch.float32)[:-4], s, z, a, b) for s in (0.1, 0.5) for z, a, b in ((0, -128, 127), (3, 0, 255), (0, -8, 7), (9, 0, 3))])
function("embedding_bag", lambda w, i, o, m, p, last, pad: F.embedding_bag(i, w, o, mode=m, per_sample_weights=p, include_last_offset=last, padding_idx=pad),
         [(some((5, 3), t), i, o, m, None, False, pad) for t in (torch.float32, torch.float64) for i, o in ((torch.tensor([0, 1, 4, 2]), torch.tensor([0, 2, 2])), (torch.tensor([[0, 1], [4, 4]]), None), (torch.tensor([0, 5]), torch.tensor([0])), (torch.tensor([0, 1]), torch.tensor([1]))) for m in ("sum", "mean", "max") for pad in (None, 1)], 16)

# ---- matrices' factors, series, and functions over others
RECTANGULAR = [some(s, t, 3) for t in (torch.float32, torch.float64) for s in ((1, 1), (4, 4), (5, 3), (3, 5), (2, 4, 3), (0, 3), (3, 0), (2, 0, 3))]
function("qr", lambda m, mode: tuple(torch.linalg.qr(m, mode)), [(m, mode) for m in RECTANGULAR for mode in ("reduced", "complete", "r")], 4096)
function("eigvalsh", torch.linalg.eigvalsh, [(m + m.mT, u) for m in SQUARE for u in "LU"] + [(m, "L") for m in SQUARE], 4096)
function("svdvals", torch.linalg.svdvals, [(m,) for m in RECTANGULAR], 4096)
function("pinv", lambda m, r: torch.linalg.pinv(m, rtol=r), [(m, r) for m in RECTANGULAR[:-3] for r in (None, 0.25)], 1 << 16)
function("logdet", torch.logdet, [(m,) for m in SQUARE], 4096)
for n in ("i1", "i1e"):
    unary(n, getattr(torch.special, n), 64)
function("polygamma", torch.polygamma, [(n, special(t)) for n in (0, 1, 2, 5) for t in FLOATS + [torch.int64]] + [(1, some(s)) for s in SIZES], 256)
function("zeta", torch.special.zeta, [(x, q) for t in (torch.float32, torch.float64) for x in (torch.tensor([2.0, 3.0, 1.0, 0.5, 2.5, math.nan, 9.0], dtype=t),) for q in (some((7,), t), torch.arange(1, 8, dtype=t), torch.tensor(0.25, dtype=t), some((3, 1), t))], 256)
CTC = [(F.log_softmax(some((6, 2, 4), t), -1), y, torch.tensor(i), torch.tensor(o), blank, r, z) for t in (torch.float32, torch.float64) for y, o in ((torch.tensor([[1, 2, 2], [2, 1, 1]]), [3, 2]), (torch.tensor([1, 2, 2, 2, 1]), [3, 2]), (torch.tensor([[1, 1, 1], [2, 1, 2]]), [3, 0]))
       for i in ([6, 5], [4, 3]) for blank in (0, 3) for r in R for z in (False, True)]
function("ctc_loss", lambda p, y, i, o, b, r, z: F.ctc_loss(p, y, i, o, b, r, z), CTC, 256)
STACKED = [[some((), t, k), some((), t, k + 1)] for t in (torch.float32, torch.int64) for k in (0,)] + [[some((3,)), some((3,), torch.int64)], [some((2, 3)), some((2, 3), torch.float64)], [some((3,)), some((3, 2))], [some((2, 3, 2)), some((2, 3, 2))], [some((0,)), some((0, 2))], [some((2,)), some((3,))]]
for n in ("column_stack", "dstack", "block_diag", "broadcast_tensors"):
    function(n, (lambda f, n: lambda l: f(*l) if n[0] == "b" else f(l))(getattr(torch, n), n), [(l,) for l in STACKED])
for n in ("atleast_1d", "atleast_2d", "atleast_3d", "fliplr", "flipud"):
    function(n, getattr(torch, n), [(some(s, t),) for s in SIZES for t in ALL])
function("tile", torch.tile, [(some(s), d) for s in SIZES for d in ((), (2,), (2, 3), (0, 1), (1, 2, 1, 1))])
function("rot90", torch.rot90, [(some(s), k, d) for s in SIZES for k in (-1, 0, 1, 2, 7) for d in ((0, 1), (1, 0), (-1, 0), (0, 0))])
function("diag", torch.diag, [(some(s, t), k) for s in SIZES for t in (torch.float32, torch.bool, torch.int64) for k in (0, 1, -2, 5)])
function("diag_embed", torch.diag_embed, [(some(s), k, a, b) for s in SIZES for k in (0, 1, -2) for a, b in ((-2, -1), (0, 1), (1, 0), (0, 0))])
function("diagflat", torch.diagflat, [(some(s), k) for s in SIZES for k in (0, 1, -2)])
function("isin", lambda x, y, u, i: torch.isin(x, y, assume_unique=u, invert=i), [(some(a, t), some(b, t, 1), False, i) for a, b in PAIRS for t in (torch.float32, torch.int64, torch.uint8) for i in (False, True)])
function("msort", torch.msort, [(special(t),) for t in ALL] + [(some(s),) for s in SIZES])
function("inner", torch.inner, [(some(a, t), some(b, t, 1)) for t in (torch.float32, torch.int64) for a, b in (*PAIRS, ((2, 3), (4, 3)), ((2, 2, 3), (3,)))], 64)
function("vdot", torch.vdot, [(some(a, t), some(b, t, 1)) for t in (torch.float32, torch.int64) for a, b in (((3,), (3,)), ((0,), (0,)), ((3,), (4,)), ((2, 3), (2, 3)))], 64)
function("cov", lambda x, c: torch.cov(x, correction=c), [(some(s, t), c) for s in SIZES for t in (torch.float32, torch.float64) for c in (0, 1, 7)], 256)
function("corrcoef", torch.corrcoef, [(some(s, t),) for s in ((), (5,), (2, 3), (3, 8)) for t in (torch.float32, torch.float64)], 256)
function("dist", torch.dist, [(some(a, t), some(b, t, 1), p) for t in (torch.float32, torch.float64) for a, b in PAIRS for p in (0.0, 1.0, 2.0, 3.0, math.inf)], 256)
function("renorm", torch.renorm, [(some(s, t), p, d, m) for s in ((2, 3), (2, 1, 4), (3,), (3, 0)) for t in (torch.float32, torch.float64) for p in (1.0, 2.0, 3.0) for d in (0, -1) for m in (0.5, 2.0, 100.0)], 256)
function("rsub", lambda x, y, a: torch.rsub(x, y, alpha=a), [(some(s, t), y, a) for s in SIZES for t in (torch.float32, torch.int64) for y in (2, some((1,), t, 1)) for a in (1, 2)])
function("trapezoid", lambda y, dx, d: torch.trapezoid(y, dx=dx, dim=d), [(some(s, t), dx, d) for s in SIZES[1:] for t in (torch.float32, torch.float64) for dx in (1, 0.5) for d in (0, -1)], 64)
function("trapezoid_at", lambda y, x, d: torch.trapezoid(y, x, dim=d), [(some((2, 3)), some((3,), torch.float32, 1), -1), (some((2, 3)), some((2, 3), torch.float32, 1), 0), (some((2, 3)), some((2,), torch.float32, 1), 0), (some((2, 3)), some((4,)), -1), (some((2, 3)), some((2,)), -1)], 64)
function("vander", lambda x, n, i: torch.vander(x, N=n, increasing=i), [(some((4,), t), n, i) for t in (torch.float32, torch.float64, torch.int64) for n in (None, 0, 1, 3) for i in (False, True)], 16)
function("logspace", lambda a, b, n, base, t: torch.logspace(a, b, n, base, dtype=t), [(a, b, n, base, t) for a, b in ((0, 3), (-2.0, 2.0), (1, 1)) for n in (0, 1, 2, 5) for base in (10.0, 2.0) for t in (torch.float32, torch.float64)], 16)

# ---- rearranging, and what is made of it
for n, cases in {
        "permute": [(some(s), d) for s in SIZES for d in ((), (0,), (1, 0), (-1, 0), (0, 0), (2, 0, 1), (2, -3, 1))],
        "transpose": [(some(s), a, b) for s in SIZES for a, b in ((0, 1), (-1, 0), (0, 0), (3, 0))],
        "movedim": [(some(s), a, b) for s in SIZES for a, b in ((0, 1), (-1, 0), (0, 3))],
        "flatten": [(some(s), a, b) for s in SIZES for a, b in ((0, -1), (1, 2), (-2, -1), (1, 0), (0, 3))],
        "unflatten": [(some(s), d, sizes) for s in SIZES for d in (0, -1, 3) for sizes in ((1, -1), (5,), (2, 2), (-1, -1), (0, 3))],
        "reshape": [(some(s), sizes) for s in SIZES for sizes in ((-1,), (1, -1), (3, 2), (), (0,), (2, -1, 2), (-1, -1), (5, 1))],
        "unsqueeze": [(some(s), d) for s in SIZES for d in (0, -1, 1, 4, -5)],
        "expand": [(some(s), sizes) for s in SIZES for sizes in ((3,), (4, 5), (2, 3), (-1, 3), (2, 7, 4), (), (0,), (3, -1))],
        "narrow": [(some(s), d, a, n) for s in SIZES for d in (0, -1) for a, n in ((0, 1), (1, 1), (-1, 1), (0, 0), (2, 3), (0, -1))],
        "select": [(some(s), d, i) for s in SIZES for d in (0, -1, 3) for i in (0, -1, 4, -9)],
        "split": [(some(s), n, d) for s in SIZES for n in (1, 2, 7, 0, -1) for d in (0, -1)],
        "chunk": [(some(s), n, d) for s in SIZES for n in (1, 2, 7, 0) for d in (0, -1)],
        "prelu": [(some(s), w) for s in SIZES[1:] for w in (some((1,), torch.float32, 2), some((3,), torch.float32, 2))],
        "slice_scatter": [(some((3, 4)), y, d, a, b, k) for y in (some((2, 4), torch.float32, 1), some((3, 2), torch.float32, 1), some((1, 4), torch.float32, 1)) for d in (0, 1) for a, b, k in ((0, 2, 1), (1, None, 1), (None, -2, 1), (0, 4, 2), (1, 2, 1))],
        "select_scatter": [(some((3, 4)), y, d, i) for y in (some((4,), torch.float32, 1), some((3,), torch.float32, 1)) for d in (0, 1) for i in (0, -1, 3)],
        "diagonal_scatter": [(some((3, 4)), y, k, 0, 1) for y in (some((3,), torch.float32, 1), some((2,), torch.float32, 1)) for k in (0, 1, -1, 2)],
        "hstack": [(l,) for l in STACKED], "vstack": [(l,) for l in STACKED],
        "cartesian_prod": [([some((3,)), some((2,))],), ([some((3,))],), ([some((2, 2))],), ([some((2,)), some((0,))],)],
        "nonzero": [(some(s, t),) for s in SIZES for t in ALL] + [(special(t),) for t in ALL], "argwhere": [(some(s, t),) for s in SIZES for t in (torch.float32, torch.bool)],
        "masked_select": [(some(s), some(m, torch.bool)) for s, m in PAIRS],
}.items():
    f = getattr(torch, n, None) or getattr(torch.Tensor, n)
    function(n, {"cartesian_prod": lambda l: torch.cartesian_prod(*l), "slice_scatter": lambda x, y, d, a, b, k: torch.slice_scatter(x, y, d, a, b, k)}.get(n, f), cases, 4)
function("meshgrid", lambda l, i: torch.meshgrid(*l, indexing=i), [(l, i) for l in ([some((3,)), some((2,))], [some((3,))], [some((2,)), some(()), some((0,))], [some((2, 2))]) for i in ("ij", "xy", "yx")])
for n in ("tril_indices", "triu_indices"):
    function(n, (lambda f: lambda r, c, o, t: f(r, c, o, dtype=t))(getattr(torch, n)), [(r, c, o, torch.int64) for r, c in ((3, 3), (2, 5), (5, 2), (0, 3), (1, 1), (-1, 2)) for o in (0, 1, -2, 7)])
for n in ("unique", "unique_consecutive"):
    function(n, (lambda f: lambda x, i, c: f(x, return_inverse=i, return_counts=c))(getattr(torch, n)), [(some(z, t), i, c) for z in SIZES for t in (torch.float32, torch.int64, torch.bool) for i in (False, True) for c in (False, True)])
BIAS = lambda t: (some((2, 3), t), some((2, 4), t, 1), some((5, 3, 4), t, 2))
function("bilinear", F.bilinear, [(*BIAS(t), b) for t in (torch.float32, torch.float64) for b in (None, some((5,), t, 3))] + [(some((2, 3)), some((3, 4)), some((5, 3, 4)), None)], 64)
function("multi_dot", torch.linalg.multi_dot, [([some(s) for s in sizes],) for sizes in (((2, 3), (3, 4)), ((2, 3), (3, 4), (4, 2)), ((3,), (3, 4), (4,)), ((2, 3), (4, 2)), ((2, 3), (3, 0), (0, 2)), ((2, 3),))], 256)
function("matrix_power", torch.linalg.matrix_power, [(m, n) for m in SQUARE for n in (0, 1, 2, 3, -1)], 1 << 14)
function("addmv", lambda x, m, v, b, a: torch.addmv(x, m, v, beta=b, alpha=a), [(some(s), some((3, 4), torch.float32, 1), some((4,), torch.float32, 2), b, a) for s in ((3,), (1,), (), (4,)) for b in (1, 0, 0.5) for a in (1, 2)], 64)
function("addr", lambda x, u, v, b, a: torch.addr(x, u, v, beta=b, alpha=a), [(some(s), some((3,), torch.float32, 1), some((4,), torch.float32, 2), b, a) for s in ((3, 4), (4,), (1, 1), (4, 3)) for b in (1, 0, 0.5) for a in (1, 2)], 64)
function("baddbmm", lambda x, u, v, b, a: torch.baddbmm(x, u, v, beta=b, alpha=a), [(some(s), some((2, 3, 4), torch.float32, 1), some((2, 4, 5), torch.float32, 2), b, a) for s in ((2, 3, 5), (5,), (1, 1, 1), (2, 5, 3)) for b in (1, 0, 0.5) for a in (1, 2)], 64)
function("triangular_solve", lambda b, a, u, t, k: tuple(torch.triangular_solve(b, a, upper=u, transpose=t, unitriangular=k)), [(some((*m.shape[:-1], 2), m.dtype), m, u, t, k) for m in SQUARE[4:6] for u in (False, True) for t in (False, True) for k in (False, True)], 1 << 16)
function("cholesky_solve", lambda b, m, u: torch.cholesky_solve(b, m, upper=u), [(some((*m.shape[:-1], 2), m.dtype), m.tril() if not u else m.triu(), u) for m in SQUARE[2:6] for u in (False, True)], 1 << 16)

# ---- what is known to differ: (function, what the difference says); each stands in docs/differences.md
KNOWN = [
    (r".*", r"dtype int32 for int16|dtype float32 for int16"),
    (r"floor_divide|remainder|fmod|div", r"refused there: (ZeroDivisionError|result of)"),
    (r"index_(add|copy|fill|reduce|select)|put", r"refused there: .*(out of bounds|out of range|Expected|expected|int64|Int)"),
    (r"all|any", r"sizes .* \(\), (False|True)\)"),
    (r"all|any", r"dtype bool for uint8"),
    (r"diff", r"refused here: .* dimension 2 is out of range"),
    (r"clamp", r"refused here: .* not defined for bool"),
    (r"pow", r"the first nan for inf at 22 \((float|bfloat)16"),
    (r"pow", r"refused here: .* not defined for bool"),
    (r"logsumexp", r"refused there: output with shape"),
    (r"to|cumsum|cumprod", r"values, the first .*(int8|int32|int64)"),
    (r"masked_fill|where|clamp", r"refused there: value cannot be converted"),
    (r"abs|softsign|trace", r"refused there: .* not implemented for 'Bool'"),
    (r"softsign", r"values, the first 0.99\d* for -0.99\d* at 10 \(int8"),
    (r"addcmul", r"refused here: .* must not be a float"),
    (r"mm|bmm|mv|matmul|dot", r"refused here: .* not defined for bool"),
    (r"softmax|log_softmax", r"refused here: .*\(u?int\d+\[3, 0\]|refused here: .*\(bool\[3, 0\]"),
    (r"l1_loss|smooth_l1_loss|huber_loss|mse_loss", r"refused here: .* not defined for int64"),
    (r"median_all|nanmedian_all", r"refused here: .* have no elements"),
    (r"gelu|i0|i0e|i1", r"the first (inf|0.0|-0.0|-?\d.*) for nan"),
    (r"isclose", r"bfloat16|float16"),
    (r"gcd|lcm", r"int8\["),
    (r"mode", r"result 1: .*\((float|bfloat)\d*\[24\]"),
    (r"binary_cross_entropy", r"refused there: output with shape \[\]"),
    (r"polygamma", r"the first (inf for (nan|\d.*) at|-?0.0 for nan)"),
    (r"zeta", r"the first nan for inf at 19"),
    (r"gather", r"refused here: .* self's \[\]"),
    (r"take_along_dim", r"refused here: .* is out of range"),
    (r"interpolate", r"refused there: \"compute_index_ranges_weights\" not implemented for '(Half|BFloat16)'"),
    (r"pixel_unshuffle", r"sizes \[0, 12, 3, 2\] for \[0, 3, 6, 4\]"),
]


def is_known(name, what):
    return any(re.fullmatch(f, name) and re.search(d, what) for f, d in KNOWN)


def shown(args):
    def one(a):
        if isinstance(a, torch.Tensor):
            text = str(a.tolist())
            return f"{str(a.dtype)[6:]}{list(a.shape)}" + (f"={text}" if len(text) < 90 else "")
        return repr(a)
    return ", ".join(one(a) for a in args)


# ---- gradients

# What is known to differ, as above; docs/autograd.md has the reasons.
KNOWN_GRADIENTS = [
    # A choice where there is no slope, or several: at bounds, at equals, at 0; PyTorch's is not the same from function to function.
    (r"clamp", r"for 0.0 at \d+ \("),
    (r"hardtanh|relu6|hardsigmoid|hardshrink|softshrink", r"at 23 \("),  # of NaN
    (r"lp_pool\dd", r"gradient 0: \d+ of \d+ values"),  # where the sum of a window is 0
    (r"triplet_margin_loss", r", 1\.0, 1e-06, True, "),  # the nearer of two that are equally near
    (r"mode|msort", r"gradient 0: 2 of 24"),
    # Rounding: sums of mixed dtypes are made in one or the other; PyTorch's hardsigmoid has a float32 sixth.
    (r"(div|hypot|logaddexp2?|mul|xlog1?py|xlogy)", r"gradient 1: 1 of 1 values.*float(32|64)\[\]="),
    (r"xlog1py|xlogy", r"gradient \d: .*float16|gradient \d: .*float32"),
    (r"cumsum|cumprod", r"float64.*torch.float32"),
    (r"hardsigmoid", r"for 0.1666666716337204"),
    # Infinite and NaN arguments, poles.
    (r"copysign|div|i0|softsign|smooth_l1_loss|huber_loss|pow|polygamma|digamma|entr", r"(inf|nan)\b|-1278446273560576|-6.51493"),
    (r"cumprod", r"the first nan for 1.0 at 0"),  # of what comes before a NaN
    (r"xlog1?p?y", r"the first 0.0 for nan|float64\[24\], nan\)"),
    (r"det|slogdet", r"the first nan for"),  # of singular matrices
    # PyTorch's own: products in uint8; a count of 1 for all dims, and of none; elements that have no part; ranks that are cut; logits instead of log-probabilities.
    (r"atan2", r"uint8"),
    (r"std|var", r", \(\), |for nan at 0 \(float\d+\[\]|for nan"),
    (r"index_reduce", r"'(amax|amin)', False"),
    (r"cholesky_solve", r"gradient 1: 1 of \d+ values, the first 0.0 for"),
    (r"pinv", r", 0.25\)"),
    (r"ctc_loss", r"gradient 0"),
    (r"binary_cross_entropy", r"gradient 0: .* for -\d{12}"),  # a slope at 0 and 1 that PyTorch invents
    (r"nextafter", r"has no derivative"),
    (r"cdist", r"it has no elements .*, inf\)"),
]


def followed(a, leaves):
    """The same arguments, of which the floating tensors want gradients; they are added to leaves, in order."""
    if isinstance(a, torch.Tensor) and a.dtype.is_floating_point:
        leaves.append(a.detach().clone().requires_grad_())
        return leaves[-1]
    if isinstance(a, (list, tuple)):
        return type(a)(followed(v, leaves) for v in a)
    return a


def torch_gradients(f, args):
    leaves = []
    made = f(*followed(list(args), leaves))
    made = [m for m in (made if isinstance(made, (tuple, list)) else [made]) if isinstance(m, torch.Tensor) and m.requires_grad]
    if not made or not leaves:
        return None, leaves
    weights = [torch.cos(torch.arange(m.numel(), dtype=torch.float64)).reshape(m.shape).to(m.dtype) for m in made]
    return [torch.zeros_like(l) if g is None else g for g, l in zip(torch.autograd.grad(made, leaves, weights, allow_unused=True), leaves)], leaves


def compare_gradients():
    evaluate, total, agree, skipped, differing = Evaluator(options.evaluate), 0, 0, 0, 0
    for name in sorted(TABLE):
        if not re.search(options.only, name):
            continue
        f, ulps, cases = TABLE[name]
        found = []
        for args in cases:
            try:
                want, leaves = torch_gradients(f, args)
            except Exception:  # the call itself, or its gradient
                want = None
            if want is None:
                skipped += 1
                continue
            got = evaluate(name, args, g=True)
            total += len(want)
            if "e" in got:
                found.append(f"refused here: {got['m'][:160]} ({shown(args)})")
                continue
            for i, (w, leaf) in enumerate(zip(want, leaves)):
                g = got["g"][i] or told(torch.zeros_like(leaf))
                d = difference(g, w, max(64, 16 * ulps))
                if d:
                    found.append(f"gradient {i}: {d} ({shown(args)})")
                else:
                    agree += 1
        new = [d for d in found if not is_known(name, d) and not any(re.fullmatch(k, name) and re.search(what, d) for k, what in KNOWN_GRADIENTS)]
        differing += len(new)
        for d in new if options.verbose else new[:3]:
            print(f"{name}: {d}")
        if len(new) > 3 and not options.verbose:
            print(f"{name}: and {len(new) - 3} more")
    print(f"{total} gradients, {agree} agree, {total - agree - differing} listed, {differing} differ; {skipped} calls without")
    return 1 if differing else 0


def main():
    if options.list:
        print("\n".join(sorted(TABLE)))
        return 0
    if options.gradients:
        return compare_gradients()
    evaluate = Evaluator(options.evaluate)
    total, agree, differing, by_function = 0, 0, 0, defaultdict(list)
    for name in sorted(TABLE):
        if not re.search(options.only, name):
            continue
        f, ulps, cases = TABLE[name]
        for args in cases:
            try:
                want = f(*args)
                want = list(want) if isinstance(want, (tuple, list)) else [want]
                error = None
            except Exception as e:
                want, error = None, str(e).splitlines()[0] if str(e) else type(e).__name__
            got = evaluate(name, args)
            if got.get("e") in ("Unknown", "Malformed"):
                by_function[name].append(f"{got['e']}: {got['m']} ({shown(args)})")
                total += 1
                continue
            if want is None:
                total += 1
                if "e" in got:
                    agree += 1
                else:
                    by_function[name].append(f"refused there: {error[:90]} ({shown(args)})")
                continue
            total += len(want)
            if "e" in got:
                by_function[name].append(f"refused here: {got['m'][:120]} ({shown(args)})")
                continue
            for i, w in enumerate(want):
                d = difference(got["r"][i], w, ulps)
                if d:
                    by_function[name].append(f"{'result %d: ' % i if len(want) > 1 else ''}{d} ({shown(args)})")
                else:
                    agree += 1
    listed_count = 0
    for name, found in by_function.items():
        new = [d for d in found if not is_known(name, d)]
        listed_count += len(found) - len(new)
        differing += len(new)
        for d in new if options.verbose else new[:3]:
            print(f"{name}: {d}")
        if len(new) > 3 and not options.verbose:
            print(f"{name}: and {len(new) - 3} more")
    print(f"{total} results, {agree} agree, {listed_count} listed, {differing} differ")
    return 1 if differing else 0


compare_torch_vision.add(function, some)
sys.exit(main())
