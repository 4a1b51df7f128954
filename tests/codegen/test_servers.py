"""Servers as their authors publish them: what they list becomes modules that import, send what was meant, and can be called."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from judging import difference, judge_of
from packages import Packages, Runner
from random_schemas import SchemaMaker
from real_servers import NAMES, RealServers, package_name

VALUES = 200  # for each tool


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServers]:
    with RealServers(tmp_path_factory.mktemp("servers")) as running:
        yield running


@pytest.fixture(scope="module")
def mcptools(servers: RealServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packages]:
    """A package of each server, whose calls reach it."""

    def run_sync(runner: Runner, tool_name: str, tool_args: dict[str, Any]) -> Any:
        return servers.call(runner.server_name, tool_name, tool_args)

    packages = Packages(tmp_path_factory.mktemp("mcptools"))
    packages.generate(*({"server": package_name(name), "tools": servers.tools(package_name(name))} for name in NAMES))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Runner, "run_sync", run_sync)
        yield packages


def test_all_that_they_list_is_imported_and_comes_back_as_it_was(mcptools: Packages, servers: RealServers) -> None:
    counts = {"tools": 0, "valid": 0, "invalid": 0}
    wrong = []
    for name, answer in zip(map(package_name, NAMES), mcptools.answers, strict=True):
        assert answer["notices"] == []
        tools = servers.tools(name)
        for tool, module in zip(tools, answer["modules"], strict=True):
            params, schema = mcptools.module(f"{name}.{module}").Params, tool["inputSchema"]
            judge, maker = judge_of(schema), SchemaMaker(seed=counts["tools"], old=False)
            counts["tools"] += 1
            for _ in range(VALUES):
                value = maker.fitting_object(schema, schema, 0)
                valid = judge.is_valid(value)
                counts["valid" if valid else "invalid"] += 1
                if problem := difference(params, value, valid, judge):
                    wrong.append(f"{name}.{module}: {problem}: {value}")
    print(f"\nscore: {len(NAMES)} published servers: {counts}, {len(wrong)} wrong")
    assert wrong == []
    assert counts["tools"] >= 35
    assert counts["valid"] > counts["tools"] * VALUES / 5


def test_files(mcptools: Packages, servers: RealServers) -> None:
    write, read = mcptools.module("filesystem.write_file"), mcptools.module("filesystem.read_text_file")
    path = servers.directory / "a.txt"
    write.run(write.Params(path=path, content='größe\n"""2"""'))
    assert path.read_text(encoding="utf-8") == 'größe\n"""2"""'
    assert read.run(read.Params(path=path)).content == 'größe\n"""2"""'
    assert read.run(read.Params(path=str(path), head=1)).content == "größe"
    edit = mcptools.module("filesystem.edit_file")
    edit.run(edit.Params(path=path, edits=[edit.Edit(oldText="größe", newText="size")]))
    assert path.read_text(encoding="utf-8").startswith("size\n")
    with pytest.raises(RuntimeError, match="outside"):
        read.run(read.Params(path="/etc/hostname"))


def test_a_property_that_is_called_from(mcptools: Packages) -> None:
    """The original sends it as from_, and the server refuses the call."""
    entities, relations = mcptools.module("memory.create_entities"), mcptools.module("memory.create_relations")
    made = [entities.Entity(name=name, entityType="letter", observations=("seen",)) for name in "ab"]
    assert [entity.name for entity in entities.run(entities.Params(entities=made)).entities] == ["a", "b"]
    relation = relations.Relation(from_="a", to="b", relationType="precedes")
    relations.run(relations.Params(relations=[relation]))
    graph = mcptools.module("memory.read_graph").run()
    assert [(one.from_, one.to, one.relationType) for one in graph.relations] == [("a", "b", "precedes")]
    assert graph.entities[0].observations == ["seen"]


def test_numbers_text_and_structured_content(mcptools: Packages) -> None:
    total = mcptools.module("everything.get_sum")
    assert "42" in total.run(total.Params(a=2, b=40.0))
    echo = mcptools.module("everything.echo")
    assert echo.run(echo.Params(message="'\"\\ 🐍")) == "Echo: '\"\\ 🐍"
    weather = mcptools.module("everything.get_structured_content")
    assert isinstance(weather.run(weather.Params(location="Chicago")).temperature, (int, float))


def test_results_are_as_promised(servers: RealServers, mcptools: Packages) -> None:
    listed = {tool["name"]: tool for tool in servers.tools("memory")}
    graph = servers.call("memory", "read_graph", {})
    jsonschema.validate(graph, listed["read_graph"]["outputSchema"])
    assert mcptools.module("memory.read_graph").run().to_arguments() == graph


def test_tools_are_found_by_their_words(mcptools: Packages) -> None:
    root = importlib.import_module(mcptools.name)
    assert "filesystem.read_text_file(path, ...) - " in str(root.search("read text file"))
    assert "class Relation(Model):" in root.describe("memory.create_relations")
