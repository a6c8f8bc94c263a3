"""JAX: jax.jit on the CPU. A function is compiled for each combination of sizes; weights are arguments."""
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax


def _conv(x, w, b, step, pad, groups):
    n = w.ndim - 2
    y = lax.conv_general_dilated(x, w, (step,) * n, [(pad, pad)] * n, feature_group_count=groups, dimension_numbers=("NCHW", "OIHW", "NCHW") if n == 2 else ("NCH", "OIH", "NCH"))
    return y if b is None else y + b.reshape((1, -1) + (1,) * n)


class Ops:
    matmul = staticmethod(jnp.matmul)
    int_mm = staticmethod(lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32))
    transpose = staticmethod(jnp.transpose)
    materialized = staticmethod(lambda x: x)
    cat = staticmethod(jnp.concatenate)
    embedding = staticmethod(lambda table, at: table[at])
    gelu = staticmethod(lambda x: jax.nn.gelu(x, approximate=False))
    tanh = staticmethod(jnp.tanh)
    silu = staticmethod(jax.nn.silu)
    sigmoid = staticmethod(jax.nn.sigmoid)
    exp = staticmethod(jnp.exp)
    relu = staticmethod(jax.nn.relu)
    sqrt = staticmethod(jnp.sqrt)
    abs = staticmethod(jnp.abs)
    round = staticmethod(jnp.round)
    softmax = staticmethod(lambda x: jax.nn.softmax(x, -1))
    amax = staticmethod(lambda x: x.max(-1, keepdims=True))
    to_int8 = staticmethod(lambda x: x.astype(jnp.int8))
    slice = staticmethod(lambda x, dim, begin, end: lax.slice_in_dim(x, begin, end, axis=dim))
    reshape = staticmethod(jnp.reshape)
    unsqueeze = staticmethod(jnp.expand_dims)
    sum = staticmethod(lambda x, dim, keep=False: x.sum(dim, keepdims=keep))
    to_float = staticmethod(lambda x, like: x.astype(like.dtype))
    like = staticmethod(lambda x, other: x.astype(other.dtype))
    first_rows = staticmethod(lambda table, tokens, dim: table[: tokens.shape[dim]])
    row = staticmethod(lambda table, i: table[i])
    last_row = staticmethod(lambda x: x[-1:])
    conv2d = staticmethod(_conv)
    conv1d = staticmethod(lambda x, w, b, step, pad: _conv(x, w, b, step, pad, 1))
    spatial_mean = staticmethod(lambda x: x.mean((2, 3)))
    extended = staticmethod(lambda past, new: jnp.concatenate([past, new], 1))

    @staticmethod
    def linear(x, w, b=None):
        y = lax.dot_general(x, w, (((x.ndim - 1,), (1,)), ((), ())))  # x @ w.T turns the weight at every call
        return y if b is None else y + b

    @staticmethod
    def layer_norm(x, w, b, eps):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + eps) * w + b

    @staticmethod
    def rms_norm(x, w, eps):
        y = x.astype(jnp.float32)
        return (y * lax.rsqrt((y * y).mean(-1, keepdims=True) + eps)).astype(x.dtype) * w

    @staticmethod
    def batch_norm(x, scale, shift, mean, var, eps):
        by = lambda t: t.reshape((1, -1, 1, 1))
        return (x - by(mean)) * (by(scale) * lax.rsqrt(by(var) + eps)) + by(shift)

    @staticmethod
    def max_pool(x, places, step, pad):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, places, places), (1, 1, step, step), ((0, 0), (0, 0), (pad, pad), (pad, pad)))

    @staticmethod
    def attention(q, k, v, mask, causal):
        """jax.nn.dot_product_attention wants [batch, length, heads, size]."""
        four = q.ndim == 4
        turn = lambda t: jnp.swapaxes(t if four else t[None], 1, 2)
        y = jnp.swapaxes(jax.nn.dot_product_attention(turn(q), turn(k), turn(v), mask=mask, is_causal=causal), 1, 2)
        return y if four else y[0]

    @staticmethod
    def self_attention(q, k, v, heads, present):
        split = lambda t: t.reshape(t.shape[0], t.shape[1], heads, -1)
        mask = None if present is None else present[:, None, None, :]
        return jax.nn.dot_product_attention(split(q), split(k), split(v), mask=mask).reshape(q.shape)


class Peer:
    def __init__(self, threads):
        self.version = jax.__version__

    def stage(self, job, sets, weights):
        to = lambda a: jnp.asarray(a.array.view(ml_dtypes.bfloat16) if a.bfloat16 else a.array)
        sets = [{k: to(v) for k, v in s.items()} for s in sets]
        weights = {k: to(v) for k, v in weights.items()}
        return job, sets, weights

    def start(self, staged):
        job, sets, weights = staged
        f = jax.jit(lambda x, w: job.net(Ops, x, w, job.point))
        return lambda i: jax.block_until_ready(f(sets[i], weights))

    @staticmethod
    def arrays(results):
        return [np.asarray(r.astype(jnp.float32) if r.dtype == jnp.bfloat16 else r) for r in results]
