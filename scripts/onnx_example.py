#!/usr/bin/env python3
"""Writes examples/onnx_run/model.onnx: a small classifier of pictures with a dynamic batch, as exporters write one (random weights; needs PyPI's onnx and numpy)."""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(1)


def weight(name, *sizes):
    return numpy_helper.from_array((rng.standard_normal(sizes) / np.sqrt(np.prod(sizes[1:]))).astype(np.float32), name)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, dtype=np.int64), name)


nodes = [
    helper.make_node("Conv", ["picture", "conv1.w", "conv1.b"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
    helper.make_node("BatchNormalization", ["c1", "norm.scale", "norm.bias", "norm.mean", "norm.var"], ["n1"], "norm"),
    helper.make_node("Relu", ["n1"], ["r1"], "relu1"),
    helper.make_node("MaxPool", ["r1"], ["p1"], "pool1", kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("Conv", ["p1", "conv2.w", "conv2.b"], ["c2"], "conv2", pads=[1, 1, 1, 1], strides=[2, 2]),
    helper.make_node("Relu", ["c2"], ["r2"], "relu2"),
    # The batch is computed, as a view(x.size(0), -1) is exported.
    helper.make_node("Shape", ["r2"], ["sizes"], "shape"),
    helper.make_node("Gather", ["sizes", "zero"], ["batch"], "batch", axis=0),
    helper.make_node("Unsqueeze", ["batch", "axis"], ["batch1"], "unsqueeze"),
    helper.make_node("Concat", ["batch1", "rest"], ["to"], "concat", axis=0),
    helper.make_node("Reshape", ["r2", "to"], ["flat"], "reshape"),
    helper.make_node("Gemm", ["flat", "head.w", "head.b"], ["scores"], "head", transB=1),
    helper.make_node("Softmax", ["scores"], ["classes"], "softmax", axis=-1),
]
graph = helper.make_graph(
    nodes,
    "classifier",
    [helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["batch", 3, 16, 16])],
    [helper.make_tensor_value_info("classes", TensorProto.FLOAT, ["batch", 10])],
    [weight("conv1.w", 8, 3, 3, 3), weight("conv1.b", 8), weight("norm.scale", 8), weight("norm.bias", 8), weight("norm.mean", 8),
     numpy_helper.from_array(rng.uniform(0.5, 2, 8).astype(np.float32), "norm.var"), weight("conv2.w", 16, 8, 3, 3), weight("conv2.b", 16), weight("head.w", 10, 256), weight("head.b", 10),
     numpy_helper.from_array(np.array(0, dtype=np.int64), "zero"), ints("axis", 0), ints("rest", -1)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="")
model.ir_version = 8
onnx.checker.check_model(model)
onnx.save(model, pathlib.Path(__file__).resolve().parent.parent / "examples/onnx_run/model.onnx")
