#!/usr/bin/env python3
"""docs/operators.md from the operator table (`reprise ops`, $1) and the public headers; what is absent is what of ATen's names below neither has.

  operators_page.py REPRISE           writes the page
  operators_page.py REPRISE --check   exit code 1 if the page is not what it would write
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "operators.md"

# (area, what to do instead, names)
ATEN = [
    ("Convolution and pooling", "`adaptive_avg_pool2d` and `max_pool2d`, by other windows",
     "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution im2col col2im max_pool1d max_pool2d max_pool3d max_unpool2d avg_pool1d avg_pool2d avg_pool3d "
     "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d fractional_max_pool2d"),
    ("Resampling and rearranging images", "`interpolate`", "upsample_nearest1d upsample_nearest2d upsample_linear1d upsample_bilinear2d upsample_bicubic2d "
     "upsample_trilinear3d grid_sampler affine_grid_generator pixel_shuffle pixel_unshuffle channel_shuffle reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d"),
    ("Normalisation", "a few reductions, which fuse", "batch_norm instance_norm group_norm renorm"),
    ("Recurrent cells", "a product behind each step", "lstm lstm_cell gru gru_cell rnn_tanh rnn_relu"),
    ("Complex numbers and Fourier transforms", "complex numbers are pairs, a last dimension of size 2, and have functions of their own (`reprise/fft.h`)",
     "complex polar view_as_complex view_as_real real imag angle conj fft ifft rfft irfft hfft ihfft stft istft hann_window hamming_window kaiser_window"),
    ("Linear algebra beyond products", "`solve`, `cholesky`, `eigh`, `svd`, `pinv`", "inverse solve cholesky det slogdet logdet qr svd eig eigh lstsq pinverse matrix_power matrix_exp norm cross "
     "cholesky_solve triangular_solve kron tensordot chain_matmul multi_dot vdot inner bilinear cdist pdist"),
    ("Sizes that depend on values", "`unique` of all elements", "nonzero argwhere masked_select unique unique_dim unique_consecutive bincount histc"),
    ("Order and statistics", "`quantile`, `sort`, `histc`", "kthvalue median nanmedian mode quantile cummax cummin cumprod logcumsumexp searchsorted bucketize isin msort nanmean cov corrcoef histogram"),
    ("Random numbers", "`rand`, `randn`, `randint` and arithmetic", "randperm random exponential geometric poisson cauchy log_normal rrelu alpha_dropout"),
    ("Losses", "`log_softmax` and sums", "cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy binary_cross_entropy_with_logits ctc_loss"),
    ("Sparse, quantized and nested tensors", "quantized weights are integers with scales (`scaled_mm`, `int_mm`), or blocks of GGUF files", "sparse_coo_tensor sparse_csr_tensor quantize_per_tensor quantize_per_channel nested_tensor"),
    ("Special functions", "`digamma`, `lgamma`", "digamma polygamma mvlgamma erfinv igamma igammac nextafter frexp ldexp gcd lcm logspace"),
    ("Conveniences", "`x.options()`, `repeat`, `gather`, `view` and `expand`, `ne(0).sum()`", "new_zeros new_ones new_full new_empty tile meshgrid atleast_1d atleast_2d column_stack dstack diag diag_embed "
     "diagflat trace block_diag rot90 fliplr flipud take take_along_dim count_nonzero aminmax var_mean std_mean dist cosine_similarity diff embedding_bag float_power rsub cartesian_prod combinations "
     "tril_indices triu_indices bucketize broadcast_tensors vander trapezoid empty_strided linalg_vector_norm"),
    ("Second names", "the first one", "absolute negative arccos arcsin arctan arctan2 arccosh arcsinh arctanh concat concatenate row_stack multiply divide true_divide subtract greater greater_equal less less_equal not_equal "
     "fix moveaxis adjoint mH ger ravel sgn special_expm1 clamp_"),
]


def table(tool):
    """[(name, schema, how, dtypes)]"""
    rows = []
    for line in subprocess.run([tool, "ops"], check=True, capture_output=True, text=True).stdout.splitlines():
        if re.match(r"[a-z_0-9:]+\(", line):
            rows.append([line.split("(")[0], line, "", ""])
        elif line.startswith("    dtypes: "):
            rows[-1][3] = line[12:]
        elif line.startswith("    ") and rows and not rows[-1][2]:
            rows[-1][2] = line.strip()
    return rows


def families():
    """{header: its free functions} of the headers of operators beside ops.h: those that give tensors and are no part of the machinery."""
    machinery = {"ops", "tensor", "compile", "cond", "library", "patterns", "pattern_match", "decomposition", "device", "dlpack", "flatten", "kernel", "safetensors", "weights", "settings",
                 "accessor", "compat", "gguf", "indexing", "nn", "nn_layers",
                 "nn_losses", "nn_recurrent", "nn_transformers"}
    found = {}
    for header in sorted((ROOT / "include" / "reprise").glob("*.h")):
        if header.stem not in machinery:
            names = set(re.findall(r"^(?:inline )?(?:Tensor|TensorPair|Unique|std::vector<Tensor>|std::tuple<Tensor[^>]*>|std::pair<Tensor[^>]*>) ([a-z]\w*)\(", header.read_text(), re.M)) - {"operator"}
            if names:
                found[header.name] = names
    return found


def functions():
    """Free functions, and methods that write."""
    headers = ROOT / "include" / "reprise"
    ops = (headers / "ops.h").read_text()
    free = set(re.findall(r"^(?:inline )?(?:Tensor|TensorPair|bool|std::vector<Tensor>) ([a-z]\w*)\(", ops, re.M)) - {"operator"}
    for names in families().values():
        free |= names
    writing = set()
    for inc in ("elementwise_ops.inc", "reduction_ops.inc", "second_names.inc"):
        for kind, name, rest in re.findall(r"^REPRISE_((?:SECOND_)?(?:UNARY|BINARY|METHOD)|REDUCTION|REDUCTION_AS)\((\w+),([^)]*)\)", (headers / inc).read_text(), re.M):
            free.add(name)
            if "Inplace" in rest:
                writing.add(name + "_")
    writing |= set(re.findall(r"^Tensor (\w+_)\(", (headers / "tensor_methods.inc").read_text(), re.M))
    methods = set(re.findall(r"\b([a-z]\w*)\(", (headers / "tensor_methods.inc").read_text())) | set(re.findall(r"\b([a-z]\w*)\(", (headers / "tensor.h").read_text()))
    return free, writing, methods


def known(tool):
    """Every name that a program can call: rows, functions, methods, and those of which there is only a form that writes."""
    free, writing, methods = functions()
    return {r[0] for r in table(tool)} | free | methods | writing | {w.rstrip("_") for w in writing | free}


def short(dtypes):
    every = "float32 float64 float16 bfloat16 int8 uint8 int32 int64 bool".split()
    have = dtypes.split()
    named = {"all": every, "all but bool": every[:-1], "floats": every[:4], "integers": every[4:8], "integers, bool": every[4:], "float32, float64": every[:2]}
    eight = [d for d in have if d.startswith("float8")]
    rest = [d for d in have if d not in eight]
    text = next((k for k, v in named.items() if rest == v), ", ".join(rest))
    return ", ".join(t for t in (text, "float8" if len(eight) == 2 else ", ".join(eight)) if t)


def page(tool):
    rows, (free, writing, _) = table(tool), functions()
    names, here = {r[0] for r in rows}, known(tool)
    out = ["# Operators", "",
           "Names, argument order, broadcasting and promotion are ATen's. Each is a function (`rp::softmax(x, -1)`), most are methods, too (`x.softmax(-1)`). `reprise ops NAME` tells one with all it is known by.",
           "This page is generated from the operator table and the public headers (`./run docs --write`).", "", "## The table", "",
           "What compiles: each of these is known to passes and has kernels. *How*: as part of a fused loop, by a kernel of its own (of which matrix products and attention are made of machine code, too), or "
           "rewritten into others first. *twin*: `name_`, which writes into its first argument.", "", "| operator | how | dtypes |", "|---|---|---|"]
    for name, schema, how, dtypes in sorted(rows):
        out.append(f"| `{schema}` | {how.replace('in-place twin', 'twin')} | {short(dtypes) or 'as its header says'} |")
    by_header = families()
    made = sorted(free - names - {n for all_names in by_header.values() for n in all_names})
    out += ["", "## Functions made of these", "", "In `reprise/ops.h`: " + " ".join(f"`{n}`" for n in made), ""]
    for header, all_names in by_header.items():
        out += [f"In `reprise/{header}`: " + " ".join(f"`{n}`" for n in sorted(all_names)), ""]
    out += [ "## Methods that write into their tensor", "",
            "(What is not a twin of the table is a copy, a fill, or a change of metadata.)", "", " ".join(f"`{n}`" for n in sorted(writing)), "",
            "Index expressions write, too: `x[i] = y`, `x.slice(0, 1, 2) = 3.0`, `x += y`.", "", "## Absent", "",
            "Operators of ATen that a program for inference may ask for and that are not there; what is missing is refused by the compiler of C++, not while the program runs. "
            "[An operator of your own](custom_operators.md) is a few lines.", "", "| area | names | instead |", "|---|---|---|"]
    for area, instead, all_names in ATEN:
        absent = [n for n in dict.fromkeys(all_names.split()) if n not in here]
        if absent:
            out.append(f"| {area} | {' '.join(f'`{n}`' for n in absent)} | {instead} |")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    text = page(sys.argv[1])
    if len(sys.argv) == 2:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit("docs/operators.md is not what the operator table and the headers say: ./run docs --write")
