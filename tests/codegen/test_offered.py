"""Packages that the host generates when they are needed, with a stand-in for the host."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packages import HERE, install_runner


class Host:
    """Has packages, each with None or why it is not there, and writes those that are wanted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.states: dict[str, str | None] = {}
        self.offered: dict[str, list[str]] = {}
        self.asked: list[tuple[str, bool]] = []

    def packages(self, server: str = "", *, wait: bool = True) -> dict[str, str | None]:
        self.asked.append((server, wait))
        for name in list(self.offered):
            if wait and server in ("", name):
                self.write(name, *self.offered.pop(name))
        waiting = dict.fromkeys(self.offered, "its package is generated when it is needed")
        return {name: why for name, why in {**self.states, **waiting}.items() if server in ("", name)}

    def write(self, server: str, *tools: str) -> None:
        package = self.root / server
        package.mkdir(exist_ok=True)
        listed = [{"name": name, "description": f"Does {name}", "inputSchema": {"type": "object"}} for name in tools]
        modules = {name: name for name in tools}
        (package / "_schemas.json").write_text(json.dumps({"modules": modules, "tools": listed}))
        (package / "__init__.py").write_text("")
        for name in tools:
            (package / f"{name}.py").write_text("")
        self.states.setdefault(server, None)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    install_runner()
    root = tmp_path / "offered_tools"
    root.mkdir()
    (root / "__init__.py").write_text((HERE.parents[1] / "python/mcp_support/mcptools.py").read_text())
    host = Host(root)
    monkeypatch.setattr(sys.modules["ipybox_kernel"], "tools", sys.modules["ipybox_kernel.tools"], raising=False)
    monkeypatch.setattr(sys.modules["ipybox_kernel.tools"], "packages", host.packages)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield host
    sys.meta_path[:] = [each for each in sys.meta_path if type(each).__module__ != "offered_tools"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "offered_tools"]:
        del sys.modules[name]


@pytest.fixture
def tools(host: Host) -> ModuleType:
    return importlib.import_module("offered_tools")


def test_an_import_has_its_own_package_written(host: Host, tools: ModuleType) -> None:
    host.offered = {"a": ["one"], "b": ["two"]}
    importlib.import_module("offered_tools.a.one")
    assert (host.root / "a/one.py").exists()
    assert not (host.root / "b").exists()
    assert {server for server, _ in host.asked} == {"a"}
    assert tools.b.__name__ == "offered_tools.b"  # an attribute is an import, too


def test_a_package_that_cannot_be_written_is_an_import_error_with_the_reason(host: Host, tools: ModuleType) -> None:
    host.states["broken"] = "the MCP server 'broken' cannot be started: x"
    with pytest.raises(ImportError, match=r"^the MCP server 'broken' cannot be started: x$"):
        importlib.import_module("offered_tools.broken")
    with pytest.raises(ImportError, match="cannot be started"):
        _ = tools.broken
    with pytest.raises(LookupError, match="cannot be started"):
        tools.describe("broken.tool")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("offered_tools.unknown")
    with pytest.raises(AttributeError, match="did you mean 'broken'"):
        _ = tools.brokn


@pytest.mark.parametrize(
    "line",
    ["import offered_tools.fetsh", "from offered_tools import fetsh", "from offered_tools.fetsh import get_page"],
)
def test_a_misspelt_server_has_a_hint(host: Host, tools: ModuleType, line: str) -> None:
    host.offered = {"fetch": ["get_page"]}
    with pytest.raises(ImportError, match=r"^there is no MCP server 'fetsh': did you mean 'fetch'\?$"):
        exec(line, {})
    exec("from offered_tools.fetch import get_page", {})
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'offered_tools\.quite_another'$"):
        exec("import offered_tools.quite_another", {})


def test_search_has_all_written_and_lists_what_can_be_called(host: Host, tools: ModuleType) -> None:
    host.write("gone", "one")
    del host.states["gone"]  # of an earlier run
    host.states["broken"] = "does not start"
    host.offered = {"a": ["one"]}
    assert dir(tools) == sorted(["a", "broken", *tools.__all__])
    assert not (host.root / "a").exists()
    assert str(tools.search()) == "a.one() - Does one\nWithout those of broken: does not start"
    assert str(tools.search("nothing")).endswith("search() lists all.\nWithout those of broken: does not start")
    with pytest.raises(LookupError, match="no server 'gone'; there are: a, broken"):
        tools.describe("gone")


def test_search_follows_lists_that_change(host: Host, tools: ModuleType) -> None:
    host.offered = {"a": ["one"]}
    assert str(tools.search()) == "a.one() - Does one"
    host.offered = {"a": ["one", "two"]}
    assert str(tools.search("two")) == "a.two() - Does two"


def test_without_a_host_all_is_there_that_was_written(
    host: Host, tools: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.write("a", "one")

    def absent(*arguments: Any, **options: Any) -> None:
        return None

    monkeypatch.setattr(sys.modules["ipybox_kernel.tools"], "packages", absent)
    assert str(tools.search()) == "a.one() - Does one"
    assert dir(tools) == sorted(["a", *tools.__all__])
    importlib.import_module("offered_tools.a.one")
