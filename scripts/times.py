#!/usr/bin/env python3
"""times.py BUILD [--most N]: where the time of a build and of its tests went, as tables in Markdown.

Compilation: by room, suite and kind, from what Ninja noted when each object was made last (seconds of one of the jobs
that ran at once). Tests: what ctest noted of each entry in its last run. The N (10) dearest of each kind stand in tables
of their own."""

import argparse
import os
import re
import sys
from collections import defaultdict


def objects(build):
    """{output: seconds}: the latest of each."""
    out = {}
    with open(os.path.join(build, ".ninja_log"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                start, end, _, name, _ = line.rstrip("\n").split("\t")
                out[name] = (int(end) - int(start)) / 1000
    return {name: s for name, s in out.items() if os.path.exists(os.path.join(build, name))}


def kind(name):
    if not name.endswith(".o"):
        return (
            "links and archives"
            if re.search(r"(\.a|\.so|/test_\w+|/fuzz_\w+|^examples/\w+|^tools/\w+|^bench/\w+)$", name)
            else "other steps"
        )
    room = re.match(r"CMakeFiles/reprise_(\w+)\.dir/", name)
    if room:
        return f"library: {room.group(1)}"
    suite = re.match(r"tests/CMakeFiles/(?:test_)?(\w+)\.dir/", name)
    if suite:
        return f"tests: {suite.group(1)}"
    return "tests: " + name.split("/")[1] if name.startswith("tests/") else name.split("/")[0]


def table(title, unit, rows, most=None):
    rows = sorted(rows, key=lambda r: -r[1])
    total = sum(s for _, s in rows)
    print(f"\n| {title} | {unit} | share |\n|---|---:|---:|")
    for name, seconds in rows[:most]:
        print(f"| {name} | {seconds:.0f} | {100 * seconds / total if total else 0:.0f} % |")
    print(f"| all {len(rows)} | {total:.0f} | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--most", type=int, default=10)
    args = parser.parse_args()
    try:
        made = objects(args.build)
    except OSError as e:
        sys.exit(f"times: {args.build} is no build by Ninja: {e.strerror}")
    by_kind, groups = defaultdict(float), defaultdict(float)
    for name, seconds in made.items():
        by_kind[kind(name)] += seconds
        groups[kind(name).split(":")[0]] += seconds
    table("built", "seconds", groups.items())
    table("room, suite or kind", "seconds", by_kind.items(), 2 * args.most)
    table(
        "object",
        "seconds",
        [(re.sub(r"(^|.*/)CMakeFiles/|Unity/|_cxx\.cxx", "", n), s) for n, s in made.items() if n.endswith(".o")],
        args.most,
    )
    log = os.path.join(args.build, "Testing/Temporary/LastTest.log")
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as f:
            took = re.findall(r"^\d+/\d+ Test(?:ing)?: (\S+)$|^Test time = +([\d.]+) sec$", f.read(), re.M)
        names, seconds = [n for n, _ in took if n], [float(s) for _, s in took if s]
        table("entry of ctest", "seconds", list(zip(names, seconds)), 2 * args.most)


if __name__ == "__main__":
    main()
