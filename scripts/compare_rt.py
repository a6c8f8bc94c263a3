#!/usr/bin/env python3
"""Calls programs by two runtimes, of which the first runs here and the second by an emulator, and compares what they
print: what is equal but for the rounding of another processor's instructions is equal.

usage: compare_rt.py FOLDER RUNNER -- COMMAND...    FOLDER: of test_export with WRITE_PROGRAMS (programs, and a
file `calls`); COMMAND: how the other runtime's rprt_run begins
"""
import os
import re
import subprocess
import sys


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else "failed: " + done.stdout + done.stderr


def numbers(text):
    return [float.fromhex(x) for x in re.findall(r"-?0x[0-9a-f.]+p[-+]\d+", text)]


def without_numbers(text):
    return re.sub(r"-?0x[0-9a-f.]+p[-+]\d+", "#", "\n".join(text.splitlines()[1:]))


def main():
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    if at != 3 or len(sys.argv) < 5:
        sys.exit(__doc__)
    folder, runner, other = sys.argv[1], sys.argv[2], sys.argv[4:]
    with open(os.path.join(folder, "calls"), encoding="utf-8") as f:
        calls = [line.rstrip("\n").split("\t") for line in f]
    failed, levels = 0, set()
    for name, *arguments in calls:
        path = [os.path.join(folder, name)]
        here, there = run([runner] + path + arguments), run(other + path + arguments)
        levels.add((re.search(r"machine code for (\w+)", there) or [None, "none"])[1])
        a, b = numbers(here), numbers(there)
        worst = max([abs(x - y) / max(1.0, abs(x)) for x, y in zip(a, b)] or [0.0])
        good = a and len(a) == len(b) and worst < 1e-4 and without_numbers(here) == without_numbers(there)
        failed += not good
        print("%s %s: %s, %d numbers, differ by %.1e" % (name, " ".join(arguments), "equal" if good else "WRONG",
                                                         len(a), worst))
        if not good:
            print(here, there, sep="\n")
    print("%d calls, %d wrong, code for %s" % (len(calls), failed, ", ".join(sorted(levels))))
    return 1 if failed or not calls else 0


if __name__ == "__main__":
    sys.exit(main())
