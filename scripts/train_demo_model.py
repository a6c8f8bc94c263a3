#!/usr/bin/env python3
"""Train the small demo language model of the Llama example, on a CPU.

The model is a byte-level Llama-style decoder of 3.75 million parameters; its
weights are written as one float16 safetensors file of about 7.5 MB.

Text
----
The six completed novels of Jane Austen (Emma, Mansfield Park, Northanger
Abbey, Persuasion, Pride and Prejudice, Sense and Sensibility), as carried by
the Debian package ``r-cran-janeaustenr`` (version 1.0.0-1 in Debian 12).  The
novels are in the public domain (first published 1811-1818, author died 1817);
the package that wraps them is under the MIT licence.  The text itself is not
kept in the repository: this script reads it from the package, either the
installed one or one it downloads with ``apt-get download`` and unpacks with
``dpkg-deb`` into a temporary directory.  Neither root nor R is needed.

Lines of a paragraph are joined, paragraphs are separated by an empty line,
and the ``_`` marks of italics and the few non-ASCII characters are dropped;
4,014,098 bytes result.  The last 64 KiB are held out to measure the validation
loss.

Reproducing the weights
-----------------------
::

    python3 -m venv venv
    venv/bin/pip install torch numpy
    venv/bin/python scripts/train_demo_model.py --compile

(``--compile`` needs a C++ compiler and is about 15 % faster; it is optional.)
The learning rate is a function of wall-clock time (a short warm-up, then a
cosine down to 1 % of the peak at ``--minutes``), so a slower or busier machine
gives a model that has seen less text, not a half-finished schedule.  For the
same reason two runs do not give bit-identical weights.

Every ``--save-every`` minutes the script writes, each by an atomic rename,
the safetensors file (``--out``) and, beside it, a checkpoint with the
optimizer state (``.ckpt``), from which ``--resume`` continues; the losses go
to standard output and to a ``.log.jsonl`` file.

Using the weights
-----------------
::

    scripts/train_demo_model.py --sample "The morning was"
    scripts/train_demo_model.py --sample "The morning was" --reference ref.json

The second form also writes the float32 logits of the prompt's last position,
computed in float32 from the float16 weights, for other implementations to
compare with.

Model
-----
Token = byte (vocabulary 256); no begin or end token.  For each layer

    x = x + wo(attention(attention_norm(x)))
    x = x + w2(silu(w1(ffn_norm(x))) * w3(ffn_norm(x)))

and the logits are ``tok_embeddings @ norm(x)`` (tied weights).  RMSNorm has a
weight only; linear layers have no bias and are stored [out, in], row-major.
Attention is causal and grouped-query (query head h reads key/value head
h // (n_heads / n_kv_heads)), scaled by 1/sqrt(head_dim).  Rotary embedding in
the "rotate_half" convention: with d = head_dim and a_i = pos *
rope_base^(-2i/d) for i < d/2,

    out[i]       = x[i] * cos(a_i) - x[i + d/2] * sin(a_i)
    out[i + d/2] = x[i + d/2] * cos(a_i) + x[i] * sin(a_i)

The sizes are in the safetensors header's ``__metadata__``.
"""

import argparse
import hashlib
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

# Threads that sleep, not spin, at a barrier: much faster on a busy machine.
# Read when torch loads its OpenMP runtime.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

CONFIG = dict(dim=256, n_layers=5, n_heads=4, n_kv_heads=2, head_dim=64,
              hidden_dim=704, vocab_size=256, norm_eps=1e-5,
              rope_base=10000.0, context=512)
TEXT_NOTE = ("The six novels of Jane Austen (public domain), from the Debian "
             "package r-cran-janeaustenr 1.0.0-1 (package: MIT)")
TEXT_PACKAGE = "r-cran-janeaustenr"
TEXT_FILE = "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"
HELD_OUT = 64 * 1024


# ---------------------------------------------------------------- text

def read_character_vectors(rdb):
    """Yields each character vector of an R lazy-load database as a list.

    The file is a row of records: a 4-byte big-endian size and a zlib stream
    that holds one R object in XDR serialization.  Objects that are not plain
    character vectors are skipped.
    """
    pos = 0
    while pos < len(rdb):
        inflate = zlib.decompressobj()
        data = inflate.decompress(rdb[pos + 4:])
        if len(data) != struct.unpack_from(">I", rdb, pos)[0]:
            raise ValueError("unexpected record size in the R database")
        pos = len(rdb) - len(inflate.unused_data)

        if data[:2] != b"X\n":
            raise ValueError("not an XDR serialization")
        version = struct.unpack_from(">I", data, 2)[0]
        at = 14
        if version >= 3:  # followed by the name of the native encoding
            at += 4 + struct.unpack_from(">I", data, at)[0]
        kind, count = struct.unpack_from(">II", data, at)
        at += 8
        if kind & 0xFF != 16:  # STRSXP
            continue
        lines = []
        for _ in range(count):
            flags, size = struct.unpack_from(">Ii", data, at)
            if flags & 0xFF != 9:  # CHARSXP
                raise ValueError("unexpected element in a character vector")
            at += 8
            if size >= 0:  # -1 is NA
                lines.append(data[at:at + size].decode("utf-8"))
                at += size
        yield lines


def clean(lines):
    """Joins the lines of each paragraph; drops italics marks and notes."""
    paragraphs, current = [], []
    for line in lines + [""]:
        line = " ".join(line.replace("_", "").split())
        if line.upper().startswith("A NOTE ON THE TEXT"):
            break
        if line:
            current.append(line)
        elif current:
            paragraphs.append(" ".join(current))
            current = []
    return "\n\n".join(paragraphs) + "\n\n"


def build_text():
    """Returns the training text as bytes, from the Debian package."""
    installed = Path("/") / TEXT_FILE
    if installed.exists():
        rdb = installed.read_bytes()
    else:
        with tempfile.TemporaryDirectory() as tmp:
            subprocess.run(["apt-get", "download", TEXT_PACKAGE], cwd=tmp,
                           check=True)
            deb, = Path(tmp).glob(TEXT_PACKAGE + "_*.deb")
            subprocess.run(["dpkg-deb", "-x", str(deb), tmp], check=True)
            rdb = (Path(tmp) / TEXT_FILE).read_bytes()
    text = "".join(clean(lines) for lines in read_character_vectors(rdb))
    return text.encode("ascii", "ignore")


def load_text(cache):
    cache = Path(cache)
    if not cache.exists():
        write_atomically(cache, build_text())
    text = cache.read_bytes()
    print(f"text: {len(text)} bytes, "
          f"sha256 {hashlib.sha256(text).hexdigest()}", flush=True)
    return text


# ---------------------------------------------------------------- files

def write_atomically(path, data):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = path.with_name(path.name + ".tmp")
    tmp.write_bytes(data)
    os.replace(tmp, path)


def save_safetensors(path, model):
    header = {"__metadata__": {
        **{k: format(v, "g") if isinstance(v, float) else str(v)
           for k, v in CONFIG.items()},
        "text": TEXT_NOTE}}
    chunks, offset = [], 0
    for name, tensor in model.state_dict().items():
        data = tensor.detach().float().numpy().astype("<f2").tobytes()
        header[name] = {"dtype": "F16", "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(data)]}
        chunks.append(data)
        offset += len(data)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    write_atomically(path, struct.pack("<Q", len(head)) + head +
                     b"".join(chunks))


def load_safetensors(path):
    """Returns a Model in float32 with the weights of the file."""
    raw = Path(path).read_bytes()
    size, = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8:8 + size])
    meta = header.pop("__metadata__")
    for key, value in CONFIG.items():
        if float(meta[key]) != value:
            raise ValueError(f"{path}: {key} is {meta[key]}, not {value}")
    state = {}
    for name, entry in header.items():
        if entry["dtype"] != "F16":
            raise ValueError(f"{path}: {name} is {entry['dtype']}, not F16")
        begin, end = (8 + size + o for o in entry["data_offsets"])
        array = np.frombuffer(raw[begin:end], "<f2").astype(np.float32)
        state[name] = torch.from_numpy(array.reshape(entry["shape"]))
    model = Model()
    model.load_state_dict(state)
    return model.eval()


# ---------------------------------------------------------------- model

class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        x = x.float()
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) +
                            CONFIG["norm_eps"])
        return x * scale * self.weight


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        c = CONFIG
        self.wq = nn.Linear(c["dim"], c["n_heads"] * c["head_dim"], bias=False)
        self.wk = nn.Linear(c["dim"], c["n_kv_heads"] * c["head_dim"],
                            bias=False)
        self.wv = nn.Linear(c["dim"], c["n_kv_heads"] * c["head_dim"],
                            bias=False)
        self.wo = nn.Linear(c["n_heads"] * c["head_dim"], c["dim"], bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        d = CONFIG["head_dim"]
        q = self.wq(x).view(b, t, -1, d).transpose(1, 2)
        k = self.wk(x).view(b, t, -1, d).transpose(1, 2)
        v = self.wv(x).view(b, t, -1, d).transpose(1, 2)
        q = rotate(q, cos.to(q.dtype), sin.to(q.dtype))
        k = rotate(k, cos.to(k.dtype), sin.to(k.dtype))
        group = CONFIG["n_heads"] // CONFIG["n_kv_heads"]
        k = k.repeat_interleave(group, dim=1)
        v = v.repeat_interleave(group, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(b, t, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        c = CONFIG
        self.w1 = nn.Linear(c["dim"], c["hidden_dim"], bias=False)
        self.w3 = nn.Linear(c["dim"], c["hidden_dim"], bias=False)
        self.w2 = nn.Linear(c["hidden_dim"], c["dim"], bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = RMSNorm(CONFIG["dim"])
        self.attention = Attention()
        self.ffn_norm = RMSNorm(CONFIG["dim"])
        self.feed_forward = FeedForward()

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed_forward(self.ffn_norm(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        c = CONFIG
        self.tok_embeddings = nn.Embedding(c["vocab_size"], c["dim"])
        self.layers = nn.ModuleList(Layer() for _ in range(c["n_layers"]))
        self.norm = RMSNorm(c["dim"])
        for name, p in self.named_parameters():
            if p.dim() == 2:
                std = 0.02
                if name.endswith(("wo.weight", "w2.weight")):
                    std /= math.sqrt(2 * c["n_layers"])
                nn.init.normal_(p, std=std)
        half = torch.arange(c["head_dim"] // 2, dtype=torch.float64)
        freq = c["rope_base"] ** (-2 * half / c["head_dim"])
        angle = torch.arange(c["context"], dtype=torch.float64)[:, None] * freq
        self.register_buffer("cos", angle.cos().float(), persistent=False)
        self.register_buffer("sin", angle.sin().float(), persistent=False)

    def forward(self, tokens):
        t = tokens.shape[1]
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x, self.cos[:t], self.sin[:t])
        return F.linear(self.norm(x), self.tok_embeddings.weight)


def loss_of(model, batch, bf16):
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        logits = model(batch[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1),
                           batch[:, 1:].flatten())


# ---------------------------------------------------------------- training

def learning_rate(progress, peak):
    """The rate at a fraction of the total time: warm-up, then cosine."""
    warmup = 0.02
    if progress < warmup:
        return peak * max(progress / warmup, 0.02)
    cosine = 0.5 * (1 + math.cos(math.pi *
                                 min((progress - warmup) / (1 - warmup), 1)))
    return peak * (0.01 + 0.99 * cosine)


def train(args):
    text = np.frombuffer(load_text(args.text_cache), np.uint8)
    body, held_out = text[:-HELD_OUT], text[-HELD_OUT:]
    length = CONFIG["context"] + 1

    def cut(source, starts):
        return torch.from_numpy(np.stack(
            [source[s:s + length] for s in starts]).astype(np.int64))

    validation = cut(held_out, range(0, HELD_OUT - length, length - 1))

    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    model = Model()
    decay = [p for p in model.parameters() if p.dim() == 2]
    plain = [p for p in model.parameters() if p.dim() != 2]
    optimizer = torch.optim.AdamW(
        [dict(params=decay, weight_decay=0.1),
         dict(params=plain, weight_decay=0.0)],
        lr=args.lr, betas=(0.9, 0.95), fused=True)

    out = Path(args.out)
    ckpt = out.with_suffix(".ckpt")
    log = out.with_suffix(".log.jsonl")
    step, before = 0, 0.0  # steps and seconds of earlier runs
    if args.resume:
        saved = torch.load(ckpt, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step, before = saved["step"], saved["elapsed"]
        rng = np.random.default_rng(args.seed + step)
        print(f"resumed at step {step}, {before / 60:.1f} min", flush=True)
    else:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("")

    def save(elapsed):
        save_safetensors(out, model)
        tmp = ckpt.with_name(ckpt.name + ".tmp")
        torch.save(dict(model=model.state_dict(), step=step, elapsed=elapsed,
                        optimizer=optimizer.state_dict()), tmp)
        os.replace(tmp, ckpt)

    def validate():
        with torch.no_grad():
            parts = [loss_of(run, validation[i:i + args.batch], args.bf16)
                     for i in range(0, len(validation) - args.batch + 1,
                                    args.batch)]
        return float(torch.stack(parts).mean())

    run = torch.compile(model) if args.compile else model
    total = args.minutes * 60
    start = time.monotonic()
    saved_at, logged_at, logged_step, losses = before, before, step, []
    while True:
        elapsed = before + time.monotonic() - start
        done = elapsed >= total or step == args.max_steps
        if elapsed - logged_at >= 15 or done:
            rate = (step - logged_step) * args.batch * CONFIG["context"] / max(
                elapsed - logged_at, 1e-9)
            record = dict(step=step, minutes=round(elapsed / 60, 2),
                          loss=round(float(np.mean(losses or [0])), 4),
                          tokens_per_s=round(rate))
            if elapsed - saved_at >= args.save_every * 60 or done:
                record["validation"] = round(validate(), 4)
                save(elapsed)
                saved_at = elapsed
            print(json.dumps(record), flush=True)
            with log.open("a") as f:
                f.write(json.dumps(record) + "\n")
            logged_at = before + time.monotonic() - start
            logged_step, losses = step, []
        if done:
            break

        for group in optimizer.param_groups:
            group["lr"] = learning_rate(elapsed / total, args.lr)
        batch = cut(body, rng.integers(0, len(body) - length, args.batch))
        loss = loss_of(run, batch, args.bf16)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        step += 1


# ---------------------------------------------------------------- sampling

@torch.no_grad()
def generate(model, prompt, count, temperature, seed):
    """Yields `count` bytes; a temperature of 0 takes the likeliest byte."""
    generator = torch.Generator().manual_seed(seed)
    tokens = list(prompt)
    for _ in range(count):
        window = torch.tensor([tokens[-CONFIG["context"]:]])
        logits = model(window)[0, -1]
        if temperature > 0:
            p = torch.softmax(logits / temperature, -1)
            token = int(torch.multinomial(p, 1, generator=generator))
        else:
            token = int(logits.argmax())
        tokens.append(token)
        yield token


def sample(args):
    model = load_safetensors(args.out)
    prompt = args.sample.encode()
    if not 0 < len(prompt) <= CONFIG["context"]:
        sys.exit(f"the prompt must have 1 to {CONFIG['context']} bytes")
    if args.reference:
        with torch.no_grad():
            logits = model(torch.tensor([list(prompt)]))[0, -1]
        greedy = list(generate(model, prompt, 32, 0, 0))
        write_atomically(args.reference, (json.dumps(dict(
            model_sha256=hashlib.sha256(
                Path(args.out).read_bytes()).hexdigest(),
            prompt=args.sample,
            tokens=list(prompt),
            logits=[float(format(x, ".9g")) for x in logits.tolist()],
            greedy=greedy)) + "\n").encode())
    sys.stdout.write(args.sample)
    for token in generate(model, prompt, args.length, args.temperature,
                          args.seed):
        sys.stdout.write(chr(token))
        sys.stdout.flush()
    print()


def main():
    p = argparse.ArgumentParser(
        description="Train (or, with --sample, use) the demo language model.")
    p.add_argument("--text-cache", default="build/demo-model-text.txt",
                   help="training text; built from the Debian package when "
                        "missing (default: %(default)s)")
    p.add_argument("--out", default="examples/llama/model.safetensors",
                   help="weights to write, or with --sample to read "
                        "(default: %(default)s)")
    p.add_argument("--minutes", type=float, default=45,
                   help="length of the training (default: %(default)s)")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--resume", action="store_true",
                   help="continue from the checkpoint beside --out")
    p.add_argument("--batch", type=int, default=8,
                   help="sequences per step (default: %(default)s)")
    p.add_argument("--lr", type=float, default=3e-3,
                   help="peak learning rate (default: %(default)s)")
    p.add_argument("--save-every", type=float, default=3, metavar="MINUTES")
    p.add_argument("--max-steps", type=int, default=-1,
                   help="stop early, for a trial")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--bf16", action=argparse.BooleanOptionalAction,
                   default=True, help="train under bfloat16 autocast")
    p.add_argument("--compile", action="store_true",
                   help="train through torch.compile (needs a C++ compiler)")
    p.add_argument("--sample", metavar="PROMPT",
                   help="do not train: continue this prompt")
    p.add_argument("--length", type=int, default=400,
                   help="bytes to sample (default: %(default)s)")
    p.add_argument("--temperature", type=float, default=0.8)
    p.add_argument("--reference", metavar="JSON",
                   help="with --sample: also write the last position's "
                        "logits and a greedy continuation of 32 bytes")
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    if args.sample is not None:
        sample(args)
    else:
        train(args)


if __name__ == "__main__":
    main()
