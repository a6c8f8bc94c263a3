#!/usr/bin/env python3
"""The documents' pictures: docs/latency.svg from docs/latency.csv (what build/bench/reprise_latency_page prints), and docs/way_of_a_call.svg.
--check: exit code 1 if they are not what would be drawn."""
import csv
import math
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
FONT = 'font-family="system-ui, sans-serif"'
INK, GREY, LIGHT = "#1b1f24", "#6a737d", "#e1e4e8"


def svg(width, height, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" {FONT}>\n'
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n' + "\n".join(body) + "\n</svg>\n")


def text(x, y, words, size=13, fill=INK, anchor="start", weight="normal"):
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}">{words}</text>'


def latency():
    rows = [{k: float(v) for k, v in r.items()} for r in csv.DictReader((DOCS / "latency.csv").open())]
    lines = [("eager_us", "eager", "#b08800"), ("compiled_us", "compiled", "#0366d6"), ("by_hand_us", "a loop by hand", "#6f42c1")]
    left, right, top, bottom = 64, 560, 24, 320
    x0, x1 = math.log10(rows[0]["elements"]), math.log10(rows[-1]["elements"])
    low = math.floor(math.log10(min(r[k] for r in rows for k, _, _ in lines)))
    high = math.ceil(math.log10(max(r[k] for r in rows for k, _, _ in lines)))
    at_x = lambda v: left + (math.log10(v) - x0) / (x1 - x0) * (right - left)
    at_y = lambda v: bottom - (math.log10(v) - low) / (high - low) * (bottom - top)
    body = []
    for power in range(low, high + 1):
        y = at_y(10**power)
        body.append(f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{LIGHT}"/>')
        body.append(text(left - 8, y + 4, f"{10**power:g}" if power < 0 else f"{10**power:,}", 12, GREY, "end"))
    for r in rows[::2]:
        x = at_x(r["elements"])
        body.append(f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}" stroke="{GREY}"/>')
        body.append(text(x, bottom + 19, f"{int(r['elements']):,}", 12, GREY, "middle"))
    body.append(text((left + right) / 2, bottom + 40, "elements", 13, INK, "middle"))
    body.append(text(left - 50, top - 8, "microseconds a call", 13, INK))
    labels = sorted((at_y(rows[-1][k]) + 4, name, colour) for k, name, colour in lines)
    for i in range(1, len(labels)):  # names do not cover each other
        labels[i] = (max(labels[i][0], labels[i - 1][0] + 16), *labels[i][1:])
    for k, name, colour in lines:
        points = " ".join(f"{at_x(r['elements']):.1f},{at_y(r[k]):.1f}" for r in rows)
        body.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        body += [f'<circle cx="{at_x(r["elements"]):.1f}" cy="{at_y(r[k]):.1f}" r="3" fill="{colour}"/>' for r in rows]
    body += [text(right + 12, y, name, 13, colour, weight="bold") for y, name, colour in labels]
    return svg(700, 372, body)


def way_of_a_call():
    body = ['<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#6a737d"/></marker></defs>']

    def box(x, y, title, below, fill, width=138):
        body.append(f'<rect x="{x}" y="{y}" width="{width}" height="58" rx="7" fill="{fill}" stroke="#d1d5da"/>')
        body.append(text(x + width / 2, y + 25, title, 14, INK, "middle", "bold"))
        body.append(text(x + width / 2, y + 44, below, 12, GREY, "middle"))

    def arrow(points, dashed=False):
        body.append(f'<polyline points="{points}" fill="none" stroke="#6a737d" stroke-width="1.6" marker-end="url(#tip)"{" stroke-dasharray=" + chr(34) + "5 4" + chr(34) if dashed else ""}/>')

    warm, cold = "#dbedff", "#fff5b1"
    for i, (title, below) in enumerate([("your call", "tensors, numbers"), ("guards", "is it compiled?"), ("recording", "for these sizes?"), ("replay", "launches, in order"), ("results", "and written tensors")]):
        box(14 + 172 * i, 30, title, below, warm)
        if i:
            arrow(f"{14 + 172 * i - 34},59 {14 + 172 * i - 3},59")
    box(100, 160, "trace", "with symbolic sizes", cold, 160)
    box(280, 160, "passes, fusion", "few launches", cold, 152)
    box(452, 160, "machine code", "LLVM, kept on disk", cold, 138)
    box(610, 160, "resolve", "addresses, pool", cold, 118)
    arrow("230,88 180,157")
    arrow("260,189 277,189")
    arrow("432,189 449,189")
    arrow("521,160 300,91", True)
    arrow("450,88 655,157")
    arrow("690,160 480,91", True)
    body.append(text(96, 128, "no: compile, once", 12, GREY))
    body.append(text(590, 120, "no: microseconds", 12, GREY))
    body.append(text(14, 252, "Blue: every call. Yellow: the first call of a kind, and the first of a size.", 12, GREY))
    return svg(856, 268, body)


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    for name, picture in (("latency.svg", latency()), ("way_of_a_call.svg", way_of_a_call())):
        if not sys.argv[1:]:
            (DOCS / name).write_text(picture)
        elif (DOCS / name).read_text() != picture:
            sys.exit(f"docs/{name} is not what scripts/pictures.py draws: ./run docs --write")
