#!/usr/bin/env python3
"""What libreprise-rt promises: it exports the functions of reprise/rt.h and no others (at most 40), needs the C and C++
libraries and no others, and takes at most 3 MiB of a process.

usage: check_rt_symbols.py LIBRARY HEADER"""
import re
import subprocess
import sys

MOST, BYTES = 40, 3 << 20
NEEDED = re.compile(r"lib(stdc\+\+|m|gcc_s|c|dl|pthread|rt)\.so\.|ld-linux")


def out(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


library, header = sys.argv[1:3]
with open(header) as f:
    declared = set(re.findall(r"RPRT_API [^;]*?\b(rprt_\w+)\(", f.read()))
exported = {line.split()[-1].split("@")[0] for line in out("nm", "-D", "--defined-only", library).splitlines()}
problems = []
for what, names in (("declared and not exported", declared - exported),
                    ("exported and not declared", exported - declared)):
    if names:
        problems.append(what + ": " + ", ".join(sorted(names)))
if len(declared) > MOST:
    problems.append("%d functions; %d are the most" % (len(declared), MOST))
for line in out("readelf", "-dW", library).splitlines():
    if "(NEEDED)" in line and not NEEDED.search(line):
        problems.append("it needs" + line.split("library:")[1])
loaded = sum(int(size, 16) for size in re.findall(r"LOAD +0x\w+ 0x\w+ 0x\w+ (0x\w+)", out("readelf", "-lW", library)))
if loaded > BYTES:
    problems.append("%d bytes of it are loaded; %d are the most" % (loaded, BYTES))
for p in problems:
    print("check_rt_symbols: " + p, file=sys.stderr)
print("%d functions, %d bytes" % (len(exported), loaded))
sys.exit(bool(problems))
