#!/usr/bin/env python3
"""What Nsight Compute says of the kernels that take the longest, as a table.

usage: gpu_profiles.py PROGRAM [--json FILE] [--seconds N]

PROGRAM is reprise_device_figures. Exit status 3: there is no ncu, or it may not read the counters here.

Each row of the figures named below is run once under ncu; the kernel that took longest of each name is kept. Kernels run one by one, with caches as they are
found; times are by ncu's clock, without what lies between kernels.
"""
import argparse
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import time

ROWS = [  # group and name of reprise_device_figures
    ("kernels", "softmax bf16"), ("kernels", "layer_norm bf16"), ("kernels", "sum over rows bf16"),
    ("products", "4096 x 4096 x 4096 bf16"), ("products", "1 x 14336 x 4096 and back bf16"),
    ("attention", "heads of 128, 8192"), ("decode", "Llama 1B"), ("rows", ""),
]
COLUMNS = [  # heading, section's metric as `--page details` names it
    ("us", "Duration"), ("DRAM %", "DRAM Throughput"), ("memory %", "Memory Throughput"), ("SM %", "Compute (SM) Throughput"), ("L2 %", "L2 Cache Throughput"),
    ("registers", "Registers Per Thread"), ("occupancy %", "Achieved Occupancy"), ("no eligible warp %", "No Eligible"), ("waves", "Waves Per SM"),
]
SHORTEST_US = 1.5  # of what is worth a line
MOST_KERNELS = 300

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("--json")
parser.add_argument("--seconds", type=float, default=120)
args = parser.parse_args()

ncu = shutil.which("ncu", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
if not ncu:
    print("no ncu", file=sys.stderr)
    raise SystemExit(3)

until = time.monotonic() + args.seconds
found, skipped = [], []


def number(text):
    return float(text.replace(",", ""))


def kernels_of(output):
    """ncu's table, a line a metric, as one dictionary for each kernel."""
    start = output.find('"ID"')
    kernels = {}
    for line in csv.DictReader(io.StringIO(output[start:] if start >= 0 else "")):
        k = kernels.setdefault(line["ID"], {"kernel": line["Kernel Name"], "grid": line["Grid Size"], "block": line["Block Size"]})
        for heading, metric in COLUMNS:
            if line["Metric Name"] != metric:
                continue
            value = number(line["Metric Value"])
            if heading == "us":
                value *= {"ns": 1e-3, "us": 1, "usecond": 1, "nsecond": 1e-3, "ms": 1e3, "msecond": 1e3, "s": 1e6}.get(line["Metric Unit"], 1)
            # "Memory Throughput" is a rate in one section and a percentage in another.
            if not heading.endswith("%") or line["Metric Unit"] == "%":
                k[heading] = value
    return list(kernels.values())


print("| figure | kernel | grid | block | " + " | ".join(h for h, _ in COLUMNS) + " |\n|" + "---|" * (4 + len(COLUMNS)), flush=True)
for group, named in ROWS:
    left = until - time.monotonic()
    if left < 5:
        skipped.append({"figure": f"{group} {named}", "why": "no time left"})
        continue
    command = [ncu, "--profile-from-start", "off", "--clock-control", "none", "--csv", "--page", "details", "--launch-count", str(MOST_KERNELS)]
    for section in ("SpeedOfLight", "LaunchStats", "Occupancy", "SchedulerStats"):
        command += ["--section", section]
    command += [args.program, "--once", "--only", group, "--named", named]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=left)
    except subprocess.TimeoutExpired:
        skipped.append({"figure": f"{group} {named}", "why": "it took too long"})
        continue
    kernels = kernels_of(done.stdout)
    if not kernels:
        words = [l for l in (done.stdout + done.stderr).splitlines() if "==" in l or "rror" in l]
        skipped.append({"figure": f"{group} {named}", "why": (words or ["it found no kernel"])[-1][:200]})
        continue
    longest = {}
    for k in kernels:
        if k.get("us", 0) > longest.get(k["kernel"], {}).get("us", 0):
            longest[k["kernel"]] = k
    for k in sorted(longest.values(), key=lambda k: -k["us"]):
        if k["us"] < SHORTEST_US:
            continue
        k["figure"] = f"{group} {named}".strip()
        found.append(k)
        cells = [k["figure"], k["kernel"][:60], k["grid"], k["block"]] + [f"{k[h]:.4g}" if h in k else "" for h, _ in COLUMNS]
        print("| " + " | ".join(cells) + " |", flush=True)
    if args.json:
        with open(args.json + ".new", "w") as f:
            json.dump({"kernels": found, "skipped": skipped}, f, indent=1)
        os.replace(args.json + ".new", args.json)
for s in skipped:
    print(f"{s['figure']}: not looked at: {s['why']}", flush=True)
if not found:
    print(skipped[-1]["why"] if skipped else "nothing was found", file=sys.stderr)
    raise SystemExit(3)
