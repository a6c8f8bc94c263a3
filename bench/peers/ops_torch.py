"""PyTorch: eagerly, and by torch.compile, in inference mode, as its documentation recommends."""
import torch
import torch.nn.functional as F


class Ops:
    matmul = staticmethod(torch.matmul)
    linear = staticmethod(F.linear)
    int_mm = staticmethod(torch._int_mm)
    transpose = staticmethod(lambda x, order: x.permute(order))
    materialized = staticmethod(lambda x: x.contiguous())
    cat = staticmethod(torch.cat)
    embedding = staticmethod(lambda table, at: F.embedding(at, table))
    gelu = staticmethod(F.gelu)
    tanh = staticmethod(torch.tanh)
    silu = staticmethod(F.silu)
    sigmoid = staticmethod(torch.sigmoid)
    exp = staticmethod(torch.exp)
    relu = staticmethod(torch.relu)
    sqrt = staticmethod(torch.sqrt)
    abs = staticmethod(torch.abs)
    round = staticmethod(torch.round)
    softmax = staticmethod(lambda x: torch.softmax(x, -1))
    layer_norm = staticmethod(lambda x, w, b, eps: F.layer_norm(x, (x.shape[-1],), w, b, eps))
    rms_norm = staticmethod(lambda x, w, eps: F.rms_norm(x, (x.shape[-1],), w, eps))
    amax = staticmethod(lambda x: x.amax(-1, keepdim=True))
    to_int8 = staticmethod(lambda x: x.to(torch.int8))
    slice = staticmethod(lambda x, dim, begin, end: x.narrow(dim, begin, end - begin))
    reshape = staticmethod(lambda x, sizes: x.reshape(sizes))
    unsqueeze = staticmethod(lambda x, dim: x.unsqueeze(dim))
    sum = staticmethod(lambda x, dim, keep=False: x.sum(dim, keepdim=keep))
    to_float = staticmethod(lambda x, like: x.to(like.dtype))
    like = staticmethod(lambda x, other: x.to(other.dtype))
    first_rows = staticmethod(lambda table, tokens, dim: table[: tokens.shape[dim]])
    row = staticmethod(lambda table, i: table[i])
    last_row = staticmethod(lambda x: x[-1:])
    conv2d = staticmethod(lambda x, w, b, step, pad, groups: F.conv2d(x, w, b, step, pad, 1, groups))
    conv1d = staticmethod(lambda x, w, b, step, pad: F.conv1d(x, w, b, step, pad))
    batch_norm = staticmethod(lambda x, scale, shift, mean, var, eps: F.batch_norm(x, mean, var, scale, shift, False, 0.0, eps))
    max_pool = staticmethod(F.max_pool2d)
    spatial_mean = staticmethod(lambda x: x.mean((2, 3)))
    cross_entropy = staticmethod(F.cross_entropy)
    extended = staticmethod(lambda past, new: torch.cat([past, new], 1))

    @staticmethod
    def quantized_linear(x, w, scale):
        """PyTorch's own products with quantized weights, which torchao is made of; what they take is arranged once (packed)."""
        if w.dtype == torch.int8:
            return torch.ops.aten._weight_int8pack_mm(x, w, scale)
        return torch.ops.aten._weight_int4pack_mm_for_cpu(x, w, BLOCK, scale)

    @staticmethod
    def attention(q, k, v, mask, causal):
        gqa = q.shape[-3] != k.shape[-3]
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, enable_gqa=gqa)

    @staticmethod
    def self_attention(q, k, v, heads, present):
        split = lambda t: t.view(t.shape[0], t.shape[1], heads, -1).transpose(1, 2)
        mask = None if present is None else present[:, None, None, :]
        return F.scaled_dot_product_attention(split(q), split(k), split(v), mask).transpose(1, 2).reshape(q.shape)


BLOCK = 32  # elements of a scale, of 4 bits


def packed(weights):
    """Weights of 4 bits as PyTorch's product takes them, with (scale, what 0 stands for) in the place of scales."""
    for name in [k for k, t in weights.items() if t.dtype == torch.uint8]:
        q, scale = weights[name].flatten(1), weights[name + ".scale"]
        whole = torch.stack([q & 15, q >> 4], -1).flatten(1).int()
        weights[name] = torch.ops.aten._convert_weight_to_int4pack_for_cpu(whole, 1)
        weights[name + ".scale"] = torch.stack([scale, torch.zeros_like(scale)], -1).transpose(0, 1).contiguous()
    return weights


class Training:
    """A step as PyTorch's documentation has it: a compiled loss, backward(), and the fused optimizer."""

    def __init__(self, sets, weights, point, compiled):
        from peers import nets

        self.sets = sets
        self.weights = {k: torch.nn.Parameter(w) for k, w in weights.items()}
        self.optimizer = torch.optim.AdamW(self.weights.values(), lr=0.0, fused=True)
        self.loss = lambda x: nets.training_loss(Ops, x, self.weights, point)
        if compiled:
            self.loss = torch.compile(self.loss)
        layers = sorted({k.rsplit(".", 1)[0] for k in weights if k.startswith("layers.")}, key=lambda k: int(k.split(".")[1]))
        self.told = ["norm"] + [f"{at}.{norm}" for at in layers for norm in ("attention_norm", "ffn_norm")]

    def __call__(self, i):
        self.optimizer.zero_grad()
        loss = self.loss(self.sets[i])
        loss.backward()
        self.optimizer.step()
        return [loss.detach(), *(self.weights[k].grad for k in self.told)]


class Peer:
    def __init__(self, threads, compiled):
        self.compiled = compiled
        torch.set_num_threads(threads)
        if compiled:
            torch._dynamo.config.cache_size_limit = 64
        self.version = torch.__version__

    def stage(self, job, sets, weights):
        to = lambda a: torch.from_numpy(a.array.copy()).view(torch.bfloat16) if a.bfloat16 else torch.from_numpy(a.array.copy())
        sets = [{k: to(v) for k, v in s.items()} for s in sets]
        weights = packed({k: to(v) for k, v in weights.items()})
        net, p = job.net, job.point
        if net.__name__ == "training":
            return lambda: Training(sets, weights, p, self.compiled), sets, job.dynamic

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.names = list(weights)
                self.tensors = torch.nn.ParameterList([torch.nn.Parameter(w, requires_grad=False) for w in weights.values()])

            def forward(self, x):
                return net(Ops, x, dict(zip(self.names, self.tensors)), p)

        return Net().eval(), sets, job.dynamic

    def start(self, staged):
        net, sets, dynamic = staged
        if self.compiled:
            torch._dynamo.reset()
        if not isinstance(net, torch.nn.Module):
            return net()
        if self.compiled:
            net = torch.compile(net, dynamic=True if dynamic else None)

        def call(i):
            with torch.inference_mode():
                return net(sets[i])

        return call

    @staticmethod
    def arrays(results):
        return [r.float().numpy() if r.dtype == torch.bfloat16 else r.numpy() for r in results]
