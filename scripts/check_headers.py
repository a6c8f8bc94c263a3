#!/usr/bin/env python3
"""check_headers.py [--all] [HEADER...]: every header compiles without what its includer happens to include before it.

A header that its own source includes first is left to that source. The others are compiled, those that users include
with c++ and with clang++ (where there is one) and with the warnings of strict programs. A header and one that it
includes share a compilation, the included one first: what the first lacks, nobody has included yet, and what the second
lacks, the first does not bring, for the second includes all that the first does. --all: each header alone, those with a
source too, and each source alone (builds compile sources of a folder together, where one may miss what another
includes). HEADER...: these, each alone.

A finding is a line. JOBS: compilations at once (default: processors)."""

import argparse
import concurrent.futures
import functools
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOMS = (
    "include base guards device tensor graph autograd passes kernels jit operators runtime validate import".split()
)
# What programs that use the library compile its headers with (tests/packages/clients.sh).
STRICT = ["-Wconversion", "-Wsign-conversion", "-Wshadow"]
CUDA = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)


def files(ending):
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(ROOT, room)):
            yield from (os.path.relpath(os.path.join(folder, n), ROOT) for n in names if n.endswith(ending))


@functools.lru_cache(None)
def includes(path):
    """What a file includes, in order: paths from the root, and names of headers that are not ours."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        found = INCLUDE.findall(f.read())
    out = []
    for ours, others in found:
        at = next((p for p in (ours, "include/" + ours) if ours and os.path.isfile(os.path.join(ROOT, p))), None)
        out.append(at or f"<{ours or others}>")
    return out


@functools.lru_cache(None)
def closure(header):
    seen, todo = set(), [header]
    while todo:
        at = todo.pop()
        for name in includes(at) if not at.startswith("<") else ():
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return frozenset(seen)


def chains(headers):
    """As few lists as possible, each of headers that include those before them (Dilworth, by a bipartite matching)."""
    # (Of two that include each other, as an umbrella and its parts do, neither comes before the other.)
    below = {h: [g for g in headers if g in closure(h) and h not in closure(g)] for h in headers}
    after = {}  # of a header, the one that comes after it in its list

    def place(h, tried):
        for g in below[h]:
            if g not in tried:
                tried.add(g)
                if g not in after or place(after[g], tried):
                    after[g] = h
                    return True
        return False

    sys.setrecursionlimit(10000)
    for h in headers:
        place(h, set())
    lists = []
    for h in headers:
        if h not in after.values():
            lists.append([h])
            while lists[-1][-1] in after:
                lists[-1].append(after[lists[-1][-1]])
    return lists


def command(compiler, strict):
    llvm = "/usr/lib/llvm-19/include"
    if not os.path.isdir(llvm):
        tool = shutil.which("llvm-config-19") or shutil.which("llvm-config")
        llvm = (
            subprocess.run([tool, "--includedir"], capture_output=True, text=True, check=True).stdout.strip()
            if tool
            else llvm
        )
    return [
        compiler,
        "-std=c++20",
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-maybe-uninitialized",
        "-Wno-restrict",
        *(STRICT if strict else []),
        *(["-Wno-unknown-warning-option"] if compiler == "clang++" else []),
        "-I.",
        "-Iinclude",
        "-isystem",
        llvm,
        "-isystem",
        CUDA,
        "-x",
        "c++",
        "-",
    ]


def compile_together(compiler, headers):
    """The findings, a line each."""
    text = "".join(f'#include "{h}"\n' for h in headers)
    strict = all(h.startswith("include/") for h in headers)
    done = subprocess.run(command(compiler, strict), input=text, capture_output=True, text=True, cwd=ROOT)
    if done.returncode == 0:
        return []
    if len(headers) > 1:  # which of them?
        return [line for h in headers for line in compile_together(compiler, [h])] or [
            f"{compiler}: not together: {', '.join(headers)}"
        ]
    said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip().split("\n")[-1])
    return [f"{headers[0]} does not compile alone ({compiler}): {said}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="each header and each source alone")
    parser.add_argument("headers", nargs="*", help="only these, each alone")
    args = parser.parse_args()

    known = sorted(files(".h"))
    if not os.path.exists(os.path.join(CUDA, "cuda.h")):
        known = [h for h in known if not h.startswith("device/cuda/")]
    if not shutil.which("c++") or any(not os.path.isfile(os.path.join(ROOT, h)) for h in args.headers):
        wrong = [h for h in args.headers if not os.path.isfile(os.path.join(ROOT, h))]
        sys.exit(
            f"check_headers: no such header: {', '.join(wrong)}" if wrong else "check_headers: no C++ compiler (c++)"
        )
    proven = {includes(source)[0] for source in files(".cc") if includes(source)}
    public = [h for h in args.headers or known if h.startswith("include/")]
    if args.headers or args.all:
        work = [("c++", [h]) for h in args.headers or known] + [("clang++", [h]) for h in public]
        if args.all:  # but those of generated headers, which a build makes
            work += [("c++", [f]) for f in sorted(files(".cc")) if not any(".pb.h" in name for name in includes(f))]
    else:
        private = [h for h in known if h not in proven and not h.startswith("include/")]
        work = [
            (compiler, list_)
            for compiler, of in (("c++", public), ("clang++", public), ("c++", private))
            for list_ in chains(of)
        ]
    if not shutil.which("clang++"):
        work = [w for w in work if w[0] != "clang++"]
    jobs = int(os.environ.get("JOBS") or os.cpu_count() or 2)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        findings = [line for lines in pool.map(lambda w: compile_together(*w), work) for line in lines]
    for line in findings:
        print(f"check_headers: {line}", file=sys.stderr)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
