#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of the documentation find what they are there to find."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = "int before;\n    // [snippet: one]\n    int x = 1;\n\n    int y;\n    // [end]\nint between;\n// [snippet: one]\nint z;\n// [end]\n"
SNIPPET = "int x = 1;\n\nint y;\n\nint z;"


def page(body, name="tests/docs/a.cpp#one"):
    return f"# Page\n\n<!-- snippet: {name} -->\n{body}<!-- end -->\n"


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run_script(self, *command):
        return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True)


class Snippets(Tree):
    def setUp(self):
        super().setUp()
        self.write({"tests/docs/a.cpp": SOURCE, "tests/docs/CMakeLists.txt": "halfstep_test(docs a.cpp)\n"})

    def check(self, text, name="docs/page.md"):
        self.write({name: text})
        return self.run_script(HERE.parent.parent / "docs/snippets.py", "--check", self.root)

    def refused(self, text, why):
        result = self.check(text)
        self.assertEqual(result.returncode, 1)
        self.assertIn(why, result.stdout)
        self.assertEqual(result.stderr, "")

    def test_an_equal_snippet_passes(self):
        self.assertEqual(self.check(page(f"```cpp\n{SNIPPET}\n```\n")).returncode, 0)

    def test_writing_makes_it_equal(self):
        self.write({"docs/page.md": page("")})
        self.assertEqual(self.run_script(HERE.parent.parent / "docs/snippets.py", "--write", self.root).returncode, 0)
        self.assertEqual((self.root / "docs/page.md").read_text(), page(f"```cpp\n{SNIPPET}\n```\n"))

    def test_drift_is_found(self):
        self.refused(page(f"```cpp\n{SNIPPET} \n```\n"), "page.md:3: differs from")

    def test_a_missing_snippet_is_found(self):
        self.refused(page("", "tests/docs/a.cpp#two"), "there is no snippet")

    def test_a_missing_end_is_found(self):
        self.refused(page("").replace("<!-- end -->\n", ""), "'<!-- end -->' is missing")
        self.refused(page("").replace("<!-- end -->\n", "") + page(""), "'<!-- end -->' is missing")

    def test_a_misspelt_mark_is_found(self):
        self.refused(page("").replace("snippet: ", "snippet "), "not of the form")

    def test_cpp_from_elsewhere_is_found(self):
        self.refused(page(f"```cpp\n{SNIPPET}\n```\n") + "\n```cpp\nint w;\n```\n", "not cut from a tested file")
        self.refused(page(f"```cpp\n{SNIPPET}\n```\n") + "\n  ```C++\nint w;\n```\n", "not cut from a tested file")

    def test_other_fences_pass(self):
        text = page(f"```cpp\n{SNIPPET}\n```\n") + "\n```text\nerror\n```\n\n```\n<!-- end -->\n```\n"
        self.assertEqual(self.check(text).returncode, 0)

    def test_an_unused_snippet_is_found(self):
        self.refused("# Page\n", "no page shows this snippet")

    def test_an_open_snippet_is_found(self):
        self.write({"tests/docs/a.cpp": SOURCE.rsplit("// [end]", 1)[0]})
        self.refused(page(""), "has no '// [end]'")

    def test_a_file_that_nothing_builds_is_found(self):
        self.write({"tests/docs/CMakeLists.txt": "halfstep_test(docs aa.cpp)\n"})
        self.refused(page(f"```cpp\n{SNIPPET}\n```\n"), "no CMakeLists.txt")

    def test_a_table_follows_its_file(self):
        table = "<!-- table: step -->\n{}<!-- end -->\n"
        text = page(f"```cpp\n{SNIPPET}\n```\n") + "\n"
        self.assertEqual(self.check(text + table.format("")).returncode, 0)
        self.write({"docs/performance_tables.md": "# Tables\n\n## step\n\n| a |\n"})
        self.refused(text + table.format(""), "differs from 'step'")
        self.assertEqual(self.check(text + table.format("| a |\n")).returncode, 0)
        self.refused(text + table.format("").replace("step", "other"), "no page shows the section 'step'")


class Links(Tree):
    def check(self, text, **more):
        self.write({"docs/page.md": text, "docs/other.md": "# A `b<c>` title: one, two\n\n## Twice\n\n## Twice\n", **more})
        return self.run_script(HERE / "links.py", self.root)

    def refused(self, text, why):
        result = self.check(text)
        self.assertEqual(result.returncode, 1)
        self.assertIn(why, result.stdout)

    def test_good_links_pass(self):
        text = "# Here\n[a](other.md) [b](other.md#a-bc-title-one-two) [c](#here) [d](../docs) [e](https://nowhere.invalid/#x)\n"
        text += "[f](other.md#twice-1) `[g](none.md)`\n\n```text\n[h](none.md)\n```\n\n[i]: other.md\n"
        result = self.check(text)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.returncode, 0)

    def test_a_missing_file_is_found(self):
        self.refused("x\n[a](none.md)\n", "docs/page.md:2: 'none.md' does not exist")
        self.refused("[a]: none.md\n", "'none.md' does not exist")
        self.refused("![a](none.png)\n", "'none.png' does not exist")

    def test_a_missing_anchor_is_found(self):
        self.refused("[a](other.md#nothing)\n", "'other.md#nothing': no such anchor")
        self.refused("[a](#nothing)\n", "no such anchor")
        self.refused("[a](other.md#twice-2)\n", "no such anchor")

    def test_a_link_out_of_the_repository_is_found(self):
        self.refused("[a](../../x.md)\n", "leads out of the repository")


class Combinations(Tree):
    CODE = 'static_assert(a && b,\n "halfstep: first (f(x); y) "\n "rule");\nstatic_assert(c, "halfstep: second rule");\n'

    def check(self, rows):
        self.write({"include/halfstep/compose/compatibility.hpp": self.CODE, "docs/combinations.md": rows})
        return self.run_script(HERE / "combinations.py", self.root).returncode

    def test_the_two_tables_are_compared(self):
        first, second = "| 1 | `a` | b | first (f(x); y) `rule` |\n", "| 2 | a | b | second rule |\n"
        self.assertEqual(self.check(first + second), 0)
        self.assertEqual(self.check(second + first), 1)
        self.assertEqual(self.check(first), 1)
        self.assertEqual(self.check(first + second + "| 3 | a | b | third |\n"), 1)


if __name__ == "__main__":
    unittest.main()
