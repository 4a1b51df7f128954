"""The house checks find what they are there to find."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import check_bounds
import check_compile_cost
import check_errors
import check_headers
import check_imports
import check_layers
import check_lengths
import check_links
import check_probes
import check_public_names
import check_site
import check_words
import compile_cost
import llms
import reference
import snippet_program
import snippets
import wrap
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


class PublicNames(Sandbox):
    def test_differences(self) -> None:
        groups = check_public_names.read("# a comment\n\n# ipybox/a.hpp\nbox\nmcp::tool\n# ipybox/b.hpp\nbox\nlost\n")
        self.assertEqual(groups, {"ipybox/a.hpp": ["box", "mcp::tool"], "ipybox/b.hpp": ["box", "lost"]})
        problems = check_public_names.differences({"box", "mcp::tool", "fresh"}, groups)
        self.assertEqual(len(problems), 3)
        self.assertIn("box stands there twice", problems[0])
        self.assertIn("fresh is public: hide it", problems[1])
        self.assertIn("lost is not declared", problems[2])

    def test_a_name_below_no_header(self) -> None:
        with self.assertRaises(ValueError):
            check_public_names.read("box\n")

    def test_a_name_below_the_wrong_header_and_a_class_that_is_not_declared(self) -> None:
        self.write("ipybox/ipybox.hpp", "#include <ipybox/a.hpp>\n#include <ipybox/b.hpp>\n")
        self.write("ipybox/a.hpp", "namespace ipybox {\nclass box {\n};\nclass known final : base {\n};\n}\n")
        self.write("ipybox/b.hpp", "namespace ipybox {\ntemplate <class T>\nclass pattern {\n};\n}\n")
        self.write("ipybox/fwd.hpp", "namespace ipybox {\nclass known;\n}\n")
        groups = {"ipybox/a.hpp": ["box", "known"], "ipybox/b.hpp": ["pattern", "box"]}
        tree = read_tree(self.root)
        problems = check_public_names.misplaced(groups, tree, self.root)
        self.assertEqual(problems, ["public_names.txt: ipybox/b.hpp does not have box"])
        self.assertEqual(check_public_names.undeclared(groups, tree, self.root), ["fwd.hpp: does not declare box"])
        self.assertEqual(check_public_names.namespaces_in(tree, self.root), set())


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

    def test_bodies_and_text(self) -> None:
        self.header("src.hpp", "ipybox/core/impl/a.ipp")
        self.header("core/impl/a.ipp")
        self.header("core/impl/b.ipp")
        self.write("ipybox/core/careless.hpp", 'using namespace std;\n#include "a.hpp"\n')
        tree = read_tree(self.root)
        self.assertEqual(check_headers.bodies_left_out(tree), ["src.hpp: lacks ipybox/core/impl/b.ipp"])
        self.assertEqual(len(check_headers.text_rules(self.root, tree)), 3)

    def test_functions_of_one_body_are_inline(self) -> None:
        self.write("ipybox/core/a.hpp", "int declared(int a);\n")
        bodies = "IPYBOX_DECL int declared(int a) {}\nIPYBOX_DECL int x::member(int) {}\ninline int own(int) {}\n"
        body = self.write("ipybox/core/impl/a.ipp", bodies)
        self.assertEqual(check_headers.undeclared_bodies(self.root, read_tree(self.root)), [])
        body.write_text(bodies + "IPYBOX_DECL std::string lone(int) {}\n")
        problems = check_headers.undeclared_bodies(self.root, read_tree(self.root))
        self.assertEqual([p.split(" is ")[0] for p in problems], ["core/impl/a.ipp: lone"])

    def test_static_objects_of_functions_are_never_destroyed(self) -> None:
        kept = "    static auto const& a = never_destroyed<json>();\n    static std::atomic<int> b = 0;\n"
        header = self.write("ipybox/core/a.hpp", kept)
        self.assertEqual(check_headers.destroyed_statics(self.root, read_tree(self.root)), [])
        header.write_text(kept + "    static std::string const c;\n    static auto const d = text();\n")
        problems = check_headers.destroyed_statics(self.root, read_tree(self.root))
        self.assertEqual([p.split()[4] for p in problems], ["c", "d"])


class Lengths(Sandbox):
    rule = check_lengths.Rule(("folder", "dev"), 3, {"folder/allowed.py": "a reason"})

    def found(self) -> list[str]:
        return [problem.split(":")[0] for problem in check_lengths.problems_of(self.root, self.rule)]

    def test_a_file_that_is_too_long(self) -> None:
        self.write("folder/allowed.py", "\n" * 4)
        self.write("folder/below/at_the_limit.cpp", "\n" * 3)
        self.write("folder/notes.txt", "\n" * 4)
        self.write("elsewhere/long.cpp", "\n" * 4)
        self.assertEqual(self.found(), [])
        self.write("folder/below/long.cpp", "\n" * 4)
        self.write("dev", "\n" * 4)
        self.assertEqual(self.found(), ["folder/below/long.cpp", "dev"])

    def test_an_exception_that_is_not_needed_any_more(self) -> None:
        self.write("dev", "")
        self.write("folder/allowed.py", "\n" * 3)
        self.assertEqual(self.found(), ["folder/allowed.py"])


class Snippets(Sandbox):
    example = (
        "// prints: 2\n#include <x>\n\nint main() {\n    //! [add]\n    int a = 1;\n      ++a;\n    //! [add]\n}\n"
    )

    def page(self, marker: str, code: str, language: str = "cpp") -> Path:
        return self.write("docs/page.md", f"Text\n\n{marker}\n```{language}\n{code}```\n")

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

    def test_a_marker_without_a_block(self) -> None:
        page = self.write("docs/page.md", "Text\n\n<!-- snippet: examples/01.cpp add -->\n\nMore text\n")
        self.assertEqual(self.check(page), ["docs/page.md:3: no block stands below this line"])

    def test_links_in_the_readme(self) -> None:
        block = "<!-- snippet: examples/01.cpp add -->\n```cpp\nint a = 1;\n  ++a;\n```\n"
        none = "<!-- snippet: none -->\n```cpp\nx\n```\n"
        link = "\n*[examples/01.cpp](examples/01.cpp)*\n"
        page = self.write("README.md", f"{block}\n{block}\n*emphasis*\n\n{none}\n{block}")
        self.assertEqual(len(self.check(page)), 2)
        self.assertEqual(self.check(page, write=True), [])
        expected = f"{block}\n{block}{link}\n*emphasis*\n\n{none}\n{block}{link}"
        self.assertEqual(page.read_text(encoding="utf-8"), expected)
        self.assertEqual(self.check(page), [])
        # Three blocks in a row: the link of the second moves to the third.
        page.write_text(expected.replace("*emphasis*\n", block, 1), encoding="utf-8")
        self.assertEqual(len(self.check(page)), 2)
        self.assertEqual(self.check(page, write=True), [])
        self.assertEqual(page.read_text(encoding="utf-8").count(link), 2)


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


class Imports(Sandbox):
    def modules(self, **texts: str) -> Path:
        for name, text in texts.items():
            self.write(f"box/{name}.py", text)
        return self.root / "box"

    def test_imports_in_functions_and_for_types_count(self) -> None:
        folder = self.modules(
            a="if TYPE_CHECKING:\n    from box.b import B\n",
            b="def f():\n    import box.c\n",
            c="from box import a, nothing\nfrom . import d\nimport os\n",
            d="from .e import x\n",
            e="",
        )
        edges = check_imports.graph(folder)
        self.assertEqual(edges, {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set()})
        self.assertEqual(check_layers.cycles(edges), [["a", "b", "c"]])
        at_once = check_imports.graph(folder, everywhere=False)
        self.assertEqual(at_once, {"a": set(), "b": set(), "c": {"a", "d"}, "d": {"e"}, "e": set()})

    def test_an_import_upwards_and_a_module_without_a_layer(self) -> None:
        layers: dict[str, tuple[set[str], set[str]]] = {"low": ({"a"}, set()), "high": ({"b", "gone"}, {"low"})}
        edges: dict[str, set[str]] = {"a": {"b"}, "b": {"a"}, "c": set()}
        problems = "\n".join(check_imports.wrong_edges(edges, layers))
        self.assertEqual(problems.count("\n"), 2)
        self.assertIn("c.py is missing: in LAYERS", problems)
        self.assertIn("gone.py is missing: no file", problems)
        self.assertIn("a.py: 'low' may not import 'high' (b)", problems)

    def test_modules_of_a_start(self) -> None:
        edges: dict[str, set[str]] = {"supervisor": {"a"}, "preload": set(), "limits": set(), "a": set(), "b": set()}
        listed = 'FIRST = ("supervisor", "preload", "limits", {})'
        self.assertEqual(list(check_imports.not_first(edges, listed.format('"a"'))), [])
        (lacking,) = check_imports.not_first(edges, listed.format(""))
        self.assertIn("lacks a", lacking)
        (needless,) = check_imports.not_first(edges, listed.format('"a", "b"'))
        self.assertIn("has b", needless)


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


class CompileCost(unittest.TestCase):
    pace = compile_cost.Cost(seconds=2, megabytes=270)
    budget = {"of_json": 0.9, "megabytes": 300}

    def sentence(self, seconds: float, megabytes: float) -> str:
        cost = compile_cost.Cost(seconds, megabytes)
        return check_compile_cost.problem("a file", cost, self.pace, self.budget)

    def test_at_a_budget_and_beyond(self) -> None:
        self.assertEqual(self.sentence(1.8, 300), "")
        self.assertIn("0.95 times as long as JSON", self.sentence(1.9, 300))
        self.assertIn("301 MB", self.sentence(1.8, 301))

    def test_a_program_that_does_not_compile(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "false failed"):
            compile_cost.compile_cost("compile_json", compiler="false")


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


class Words(unittest.TestCase):
    def test_sentences_of_comments(self) -> None:
        code = (
            "/// What a tool said. It may\n/// be where it was. \\return who asked\nint a; ///< Where it is\n"
            "/**\n * \\brief Whoever waits.\n * \\par Errors what failed\n */\n"
            'int b = f("What is this"); // why\n'
        )
        found, share = check_words.headless({"a.hpp": code})
        self.assertEqual(
            [problem.split(": ")[1].rstrip(" .") for problem in found],
            ["What a tool said", "Where it is", "Whoever waits"],
        )
        self.assertGreater(share, 20)
        module = (
            '"""Whose it is."""\ndef f():\n    """Adds. What else?\n\n    Where it\n    is."""\n    g("What")  # What\n'
        )
        found, _ = check_words.headless({"a.py": module})
        self.assertEqual([problem.split(": ")[1] for problem in found], ["Whose it is.", "What else?", "Where it is."])
        self.assertEqual(check_words.headless({"a.hpp": "/// The result.\n/// Whether it is.\n"}), ([], 0.0))

    def test_constructions(self) -> None:
        for text in ("argv is no list", "they are no files", "Nobody waits", "whoever asks", "it cannot be had"):
            self.assertEqual(len(check_words.discouraged("a.md", "One\n" + text)), 1, text)
            self.assertIn("a.md:2:", check_words.discouraged("a.md", "One\n" + text)[0])
        for text in ("There is no network", "it is no longer there", "argv is not a list", "there are no files"):
            self.assertEqual(check_words.discouraged("a.md", text), [], text)

    def test_only_text_and_doc_comments_count(self) -> None:
        page = "Text\n```\nis no code\n```\n    nobody\n<!-- nobody -->\n"
        self.assertEqual(check_words.discouraged("a.md", check_words.without_code(page)), [])
        self.assertEqual(check_words.without_code(page).count("\n"), page.count("\n"))
        header = '/**\n * nobody\n */\nint a; // nobody\nchar const* b = "nobody"; ///< nobody\n'
        self.assertEqual(check_words.doc_comments(header).count("nobody"), 2)

    def test_texts_at_run_time_have_no_names_of_cpp(self) -> None:
        for text in ('f("set options::x");', 'f("options::" + x);', 'f(R"(a\n"b" executor::c)");', 'f(\'"\', "a::b");'):
            (problem,) = check_words.names_of_cpp("a.ipp", "int x;\n" + text)
            self.assertIn("a.ipp:2: a name of C++", problem)
        for text in (
            'a::b("kernel.packages");',
            '// "options::x"',
            '/* "options::x"\n */',
            'static_assert(f(),\n "a::b");',
            '# error "a::b"',
            '#error \\\n    "a::b"',
            'f("::1", "10::2", "a: :b", "\\"", a::b);',
            'f("tl::expected");',
        ):
            self.assertEqual(check_words.names_of_cpp("a.ipp", text), [], text)


class Wrap(unittest.TestCase):
    long = "word " * 40

    def test_text_is_wrapped_and_the_rest_is_not(self) -> None:
        page = f"# {self.long}\n\n{self.long}\n\n| {self.long} |\n\n```\n{self.long}\n```\n\n"
        page += f"* {self.long}\n  end\n1. short\n"
        lines = wrap.wrapped_page(page).split("\n")
        too_long = [line[:5] for line in lines if len(line) > wrap.WIDTH]
        self.assertEqual(too_long, ["# wor", "| wor", "word "])
        self.assertIn("1. short", lines)
        item = lines.index("1. short")
        self.assertTrue(lines[item - 2].startswith("* word") and lines[item - 1].startswith("  word"))
        self.assertTrue(lines[item - 1].endswith(" end"))
        self.assertEqual(" ".join(page.split()), " ".join("\n".join(lines).split()))

    def test_wrapped_text_stays(self) -> None:
        once = wrap.wrapped_page(f"{self.long}\n")
        self.assertEqual(wrap.wrapped_page(once), once)

    def test_no_line_begins_as_a_list_or_a_heading(self) -> None:
        for marker in ("*", "-", "+", "1.", "#"):
            text = "x" * (wrap.WIDTH - 1) + f" {marker} y"
            self.assertNotIn(f"\n{marker} ", wrap.wrapped_page(text), marker)

    def test_code_is_not_broken(self) -> None:
        span = "`a b c d e f`"
        for length in range(wrap.WIDTH - 16, wrap.WIDTH + 2):
            self.assertIn(span, wrap.wrapped_page("x" * length + f" {span} y"))


class Llms(Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.write(
            "mkdocs.yml", "site_name: x\n\nnav:\n  - Start:\n      - index.md\n      - a.md\n      - R: r/index.html\n"
        )
        self.write("README.md", "# x\n\n`x` runs\nthings. And more.\n")
        self.write("docs/a.md", "# A `b`\n\n<!-- no -->\n\n| t |\n\n[Some](c.md) text about v. 1. More.\n")
        self.write("docs/llms.txt", llms.text_of(self.root))

    def test_titles_and_sentences(self) -> None:
        self.assertEqual(
            (self.root / "docs/llms.txt").read_text(encoding="utf-8"),
            "# x\n\n> `x` runs things.\n\n## Start\n\n- [x](../README.md): `x` runs things.\n"
            "- [A b](a.md): Some text about v.\n".replace("# x\n\n>", "# ipybox\n\n>", 1),
        )
        self.assertEqual(llms.mistakes(self.root), [])

    def test_a_stale_list_and_pages_left_out(self) -> None:
        self.write("docs/a.md", "# A\n\nOther text.\n")
        self.assertEqual(len(llms.mistakes(self.root)), 1)
        self.write("docs/b.md", "# B\n")
        self.assertIn("mkdocs.yml lacks docs/b.md", llms.mistakes(self.root))
        (self.root / "docs/a.md").unlink()
        self.assertIn("mkdocs.yml: docs/a.md does not exist", llms.mistakes(self.root))


class Reference(unittest.TestCase):
    def test_headers_of_the_sections(self) -> None:
        page = "# T\n\n## One\n\n| `a.hpp` | x |\n| `b/c.hpp`, `d.hpp` | `no.hpp` |\n\n## Two\n\n| `e.hpp` | x |\n"
        self.assertEqual(reference.sections(page), {"One": ["a.hpp", "b/c.hpp", "b/d.hpp"], "Two": ["e.hpp"]})

    def test_public_types(self) -> None:
        header = (
            "namespace ipybox {\nnamespace detail {\nclass a;\nstruct b {};\n}\n\nclass forward;\n"
            "/// A class { of\ntemplate <class T>\nclass c {\n    struct inner {\n    };\n};\n"
            'inline char const* f() {\n    return "}";\n}\n'
            "enum class d { e };\n\nnamespace mcp {\nstruct g : c<int> {};\n} // namespace mcp\n"
            "template <class P>\nconcept h = true && (\n    true);\n} // namespace ipybox\n\n"
            "template <>\nstruct std::is_error_code_enum<ipybox::d> : std::true_type {};\n"
        )
        self.assertEqual(
            list(reference.types(header)),
            [("class", "ipybox::c"), ("enum", "ipybox::d"), ("struct", "ipybox::mcp::g"), ("concept", "ipybox::h")],
        )


class Site(Sandbox):
    def test_links(self) -> None:
        self.write("b/c.html", '<h1 id="top">C</h1><a href="../a.html#one">x</a><a href="#gone">y</a>')
        self.write("reference/r.html", '<a href="#gone">y</a><a href="s.html">y</a>')
        self.write(
            "a.html",
            '<p id="one"><a href="b/c.html#top">x</a><a href="b/c.html#no">y</a><a href="d.html">z</a>'
            '<a href="https://example.org/gone">e</a><img src="no.png"></p>',
        )
        found = [problem.split(":")[0] + problem.split(":")[1] for problem in check_site.broken_links(self.root)]
        self.assertEqual(
            found, ["a.html b/c.html#no", "a.html d.html", "a.html no.png", "b/c.html #gone", "reference/r.html s.html"]
        )


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
