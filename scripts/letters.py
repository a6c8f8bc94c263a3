#!/usr/bin/env python3
"""Writes examples/minilm/letters.inc: what of the Unicode character database the example's tokenizer goes by, up to U+30FF and of full-width forms.

usage: scripts/letters.py > examples/minilm/letters.inc
"""
import unicodedata


def known(c):
    return c < 0x3100 or 0xFF00 <= c < 0xFFF0


def ranges(wanted):
    found, start = [], None
    for c in range(0x10000):
        yes = known(c) and wanted(chr(c))
        if yes and start is None:
            start = c
        if not yes and start is not None:
            found.append((start, c - 1))
            start = None
    return found


def without_marks(text):
    return "".join(x for x in unicodedata.normalize("NFD", text) if unicodedata.category(x) != "Mn")


def letters():
    """(letter, what it becomes): accents go first, then capitals."""
    for c in filter(known, range(128, 0x10000)):
        plain = without_marks(chr(c)).lower()
        if len(plain) == 1 and plain != chr(c) and unicodedata.category(chr(c)) != "Mn":
            yield c, ord(plain)


def runs(pairs):
    """(first, last, what the first becomes, how far apart they are, how far apart what they become)."""
    found, i = [], 0
    while i < len(pairs):
        best = (1, 1, 0)
        for step in (1, 2):
            for grow in (0, step):
                n = 1
                while i + n < len(pairs) and pairs[i + n][0] == pairs[i + n - 1][0] + step and pairs[i + n][1] == pairs[i + n - 1][1] + grow:
                    n += 1
                best = max(best, (n, step, grow), key=lambda b: b[0])
        n, step, grow = best
        found.append((pairs[i][0], pairs[i + n - 1][0], pairs[i][1], step, grow))
        i += n
    return found


def show(kind, name, rows):
    print(f"constexpr {kind} {name}[] = {{")
    line = "   "
    for row in rows:
        text = " {" + ", ".join(f"0x{x:X}" for x in row) + "},"
        if len(line) + len(text) > 150:
            print(line)
            line = "   "
        line += text
    print(line + "\n};")


print("// Written by scripts/letters.py: what words are parted by, what is left out, and what letters are without capitals and accents.")
show("Range", "kPunctuation", ranges(lambda x: ord(x) >= 128 and unicodedata.category(x).startswith("P")))
show("Range", "kLeftOut", ranges(lambda x: unicodedata.category(x) in ("Mn", "Cc", "Cf") and x not in "\t\n\r"))
show("Letters", "kLetters", runs(list(letters())))
