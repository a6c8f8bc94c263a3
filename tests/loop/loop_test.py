#!/usr/bin/env python3
"""The scripts of the developer's loop: which headers are compiled together, what a change runs, where time went."""

import os
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import changed  # noqa: E402
import check_headers  # noqa: E402
import times  # noqa: E402


class Headers(unittest.TestCase):
    def findings(self, files):
        """What is said of a tree with these files: {path: text}."""
        with tempfile.TemporaryDirectory() as root, mock.patch.object(check_headers, "ROOT", root):
            check_headers.includes.cache_clear()
            check_headers.closure.cache_clear()
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                    f.write(text)
            lists = check_headers.chains(sorted(h for h in files if h.endswith(".h")))
            return lists, [line for each in lists for line in check_headers.compile_together("c++", each)]

    def test_a_header_that_lacks_an_include_is_named(self):
        lists, said = self.findings(
            {
                "base/a.h": "#pragma once\ninline std::string a();\n",
                "base/b.h": '#pragma once\n#include <string>\n#include "base/a.h"\n',
            }
        )
        self.assertEqual(lists, [["base/a.h", "base/b.h"]])  # the included one first: <string> comes after it
        self.assertEqual(len(said), 1, said)
        self.assertIn("base/a.h does not compile alone (c++)", said[0])

    def test_headers_share_a_compilation_only_where_one_includes_the_other(self):
        lists, said = self.findings(
            {
                "base/a.h": "#pragma once\n#include <string>\n",
                "base/b.h": "#pragma once\nstd::string b();\n",
                "base/c.h": '#pragma once\n#include "base/a.h"\nstd::string c();\n',
            }
        )
        self.assertEqual(sorted(lists), [["base/a.h", "base/c.h"], ["base/b.h"]])
        self.assertEqual(len(said), 1, said)
        self.assertIn("base/b.h", said[0])

    def test_warnings_count(self):
        _, said = self.findings({"base/a.h": "#pragma once\ninline int a(int unused) { return 1; }\n"})
        self.assertIn("unused", " ".join(said))

    def test_each_header_is_in_one_list(self):
        check_headers.includes.cache_clear()
        check_headers.closure.cache_clear()
        headers = sorted(h for h in check_headers.files(".h") if h.startswith(("include/", "base/", "guards/")))
        lists = check_headers.chains(headers)
        self.assertEqual(sorted(h for each in lists for h in each), headers)
        for each in lists:
            for earlier, later in zip(each, each[1:]):
                self.assertIn(earlier, check_headers.closure(later))


class Changed(unittest.TestCase):
    ORDER = ["base", "graph", "passes", "runtime"]

    def runs(self, name, labels, files, words=()):
        return changed.chosen(name, set(labels), list(words), files, self.ORDER) is not None

    def test_the_rooms_own_suites_and_quick_ones_above(self):
        files = ["passes/fuse.cc"]
        self.assertTrue(self.runs("patterns", ["passes", "slow"], files))
        self.assertTrue(self.runs("runtime", ["runtime", "quick"], files))
        self.assertTrue(self.runs("golden", ["whole", "quick"], files))
        self.assertFalse(self.runs("random", ["runtime", "slow"], files))
        self.assertFalse(self.runs("graph", ["graph", "quick"], files))
        self.assertFalse(self.runs("verified", ["passes", "long"], files))

    def test_suites_documents_and_what_all_is_built_with(self):
        self.assertTrue(
            self.runs("random", ["runtime", "slow"], ["tests/random/program.cc"], ["/b/tests/test_random"])
        )
        self.assertFalse(self.runs("ops", ["graph", "slow"], ["tests/random/program.cc"], ["/b/tests/test_ops"]))
        self.assertTrue(self.runs("docs_links", ["whole", "quick"], ["README.md"]))
        self.assertFalse(self.runs("runtime", ["runtime", "quick"], ["README.md"]))
        self.assertTrue(self.runs("random", ["runtime", "slow"], ["tests/support/device.h"]))
        self.assertTrue(self.runs("base", ["base", "quick"], ["cmake/room.cmake"]))

    def test_the_rooms_are_those_of_the_layers(self):
        self.assertEqual(changed.rooms()[:3], ["base", "guards", "device"])


class Times(unittest.TestCase):
    def test_kinds(self):
        for name, kind in {
            "CMakeFiles/reprise_jit.dir/Unity/unity_jit_0_cxx.cxx.o": "library: jit",
            "tests/CMakeFiles/test_ops.dir/ops/edges_test.cc.o": "tests: ops",
            "tests/cuda_sim/CMakeFiles/reprise_cuda_sim.dir/jit.cc.o": "tests: cuda_sim",
            "examples/CMakeFiles/llama.dir/llama/main.cc.o": "examples",
            "tests/test_ops": "links and archives",
            "libreprise.a": "links and archives",
        }.items():
            self.assertEqual(times.kind(name), kind, name)


if __name__ == "__main__":
    unittest.main()
