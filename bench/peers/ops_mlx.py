"""MLX on the CPU: mx.compile. A function is compiled for each combination of sizes; weights are arguments. Its convolutions want channels last."""
import mlx.core as mx
import numpy as np
from mlx import nn

mx.set_default_device(mx.cpu)


class Ops:
    matmul = staticmethod(mx.matmul)
    transpose = staticmethod(mx.transpose)
    materialized = staticmethod(mx.contiguous)
    cat = staticmethod(mx.concatenate)
    embedding = staticmethod(lambda table, at: mx.take(table, at, axis=0))
    gelu = staticmethod(nn.gelu)
    tanh = staticmethod(mx.tanh)
    silu = staticmethod(nn.silu)
    sigmoid = staticmethod(mx.sigmoid)
    exp = staticmethod(mx.exp)
    relu = staticmethod(nn.relu)
    sqrt = staticmethod(mx.sqrt)
    abs = staticmethod(mx.abs)
    round = staticmethod(mx.round)
    softmax = staticmethod(lambda x: mx.softmax(x, -1))
    amax = staticmethod(lambda x: mx.max(x, -1, keepdims=True))
    to_int8 = staticmethod(lambda x: x.astype(mx.int8))
    reshape = staticmethod(mx.reshape)
    unsqueeze = staticmethod(mx.expand_dims)
    sum = staticmethod(lambda x, dim, keep=False: mx.sum(x, dim, keepdims=keep))
    to_float = staticmethod(lambda x, like: x.astype(like.dtype))
    like = staticmethod(lambda x, other: x.astype(other.dtype))
    first_rows = staticmethod(lambda table, tokens, dim: table[: tokens.shape[dim]])
    row = staticmethod(lambda table, i: table[i])
    last_row = staticmethod(lambda x: x[-1:])
    layer_norm = staticmethod(mx.fast.layer_norm)
    rms_norm = staticmethod(mx.fast.rms_norm)
    extended = staticmethod(lambda past, new: mx.concatenate([past, new], 1))

    @staticmethod
    def slice(x, dim, begin, end):
        return x[(slice(None),) * (dim % x.ndim) + (slice(begin, end),)]

    @staticmethod
    def linear(x, w, b=None):
        return x @ w.T if b is None else mx.addmm(b, x, w.T)

    @staticmethod
    def quantized_linear(x, w, scale):
        group, bits = (32, 4) if scale.shape[1] * 4 == w.shape[1] else (128, 8)
        return mx.quantized_matmul(x, w, scale, scale * -float(1 << (bits - 1)), group_size=group, bits=bits)

    @staticmethod
    def attention(q, k, v, mask, causal):
        four = q.ndim == 4
        q, k, v = (t if four else t[None] for t in (q, k, v))
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5, mask="causal" if causal else mask)
        return y if four else y[0]

    @staticmethod
    def self_attention(q, k, v, heads, present):
        split = lambda t: t.reshape(t.shape[0], t.shape[1], heads, -1).transpose(0, 2, 1, 3)
        mask = None if present is None else present[:, None, None, :]
        y = mx.fast.scaled_dot_product_attention(split(q), split(k), split(v), scale=(q.shape[-1] // heads) ** -0.5, mask=mask)
        return y.transpose(0, 2, 1, 3).reshape(q.shape)


def packed(weights):
    """Quantized weights as MLX has them: without sign, in uint32, with a scale for each group of at most 128."""
    for name in [k[:-6] for k in weights if k.endswith(".scale")]:
        q, scale = np.array(weights[name]), np.array(weights[name + ".scale"])
        if q.dtype == np.int8:
            q, scale = (q.view(np.uint8) ^ 128), np.repeat(scale[:, None], q.shape[1] // 128, 1)
        weights[name], weights[name + ".scale"] = mx.array(np.ascontiguousarray(q.reshape(q.shape[0], -1)).view(np.uint32)), mx.array(scale)
    return weights


class Peer:
    def __init__(self, threads):
        self.version = mx.__version__

    def stage(self, job, sets, weights):
        to = lambda a: mx.array(a.array.view(np.uint16)).view(mx.bfloat16) if a.bfloat16 else mx.array(a.array)
        sets = [{k: to(v) for k, v in s.items()} for s in sets]
        weights = packed({k: to(v) for k, v in weights.items()})
        mx.eval(sets, weights)
        return job, sets, weights

    def start(self, staged):
        job, sets, weights = staged
        f = mx.compile(lambda x, w: job.net(Ops, x, w, job.point))

        def call(i):
            results = f(sets[i], weights)
            mx.eval(results)
            return results

        return call

    @staticmethod
    def arrays(results):
        return [np.array(r.astype(mx.float32) if r.dtype == mx.bfloat16 else r) for r in results]
