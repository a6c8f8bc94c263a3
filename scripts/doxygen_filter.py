#!/usr/bin/env python3
"""A header as Doxygen reads it (docs/Doxyfile, INPUT_FILTER): .inc files stand in their place, and rows of macros are the declarations that they make."""
import re
import sys
from pathlib import Path

HEADERS = Path(__file__).resolve().parents[1] / "include"
DIMS = "const OptionalDims& dim = {}, bool keepdim = false"


def declarations(row, method):
    kind, name, rest = row
    self_, const = ("", " const") if method else ("const Tensor& self", "")
    join = lambda *parts: ", ".join(p for p in parts if p)
    arguments = {"UNARY": self_, "BINARY": "const Operand& other" if method else "const Operand& self, const Operand& other",
                 "REDUCTION": join(self_, DIMS), "REDUCTION_AS": join(self_, DIMS, "std::optional<DType> dtype = std::nullopt")}[kind]
    lines = [f"Tensor {name}({arguments}){const};"]
    if method and "Inplace" in rest:
        lines.append(f"Tensor {name}_({arguments}){const};")
    return " ".join(lines)


def expand(text, method):
    def included(match):
        path = HEADERS / match.group(1)
        if not path.exists():
            return match.group(0)
        out = []
        for line in expand(path.read_text(), method or "methods" in path.name).splitlines():
            row = re.match(r"REPRISE_(UNARY|BINARY|REDUCTION|REDUCTION_AS)\((\w+), *(.*)\)", line)
            # What stands above rows is about each of them.
            out.append(declarations(row.groups(), method) if row else re.sub(r"^// (?!----)", "/// ", line))
        return "\n".join(out)

    text = re.sub(r'^#include "(reprise/\w+\.inc)"$', included, text, flags=re.M)
    return re.sub(r"^#(?:define|undef) REPRISE_(?:UNARY|BINARY|REDUCTION|REDUCTION_AS|TWIN_\w+)\b(?:.*\\\n)*.*$", "", text, flags=re.M)


print(expand(Path(sys.argv[1]).read_text(), False))
