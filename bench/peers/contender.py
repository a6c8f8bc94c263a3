#!/usr/bin/env python3
"""A peer in a process of its own: python contender.py NAME THREADS. Answers a line of JSON to each line of JSON:

  {"do": "prepare", "net", "point", "dynamic": BOOL, "inputs": FILE, "weights": FILE or null, "models": {"own", "plain": ONNX FILE or why there is none}, "onnx": FILE or null}
                                       {"ok": true, "first_call": SECONDS, "load": SECONDS}
  {"do": "run", "seconds": S}          {"ok": true, "seconds": MEDIAN OF A CALL, "calls": N}
  {"do": "result", "file": FILE}       {"ok": true}
  {"do": "memory"}                     {"ok": true, "peak_bytes": N}
  {"do": "quit"}

What is not offered is {"ok": false, "absent": true, "error": TEXT}. bench/peers/reprise_peer.cc is Reprise's side of it."""
import json
import os
import re
import statistics
import sys
import time
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def peer(name, threads):
    if name in ("torch", "torch.compile"):
        from peers import ops_torch

        return ops_torch.Peer(threads, name == "torch.compile")
    if name == "jax":
        from peers import ops_jax

        return ops_jax.Peer(threads)
    if name == "mlx":
        from peers import ops_mlx

        return ops_mlx.Peer(threads)
    if name == "drjit":
        from peers import ops_drjit

        return ops_drjit.Peer(threads)
    if name == "numpy":
        from peers import ops_numpy

        return ops_numpy.Peer(threads)
    if name in ("onnxruntime", "openvino"):
        from peers import run_onnx

        return (run_onnx.OrtPeer if name == "onnxruntime" else run_onnx.OpenVinoPeer)(threads)
    raise SystemExit(f"contender: no peer '{name}'")


def model(ask, own_attention):
    path = ask["models"]["own" if own_attention else "plain"]
    if not path.endswith(".onnx"):
        raise NotImplementedError(path)
    return path


def split_sets(tensors):
    """Inputs are named SET.NAME; a call takes the next set."""
    sets = {}
    for name, t in tensors.items():
        number, _, rest = name.partition(".")
        sets.setdefault(int(number), {})[rest] = t
    return [sets[i] for i in sorted(sets)]


def measure(call, n, seconds, once):
    """Median over batches of as many calls as take a millisecond: seconds of a call. once: what it was before; else it is looked for. The first calls are not counted."""
    begin = time.perf_counter()
    for i in range(1 if once else n):
        call(i)
    once = once or (time.perf_counter() - begin) / n
    batch = max(1, -(-max(1, round(1e-3 / max(once, 1e-9))) // n)) * n
    times, until, calls = [], time.perf_counter() + seconds, 0
    while not times or time.perf_counter() < until:
        begin = time.perf_counter()
        for i in range(batch):
            call(i % n)
        times.append((time.perf_counter() - begin) / batch)
        calls += batch
    return {"seconds": statistics.median(times), "calls": calls}


def main():
    name, threads = sys.argv[1], int(sys.argv[2])
    # What libraries print is no answer.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(**what):
        answers.write(json.dumps(what) + "\n")

    from peers import nets
    from peers import tensors as files

    try:
        this = peer(name, threads)
    except ImportError as error:
        say(ok=False, absent=True, error=f"{type(error).__name__}: {error}")
        return
    say(ok=True, version=this.version)
    call, sets, once = None, [], None
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            if ask["do"] == "quit":
                return
            if ask["do"] == "prepare":
                call, sets, once = None, [], None
                begin = time.perf_counter()
                sets = split_sets(files.load(ask["inputs"]))
                weights = files.load(ask["weights"]) if ask["weights"] else {}
                job = SimpleNamespace(net=getattr(nets, ask["net"]), point=ask["point"], dynamic=ask["dynamic"], model=lambda own: model(ask, own))
                staged = this.stage(job, sets, weights)
                loaded = time.perf_counter()
                call = this.start(staged)
                call(0)
                say(ok=True, load=loaded - begin, first_call=time.perf_counter() - loaded)
            elif ask["do"] == "run":
                found = measure(call, len(sets), ask["seconds"], once)
                once = found["seconds"]
                say(ok=True, **found)
            elif ask["do"] == "result":
                files.write_samples(ask["file"], [r for i in range(len(sets)) for r in this.arrays(call(i))])
                say(ok=True)
            elif ask["do"] == "memory":
                peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
                say(ok=True, peak_bytes=int(peak.group(1)) * 1024)
        except (NotImplementedError, AttributeError) as error:
            call = None
            say(ok=False, absent=True, error=f"{type(error).__name__}: {error}"[:300])
        except Exception as error:  # whatever a library throws is this case's, not the run's
            call = None
            say(ok=False, error=f"{type(error).__name__}: {error}".replace("\n", " ")[:300])


if __name__ == "__main__":
    main()
