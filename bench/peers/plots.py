"""Pictures of what was measured, in the style of the documents' (scripts/pictures.py)."""
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from peers.workloads import told
from pictures import GREY, INK, LIGHT, svg, text  # noqa: E402

COLOURS = {"reprise": "#0366d6", "torch": "#d73a49", "torch.compile": "#b08800", "onnxruntime": "#6f42c1", "openvino": "#22863a", "jax": "#e36209", "mlx": "#586069", "drjit": "#0c7c7c", "numpy": "#959da5"}


def _colour(name):
    return COLOURS.get(name, INK)


def lines(title, below, beside, series):
    """series: by name, [(x, y)]; both axes are logarithmic."""
    points = [p for s in series.values() for p in s]
    left, right, top, bottom = 64, 540, 48, 330
    x0, x1 = math.log10(min(x for x, _ in points)), math.log10(max(x for x, _ in points))
    low, high = math.floor(math.log10(min(y for _, y in points))), math.ceil(math.log10(max(y for _, y in points)))
    high = max(high, low + 1)
    at_x = lambda v: (left + right) / 2 if x1 == x0 else left + (math.log10(v) - x0) / (x1 - x0) * (right - left)
    at_y = lambda v: bottom - (math.log10(v) - low) / (high - low) * (bottom - top)
    body = [text(left - 50, 20, title, 14, INK, weight="bold"), text(left - 50, top - 10, beside, 12, GREY)]
    for power in range(low, high + 1):
        y = at_y(10.0**power)
        body.append(f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{LIGHT}"/>')
        body.append(text(left - 8, y + 4, f"{10.0**power:g}" if power < 0 else f"{10**power:,}", 12, GREY, "end"))
    for x in sorted({x for x, _ in points}):
        body.append(f'<line x1="{at_x(x):.1f}" y1="{bottom}" x2="{at_x(x):.1f}" y2="{bottom + 5}" stroke="{GREY}"/>')
        body.append(text(at_x(x), bottom + 19, f"{x:,.0f}", 11, GREY, "middle"))
    body.append(text((left + right) / 2, bottom + 40, below, 13, INK, "middle"))
    labels = sorted((at_y(s[-1][1]) + 4, name) for name, s in series.items())
    for i in range(1, len(labels)):  # names do not cover each other
        labels[i] = (max(labels[i][0], labels[i - 1][0] + 15), labels[i][1])
    for name, s in sorted(series.items(), key=lambda i: i[0] == "reprise"):
        body.append(f'<polyline points="{" ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in s)}" fill="none" stroke="{_colour(name)}" stroke-width="{3 if name == "reprise" else 1.8}"/>')
        body += [f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="3" fill="{_colour(name)}"/>' for x, y in s]
    body += [text(right + 12, y, name, 13, _colour(name), weight="bold") for y, name in labels]
    return svg(680, 384, body)


def bars(title, unit, groups, digits=2):
    """groups: [(label, {name: value})]; the scale is logarithmic where values are apart by more than thirty times."""
    values = [v for _, by in groups for v in by.values()]
    logarithmic = max(values) / min(values) > 30
    low = 10 ** math.floor(math.log10(min(values))) if logarithmic else 0.0
    width = lambda v: (math.log10(v / low) / math.log10(max(values) / low) if logarithmic else v / max(values)) * 330
    body, y = [text(14, 20, title, 14, INK, weight="bold"), text(14, 38, unit + (" (logarithmic)" if logarithmic else ""), 12, GREY)], 52
    for label, by in groups:
        body.append(text(14, y + 12, label, 13, INK))
        y += 20
        for name in sorted(by, key=lambda n: (n != "reprise", by[n])):
            body.append(text(124, y + 12, name, 12, _colour(name), "end"))
            body.append(f'<rect x="132" y="{y}" width="{max(1.0, width(by[name])):.1f}" height="15" fill="{_colour(name)}"/>')
            body.append(text(140 + max(1.0, width(by[name])), y + 12, f"{by[name]:,.{digits}f}", 12, GREY))
            y += 19
        y += 8
    return svg(560, y + 6, body)


def _by_size(records, row, size, scale):
    series = {}
    for r in sorted((r for r in records if r["workload"] == row and r["threads"] == 1 and size(r["point"])), key=lambda r: size(r["point"])):
        for name, s in r["seconds"].items():
            series.setdefault(name, []).append((size(r["point"]), s * scale))
    return {n: s for n, s in series.items() if len(s) > 1}


def all_of(records):
    """(file's name, title, picture) of what there are figures for."""
    found = []
    tokens = lambda p: math.prod(map(int, p["sizes"].split("x"))) if p["sizes"] != "changing" and p["sizes"].startswith("1x") else 0
    for name, title, row, size, below in (("minilm", "MiniLM-L6: one sentence, one thread", "MiniLM", tokens, "tokens"),
                                          ("products", "float32 products n x n x n, one thread", "product f32 square", lambda p: p["n"], "n"),
                                          ("linear", "linear 768 to 3072, one thread", "linear 1..128 rows", lambda p: p["rows"] if p["in"] == 768 else 0, "rows"),
                                          ("llama", "Llama 110M, float32: a prompt, one thread", "Llama prefill", lambda p: p["length"] if p["model"] == "110M" and p["dtype"] == "float32" else 0, "tokens")):
        series = _by_size(records, row, size, 1e3)
        if series:
            found.append((name, title, lines(title, below, "milliseconds a call", series)))
    rates = {}
    for r in records:
        if r["threads"] in (1, 2) and len(r["seconds"]) > 1:
            rates.setdefault((r["workload"], told(r["point"])), {})[r["threads"]] = r["seconds"]
    groups = []
    for (row, point), by in rates.items():
        if len(by) == 2:
            both = {n: by[1][n] / by[2][n] for n in by[1] if n in by[2]}
            if both:
                groups.append((f"{row}: {point}"[:70], both))
    if groups:
        title = "Two threads: calls a second, of those with one"
        found.append(("threads", title, bars(title, "times", groups[:8])))
    for name, title, unit, of, scale, digits in (("cold", "From the start of a process to its first result, empty caches", "seconds", "from_start", 1.0, 2),
                                                 ("compile", "First call: compilation and the call, empty caches", "seconds", "first_call", 1.0, 3),
                                                 ("memory", "Peak memory of a process behind its first result", "MiB", "peak_bytes", 2.0**-20, 0)):
        groups = [(r["workload"], {n: v * scale for n, v in r[of].items()}) for r in records if r.get("peak_bytes") and r.get(of)]
        if groups:
            found.append((name, title, bars(title, unit, groups, digits)))
    return found

