#!/usr/bin/env python3
"""Measures Reprise and what a user would take in its place, in turns, in one run: ./run bench --peers (docs/performance.md)."""
import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from peers import driver, report  # noqa: E402
from peers.workloads import WORKLOADS, told  # noqa: E402


def parse(arguments):
    groups = list(dict.fromkeys(w.group for w in WORKLOADS))
    parser = argparse.ArgumentParser(prog="./run bench --peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="groups: " + ", ".join(groups) + "\npeers: " + ", ".join(driver.PEERS) + "\nPEERS_PYTHON=FILE: an interpreter that has the peers; nothing is installed then.")
    parser.add_argument("--build", default=str(ROOT / "build"), help=argparse.SUPPRESS)
    parser.add_argument("--only", help="groups or rows (see --list), separated by commas")
    parser.add_argument("--peers-only", metavar="NAMES", help="these peers, separated by commas")
    parser.add_argument("--threads", help="numbers of threads, separated by commas; default: 1, and 2 where a figure asks for it")
    parser.add_argument("--quick", action="store_true", help="the smallest and the largest point of each workload, short rounds, no large models")
    parser.add_argument("--full", action="store_true", help="also the models of 1.1 billion weights (9 GB of memory)")
    parser.add_argument("--resume", action="store_true", help="go on where an earlier run was cut off: points that it has measured are not measured again")
    parser.add_argument("--for", dest="budget", type=float, metavar="SECONDS", help="begin no further point after that time (then: --resume)")
    parser.add_argument("--rounds", type=int, help="turns of each contender (default 5)")
    parser.add_argument("--seconds", type=float, help="of a contender's turn (default 0.15)")
    parser.add_argument("--results", default=str(ROOT / "bench" / "results"), help="folder of the results file, the table and the pictures")
    parser.add_argument("--write", action="store_true", help="measure nothing: write the results, table and pictures of what was measured so far")
    parser.add_argument("--revision", help="of the library that is measured (default: git's); with --write: of what was measured so far")
    parser.add_argument("--docs", action="store_true", help="also write the table of figures into docs/performance.md")
    parser.add_argument("--json", action="store_true", help="print what was measured as JSON")
    parser.add_argument("--list", action="store_true", help="say what there is, measure nothing")
    o = parser.parse_args(arguments)
    names = [n.strip() for n in o.only.split(",")] if o.only else None
    if names:
        unknown = [n for n in names if n not in groups and n not in {w.row for w in WORKLOADS}]
        if unknown:
            parser.error(f"no group or row '{unknown[0]}': there are {', '.join(groups)} (--list)")
    o.workloads = [w for w in WORKLOADS if (names is None or w.group in names or w.row in names) and (o.full or not w.full) and not (o.quick and w.slow and names is None)]
    cores = len(os.sched_getaffinity(0))
    try:
        o.thread_list = [int(t) for t in o.threads.split(",")] if o.threads else None
    except ValueError:
        parser.error(f"--threads '{o.threads}': expected numbers, separated by commas")
    if o.thread_list and not all(1 <= t <= cores for t in o.thread_list):
        parser.error(f"--threads '{o.threads}': this process may use {cores} core{'s' if cores > 1 else ''}")
    o.peer_list = [n.strip() for n in o.peers_only.split(",")] if o.peers_only else list(driver.PEERS)
    for n in o.peer_list:
        if n not in driver.PEERS:
            parser.error(f"no peer '{n}': there are {', '.join(driver.PEERS)}")
    for name, least in (("rounds", 1), ("seconds", 0.001)):
        if getattr(o, name) is not None and getattr(o, name) < least:
            parser.error(f"--{name} must be at least {least}")
    o.rounds = o.rounds or (3 if o.quick else 5)
    o.seconds = o.seconds or (0.05 if o.quick else 0.15)
    o.start_limit, o.run_limit = 120.0, 120.0
    return o


def environment(folder):
    """Of a contender's process: as many threads as are measured, and where compilers keep what they made."""

    def of(name, threads, cache):
        kept = Path(cache or folder / "kept" / name)
        kept.mkdir(parents=True, exist_ok=True)
        env = {k: str(threads) for k in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")}
        env |= {"TORCHINDUCTOR_CACHE_DIR": str(kept), "JAX_COMPILATION_CACHE_DIR": str(kept), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
                "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false"}
        if name == "reprise" and cache:
            env["REPRISE_CACHE_DIR"] = str(kept)
        if cache:
            env["REPRISE_PEERS_CACHE"] = str(kept)
        return env

    return of


def main():
    o = parse(sys.argv[1:])
    o.measured_revision = revision(o)
    if o.list:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for w in o.workloads:
            print(f"{w.group:<12} {w.row}")
            for p in w.points:
                print(f"{'':<14}{told(p)}")
        return 0
    build = Path(o.build)
    folder = build / "peers"
    folder.mkdir(parents=True, exist_ok=True)
    if o.write:
        state = driver.State(folder / "state.json")
        if not state.records:
            sys.exit(f"bench: nothing was measured yet ({folder / 'state.json'})")
        write(o, folder, list(state.records.values()), {})
        return 0
    ours = build / "bench" / "reprise_peer"
    if not ours.exists():
        sys.exit(f"bench: there is no {ours}: ./run bench --peers builds it")
    try:
        import numpy  # noqa: F401  (inputs are made by it)
    except ImportError:
        sys.exit(f"bench: {sys.executable} has no numpy: ./run bench --peers installs it, or PEERS_PYTHON names an interpreter that has it")
    contender = [sys.executable, str(ROOT / "bench" / "peers" / "contender.py")]
    commands = {"reprise": [str(ours)], **{n: [*contender, n] for n in o.peer_list}}
    state = driver.State(folder / "state.json")
    jobs = driver.plan(o.workloads, o.thread_list, o.quick, len(os.sched_getaffinity(0)))
    d = driver.Driver(commands, state, driver.Data(folder / "data"), o, environment(folder))
    try:
        done = d.run(jobs, o.resume)
    except KeyboardInterrupt:
        print("\nbench: interrupted; what was measured is kept (--resume)", file=sys.stderr)
        return 130
    records = [state.records[k] for k in (driver.key_of(*j) for j in jobs) if k in state.records]
    if done:
        write(o, folder, list(state.records.values()), d.versions)
    else:
        versions(folder, d.versions)
    if o.json:
        keep = ("workload", "point", "threads", "seconds", "best_peer", "ratio", "agree")
        print(json.dumps([{k: r[k] for k in keep} for r in records], indent=1))
    else:
        print(report.summary(records))
    return 0 if "reprise" in d.commands else 1


def revision(o):
    git = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return o.revision or git.stdout.strip() or "unknown"


def versions(folder, new):
    """Of all peers that were seen, kept beside the state file."""
    path, known = folder / "versions.json", {}
    if path.exists():
        known = json.loads(path.read_text())
    known |= {n: v for n, v in new.items() if n != "reprise"}
    path.write_text(json.dumps(known))
    return known


def write(o, folder, records, new_versions):
    machine = report.machine()
    machine["versions"] = versions(folder, new_versions)
    machine["revision"] = o.revision or ", ".join(sorted({r.get("revision", "unknown") for r in records}))
    date = datetime.date.today().isoformat()
    print(f"bench: {report.write(Path(o.results), records, machine, date)}", file=sys.stderr)
    if o.docs:
        report.write_docs(ROOT / "docs" / "performance.md", records, machine, date)


if __name__ == "__main__":
    sys.exit(main())
