#!/usr/bin/env python3
"""C++ of the documents: compiled, and run where a block says so. CONTRIBUTING.md, "Documents", tells the marks of fences.

  blocks.py generate DIR PARTS    sources DIR/part_0.cc ... of all blocks (written only where they differ)
  blocks.py run EXECUTABLE [PAGE] runs what is marked (of one page: and shows what it prints), and compares with the output that a page shows
  blocks.py links                 links, anchors and paths that documents name
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Pages whose examples a test of their own compiles, runs and compares word by word.
ELSEWHERE = {"docs/mutation.md": "tests/matrix/document_test.cc", "docs/custom_operators.md": "tests/patterns/document_test.cc"}
PRELUDE = ["atomic", "chrono", "cmath", "cstdio", "functional", "iostream", "map", "memory", "optional", "random", "string", "thread", "tuple", "vector",
           "reprise/reprise.h"]
WORDS = {"run", "continued", "sketch", "page"}


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


class Scope:
    """Blocks that are one function: names of one are known in the next."""

    def __init__(self, page, line):
        self.page, self.line, self.blocks, self.run, self.environment, self.output = page, line, [], False, {}, None

    @property
    def name(self):
        return f"{self.page}:{self.line}"


def fail(page, line, what):
    sys.exit(f"{page}:{line}: {what}")


def read(page):
    """(scopes, code that all of the page's scopes see): blocks are (line of their first line, text)."""
    name, scopes, common = name_of(page), [], []
    if name in ELSEWHERE:
        if f'expect_examples_of("{name}"' not in (ROOT / ELSEWHERE[name]).read_text():
            fail(name, 1, f"{ELSEWHERE[name]} does not hold its examples any more")
        return scopes, common
    hidden = False  # a comment has opened the scope, and its first visible block follows
    block, words, last = None, [], None  # block: its first line, its lines so far, what closes it, kind
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if block is not None:
            if line.strip() == block[2]:
                start, lines, closing, kind = block
                block = None
                text = "\n".join(lines)
                if kind == "output":
                    if not last or not last.run:
                        fail(name, start, "an output of nothing that runs")
                    last.output = (last.output or "") + text + "\n"
                    continue
                unknown = [w for w in words if w not in WORDS and "=" not in w]
                if unknown:
                    fail(name, start - 1, f"the fence says '{unknown[0]}': expected one of {', '.join(sorted(WORDS))}, or NAME=VALUE")
                if "sketch" in words:
                    continue
                if "page" in words:
                    common.append((start, text))
                    continue
                if ("continued" in words or hidden) and scopes:
                    scope = scopes[-1]
                else:
                    scope = Scope(name, start)
                    scopes.append(scope)
                hidden = closing == "-->"
                scope.blocks.append((start, text))
                scope.run = scope.run or "run" in words
                scope.environment.update(w.split("=", 1) for w in words if "=" in w)
                last = scope
            else:
                block[1].append(line)
            continue
        opening = re.fullmatch(r"(```|<!-- )(\w+)(.*)", line)
        if not opening:
            continue
        mark, language, rest = opening.groups()
        words = rest.replace("-->", "").split()
        if mark == "<!-- " and language != "cpp":
            continue
        kind = "cpp" if language == "cpp" else "output" if words == ["output"] else "other"
        if kind != "other":
            block = [number + 1, [], "```" if mark == "```" else "-->", kind]
    return scopes, common


def items(text):
    """Splits C++ at its outermost level: (line within the text, piece, is it a definition?)."""
    found, begin, depth, at, line, first = [], 0, 0, 0, 0, None
    braces = []  # of each open brace: does its end end a piece?

    def is_definition(t):
        return bool(re.match(r"(template|struct|class|enum|union|namespace|using|typedef|inline|#)\b|#", t)) or is_function(t)

    def is_function(t):
        head = re.sub(r"//[^\n]*", "", t.split("{")[0]).strip()
        return ("{" in t and not re.match(r"(if|for|while|switch|do|else|try|catch|return)\b", head) and "=" not in re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", head)
                and bool(re.search(r"[\w>&*]\s+[\w:~]*\w\s*\(.*\)\s*(const|noexcept|\s)*(->[\w:<>,&*\s]+)?$", head, re.S)))

    def end():
        nonlocal begin, first
        t = re.sub(r"\A(\s*//[^\n]*\n?)+", "", text[begin:at]).strip()
        if t:
            found.append((first, t, is_definition(t)))
        begin, first = at, None

    while at < len(text):
        c = text[at]
        if c == "\n":
            line += 1
        if text.startswith("//", at):
            at = text.find("\n", at) if text.find("\n", at) >= 0 else len(text)
            continue
        if first is None and not c.isspace():
            first = line
        raw = re.compile(r'R"(\w*)\(').match(text, at)
        if raw:
            close = text.index(")" + raw.group(1) + '"', at)
            line += text.count("\n", at, close)
            at = close + len(raw.group(1)) + 2
            continue
        if c in "\"'" and not (c == "'" and at and text[at - 1].isalnum()):
            at += 1
            while text[at] != c:
                at += 2 if text[at] == "\\" else 1
            at += 1
            continue
        if c == "#" and not text[begin:at].strip():
            at = text.find("\n", at) if text.find("\n", at) >= 0 else len(text)
            end()
            continue
        if c in "([{":
            if c == "{":
                head = re.sub(r"//[^\n]*", "", text[begin:at]).strip()
                braces.append(depth == 0 and (bool(re.match(r"(if|for|while|switch|do|else|try|catch|namespace)\b", head)) or head == "" or is_function(head + "{")))
            depth += 1
        elif c in ")]}":
            depth -= 1
            if c == "}" and braces.pop() and depth == 0:
                at += 1
                rest = text[at:].lstrip()
                if not re.match(r"(else|catch|while)\b", rest):
                    end()
                continue
        elif c == ";" and depth == 0:
            at += 1
            end()
            continue
        at += 1
    end()
    return found


def source_of(scope, common, number):
    includes, definitions, statements = [], [], []
    for start, text in common + scope.blocks:
        program = re.search(r"^int main\(\) \{", text, re.M)
        if program:  # its end gives nothing back
            text = text.replace("int main() {", "void main_of_page() {").replace("  return 0;\n", "  return;\n")
        for line, piece, definition in items(text):
            where = f'#line {start + line} "{scope.page}"\n'
            if piece.startswith("#include"):
                includes.append(piece)
            elif definition:
                definitions.append(where + piece)
            else:
                statements.append(where + piece)
        if program:
            statements.append("main_of_page();")
    body = "\n".join(definitions) + "\nvoid body() {\n" + "\n".join(statements) + "\n}\n"
    return includes, f'namespace scope_{number} {{\nnamespace rp = reprise;\n{body}\n#line 1 "{scope.name}"\nconst bool known = add("{scope.name}", body);\n}}\n'


def generate(folder, parts):
    sources, includes, number = [[] for _ in range(parts)], [set() for _ in range(parts)], 0
    for page in pages():
        scopes, common = read(page)
        for scope in scopes:
            part = min(range(parts), key=lambda p: sum(map(len, sources[p])))
            wants, text = source_of(scope, common, number)
            includes[part].update(wants)
            sources[part].append(text)
            number += 1
    table = "#include <map>\n#include <string>\nusing Body = void (*)();\ninline std::map<std::string, Body>& all() { static std::map<std::string, Body> m; return m; }\n" \
            "inline bool add(const char* name, Body b) { all()[name] = b; return true; }\n"
    run = "int main(int argc, char** argv) {\n  if (argc != 2 || !all().count(argv[1])) return std::fprintf(stderr, \"no such block\\n\"), 2;\n" \
          "  try { all()[argv[1]](); } catch (const std::exception& e) { std::cout.flush(); std::fprintf(stderr, \"%s\\n\", e.what()); return 1; }\n}\n"
    Path(folder).mkdir(parents=True, exist_ok=True)
    for p in range(parts):
        text = "".join(f"#include <{h}>\n" for h in PRELUDE) + "\n".join(sorted(includes[p])) + "\n" + table + "\n".join(sources[p]) + ("#line 1 \"main\"\n" + run if p == 0 else "")
        out = Path(folder) / f"part_{p}.cc"
        if not out.exists() or out.read_text() != text:
            out.write_text(text)


def alike(line):
    """What differs from run to run and from machine to machine stands for itself."""
    line = re.sub(r"[\w./-]+\.(?:cc|cpp|md|h):\d+", "FILE:LINE", line)
    line = re.sub(r"[1-9]\d*(?:\.\d+)?(?= (?:bytes|ns|us|ms|s|GB/s|MB|KB|tokens/s)\b)|0\.\d+(?= (?:us|ms|s)\b)", "N", line)
    if re.match(r"\s*\d+\.\d+( +\d+(\.\d+)?%?){5,} ", line):
        return "a row of measurements"  # the longest first: which that is may differ, too
    return re.sub(r"\s+", " ", line).strip()


def matches(expected, got):
    """Lines of three dots stand for any lines, three dots in a line for anything."""
    if not expected:
        return not got
    if expected[0] == "...":
        return any(matches(expected[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and re.fullmatch(re.escape(expected[0]).replace(r"\.\.\.", ".*"), got[0]) is not None and matches(expected[1:], got[1:])


def run(executable, only=None):
    failed = ran = 0
    for page in pages():
        for scope in read(page)[0]:
            if not scope.run or (only and only != scope.page):
                continue
            ran += 1
            with tempfile.TemporaryDirectory() as folder:
                environment = {k: v for k, v in os.environ.items() if not k.startswith("REPRISE_") or k == "REPRISE_CACHE_DIR"}
                done = subprocess.run([os.path.abspath(executable), scope.name], cwd=folder, env={**environment, **scope.environment}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
            if done.returncode != 0:
                failed += 1
                print(f"FAILED {scope.name}: exit code {done.returncode}\n{done.stdout}")
                continue
            if only:
                print(f"{scope.name}\n{done.stdout}")
            if scope.output is None:
                continue
            clean = lambda t: [alike(l) for l in t.splitlines() if l.strip()]
            if not matches(clean(scope.output), clean(done.stdout)):
                failed += 1
                print(f"FAILED {scope.name}: the page shows\n{scope.output}and it printed\n{done.stdout}")
    print(f"{ran - failed} passed, {failed} failed")
    return failed


def slug(heading):
    return re.sub(r"[^\w\- ]", "", re.sub(r"`|\*", "", heading).lower()).strip().replace(" ", "-")


def links():
    wrong = []
    text_of = lambda page: re.sub(r"^```.*?^```$", lambda m: "\n" * m.group(0).count("\n"), page.read_text(), flags=re.S | re.M)
    anchors = {page: {slug(h) for h in re.findall(r"^#+ (.*)$", text_of(page), re.M)} for page in pages()}
    for page in pages() + [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        for number, line in enumerate(text_of(page).splitlines(), 1):
            say = lambda what: wrong.append(f"{page.relative_to(ROOT)}:{number}: {what}")
            plain = re.sub(r"`[^`]*`", "", line)
            for target in re.findall(r"\]\(([^)\s]+)\)", plain):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                to = (page.parent / path).resolve() if path else page
                if not to.exists():
                    if not target.startswith("api/"):  # what Doxygen makes
                        say(f"no such file: {target}")
                elif anchor and anchor not in anchors.get(to, set()):
                    say(f"no such heading: {target}")
            for path in re.findall(r"`((?:docs|examples|tests|scripts|include|runtime|kernels|graph|base|tensor|guards|passes|jit|tools|packaging)/[\w./-]+\.\w+)`", line):
                if not any((base / path).exists() for base in (ROOT, page.parent)):
                    say(f"no such file: {path}")
    print("\n".join(wrong) if wrong else f"links of {len(anchors)} pages: right")
    return len(wrong)


if __name__ == "__main__":
    what = sys.argv[1:] or [""]
    if what[0] == "generate" and len(what) == 3:
        generate(what[1], int(what[2]))
    elif what[0] == "run" and len(what) in (2, 3):
        sys.exit(1 if run(*what[1:]) else 0)
    elif what == ["links"]:
        sys.exit(1 if links() else 0)
    else:
        sys.exit(__doc__)
