#!/usr/bin/env python3
"""Nets that PyTorch exports, with random weights, agree with ONNX Runtime within 1e-4, eagerly and compiled, at several sizes.

  python3 -m pip install torch torchvision onnx onnxruntime        (and onnxscript for --exporter dynamo)
  scripts/onnx_models.py [--out FOLDER] [--only NAME] [--exporter torchscript|dynamo|both] [--backend build/tools/reprise_onnx_backend]

Writes a folder for each net (model.onnx, and data sets of inputs and of what ONNX Runtime gives for them), which reprise_onnx_backend runs. Exits with 1 where
one disagrees.
"""
import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))
        self.heads = heads

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, mask=None):
        y = F.scaled_dot_product_attention(self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x)), attn_mask=mask)
        return self.o(y.transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    """A layer of an encoder: norms behind (BERT) or before (Whisper) its two parts."""

    def __init__(self, dim, heads, before):
        super().__init__()
        self.attention, self.before = Attention(dim, heads), before
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.first, self.second = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, mask=None):
        if self.before:
            x = x + self.attention(self.first(x), mask)
            return x + self.down(F.gelu(self.up(self.second(x))))
        x = self.first(x + self.attention(x, mask))
        return self.second(x + self.down(F.gelu(self.up(x))))


class MiniLM(nn.Module):
    """6 layers of 384, as all-MiniLM-L6: token ids and their mask to sentence vectors."""

    def __init__(self, vocabulary=1000, dim=384, layers=6, heads=12, length=512):
        super().__init__()
        self.words, self.places, self.types = nn.Embedding(vocabulary, dim), nn.Embedding(length, dim), nn.Embedding(2, dim)
        self.norm = nn.LayerNorm(dim)
        self.layers = nn.ModuleList(Block(dim, heads, False) for _ in range(layers))

    def forward(self, ids, mask):
        at = torch.arange(ids.shape[1], device=ids.device).unsqueeze(0)
        x = self.norm(self.words(ids) + self.places(at) + self.types(torch.zeros_like(ids)))
        hidden = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, hidden)
        m = mask.unsqueeze(-1).to(x.dtype)
        return F.normalize((x * m).sum(1) / m.sum(1).clamp(min=1e-9), dim=-1)


class WhisperEncoder(nn.Module):
    """Whisper-tiny's: 4 layers of 384, a spectrum of 80 bands to states."""

    def __init__(self, dim=384, layers=4, heads=6, length=1500):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(80, dim, 3, padding=1), nn.Conv1d(dim, dim, 3, stride=2, padding=1)
        angles = torch.arange(length)[:, None] * torch.exp(-math.log(10000) / (dim // 2 - 1) * torch.arange(dim // 2))
        self.register_buffer("places", torch.cat([angles.sin(), angles.cos()], 1))
        self.layers = nn.ModuleList(Block(dim, heads, True) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)

    def forward(self, mel):
        x = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).transpose(1, 2)
        x = x + self.places[: x.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class GPT2(nn.Module):
    """4 layers of GPT-2's kind with a cache: new tokens and the keys and values of those before, to logits and the longer cache."""

    def __init__(self, vocabulary=1000, dim=256, layers=4, heads=4, length=256):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, dim), nn.Embedding(length, dim)
        self.heads = heads
        self.qkv = nn.ModuleList(nn.Linear(dim, 3 * dim) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(dim, dim) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(dim, 4 * dim) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(4 * dim, dim) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2 * layers + 1))

    def forward(self, ids, keys, values):
        past, n = keys.shape[3], ids.shape[1]
        at = torch.arange(past, past + n, device=ids.device)
        x = self.words(ids) + self.places(at)
        seen = torch.arange(past + n, device=ids.device)[None, :] <= at[:, None]
        all_keys, all_values = [], []
        for i, qkv in enumerate(self.qkv):
            q, k, v = (t.view(ids.shape[0], n, self.heads, -1).transpose(1, 2) for t in qkv(self.norms[2 * i](x)).chunk(3, -1))
            k, v = torch.cat([keys[i], k], 2), torch.cat([values[i], v], 2)
            all_keys.append(k), all_values.append(v)
            score = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
            y = score.masked_fill(~seen, float("-inf")).softmax(-1) @ v
            x = x + self.out[i](y.transpose(1, 2).reshape(x.shape))
            x = x + self.down[i](F.gelu(self.up[i](self.norms[2 * i + 1](x)), approximate="tanh"))
        return self.norms[-1](x) @ self.words.weight.T, torch.stack(all_keys), torch.stack(all_values)


def images(batch, size):
    return (torch.randn(batch, 3, size, size),)


def text(batch, length):
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, length // 2 :] = 0
    return torch.randint(0, 1000, (batch, length)), mask


def cached(batch, new, past):
    return torch.randint(0, 1000, (batch, new)), torch.randn(4, batch, 4, past, 64), torch.randn(4, batch, 4, past, 64)


def nets():
    """name: net, names of inputs and outputs, which dimensions are dynamic, arguments for export and for the tests."""
    import torchvision

    yield "resnet18", torchvision.models.resnet18(), ["x"], ["y"], {"x": {0: "batch"}}, [images(2, 64), images(3, 64), images(1, 64)]
    yield "mobilenet_v3", torchvision.models.mobilenet_v3_small(), ["x"], ["y"], {"x": {0: "batch"}}, [images(2, 64), images(5, 64), images(1, 64)]
    yield "minilm", MiniLM(), ["ids", "mask"], ["y"], {"ids": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}}, [text(2, 16), text(3, 21), text(4, 7)]
    yield "whisper_tiny_encoder", WhisperEncoder(), ["mel"], ["y"], {"mel": {0: "batch"}}, [(torch.randn(2, 80, 400),), (torch.randn(3, 80, 400),)]
    cache = {0 + 1: "batch", 3: "past"}
    yield "gpt2", GPT2(), ["ids", "keys", "values"], ["logits", "new_keys", "new_values"], {"ids": {0: "batch", 1: "new"}, "keys": cache, "values": cache}, [cached(2, 3, 5), cached(2, 4, 8), cached(3, 2, 31)]


def export(net, arguments, path, inputs, outputs, dynamic, exporter):
    if exporter == "torchscript":
        torch.onnx.export(net, arguments, path, input_names=inputs, output_names=outputs, dynamic_axes=dynamic, opset_version=17, dynamo=False)
        return
    named = {}
    shapes = tuple({d: named.setdefault(n, torch.export.Dim(n, min=2, max=1 << 15) if n == "batch" else torch.export.Dim.AUTO) for d, n in dynamic.get(i, {}).items()} for i in inputs)
    torch.onnx.export(net, arguments, path, input_names=inputs, output_names=outputs, dynamic_shapes=shapes, opset_version=18, dynamo=True, external_data=False)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", default=None)
    options.add_argument("--only", default=None)
    options.add_argument("--exporter", choices=["dynamo", "torchscript", "both"], default="torchscript")
    options.add_argument("--backend", default="build/tools/reprise_onnx_backend")
    o = options.parse_args()
    out = pathlib.Path(o.out or tempfile.mkdtemp(prefix="onnx_models_"))
    torch.manual_seed(1)
    folders = []
    for name, net, inputs, outputs, dynamic, calls in nets():
        if o.only and o.only != name:
            continue
        net.eval()
        for exporter in ["torchscript", "dynamo"] if o.exporter == "both" else [o.exporter]:
            folder = out / (name if o.exporter != "both" else f"{name}_{exporter}")
            folder.mkdir(parents=True, exist_ok=True)
            with torch.no_grad():
                export(net, calls[0], str(folder / "model.onnx"), inputs, outputs, dynamic, exporter)
            session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
            taken = {i.name for i in session.get_inputs()}
            for number, arguments in enumerate(calls):
                data = folder / f"test_data_set_{number}"
                data.mkdir(exist_ok=True)
                given = {n: a.numpy() for n, a in zip(inputs, arguments) if n in taken}
                for i, array in enumerate(given.values()):
                    (data / f"input_{i}.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
                for i, array in enumerate(session.run(None, given)):
                    (data / f"output_{i}.pb").write_bytes(onnx.numpy_helper.from_array(np.asarray(array)).SerializeToString())
            folders.append(str(folder))
    print("\n".join(folders), file=sys.stderr)
    return subprocess.run([o.backend, "--tolerance", "1e-4", *folders], check=False).returncode


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
