#!/usr/bin/env python3
"""The driver of ./run bench --peers with peers that crash, hang, differ and lie (fake_peer.py); resuming; tables and pictures. Needs no library but Python's own."""
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
import unittest
import xml.dom.minidom
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from peers import driver, plots, report, tensors  # noqa: E402
from peers.workloads import TARGETS, WORKLOADS, Workload, told  # noqa: E402

FAKE = str(Path(__file__).with_name("fake_peer.py"))


class PeersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / "log"

    def run_driver(self, peers, points=2, resume=False, budget=None, cold=False, row="cat", peers_wanted=None, start_limit=60.0, run_limit=60.0):
        """peers: how each behaves. Gives (whether all was done, state, driver, what it said)."""
        w = Workload(row, "g", "cat", [dict(n=i) for i in range(points)], None, cold=cold, peers=peers_wanted)
        commands = {name: [sys.executable, FAKE, how, str(self.log)] for name, how in peers.items()}
        options = SimpleNamespace(rounds=3, seconds=0.001, budget=budget, start_limit=start_limit, run_limit=run_limit)
        state = driver.State(self.folder / "state.json")
        d = driver.Driver(commands, state, driver.Data(self.folder / "data", make=False), options)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            done = d.run(driver.plan([w], None, False, 1), resume)
        return done, state, d, said.getvalue()

    def log_lines(self):
        return self.log.read_text().splitlines()

    def test_ratios_are_of_the_best_peer(self):
        done, state, _, said = self.run_driver({"reprise": "0.002", "slow": "0.008", "quick": "0.003"})
        self.assertTrue(done)
        self.assertEqual(len(state.records), 2)
        r = list(state.records.values())[0]
        self.assertEqual(r["best_peer"], "quick")
        self.assertAlmostEqual(r["ratio"], 1.5)
        self.assertIs(r["agree"], True)
        self.assertIn("[2/2] cat n=1", said)

    def test_what_falls_short_is_profiled(self):
        _, state, _, _ = self.run_driver({"reprise": "0.002", "a": "0.001"}, points=1)
        r = list(state.records.values())[0]
        self.assertEqual(len(r["profile"]), 1 + driver.PROFILE_ROWS)
        self.assertIn("launch", r["profile"][0])
        self.assertIn("step0", r["profile"][1])
        self.assertEqual([line for line in self.log_lines() if line.startswith("0.002")][-3:], ["0.002 prepare", "0.002 run", "0.002 quit"])
        _, state, _, _ = self.run_driver({"reprise": "0.002", "a": "0.003"}, points=1)
        self.assertNotIn("profile", list(state.records.values())[0])

    def test_rounds_are_in_turns(self):
        self.run_driver({"reprise": "0.1", "a": "0.2"}, points=1)
        runs = [line.split()[0] for line in self.log_lines() if line.endswith(" run")]
        self.assertEqual(runs, ["0.1", "0.2", "0.2", "0.1", "0.1", "0.2"])

    def test_a_peer_that_crashes_is_left_out_in_the_end(self):
        done, state, d, said = self.run_driver({"reprise": "0.002", "a": "0.004", "bad": "crashes"}, points=4)
        self.assertTrue(done)
        self.assertNotIn("bad", d.commands)
        self.assertEqual(said.count("bad is left out"), 1)
        self.assertIn("signal SIGSEGV", said)
        for r in state.records.values():
            self.assertEqual(r["best_peer"], "a")
            self.assertNotIn("bad", r["seconds"])
        self.assertIn("SIGSEGV", list(state.records.values())[0]["failed"]["bad"])

    def test_a_peer_that_hangs_is_ended(self):
        done, state, _, said = self.run_driver({"reprise": "0.002", "bad": "hangs"}, points=1, run_limit=1.0)
        self.assertTrue(done)
        self.assertIn("did not answer within 1 s", said)
        r = list(state.records.values())[0]
        self.assertIsNone(r["ratio"])
        self.assertEqual(r["seconds"], {"reprise": 0.002})

    def test_a_peer_that_never_greets(self):
        done, _, _, said = self.run_driver({"reprise": "0.002", "bad": "mute"}, points=1, start_limit=1.5)
        self.assertTrue(done)
        self.assertIn("bad did not answer within 1.5 s", said)

    def test_a_peer_that_is_not_installed_is_said_once(self):
        done, state, _, said = self.run_driver({"reprise": "0.002", "a": "0.004", "bad": "absent"}, points=3)
        self.assertTrue(done)
        self.assertEqual(said.count("bad"), 1)
        self.assertIn("bad is left out: ImportError: no such library", said)

    def test_what_a_peer_does_not_offer_is_no_failure(self):
        _, state, d, said = self.run_driver({"reprise": "0.002", "a": "offers nothing", "b": "refuses"}, points=4)
        r = list(state.records.values())[-1]
        self.assertEqual(r["absent"], {"a": "no such operator"})
        self.assertEqual(r["failed"], {"b": "ValueError: such sizes"})
        self.assertIn("a", d.commands)
        self.assertIn("b", d.commands)

    def test_wrong_results_do_not_count(self):
        _, state, _, said = self.run_driver({"reprise": "0.002", "a": "0.004", "bad": "wrong"}, points=1)
        r = list(state.records.values())[0]
        self.assertEqual(r["differs"], ["bad"])
        self.assertIs(r["agree"], False)
        self.assertEqual(r["best_peer"], "a")
        self.assertIn("DIFFERS: bad by 0.1", said)

    def test_cut_results_and_noise(self):
        _, state, _, said = self.run_driver({"reprise": "0.002", "a": "cut", "b": "babbles"}, points=1)
        r = list(state.records.values())[0]
        self.assertIn("cut off", r["failed"]["a"])
        self.assertIn("is no answer", r["failed"]["b"])

    def test_reprise_failing_is_told(self):
        done, state, _, said = self.run_driver({"reprise": "crashes", "a": "0.004"}, points=4)
        self.assertFalse(done)
        self.assertIn("reprise is left out", said)
        self.assertIn("SIGSEGV", said)

    def test_resume(self):
        done, _, _, said = self.run_driver({"reprise": "0.002", "a": "0.004"}, points=3, budget=1e-9)
        self.assertFalse(done)
        self.assertIn("go on with --resume", said)
        done, state, _, _ = self.run_driver({"reprise": "0.002", "a": "0.004"}, points=3, resume=True)
        self.assertTrue(done)
        prepared = len([line for line in self.log_lines() if line.endswith("prepare")])
        self.assertEqual(prepared, 6)
        done, state, _, said = self.run_driver({"reprise": "0.002", "a": "0.004"}, points=3, resume=True)
        self.assertIn("3 of 3 points are in", said)
        self.assertEqual(len([line for line in self.log_lines() if line.endswith("prepare")]), 6)
        self.run_driver({"reprise": "0.002", "a": "0.004"}, points=3)  # anew
        self.assertEqual(len([line for line in self.log_lines() if line.endswith("prepare")]), 12)

    def test_contenders_go_with_a_driver_that_is_killed(self):
        program = f"import sys, time; sys.path.insert(0, {str(ROOT / 'bench')!r})\nfrom peers.process import Process\np = Process('a', [sys.executable, {FAKE!r}, '0.1', {str(self.log)!r}, '1']).greeted(10)\np.rest()\nprint(p.child.pid, flush=True)\ntime.sleep(60)"
        driving = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        pid = int(driving.stdout.readline())
        driving.kill()
        driving.wait()
        driving.stdout.close()
        status = Path(f"/proc/{pid}/status")
        for _ in range(100):
            try:
                if "State:\tZ" in status.read_text():
                    return
            except OSError:
                return
            time.sleep(0.05)
        self.fail("it is still there")

    def test_a_damaged_state_file(self):
        (self.folder / "state.json").write_text('{"records": [')
        with contextlib.redirect_stderr(io.StringIO()) as said:
            state = driver.State(self.folder / "state.json")
        self.assertEqual(state.records, {})
        self.assertIn("damaged", said.getvalue())

    def test_first_calls(self):
        _, state, _, _ = self.run_driver({"reprise": "0.1", "a": "bigger"}, points=1, cold=True, row="first MiniLM embedding")
        r = list(state.records.values())[0]
        self.assertEqual(r["warm"], {"reprise": 0.5, "a": 0.5})
        self.assertEqual(r["peak_bytes"], {"reprise": 100, "a": 200})
        starts = [line for line in self.log_lines() if "starts" in line]
        self.assertEqual(len(starts), 4)  # each twice, in processes of their own
        rows = {row: (measured, verdict) for row, _, measured, verdict in report.verdicts([r])}
        self.assertEqual(rows["first MiniLM embedding"], ("0.50 s, 0.50 s", "short"))
        self.assertEqual(rows["peak memory"][1], "met")

    def record(self, row, point, ratio, threads=1, group="g"):
        return {"workload": row, "group": group, "net": "n", "point": point, "threads": threads, "seconds": {"reprise": 1e-3 / threads, "a": 1e-3 * ratio, "b": 5e-3}, "first_call": {}, "rounds": {},
                "difference": {}, "differs": [], "agree": True, "absent": {}, "failed": {}, "best_peer": "a", "ratio": ratio, "others": 0.5}

    def test_verdicts(self):
        records = [self.record("gelu", dict(elements=1), 1.5), self.record("gelu", dict(elements=2), 0.99), self.record("MiniLM", dict(sizes="1x4"), 2.0), self.record("MiniLM", dict(sizes="1x16"), 0.95),
                   self.record("cat", dict(rows=1), 1.01), *(self.record("product f32 square", dict(n=2048, dtype="float32"), 1.0, threads=t) for t in (1, 2))]
        rows = {row: (measured, verdict) for row, _, measured, verdict in report.verdicts(records)}
        self.assertEqual(list(rows), list(TARGETS))
        self.assertEqual(rows["gelu"][1], "short")
        self.assertIn("worst 0.99 (elements=2, a)", rows["gelu"][0])
        self.assertEqual(rows["MiniLM"], ("1.38 in the mean of 2 of 9 points; worst 0.95 (sizes=1x16, a)", "in part"))
        self.assertEqual(rows["cat"][1], "in part")
        whole = [self.record("gather", p, 1.5) for w in WORKLOADS if w.row == "gather" for p in w.points]
        self.assertEqual({row: verdict for row, _, _, verdict in report.verdicts(whole)}["gather"], "met")
        self.assertEqual(rows["two threads"], ("2.00 in the mean of 1; worst 2.00 (product f32 square: n=2048 dtype=float32)", "in part"))
        self.assertEqual(rows["conv"], ("", "not run"))

    def test_table_and_pictures(self):
        records = [self.record("MiniLM", dict(sizes=s, dim=384), 1.2) for s in ("changing", "1x4", "1x64")] + [self.record("product f32 square", dict(n=n, dtype="float32"), 0.9, t) for n in (64, 2048) for t in (1, 2)]
        first = self.record("first MiniLM embedding", dict(sizes="1x16"), 1.0)
        first |= {"first_call": {"reprise": 0.2, "a": 20.0}, "from_start": {"reprise": 0.3, "a": 25.0}, "warm": {"reprise": 0.1}, "peak_bytes": {"reprise": 2**20, "a": 2**28}, "threads": 0, "failed": {"b": "a|b"}}
        records.append(first)
        records[-2]["profile"] = ["   ms   launch", "  1.0   mm_kernel"]
        info = {"cpu": "Intel(R) Xeon(R) Processor @ 2.10GHz", "cores": 2, "features": ["avx2"], "versions": {"a": "1.0"}, "memory_bytes": None}
        path = report.write(self.folder / "results", records, info, "2000-01-02")
        self.assertEqual(path.name, "cpu-intel-xeon-2000-01-02.md")
        text = path.read_text()
        for words in ("| **product f32 square** |", "0.90 in the mean of 2 of 6 points", "| MiniLM | ", "not run", "| first MiniLM embedding | reprise | 300.00 ms | 200.00 ms | 100.00 ms | 1 MiB |", "a/b", "a 1.0", "product f32 square, n=2048 dtype=float32: 0.90 of a", "  1.0   mm_kernel"):
            self.assertIn(words, text)
        for name in ("minilm", "products", "threads", "cold", "compile", "memory"):
            picture = path.with_name(f"{path.stem}-{name}.svg")
            self.assertIn(picture.name, text)
            xml.dom.minidom.parseString(picture.read_text())
        self.assertEqual(len(json.loads(path.with_suffix(".json").read_text())["records"]), len(records))
        self.assertEqual(plots.all_of([]), [])

    def test_differences(self):
        self.assertEqual(tensors.difference((2, [1.0, 4.0]), (2, [1.0, 4.0])), 0.0)
        self.assertEqual(tensors.difference((2, [1.0, 3.0]), (2, [1.0, 4.0])), 0.25)
        self.assertEqual(tensors.difference((2, [1.0, float("nan")]), (2, [1.0, 4.0])), float("inf"))
        self.assertEqual(tensors.difference((1, [float("inf")]), (1, [float("inf")])), 0.0)
        self.assertEqual(tensors.difference((3, [1.0]), (2, [1.0])), float("inf"))
        self.assertEqual(tensors.sample_step(10), 1)
        self.assertEqual(tensors.sample_step(tensors.SAMPLES * 2) % 2, 1)

    def test_every_figure_has_a_workload(self):
        derived = {"two threads", "peak memory"}
        self.assertEqual(set(TARGETS) - {w.row for w in WORKLOADS}, derived)
        keys = [driver.key_of(w, p, 1) for w in WORKLOADS if not w.full for p in w.points]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertTrue(all(told(p) for w in WORKLOADS for p in w.points))

    def test_command_line(self):
        call = lambda *a: subprocess.run([sys.executable, str(ROOT / "scripts" / "bench_peers.py"), *a], capture_output=True, text=True)
        self.assertIn("MiniLM", call("--list").stdout)
        for wrong, words in ((["--only", "minlm"], "no group or row 'minlm': there are"), (["--threads", "0"], "this process may use"), (["--threads", "two"], "expected numbers"),
                             (["--peers-only", "tensorflow"], "no peer 'tensorflow'"), (["--rounds", "0"], "at least 1")):
            r = call(*wrong)
            self.assertEqual(r.returncode, 2)
            self.assertIn(words, r.stderr)
            self.assertNotIn("Traceback", r.stderr)

    def test_what_was_measured_is_written(self):
        call = lambda: subprocess.run([sys.executable, str(ROOT / "scripts" / "bench_peers.py"), "--build", str(self.folder / "b"), "--results", str(self.folder / "r"), "--write", "--revision", "abc"],
                                      capture_output=True, text=True)
        self.assertIn("nothing was measured yet", call().stderr)
        (self.folder / "b" / "peers" / "state.json").write_text(json.dumps({"records": {"k": self.record("cat", dict(rows=1), 1.5)}}))
        r = call()
        self.assertEqual(r.returncode, 0, r.stderr)
        page = Path(r.stderr.split()[-1]).read_text()
        self.assertIn("Revision abc", page)
        self.assertIn("| cat | ≥ 1 of the best peer at every point | 1.50 in the mean of 1 of 3 points; worst 1.50 (rows=1, a) | in part |", page)


if __name__ == "__main__":
    unittest.main()
