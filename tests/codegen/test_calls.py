"""What is written first to call a tool works, or is told in one sentence what to write."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

import pytest
from packages import Packages, Refused, tool

CREATE = {
    "type": "object",
    "properties": {
        "owner": {"type": "string"},
        "title": {"type": "string"},
        "sort": {"type": "string", "enum": ["stars", "best-match", "in"]},
        "milestone": {"type": "number"},
    },
    "required": ["owner", "title"],
    "additionalProperties": False,
}
LISTED = [tool("create_issue", CREATE), tool("search", {"type": "object", "properties": {"query": {"type": "string"}}})]


@pytest.fixture
def create(packages: Packages) -> Any:
    packages.generate({"server": "server", "tools": LISTED})
    module = packages.module("server.create_issue")
    module.CLIENT.calls.clear()
    return module


def test_params_an_object_or_fields(create: Any) -> None:
    fields = {"owner": "a", "title": "b"}
    create.run(create.Params(**fields))
    create.run(params=create.Params(**fields))
    create.run(fields)
    create.run(params=fields)
    create.run(**fields)
    assert create.CLIENT.calls == [("create_issue", fields)] * 5


def test_nothing_where_nothing_is_required(packages: Packages, create: Any) -> None:
    packages.module("server.search").run()
    with pytest.raises(Refused, match="owner"):
        create.run()


def test_a_field_that_is_called_params(packages: Packages) -> None:
    module = packages.tool({"type": "object", "properties": {"params": {"type": "object"}}, "required": ["params"]})
    module.run(params={"a": 1})
    assert module.CLIENT.calls[-1] == ("tool", {"params": {"a": 1}})


@pytest.mark.parametrize("style", ["awaitable", ""])
def test_the_same_for_await(packages: Packages, style: str) -> None:
    packages.generate({"server": "server", "tools": LISTED, "style": style})
    module = packages.module("server.create_issue")
    run = module.run if style == "awaitable" else module.arun
    asyncio.run(run({"owner": "a", "title": "b"}))
    assert module.CLIENT.calls[-1] == ("create_issue", {"owner": "a", "title": "b"})
    assert asyncio.iscoroutinefunction(run)


def test_params_of_another_tool_are_refused(packages: Packages, create: Any) -> None:
    other = packages.module("server.search").Params(query="x")
    with pytest.raises(
        TypeError,
        match=r"^create_issue\.run\(\) takes owner=\.\.\., title=\.\.\., \.\.\., not .*search\.Params$",
    ):
        create.run(other)
    assert create.CLIENT.calls == []


@pytest.mark.parametrize(("args", "fields"), [(("owner",), {}), (("a", "b"), {}), (("a",), {"title": "b"})])
def test_arguments_without_names_are_refused(create: Any, args: tuple[str, ...], fields: dict[str, str]) -> None:
    with pytest.raises(TypeError) as caught:
        create.run(*args, **fields)
    assert str(caught.value) == (
        "create_issue.run() cannot tell which field an argument without a name is; "
        "give names: create_issue.run(owner=..., title=..., ...)"
    )
    assert create.CLIENT.calls == []


def test_a_dict_has_the_names_of_fields(create: Any) -> None:
    with pytest.raises(TypeError, match=r"^create_issue\.run\(\) takes fields by names that are strings: create_issue"):
        create.run({1: "a"})


def test_a_module_is_not_called(create: Any) -> None:
    with pytest.raises(TypeError, match=r"call create_issue\.run\(owner=\.\.\., title=\.\.\., \.\.\.\)"):
        create(owner="a")
    with pytest.raises(AttributeError, match="did you mean 'Params'"):
        create.Parms  # noqa: B018


def test_fields_without_names(create: Any) -> None:
    with pytest.raises(
        TypeError, match=r"Params takes its fields by name: Params\(owner=\.\.\., title=\.\.\., \.\.\.\)"
    ):
        create.Params("a", "b")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "needs owner, title: write create_issue.run(owner=..., title=..., ...)"),
        ({"owner": "a", "title": 5}, ": title should be a valid string, not 5"),
        (
            {"owner": "a", "titel": "b", "milestone": "5"},
            ": milestone should be a valid number, not '5'; there is no field 'titel': did you mean 'title'?",
        ),
        (
            {"title": "a", "sort": "Stars"},
            "needs owner: write create_issue.run(owner=..., title=..., ...); "
            "and sort should be 'stars', 'best-match' or 'in', not 'Stars'",
        ),
        ({"owner": "a", "title": "b" * 9, "extra": 1}, ": there is no field 'extra'"),
    ],
)
def test_one_sentence_says_what_does_not_fit(create: Any, fields: dict[str, Any], says: str) -> None:
    with pytest.raises(Refused) as caught:
        create.run(**fields)
    assert str(caught.value) == f"create_issue.run(){'' if says[0] == ':' else ' '}{says}"
    assert type(caught.value).__name__ == "ArgumentsError"
    assert all({"loc", "msg", "input"} == set(error) for error in caught.value.errors())
    assert create.CLIENT.calls == []


def test_many_faults_are_a_bounded_sentence(packages: Packages) -> None:
    names = [f"field{i}" for i in range(30)]
    module = packages.tool({"type": "object", "properties": {name: {"type": "string"} for name in names}})
    with pytest.raises(Refused) as caught:
        module.run(**dict.fromkeys(names, 5))
    assert len(caught.value.errors()) == 30
    assert str(caught.value).endswith("; and 22 more")
    with pytest.raises(Refused, match=r"^tool\.run\(\): field0 should be a valid string, not \['x+"):
        module.run(field0=["x" * 10_000])
    nested = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    packages.generate(
        {
            "server": "second",
            "tools": [tool("tool", {"type": "object", "properties": {"items": {"type": "array", "items": nested}}})],
        }
    )
    module = packages.module("second.tool")
    with pytest.raises(
        ValueError, match=r"^tool\.run\(\): items\[0\]\.a is missing; items\[1\]\.a should be a valid string"
    ):
        module.run(items=[{}, {"a": 1}])
    with pytest.raises(Refused, match=r"^tool\.Item\(\) needs a: write tool\.Item\(a=\.\.\.\)$"):
        module.Item()


def test_what_is_not_set_is_not_shown(create: Any) -> None:
    assert repr(create.Params(owner="a", title="b")) == "Params(owner='a', title='b')"


def test_enumerations_have_the_names_they_had(create: Any) -> None:
    assert create.Sort.stars == "stars"
    assert create.Sort.best_match == "best-match"
    assert create.Sort.in_ == "in"
    assert create.Params(owner="a", title="b", sort=create.Sort.stars).to_arguments()["sort"] == "stars"


def test_a_server_and_a_tool_need_no_import(packages: Packages) -> None:
    packages.generate({"server": "server", "tools": LISTED})
    root = packages.module("server").__class__ and __import__(packages.name)
    assert root.server.create_issue.run
    assert {"create_issue", "search"} <= set(dir(root.server))
    with pytest.raises(AttributeError, match="did you mean create_issue"):
        root.server.create_isue  # noqa: B018
    assert f"from {packages.name}.server import create_issue" in root.server.__doc__


@pytest.mark.parametrize("line", ["from {}.server import create_isue", "import {}.server.create_isue"])
def test_a_misspelt_tool_has_a_hint(packages: Packages, line: str) -> None:
    packages.generate({"server": "server", "tools": LISTED})
    with pytest.raises(ImportError, match="has no tool 'create_isue': did you mean create_issue"):
        exec(line.format(packages.name), {})
    exec(f"from {packages.name}.server import create_issue, CLIENT", {})


def test_any_python_with_pydantic_imports_it(packages: Packages) -> None:
    packages.generate({"server": "server", "tools": LISTED})
    code = (
        f"from {packages.name}.server import create_issue\n"
        "assert create_issue.Params(owner='a', title='b')\n"
        "try: create_issue.run(owner='a', title='b')\n"
        "except RuntimeError as error: print(error)\n"
    )
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=packages.root.parent, env=clean, capture_output=True, text=True, check=True
    )
    assert "can be called in a kernel of ipybox only" in done.stdout


@pytest.mark.parametrize("version", ["none", "1"])
def test_without_pydantic_2_the_error_says_how_to_get_it(packages: Packages, version: str) -> None:
    packages.generate({"server": "server", "tools": LISTED})
    code = (
        "import sys, types\n"
        f"sys.modules['pydantic'] = None if {version!r} == 'none' else types.ModuleType('pydantic')\n"
        f"try: from {packages.name}.server import create_issue\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=packages.root.parent, capture_output=True, text=True, check=True
    )
    assert "tool calls need pydantic 2" in done.stdout
    assert f"{sys.executable} -m pip install 'pydantic>=2,<3'" in done.stdout


def test_what_was_added_to_a_module_stays(packages: Packages) -> None:
    request = {"server": "server", "tools": LISTED}
    packages.generate(request)
    file = packages.root / "server" / "search.py"
    file.write_text(file.read_text() + "\n\ndef run_parsed():\n    return 5\n")
    added = packages.root / "server" / "mine.py"
    added.write_text("X = 1\n")
    before = {path.name: path.stat().st_ino for path in (packages.root / "server").iterdir()}
    packages.generate(request)
    assert {path.name: path.stat().st_ino for path in (packages.root / "server").iterdir()} == before
    assert packages.module("server.search").run_parsed() == 5

    changed = [LISTED[0] | {"description": "Another one."}, LISTED[1]]
    packages.generate({"server": "server", "tools": changed})
    assert "run_parsed" in file.read_text()
    assert added.read_text() == "X = 1\n"
    assert "Another one." in (packages.root / "server" / "create_issue.py").read_text()

    (answer,) = packages.generate({"server": "server", "tools": [LISTED[0], LISTED[1] | {"description": "New."}]})
    assert "run_parsed" not in file.read_text()
    assert "run_parsed" in file.with_name("search.py.edited").read_text()
    assert any("search.py.edited" in str(notice) for notice in answer["notices"])


def test_bounds_that_become_the_same_argument(packages: Packages) -> None:
    limits = {"type": "integer", "minimum": 0, "exclusiveMinimum": 0.5, "maximum": 9, "exclusiveMaximum": 8.5}
    module = packages.tool({"type": "object", "properties": {"a": limits}})
    assert module.Params(a=1).to_arguments() == {"a": 1}
    for wrong in (0, 9):
        with pytest.raises(Refused):
            module.Params(a=wrong)
