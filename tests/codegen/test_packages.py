"""Packages as a whole: what is in them, how tools are found, what is written again, and the faults that others had."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from many_tools import many_tools
from packages import SUPPORT, Packages, tool, write

HERE = Path(__file__).parent


def test_two_hundred_tools_make_two_hundred_modules_that_import(packages: Packages) -> None:
    """M9: of the same 200 tools the original's generator makes 34 modules that cannot be imported."""
    tools = many_tools(200)
    (answer,) = packages.generate({"server": "many", "tools": tools})
    begin = time.perf_counter()
    modules = [packages.module(f"many.{name}") for name in answer["modules"]]
    took = time.perf_counter() - begin
    print(
        f"\nscore: 200 tools: generated in {answer['generating']:.1f} ms, written in {answer['total']:.1f} ms, "
        f"{len(modules)} modules imported in {took:.2f} s"
    )
    assert len(modules) == 200
    assert answer["notices"] == []
    assert all(hasattr(module, "Params") and hasattr(module, "run") for module in modules)


def test_a_format_needs_no_further_package(packages: Packages) -> None:
    """M16: a property with the format email makes the original's module need a package that is not there."""
    formats = ["email", "idn-email", "uri", "uuid", "date-time", "ipv4", "json", "password", "binary"]
    properties = {name.replace("-", "_"): {"type": "string", "format": name} for name in formats}
    module = packages.tool({"type": "object", "properties": properties})
    value = dict.fromkeys(properties, "Any <text> is accepted")
    assert module.Params(**value).to_arguments() == value


def test_tools_of_the_same_name_to_python_have_modules_of_their_own(packages: Packages) -> None:
    """W15: such tools overwrite each other in the original, __init__ overwrites the package, import cannot be imported."""
    names = ["tool-1", "tool_1", "Tool.1", "__init__", "__main__", "_mcp", "import", "2fa", "class", ""]
    (answer,) = packages.generate({"server": "server", "tools": [tool(name) for name in names]})
    assert len(set(answer["modules"])) == len(names)
    for name, module_name in zip(names, answer["modules"], strict=True):
        module = packages.module(f"server.{module_name}")
        module.run()
        assert module.CLIENT.calls[-1] == (name, {})


def test_no_name_of_a_server_or_a_tool_takes_what_packages_need(packages: Packages) -> None:
    names = ["search", "describe", "progress", "json", "re", "plain"]
    packages.generate(*({"server": name, "tools": [tool("package"), tool("look")]} for name in names))
    root = importlib.import_module(packages.name)
    for name in names:
        own = importlib.import_module(f"{packages.name}.{name}")
        assert getattr(root, name) is own
        own.look.run()
        own.package.run()
        assert [call[0] for call in own.CLIENT.calls] == ["look", "package"]
    assert root.search("look").count("look()") == len(names)
    assert root.describe("plain.look").startswith(f"from {packages.name}.plain import look")
    with pytest.raises(TypeError, match="not callable"):
        root.json()


def test_nothing_but_the_name_of_the_server_is_written(packages: Packages) -> None:
    """W16: the original writes the server's parameters, and with them its secrets, where code that is not trusted reads and changes them."""
    packages.generate({"server": "server", "tools": [tool("a")]})
    text = (packages.root / "server" / "__init__.py").read_text(encoding="utf-8")
    assert text.endswith('from ._client import package\n\nCLIENT, __getattr__, __dir__ = package(__name__, "server")\n')
    assert "environ" not in text


def test_the_index_of_a_package(packages: Packages) -> None:
    described = tool("b-tool", {"type": "object", "properties": {"x": {}, "y": {}}, "required": ["x"]})
    described["description"] = "Does this. Then that."
    packages.generate({"server": "server", "tools": [tool("a"), described]})
    index = importlib.import_module(f"{packages.name}.server").__doc__
    assert index is not None
    assert index.splitlines()[-2:] == ["a()", "b_tool(x, ...) - Does this."]
    imported = [name for name in sys.modules if name.startswith(f"{packages.name}.server.")]
    assert imported == [f"{packages.name}.server._client"]


def test_the_import_that_the_index_shows_works(packages: Packages) -> None:
    packages.generate({"server": "server", "tools": [tool("a-tool"), tool("b")]})
    index = importlib.import_module(f"{packages.name}.server").__doc__
    assert index is not None
    (shown,) = [line.strip() for line in index.splitlines() if " import " in line]
    names: dict[str, Any] = {}
    exec(shown, names)
    assert names["a_tool"] is packages.module("server.a_tool")


def test_a_description_says_what_is_not_sent(packages: Packages) -> None:
    optional = {"type": "object", "properties": {"x": {"type": "string"}}}
    packages.generate({"server": "server", "tools": [tool("plain"), tool("optional", optional)]})
    root = importlib.import_module(packages.name)
    said = "# = UNSET: optional, and not sent unless it is given"
    assert said in root.describe("server.optional").splitlines()
    assert said not in root.describe("server.plain")


def test_tools_are_found_without_importing_them(packages: Packages) -> None:
    packages.generate(
        {
            "server": "github",
            "tools": [
                tool("create-issue", description="Create an issue in a repository."),
                tool("search_code", description="Search code.", title="Code search"),
            ],
        },
        {
            "server": "e_mail",
            "tools": [tool("send", {"type": "object", "properties": {"issue": {}}}, description="Send.")],
        },
    )
    root = importlib.import_module(packages.name)
    assert root.search("issue") == "github.create_issue() - Create an issue in a repository.\ne_mail.send(...) - Send."
    assert root.search("CODE github").startswith("github.search_code() - Search code.")
    assert root.search().count("\n") == 2
    assert "None of 3 tools" in root.search("zebra")
    assert dir(root) == sorted([*root.__all__, "e_mail", "github"])
    assert "… and 2 more" in root.search(limit=1)
    assert repr(root.search("zebra")) == str(root.search("zebra"))
    described = root.describe("github.create_issue")
    assert described.startswith(
        f"from {packages.name}.github import create_issue\n\n\ndef run(params: Params = Params()) -> str:\n"
    )
    assert root.describe("github.create-issue") == root.describe(f"{packages.name}.github.create_issue") == described
    assert root.describe("GitHub.create_issue") == described
    assert root.describe("e-mail.send") == root.describe("e_mail.send")
    assert "import annotations" not in described
    assert root.describe("github").splitlines()[0].startswith("github.create_issue()")
    with pytest.raises(LookupError, match="there is no server 'gitlab'; there are: e_mail, github"):
        root.describe("gitlab.x")
    with pytest.raises(LookupError, match="did you mean create_issue"):
        root.describe("github.create_isue")
    assert not any(name.startswith(f"{packages.name}.") for name in sys.modules)


def test_instructions_of_a_server_are_set_apart(packages: Packages) -> None:
    said = 'Start with look().\n\nThen \x1b[31m"act".'
    packages.generate(
        {"server": "kind", "tools": [tool("look")], "instructions": said},
        {"server": "bare", "tools": [tool("look")], "instructions": " "},
    )
    root = importlib.import_module(packages.name)
    assert root.describe("kind").splitlines() == [
        "Instructions of the server's author:",
        "    Start with look().",
        "",
        r"    Then \x1b[31m" + '"act".',
        "",
        "kind.look()",
    ]
    assert root.describe("bare") == "bare.look()"
    index = importlib.import_module(f"{packages.name}.kind").__doc__
    assert index is not None
    assert "Instructions of the server's author:\n\n    Start with look().\n\n    Then \x1b[31m" in index
    assert "Instructions" not in (importlib.import_module(f"{packages.name}.bare").__doc__ or "")


def test_a_long_description_is_shown_in_part(packages: Packages) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": "First."}}, "required": ["a"]}
    wide = {"type": "object", "properties": {f"field_{i}": {"type": "string"} for i in range(1000)}}
    long = "\n".join(["One line of many."] * 3000)
    packages.generate(
        {"server": "s", "tools": [tool("long", schema, description=long), tool("wide", wide), tool("short", schema)]},
        {"server": "many", "tools": [tool(f"tool{i}", description="x" * 90) for i in range(300)]},
    )
    root = importlib.import_module(packages.name)
    assert "not all of it" not in root.describe("s.short")
    for name, shows in [("s.long", 'a: str\n    """First."""'), ("s.wide", "field_0"), ("many", "many.tool0()")]:
        described = root.describe(name)
        assert len(described) < 12_200
        assert shows in described
        (more,) = re.findall(r"describe\((.*), limit=(\d+)\) shows the rest$", described)
        assert more[0] == repr(name)
        whole = root.describe(name, limit=int(more[1]))
        assert "not all of it" not in whole
        assert len(whole) > 20_000
    assert root.describe("s.long", limit=10**6).count("One line of many.") == 3000


def test_nothing_that_a_terminal_obeys_is_in_what_is_found(packages: Packages) -> None:
    packages.generate({"server": "server", "tools": [tool("a", description="Red \x1b[31m, turned \u202e.")]})
    root = importlib.import_module(packages.name)
    for text in (root.search(), root.describe("server")):
        assert text == r"server.a() - Red \x1b[31m, turned \u202e."


def test_a_description_has_the_checks_that_stand_in_the_listed_schema(packages: Packages) -> None:
    parent = {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "minProperties": 1},
            {"$ref": "#/$defs/b"},
        ]
    }
    schema = {
        "type": "object",
        "properties": {"parent": {"oneOf": [{"$ref": "#/$defs/a~1b"}, {"type": "object", "required": ["x"]}]}},
        "$defs": {"a/b": parent, "b": {"type": "object", "properties": {"b": {"$ref": "#/$defs/a~1b"}}}},
    }
    packages.generate({"server": "server", "tools": [tool("tool", schema)]})
    described = importlib.import_module(packages.name).describe("server.tool")
    named = set(re.findall(r'_params\(("#.*?")\)', packages.text().partition("\n\n\n")[2]))
    assert named
    for pointer in named:
        (line,) = [line for line in described.splitlines() if line.startswith(f"# _params({pointer}): ")]
        part: Any = schema
        for step in json.loads(pointer).split("/")[1:]:
            part = part[step.replace("~1", "/")]
        assert json.loads(line.partition("): ")[2]) == part


def test_a_package_is_found_from_its_own_directory_too(packages: Packages) -> None:
    packages.generate({"server": "github", "tools": [tool("a")]})
    code = (
        f"import sys; sys.path[:0] = [{str(HERE)!r}, {str(packages.root)!r}]\n"
        "from packages import install_runner; install_runner()\n"
        "from github import a\n"
        "print(a.run())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_the_first_import_is_cheap(packages: Packages) -> None:
    """Needs Pydantic and the standard library, no client, no server, no generator."""
    packages.generate({"server": "server", "tools": many_tools(1)})
    code = (
        f"import sys, time; sys.path[:0] = [{str(HERE)!r}, {str(packages.root.parent)!r}]\n"
        "from packages import install_runner; install_runner()\n"
        f"begin = time.perf_counter(); import {packages.name}.server.list_issue; took = time.perf_counter() - begin\n"
        "print(round(took * 1000))\n"
        "print(*{name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    took, modules = done.stdout.splitlines()
    print(f"\nscore: first import of a generated tool: {took} ms")
    brought = {"annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection"}
    ours = {"packages", "ipybox_kernel", packages.name, "__main__"}
    assert {name for name in modules.split() if not name.startswith("_")} <= brought | ours


# --- Again.


def check(packages: Packages, tools: list[dict[str, Any]]) -> dict[str, Any]:
    (answer,) = write(packages.root, [{"server": "server", "tools": tools}], "check")
    return answer


def test_what_has_changed_since(packages: Packages) -> None:
    before = [tool("a"), tool("b", description="x"), tool("c")]
    assert check(packages, before) == {"added": ["a", "b", "c"], "removed": [], "changed": []}
    packages.generate({"server": "server", "tools": before})
    none: dict[str, Any] = {"added": [], "removed": [], "changed": []}
    assert check(packages, before) == none
    assert check(packages, before[::-1]) == none
    now = [tool("a"), tool("b", description="y"), tool("d")]
    assert check(packages, now) == {"added": ["d"], "removed": ["c"], "changed": ["b"]}


def test_the_same_input_makes_the_same_bytes(packages: Packages) -> None:
    def contents() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (packages.root / "server").iterdir()}

    packages.generate({"server": "server", "tools": many_tools(30)})
    first = contents()
    packages.generate({"server": "server", "tools": many_tools(30)})
    assert contents() == first
    packages.generate({"server": "server", "tools": many_tools(2)})
    assert len(contents()) == len(first) - 28


def test_the_list_is_kept_as_it_came(packages: Packages) -> None:
    tools = many_tools(30)
    packages.generate({"server": "server", "tools": tools})
    kept = json.loads((packages.root / "server" / "_schemas.json").read_text(encoding="utf-8"))
    assert kept["tools"] == tools
    assert list(kept["tools"][5]["inputSchema"]) == list(tools[5]["inputSchema"])


def test_the_support_files_are_the_ones_of_the_repository(packages: Packages) -> None:
    packages.generate({"server": "server", "tools": []})
    for source in SUPPORT:
        assert (packages.root / "server" / source.name).read_bytes() == source.read_bytes()
    assert (packages.root / "__init__.py").read_bytes() == SUPPORT[0].with_name("mcptools.py").read_bytes()
