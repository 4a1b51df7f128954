"""The configurations of docs/clients.md are what their clients read, and start the server."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from program import BINARY, Program

PAGE = Path(__file__).parents[2] / "docs/clients.md"
_block = re.compile(r"<!-- client: ([\w-]+) -->\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = {name: (language, text) for name, language, text in _block.findall(PAGE.read_text(encoding="utf-8"))}


def read_yaml(text: str) -> dict[str, Any]:
    """The part of YAML that a block has: maps by indentation, values on one line."""
    root: dict[str, Any] = {}
    open_maps: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    for line in text.splitlines():
        key, value = line.strip().split(":", 1)
        depth = len(line) - len(line.lstrip())
        while open_maps[-1][0] >= depth:
            open_maps.pop()
        if value.strip():
            open_maps[-1][1][key] = json.loads(value) if value.strip()[0] in "[{" else value.strip()
        else:
            open_maps[-1][1][key] = inner = dict[str, Any]()
            open_maps.append((depth, inner))
    return root


def entry_of(name: str) -> dict[str, Any]:
    language, text = BLOCKS[name]
    document = json.loads(text) if language == "json" else read_yaml(text)
    root = {"vscode": "servers", "litellm": "mcp_servers"}.get(name, "mcpServers")
    assert list(document) == [root]
    assert list(document[root]) == ["ipybox"]
    entry = document[root]["ipybox"]
    assert isinstance(entry, dict)
    return entry


def test_every_client_has_a_block() -> None:
    assert set(BLOCKS) == {"claude-code", "claude-desktop", "vscode", "cursor", "llama-server", "litellm"}


@pytest.mark.parametrize("name", BLOCKS)
def test_the_block_starts_the_server(name: str, program: Program) -> None:
    entry = entry_of(name)
    assert Path(entry["command"]).name == "ipybox"
    rules = program.write("rules.json", "{}")
    words = []
    for word in entry["args"]:
        word = re.sub(r"^(/home/me|/srv/ipybox)/.*rules\.json$|^\$\{HOME\}/.*rules\.json$", rules, word)
        words.append(
            re.sub(r"^(/home/me|/srv/ipybox|\$\{HOME\}|\$\{workspaceFolder\})/", f"{program.directory}/", word)
        )
    ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    ended = subprocess.run(
        [BINARY, *words], input=ping, capture_output=True, text=True, env=program.environment(), timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["id"] == 1
