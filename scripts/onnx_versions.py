#!/usr/bin/env python3
"""Every operator of import/onnx's table, at every operator set in which it changed, against two other implementations.

  python3 -m venv ~/onnx-venv && ~/onnx-venv/bin/pip install onnx onnxruntime       (outside the repository)
  ~/onnx-venv/bin/python scripts/onnx_versions.py [--only OPERATOR ...] [--each N] [--out FOLDER] [--backend FILE]

Writes small models for each operator and set, with attributes at two values or more (each two values of two attributes
meet in one of them), with the results of ONNX Runtime and of the reference evaluator of the package onnx. Where the
two disagree, ONNX Runtime is taken, unless PREFER says that it leaves the specification. Integer inputs that decide
shapes are given twice: as inputs and as constants. At most --each models of an operator's set are run (0: all, an hour
and more). reprise_onnx_backend runs them, eagerly and compiled. Prints `N agree, M differ` last, and exits with 1
where one differs, or where an operator of the table has no case in a set in which it changed.
"""

import argparse
import collections
import itertools
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnx.defs
import onnx.helper as oh
import onnx.numpy_helper as nh
import onnx.reference
import onnxruntime as ort

warnings.simplefilter("ignore")
np.seterr(all="ignore")
NEWEST = 28  # the newest set of the package onnx; ONNX Runtime knows those up to 26
ABSENT = object()


class A:
    """An input, which older sets have as an attribute of that name. Given as input and as constant."""

    def __init__(self, name, value, dtype=np.int64):
        self.name, self.value = name, np.asarray(value, dtype)


class N(A):
    """An input that is given as input and as constant."""

    def __init__(self, value, dtype=np.int64):
        super().__init__(None, value, dtype)


class C:
    """An input that is always a constant."""

    def __init__(self, value):
        self.value = np.asarray(value)


CASES = []


def case(op, inputs, since=1, until=NEWEST, outputs=1, **attributes):
    """Attributes: a list of values each, ABSENT for the default. Sets that lack one of the names have no such case."""
    CASES.append((op, inputs, since, until, outputs, attributes))


RNG = np.random.default_rng(7)


def f(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def ints(low, high, *shape, dtype=np.int64):
    return RNG.integers(low, high, shape).astype(dtype)


def bools(*shape):
    return RNG.integers(0, 2, shape).astype(bool)


SPECIAL = np.array(
    [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -7, 1e-3, 40, -40, np.inf, -np.inf, np.nan], np.float32
)
FINITE = SPECIAL[:14]

# ---- elementwise
for op in (
    "Abs Ceil Floor Exp Log Neg Reciprocal Relu Sigmoid Sqrt Tanh Softplus Softsign Erf Sign IsNaN Sin "
    "Cos Tan Sinh Cosh Asinh Atan HardSwish Mish Round "
).split():
    case(
        op,
        [SPECIAL if op not in ("Sin", "Cos", "Tan", "HardSwish", "Mish", "Softsign", "Softplus", "Erf") else FINITE],
    )
    case(op, [f(2, 3)])
for op in "Acos Asin Atanh".split():
    case(op, [np.linspace(-0.9, 0.9, 7).astype(np.float32)])
case("Acosh", [np.linspace(1.1, 9, 7).astype(np.float32)])
for op in "Abs Neg Sign Relu".split():
    case(op, [ints(-9, 9, 2, 3)])
    case(op, [N(ints(-9, 9, 2, 3))])
    case(op, [ints(-9, 9, 2, 3, dtype=np.int32)])
    case(op, [ints(-9, 9, 2, 3, dtype=np.int8)])
case("Not", [bools(5)])
case("Not", [N(bools(2, 2), bool)])
case("BitwiseNot", [ints(-9, 9, 5)])
for op in "Add Sub Mul Div".split():
    case(op, [f(2, 3, 4), f(4)], broadcast=[ABSENT, 1])
    case(op, [f(2, 3, 4), f(3)], until=6, broadcast=[1], axis=[1])
    case(op, [f(2, 3, 4), f(2, 3)], until=6, broadcast=[1], axis=[0])
    case(op, [f(2, 1, 4), f(3, 1)], since=7)
    case(op, [f(3), C(np.float32(2.5))], since=7)
    case(op, [C(np.float32(2.5)), f(3)], since=7)
    for t in (np.int64, np.int32, np.uint8, np.int8):
        case(op, [ints(5, 90, 2, 3, dtype=t), ints(1, 5, 3, dtype=t)], since=7)
    case(op, [ints(-20, 20, 2, 3), ints(1, 5, 3)], since=7)
    case(op, [N(ints(-20, 20, 2, 3)), N([-3, 2, 7])], since=7)
for op in "And Or Xor".split():
    case(op, [bools(2, 3), bools(3)], since=7)
    case(op, [bools(2, 3, 4), bools(3)], until=6, broadcast=[1], axis=[1])
    case(op, [N(bools(2, 3), bool), N(bools(3), bool)], since=7)
for op in "Equal Greater Less GreaterOrEqual LessOrEqual".split():
    case(op, [ints(0, 3, 2, 3), ints(0, 3, 3)], since=7)
    case(op, [ints(0, 3, 2, 3, dtype=np.int32), ints(0, 3, 3, dtype=np.int32)], since=7)
    case(op, [SPECIAL, np.roll(SPECIAL, 1)], since=7)
    case(op, [N(ints(0, 3, 2, 3)), N(ints(0, 3, 3))], since=7)
    case(op, [ints(0, 3, 2, 3, 4), ints(0, 3, 3)], until=6, broadcast=[1], axis=[1])
for op in "BitwiseAnd BitwiseOr BitwiseXor".split():
    case(op, [ints(-9, 9, 2, 3), ints(-9, 9, 3)])
case("BitShift", [ints(0, 255, 5, dtype=np.uint8), ints(0, 9, 5, dtype=np.uint8)], direction=["LEFT", "RIGHT"])
case("Mod", [ints(-9, 9, 12), ints(1, 5, 12) * np.array([1, -1] * 6)], fmod=[ABSENT, 1])
case("Mod", [N(ints(-9, 9, 12)), N(ints(1, 5, 12) * np.array([1, -1] * 6))], fmod=[ABSENT, 1])
case("Mod", [f(8, scale=9), f(8)], fmod=[1])
case("Pow", [np.abs(f(2, 3)), f(3)], since=7)
case("Pow", [f(2, 3), C(np.float32(2))], since=7)
case("Pow", [f(2, 3), ints(-2, 4, 3)], since=12)
case("Pow", [ints(1, 5, 2, 3), f(3, scale=1)], since=12)
case("Pow", [ints(-5, 5, 2, 3), ints(0, 4, 3)], since=12)
case("Pow", [np.abs(f(2, 3, 4)), f(3)], until=6, broadcast=[1], axis=[1])
for op in "Max Min Sum Mean".split():
    case(op, [f(2, 3)])
    case(op, [f(2, 3), f(2, 3), f(2, 3)])
    case(op, [f(2, 3), f(3), f(2, 1)], since=8)
    if op in ("Max", "Min"):
        case(op, [SPECIAL, np.roll(SPECIAL, 1), np.roll(SPECIAL, 5)])
        case(op, [ints(-9, 9, 2, 3), ints(-9, 9, 3)], since=12)
        case(op, [N(ints(-9, 9, 2, 3)), N(ints(-9, 9, 3))], since=12)
case("Clip", [SPECIAL, A("min", -1.5, np.float32), A("max", 2.0, np.float32)])
case("Clip", [f(5), A("min", 1.0, np.float32), A("max", -1.0, np.float32)])
case("Clip", [f(5), None, A("max", 0.2, np.float32)])
case("Clip", [f(5), A("min", 0.2, np.float32)])
case("Clip", [f(5)])
case("Clip", [ints(-9, 9, 8), A("min", -3), A("max", 2)], since=12)
for to in (1, 2, 3, 6, 7, 9, 10, 11, 16):
    case("Cast", [FINITE[:11]], to=[to])
    case("Cast", [N(ints(-3, 9, 2, 3))], since=6, to=[to])
    case("Cast", [bools(5)], since=6, to=[to])
    case("Cast", [f(4).astype(np.float16)], since=6, to=[to])
    case("Cast", [f(4).astype(np.float64)], since=6, to=[to])
case("CastLike", [f(4), ints(0, 3, 1)])
case("CastLike", [ints(0, 9, 4), f(1)])
case("Elu", [FINITE], alpha=[ABSENT, 0.3])
case("Selu", [FINITE], alpha=[ABSENT, 0.3], gamma=[ABSENT, 2.0])
case("Celu", [FINITE], alpha=[ABSENT, 0.3])
case("HardSigmoid", [FINITE], alpha=[ABSENT, 0.3], beta=[ABSENT, 0.1])
case("LeakyRelu", [SPECIAL], alpha=[ABSENT, 0.3, -2.0])
case("ThresholdedRelu", [FINITE], alpha=[ABSENT, 0.3, -0.5])
case("PRelu", [f(2, 3, 4), C(np.float32([0.1, 0.2, -0.5]))], until=6)
case("PRelu", [f(2, 3, 4), f(1)])
case("PRelu", [f(2, 3, 4), f(3, 1)], since=7)
case("Shrink", [FINITE], bias=[ABSENT, 0.2], lambd=[ABSENT, 1.5])
case("Shrink", [ints(-5, 5, 8)], bias=[ABSENT, 1.0], lambd=[ABSENT, 2.0])
case("Gelu", [f(9)], approximate=[ABSENT, "none", "tanh"])
case("IsInf", [SPECIAL], detect_negative=[ABSENT, 0], detect_positive=[ABSENT, 0])
case("Where", [bools(2, 3), f(3), f(2, 1)])
case("Where", [N(bools(2, 3), bool), N(ints(0, 9, 3)), N(ints(0, 9, 2, 1))])
case("Identity", [f(2, 3)])
for kind in ("value", "value_int", "value_float", "value_ints", "value_floats"):
    v = {
        "value": nh.from_array(f(2, 3), "t"),
        "value_int": 3,
        "value_float": 2.5,
        "value_ints": [1, -2],
        "value_floats": [1.5, 2.5],
    }[kind]
    case("Constant", [], **{kind: [v]})

# ---- reductions
for op in (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
    "ReduceProd ReduceSum ReduceSumSquare"
).split():
    x = np.abs(f(2, 3, 4)) + 0.1 if op == "ReduceLogSum" else f(2, 3, 4)
    for axes in ([1], [0, -1], [-2], [0, 1, 2]):
        case(op, [x, A("axes", axes)], keepdims=[ABSENT, 0, 1], noop_with_empty_axes=[ABSENT, 1])
    case(op, [x], keepdims=[ABSENT, 0], noop_with_empty_axes=[ABSENT, 1])
    case(op, [x, A("axes", [])], since=18, keepdims=[ABSENT, 0], noop_with_empty_axes=[ABSENT, 1])
    for t in (np.int64, np.int32):
        case(op, [ints(1, 5, 2, 3, dtype=t), A("axes", [1])], keepdims=[ABSENT, 0])
    case(op, [N(ints(1, 5, 2, 3, 2)), A("axes", [0, 2])], keepdims=[ABSENT, 0])
    case(op, [np.float32(2.5)], keepdims=[ABSENT])
for op in ("ReduceMax", "ReduceMin"):
    case(op, [bools(3, 4), A("axes", [1])], since=20)
    case(op, [ints(0, 99, 3, 4, dtype=np.uint8), A("axes", [1])], since=12)
    case(op, [f(2, 0, 3), A("axes", [1])], since=20)
for op in ("ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"):
    case(op, [f(2, 0, 3), A("axes", [1])], since=13)
for op in ("ArgMax", "ArgMin"):
    case(
        op,
        [ints(0, 3, 3, 4).astype(np.float32)],
        axis=[ABSENT, 1, -1],
        keepdims=[ABSENT, 0],
        select_last_index=[ABSENT, 1],
    )
    case(op, [ints(0, 3, 3, 4, dtype=np.int32)], axis=[1], keepdims=[0])
for t in (np.float32, np.float64, np.int32, np.int64):
    case("CumSum", [ints(-9, 9, 2, 3, 4).astype(t), N(1)], exclusive=[ABSENT, 1], reverse=[ABSENT, 1])
case(
    "CumSum",
    [np.array([1, np.inf, 2, 1e20, 3], np.float32), N(-1, np.int32)],
    exclusive=[ABSENT, 1],
    reverse=[ABSENT, 1],
)
for op in ("Softmax", "LogSoftmax", "Hardmax"):
    case(op, [f(2, 3, 4)], axis=[ABSENT, 0, 1, 2])
    case(op, [f(2, 3, 4)], since=11, axis=[-1, -2, -3])
    case(op, [f(5)], since=11, axis=[0, -1])
case("TopK", [f(3, 6), A("k", [2])], axis=[ABSENT, 0, 1], largest=[ABSENT, 0], sorted=[ABSENT], outputs=2)
case("TopK", [f(3, 6), A("k", [2])], since=10, axis=[-2], outputs=2)
case("TopK", [ints(0, 99, 7), N([3])], since=11, axis=[0], largest=[ABSENT, 0], outputs=2)

# ---- shapes
for x in (f(2, 3, 4), N(ints(-9, 9, 2, 3, 4))):
    case("Reshape", [x, A("shape", [4, 6])])
    case("Reshape", [x, A("shape", [0, -1])])
    case("Reshape", [x, A("shape", [-1])], allowzero=[ABSENT, 0, 1])
    case("Reshape", [x, A("shape", [-1, 4, 1, 3])])
    case("Flatten", [x], axis=[ABSENT, 0, 1, 2, 3])
    case("Flatten", [x], since=11, axis=[-1, -2, -3])
    case("Transpose", [x], perm=[ABSENT, [1, 2, 0], [0, 2, 1]])
    case("Unsqueeze", [x, A("axes", [0])])
    case("Unsqueeze", [x, A("axes", [1, 3])])
    case("Unsqueeze", [x, A("axes", [-1, 0])], since=11)
    case("Concat", [x, x], axis=[1, 2], since=4)
    case("Concat", [x], axis=[0], since=4)
    case("Concat", [x, x, x], axis=[-2], since=11)
    case("Split", [x], axis=[1], outputs=3, until=17)
    case("Split", [x], axis=[ABSENT], outputs=2, until=17)
    case("Split", [x], axis=[2], outputs=3, num_outputs=[3], since=18)
    case("Split", [x, A("split", [1, 3])], axis=[2], outputs=2, since=2)
    case("Split", [x, A("split", [3, 1])], axis=[-1], outputs=2, since=11)
    case("Slice", [x, A("starts", [1]), A("ends", [3])])
    case("Slice", [x, A("starts", [0, -2]), A("ends", [1, 1000]), A("axes", [0, 2])])
    case("Slice", [x, A("starts", [-1000, 1]), A("ends", [-1, -1]), A("axes", [2, 1])])
    case("Slice", [x, N([-1]), N([-1000]), N([2]), N([-1])], since=10)
    case("Slice", [x, N([-1, 0]), N([-(2**63), 3]), N([0, 2]), N([-1, 2])], since=10)
    case("Slice", [x, N([3]), N([0]), N([-1]), N([-2])], since=10)
    case("Slice", [x, N([1000]), N([-1000]), N([1]), N([-3])], since=10)
    case(
        "Slice",
        [x, N([0, 0, 0], np.int32), N([2, 3, 4], np.int32), N([0, 1, 2], np.int32), N([1, 2, 3], np.int32)],
        since=10,
    )
    case("Slice", [x, N([2]), N([1]), N([1])], since=10)
    case("Tile", [x, N([1, 2, 3])], since=6)
    case("Expand", [x, N([5, 1, 1, 4])])
    case("Expand", [x, N([2, 3, 4])])
    case("Shape", [x], start=[ABSENT, 1, -1], end=[ABSENT, 2, -1])
    case("Size", [x])
    case("Gather", [x, N([1, 0])], axis=[ABSENT, 1, 2])
    case("Gather", [x, N([[1, -1], [0, 1]])], since=11, axis=[0, -1])
    case("Gather", [x, N(1)], axis=[0, 1])
    case(
        "ScatterND",
        (
            [x, N([[1, 2], [0, 1]]), x if isinstance(x, N) else f(2, 4)]
            if not isinstance(x, N)
            else [x, N([[1, 2], [0, 1]]), N(ints(0, 9, 2, 4))]
        ),
    )
    case(
        "ScatterND",
        [x, N([[1], [0]]), f(2, 3, 4)] if not isinstance(x, N) else [x, N([[1], [0]]), N(ints(0, 9, 2, 3, 4))],
    )
for x in (f(2, 1, 3, 1), N(ints(-9, 9, 2, 1, 3, 1))):
    case("Squeeze", [x, A("axes", [1])])
    case("Squeeze", [x, A("axes", [-1, 1])], since=11)
    case("Squeeze", [x])
case("Reshape", [f(2, 0, 3), N([0, 0, 3])], since=14, allowzero=[ABSENT, 1])
case("Reshape", [f(2, 0, 3), N([3, 0, 2])], since=14, allowzero=[1])
for mode in ("constant", "reflect", "edge", "wrap"):
    case(
        "Pad",
        [f(3, 4), A("pads", [1, 2, 2, 1]), A("value", 0.0, np.float32) if mode == "constant" else None],
        mode=[mode],
    )
    case("Pad", [f(3, 4), A("pads", [1, 0, 0, 2])], mode=[mode])
    case("Pad", [f(2, 3, 4), N([2, 1]), None, N([2])], since=18, mode=[mode])
    case("Pad", [f(2, 3, 4), N([1, 2, 1, 0]), None, N([-1, 0])], since=18, mode=[mode])
case("Pad", [f(3, 4), A("pads", [1, 2, 2, 1]), A("value", 1.5, np.float32)], mode=[ABSENT])
case("Pad", [f(3, 4), A("pads", [-1, 2, 2, -1]), A("value", 1.5, np.float32)], mode=[ABSENT])
case("Pad", [ints(0, 9, 3, 4), N([1, 2, 2, 1]), N(7)], since=11)
case(
    "ConstantOfShape",
    [N([2, 3])],
    value=[ABSENT, nh.from_array(np.array([7], np.int64)), nh.from_array(np.array([1.5], np.float32))],
)
case("ConstantOfShape", [N([])])
case("Range", [N(3), N(10), N(2)])
case("Range", [N(10), N(3), N(-2)])
case("Range", [N(3), N(3), N(2)])
case("Range", [N(1.0, np.float32), N(2.1, np.float32), N(0.25, np.float32)])
case("Range", [N(5, np.int32), N(1, np.int32), N(-3, np.int32)])
case("EyeLike", [f(3, 4)], k=[ABSENT, 1, -1], dtype=[ABSENT, 7])
case("Trilu", [f(2, 3, 4), N(1)], upper=[ABSENT, 0])
case("Trilu", [f(4, 3), N(-1)], upper=[ABSENT, 0])
case("Trilu", [f(4, 3)], upper=[ABSENT, 0])
case("CenterCropPad", [f(3, 6, 4), N([5, 4])], axes=[[0, 1], [-2, -1]])
case("CenterCropPad", [f(3, 6, 4), N([4, 3, 5])])
case("DepthToSpace", [f(1, 8, 2, 3)], blocksize=[2], mode=[ABSENT, "CRD", "DCR"])
case("SpaceToDepth", [f(1, 2, 4, 6)], blocksize=[2])

# ---- indices
case("GatherElements", [f(3, 4), N(ints(-3, 3, 3, 4))], axis=[ABSENT])
case("GatherElements", [f(3, 4), N(ints(0, 4, 3, 2), np.int32)], axis=[1, -1])
case("GatherND", [f(2, 3, 4), N(ints(-2, 2, 2, 2))])
case("GatherND", [f(2, 3, 4), N(ints(0, 3, 2, 5, 1))], since=12, batch_dims=[1])
case("GatherND", [f(2, 3, 4), N(ints(0, 2, 5, 3))], since=12, batch_dims=[ABSENT, 0])
for op in ("Scatter", "ScatterElements"):
    case(
        op,
        [f(3, 4), N([[2, 0, 1, 1], [1, 2, 0, 0]]), f(2, 4)],
        axis=[ABSENT, 0],
        until=10 if op == "Scatter" else NEWEST,
    )
    case(
        op,
        [f(3, 4), N([[3, 0], [-1, 1], [1, 2]] if op != "Scatter" else [[3, 0], [0, 1], [1, 2]]), f(3, 2)],
        axis=[1],
        until=10 if op == "Scatter" else NEWEST,
    )
case(
    "ScatterElements",
    [f(3, 4), N([[1, 1, 1, 1], [1, 0, 2, 1]]), f(2, 4)],
    since=16,
    axis=[0, -2],
    reduction=[ABSENT, "none", "add", "mul", "max", "min"][2:],
)
case("ScatterND", [f(3, 4), N([[1], [1]]), f(2, 4)], since=16, reduction=["add", "mul", "max", "min"])
case("OneHot", [N([[0, 2], [-1, 5]]), N([3]), np.float32([0.5, 2])], axis=[ABSENT, 0, 1, -1])
case("OneHot", [np.float32([0, 2, 1]), N(4), ints(0, 9, 2)], axis=[ABSENT, 0])
case("ReverseSequence", [f(4, 3, 2), N([1, 4, 3])], time_axis=[ABSENT, 0], batch_axis=[ABSENT, 1])
case("ReverseSequence", [f(3, 4, 2), N([1, 4, 3])], time_axis=[1], batch_axis=[0])
case("Compress", [f(3, 4), bools(3)], axis=[0, 1])
case("Compress", [f(3, 4), np.array([1, 0, 1, 1, 1], bool)], axis=[ABSENT])
case("Compress", [f(3, 4), np.array([1, 0, 1], bool)], since=11, axis=[-1])
case("NonZero", [ints(0, 2, 3, 4).astype(np.float32)])
case("NonZero", [bools(3, 4)])
case("Unique", [ints(0, 5, 9).astype(np.float32)], sorted=[ABSENT, 0], outputs=4)
case("Unique", [ints(0, 2, 5, 2).astype(np.float32)], axis=[0, 1, -1], sorted=[ABSENT, 0], outputs=4)
BOXES = np.array(
    [[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]],
    np.float32,
)
SCORES = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]], np.float32)
case(
    "NonMaxSuppression",
    [BOXES, SCORES, N([3]), N([0.5], np.float32), N([0.4], np.float32)],
    center_point_box=[ABSENT, 1],
)
case("NonMaxSuppression", [BOXES, SCORES, N([3]), N([0.5], np.float32)], center_point_box=[ABSENT])

# ---- products
case("MatMul", [f(2, 3), f(3, 4)])
case("MatMul", [f(2, 2, 3), f(3, 4)])
case("MatMul", [f(3), f(3, 4)])
case("MatMul", [ints(-9, 9, 2, 3, dtype=np.int32), ints(-9, 9, 3, 4, dtype=np.int32)], since=9)
for c in (f(4), f(2, 1), f(2, 4), f(1), np.float32(2)):
    case(
        "Gemm",
        [f(2, 3), f(3, 4), c],
        since=7,
        alpha=[ABSENT, 0.5],
        beta=[ABSENT, 2.0],
        transA=[ABSENT],
        transB=[ABSENT],
    )
case("Gemm", [f(3, 2), f(4, 3), f(4)], since=7, transA=[1], transB=[1], alpha=[ABSENT, 0.5])
case("Gemm", [f(3, 2), f(4, 3)], since=11, transA=[1], transB=[1], beta=[ABSENT, 0.5])
case(
    "Gemm",
    [ints(-9, 9, 2, 3, dtype=np.int32), ints(-9, 9, 3, 4, dtype=np.int32), ints(-9, 9, 4, dtype=np.int32)],
    since=9,
    alpha=[ABSENT],
    beta=[ABSENT, 2.0],
)
for e, s in (
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("bij,bjk", [(2, 2, 3), (2, 3, 4)]),
    ("...ij,...jk->...ik", [(2, 2, 3), (3, 4)]),
    ("ii->i", [(3, 3)]),
    ("i,j,k->kij", [(2,), (3,), (4,)]),
    ("ij->", [(2, 3)]),
):
    case("Einsum", [f(*x) for x in s], equation=[e])
case("Det", [f(2, 3, 3)])

# ---- normalization
case(
    "BatchNormalization",
    [f(2, 3, 4), f(3), f(3), f(3), np.abs(f(3))],
    since=7,
    epsilon=[ABSENT, 0.1],
    momentum=[ABSENT, 0.5],
    spatial=[ABSENT, 1],
)
case(
    "BatchNormalization",
    [f(2, 3, 4), f(3), f(3), f(3), np.abs(f(3))],
    since=14,
    training_mode=[1],
    epsilon=[ABSENT, 0.1],
    momentum=[ABSENT, 0.5],
    outputs=3,
)
case(
    "BatchNormalization",
    [f(2, 3, 4), f(3, 4), f(3, 4), f(3, 4), np.abs(f(3, 4))],
    since=7,
    until=8,
    spatial=[0],
    epsilon=[ABSENT, 0.1],
)
case("InstanceNormalization", [f(2, 3, 4), f(3), f(3)], since=6, epsilon=[ABSENT, 0.1])
case("LayerNormalization", [f(2, 3, 4), f(4), f(4)], axis=[ABSENT, 2], epsilon=[ABSENT, 0.1], outputs=3)
case("LayerNormalization", [f(2, 3, 4), f(3, 4)], axis=[1, -2], epsilon=[ABSENT, 0.1])
case("GroupNormalization", [f(2, 4, 3), f(2), f(2)], since=18, until=20, num_groups=[2], epsilon=[ABSENT, 0.1])
case("GroupNormalization", [f(2, 4, 3), f(4), f(4)], since=21, num_groups=[2, 4], epsilon=[ABSENT, 0.1])
case("LpNormalization", [f(3, 4)], axis=[ABSENT, 0, 1], p=[ABSENT, 1, 2])
case("MeanVarianceNormalization", [f(2, 3, 4, 5)], axes=[ABSENT, [0, 1], [-1]])
case("LRN", [f(2, 7, 3, 3)], size=[3, 5], alpha=[ABSENT, 0.5], beta=[ABSENT, 0.5], bias=[ABSENT, 2.0])

# ---- convolutions and pooling
PADS = {"pads": [ABSENT, [1, 0, 1, 1], [1, 1, 1, 1]], "auto_pad": [ABSENT, "SAME_UPPER", "SAME_LOWER", "VALID"]}


def padded(op, inputs, pads=((1, 1, 1, 1), (1, 0, 0, 1)), **attributes):
    case(op, inputs, pads=[ABSENT, *[list(p) for p in pads]], **attributes)
    case(op, inputs, auto_pad=["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"], **attributes)


padded(
    "Conv",
    [f(1, 2, 5, 6), f(4, 2, 3, 2), f(4)],
    strides=[ABSENT, [2, 1]],
    dilations=[ABSENT, [1, 2]],
    kernel_shape=[ABSENT, [3, 2]],
)
padded("Conv", [f(1, 2, 5, 6), f(4, 1, 3, 2)], group=[2], strides=[ABSENT, [2, 2]])
case("Conv", [f(1, 2, 7), f(4, 2, 3)], pads=[ABSENT, [1, 2]], strides=[ABSENT, [2]])
padded(
    "ConvTranspose",
    [f(1, 2, 4, 3), f(2, 3, 3, 2), f(3)],
    strides=[ABSENT, [2, 1]],
    dilations=[ABSENT, [1, 2]],
    output_padding=[ABSENT, [1, 0]],
)
padded("ConvTranspose", [f(1, 2, 4, 3), f(2, 2, 3, 2)], group=[2], strides=[[2, 2]])
case(
    "ConvTranspose",
    [f(1, 2, 4, 3), f(2, 3, 3, 2)],
    strides=[[2, 2]],
    output_shape=[[8, 6], [9, 6], [7, 5]],
    auto_pad=[ABSENT, "SAME_UPPER", "SAME_LOWER"],
)
POOL = dict(
    kernel_shape=[[3, 2]], strides=[ABSENT, [2, 2], [2, 3]], ceil_mode=[ABSENT, 1], dilations=[ABSENT, [2, 1]]
)
padded("AveragePool", [f(1, 2, 6, 5)], since=7, count_include_pad=[ABSENT, 1], **POOL)
case(
    "AveragePool",
    [f(1, 2, 5, 5)],
    since=7,
    kernel_shape=[[2, 2]],
    strides=[[2, 2], [3, 3]],
    pads=[ABSENT, [0, 0, 1, 1], [1, 1, 1, 1]],
    ceil_mode=[ABSENT, 1],
    count_include_pad=[ABSENT, 1],
)
case(
    "AveragePool",
    [f(1, 2, 7)],
    since=7,
    kernel_shape=[[3]],
    strides=[[2], [5]],
    pads=[ABSENT, [1, 1], [0, 2]],
    ceil_mode=[ABSENT, 1],
    count_include_pad=[ABSENT, 1],
)
padded("MaxPool", [f(1, 2, 6, 5)], outputs=2, storage_order=[ABSENT, 1], **POOL)
padded("MaxPool", [f(1, 2, 6, 5)], **POOL)
case(
    "MaxPool",
    [f(1, 2, 7)],
    kernel_shape=[[3]],
    strides=[[2], [5]],
    pads=[ABSENT, [1, 1], [0, 2]],
    ceil_mode=[ABSENT, 1],
)
case(
    "MaxPool", [ints(0, 99, 1, 1, 5, 5, dtype=np.uint8)], since=12, kernel_shape=[[2, 2]], pads=[ABSENT, [1, 1, 1, 1]]
)
padded("LpPool", [f(1, 2, 6, 5)], p=[ABSENT, 1, 3], **POOL)
case("GlobalAveragePool", [f(2, 3, 4, 5)])
case("GlobalMaxPool", [f(2, 3, 4)])
case("GlobalLpPool", [f(2, 3, 4)], since=2, p=[ABSENT, 1, 3])
case(
    "MaxUnpool",
    [f(1, 1, 2, 2), np.array([[[[5, 7], [13, 15]]]], np.int64)],
    kernel_shape=[[2, 2]],
    strides=[[2, 2]],
    pads=[ABSENT],
)
case(
    "MaxUnpool",
    [f(1, 1, 2, 2), np.array([[[[0, 7], [13, 15]]]], np.int64), N([1, 1, 5, 5])],
    kernel_shape=[[2, 2]],
    strides=[[2, 2]],
)
case("Col2Im", [f(1, 8, 12), N([4, 5]), N([2, 2])])
case("Col2Im", [f(1, 8, 30), N([4, 5]), N([2, 2])], pads=[[1, 1, 1, 1]])
case("Col2Im", [f(1, 8, 6), N([4, 5]), N([2, 2])], strides=[[1, 2]])
case("Col2Im", [f(1, 8, 6), N([4, 5]), N([2, 2])], dilations=[[2, 2]])
case(
    "ConvInteger",
    [
        ints(0, 255, 1, 2, 4, 4, dtype=np.uint8),
        ints(0, 255, 3, 2, 2, 2, dtype=np.uint8),
        N(3, np.uint8),
        N(9, np.uint8),
    ],
    pads=[ABSENT, [1, 1, 1, 1]],
    strides=[ABSENT, [2, 1]],
)
QCONV = [
    ints(0, 255, 1, 2, 4, 4, dtype=np.uint8),
    C(np.float32(0.02)),
    C(np.uint8(3)),
    C(ints(0, 255, 3, 2, 2, 2, dtype=np.uint8)),
    C(np.float32(0.03)),
    C(np.uint8(120)),
    C(np.float32(0.4)),
    C(np.uint8(100)),
]
case("QLinearConv", QCONV, pads=[ABSENT, [1, 1, 1, 1]], strides=[ABSENT, [2, 1]])
case("QLinearConv", QCONV + [C(ints(-99, 99, 3, dtype=np.int32))], dilations=[ABSENT, [2, 2]])

# ---- resizing, images
for mode in ("nearest", "linear"):
    case("Upsample", [f(1, 1, 3, 4), A("scales", [1, 1, 2, 3], np.float32)], since=7, until=9, mode=[mode])
    case("Upsample", [f(1, 1, 3, 4), A("scales", [1, 1, 1.5, 2.6], np.float32)], since=7, until=9, mode=[mode])
    case("Resize", [f(1, 1, 4, 5), C(np.float32([1, 1, 2, 3]))], since=10, until=10, mode=[mode])
    case("Resize", [f(1, 1, 4, 5), C(np.float32([1, 1, 0.6, 0.5]))], since=10, until=10, mode=[mode])
HOW = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"]
for to in ([1, 1, 8, 10], [1, 1, 3, 7], [1, 1, 1, 3]):
    case(
        "Resize",
        [f(1, 1, 4, 5), None, None, N(to)],
        since=11,
        mode=["nearest"],
        coordinate_transformation_mode=HOW,
        nearest_mode=[ABSENT, "round_prefer_ceil", "floor", "ceil"],
    )
    case(
        "Resize",
        [f(1, 1, 4, 5), None, None, N(to)],
        since=11,
        mode=["linear"],
        coordinate_transformation_mode=HOW,
        exclude_outside=[ABSENT],
    )
    case(
        "Resize",
        [f(1, 1, 4, 5), None, None, N(to)],
        since=11,
        mode=["cubic"],
        coordinate_transformation_mode=HOW,
        cubic_coeff_a=[ABSENT, -0.5],
        exclude_outside=[ABSENT, 1],
    )
for s in ([1, 1, 2, 1.5], [1, 1, 0.6, 0.7]):
    case(
        "Resize",
        [f(1, 1, 4, 5), None, C(np.float32(s))],
        since=11,
        mode=["nearest", "linear", "cubic"],
        coordinate_transformation_mode=HOW[:4],
    )
    case(
        "Resize",
        [f(1, 1, 4, 5), C(np.float32([0, 0, 0.2, 0.1, 1, 1, 0.9, 1.2])), C(np.float32(s))],
        since=11,
        mode=["nearest", "linear"],
        coordinate_transformation_mode=["tf_crop_and_resize"],
        extrapolation_value=[ABSENT, 7.0],
    )
case(
    "Resize",
    [f(1, 1, 4, 5), None, None, N([3, 8])],
    since=18,
    axes=[[2, 3], [-2, -1]],
    mode=["linear"],
    keep_aspect_ratio_policy=[ABSENT, "not_larger", "not_smaller"],
    antialias=[ABSENT, 1],
)
case(
    "Resize",
    [f(1, 1, 6, 8), None, C(np.float32([0.5, 0.6]))],
    since=18,
    axes=[[2, 3]],
    mode=["linear", "cubic"],
    antialias=[ABSENT, 1],
)
GRID = (RNG.random((1, 3, 4, 2)) * 2.6 - 1.3).astype(np.float32)
case(
    "GridSample",
    [f(1, 2, 4, 5), GRID],
    until=19,
    mode=["bilinear", "nearest", "bicubic"],
    padding_mode=[ABSENT, "border", "reflection"],
    align_corners=[ABSENT, 1],
)
case(
    "GridSample",
    [f(1, 2, 4, 5), GRID],
    since=20,
    mode=["linear", "nearest", "cubic"],
    padding_mode=[ABSENT, "border", "reflection"],
    align_corners=[ABSENT, 1],
)
case("AffineGrid", [f(2, 2, 3), N([2, 1, 3, 4])], align_corners=[ABSENT, 1])
case("AffineGrid", [f(1, 3, 4), N([1, 1, 2, 3, 4])], align_corners=[ABSENT, 1])
ROIS = np.array([[1, 1, 6, 5], [0, 2, 7.5, 7]], np.float32)
case(
    "RoiAlign",
    [f(1, 2, 8, 8), ROIS, np.array([0, 0], np.int64)],
    mode=[ABSENT, "max"],
    output_height=[ABSENT, 2],
    output_width=[3],
    sampling_ratio=[2],
    spatial_scale=[ABSENT, 0.5],
    coordinate_transformation_mode=[ABSENT, "output_half_pixel"],
)

# ---- quantization
case("QuantizeLinear", [f(2, 3, scale=40), C(np.float32(0.5)), C(np.uint8(100))], axis=[ABSENT])
case(
    "QuantizeLinear",
    [f(2, 3, scale=40), C(np.float32([0.5, 1.0, 0.25])), C(np.int8([1, -3, 7]))],
    since=13,
    axis=[ABSENT, 1, -1],
)
case("QuantizeLinear", [f(2, 3, scale=40), C(np.float32(0.5))], axis=[ABSENT])
case(
    "QuantizeLinear",
    [f(2, 4, scale=40), C(np.abs(f(2, 2)) + 0.1), C(ints(-5, 5, 2, 2, dtype=np.int8))],
    since=21,
    axis=[1],
    block_size=[2],
)
case("DequantizeLinear", [ints(0, 255, 2, 3, dtype=np.uint8), C(np.float32(0.5)), C(np.uint8(100))], axis=[ABSENT])
case(
    "DequantizeLinear",
    [ints(-99, 99, 2, 3, dtype=np.int8), C(np.float32([0.5, 1.0, 0.25])), C(np.int8([1, -3, 7]))],
    since=13,
    axis=[ABSENT, 1, -1],
)
case("DequantizeLinear", [ints(-999, 999, 2, 3, dtype=np.int32), C(np.float32(0.5))], axis=[ABSENT])
case(
    "DequantizeLinear",
    [ints(-99, 99, 2, 4, dtype=np.int8), C(f(2, 2)), C(ints(-5, 5, 2, 2, dtype=np.int8))],
    since=21,
    axis=[1],
    block_size=[2],
)
case("DynamicQuantizeLinear", [f(3, 4)], outputs=3)
case("DynamicQuantizeLinear", [np.abs(f(3, 4))], outputs=3)
case("DynamicQuantizeLinear", [np.zeros((2, 2), np.float32)], outputs=3)
case(
    "MatMulInteger",
    [ints(0, 255, 2, 3, dtype=np.uint8), ints(0, 255, 3, 4, dtype=np.uint8), C(np.uint8(12)), C(np.uint8(3))],
)
case("MatMulInteger", [ints(0, 255, 2, 3, dtype=np.uint8), ints(-99, 99, 3, 4, dtype=np.int8)])
QMM = [
    C(np.float32(0.02)),
    C(np.uint8(3)),
    C(ints(0, 255, 3, 4, dtype=np.uint8)),
    C(np.float32(0.03)),
    C(np.uint8(120)),
    C(np.float32(0.4)),
    C(np.uint8(100)),
]
case("QLinearMatMul", [ints(0, 255, 2, 3, dtype=np.uint8)] + QMM)

# ---- recurrent
SEQ, BATCH, IN, HID = 4, 2, 3, 3


def recurrent(op, gates, activations, outputs, alphas):
    for directions, direction in ((1, [ABSENT, "forward", "reverse"]), (2, ["bidirectional"])):
        w, r, b = (
            C(f(directions, gates * HID, IN)),
            C(f(directions, gates * HID, HID)),
            C(f(directions, 2 * gates * HID)),
        )
        first = C(f(directions, BATCH, HID))
        x, more = f(SEQ, BATCH, IN), {"hidden_size": [HID], "direction": direction, "outputs": outputs}
        states = [first, C(f(directions, BATCH, HID))] if op == "LSTM" else [first]
        flags = {"GRU": {"linear_before_reset": [ABSENT, 1]}, "LSTM": {"input_forget": [ABSENT, 1]}, "RNN": {}}[op]
        case(op, [x, w, r], since=7, **more, **flags)
        case(op, [x, w, r, b], since=7, clip=[ABSENT, 0.7], **more, **flags)
        case(op, [x, w, r, b, None, *states], since=7, **more)
        case(op, [x, w, r, b, C(np.int32([2, 4])), *states], since=7, **more)
        if op == "LSTM":
            case(op, [x, w, r, b, None, *states, C(f(directions, 3 * HID))], since=7, **more, **flags)
        for names in activations:
            for alpha, beta in alphas:
                # Fewer numbers than activations that take one: the specification does not say what stands there.
                takes = [sum(n in group for n in names) * directions for group in (ALPHA, BETA)]
                if any(given is not None and len(given) < n for given, n in zip((alpha, beta), takes)) or (
                    alpha is None and any(n in UNSAID for n in names)
                ):
                    continue
                extra = {k: [v] for k, v in (("activation_alpha", alpha), ("activation_beta", beta)) if v}
                case(op, [x, w, r, b], since=7, activations=[(names * 2)[: len(names) * directions]], **extra, **more)
        t = lambda c: C(np.ascontiguousarray(np.swapaxes(c.value, 0, 1)))
        case(
            op,
            [np.ascontiguousarray(np.swapaxes(x, 0, 1)), w, r, b, None, *[t(s) for s in states]],
            since=14,
            layout=[1],
            **more,
        )


ALPHA, BETA = ("LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Affine"), (
    "ScaledTanh",
    "HardSigmoid",
    "Affine",
)
UNSAID = (
    "ScaledTanh",
    "Affine",
    "ThresholdedRelu",
)  # ONNX Runtime has 0 for all of them, also where the operator of that name has another default
ALPHAS = [(None, None), ([0.3], [0.2]), ([0.3, 0.6], [0.2, 0.1]), ([0.3, 0.6, 0.9, 0.4], [0.2, 0.1, 0.4, 0.3])]
recurrent(
    "RNN",
    1,
    [
        ["Relu"],
        ["Affine"],
        ["LeakyRelu"],
        ["ThresholdedRelu"],
        ["ScaledTanh"],
        ["HardSigmoid"],
        ["Elu"],
        ["Softsign"],
        ["Softplus"],
        ["Sigmoid"],
    ],
    2,
    ALPHAS[:3],
)
recurrent("GRU", 3, [["Sigmoid", "LeakyRelu"], ["HardSigmoid", "Tanh"], ["HardSigmoid", "ScaledTanh"]], 2, ALPHAS)
recurrent(
    "LSTM",
    4,
    [["Sigmoid", "LeakyRelu", "Tanh"], ["HardSigmoid", "Tanh", "Affine"], ["Sigmoid", "Relu", "ScaledTanh"]],
    3,
    ALPHAS,
)
W = lambda g, d=1: [C(f(d, g * HID, IN)), C(f(d, g * HID, HID)), C(f(d, 2 * g * HID))]
case(
    "RNN",
    [f(SEQ, BATCH, IN), *W(1, 2)],
    since=7,
    hidden_size=[HID],
    direction=["bidirectional"],
    outputs=2,
    activations=[["Relu", "Affine"], ["Affine", "Tanh"], ["Tanh", "HardSigmoid"]],
    activation_alpha=[[0.5], [0.3]],
    activation_beta=[[0.1], [0.4]],
)

# ---- newer than set 22
case("RMSNormalization", [f(2, 3, 4), f(4)], axis=[ABSENT, -1, 2], epsilon=[ABSENT, 0.1])
case("RMSNormalization", [f(2, 3, 4), f(3, 4)], axis=[1, -2])
case("Swish", [FINITE], alpha=[ABSENT, 0.3])
case("SwiGLU", [f(2, 3), f(2, 3)], alpha=[ABSENT, 0.3])
STAGES = {"softcap": [ABSENT, 0.7], "scale": [ABSENT, 0.3], "qk_matmul_output_mode": [ABSENT, 1, 2, 3]}
for mask in (None, bools(4, 5), f(4, 5), f(4, 1, 4, 5)[:, :, :, :4], f(2, 1, 1, 5), bools(1, 4, 1, 5)):
    case("Attention", [f(2, 4, 4, 6), f(2, 2, 5, 6), f(2, 2, 5, 3), mask], is_causal=[ABSENT, 1])
for mask in (None, bools(4, 5), f(4, 5)):
    inputs = [f(2, 4, 4, 6), f(2, 4, 5, 6), f(2, 4, 5, 3), mask]
    case("Attention", inputs, outputs=4, is_causal=[ABSENT, 1], **STAGES)
    case("Attention", inputs, left_window_size=[1, -1], right_window_size=[ABSENT, 0, 2], is_causal=[ABSENT, 1])
    padded = [*inputs, None, None, np.array([5, 3], np.int64)]
    case("Attention", padded, since=24, is_causal=[ABSENT, 1])
    case("Attention", padded, since=25, left_window_size=[0, 1], is_causal=[ABSENT, 1])
for mask in (None, bools(4, 8), f(4, 8)):
    inputs = [f(2, 4, 24), f(2, 5, 12), f(2, 5, 6), mask, f(2, 2, 3, 6), f(2, 2, 3, 3)]
    case("Attention", inputs, outputs=3, q_num_heads=[4], kv_num_heads=[2], is_causal=[ABSENT, 1], softcap=[ABSENT, 0.7])
for dim, half in ((ABSENT, 3), (4, 2)):
    for x, heads in ((f(2, 3, 4, 6), [ABSENT]), (f(2, 4, 18), [3])):
        how = {"num_heads": heads, "rotary_embedding_dim": [dim], "interleaved": [ABSENT, 1]}
        case("RotaryEmbedding", [x, f(2, 4, half), f(2, 4, half)], **how)
        case("RotaryEmbedding", [x, f(9, half), f(9, half), ints(0, 9, 2, 4)], **how)
for axis, cache, update in ((ABSENT, f(2, 3, 8, 4), f(2, 3, 3, 4)), (1, f(2, 8, 4), f(2, 3, 4)), (-1, f(2, 3, 8), f(2, 3, 3))):
    case("TensorScatter", [cache, update], axis=[axis])
    case("TensorScatter", [cache, update, np.array([5, 0], np.int64)], axis=[axis], mode=[ABSENT, "linear", "circular"])
    case("TensorScatter", [cache, update, np.array([7, 6], np.int64)], axis=[axis], mode=["circular"])
for x, to in ((f(3), 6), (f(3).astype(np.float64), 7), (ints(-9, 9, 4), 11), (ints(-9, 9, 4, dtype=np.int8), 2)):
    case("BitCast", [x], to=[to])
for more in ([], [f(3)], [f(3), f(2, 3, 2)], [None, f(2, 3, 2)]):
    case("CausalConvWithState", [f(2, 3, 5), f(3, 1, 3), *more], outputs=2, activation=[ABSENT, "none", "silu", "swish"])
case("CausalConvWithState", [f(2, 3, 1), f(3, 1, 4)], outputs=2)
HEADS = {"outputs": 2, "q_num_heads": [4], "kv_num_heads": [2], "scale": [ABSENT, 0.3]}
QKV = [f(2, 3, 12), f(2, 3, 6, scale=0.5), f(2, 3, 4)]
for state in (None, f(2, 2, 3, 2)):
    for decay, beta in ((-np.abs(f(2, 3, 2)), np.abs(f(2, 3, 2))), (-np.abs(f(2, 3, 6)), np.abs(f(2, 3, 1)))):
        case("LinearAttention", [*QKV, state], update_rule=["linear"], **HEADS)
        case("LinearAttention", [*QKV, state, decay], update_rule=["gated"], **HEADS)
        case("LinearAttention", [*QKV, state, None, beta], update_rule=["delta"], **HEADS)
        case("LinearAttention", [*QKV, state, decay, beta], update_rule=[ABSENT, "gated_delta"], **HEADS)
case("Mod", [f(12, scale=9), f(12, scale=3)], since=28, fmod=[ABSENT, 1])
case("BitShift", [ints(-99, 99, 6, dtype=np.int32), ints(-2, 40, 6, dtype=np.int32)], since=28, direction=["LEFT", "RIGHT"])
case("SpaceToDepth", [f(1, 2, 4, 6)], since=28, blocksize=[2], mode=[ABSENT, "DCR", "CRD"])
for to in (4, 5, 12, 21, 22):
    case("Cast", [np.array([0, 1.5, 3, 7], np.float32)], since=21, to=[to])
for t in (np.float32, np.int64):
    case("CumProd", [ints(-3, 4, 2, 3, 4).astype(t), N(1)], exclusive=[ABSENT, 1], reverse=[ABSENT, 1])
case(
    "DequantizeLinear",
    [ints(0, 255, 2, 3, dtype=np.uint8), C(np.float32(0.5))],
    since=23,
    output_dtype=[ABSENT, 1, 10],
)

# ---- losses, signals, dropout
for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
    case(
        op, [f(3, 4), np.array([1, 3, 0], np.int64)], reduction=[ABSENT, "sum", "none"], ignore_index=[ABSENT, 3, -1]
    )
    case(
        op, [f(3, 4, 2), ints(0, 4, 3, 2), np.abs(f(4))], reduction=[ABSENT, "sum", "none"], ignore_index=[ABSENT, 1]
    )
for op in ("BlackmanWindow", "HammingWindow", "HannWindow"):
    case(op, [N(7)], periodic=[ABSENT, 0], output_datatype=[ABSENT, 11])
case("DFT", [f(2, 6, 1)], since=17, until=19, axis=[ABSENT], onesided=[ABSENT, 1])
case("DFT", [f(2, 6, 2)], since=17, until=19, axis=[ABSENT, 1], inverse=[ABSENT, 1])
case("DFT", [f(2, 6, 3, 1)], since=17, until=19, axis=[1, 2], onesided=[ABSENT, 1])
case("DFT", [f(2, 6, 1), N(8)], since=17, onesided=[ABSENT, 1])
case("DFT", [f(2, 6, 2)], since=17, until=19, axis=[1], inverse=[1], onesided=[1])
case("DFT", [f(2, 6, 2), N(9)], since=17, inverse=[1], onesided=[1])
case("DFT", [f(2, 6, 3, 2), N(4), N(1)], since=20, inverse=[ABSENT, 1])
case("DFT", [f(2, 6, 3, 1), None, N(-2)], since=20, onesided=[ABSENT, 1])
case("STFT", [f(1, 16, 1), N(4), None, N(8)], onesided=[ABSENT, 0])
case("STFT", [f(1, 16, 1), N(4), C(np.abs(f(8)))], onesided=[ABSENT, 0])
case(
    "MelWeightMatrix", [N(4), N(16), N(8000), N(0.0, np.float32), N(4000.0, np.float32)], output_datatype=[ABSENT, 11]
)
case("Dropout", [f(2, 3)], since=7, until=11, ratio=[ABSENT, 0.3])
case("Dropout", [f(2, 3)], since=10, outputs=2)
case("Dropout", [f(2, 3), C(np.float32(0.3)), C(np.bool_(False))], since=12, outputs=2)
case("Dropout", [f(2, 3), C(np.float32(0.0)), C(np.bool_(True))], since=12, outputs=2)

# Operators whose results are random, or that only graphs of several nodes show: what covers them instead.
ELSEWHERE = {
    op: "random numbers"
    for op in "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split()
}
ELSEWHERE |= {
    op: "graphs: tests/onnx and scripts/onnx_backend.sh"
    for op in (
        "If Loop Scan ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt "
        "SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap "
        "SplitToSequence "
    ).split()
}

# Where ONNX Runtime leaves the specification: operators, condition on attributes and inputs, why. The reference
# evaluator is taken; without it there is nothing to compare with.
PREFER = [
    (("Dropout",), lambda a, x: len(x) == 1, "before set 12 the mask of an inference is not said"),
    (("MaxUnpool",), lambda a, x: len(x) > 2, "places are taken to be of output_shape"),
    (
        ("Resize",),
        lambda a, x: a.get("coordinate_transformation_mode") == "align_corners" and len(x) == 3,
        "the length is floor(length * scale)",
    ),
    (("Attention",), lambda a, x: a.get("qk_matmul_output_mode") == 2, "scores of hidden keys are the lowest float"),
    (("DFT",), lambda a, x: "inverse" in a and "onesided" in a and len(x) > 1, "frequencies past the length are used"),
    (("Resize",), lambda a, x: "keep_aspect_ratio_policy" in a, "the policy is not seen where axes are negative"),
    (
        ("Resize",),
        lambda a, x: a.get("coordinate_transformation_mode") == "half_pixel_symmetric" and a.get("mode") == "nearest",
        "a place that is a whole number is computed to be a little less",
    ),
]
# Where the reference evaluator does not, and ONNX Runtime takes no such model.
NOT_REFERENCE = [
    (
        ("Resize",),
        lambda a, x: a.get("coordinate_transformation_mode") == "pytorch_half_pixel" and a.get("mode") == "cubic",
        "the one new element of a dimension is at -0.5, not at 0",
    ),
]
# Where neither follows it.
NEITHER = [
    (
        ("AveragePool", "MaxPool", "LpPool"),
        lambda a, x: a.get("auto_pad", "").startswith("SAME") and "dilations" in a,
        "auto_pad does not see dilations",
    ),
    (
        ("Attention",),
        lambda a, x: "is_causal" in a and len(x) > 3 and x[3] is not None and x[3].shape[-2] == 1,
        "a mask of one row makes each query the first one",
    ),
    (("ReduceLogSumExp",), lambda a, x: getattr(x[0], "value", x[0]).dtype.kind == "i", "exponentials of integers"),
]


def schema_at(op, version):
    try:
        return onnx.defs.get_schema(op, version, "")
    except onnx.defs.SchemaError:
        return None


def attribute_sets(attributes, rng):
    """Combinations in which each two values of two attributes meet, chosen greedily."""
    names = list(attributes)
    everything = list(itertools.product(*(range(len(v)) for v in attributes.values())))
    pairs = lambda chosen: {(i, chosen[i], j, chosen[j]) for i in range(len(chosen)) for j in range(i, len(chosen))}
    left = set().union(*(pairs(c) for c in everything)) if everything else set()
    made = [everything[0]]
    left -= pairs(everything[0])
    while left:
        some = everything if len(everything) < 200 else rng.sample(everything, 200)
        best = max(some, key=lambda c: len(pairs(c) & left))
        if not pairs(best) & left:
            continue
        left -= pairs(best)
        made.append(best)
    return [{n: attributes[n][k] for n, k in zip(names, chosen) if attributes[n][k] is not ABSENT} for chosen in made]


def build(op, version, inputs, attributes, outputs, as_constants):
    """None where the set has no such form."""
    schema = schema_at(op, version)
    if schema is None or any(n not in schema.attributes for n in attributes):
        return None
    attributes = dict(attributes)
    names, feeds, initializers, positional = [], {}, [], []
    for x in inputs:
        if isinstance(x, A) and x.name and x.name in schema.attributes:
            v = x.value
            attributes[x.name] = v.tolist() if v.ndim else v.item()
            if x.name == "k":
                attributes["k"] = int(v[0])
            continue
        positional.append(x)
    while positional and positional[-1] is None:
        positional.pop()
    if len(positional) > schema.max_input or len(positional) < schema.min_input:
        return None
    for i, x in enumerate(positional):
        if x is None:
            names.append("")
            continue
        name = f"X{i}"
        names.append(name)
        constant = isinstance(x, C) or (isinstance(x, A) and as_constants)
        value = x if isinstance(x, np.ndarray) else np.asarray(x) if np.isscalar(x) else x.value
        if constant:
            initializers.append(nh.from_array(np.asarray(value), name))
        else:
            feeds[name] = np.asarray(value)
    if outputs > schema.max_output:
        outputs = schema.max_output
    results = [f"Y{i}" for i in range(outputs)]
    node = oh.make_node(op, names, results, name="the_node", **attributes)
    ins = [
        oh.make_tensor_value_info(n, oh.np_dtype_to_tensor_dtype(a.dtype), [f"{n}_{d}" for d in range(a.ndim)])
        for n, a in feeds.items()
    ]
    outs = [oh.make_empty_tensor_value_info(r) for r in results]
    graph = oh.make_graph([node], "g", ins, outs, initializers)
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", version)], ir_version=8 if version < 21 else 10)
    try:
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception:
        return None
    del model.graph.output[:]
    for v in inferred.graph.output:
        if not v.type.tensor_type.elem_type:
            return None
        model.graph.output.append(oh.make_tensor_value_info(v.name, v.type.tensor_type.elem_type, None))
    return model, feeds


def close(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind not in "fiub":
        return a.tobytes() == b.tobytes()
    with np.errstate(all="ignore"):
        return np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-4, atol=1e-6, equal_nan=True)


def expected(model, feeds):
    """Results of ONNX Runtime and of the reference evaluator; None where one does not compute it."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    both = []
    try:
        both.append(
            [
                np.asarray(r)
                for r in ort.InferenceSession(
                    model.SerializeToString(), options, providers=["CPUExecutionProvider"]
                ).run(None, feeds)
            ]
        )
    except Exception:
        both.append(None)
    try:
        both.append([np.asarray(r) for r in onnx.reference.ReferenceEvaluator(model).run(None, feeds)])
    except Exception:
        both.append(None)
    return both


def rows():
    """Operators of the default domain with their ranges of sets, from the tables in import/onnx."""
    folder = pathlib.Path(__file__).resolve().parent.parent / "import/onnx"
    for path in sorted(folder.glob("*.cc")):
        for name, since, until in re.findall(r'^    \{"(\w+)", (\d+), (\d+), ', path.read_text(), re.M):
            yield name, int(since), int(until) or NEWEST


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", default=None)
    options.add_argument("--only", nargs="*", default=None)
    options.add_argument("--backend", default="build/tools/reprise_onnx_backend")
    options.add_argument("--each", type=int, default=12)
    options.add_argument("--list", action="store_true", help="list the cases in which the two others disagree")
    o = options.parse_args()
    out = pathlib.Path(o.out or tempfile.mkdtemp(prefix="onnx_versions_"))
    rng = random.Random(3)
    ranges = collections.defaultdict(list)
    for name, since, until in rows():
        ranges[name].append((since, until))
    changed = collections.defaultdict(set)
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain == "" and s.since_version <= NEWEST:
            changed[s.name].add(s.since_version)
    covered, nobody, disagree, folders, seen = (
        collections.defaultdict(set),
        collections.defaultdict(set),
        [],
        [],
        set(),
    )
    jobs = collections.defaultdict(list)
    for op, inputs, since, until, outputs, attributes in CASES:
        if o.only and op not in o.only:
            continue
        # Each set in which it changed, and the last one before the next: a bound that is off by one shows there.
        starts = sorted(changed[op])
        sets = sorted(
            {v for i, s in enumerate(starts) for v in (s, (starts[i + 1] if i + 1 < len(starts) else NEWEST + 1) - 1)}
        )
        for version in sets:
            if version < since or version > until or not any(a <= version <= b for a, b in ranges[op]):
                continue
            for given in attribute_sets(attributes, rng):
                for as_constants in (False, True) if any(isinstance(x, A) for x in inputs) else (False,):
                    jobs[op, version].append((inputs, given, outputs, as_constants))
    for (op, version), all_of in jobs.items():
        rng.shuffle(all_of)
        begin = len(folders)
        for inputs, given, outputs, as_constants in all_of:
            if o.each and len(folders) - begin >= o.each:
                break
            left_out = any(op in names and holds(given, inputs) for names, holds, _ in NEITHER)
            made = None if left_out else build(op, version, inputs, given, outputs, as_constants)
            if made is None:
                continue
            model, feeds = made
            key = model.SerializeToString() + b"".join(a.tobytes() for a in feeds.values())
            if key in seen:
                continue
            seen.add(key)
            runtime, reference = expected(model, feeds)
            label = f"{op}_{version}_{len(folders)}"
            told = f"{label} {given}{' constants' if as_constants else ''}"
            if any(op in names and holds(given, inputs) for names, holds, _ in PREFER):
                runtime = None
            if runtime is None and any(op in names and holds(given, inputs) for names, holds, _ in NOT_REFERENCE):
                continue
            since = max(s for s in changed[op] if s <= version)
            if runtime is None and reference is None:
                nobody[op].add(since)
                continue
            if (
                runtime is not None
                and reference is not None
                and not all(close(a, b) for a, b in zip(runtime, reference))
            ):
                disagree.append(told)
            covered[op].add(since)
            folder = out / label
            data = folder / "test_data_set_0"
            data.mkdir(parents=True, exist_ok=True)
            (folder / "model.onnx").write_bytes(model.SerializeToString())
            (folder / "what.txt").write_text(
                f"{told}\n{onnx.printer.to_text(model)}\n{feeds}\nruntime {runtime}\nreference {reference}\n"
            )
            for i, array in enumerate(feeds.values()):
                (data / f"input_{i}.pb").write_bytes(nh.from_array(array).SerializeToString())
            for i, array in enumerate(runtime if runtime is not None else reference):
                (data / f"output_{i}.pb").write_bytes(nh.from_array(array).SerializeToString())
            folders.append(folder)
    failures = 0
    for op in sorted(ranges):
        if o.only and op not in o.only or op in ELSEWHERE:
            continue
        wanted = {s for s in changed[op] if any(a <= s <= b for a, b in ranges[op])}
        # Set 7 is the oldest that the documents promise.
        if missing := sorted(s for s in wanted - covered[op] - nobody[op] if s >= 7):
            failures += 1
            print(f"no case: {op} of set {', '.join(map(str, missing))}")
        if missing := sorted(s for s in nobody[op] - covered[op] if s >= 7):
            print(f"nobody computes {op} of set {', '.join(map(str, missing))}", file=sys.stderr)
    print(f"{len(folders)} models in {out}; the two others disagree in {len(disagree)}", file=sys.stderr)
    for told in disagree if o.list else []:
        print("disagree", told)
    agree = 0
    for at in range(0, len(folders), 500):
        ran = subprocess.run(
            [o.backend, "--tolerance", "1e-4", *map(str, folders[at : at + 500])],
            check=False,
            capture_output=True,
            text=True,
        )
        for line in ran.stdout.splitlines():
            if line.startswith("passed"):
                agree += 1
            else:
                failures += 1
                name = re.match(r"\w+ (\w+)", line)
                what = (out / name.group(1) / "what.txt") if name else None
                print(line[:300], "|", what.read_text().splitlines()[0] if what and what.exists() else "")
    print(f"{agree} agree, {failures} differ")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
