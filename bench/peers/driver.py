"""Measures contenders in turns. Each point: everybody prepares, results are compared, then rounds in which each runs once; medians over the rounds are
what is compared. A state file is written after each point, so that a run that is cut off goes on (--resume)."""
import json
import os
import statistics
import sys
import tempfile
import time
import zlib
from pathlib import Path
from types import SimpleNamespace

from peers import tensors as files
from peers.process import Absent, Failure, Process, Refused
from peers.workloads import TARGETS, told

PEERS = ("torch", "torch.compile", "onnxruntime", "openvino", "jax", "mlx", "drjit", "numpy")
OUTDISTANCED = 20.0    # times the best one's seconds, in the first round
CRASHES = 3            # of one contender; then it is left out
PREPARE_LIMIT = 240.0  # seconds
PROFILE_ROWS = 8       # of the table that goes with a point that falls short


class State:
    """What was measured, by key. The file is replaced, never changed."""

    def __init__(self, path):
        self.path, self.records = Path(path), {}
        if self.path.exists():
            try:
                self.records = json.loads(self.path.read_text())["records"]
            except (ValueError, KeyError, TypeError):
                print(f"bench: {self.path} is damaged: everything is measured anew", file=sys.stderr)

    def put(self, key, record):
        self.records[key] = record
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"records": self.records}, indent=1))
        os.replace(new, self.path)


def key_of(workload, point, threads):
    return f"{workload.row} | {workload.net} | {told(point)} | {threads}"


def plan(workloads, threads, quick, cores):
    """(workload, point, threads) of each. threads None: one everywhere, two where a workload's scaling is a figure."""
    jobs = []
    for w in workloads:
        points = w.points
        if quick and len(points) > 2:
            points = [points[0], points[-1]]
        for p in points:
            for n in [0] if w.cold else threads or [1, *(w.threads(p) if w.threads and cores > 1 else [])]:
                jobs.append((w, p, n))
    jobs.sort(key=lambda j: j[2] if not j[0].cold else 99)  # processes are made for a number of threads
    return jobs


def busy_seconds():
    """Of all cores since the machine was started, or null where nobody says."""
    try:
        with open("/proc/stat") as f:
            user, nice, system, _, _, irq, soft, steal = map(int, f.readline().split()[1:9])
        return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None


class Others:
    """How many cores other work keeps busy meanwhile: all work less that of these processes and of this one."""

    def __init__(self, processes):
        self.processes, self.begin = processes, (time.perf_counter(), busy_seconds(), self.own(processes))

    @staticmethod
    def own(processes):
        return sum(p.cpu_seconds() for p in processes) + time.process_time()

    def cores(self):
        began, busy, own = self.begin
        now, spent = busy_seconds(), time.perf_counter() - began
        if busy is None or now is None or spent <= 0:
            return None
        return round(max(0.0, (now - busy - (self.own(self.processes) - own)) / spent), 2)


class Data:
    """Files of inputs and weights, from seeds by their names."""

    def __init__(self, folder, make=True):
        self.folder, self.make = Path(folder), make
        self.folder.mkdir(parents=True, exist_ok=True)

    def _path(self, key, ending):
        return self.folder / f"{zlib.crc32(key.encode()):08x}{ending}"

    def _written(self, path, key, fill):
        import numpy as np

        if not path.exists():
            new = path.with_suffix(".new")
            files.save(new, fill(np.random.default_rng(zlib.crc32(key.encode()))))
            os.replace(new, path)
        return str(path)

    def ask(self, w, p):
        ask = {"do": "prepare", "net": w.net, "point": p, "dynamic": bool(w.dynamic) or w.changing, "inputs": None, "weights": None, "models": {}, "onnx": None}
        if not self.make:
            return ask
        key = f"{w.net} {w.row} {json.dumps(p, sort_keys=True)}"
        flat = lambda rng: {f"{i}.{k}": t for i, s in enumerate(w.inputs(rng, p)) for k, t in s.items()}
        ask["inputs"] = self._written(self._path(key, ".inputs"), key, flat)
        if w.weights:
            weights_key = f"{w.net} weights {w.weights_key(p)}"
            ask["weights"] = self._written(self._path(weights_key, ".weights"), weights_key, lambda rng: w.weights(rng, p))
        ask["models"] = {kind: self._model(w, p, ask, kind) for kind in ("own", "plain")}
        if w.through_onnx:
            ask["onnx"] = ask["models"]["plain"]
        return ask


    def _model(self, w, p, ask, kind):
        """The ONNX file of a computation, or why there is none. One with dynamic sizes serves all points."""
        key = f"{w.net} {w.weights_key(p)}" if w.dynamic else f"{w.net} {w.row} {json.dumps(p, sort_keys=True)}"
        code = b"".join(Path(__file__).with_name(name).read_bytes() for name in ("nets.py", "ops_onnx.py"))  # files of other code are not taken
        path = self._path(key, f".{zlib.crc32(code):08x}.{kind}.onnx")
        if not path.exists():
            try:
                from peers import nets, ops_onnx
            except ImportError as error:
                return str(error)
            job = SimpleNamespace(net=getattr(nets, w.net), point=p, dynamic=w.dynamic)
            try:
                model = ops_onnx.build(job, {k.split(".", 1)[1]: t for k, t in files.load(ask["inputs"]).items() if k.startswith("0.")}, ask["weights"], kind == "own")
            except (NotImplementedError, AttributeError) as error:
                return f"no ONNX file: {error}"
            whole = path.with_suffix(".new")  # one that is cut off is not taken for good
            whole.write_bytes(model.SerializeToString())
            whole.replace(path)
        return str(path)


class Driver:
    def __init__(self, commands, state, data, options, environment=lambda name, threads, cache: {}):
        """commands: by contender's name, what starts it (a thread count is added); "reprise" is ours."""
        self.commands, self.state, self.data, self.options, self.environment = dict(commands), state, data, options, environment
        self.running, self.running_for, self.crashes, self.versions = {}, None, {}, {}
        self.cores = sorted(os.sched_getaffinity(0))

    def say(self, text):
        print(f"bench: {text}", file=sys.stderr, flush=True)

    def start(self, name, threads, cache=None, log=None, profile=None):
        cores = set(self.cores[:threads]) if threads else None
        environment = self.environment(name, threads or len(self.cores), cache) | ({"REPRISE_PROFILE": profile} if profile else {})
        return Process(name, [*self.commands[name], str(threads or len(self.cores))], environment, cores, log)

    def greeted(self, name, process):
        """The process, ready; null where it cannot be had."""
        try:
            process.greeted(self.options.start_limit)
            self.versions[name] = process.version
            return process
        except (Absent, Refused) as error:
            self.leave_out(name, str(error))
        except Failure as error:
            self.failed(name, str(error))
        return None

    def failed(self, name, why):
        self.crashes[name] = self.crashes.get(name, 0) + 1
        self.running.pop(name, None)
        if self.crashes[name] >= CRASHES:
            self.leave_out(name, f"{why}, for the third time")
        else:
            self.say(f"{name} fails: {why}")

    def leave_out(self, name, why):
        if self.commands.pop(name, None):
            self.say(f"{name} is left out: {why}")
        process = self.running.pop(name, None)
        if process:
            process.end()

    def contenders(self, threads, wanted):
        """Processes for that many threads, those that run and those that can be started."""
        if self.running_for != threads:
            self.end()
            self.running_for = threads
        started = {}
        for name in list(self.commands):
            if name not in self.running and (name == "reprise" or wanted is None or name in wanted):
                try:
                    started[name] = self.start(name, threads)
                except OSError as error:
                    self.leave_out(name, str(error))
        for name, process in started.items():  # they load their libraries side by side
            if self.greeted(name, process):
                self.running[name] = process
                process.rest()
        return {n: p for n, p in self.running.items() if n == "reprise" or wanted is None or n in wanted}

    def end(self):
        for process in self.running.values():
            process.end()
        self.running = {}

    def asked(self, record, name, process, limit, **what):
        """The answer; null where it failed, and then the record says why."""
        try:
            answer = process.ask(limit, **what)
            process.rest()
            return answer
        except Absent as error:
            record["absent"][name] = str(error)
        except Refused as error:
            record["failed"][name] = str(error)
        except Failure as error:
            record["failed"][name] = str(error)
            self.failed(name, str(error))
            return None
        process.rest()
        return None

    def compare(self, record, samples, tolerance):
        """What differs from Reprise's results by more than its dtype explains."""
        ours = samples.get("reprise")
        for name, theirs in samples.items():
            if name != "reprise" and ours is not None:
                record["difference"][name] = files.difference(ours, theirs)
        record["differs"] = sorted(n for n, d in record["difference"].items() if not d <= tolerance)
        record["agree"] = None if ours is None or len(samples) < 2 else not record["differs"]

    def judge(self, record):
        peers = {n: s for n, s in record["seconds"].items() if n != "reprise" and n not in record["differs"]}
        record["best_peer"] = min(peers, key=peers.get) if peers else None
        own = record["seconds"].get("reprise")
        record["ratio"] = peers[record["best_peer"]] / own if peers and own else None

    def new_record(self, w, p, threads):
        return {"workload": w.row, "group": w.group, "net": w.net, "point": p, "threads": threads, "seconds": {}, "first_call": {}, "rounds": {}, "difference": {}, "differs": [], "agree": None,
                "absent": {}, "failed": {}, "best_peer": None, "ratio": None, "others": None, "revision": getattr(self.options, "measured_revision", "unknown"), "at": time.strftime("%Y-%m-%d %H:%M", time.gmtime())}

    def results(self, record, contenders):
        samples = {}
        with tempfile.TemporaryDirectory() as folder:
            for name, process in contenders.items():
                path = os.path.join(folder, "result")
                if self.asked(record, name, process, self.options.run_limit, do="result", file=path):
                    try:
                        samples[name] = files.read_samples(path)
                    except (OSError, ValueError) as error:
                        record["failed"][name] = f"its results cannot be read: {error}"
        return samples

    def measure(self, w, p, threads):
        record, ask = self.new_record(w, p, threads), self.data.ask(w, p)
        ready = {}
        for name, process in self.contenders(threads, w.peers).items():
            answer = self.asked(record, name, process, PREPARE_LIMIT, **ask)
            if answer:
                record["first_call"][name] = answer["first_call"]
                ready[name] = process
        samples = self.results(record, ready)
        ready = {n: x for n, x in ready.items() if n in samples}
        self.compare(record, samples, w.tolerance)
        others = Others(list(ready.values()))
        for number in range(self.options.rounds):
            names = list(ready)
            turn = number % max(1, len(names))
            for name in names[turn:] + names[:turn]:
                answer = self.asked(record, name, ready[name], self.options.run_limit, do="run", seconds=self.options.seconds)
                if answer:
                    record["rounds"].setdefault(name, []).append(answer["seconds"])
                else:
                    del ready[name]
                    record["rounds"].pop(name, None)
            if number == 0:
                self.outdistanced(record, ready)
        record["others"] = others.cores()
        record["seconds"] = {n: statistics.median(t) for n, t in record["rounds"].items()}
        self.judge(record)
        target = TARGETS.get(w.row, ("none",))
        if threads == 1 and record["ratio"] and target[0] in ("every", "mean") and record["ratio"] < target[1]:
            record["profile"] = self.profile(ask, threads)
        return record

    @staticmethod
    def outdistanced(record, ready):
        """Who is not the best whatever other rounds say takes no more turns: some need seconds where others need milliseconds."""
        best = min((t[0] for t in record["rounds"].values()), default=0)
        for name in [n for n in ready if n != "reprise" and record["rounds"][n][0] > OUTDISTANCED * best]:
            del ready[name]

    def profile(self, ask, threads):
        """Where Reprise's time goes, launch by launch: the table that REPRISE_PROFILE prints, of a process of its own, since timing takes time."""
        with tempfile.TemporaryFile("w+", errors="replace") as log:
            try:
                process = self.start("reprise", threads, log=log, profile="1")
            except OSError:
                return []
            try:
                process.greeted(self.options.start_limit)
                process.ask(PREPARE_LIMIT, **ask)
                process.ask(self.options.run_limit, do="run", seconds=max(0.2, self.options.seconds))
                process.quit(self.options.run_limit)
            except (Absent, Refused, Failure):
                process.end()
                return []
            log.seek(0)
            lines = log.read().splitlines()
        head = next((i for i, line in enumerate(lines) if line.split()[:2] == ["ms", "%"]), None)
        root = f"{Path(__file__).resolve().parents[2]}/"  # results are read elsewhere
        return [] if head is None else [line.rstrip().replace(root, "") for line in lines[head : head + 1 + PROFILE_ROWS]]

    def measure_cold(self, w, p):
        """First calls of processes: with an empty folder of what compilers keep, and with what that left."""
        self.end()
        record, ask = self.new_record(w, p, 0), self.data.ask(w, p)
        record |= {"warm": {}, "from_start": {}, "peak_bytes": {}}
        samples = {}
        for name in list(self.commands):
            if name != "reprise" and w.peers is not None and name not in w.peers:
                continue
            with tempfile.TemporaryDirectory() as cache:
                for kind in ("first_call", "warm"):
                    try:
                        process = self.start(name, None, cache)
                    except OSError as error:
                        self.leave_out(name, str(error))
                        break
                    if not self.greeted(name, process):
                        break
                    answer = self.asked(record, name, process, PREPARE_LIMIT, **ask)
                    if answer:
                        record[kind][name] = answer["first_call"]
                        if kind == "first_call":
                            record["from_start"][name] = time.perf_counter() - process.started
                            peak = self.asked(record, name, process, self.options.run_limit, do="memory")
                            if peak:
                                record["peak_bytes"][name] = peak["peak_bytes"]
                            samples |= self.results(record, {name: process})
                    process.end()
                    if not answer:
                        break
        record["seconds"] = {n: s for n, s in record["first_call"].items() if n in samples}
        self.compare(record, samples, w.tolerance)
        self.judge(record)
        return record

    def run(self, jobs, resume):
        """Returns whether all was measured. What was measured of other jobs stays; of these, too, where the run is resumed."""
        if not resume:
            for job in jobs:
                self.state.records.pop(key_of(*job), None)
        todo = [j for j in jobs if key_of(*j) not in self.state.records]
        if len(todo) < len(jobs):
            self.say(f"{len(jobs) - len(todo)} of {len(jobs)} points are in {self.state.path} (--resume)")
        begin = time.perf_counter()
        try:
            for done, (w, p, threads) in enumerate(todo):
                if self.options.budget and time.perf_counter() - begin > self.options.budget:
                    self.say(f"{len(todo) - done} points are left: go on with --resume")
                    return False
                if "reprise" not in self.commands:
                    return False
                started = time.perf_counter()
                try:
                    record = self.measure_cold(w, p) if w.cold else self.measure(w, p, threads)
                except FileNotFoundError as error:  # weights that are not installed
                    self.say(f"{w.row} {told(p)} is left out: {error}")
                    continue
                self.state.put(key_of(w, p, threads), record)
                spent = time.perf_counter() - begin
                self.say(line_of(record, done + 1, len(todo), time.perf_counter() - started, spent / (done + 1) * (len(todo) - done - 1)))
        finally:
            self.end()
        return True


def duration(seconds):
    for unit, size, digits in (("s", 1, 2), ("ms", 1e-3, 2), ("us", 1e-6, 2)):
        if seconds >= size:
            return f"{seconds / size:.{digits}f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def line_of(record, number, count, took, left):
    own = record["seconds"].get("reprise")
    parts = [f"[{number}/{count}] {record['workload']} {told(record['point'])}", f"{record['threads']} thread{'s' if record['threads'] != 1 else ''}" if record["threads"] else "first call"]
    parts.append(f"reprise {duration(own)}" if own else "reprise " + (record["failed"].get("reprise") or record["absent"].get("reprise") or "?"))
    if record["best_peer"]:
        parts.append(f"{record['best_peer']} {duration(record['seconds'][record['best_peer']])}")
    if record["ratio"]:
        parts.append(f"ratio {record['ratio']:.2f}")
    if record["differs"]:
        parts.append("DIFFERS: " + ", ".join(f"{n} by {record['difference'][n]:.2g}" for n in record["differs"]))
    failed = [n for n in record["failed"] if n != "reprise"]
    if failed:
        parts.append("failed: " + ", ".join(failed))
    parts.append(f"{took:.0f} s; {left / 60:.0f} min left" if left >= 60 else f"{took:.0f} s; {left:.0f} s left")
    return "  ".join(parts)
