#!/usr/bin/env python3
"""Holds the form of sources and documents: `./run check` calls it, `./run format` makes it so.

usage: format.py [--write] [FILE...]

C++ (*.cc, *.h) is as clang-format 14 writes it (.clang-format). In Markdown no line of prose is wider than 120 columns;
--write breaks a paragraph that has such a line after each sentence, and a long sentence where it comes to 120 columns.
Tables, code and headings stay as they are, and so does bench/results. FILE: only those, of
what git tracks.
"""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

WIDTH = 120
# (The last two are written by scripts.)
KEPT = ("bench/results/", "docs/operators.md", "docs/models.md")


def clang_format():
    """The program of version 14, whose results are law; None where there is none."""
    for name in ("clang-format-14", "clang-format"):
        if shutil.which(name):
            said = subprocess.run([name, "--version"], capture_output=True, text=True).stdout
            if re.search(r"version 14\.", said):
                return name
    return None


def check_sources(files, write):
    program = clang_format()
    if not program:
        print(
            "format: clang-format 14 is not installed (Debian 12: clang-format): sources are not checked",
            file=sys.stderr,
        )
        return 0

    def one(chunk):
        mode = ["-i"] if write else ["--dry-run", "--Werror", "--ferror-limit=1"]
        return subprocess.run([program, *mode, *chunk], capture_output=True, text=True).stderr

    chunks = [files[i : i + 24] for i in range(0, len(files), 24)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        told = "".join(pool.map(one, chunks))
    where = sorted(set(re.findall(r"^(.+?:\d+):\d+: error:", told, re.M)))
    for line in where:
        print(f"{line}: not as clang-format writes it (./run format)")
    if told and not where:
        print(told, end="", file=sys.stderr)
    return len(where) + (1 if told and not where else 0)


ITEM = re.compile(r"(\s*(?:[-*+]|\d+[.)])\s+|\s*>\s?)")
# A sentence ends before a space that a capital, a digit, code or emphasis follows; not behind abbreviations.
SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)(?<!cf\.)\s+(?=[A-Z`*\[(\"])")


def is_prose(line):
    s = line.strip()
    return (
        bool(s)
        and not s.startswith(("|", "#", "<", "!["))
        and not re.fullmatch(r"<?https?://\S+", s)
        and not re.match(r"\[[^\]]+\]:", s)
    )


def pieces(text):
    """Sentences; none is broken inside `code` or a [link](...)."""
    spans = [m.span() for m in re.finditer(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", text)]
    at, out = 0, []
    for m in SENTENCE.finditer(text):
        if any(a < m.start() < b for a, b in spans):
            continue
        out.append(text[at : m.start()])
        at = m.end()
    return out + [text[at:]]


def wrapped(text, first, rest):
    """The words of `text` in lines of at most WIDTH; code with spaces and links' names stay whole."""
    words = re.findall(r"(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+", text)
    lines, line = [], first
    empty = True
    for w in words:
        if not empty and len(line) + 1 + len(w) > WIDTH:
            lines.append(line)
            line, empty = rest, True
            # A line that begins with a mark would become an item or a heading.
            if re.fullmatch(r"[-+*#>]|\d+[.)]", w):
                w = lines[-1][lines[-1].rstrip().rfind(" ") + 1 :] + " " + w
                lines[-1] = lines[-1][: lines[-1].rstrip().rfind(" ")]
        line += ("" if empty else " ") + w
        empty = False
    return lines + [line]


def reflowed(lines):
    """The paragraph (or item), broken where sentences end."""
    m = ITEM.match(lines[0])
    first = m.group(0) if m else lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    rest = first if first.strip() == ">" else " " * len(first)
    body = " ".join(
        [lines[0][len(first) :].strip()]
        + [re.sub(r"^\s*>\s?", "", x).strip() if first.strip() == ">" else x.strip() for x in lines[1:]]
    )
    out = []
    for sentence in pieces(body):
        out += wrapped(sentence, rest if out else first, rest)
    return out


def paragraphs(text):
    """(begin, lines) of each run of lines that is one paragraph or item of prose."""
    fence = False
    run = None
    lines = text.split("\n")
    for i, line in enumerate(lines + [""]):
        if i < len(lines) and re.match(r"\s*(```|~~~)", line):
            fence = not fence
            if run:
                yield run
            run = None
            continue
        code = fence or (line.startswith("    ") and not run)
        if i == len(lines) or code or not is_prose(line):
            if run:
                yield run
            run = None
            continue
        if run and not ITEM.match(line):
            run[1].append(line)
        elif run and line.strip().startswith(">") and run[1][0].strip().startswith(">"):
            run[1].append(line)
        else:
            if run:
                yield run
            run = (i, [line])


def check_document(file, write):
    with open(file, encoding="utf-8") as f:
        text = f.read()
    if text.startswith("<!--") and "generated" in text.split("\n", 1)[0]:
        return 0
    lines = text.split("\n")
    wide = 0
    for begin, run in reversed(list(paragraphs(text))):
        if any(line.endswith("  ") for line in run[:-1]) or max(map(len, run)) <= WIDTH:
            continue
        new = reflowed(run)
        if new == run:
            continue  # nothing in it can be broken
        if write:
            lines[begin : begin + len(run)] = new
            continue
        wide += 1
        at = next(i for i, line in enumerate(run) if len(line) > WIDTH)
        print(f"{file}:{begin + at + 1}: {len(run[at])} columns, at most {WIDTH} (./run format)")
    if write and (new := "\n".join(lines)) != text:
        with open(file, "w", encoding="utf-8") as f:
            f.write(new)
    return wide


def main():
    args = sys.argv[1:]
    if any(a in ("-h", "--help") for a in args):
        print(__doc__)
        return 0
    write = "--write" in args
    files = [a for a in args if a != "--write"]
    if unknown := [a for a in files if a.startswith("-")]:
        print(f"format: --write or files, not '{unknown[0]}'", file=sys.stderr)
        return 2
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *files],
        capture_output=True,
        text=True,
    )
    tracked = sorted(f for f in set(listed.stdout.split("\n")) if f and os.path.exists(f))
    if files and not tracked:
        print(f"format: git knows no file '{files[0]}'", file=sys.stderr)
        return 2
    tracked = [f for f in tracked if not f.startswith(KEPT)]
    found = check_sources([f for f in tracked if f.endswith((".cc", ".h"))], write)
    for f in tracked:
        if f.endswith(".md"):
            found += check_document(f, write)
    if found:
        print(f"format: {found} places", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
