"""What comparisons with PyTorch share: tensors as text, reprise_evaluate as a process, values that are near enough."""

import json
import math
import select
import subprocess
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = str(ROOT / "build" / "bench" / "reprise_evaluate")
ULP = {torch.float64: 2**-52, torch.float32: 2**-23, torch.float16: 2**-10, torch.bfloat16: 2**-7}


class NoText(Exception):
    """An argument has no form in JSON."""


def number(v):
    if isinstance(v, float):
        if math.isnan(v):
            return "nan"
        if math.isinf(v):
            return "inf" if v > 0 else "-inf"
        if v == 0 and math.copysign(1, v) < 0:
            return "-0"
    return v


def told(a):
    """An argument as bench/aten/evaluate.cc reads it."""
    if isinstance(a, torch.Tensor):
        a = a.detach()
        form = {"t": str(a.dtype)[6:], "s": list(a.shape)}
        flat = a
        if not a.is_contiguous() and a.numel():
            end = sum((n - 1) * k for n, k in zip(a.shape, a.stride())) + 1
            flat = torch.as_strided(a, (end,), (1,))
            form.update(k=list(a.stride()), o=0)
        flat = flat.reshape(-1)
        return {**form, "d": [number(v) for v in (flat.double() if a.dtype.is_floating_point else flat).tolist()]}
    if isinstance(a, torch.dtype):
        return str(a)[6:]
    if isinstance(a, (list, tuple, torch.Size)):
        return [told(v) for v in a]
    if a is None or isinstance(a, (bool, int, float, str)):
        return number(a)
    raise NoText(f"an argument of type {type(a).__name__}")


class Evaluator:
    """reprise_evaluate; started anew after a crash, and after an answer that took longer than `seconds`."""

    def __init__(self, path=PROGRAM, seconds=None):
        self.path, self.seconds, self.process = path, seconds, None

    def __call__(self, request):
        if self.process is None:
            self.process = subprocess.Popen(
                [self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        line = b""
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            line = self.answer()
        except BrokenPipeError:
            pass
        except TimeoutError:
            self.close()
            return {"e": "Hang", "m": f"no answer in {self.seconds} s"}
        if not line.endswith(b"\n"):
            status = self.process.wait()
            self.process = None
            return {"e": "Crash", "m": f"the evaluator ended with status {status}"}
        return json.loads(line)

    def answer(self):
        """A line of the process, which writes one a request."""
        end = time.monotonic() + (self.seconds or 0)
        read = self.process.stdout
        if not self.seconds:
            return read.readline()
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([read], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError
            part = read.read1(1 << 20)
            if not part:
                break
            line += part
        return line

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def difference(got, want, close):
    """None, or what differs of one result; close(values, expected) says which floats (in double) are near enough."""
    if not isinstance(want, torch.Tensor):
        return None if got == want else f"{got} for {want}"
    dtype = str(want.dtype)[6:]
    if got["t"] != dtype:
        return f"dtype {got['t']} for {dtype}"
    if got["s"] != list(want.shape):
        return f"sizes {got['s']} for {list(want.shape)}"
    if want.dtype.is_floating_point:
        values = torch.tensor([float(v) for v in got["d"]], dtype=torch.float64)
        expected = want.detach().double().reshape(-1)
        right = close(values, expected) | (values == expected) | (values.isnan() & expected.isnan())
    else:
        values = torch.tensor([int(v) for v in got["d"]], dtype=torch.int64)
        expected = want.reshape(-1).to(torch.int64)
        right = values == expected
    if right.all():
        return None
    i = int(torch.nonzero(~right)[0])
    first = f"{values[i].item()!r} for {expected[i].item()!r} at {i}"
    return f"{int((~right).sum())} of {len(values)} values, the first {first}"


def largest(expected):
    """Of the finite ones, at least 1."""
    finite = expected[torch.isfinite(expected)]
    return max(1.0, finite.abs().max().item()) if len(finite) else 1.0
