"""Each workload's computation, told once: functions over `o`, the operators of one peer (ops_torch.py and its neighbours).

x: inputs by name; w: weights by name; p: the point's sizes. Values have +, -, * and /, among themselves and with numbers.
"""
import math


def mm(o, x, w, p):
    return [o.matmul(x["a"], x["b"])]


def linear(o, x, w, p):
    return [o.linear(x["x"], w["w"], w["b"])]


def int8(o, x, w, p):
    return [o.int_mm(x["a"], w["b"])]


def transpose(o, x, w, p):
    return [o.materialized(o.transpose(x["x"], (1, 0)))]


def heads_first(o, x, w, p):
    return [o.materialized(o.transpose(x["x"], (0, 2, 1, 3)))]


def cat(o, x, w, p):
    return [o.cat([x["a"], x["b"], x["c"]], 1)]


def gather(o, x, w, p):
    return [o.embedding(x["table"], x["at"])]


def add(o, x, w, p):
    return [x["x"] + x["y"]]


def gelu(o, x, w, p):
    return [o.gelu(x["x"])]


def tanh(o, x, w, p):
    return [o.tanh(x["x"])]


def swiglu(o, x, w, p):
    return [o.silu(x["x"]) * x["y"]]


def chain(o, x, w, p):
    return [o.tanh(o.sigmoid(x["x"]) * x["y"] + x["x"]) * 0.5 - o.exp(x["y"] * -1.0)]


def softmax(o, x, w, p):
    return [o.softmax(x["x"])]


def layer_norm(o, x, w, p):
    return [o.layer_norm(x["x"], w["w"], w["b"], 1e-5)]


def residual_rms_norm(o, x, w, p):
    s = x["x"] + x["r"]
    return [o.rms_norm(s, w["w"], 1e-5), s]


def norm_quantize(o, x, w, p):
    y = o.rms_norm(x["x"], w["w"], 1e-5)
    scale = o.amax(o.abs(y)) / 127.0 + 1e-12
    return [o.to_int8(o.round(y / scale)), scale]


def attention(o, x, w, p):
    return [o.attention(x["q"], x["k"], x["v"], x.get("mask"), bool(p.get("causal")))]


def conv(o, x, w, p):
    return [o.conv2d(x["x"], w["w"], w["b"], p["step"], p["places"] // 2, p["groups"])]


def plus_one(o, x, w, p):
    return [x["x"] + 1.0]


def cell(o, x, w, p):
    """A gated recurrent unit's step; its state is the next call's."""
    h = x["h"]
    gi, gh = o.linear(x["x"], w["wi"], w["bi"]), o.linear(h, w["wh"], w["bh"])
    n = p["hidden"]
    part = lambda g, i: o.slice(g, 1, i * n, (i + 1) * n)
    r, z = o.sigmoid(part(gi, 0) + part(gh, 0)), o.sigmoid(part(gi, 1) + part(gh, 1))
    new = o.tanh(part(gi, 2) + r * part(gh, 2))
    return [new + z * (h - new)]


def _layer_norm(o, w, x, at, eps):
    return o.layer_norm(x, w[at + ".weight"], w[at + ".bias"], eps)


def _linear(o, w, x, at):
    return o.linear(x, w[at + ".weight"], w.get(at + ".bias"))


def minilm(o, x, w, p):
    e, eps, heads = "embeddings.", 1e-12, p.get("heads", 12)
    tokens, present = x["tokens"], x["present"]
    h = o.embedding(w[e + "word_embeddings.weight"], tokens) + o.first_rows(w[e + "position_embeddings.weight"], tokens, 1) + o.row(w[e + "token_type_embeddings.weight"], 0)
    h = _layer_norm(o, w, h, e + "LayerNorm", eps)
    for i in range(p.get("layers", 6)):
        at = f"encoder.layer.{i}."
        q, k, v = (_linear(o, w, h, at + "attention.self." + part) for part in ("query", "key", "value"))
        y = o.self_attention(q, k, v, heads, present)
        h = _layer_norm(o, w, h + _linear(o, w, y, at + "attention.output.dense"), at + "attention.output.LayerNorm", eps)
        g = o.gelu(_linear(o, w, h, at + "intermediate.dense"))
        h = _layer_norm(o, w, h + _linear(o, w, g, at + "output.dense"), at + "output.LayerNorm", eps)
    weight = o.unsqueeze(o.to_float(present, h), -1)
    mean = o.sum(h * weight, 1) / o.sum(weight, 1)
    return [mean / o.sqrt(o.sum(mean * mean, 1, keep=True))]


LLAMAS = {"15M": dict(dim=288, layers=6, heads=6, kv=6, hidden=768, vocab=32000), "110M": dict(dim=768, layers=12, heads=12, kv=12, hidden=2048, vocab=32000),
          "1.1B": dict(dim=2048, layers=22, heads=32, kv=4, hidden=5632, vocab=32000),
          "3M": dict(dim=256, layers=4, heads=4, kv=4, hidden=704, vocab=1024)}


def _matrix(o, w, x, name):
    """x times a matrix of weights, which may be quantized: integers, and a scale for each row (int8) or for each 32 elements of a row (4 bits: see workloads.py)."""
    if name + ".scale" not in w:
        return o.linear(x, w[name])
    if not hasattr(o, "quantized_linear"):
        raise NotImplementedError("it has no product with quantized weights")
    return o.quantized_linear(x, w[name], w[name + ".scale"])


def llama(o, x, w, p):
    """Several tokens at once (a prompt, past = 0), or one behind `past` others whose keys and values are given: [kv, past, head] a layer."""
    c = LLAMAS[p["model"]]
    heads, kv, hd = c["heads"], c["kv"], c["dim"] // c["heads"]
    h = o.embedding(w["embedding"], x["tokens"])

    def rope(t):
        a, b = o.slice(t, 2, 0, hd // 2), o.slice(t, 2, hd // 2, hd)
        return o.like(o.cat([a * x["cos"] - b * x["sin"], b * x["cos"] + a * x["sin"]], 2), t)

    split = lambda t, n: o.transpose(o.reshape(t, (-1, n, hd)), (1, 0, 2))
    for i in range(c["layers"]):
        at = f"layers.{i}."
        y = o.rms_norm(h, w[at + "attention_norm"], 1e-5)
        q, k, v = split(_matrix(o, w, y, at + "wq"), heads), split(_matrix(o, w, y, at + "wk"), kv), split(_matrix(o, w, y, at + "wv"), kv)
        k, v = rope(k), v
        if p["past"]:
            k, v = o.extended(x[f"k{i}"], k), o.extended(x[f"v{i}"], v)
        y = o.attention(rope(q), k, v, None, not p["past"])
        h = h + _matrix(o, w, o.reshape(o.transpose(y, (1, 0, 2)), (-1, heads * hd)), at + "wo")
        y = o.rms_norm(h, w[at + "ffn_norm"], 1e-5)
        h = h + _matrix(o, w, o.silu(_matrix(o, w, y, at + "w1")) * _matrix(o, w, y, at + "w3"), at + "w2")
    last = o.rms_norm(o.last_row(h), w["norm"], 1e-5)
    return [_matrix(o, w, last, "head" if "head" in w else "embedding")]


def training_loss(o, x, w, p):
    """Cross entropy of the next tokens, of several sequences."""
    c = LLAMAS[p["model"]]
    heads, kv, hd = c["heads"], c["kv"], c["dim"] // c["heads"]
    tokens, t = x["tokens"], p["length"]
    h = o.embedding(w["embedding"], o.slice(tokens, 1, 0, t))

    def rope(u):
        a, b = o.slice(u, 3, 0, hd // 2), o.slice(u, 3, hd // 2, hd)
        return o.cat([a * x["cos"] - b * x["sin"], b * x["cos"] + a * x["sin"]], 3)

    split = lambda u, n: o.transpose(o.reshape(u, (-1, t, n, hd)), (0, 2, 1, 3))
    for i in range(c["layers"]):
        at = f"layers.{i}."
        y = o.rms_norm(h, w[at + "attention_norm"], 1e-5)
        y = o.attention(rope(split(o.linear(y, w[at + "wq"]), heads)), rope(split(o.linear(y, w[at + "wk"]), kv)), split(o.linear(y, w[at + "wv"]), kv), None, True)
        h = h + o.linear(o.reshape(o.transpose(y, (0, 2, 1, 3)), (-1, t, heads * hd)), w[at + "wo"])
        y = o.rms_norm(h, w[at + "ffn_norm"], 1e-5)
        h = h + o.linear(o.silu(o.linear(y, w[at + "w1"])) * o.linear(y, w[at + "w3"]), w[at + "w2"])
    logits = o.linear(o.rms_norm(h, w["norm"], 1e-5), w["embedding"])
    return o.cross_entropy(o.reshape(logits, (-1, c["vocab"])), o.reshape(o.slice(tokens, 1, 1, t + 1), (-1,)))


def training(o, x, w, p):
    """A step of AdamW that learns at a rate of 0, so that every call finds the same weights: the loss, and the gradients of the norms, the last one's first. Its peers do it their own way
    (ops_torch.Training)."""
    raise NotImplementedError("it does not train here")


RESNET = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # channels inside, blocks, step


def _conv_norm(o, w, x, at, step=1, pad=0, groups=1):
    y = o.conv2d(x, w[at + ".weight"], None, step, pad, groups)
    return o.batch_norm(y, w[at + ".scale"], w[at + ".shift"], w[at + ".mean"], w[at + ".var"], 1e-5)


def resnet50(o, x, w, p):
    h = o.max_pool(o.relu(_conv_norm(o, w, x["x"], "stem", 2, 3)), 3, 2, 1)
    for s, (_, blocks, step) in enumerate(RESNET):
        for b in range(blocks):
            at = f"{s}.{b}."
            y = o.relu(_conv_norm(o, w, h, at + "a"))
            y = o.relu(_conv_norm(o, w, y, at + "b", step if b == 0 else 1, 1))
            y = _conv_norm(o, w, y, at + "c")
            h = o.relu(y + (_conv_norm(o, w, h, at + "d", step) if b == 0 else h))
    return [o.linear(o.spatial_mean(h), w["head.weight"], w["head.bias"])]


def convmixer(o, x, w, p):
    after = lambda y, at: o.batch_norm(o.gelu(y), w[at + ".scale"], w[at + ".shift"], w[at + ".mean"], w[at + ".var"], 1e-5)
    conv = lambda y, at, step, pad, groups: o.conv2d(y, w[at + ".weight"], w[at + ".bias"], step, pad, groups)
    dim, patch, places = 768, 7, 7
    h = after(conv(x["x"], "stem", patch, 0, 1), "stem")
    for i in range(p.get("depth", 32)):
        h = h + after(conv(h, f"{i}.deep", 1, places // 2, dim), f"{i}.deep")
        h = after(conv(h, f"{i}.wide", 1, 0, 1), f"{i}.wide")
    return [o.linear(o.spatial_mean(h), w["head.weight"], w["head.bias"])]


WHISPER = dict(mels=80, frames=3000, dim=384, heads=6, layers=4)


def whisper(o, x, w, p):
    """The encoder of Whisper tiny's sizes: two convolutions over log-mel frames, then pre-norm layers."""
    c = WHISPER
    h = o.gelu(o.conv1d(x["mel"], w["conv1.weight"], w["conv1.bias"], 1, 1))
    h = o.gelu(o.conv1d(h, w["conv2.weight"], w["conv2.bias"], 2, 1))
    h = o.transpose(h, (0, 2, 1)) + w["positions"]
    for i in range(c["layers"]):
        at = f"{i}."
        y = _layer_norm(o, w, h, at + "attn_norm", 1e-5)
        q, k, v = (_linear(o, w, y, at + part) for part in ("q", "k", "v"))
        h = h + _linear(o, w, o.self_attention(q, k, v, c["heads"], None), at + "out")
        y = _layer_norm(o, w, h, at + "mlp_norm", 1e-5)
        h = h + _linear(o, w, o.gelu(_linear(o, w, y, at + "up")), at + "down")
    return [_layer_norm(o, w, h, "norm", 1e-5)]


def attention_scale(head_size):
    return 1.0 / math.sqrt(head_size)
