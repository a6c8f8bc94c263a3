"""What was measured, as a results file, a table and verdicts."""
import json
import os
import re
from pathlib import Path

from peers import plots
from peers.workloads import TARGETS, WORKLOADS, geometric_mean, told


def machine():
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    found = re.search(r"model name\s*:\s*(.+)", info)
    flags = set((re.search(r"flags\s*:\s*(.+)", info) or [None, ""])[1].split())
    asked = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8")
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text() if Path("/proc/meminfo").exists() else "")
    return {"cpu": found.group(1).strip() if found else "unknown", "cores": len(os.sched_getaffinity(0)), "features": [f for f in asked if f in flags],
            "memory_bytes": int(memory.group(1)) * 1024 if memory else None}


def slug(cpu):
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)|\bcpu\b|@.*|processor", "", cpu.lower())).strip("-") or "unknown"


def _rated(records, row, threads=1):
    return [r for r in records if r["workload"] == row and r["ratio"] and r["threads"] == threads]


def _worst(rated):
    r = min(rated, key=lambda r: r["ratio"])
    return f"{r['ratio']:.2f} ({told(r['point'])}, {r['best_peer']})"


def _points(row):
    return sum(len(w.points) for w in WORKLOADS if w.row == row and not w.full)


def _of_all(row, rated):
    return f"{len(rated)} of {_points(row)} points" if len(rated) < _points(row) else f"{len(rated)} points"


def _two_threads(records):
    """(point, seconds of one thread over those of two, each of its best round) of what was measured with both, where that is a figure."""
    asked = {(w.row, told(p)) for w in WORKLOADS if w.threads for p in w.points if 2 in w.threads(p)}
    own = {}
    for r in records:
        if r["threads"] in (1, 2) and (r["workload"], told(r["point"])) in asked and r["seconds"].get("reprise"):
            own.setdefault((r["workload"], told(r["point"])), {})[r["threads"]] = min(r["rounds"].get("reprise") or [r["seconds"]["reprise"]])
    return [(f"{row}: {point}", t[1] / t[2]) for (row, point), t in own.items() if len(t) == 2]


def verdicts(records):
    """(row, target, measured, verdict) of each figure: "met", "short" (some point is), "in part" (what was measured meets it, and not all was), "not run"."""
    rows = []
    for row, target in TARGETS.items():
        kind = target[0]
        words, measured, met = "", "", None
        if kind == "every":
            words = f"≥ {target[1]:g} of the best peer at every point"
            rated = _rated(records, row)
            if rated:
                measured = f"{geometric_mean([r['ratio'] for r in rated]):.2f} in the mean of {_of_all(row, rated)}; worst {_worst(rated)}"
                met = min(r["ratio"] for r in rated) >= target[1]
        elif kind == "mean":
            words = f"≥ {target[1]:g} in geometric mean, none under {target[2]:g}"
            rated = _rated(records, row)
            if rated:
                mean = geometric_mean([r["ratio"] for r in rated])
                measured = f"{mean:.2f} in the mean of {_of_all(row, rated)}; worst {_worst(rated)}"
                met = mean >= target[1] and min(r["ratio"] for r in rated) >= target[2]
        elif kind == "threads":
            words = f"two threads ≥ {target[1]:g} times one"
            both = _two_threads(records)
            if both:
                worst = min(both, key=lambda b: b[1])
                measured = f"{geometric_mean([b[1] for b in both]):.2f} in the mean of {len(both)}; worst {worst[1]:.2f} ({worst[0]})"
                met = worst[1] >= target[1]
        elif kind == "first":
            words = f"≤ {target[1]:g} s with an empty cache, ≤ {target[2]:g} s with a warm one"
            found = [r for r in records if r["workload"] == row and r["seconds"].get("reprise") and r.get("warm", {}).get("reprise")]
            if found:
                cold, warm = found[0]["seconds"]["reprise"], found[0]["warm"]["reprise"]
                measured, met = f"{cold:.2f} s, {warm:.2f} s", cold <= target[1] and warm <= target[2]
        elif kind == "memory":
            words = "below every peer's"
            found = [r for r in records if len(r.get("peak_bytes", {})) > 1 and "reprise" in r["peak_bytes"]]
            if found:
                of = lambda r: min((b, n) for n, b in r["peak_bytes"].items() if n != "reprise")
                measured = "; ".join(f"{r['workload']}: {r['peak_bytes']['reprise'] / 2**20:.0f} MiB, {of(r)[1]} {of(r)[0] / 2**20:.0f}" for r in found)
                met = all(r["peak_bytes"]["reprise"] < of(r)[0] for r in found)
        differing = sorted({n for r in records if r["workload"] == row for n in r["differs"]})
        if differing:
            measured += f"; {', '.join(differing)} differ{'s' if len(differing) == 1 else ''}"
        scaled = sum(2 in w.threads(p) for w in WORKLOADS if w.threads and not w.full for p in w.points)
        part = (kind in ("every", "mean") and len(_rated(records, row)) < _points(row)) or (kind == "threads" and len(_two_threads(records)) < scaled)
        rows.append((row, words, measured, "not run" if met is None else "short" if not met else "in part" if part else "met"))
    return rows


def summary(records):
    """For the terminal."""
    lines = []
    for row, words, measured, verdict in verdicts(records):
        if verdict != "not run":
            lines.append(f"{verdict:<7} {row:<26} {measured}   ({words})")
    others = sorted({r["workload"] for r in records} - set(TARGETS))
    for row in others:
        rated = _rated(records, row)
        if rated:
            lines.append(f"{'':<7} {row:<26} {geometric_mean([r['ratio'] for r in rated]):.2f} in the mean of {len(rated)}; worst {_worst(rated)}")
    missing = [row for row, _, _, verdict in verdicts(records) if verdict == "not run"]
    if missing:
        lines.append("not run: " + ", ".join(missing))
    return "\n".join(lines)


def _table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(r) + " |" for r in rows)])


def of_others(records):
    """How much other work the machine did meanwhile."""
    others = sorted(r["others"] for r in records if r.get("others") is not None)
    busy = sum(o > 0.5 for o in others)
    more = f"; more than half a core at {busy} of {len(others)}" if busy else ""
    return f"Other work on the machine kept {others[len(others) // 2]:.1f} cores busy meanwhile in the median of the points, {others[-1]:.1f} at most{more}." if others else ""


def markdown(records, info, date, pictures):
    from peers.driver import duration

    peers = sorted({n for r in records for n in r["seconds"]} - {"reprise"})
    versions = ", ".join(f"{n} {info['versions'].get(n, '')}".strip() for n in peers)
    text = [f"# Reprise and its peers: {info['cpu']}, {date}", "",
            f"Revision {info.get('revision', 'unknown')}; {info['cores']} cores; {', '.join(info['features']) or 'no vector features beyond the baseline'}. Peers: {versions}. {of_others(records)} "
            "Seconds of a call, medians over rounds in turns; ratio > 1: Reprise is faster than the best peer. Measured with `./run bench --peers`; docs/performance.md says how.", "",
            "## Figures", "", _table(("figure", "to reach", "measured", ""), [(f"**{row}**" if v == "short" else row, w, m or "–", v) for row, w, m, v in verdicts(records)]), ""]
    for title, name in pictures:
        text += [f"![{title}]({name})", ""]
    groups = list(dict.fromkeys(r["group"] for r in records))
    for group in groups:
        rows = []
        here = [r for r in records if r["group"] == group]
        names = [n for n in peers if any(n in r["seconds"] for r in here)]
        for r in here:
            time = lambda n: ("**" if n == r["best_peer"] else "") + duration(r["seconds"][n]) + ("**" if n == r["best_peer"] else "") if n in r["seconds"] else ("failed" if n in r["failed"] else "–")
            rows.append((r["workload"], told(r["point"]), str(r["threads"] or "first"), time("reprise"), *(time(n) + (" (differs)" if n in r["differs"] else "") for n in names), f"{r['ratio']:.2f}" if r["ratio"] else "–"))
        text += [f"## {group}", "", _table(("work", "point", "threads", "reprise", *names, "ratio"), rows), ""]
    short = {row for row, _, _, verdict in verdicts(records) if verdict == "short"}
    profiles = [r for r in records if r["workload"] in short and r.get("profile")]
    if profiles:
        text += ["## Where the time of points goes that fall short", "",
                 "What `REPRISE_PROFILE=1` says of Reprise's side, in a process of its own (docs/performance.md: how to read a row).", ""]
        for r in profiles:
            text += [f"{r['workload']}, {told(r['point'])}: {r['ratio']:.2f} of {r['best_peer']}", "", "```", *r["profile"], "```", ""]
    first = [r for r in records if r.get("peak_bytes")]
    if first:
        rows = []
        for r in first:
            for n in sorted(r["peak_bytes"], key=lambda n: (n != "reprise", n)):
                sec = lambda k: duration(r[k][n]) if n in r[k] else "–"
                rows.append((r["workload"], n, sec("from_start"), sec("first_call"), sec("warm"), f"{r['peak_bytes'][n] / 2**20:.0f} MiB"))
        text += ["## First calls", "", _table(("work", "library", "process to result", "first call, empty cache", "first call, warm cache", "peak memory"), rows), ""]
    failed = sorted({(r["workload"], n, why) for r in records for n, why in r["failed"].items()})
    if failed:
        text += ["## What failed", "", _table(("work", "library", "what it said"), [(w, n, why.replace("|", "/")[:160]) for w, n, why in failed]), ""]
    return "\n".join(text).rstrip() + "\n"


def write(folder, records, info, date):
    """The results file, its table and pictures; gives the table's path."""
    folder.mkdir(parents=True, exist_ok=True)
    base = f"cpu-{slug(info['cpu'])}-{date}"
    (folder / f"{base}.json").write_text(json.dumps({"machine": info, "date": date, "records": records}, indent=1) + "\n")
    pictures = []
    for name, title, svg in plots.all_of(records):
        (folder / f"{base}-{name}.svg").write_text(svg)
        pictures.append((title, f"{base}-{name}.svg"))
    (folder / f"{base}.md").write_text(markdown(records, info, date, pictures))
    return folder / f"{base}.md"


def write_docs(page, records, info, date):
    """The table of figures, in place of the one that stands in the page."""
    text = page.read_text()
    begin, end = "<!-- figures -->\n", "<!-- end figures -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"bench: {page} has no place for the table ({begin.strip()} ... {end})")
    points = sum(len(w.points) for w in WORKLOADS if not w.full)
    rows = [(f"**{row}**" if v == "short" else row, w, m or "–", v) for row, w, m, v in verdicts(records)]
    told = (f"The last run ({date}, revision {info.get('revision', 'unknown')}): {info['cpu']}, {info['cores']} cores, {', '.join(info['features'])}; {len(records)} measurements of {points} points. {of_others(records)} "
            f"All points and pictures: `bench/results/cpu-{slug(info['cpu'])}-{date}.md`.")
    table = _table(("figure", "to reach", "measured (1: the best peer's speed)", ""), rows)
    head, rest = text.split(begin)
    page.write_text(head + begin + told + "\n\n" + table + "\n" + end + rest.split(end)[1])
