"""Modules as they are read. After a change that is meant: IPYBOX_UPDATE_GOLDEN=1, and read what it changed."""

from __future__ import annotations

import os
from typing import Any

import pytest
from golden_tools import PING, SEARCH_REPOSITORIES, TOOLS
from packages import HERE, Packages

GOLDEN = HERE / "golden"


def compare(name: str, text: str) -> None:
    file = GOLDEN / f"{name}.py"
    if os.environ.get("IPYBOX_UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert file.is_file(), f"{file} does not exist"
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool["name"])
def test_a_module(packages: Packages, tool: dict[str, Any]) -> None:
    (answer,) = packages.generate({"server": "server", "tools": [tool]})
    (name,) = answer["modules"]
    assert answer["notices"] == []
    assert packages.module(f"server.{name}").run
    compare(name, packages.text(f"server.{name}"))


@pytest.mark.parametrize("style", ["awaitable", "synchronous"])
def test_styles_of_calls(packages: Packages, style: str) -> None:
    packages.generate({"server": "server", "tools": [PING], "style": style})
    compare(f"ping_{style}", packages.text("server.ping"))


def test_the_index(packages: Packages) -> None:
    packages.generate({"server": "server", "tools": TOOLS})
    compare("__init__", packages.text("server.__init__"))


def test_no_golden_file_is_left_over() -> None:
    names = {tool["name"].replace("-", "_").lower() for tool in TOOLS} | {
        "ping_awaitable",
        "ping_synchronous",
        "__init__",
    }
    assert {file.stem for file in GOLDEN.glob("*.py")} == names


def test_the_documentation_shows_what_is_generated(packages: Packages) -> None:
    packages.generate({"server": "server", "tools": [SEARCH_REPOSITORIES]})
    page = (HERE.parents[1] / "docs" / "codegen.md").read_text(encoding="utf-8")
    assert f"```python\n{packages.text('server.search_repositories')}```" in page
