#!/usr/bin/env python3
"""Reprise against PyTorch's own operator database (torch.testing._internal.common_methods_invocations).

usage: compare_opinfo.py [--evaluate build/bench/reprise_evaluate] [--only REGEX] [--dtypes float32,...] [--samples N]
                         [--compiled] [--gradients] [--errors] [--verbose] [--missing]

Needs PyTorch (PyPI). Each sample input of each operator is given to PyTorch and to Reprise's function of that name:
dtypes, sizes, values, which results are views of arguments, and what is an error must agree. With --compiled each call is
compiled, too, with its numbers as symbols, and served twice; with --gradients gradients are compared; with --errors the
database's error inputs must raise. Differences that are known stand in KNOWN, with their reasons. Prints
`N samples, M agree, L listed, D differ` last; exit status 1 if any differs that is not listed.
"""

import argparse
import inspect
import json
import math
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import torch
from torch.testing._internal.common_methods_invocations import op_db

ROOT = Path(__file__).resolve().parents[1]
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--evaluate", default=str(ROOT / "build" / "bench" / "reprise_evaluate"))
parser.add_argument("--only", default="", help="operators whose name matches")
parser.add_argument("--dtypes", default="float32,float64,int64,bfloat16")
parser.add_argument("--samples", type=int, default=40, help="of an operator and dtype, at most")
parser.add_argument("--compiled", action="store_true")
parser.add_argument("--gradients", action="store_true")
parser.add_argument("--errors", action="store_true")
parser.add_argument("--verbose", action="store_true", help="every difference, not the first of a kind")
parser.add_argument("--missing", action="store_true", help="list the operators that have no function here")

ULP = {torch.float64: 2**-52, torch.float32: 2**-23, torch.float16: 2**-10, torch.bfloat16: 2**-7}
LARGEST_SAMPLE = 20000  # elements


# ---- Reprise's functions and the names of their parameters, from the public headers


def split(text):
    """Parts between the commas that stand in no bracket."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "(<{["
        depth -= c in ")>}]"
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in parts + [text[start:]] if p.strip()]


def inside(text, start):
    """What stands behind an open parenthesis, to its end."""
    depth = 1
    for i in range(start, len(text)):
        depth += text[i] in "({["
        depth -= text[i] in ")}]"
        if depth == 0:
            return text[start:i]
    return ""


def default_of(text):
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?[\d.]+(e-?\d+)?", text):
        return float(text)
    if m := re.fullmatch(r'"(.*)"', text):
        return m[1]
    return None


def header_functions():
    """name -> [[(parameter, type, has a default, default)]], one list an overload"""
    found = defaultdict(list)
    headers = ROOT / "include" / "reprise"
    for header in headers.glob("*.h"):
        if header.stem in ("compat", "tensor", "out"):
            continue
        text = re.sub(r"//[^\n]*", "", header.read_text())
        for m in re.finditer(
            r"^(?:inline )?(?:Tensor\w*|Unique|bool|std::(?:vector|tuple|pair)<[^;=]*?>) ([a-z]\w*)\(", text, re.M
        ):
            parameters = []
            for p in split(inside(text, m.end())):
                if "SourceLoc" in p:
                    continue
                declared, has, default = p.partition("=")
                name = re.search(r"(\w+)\s*$", declared.strip())
                parameters.append((name[1] if name else "", declared, bool(has), default_of(default) if has else None))
            found[m[1]].append(parameters)
    self = ("self", "Tensor", False, None)
    for name, kind in re.findall(
        r"^REPRISE_(?:SECOND_)?\w*?(UNARY|BINARY)\((\w+)", (headers / "elementwise_ops.inc").read_text(), re.M
    ):
        found[kind] = [[self] if name == "UNARY" else [self, ("other", "Operand", False, None)]]
    dims = [self, ("dim", "OptionalDims", True, None), ("keepdim", "bool", True, False)]
    for with_dtype, name in re.findall(
        r"^REPRISE_REDUCTION(_AS)?\((\w+)", (headers / "reduction_ops.inc").read_text(), re.M
    ):
        found[name] = [dims + ([("dtype", "DType", True, None)] if with_dtype else [])]
    return found


FUNCTIONS = header_functions()


# ---- what PyTorch calls the arguments of a sample

SYNONYMS = {
    "input": "self",
    "A": "self",
    "dims": "dim",
    "axis": "dim",
    "tensor": "self",
    "index": "indices",
    "indices": "index",
    "size": "sizes",
    "sizes": "size",
    "shape": "size",
    "split_size_or_sections": "split_size",
    "vec2": "other",
    "end": "stop",
    "unbiased": "correction",
    "weights": "weight",
    "data": "self",
    "values": "value",
    "value": "values",
    "mat2": "other",
    "tensor2": "other",
    "sorted_sequence": "self",
    "exponent": "other",
    "B": "other",
    "x": "self",
    "y": "other",
}


class NotBound(Exception):
    pass


def is_given(v):
    return not (v is None or v is inspect.Parameter.empty)


def torch_name(op):
    aten = op.aten_name if op.aten_name else op.name
    for prefix in ("linalg.", "special.", "fft."):
        if op.name.startswith(prefix):
            return op.name.replace(".", "_")
    return aten.split(".")[-1]


def named(op, sample):
    """Ordered names and values of a sample's arguments."""
    args = [sample.input, *sample.args]
    function = op.op
    try:
        bound = inspect.signature(function).bind(*args, **sample.kwargs)
        if not any(
            p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in inspect.signature(function).parameters.values()
        ):
            bound.apply_defaults()
            return dict(bound.arguments)
    except (ValueError, TypeError):
        pass
    for schema in torch._C._jit_get_schemas_for_operator("aten::" + torch_name(op)):
        names = [a.name for a in schema.arguments]
        if "out" in names or any(a.kwarg_only for a in schema.arguments[: len(args)]) or len(args) > len(names):
            continue
        if any(k not in names and SYNONYMS.get(k) not in names for k in sample.kwargs):
            continue
        values = {a.name: a.default_value for a in schema.arguments}
        given = dict(zip(names, args))
        given.update({k if k in names else SYNONYMS[k]: v for k, v in sample.kwargs.items()})
        if all(fits(a, given[a.name]) for a in schema.arguments if a.name in given) and all(
            a.name in given or a.has_default_value() for a in schema.arguments
        ):
            return {**values, **given}
    raise NotBound("no schema fits")


def fits(argument, value):
    kind = str(argument.type)
    if isinstance(value, torch.Tensor):
        return "Tensor" in kind and "List" not in kind
    if isinstance(value, (list, tuple)):
        return "List" in kind or "[]" in kind
    if isinstance(value, bool):
        return "bool" in kind or "Scalar" in kind or "number" in kind
    if isinstance(value, int):
        return any(k in kind for k in ("int", "number", "float", "Scalar", "SymInt"))
    if isinstance(value, float):
        return any(k in kind for k in ("float", "number", "Scalar"))
    if isinstance(value, str):
        return "str" in kind
    return True


NAMES = {
    "nn.functional.logsigmoid": "log_sigmoid",
    "linalg.inv": "inverse",
    "special.i1": "i1",
    "special.i1e": "i1e",
    "special.zeta": "zeta",
    "linalg.cholesky": "cholesky",
    "permute_copy": "permute",
    "true_divide": "div",
    "trapz": "trapezoid",
    "clamp_min": "clamp_min",
    "linalg.cross": "cross",
    "pinverse": "pinv",
    "linalg.vecdot": "vecdot",
    "linalg.pinv": "pinv",
}


def function_of(op):
    name = NAMES.get(op.name, op.name.split(".")[-1])
    return name


def bind(op, sample):
    """(Reprise's function, its positional arguments)"""
    if op.name in ELSEWHERE or op.name.startswith("masked."):
        raise NotBound(ELSEWHERE.get(op.name, "no masked functions"))
    name = function_of(op)
    if name in SPECIAL:
        try:
            given = named(op, sample)
        except NotBound:
            given = {}
        return SPECIAL[name](given, sample)
    if name not in FUNCTIONS:
        raise NotBound(f"no function {name}")
    given = named(op, sample)
    for parameters in FUNCTIONS[name]:
        args, used = [], set()
        for i, (p, kind, has, default) in enumerate(parameters):
            key = next(
                (
                    k
                    for k in (p, SYNONYMS.get(p), next((k for k, v in SYNONYMS.items() if v == p and k in given), None))
                    if k in given
                ),
                None,
            )
            if key is None and i == 0:
                key = next(iter(given))
            if key is None or key in used:
                if not has:
                    break
                args.append(default)
                continue
            used.add(key)
            value = given[key]
            args.append(default if not is_given(value) and has else value)
        else:
            left = [
                k for k, v in given.items() if k not in used and is_given(v) and v is not False and k not in IGNORED
            ]
            defaults = {k: v for k, v in defaults_of(op, given).items()}
            left = [k for k in left if not (k in defaults and same_value(defaults[k], given[k]))]
            if not left:
                while args and args[-1] is None:
                    args.pop()
                return name, args
    raise NotBound(f"parameters of {name} are others: {list(given)} for {[[p[0] for p in o] for o in FUNCTIONS[name]]}")


IGNORED = {
    "layout",
    "device",
    "pin_memory",
    "memory_format",
    "requires_grad",
    "size_average",
    "reduce_",
    "inplace",
    "out",
    "generator",
    "non_blocking",
    "_stacklevel",
    "stable",
}


def defaults_of(op, given):
    try:
        return {
            p.name: p.default
            for p in inspect.signature(op.op).parameters.values()
            if p.default is not inspect.Parameter.empty
        }
    except (ValueError, TypeError):
        for schema in torch._C._jit_get_schemas_for_operator("aten::" + torch_name(op)):
            if [a.name for a in schema.arguments] == list(given):
                return {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    return {}


def same_value(a, b):
    return not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor) and a == b


def reduction(name, whole):
    """Of functions with a form for all elements and one for a dimension, under two names."""

    def make(given, sample):
        self = given.get("self", given.get("input"))
        if "dim" in given and given["dim"] is not None:
            return name, [self, given["dim"], given.get("keepdim", False)]
        return whole, [self]

    return make


def max_or_min(name):
    def make(given, sample):
        self = given.get("self", given.get("input"))
        if "other" in given:
            return name + "imum", [self, given["other"]]
        if given.get("dim") is not None:
            return name + "_dim", [self, given["dim"], given.get("keepdim", False)]
        return "a" + name, [self]

    return make


def variance(name):
    def make(given, sample):
        self, correction = given["self"], given.get("correction", 1)
        if "unbiased" in given:
            correction = 1 if given["unbiased"] else 0
        return name, [self, given.get("dim"), 1 if correction is None else correction, given.get("keepdim", False)]

    return make


def listed(name):
    """Of a function of a list of tensors."""
    return lambda given, sample: (
        name,
        [list(sample.input) if isinstance(sample.input, (list, tuple)) else [sample.input, *sample.args]],
    )


def positional(name, *keys, **defaults):
    """The sample's own arguments in order, then keywords."""

    def make(given, sample):
        args = [sample.input, *sample.args]
        for k in keys[len(args) :]:
            args.append(sample.kwargs.get(k, defaults.get(k)))
        if unknown := set(sample.kwargs) - set(keys) - IGNORED:
            raise NotBound(f"parameters of {name}: {unknown}")
        return name, args

    return make


def only(make, condition):
    def checked(given, sample):
        if not condition(sample):
            raise NotBound("a form that has no function here")
        return make(given, sample)

    return checked


def int_at(i):
    return lambda s: len(s.args) > i and isinstance(s.args[i], int) and not isinstance(s.args[i], bool)


def scattered(given, sample):
    dim, index, src = sample.args
    reduce = sample.kwargs.get("reduce")
    if reduce:
        raise NotBound("scatter with reduce")
    return "scatter", [sample.input, dim, index, src]


def padded(given, sample):
    mode, value = given.get("mode", "constant"), given.get("value")
    if mode == "constant" and value:
        raise NotBound("pad with a value")
    return "pad", [given["input"], given["pad"], mode]


def batch_normed(given, sample):
    return "batch_norm", [
        given["input"],
        given["weight"],
        given["bias"],
        given["running_mean"],
        given["running_var"],
        given["training"],
        given["momentum"],
        given["eps"],
    ]


def tensordot(given, sample):
    dims = given["dims"]
    if isinstance(dims, (list, tuple)) and len(dims) == 2 and isinstance(dims[0], (list, tuple)):
        return "tensordot", [given["a"], given["b"], list(dims[0]), list(dims[1])]
    raise NotBound("tensordot by a number of dimensions")


SPECIAL = {
    "median": reduction("median", "median_all"),
    "nanmedian": reduction("nanmedian", "nanmedian_all"),
    "max": max_or_min("max"),
    "min": max_or_min("min"),
    "var": variance("var"),
    "std": variance("std"),
    "var_mean": variance("var_mean"),
    "std_mean": variance("std_mean"),
    "index_put": lambda g, s: (
        "index_put",
        [s.input, list(s.args[0]), *s.args[1:], s.kwargs.get("accumulate", False)][:4],
    ),
    "trapezoid": lambda g, s: (
        "trapezoid_at" if isinstance(g.get("x"), torch.Tensor) else "trapezoid",
        [g["y"], g.get("x", g.get("dx", 1)), g.get("dim", -1)],
    ),
    "block_diag": listed("block_diag"),
    "broadcast_tensors": listed("broadcast_tensors"),
    "cartesian_prod": listed("cartesian_prod"),
    "dot": positional("dot", "self", "other"),
    "einsum": lambda g, s: ("einsum", [s.args[0], list(s.input)]),
    "repeat": positional("repeat", "self", "repeats"),
    "hsplit": only(positional("hsplit", "self", "sections"), int_at(0)),
    "vsplit": only(positional("vsplit", "self", "sections"), int_at(0)),
    "tensor_split": lambda g, s: (
        "tensor_split" if int_at(0)(s) else "tensor_split_at",
        [
            s.input,
            list(s.args[0]) if isinstance(s.args[0], (list, tuple)) else s.args[0],
            s.kwargs.get("dim", s.args[1] if len(s.args) > 1 else 0),
        ],
    ),
    "narrow": only(positional("narrow", "self", "dim", "start", "length"), int_at(1)),
    "split": lambda g, s: (
        "split_with_sizes" if isinstance(s.args[0], (list, tuple)) else "split",
        [s.input, *s.args, *s.kwargs.values()],
    ),
    "movedim": only(positional("movedim", "self", "source", "destination"), int_at(0)),
    "zeta": positional("zeta", "x", "q"),
    "polygamma": lambda g, s: ("polygamma", [s.args[0], s.input]),
    "scatter": scattered,
    "pad": padded,
    "batch_norm": batch_normed,
    "tensordot": tensordot,
    "clone": positional("clone", "self"),
    "contiguous": positional("contiguous", "self"),
    "t": positional("t", "self"),
    "view": only(positional("view", "self", "size"), lambda s: isinstance(s.args[0], (tuple, list))),
    "expand_as": positional("expand_as", "self", "other"),
    "ravel": positional("ravel", "self"),
    "nonzero": positional("nonzero", "self"),
    "meshgrid": lambda g, s: (
        "meshgrid",
        [list(s.input) if isinstance(s.input, (list, tuple)) else [s.input, *s.args], s.kwargs.get("indexing", "ij")],
    ),
    "where": lambda g, s: ("where", [s.args[0], s.input, s.args[1]]),
    "round": only(positional("round", "self"), lambda s: not s.kwargs.get("decimals")),
    "interpolate": lambda g, s: (
        "interpolate",
        [
            g["input"],
            g["size"],
            (
                [g["scale_factor"]] * (g["input"].dim() - 2)
                if isinstance(g["scale_factor"], float)
                else g["scale_factor"] or []
            ),
            g["mode"],
            g["align_corners"],
            bool(g["recompute_scale_factor"]),
            g["antialias"],
        ],
    ),
    **{
        f"max_pool{n}d": (
            lambda n: lambda g, s: (
                f"max_pool{n}d_with_indices" if s.kwargs.get("return_indices") else f"max_pool{n}d",
                [
                    s.input,
                    s.kwargs["kernel_size"],
                    s.kwargs.get("stride") or [],
                    s.kwargs.get("padding", 0),
                    s.kwargs.get("dilation", 1),
                    s.kwargs.get("ceil_mode", False),
                ],
            )
        )(n)
        for n in (1, 2, 3)
    },
    **{
        f"adaptive_{kind}_pool{n}d": (
            lambda n, kind: only(
                lambda g, s: (f"adaptive_{kind}_pool{n}d", [s.input, s.args[0]]),
                lambda s: not s.kwargs.get("return_indices") and (isinstance(s.args[0], int) or None not in s.args[0]),
            )
        )(n, kind)
        for n in (1, 2, 3)
        for kind in ("avg", "max")
    },
    "embedding": only(
        lambda g, s: ("embedding", [g["weight"], g["input"]]), lambda s: s.kwargs.get("max_norm") is None
    ),
}

# what these are called with differs from PyTorch by design, or is another function
ELSEWHERE = {
    "fft.fft": "complex numbers are pairs",
    "fft.fft2": "the same",
    "fft.fftn": "the same",
    "fft.ifft": "the same",
    "fft.ifft2": "the same",
    "fft.ifftn": "the same",
    "fft.irfft": "the same",
    "fft.irfft2": "the same",
    "fft.irfftn": "the same",
    "nn.functional.ctc_loss": "lengths are tensors",
    "linalg.vander": "another order",
    "nn.functional.unfold": "im2col",
    "permute_copy": "no copies of views",
    "empty": "no values",
    "nn.functional.instance_norm": "another order",
}

# operator -> [(regex of the difference, reason)]
TIES = "which of equal elements is the one"
KNOWN = {
    "as_strided": [("", "what a storage has beyond its tensor is not sent")],
    "as_strided_scatter": [("g:", "by self: PyTorch is wrong (docs/differences.md)")],
    "cholesky_inverse": [("g:", "PyTorch's gradient of the triangle that is not read")],
    "cholesky_solve": [("g:", "PyTorch's gradient of the triangle that is not read")],
    "kthvalue": [("values", TIES)],
}


# ---- the evaluator


def number(v):
    if isinstance(v, float):
        if math.isnan(v):
            return "nan"
        if math.isinf(v):
            return "inf" if v > 0 else "-inf"
        if v == 0 and math.copysign(1, v) < 0:
            return "-0"
    return v


def told(a):
    if isinstance(a, torch.Tensor):
        a = a.detach()
        form = {"t": str(a.dtype)[6:], "s": list(a.shape)}
        flat = a
        if not a.is_contiguous() and a.numel():
            end = sum((n - 1) * k for n, k in zip(a.shape, a.stride())) + 1
            flat = torch.as_strided(a, (end,), (1,))
            form.update(k=list(a.stride()), o=0)
        flat = flat.reshape(-1)
        return {**form, "d": [number(v) for v in (flat.double() if a.dtype.is_floating_point else flat).tolist()]}
    if isinstance(a, torch.dtype):
        return str(a)[6:]
    if isinstance(a, (list, tuple, torch.Size)):
        return [told(v) for v in a]
    if a is None or isinstance(a, (bool, int, float, str)):
        return number(a)
    raise NotBound(f"an argument of type {type(a).__name__}")


class Evaluator:
    def __init__(self, path):
        self.path = path
        self.process = None

    def __call__(self, request):
        if self.process is None:
            self.process = subprocess.Popen(
                [self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            status = self.process.wait()
            self.process = None
            return {"e": "Crash", "m": f"the evaluator ended with status {status}"}
        return json.loads(line)


def flat_results(r):
    if isinstance(r, torch.Tensor):
        return [r]
    if isinstance(r, (list, tuple)):
        return [t for e in r for t in flat_results(e)]
    return [r]


def difference(got, want, ulps):
    """None, or what differs of one result."""
    if not isinstance(want, torch.Tensor):
        return None if got == want else f"{got} for {want}"
    dtype = str(want.dtype)[6:]
    if got["t"] != dtype:
        return f"dtype {got['t']} for {dtype}"
    if got["s"] != list(want.shape):
        return f"sizes {got['s']} for {list(want.shape)}"
    values = (
        torch.tensor([float(v) for v in got["d"]], dtype=torch.float64)
        if want.dtype.is_floating_point
        else torch.tensor([int(v) for v in got["d"]], dtype=torch.int64)
    )
    expected = want.detach().reshape(-1).to(values.dtype)
    if not want.dtype.is_floating_point:
        close = values == expected
    else:
        finite = expected[torch.isfinite(expected)]
        scale = max(1.0, finite.abs().max().item()) if len(finite) else 1.0
        close = (values - expected).abs() <= ulps * ULP[want.dtype] * scale
        close |= (values == expected) | (values.isnan() & expected.isnan())
    if close.all():
        return None
    i = int(torch.nonzero(~close)[0])
    return f"{int((~close).sum())} of {len(values)} values, the first {values[i].item()!r} for {expected[i].item()!r} at {i}"


def tensors_of(v):
    if isinstance(v, torch.Tensor):
        return [v]
    if isinstance(v, (list, tuple)):
        return [t for e in v for t in tensors_of(e)]
    return []


def gradients(results, leaves):
    """As bench/aten/evaluate.cc weights them."""
    made = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    if not made or not leaves:
        return [None] * len(leaves)
    weights = [torch.arange(t.numel(), dtype=torch.float64).cos().reshape(t.shape).to(t.dtype) for t in made]
    return torch.autograd.grad(made, leaves, weights, allow_unused=True)


def shared(results, given):
    where = [t.untyped_storage().data_ptr() for t in given]
    return [
        next((i for i, p in enumerate(where) if r.numel() and p == r.untyped_storage().data_ptr()), -1)
        for r in results
        if isinstance(r, torch.Tensor)
    ]


def with_gradients(v):
    if isinstance(v, torch.Tensor):
        return v.detach().requires_grad_(v.dtype.is_floating_point)
    if isinstance(v, (list, tuple)):
        return type(v)(with_gradients(e) for e in v) if not hasattr(v, "_fields") else v
    return v


class Comparison:
    def __init__(self, options):
        self.options = options
        self.evaluator = Evaluator(options.evaluate)
        self.count = Counter()
        self.seen = Counter()
        self.eager = Counter()
        self.unbound = {}

    def differ(self, op, dtype, kind, text, request):
        for pattern, _ in KNOWN.get(op.name, []):
            if re.search(pattern, f"{kind}: {text}"):
                self.count["listed"] += 1
                return
        self.count["differ"] += 1
        key = (op.name, kind)
        self.seen[key] += 1
        if self.options.verbose or self.seen[key] == 1:
            shown = json.dumps(request)
            print(f"{op.name} {str(dtype)[6:]} {kind}: {text}\n    {shown[:600]}", flush=True)

    def right_in_double(self, op, sample, kind, i):
        """Of 16-bit types, where each rounds: is Reprise as near to the result in double precision as PyTorch is?"""

        def wide(v):
            if isinstance(v, torch.Tensor):
                return v.detach().double().requires_grad_(v.requires_grad) if v.dtype.is_floating_point else v
            return type(v)(wide(e) for e in v) if isinstance(v, (list, tuple)) and not hasattr(v, "_fields") else v

        exact = type(sample)(
            wide(sample.input), args=wide(tuple(sample.args)), kwargs={k: wide(v) for k, v in sample.kwargs.items()}
        )
        results = flat_results(op.op(exact.input, *exact.args, **exact.kwargs))
        if kind.endswith("g"):
            return gradients(results, [t for t in tensors_of(bind(op, exact)[1]) if t.dtype.is_floating_point])[i]
        return results[i]

    def off(self, op, dtype, sample, kind, i, got, want, ulps):
        """None, or what differs of one result or gradient."""
        text = difference(got, want, ulps)
        if text and dtype == torch.bfloat16 and not re.match("dtype|sizes", text):
            try:
                exact = self.right_in_double(op, sample, kind, i)
                ours = torch.tensor([float(v) for v in got["d"]], dtype=torch.float64)
                exact = exact.detach().double().reshape(-1)
                bound = torch.maximum(
                    (want.detach().double().reshape(-1) - exact).abs(), ulps * ULP[dtype] * exact.abs().clamp(min=1e-2)
                )
                if (((ours - exact).abs() <= bound) | (ours == exact) | (ours.isnan() & exact.isnan())).all():
                    return None
            except Exception:
                pass
        return text

    def sample(self, op, dtype, sample):
        if self.options.gradients and dtype.is_floating_point:
            sample.input = with_gradients(sample.input)
            sample.args = tuple(with_gradients(a) for a in sample.args)
            sample.kwargs = {k: with_gradients(v) for k, v in sample.kwargs.items()}
        name, args = bind(op, sample)
        if sum(t.numel() for t in tensors_of(args)) > LARGEST_SAMPLE:
            return
        wants = self.options.gradients and dtype.is_floating_point
        request = {"f": name, "a": [told(a) for a in args], "g": wants, "c": self.options.compiled}
        error = None
        try:
            results = flat_results(op.op(sample.input, *sample.args, **sample.kwargs))
        except Exception as e:  # what PyTorch refuses of its own samples
            error = e
        answer = self.evaluator(request)
        if answer.get("e") == "Unknown":
            raise NotBound(f"the evaluator has no {name}")
        self.count["samples"] += 1
        if error is not None:
            return
        if "e" in answer:
            return self.differ(op, dtype, "error", f"{answer['e']}: {answer['m'][:200]}", request)
        if any(isinstance(r, torch.Tensor) and r.dtype.is_complex for r in results):
            return
        ulps = 2 if dtype == torch.bfloat16 else 2048
        before = self.count["differ"] + self.count["listed"]
        for kind in ("r", "traced", "replayed"):
            if kind not in answer:
                continue
            tensors = [r for r in results if kind == "r" or isinstance(r, torch.Tensor)]
            if len(answer[kind]) != len(tensors):
                self.differ(op, dtype, kind, f"{len(answer[kind])} results for {len(tensors)}", request)
                continue
            for i, (got, want) in enumerate(zip(answer[kind], tensors)):
                text = (
                    difference(got, want, ulps)
                    if not isinstance(want, torch.Tensor)
                    else self.off(op, dtype, sample, kind, i, got, want, ulps)
                )
                if text:
                    self.differ(op, dtype, kind, text, request)
                    break
        given = tensors_of(args)
        views = shared(results, given)
        for kind in ("v", "compiled_v"):
            if (
                kind in answer
                and len(answer[kind]) == len(views)
                and [
                    g if r.numel() else -1
                    for g, r in zip(answer[kind], (r for r in results if isinstance(r, torch.Tensor)))
                ]
                != views
            ):
                self.differ(op, dtype, kind, f"shares storage with arguments {answer[kind]} for {views}", request)
        if wants:
            try:
                slopes = gradients(results, [t for t in given if t.dtype.is_floating_point])
            except RuntimeError:
                slopes = None
            for kind in ("g", "compiled_g"):
                if slopes is None or kind not in answer:
                    continue
                for i, (got, want) in enumerate(zip(answer[kind], slopes)):
                    if want is None and got is None:
                        continue
                    if want is None or got is None:  # zeros and no gradient mean the same
                        whole = want if got is None else torch.tensor([float(v) for v in got["d"]])
                        text = (
                            None
                            if not whole.count_nonzero()
                            else f"{'none' if got is None else 'some'} for {'none' if want is None else 'some'}"
                        )
                    else:
                        text = self.off(op, dtype, sample, kind, i, got, want, ulps * 4)
                    if text:
                        self.differ(op, dtype, kind, f"of tensor {i}: {text}", request)
                        break
        if "eager" in answer:
            self.eager[(op.name, answer["eager"][:120])] += 1
        if self.count["differ"] + self.count["listed"] == before:
            self.count["agree"] += 1

    def errors(self, op):
        for e in op.error_inputs("cpu"):
            try:
                name, args = bind(op, e.sample_input)
                request = {"f": name, "a": [told(a) for a in args]}
            except NotBound:
                continue
            answer = self.evaluator(request)
            if answer.get("e") in ("Unknown", "Malformed"):
                continue
            self.count["samples"] += 1
            if "e" in answer and answer["e"] != "Crash":
                self.count["agree"] += 1
            else:
                self.differ(op, torch.float32, "no error", f"PyTorch: {e.error_regex}", request)

    def operator(self, op):
        if self.options.errors:
            try:
                self.errors(op)
            except Exception as e:
                self.unbound[op.name] = f"{type(e).__name__}: {str(e)[:160]}"
            return
        for dtype in (getattr(torch, t) for t in self.options.dtypes.split(",")):
            if dtype not in op.supported_dtypes("cpu"):
                continue
            torch.manual_seed(0)
            try:
                for i, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)):
                    if i >= self.options.samples:
                        break
                    try:
                        self.sample(op, dtype, sample)
                    except NotBound as e:
                        self.unbound[op.name] = str(e)
                        self.count["not bound"] += 1
            except Exception as e:  # the database's own
                self.unbound[op.name] = f"{type(e).__name__}: {str(e)[:160]}"


def main():
    options = parser.parse_args()
    torch.set_num_threads(1)
    comparison = Comparison(options)
    for op in op_db:
        if re.search(options.only, op.name):
            comparison.operator(op)
    if options.missing:
        for name, why in sorted(comparison.unbound.items()):
            print(f"not compared: {name}: {why}")
    for (name, why), n in comparison.eager.most_common():
        print(f"eager: {name}, {n} times: {why}")
    c = comparison.count
    print(
        f"{c['samples']} samples, {c['agree']} agree, {c['listed']} listed, {c['differ']} differ ({c['not bound']} samples have no function here)"
    )
    return 1 if c["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
