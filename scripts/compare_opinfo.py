#!/usr/bin/env python3
"""Reprise against PyTorch's own operator database (torch.testing._internal.common_methods_invocations).

usage: compare_opinfo.py [--evaluate build/bench/reprise_evaluate] [--only REGEX] [--dtypes float32,...] [--samples N]
                         [--compiled] [--gradients] [--errors] [--verbose] [--missing]
                         [--log FILE] [--jobs N] [--operator-seconds S] [--sample-seconds S]

Needs PyTorch (PyPI). Each sample input of each operator is given to PyTorch and to Reprise's function of that name:
dtypes, sizes, values, which results are views of arguments and with which strides, and what is an error must agree.
With --compiled each call is compiled, too, with its numbers as symbols, and served twice; with --gradients gradients
are compared; with --errors the database's error inputs must raise. Differences that are known stand in KNOWN, with their
reasons. Each operator and dtype runs in a process of its own: a crash or a hang costs one. --log keeps a line for each,
and what is there already is not run again. Prints `N samples, M agree, L listed, D differ` last; exit status 1 if any
differs that is not listed.
"""

import argparse
import inspect
import json
import os
import re
import sys
import time
import warnings
from collections import Counter, defaultdict
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path

import torch
from torch.testing._internal.common_methods_invocations import op_db

import evaluator
from evaluator import ROOT, ULP, Evaluator, NoText, largest, told

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--evaluate", default=evaluator.PROGRAM)
parser.add_argument("--only", default="", help="operators whose name matches")
parser.add_argument("--dtypes", default="float32,float64,int64,bfloat16")
parser.add_argument("--samples", type=int, default=40, help="of an operator and dtype, at most")
parser.add_argument("--compiled", action="store_true")
parser.add_argument("--gradients", action="store_true")
parser.add_argument("--errors", action="store_true")
parser.add_argument("--verbose", action="store_true", help="every difference, not the first of a kind")
parser.add_argument("--missing", action="store_true", help="list the operators that have no function here")
parser.add_argument("--log", help="a file with a line for each operator and dtype; what it has is not run again")
parser.add_argument("--jobs", type=int, default=1, help="operators at a time")
parser.add_argument("--operator-seconds", type=float, default=60, help="of an operator and dtype")
parser.add_argument("--sample-seconds", type=float, default=30, help="of one answer; past it the evaluator hangs")

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


class NotBound(NoText):
    """A call that has no function here."""


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
    "nn.functional.unfold": "im2col",
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
        return SPECIAL[name]({**given, "op": op.name}, sample)
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


def of_tensor(s):
    return isinstance(s.input, torch.Tensor)


def int_at(i):
    return lambda s: len(s.args) > i and isinstance(s.args[i], int) and not isinstance(s.args[i], bool)


def scattered(given, sample):
    dim, index, src = sample.args
    reduce = sample.kwargs.get("reduce")
    return ("scatter_by" if reduce else "scatter"), [sample.input, dim, index, src, *([reduce] if reduce else [])]


def index_added(given, sample):
    alpha = sample.kwargs.get("alpha")
    args = [sample.input, *sample.args]
    return ("index_add", args) if alpha is None else ("index_add_of", [*args, alpha])


def padded(given, sample):
    mode, value = given.get("mode", "constant"), given.get("value")
    if mode == "constant":
        return "pad_value", [given["input"], given["pad"], value or 0]
    return "pad", [given["input"], given["pad"], mode]


def repeat_interleaved(given, sample):
    repeats, dim = given["repeats"], given["dim"]
    if dim is None:
        raise NotBound("repeat_interleave of what is flattened")
    return "repeat_interleave" + ("_by" if isinstance(repeats, torch.Tensor) else ""), [given["self"], repeats, dim]


def normed(given, sample):
    p = given["p"]
    if given.get("dtype") is not None or p == "nuc":
        raise NotBound("norm: of another dtype, or of singular values")
    return "norm", [given["input"], 2 if p in ("fro", None) else p, given["dim"], given["keepdim"]]


def attended(given, sample):
    if given["dropout_p"]:
        raise NotBound("scaled_dot_product_attention: other random numbers")
    names = "query key value attn_mask dropout_p is_causal scale enable_gqa".split()
    return "scaled_dot_product_attention", [given[k] for k in names]


def converted(given, sample):
    """Conversions without `copy`, which has no function here."""
    if any(sample.kwargs.get(k) for k in ("copy", "memory_format")) or any(a is True for a in sample.args):
        raise NotBound("to: a copy always, or of other strides")
    dtype = next((a for a in (*sample.args, *sample.kwargs.values()) if isinstance(a, torch.dtype)), None)
    if dtype is None:
        raise NotBound("to: another device")
    return "to", [sample.input, dtype]


def arange(given, sample):
    numbers = [sample.input, *sample.args]
    kwargs = {k: v for k, v in sample.kwargs.items() if k not in IGNORED}
    dtype, step = kwargs.pop("dtype", None), kwargs.pop("step", 1)
    numbers += [kwargs.pop("end")] if "end" in kwargs else []
    if kwargs:
        raise NotBound(f"parameters of arange: {list(kwargs)}")
    return "arange", [*([0] if len(numbers) == 1 else []), *numbers, *([step] if len(numbers) < 3 else []), dtype]


def filled(name):
    """Of functions that make tensors of sizes or like others."""

    def make(given, sample):
        kwargs = {k: v for k, v in sample.kwargs.items() if k not in IGNORED}
        dtype = kwargs.pop("dtype", None)
        args = [sample.input, *sample.args]
        if name == "full":
            args = [args[0], args[1] if len(args) > 1 else kwargs.pop("fill_value")]
        elif name == "full_like":
            args = [args[0], kwargs.pop("fill_value") if "fill_value" in kwargs else args[1]]
        elif not name.endswith("like") and isinstance(args[0], int):
            args = [args]
        if kwargs:
            raise NotBound(f"parameters of {name}: {list(kwargs)}")
        return name, [*args, dtype]

    return make


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
    return "tensordot_of", [given["a"], given["b"], dims]


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
    **{n: filled(n) for n in ("zeros", "ones", "full", "zeros_like", "ones_like", "full_like")},
    "index_add": index_added,
    "arange": arange,
    "scaled_dot_product_attention": attended,
    "to": converted,
    "unique_consecutive": lambda g, s: (
        "unique_consecutive",
        [s.input, *(s.kwargs.get(k, False) for k in ("return_inverse", "return_counts")), s.kwargs.get("dim")],
    ),
    "repeat_interleave": repeat_interleaved,
    "norm": normed,
    "constant_pad_nd": lambda g, s: ("pad_value", [s.input, s.args[0], s.args[1] if len(s.args) > 1 else 0]),
    **{f"atleast_{n}d": only(positional(f"atleast_{n}d", "self"), of_tensor) for n in (1, 2, 3)},
    "nan_to_num": positional("nan_to_num", "self", "nan", "posinf", "neginf"),
    "hsplit": only(positional("hsplit", "self", "sections"), int_at(0)),
    "vsplit": only(positional("vsplit", "self", "sections"), int_at(0)),
    "tensor_split": lambda g, s: (
        "tensor_split" if int_at(0)(s) or not torch.as_tensor(s.args[0]).dim() else "tensor_split_at",
        [
            s.input,
            s.args[0] if int_at(0)(s) else torch.as_tensor(s.args[0]).tolist(),
            s.kwargs.get("dim", s.args[1] if len(s.args) > 1 else 0),
        ],
    ),
    "narrow": only(positional("narrow", "self", "dim", "start", "length"), int_at(1)),
    "split": lambda g, s: (
        "split_with_sizes" if isinstance(s.args[0], (list, tuple)) else "split",
        [s.input, s.args[0], s.args[1] if len(s.args) > 1 else s.kwargs.get("dim", 0)],
    ),
    "movedim": lambda g, s: ("movedim" if int_at(0)(s) else "movedim_of", [s.input, *s.args]),
    "zeta": positional("zeta", "x", "q"),
    "polygamma": lambda g, s: ("polygamma", [s.args[0], s.input]),
    "scatter": scattered,
    "pad": padded,
    "batch_norm": batch_normed,
    "instance_norm": lambda g, s: (
        "instance_norm",
        [g[k] for k in "input weight bias running_mean running_var use_input_stats momentum eps".split()],
    ),
    "im2col": lambda g, s: ("im2col", [g[k] for k in "input kernel_size dilation padding stride".split()]),
    "vander": only(
        lambda g, s: ("vander", [s.input, s.kwargs.get("N"), s.kwargs.get("increasing", "linalg" in str(g["op"]))]),
        lambda s: s.input.dim() == 1,
    ),
    "ctc_loss": lambda g, s: (
        "ctc_loss",
        [
            g["log_probs"],
            g["targets"],
            torch.as_tensor(g["input_lengths"]),
            torch.as_tensor(g["target_lengths"]),
            g["blank"],
            g["reduction"],
            g["zero_infinity"],
        ],
    ),
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
    "round": lambda g, s: ("round_to", [s.input, s.kwargs["decimals"]]) if s.kwargs else ("round", [s.input]),
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
                    [] if s.kwargs.get("stride") in (None, ()) else s.kwargs["stride"],
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
                lambda s: (kind == "avg" or s.kwargs.get("return_indices"))
                and (isinstance(s.args[0], int) or None not in s.args[0]),
            )
        )(n, kind)
        for n in (1, 2, 3)
        for kind in ("avg", "max")
    },
    "embedding": only(
        lambda g, s: ("embedding", [g["weight"], g["input"]]), lambda s: s.kwargs.get("max_norm") is None
    ),
}

# arguments that are written, of functions whose results they follow in the evaluator
WRITTEN = {"batch_norm": [3, 4], "instance_norm": [3, 4]}

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
    "permute_copy": "no copies of views",
    "empty": "no values",
}

# (operators, what the difference says, reason), both regular expressions; docs/differences.md has the reasons, too
TIES = "which of equal elements is the one"
KNOWN = [
    ("as_strided", "", "what a storage has beyond its tensor is not sent"),
    ("as_strided_scatter", "g: ", "by self: PyTorch is wrong"),
    ("cholesky_inverse|cholesky_solve", "g: ", "PyTorch's gradient of the triangle that is not read"),
    ("nn.functional.ctc_loss", "g: ", "PyTorch's is that before a log_softmax"),
    ("kthvalue|mode|sort|topk", "result 1: ", TIES),
    ("argsort", "(r|traced|replayed): ", TIES),
    ("mode|msort|sort|topk", "^bfloat16 .*g: ", TIES),
    ("gather", "must be int64 or int32, got uint8", "an index of another dtype that is empty"),
    ("nextafter|special.zeta", "has no derivative", "refused where it is called, not at backward()"),
    ("nn.functional.batch_norm", "wants 2 dimensions or more", "a vector without elements"),
    ("addbmm|addmm|addmv|baddbmm", "must not be a float", "0.5 would silently be 0"),
    ("cov", "^float64 ", "weights of float32 are summed in float64"),
    ("special.entr", "g: .*0.0 for nan", "below 0, where it is -infinity"),
    ("clamp", "^bfloat16 .*g: ", "a choice where a value is a bound"),
    ("nn.functional.hardsigmoid", "^float64 .*g: ", "PyTorch's sixth is a float32"),
    ("nn.functional.grid_sample", "^bfloat16 .*g: ", "places are computed in float32"),
    ("nn.functional.local_response_norm", "^int64 error: DTypeMismatch", "means of integers are cut off"),
    ("addcdiv|nn.functional.normalize|pow", "^bfloat16 .*g: ", "sums that cancel, of terms that are rounded"),
    ("clamp_max|clamp_min", "no error: PyTorch: $", "PyTorch computes it, too"),
    ("cov", "weights cannot be negative", "values are not looked at"),
    ("nn.functional.group_norm", "to be greater than 0", "no elements give none"),
    ("nn.functional.hardtanh", "min_val cannot be greater", "as clamp"),
    ("nn.functional.max_pool[13]d", "Expected (2D or 3D|input to have non-zero)", "no channels give none"),
    ("roll", "Dimension specified as 0", "one element has nowhere to go"),
]


# ---- results


def flat_results(r):
    if isinstance(r, torch.Tensor):
        return [r]
    if isinstance(r, (list, tuple)):
        return [t for e in r for t in flat_results(e)]
    return [r]


def difference(got, want, ulps):
    """None, or what differs of one result."""
    return evaluator.difference(
        got, want, lambda values, expected: (values - expected).abs() <= ulps * ULP[want.dtype] * largest(expected)
    )


def computed(op, sample, name, args):
    """Results, and what is written: running statistics."""
    results = flat_results(op.op(sample.input, *sample.args, **sample.kwargs))
    return results + [args[i] for i in WRITTEN.get(name, []) if args[i] is not None]


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


def same_strides(strides, want):
    """Where they decide anything."""
    return not want.numel() or all(a == b for a, b, n in zip(strides, want.stride(), want.shape) if n > 1)


def with_gradients(v):
    if isinstance(v, torch.Tensor):
        return v.detach().requires_grad_(v.dtype.is_floating_point)
    if isinstance(v, (list, tuple)):
        return type(v)(with_gradients(e) for e in v) if not hasattr(v, "_fields") else v
    return v


def is_known(name, what):
    return any(re.fullmatch(operators, name) and re.search(found, what) for operators, found, _ in KNOWN)


class Comparison:
    """What one operator and dtype gave."""

    def __init__(self, options):
        self.options = options
        self.evaluator = Evaluator(options.evaluate, options.sample_seconds)
        self.count = Counter()
        self.differences = []
        self.eager = Counter()
        self.unbound = None

    def differ(self, op, dtype, kind, text, request):
        what = f"{str(dtype)[6:]} {kind}: {text}"
        listed = is_known(op.name, what)
        self.count["listed" if listed else "differ"] += 1
        self.differences.append({"kind": kind, "text": what, "listed": listed, "call": json.dumps(request)[:600]})

    def right_in_double(self, op, sample, kind, i):
        """Of 16-bit types, where each rounds: is Reprise as near to the result in double precision as PyTorch is?"""

        def wide(v):
            if isinstance(v, torch.Tensor):
                return v.detach().double().requires_grad_(v.requires_grad) if v.dtype.is_floating_point else v
            return type(v)(wide(e) for e in v) if isinstance(v, (list, tuple)) and not hasattr(v, "_fields") else v

        exact = type(sample)(
            wide(sample.input), args=wide(tuple(sample.args)), kwargs={k: wide(v) for k, v in sample.kwargs.items()}
        )
        name, args = bind(op, exact)
        results = computed(op, exact, name, args)
        if kind.endswith("g"):
            return gradients(results, [t for t in tensors_of(args) if t.dtype.is_floating_point])[i]
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
            results = computed(op, sample, name, args)
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
                    self.differ(op, dtype, kind, f"result {i}: {text}" if len(tensors) > 1 else text, request)
                    break
        given = tensors_of(args)
        made = [r for r in results if isinstance(r, torch.Tensor)]
        views = shared(results, given)
        if request["f"] in WRITTEN:  # the evaluator's are copies: it calls twice
            views = [-1] * len(views)
        for kind, of in (("v", ["r"]), ("compiled_v", ["traced", "replayed"])):
            found = answer.get(kind)
            if found is None or len(found) != len(made):
                continue
            if [v if r.numel() else -1 for v, r in zip(found, made)] != views:
                self.differ(op, dtype, kind, f"shares storage with arguments {found} for {views}", request)
                continue
            for want, view, *got in zip(made, views, *([g for g in answer[o] if isinstance(g, dict)] for o in of)):
                off = [g["k"] for g in got if not same_strides(g["k"], want)] if view >= 0 else []
                if off:
                    self.differ(op, dtype, kind, f"strides {off[0]} for {list(want.stride())}", request)
                    break
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
            self.eager[answer["eager"][:120]] += 1
        if self.count["differ"] + self.count["listed"] == before:
            self.count["agree"] += 1

    def errors(self, op):
        for e in op.error_inputs("cpu"):
            try:
                name, args = bind(op, e.sample_input)
                request = {"f": name, "a": [told(a) for a in args]}
            except NoText:
                continue
            answer = self.evaluator(request)
            if answer.get("e") in ("Unknown", "Malformed"):
                continue
            self.count["samples"] += 1
            if "e" in answer and answer["e"] not in ("Crash", "Hang"):
                self.count["agree"] += 1
            else:
                told_here = f"{answer['e']}: {answer['m']}, " if "e" in answer else ""
                self.differ(op, torch.float32, "no error", f"{told_here}PyTorch: {e.error_regex}", request)

    def values(self, op, dtype):
        torch.manual_seed(0)
        end = time.monotonic() + self.options.operator_seconds
        for i, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)):
            if i >= self.options.samples:
                break
            if time.monotonic() > end:
                self.count["cut"] += 1
                break
            try:
                self.sample(op, dtype, sample)
            except NoText as e:
                self.unbound = str(e)
                self.count["not bound"] += 1

    def run(self, op, dtype):
        start = time.monotonic()
        try:
            self.errors(op) if dtype is None else self.values(op, dtype)
        except Exception as e:  # the database's own
            self.unbound = f"{type(e).__name__}: {str(e)[:160]}"
        self.evaluator.close()
        return {
            "count": self.count,
            "differences": self.differences,
            "eager": self.eager,
            "unbound": self.unbound,
            "seconds": round(time.monotonic() - start, 2),
        }


# ---- a process for each operator and dtype


def work(options, op, dtype, to):
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 2)  # PyTorch's warnings
    warnings.simplefilter("ignore")
    to.send(Comparison(options).run(op, dtype))


def key_of(op, dtype):
    variant = f".{op.variant_test_name}" if op.variant_test_name else ""
    return f"{op.name}{variant} {str(dtype)[6:] if dtype else 'errors'}"


def results_of(options, tasks):
    """Pairs of a task's key and its result, as they end."""
    fork, waiting, running = get_context("fork"), list(reversed(tasks)), {}
    while waiting or running:
        while waiting and len(running) < options.jobs:
            key, op, dtype = waiting.pop()
            here, there = fork.Pipe(False)
            process = fork.Process(target=work, args=(options, op, dtype, there))
            process.start()
            there.close()
            running[here] = key, process, time.monotonic() + options.operator_seconds + 2 * options.sample_seconds
        ready = wait(list(running), timeout=1)
        for here, (key, process, end) in list(running.items()):
            if here not in ready and time.monotonic() < end:
                continue
            what = "took too long"
            try:
                result = here.recv() if here in ready else None
            except EOFError:
                result, what = None, "ended"
            process.kill()
            process.join()
            del running[here]
            yield key, result or {"count": {}, "differences": [], "eager": {}, "unbound": f"PyTorch's process {what}"}


def already_told(path):
    found = {}
    if path and Path(path).exists():
        for line in Path(path).read_text().splitlines():
            entry = json.loads(line)
            found[entry["key"]] = entry["result"]
    return found


def main():
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = already_told(options.log)
    tasks = []
    for op in op_db:
        if not re.search(options.only, op.name):
            continue
        for dtype in [None] if options.errors else (getattr(torch, t) for t in options.dtypes.split(",")):
            if dtype is None or dtype in op.supported_dtypes("cpu"):
                tasks.append((key_of(op, dtype), op, dtype))
    wanted = {key for key, _, _ in tasks}
    results = {key: result for key, result in results.items() if key in wanted}
    missing = [t for t in tasks if t[0] not in results]
    for n, (key, result) in enumerate(results_of(options, missing), len(results) + 1):
        results[key] = result
        if options.log:
            with open(options.log, "a") as log:
                log.write(json.dumps({"key": key, "result": result}) + "\n")
        if sys.stderr.isatty() or n % 50 == 0:
            print(f"{n} of {len(tasks)}: {key}, {result.get('seconds', 0)} s", file=sys.stderr, flush=True)
    return tell(options, results)


def tell(options, results):
    count, eager, seen = Counter(), Counter(), Counter()
    for key, result in results.items():
        name = key.split()[0]
        count.update({k: n for k, n in result["count"].items() if k not in ("listed", "differ")})
        for why, n in result["eager"].items():
            eager[name, why] += n
        for d in result["differences"]:
            listed = is_known(operator_of(name), d["text"])  # by today's table
            count["listed" if listed else "differ"] += 1
            if listed:
                continue
            seen[name, d["kind"]] += 1
            if options.verbose or seen[name, d["kind"]] == 1:
                print(f"{name} {d['text']}\n    {d['call']}")
        if options.missing and result["unbound"]:
            print(f"not compared: {key}: {result['unbound']}")
    for (name, why), n in eager.most_common():
        print(f"eager: {name}, {n} times: {why}")
    if count["cut"]:
        print(f"{count['cut']} operators were cut off by --operator-seconds")
    print(
        f"{count['samples']} samples, {count['agree']} agree, {count['listed']} listed, {count['differ']} differ "
        f"({count['not bound']} samples have no function here)"
    )
    return 1 if count["differ"] else 0


def operator_of(name):
    """Without the variant."""
    return next(op.name for op in op_db if key_of(op, None).split()[0] == name)


if __name__ == "__main__":
    sys.exit(main())
