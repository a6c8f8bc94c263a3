#!/usr/bin/env python3
"""unity.py ROOT MOST SOURCE...: which sources are compiled together (cmake/unity.cmake), a line "UNIT SOURCE" for each that is not compiled alone.

Sources of one folder meet first, and then what is left over of several, at most MOST, where no name that one keeps for
itself (in an anonymous namespace, static, by a `using`, as a macro) is a name of another or of a header that only
another includes. It reads text as this code is written, with declarations in the first column, and
takes too many names rather than too few: a source that meets fewer others is only compiled later."""
import functools
import os
import re
import sys

WORD = re.compile(r"[A-Za-z_]\w*")
NOT_NAMES = frozenset("const constexpr constinit static inline template typename class struct enum using namespace return if for while else case auto void bool int char "
                      "float double unsigned long short std size_t public private protected default delete operator sizeof new this true false concept requires extern "
                      "thread_local virtual override final noexcept explicit friend mutable volatile alignas TEST TEST_F TEST_P INSTANTIATE_TEST_SUITE_P reprise nullptr "
                      "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t".split())
TYPE = re.compile(r"(?:class|struct|enum(?:\s+class)?|union|concept)\s+([A-Za-z_]\w*)\s*(?:final)?\s*(?:[:{;=]|$)|using\s+([A-Za-z_]\w*)\s*=")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
OPEN_ENUM = re.compile(r"enum\b(?!\s+(?:class|struct)\b)")  # one whose enumerators are names of what is around it
VALUE = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^]]*\]\s*)*(?:=|;|\{|,|\(|$)")


def enumerators(body):
    return WORD.findall(body.partition("{")[2])


def declared(line):
    """Names that a line in the first column may declare: {name: whether other functions may have it}."""
    body = line.split("//")[0].rstrip()
    if not body or not (body[0].isalpha() or body[0] == "_") or body.startswith("namespace"):
        return {}
    if re.match(r"[A-Z_0-9]+\(", body):  # a row of a table; what it says in quotes are no names
        return {} if body.startswith("TEST") else dict.fromkeys(WORD.findall(QUOTED.sub("", body)), True)
    names = {g: False for m in TYPE.finditer(body) for g in m.groups() if g}
    if names or body.startswith("enum"):
        names.update(dict.fromkeys(enumerators(body) if OPEN_ENUM.match(body) else [], False))
    elif m := re.match(r"[^(={]*?([A-Za-z_]\w*)\s*\(", body):
        names[m.group(1)] = not body.startswith(("constexpr int", "constexpr std::", "constexpr double", "constexpr float", "const "))
    else:
        names.update(dict.fromkeys(VALUE.findall(body), False))
    return {name: of_function for name, of_function in names.items() if name not in NOT_NAMES}


@functools.lru_cache(None)
def text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().split("\n")
    except OSError:
        return []


def own(path):
    """Names that a source keeps for itself: {name: whether it is a function's}, or what it says where saying it twice is no error."""
    names, inside, enum = {}, 0, False
    for line in text(path):
        if enum:
            names.update(dict.fromkeys(WORD.findall(line.split("//")[0]), False))
            enum = "}" not in line
        if re.match(r"namespace\b[^=;]*\{\s*$", line):
            inside = inside + 1 if inside or re.match(r"namespace\s*\{", line) else 0
        elif line.startswith("}  // namespace"):
            inside = max(0, inside - 1)
        elif m := re.match(r"(?:using\s+(?:namespace\s+)?(?:[\w:]+::)?(\w+)\s*;|namespace\s+(\w+)\s*=)", line):
            names.setdefault(m.group(1) or m.group(2), line)
        elif m := re.match(r"#\s*define\s+(\w+)", line):
            names[m.group(1)] = False
        elif m := re.match(r"#\s*undef\s+(\w+)", line):
            names.pop(m.group(1), None)
        elif inside or line.startswith(("static ", "using ")):
            enum = bool(OPEN_ENUM.match(line)) and "}" not in line
            names.update(declared(line))
    return names


@functools.lru_cache(None)
def header(path):
    """Names that a header declares, and what it includes."""
    names, included = {}, set()
    for line in text(path):
        if m := re.match(r'#\s*include\s+"([^"]+)"', line):
            included.add(m.group(1))
        else:
            names.update(declared(line))
    return names, frozenset(included)


def find(root, name):
    for folder in ("", "include", "tests/support"):
        path = os.path.join(root, folder, name)
        if os.path.isfile(path):
            return path
    return None


def headers(root, path):
    seen, todo = set(), [path]
    while todo:
        for name in header(todo.pop())[1]:
            at = find(root, name) or find(os.path.dirname(path), name)
            if at and at not in seen:
                seen.add(at)
                todo.append(at)
    return frozenset(seen)


class Source:
    def __init__(self, root, path):
        self.path, self.own, self.headers = path, own(path), headers(root, path)
        # Headers of tests declare in the library's namespaces what the library may, too.
        beside = [h for h in self.headers if os.path.dirname(h) == os.path.dirname(path) and os.path.relpath(path, root).startswith("tests")]
        self.beside = {name: False for h in beside for name, of_function in header(h)[0].items() if not of_function}

    def meets(self, other):
        for name, said in self.own.items():
            if name in other.own and (isinstance(said, bool) or said != other.own[name]):
                return False
        return self.apart(other) and other.apart(self)

    def apart(self, other):
        """Whether none of its names is one that a header of the other's declares."""
        for h in other.headers - self.headers:
            theirs = header(h)[0]
            if any(name in theirs for name, said in [*self.beside.items(), *self.own.items()] if isinstance(said, bool)):
                return False
        return True


def pack(sources, most):
    """Units of at most MOST sources that all meet."""
    apart = {s.path: {o.path for o in sources if o is not s and not s.meets(o)} for s in sources}
    units = []
    # Those that few others can meet choose first.
    for source in sorted(sources, key=lambda s: -len(apart[s.path])):
        for unit in units:
            if len(unit) < most and not any(other.path in apart[source.path] for other in unit):
                unit.append(source)
                break
        else:
            units.append([source])
    return units


def main():
    root, most = sys.argv[1], int(sys.argv[2])
    folders = {}
    for path in sorted(sys.argv[3:]):
        folders.setdefault(os.path.dirname(path), []).append(Source(root, path))
    units = [unit for sources in folders.values() for unit in pack(sources, most)]
    # What is left over of a folder meets what is left over of others.
    full = [unit for unit in units if 2 * len(unit) > most]
    full += pack([source for unit in units if 2 * len(unit) <= most for source in unit], most)
    taken = {}
    for unit in full:
        key = re.sub(r"\W", "_", os.path.relpath(os.path.dirname(unit[0].path), root))
        taken[key] = taken.get(key, -1) + 1
        for source in unit:
            if len(unit) > 1:
                print(f"{key}_{taken[key]} {source.path}")


if __name__ == "__main__":
    main()
