#!/usr/bin/env python3
"""changed.py BUILD [REVISION]: what `./run test --changed` builds and runs.

Line 1: targets of the build. Line 2: a pattern of names for `ctest -R`. What changed is the working tree against HEAD;
of a clean tree, HEAD against the commit before it; or both against REVISION. Of a room (scripts/check_layers.sh names
them, ground first) that the change touches all suites are run, of the rooms above it those that are quick; of a suite,
its entries; of what everything is built with, everything that `./run test` runs. What was chosen and why goes to
stderr."""

import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def git(*args):
    done = subprocess.run(["git", "-C", ROOT, *args], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"changed.py: git {' '.join(args)}: {done.stderr.strip().splitlines()[0] if done.stderr else 'failed'}")
    return done.stdout.split("\n")


def changed_files(revision):
    new = git("ls-files", "--others", "--exclude-standard")
    files = [f for f in git("diff", "--name-only", revision or "HEAD") + new if f]
    return files if files or revision else [f for f in git("diff", "--name-only", "HEAD~1") if f]


def rooms():
    """From the ground up."""
    with open(os.path.join(ROOT, "scripts/check_layers.sh"), encoding="utf-8") as f:
        return re.search(r"^rooms=\(([^)]*)\)", f.read(), re.M).group(1).split()


def entries(build):
    shown = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True
    ).stdout
    for test in json.loads(shown)["tests"]:
        of = {p["name"]: p["value"] for p in test.get("properties", [])}
        words = test.get("command", []) + [e.split("=", 1)[1] for e in of.get("ENVIRONMENT", [])]
        yield test["name"], set(of.get("LABELS", [])), words


def chosen(name, labels, words, files, order):
    """Why the entry is run, or None."""
    if "long" in labels:
        return None
    lowest = len(order)
    for f in files:
        top, _, rest = f.partition("/")
        if top == "include":
            lowest = 0
        elif top in order:
            lowest = min(lowest, order.index(top))
            if top in labels:
                return f
        elif (
            f.startswith("tests/support/")
            or top in ("cmake", "CMakeLists.txt", "CMakePresets.json")
            or f in ("tests/CMakeLists.txt", "tests/main.cc")
        ):
            return f
        elif f.startswith("tests/cuda_sim/"):
            if "device" in labels:
                return f
        elif top == "tests":
            suite = rest.partition("/")[0]
            if any(os.path.basename(w) == f"test_{suite}" or f"/tests/{suite}/" in w for w in words):
                return f
        elif top == "docs" or f.endswith(".md"):
            if name.startswith("docs_"):
                return f
        elif top in ("examples", "tools", "bench"):
            if name.startswith(
                {
                    "examples": ("example_", "llama", "tools"),
                    "tools": ("tools", "report", "misuse"),
                    "bench": ("bench_", "reprise_peer", "docs_"),
                }[top]
            ):
                return f
        elif top == "scripts" and any(w.endswith("/" + f) for w in words):
            return f
    above = set(order[lowest + 1 :]) | ({"whole"} if lowest < len(order) else set())
    return f"above {order[lowest]}" if "quick" in labels and labels & above else None


def target(word, build):
    """What makes a file of the build that a command names; of a folder, what makes all in it. None: nothing does."""
    path = os.path.relpath(word, build)
    if not word.startswith(build + "/") or os.path.splitext(path)[1] not in ("", ".so"):
        return None
    return path + "/all" if os.path.isdir(word) else path


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    files, order = changed_files(sys.argv[2] if len(sys.argv) > 2 else None), rooms()
    targets, names = set(), []
    for name, labels, words in entries(build):
        why = chosen(name, labels, words, files, order)
        if why is None:
            continue
        names.append(name)
        targets |= {target(w, build) for w in words} - {None}
        if name == "install" or build in words:
            targets.add("all")
        print(f"{name}: {why}", file=sys.stderr)
    print("all" if "all" in targets else " ".join(sorted(targets)))
    print("^(" + "|".join(map(re.escape, names)) + ")$" if names else "")


if __name__ == "__main__":
    main()
