"""Operators as nodes of an ONNX file, which ONNX Runtime, OpenVINO and Reprise's reader take (operator set 17). For ONNX Runtime attention over
[batch, length, heads * size] is its own operator, MultiHeadAttention, as its transformer optimizer makes it; elsewhere it is spelled out."""
import math
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from peers.tensors import NAMES, places

TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "int32": TensorProto.INT32, "int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "bool": TensorProto.BOOL}


class Value:
    def __init__(self, ops, name):
        self.ops, self.name = ops, name

    def __add__(self, other):
        return self.ops.node("Add", self, other)

    def __sub__(self, other):
        return self.ops.node("Sub", self, other)

    def __mul__(self, other):
        return self.ops.node("Mul", self, other)

    def __truediv__(self, other):
        return self.ops.node("Div", self, other)


class Ops:
    def __init__(self, own_attention):
        self.own_attention = own_attention
        self.nodes, self.initializers, self.made = [], [], {}
        self.weights = {}  # (dtype, sizes) by name

    def value(self, v, dtype=np.float32):
        if isinstance(v, Value):
            return v.name
        array = np.asarray(v, dtype)
        key = (array.tobytes(), str(array.dtype), array.shape)
        if key not in self.made:
            self.made[key] = f"constant{len(self.made)}"
            self.initializers.append(numpy_helper.from_array(array, self.made[key]))
        return self.made[key]

    def ints(self, *values):
        return Value(self, self.value(np.array(values, np.int64), np.int64))

    def node(self, op, *inputs, domain="", **attributes):
        out = f"node{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, ["" if v is None else self.value(v) for v in inputs], [out], domain=domain, **attributes))
        return Value(self, out)

    def matmul(self, a, b):
        return self.node("MatMul", a, b)

    def linear(self, x, w, b=None):
        y = self.node("MatMul", x, self.transposed_weight(w))
        return y if b is None else y + b

    def transposed_weight(self, w):
        return self.node("Transpose", w, perm=[1, 0])  # of an initializer: folded when the model is loaded

    def quantized_linear(self, x, w, scale):
        """As ONNX Runtime's quantizers leave it: int8 with the input quantized by the call, too; 4 bits by MatMulNBits, whose products are those of int8 where the CPU's are advised
        (accuracy level 4). Other readers have int8 as DequantizeLinear, which they keep for their product."""
        dtype, sizes = self.weights[w.name]
        if dtype == "U8":
            return self.node("MatMulNBits", x, w, scale, domain="com.microsoft", K=sizes[1] * 32, N=sizes[0], bits=4, block_size=32, accuracy_level=4)
        if self.own_attention:
            return self.node("DynamicQuantizeMatMul", x, self.transposed_weight(w), scale, domain="com.microsoft")
        return self.node("MatMul", x, self.transposed_weight(self.node("DequantizeLinear", w, scale, axis=0)))

    def int_mm(self, a, b):
        return self.node("MatMulInteger", a, b)

    def transpose(self, x, order):
        return self.node("Transpose", x, perm=list(order))

    def materialized(self, x):
        return x

    def cat(self, parts, dim):
        return self.node("Concat", *parts, axis=dim)

    def embedding(self, table, at):
        return self.node("Gather", table, at)

    def gelu(self, x):
        return x * 0.5 * (self.node("Erf", x / math.sqrt(2)) + 1.0)

    def silu(self, x):
        return x * self.node("Sigmoid", x)

    def __getattr__(self, name):
        simple = {"tanh": "Tanh", "sigmoid": "Sigmoid", "exp": "Exp", "relu": "Relu", "sqrt": "Sqrt", "abs": "Abs", "round": "Round"}
        if name in simple:
            return lambda x: self.node(simple[name], x)
        raise AttributeError(name)

    def softmax(self, x):
        return self.node("Softmax", x, axis=-1)

    def layer_norm(self, x, w, b, eps):
        return self.node("LayerNormalization", x, w, b, axis=-1, epsilon=eps)

    def rms_norm(self, x, w, eps):
        if self.own_attention:
            return self.node("SimplifiedLayerNormalization", x, w, axis=-1, epsilon=eps)
        return x / self.sqrt(self.node("ReduceMean", x * x, axes=[-1], keepdims=1) + eps) * w

    def amax(self, x):
        return self.node("ReduceMax", x, axes=[-1], keepdims=1)

    def to_int8(self, x):
        return self.node("Cast", x, to=TensorProto.INT8)

    def slice(self, x, dim, begin, end):
        return self.node("Slice", x, self.ints(begin), self.ints(end), self.ints(dim))

    def reshape(self, x, sizes):
        return self.node("Reshape", x, self.ints(*sizes))

    def unsqueeze(self, x, dim):
        return self.node("Unsqueeze", x, self.ints(dim))

    def sum(self, x, dim, keep=False):
        return self.node("ReduceSum", x, self.ints(dim), keepdims=int(keep))

    def to_float(self, x, like):
        return self.node("Cast", x, to=TensorProto.FLOAT)

    def like(self, x, other):
        return x

    def first_rows(self, table, tokens, dim):
        return self.node("Slice", table, self.ints(0), self.node("Slice", self.node("Shape", tokens), self.ints(dim), self.ints(dim + 1)), self.ints(0))

    def row(self, table, i):
        return self.node("Gather", table, Value(self, self.value(np.int64(i), np.int64)))

    def last_row(self, x):
        return self.node("Slice", x, self.ints(-1), self.ints(2**31 - 1), self.ints(0))

    def conv2d(self, x, w, b, step, pad, groups):
        return self.node("Conv", x, w, *([] if b is None else [b]), strides=[step] * 2, pads=[pad] * 4, group=groups)

    def conv1d(self, x, w, b, step, pad):
        return self.node("Conv", x, w, b, strides=[step], pads=[pad] * 2)

    def batch_norm(self, x, scale, shift, mean, var, eps):
        return self.node("BatchNormalization", x, scale, shift, mean, var, epsilon=eps)

    def max_pool(self, x, places, step, pad):
        return self.node("MaxPool", x, kernel_shape=[places] * 2, strides=[step] * 2, pads=[pad] * 4)

    def spatial_mean(self, x):
        return self.node("Flatten", self.node("GlobalAveragePool", x), axis=1)

    def extended(self, past, new):
        return self.cat([past, new], 1)

    def attention(self, q, k, v, mask, causal):
        """[..., heads, length, size], spelled out: what this set has of it. A causal mask is a constant of the model."""
        if "kv" in self.point and self.point["kv"] != self.point["heads"]:
            raise NotImplementedError("fewer heads of keys than of queries")
        order = [0, 1, 3, 2] if self.point.get("rank", 4) == 4 else [0, 2, 1]
        scores = self.node("MatMul", q, self.node("Transpose", k, perm=order)) * (1.0 / math.sqrt(self.point["head"]))
        if causal:
            n = self.point["length"]
            scores = scores + np.triu(np.full((n, n), -1e9, np.float32), 1)
        if mask is not None:
            scores = scores + (self.to_float(mask, q) - 1.0) * 1e9
        return self.node("MatMul", self.softmax(scores), v)

    def self_attention(self, q, k, v, heads, present):
        if self.own_attention:
            mask = None if present is None else self.node("Cast", present, to=TensorProto.INT32)
            return self.node("MultiHeadAttention", q, k, v, None, mask, domain="com.microsoft", num_heads=heads)
        dim = self.point["dim"]
        split = lambda t, order: self.node("Transpose", self.node("Reshape", t, self.ints(0, 0, heads, dim // heads)), perm=order)
        scores = self.node("MatMul", split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1])) * (1.0 / math.sqrt(dim // heads))
        if present is not None:
            bias = (self.unsqueeze(self.unsqueeze(self.to_float(present, q), 1), 1) - 1.0) * 1e9
            scores = scores + bias
        y = self.node("MatMul", self.softmax(scores), split(v, [0, 2, 1, 3]))
        return self.node("Reshape", self.transpose(y, (0, 2, 1, 3)), self.ints(0, 0, dim))


def external(name, place, file):
    """An initializer whose data are those of the file of weights, which lies beside the model."""
    dtype, sizes, begin, end = place
    t = TensorProto(name=name, data_type=TYPES[NAMES[dtype]], dims=sizes, data_location=TensorProto.EXTERNAL)
    for key, value in (("location", file), ("offset", begin), ("length", end - begin)):
        t.external_data.add(key=key, value=str(value))
    return t


def build(job, inputs, weights, own_attention):
    """The model: inputs: Array by name; weights: a safetensors file in the folder that the model is written to, or null. What operator set 17 does not have raises NotImplementedError."""
    held = places(weights) if weights else {}
    if any(a.bfloat16 for a in inputs.values()) or any(p[0] == "BF16" for p in held.values()):
        raise NotImplementedError("no bfloat16 on the CPU")
    o = Ops(own_attention)
    o.point = job.point
    names = {k: f"weight{i}" for i, k in enumerate(held)}
    o.weights = {names[k]: place[:2] for k, place in held.items()}
    o.initializers += [external(names[k], place, os.path.basename(weights)) for k, place in held.items()]
    results = job.net(o, {k: Value(o, k) for k in inputs}, {k: Value(o, n) for k, n in names.items()}, job.point)
    ports = []
    for k, a in inputs.items():
        sizes = [job.dynamic.get(k, {}).get(d, n) for d, n in enumerate(a.array.shape)]
        ports.append(helper.make_tensor_value_info(k, TYPES[str(a.array.dtype)], sizes))
    graph = helper.make_graph(o.nodes, "g", ports, [helper.ValueInfoProto(name=r.name) for r in results], o.initializers)
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid("com.microsoft", 1)] if own_attention or any(n.domain for n in o.nodes) else [])
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 8
    # Results want a type: what inference finds, else that of floats.
    known = {v.name: v for v in onnx.shape_inference.infer_shapes(model).graph.output}
    for port in graph.output:
        found = known.get(port.name)
        if found is not None and found.type.tensor_type.elem_type:
            port.CopyFrom(found)
        else:
            port.type.tensor_type.elem_type = TensorProto.FLOAT
    del model.graph.output[:]
    model.graph.output.extend(graph.output)
    return model
