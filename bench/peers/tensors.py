"""Tensors between processes: safetensors files of inputs and weights, and samples of results, which are compared with the standard library alone."""
import array
import json
import math
import struct
from dataclasses import dataclass

SAMPLES = 1 << 16
NAMES = {"F32": "float32", "F16": "float16", "I64": "int64", "I32": "int32", "I8": "int8", "U8": "uint8", "BOOL": "bool", "BF16": "uint16"}


@dataclass
class Array:
    """A numpy array; bfloat16 is what numpy has no name for, held as uint16."""
    array: object
    bfloat16: bool = False


def to_bfloat16(x):
    import numpy as np

    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return Array(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16), True)


def save(path, tensors):
    """tensors: Array by name."""
    import numpy as np

    header, at = {}, 0
    names = {v: k for k, v in NAMES.items()}
    for k, t in tensors.items():
        header[k] = {"dtype": names[str(t.array.dtype)], "shape": list(t.array.shape), "data_offsets": [at, at + t.array.nbytes]}
        at += t.array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for t in tensors.values():
            f.write(np.ascontiguousarray(t.array).tobytes())


def places(path):
    """(dtype, sizes, first byte, byte behind the last) by name."""
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(size))
    return {k: (t["dtype"], t["shape"], *(8 + size + i for i in t["data_offsets"])) for k, t in header.items() if k != "__metadata__"}


def load(path):
    import numpy as np

    data = np.memmap(path, np.uint8, "r")
    return {k: Array(np.frombuffer(data[begin:end], np.dtype(NAMES[t])).reshape(sizes), t == "BF16") for k, (t, sizes, begin, end) in places(path).items()}


def sample_step(count):
    """Every n-th element of all results in a row is compared: odd, so that rows and columns are all met."""
    return max(1, -(-count // SAMPLES) | 1)


def write_samples(path, results):
    """results: numpy arrays. How many elements there are, then float32 of every n-th."""
    import numpy as np

    flat = np.concatenate([np.asarray(r).reshape(-1).astype(np.float32) for r in results])
    with open(path, "wb") as f:
        f.write(struct.pack("<q", flat.size) + flat[:: sample_step(flat.size)].tobytes())


def read_samples(path):
    with open(path, "rb") as f:
        data = f.read()
    if len(data) < 8 or (len(data) - 8) % 4:
        raise ValueError("the file of results is cut off")
    values = array.array("f")
    values.frombytes(data[8:])
    return struct.unpack("<q", data[:8])[0], values


def difference(a, b):
    """Of two (count, samples): the largest difference over the largest element; infinite where they cannot be compared."""
    if a[0] != b[0] or len(a[1]) != len(b[1]):
        return math.inf
    most, largest = 0.0, 0.0
    for u, v in zip(a[1], b[1]):
        if not (math.isfinite(u) and math.isfinite(v)):
            if u == v or (math.isnan(u) and math.isnan(v)):
                continue
            return math.inf
        most, largest = max(most, abs(u - v)), max(largest, abs(v))
    return most / largest if largest else (0.0 if most == 0 else math.inf)
