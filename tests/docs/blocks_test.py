#!/usr/bin/env python3
"""blocks.py itself: how C++ is taken apart, and that what is wrong in a page is found."""
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import blocks


def kinds(text):
    return [(line, "definition" if definition else "statement") for line, _, definition in blocks.items(text)]


class Items(unittest.TestCase):
    def test_definitions_and_statements(self):
        text = ('#include <map>\nstruct A {\n  int x;\n};\nint f(int a) {\n  return a;\n}\nauto g = [](int a) {\n  return a;\n};\nfor (;;) {\n  f(1);\n}\n'
                'if (f(1)) f(2); else f(3);\nstd::cout << "};" << \'{\';  // };\nconst A a{f(1)};\nusing B = A;\n')
        self.assertEqual(kinds(text), [(0, "definition"), (1, "definition"), (4, "definition"), (7, "statement"), (10, "statement"), (13, "statement"), (13, "statement"),
                                       (14, "statement"), (15, "statement"), (16, "definition")])

    def test_what_belongs_together_stays(self):
        self.assertEqual(len(blocks.items("try {\n  f();\n} catch (int) {\n}\nif (x) {\n} else {\n}\n")), 2)
        self.assertEqual(len(blocks.items('const char* s = R"(}; {)";\nint i = 1\'000;\n')), 2)


class Pages(unittest.TestCase):
    def page(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = unittest.mock.patch.object(blocks, "ROOT", Path(folder.name))
        root.start()
        self.addCleanup(root.stop)
        path = Path(folder.name) / "page.md"
        path.write_text(text)
        return path

    def test_scopes(self):
        scopes, common = blocks.read(self.page("<!-- cpp page\nint z;\n-->\n<!-- cpp\nint a;\n-->\n```cpp run\nint b;\n```\n```text output\n1\n```\n```cpp continued\nint c;\n```\n```cpp\nint d;\n```\n```cpp sketch\nint\n```\n"))
        self.assertEqual([len(s.blocks) for s in scopes], [3, 1])
        self.assertEqual([s.run for s in scopes], [True, False])
        self.assertEqual(scopes[0].output, "1\n")
        self.assertEqual(len(common), 1)

    def test_an_unknown_word_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "the fence says 'runs'"):
            blocks.read(self.page("```cpp runs\nint b;\n```\n"))

    def test_an_output_of_nothing_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "an output of nothing that runs"):
            blocks.read(self.page("```cpp\nint b;\n```\n```text output\n1\n```\n"))


class Output(unittest.TestCase):
    def same(self, expected, got):
        clean = lambda t: [blocks.alike(l) for l in t.splitlines() if l.strip()]
        return blocks.matches(clean(expected), clean(got))

    def test_what_may_differ(self):
        self.assertTrue(self.same("took 1.5 ms (app.cc:3)", "took 27 ms (docs/tutorial.md:120)"))
        row = "     {}   46.4        20      164.14       704.0     4.39     37%   102.22  {} (app.cc:3)"
        self.assertTrue(self.same(row.format("3.2", "linear") + "\n" + row.format("0.4", "add"), row.format("7.2", "add") + "\n" + row.format("0.1", "linear")))
        self.assertTrue(self.same("a\n...\nd", "a\nb\nc\nd"))
        self.assertTrue(self.same("x is ... of 3", "x is 2 of 3"))

    def test_what_may_not(self):
        self.assertFalse(self.same("1 compilation", "2 compilations"))
        self.assertFalse(self.same("0 bytes copied", "8 bytes copied"))
        self.assertFalse(self.same("a\n...", "b\nc"))
        self.assertFalse(self.same("a", "a\nb"))


if __name__ == "__main__":
    unittest.main()
