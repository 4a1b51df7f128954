"""The house checks find what they are there to find."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import check_bounds
import check_errors
import check_headers
import check_layers
import check_links
import check_probes
import snippet_program
import snippets
from outcomes import SANDBOXES, SIBLINGS, Sheet, Table
from tree import read_tree, room


class Sandbox(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


class Includes(Sandbox):
    def header(self, name: str, *includes: str) -> None:
        self.write("ipybox/" + name, "#pragma once\n" + "".join(f"#include <{i}>\n" for i in includes))

    def test_rooms_and_nodes(self) -> None:
        self.assertEqual(room("core/impl/error.ipp"), "core")
        self.assertEqual(room("executor.hpp"), "")
        self.assertEqual(room("impl/executor.ipp"), "")
        self.header("core/impl/error.ipp")
        self.header("core/impl/inner.ipp")
        self.header("core/impl/inner.hpp")
        tree = read_tree(self.root)
        self.assertEqual(tree.node("core/impl/error.ipp"), "core/error.hpp")
        self.assertEqual(tree.node("core/impl/inner.ipp"), "core/impl/inner.hpp")

    def test_an_include_upwards(self) -> None:
        self.header("core/error.hpp", "ipybox/kernel/kernel.hpp")
        self.header("kernel/kernel.hpp", "ipybox/jupyter/message.hpp")
        self.header("jupyter/message.hpp", "ipybox/fwd.hpp", "string")
        self.header("fwd.hpp")
        (problem,) = check_layers.wrong_edges(read_tree(self.root))
        self.assertIn("'core' may not include 'kernel'", problem)

    def test_an_unknown_room_and_a_missing_header(self) -> None:
        self.header("attic/box.hpp")
        self.header("core/error.hpp", "ipybox/core/gone.hpp")
        problems = "\n".join(check_layers.wrong_edges(read_tree(self.root)))
        self.assertIn("'attic' is not in the table", problems)
        self.assertIn("ipybox/core/gone.hpp, which does not exist", problems)

    def test_a_header_and_its_body_are_no_circle(self) -> None:
        self.header("core/a.hpp", "ipybox/core/impl/a.ipp")
        self.header("core/impl/a.ipp", "ipybox/core/a.hpp")
        self.assertEqual(check_layers.cycles(check_layers.graph(read_tree(self.root))), [])

    def test_a_private_header_is_a_part_of_its_body(self) -> None:
        self.header("core/a.hpp", "ipybox/core/impl/a.ipp")
        self.header("core/impl/a.ipp", "ipybox/core/impl/a_state.hpp")
        self.header("core/impl/a_state.hpp", "ipybox/core/a.hpp")
        tree = read_tree(self.root)
        self.assertEqual(check_layers.cycles(check_layers.graph(tree)), [])
        self.assertEqual(check_layers.private_headers(tree), [])
        self.header("core/b.hpp", "ipybox/core/impl/a_state.hpp")
        self.assertEqual(len(check_layers.private_headers(read_tree(self.root))), 1)

    def test_a_circle(self) -> None:
        self.header("core/a.hpp", "ipybox/core/b.hpp")
        self.header("core/b.hpp", "ipybox/core/c.hpp")
        self.header("core/c.hpp", "ipybox/core/impl/c.ipp")
        self.header("core/impl/c.ipp", "ipybox/core/a.hpp")
        found = check_layers.cycles(check_layers.graph(read_tree(self.root)))
        self.assertEqual(found, [["core/a.hpp", "core/b.hpp", "core/c.hpp"]])

    def test_the_longest_chain(self) -> None:
        self.header("core/a.hpp", "ipybox/core/b.hpp", "ipybox/core/c.hpp")
        self.header("core/b.hpp", "ipybox/core/c.hpp")
        self.header("core/c.hpp")
        chain = check_layers.longest_chain(check_layers.graph(read_tree(self.root)))
        self.assertEqual(chain, ["core/a.hpp", "core/b.hpp", "core/c.hpp"])

    def test_heavy_includes(self) -> None:
        self.header("executor.hpp", "ipybox/core/a.hpp")
        self.header("core/a.hpp", "nlohmann/json.hpp", "ipybox/core/impl/a.ipp")
        self.header("core/impl/a.ipp", "iostream", "ipybox/core/b.hpp")
        self.header("core/b.hpp", "nlohmann/json.hpp")
        self.header("core/c.hpp", "regex")
        problems = check_headers.heavy_includes(read_tree(self.root))
        self.assertEqual([p.split(":")[0] for p in problems], ["core/c.hpp", "core/a.hpp"])

    def test_length_bodies_and_text(self) -> None:
        self.header("src.hpp", "ipybox/core/impl/a.ipp")
        self.header("core/impl/a.ipp")
        self.header("core/impl/b.ipp")
        self.write("ipybox/core/long.hpp", 'using namespace std;\n#include "a.hpp"\n' + "\n" * 600)
        tree = read_tree(self.root)
        self.assertEqual(check_headers.bodies_left_out(tree), ["src.hpp: lacks ipybox/core/impl/b.ipp"])
        self.assertEqual(len(check_headers.too_long(tree)), 1)
        self.assertEqual(len(check_headers.text_rules(self.root, tree)), 3)


class Snippets(Sandbox):
    example = (
        "// prints: 2\n#include <x>\n\nint main() {\n    //! [add]\n    int a = 1;\n      ++a;\n    //! [add]\n}\n"
    )

    def page(self, marker: str, code: str, language: str = "cpp") -> Path:
        return self.write("README.md", f"Text\n\n{marker}\n```{language}\n{code}```\n")

    def check(self, page: Path, write: bool = False) -> list[str]:
        self.write("examples/01.cpp", self.example)
        return snippets.check_page(page, self.root, write)

    def test_a_region(self) -> None:
        page = self.page("<!-- snippet: examples/01.cpp add -->", "int a = 1;\n  ++a;\n")
        self.assertEqual(self.check(page), [])

    def test_a_whole_file_has_no_markers(self) -> None:
        page = self.page("<!-- snippet: examples/01.cpp -->", "")
        self.check(page, write=True)
        self.assertIn("```cpp\n#include <x>\n\nint main() {\n    int a = 1;\n", page.read_text(encoding="utf-8"))
        self.assertEqual(self.check(page), [])

    def test_a_difference_is_found_and_mended(self) -> None:
        page = self.page("<!-- snippet: examples/01.cpp add -->", "int a = 2;\n")
        self.assertEqual(len(self.check(page)), 1)
        self.assertEqual(self.check(page, write=True), [])
        self.assertEqual(self.check(page), [])

    def test_missing_files_regions_and_markers(self) -> None:
        for marker in ("<!-- snippet: examples/02.cpp -->", "<!-- snippet: examples/01.cpp no -->", ""):
            self.assertEqual(len(self.check(self.page(marker, "x\n"))), 1, marker)
        self.assertEqual(self.check(self.page("<!-- snippet: none -->", "x\n")), [])
        self.assertEqual(self.check(self.page("", "x\n", language="bash")), [])


class Links(Sandbox):
    def test_files_and_headings(self) -> None:
        self.write(
            "docs/cli.md", "# The program\n\n## Events of `--json`\n\n```\n# no heading\n```\n[up](../README.md)\n"
        )
        page = self.write(
            "README.md",
            "[a](docs/cli.md#events-of---json) [b](docs/) [c](https://x.y/#z) [d](#here)\n\n## Here\n"
            "[e](docs/gone.md) [f](docs/cli.md#no-heading) [g](#gone)\n",
        )
        self.assertEqual(check_links.broken_links(self.root / "docs/cli.md", self.root), [])
        self.assertEqual(len(check_links.broken_links(page, self.root)), 3)


class Bounds(Sandbox):
    head = "| what | bound | beyond it | tests |\n| --- | --- | --- | --- |\n"

    def problems(self, rows: str) -> list[str]:
        self.write("tests/unit/a.cpp", 'TEST_CASE("a: at the bound, and one beyond") {}\n')
        return check_bounds.wrong_rows(f"Text\n\n{self.head}{rows}\n\nText\n", self.root / "tests")

    def test_a_row_names_its_test(self) -> None:
        self.assertEqual(self.problems("| a | 1 | | `unit/a.cpp: and one beyond` |"), [])
        self.assertEqual(self.problems(f"| a | 1 | refused | {check_bounds.SYSTEM} |"), [])

    def test_rows_without_a_test_or_with_one_that_is_not_there(self) -> None:
        for named in ("", "`unit/a.cpp: gone`", "`unit/b.cpp: beyond`", "`unit/a.cpp: beyond`, `unit/a.cpp: gone`"):
            self.assertEqual(len(self.problems(f"| a | 1 | refused | {named} |")), 1, named)

    def test_no_table(self) -> None:
        self.assertEqual(len(check_bounds.wrong_rows("Text\n", self.root)), 1)


class Errors(unittest.TestCase):
    code = "enum class errc {\n    gone = 1, ///< one\n    late,     ///< two\n};\n"

    def test_all_are_listed(self) -> None:
        known = set(check_errors.enumerators(self.code, "errc"))
        self.assertEqual(known, {"gone", "late"})
        self.assertEqual(check_errors.differences(known, "| `errc` | |\n| `gone`, `late` | what |\n"), [])
        self.assertEqual(len(check_errors.differences(known, "| `gone`, `other` | `late` |\n")), 2)


class Probes(unittest.TestCase):
    def tables(self, **letters: str) -> list[Table]:
        """All probes blocked, but for some ways."""
        return [
            {probe.name: dict.fromkeys(sheet.ways, "bb") | self.of(sheet, letters) for probe in sheet.probes()}
            for sheet in (SANDBOXES, SIBLINGS)
        ]

    def of(self, sheet: Sheet, letters: dict[str, str]) -> dict[str, str]:
        return {way: letters[way] for way in sheet.ways if way in letters}

    def test_a_cell_says_which_runs_escape(self) -> None:
        for one, other, words in (
            ("bb", "bb", "blocked"),
            ("--", "--", "n/a"),
            ("EE", "E-", "ESCAPED"),
            ("bb", "EE", "ESCAPED in commands"),
            ("Eb", "Eb", "ESCAPED as root"),
            ("bb", "bE", "ESCAPED as an ordinary user in commands"),
            ("Eb", "EE", "ESCAPED as root, as an ordinary user in commands"),
        ):
            self.assertEqual(check_probes.cell({"srt": one, "srt!": other}), words)

    def test_a_stale_page_and_an_escape(self) -> None:
        tables = self.tables(none="EE", open="EE")
        self.assertEqual(check_probes.mistakes(tables, check_probes.text_of(tables)), [])
        self.assertEqual(len(check_probes.mistakes(self.tables(), check_probes.text_of(tables))), 1)
        for way, table in ("bubblewrap!", 0), ("walls", 1):
            escaped = self.tables(**{way: "bE"})
            self.assertEqual(
                len(check_probes.mistakes(escaped, check_probes.text_of(escaped))), len(escaped[table]), way
            )

    def test_a_table_of_other_probes(self) -> None:
        problems = check_probes.mistakes([{}, {}], "")
        self.assertEqual([problem for problem in problems if "does not have the probes" not in problem], [])
        self.assertEqual(len(problems), 2)

    def test_a_table_is_read_as_it_is_written(self) -> None:
        for sheet, table in zip((SANDBOXES, SIBLINGS), self.tables(srt="-E", open="E-"), strict=True):
            self.assertEqual(sheet.parsed(sheet.written(table)), table)


class SnippetProgram(unittest.TestCase):
    def test_statements_and_definitions(self) -> None:
        for code in (
            "int a = f() {",
            "auto const x = 1;\n",
            "// why\nbox.start();\n",
            'result = f(R"(\nclass A:\n)");\n',
        ):
            self.assertIn("int snippet_1() {", snippet_program.wrapped(code, 1, ""), code)
        for code in ("struct a {\n};\n", "/// What\nasio::awaitable<void> f(int a) {\n}\n", "int f() {\n}\n"):
            self.assertIn("namespace snippet_1 {", snippet_program.wrapped(code, 1, ""), code)
        self.assertEqual(snippet_program.wrapped("#include <a>\nint main() {}\n", 1, ""), "")

    def test_errors_name_the_page(self) -> None:
        self.assertIn('#line 88 "README.md"', snippet_program.wrapped("f();\n", 1, '#line 88 "README.md"'))


if __name__ == "__main__":
    unittest.main()
