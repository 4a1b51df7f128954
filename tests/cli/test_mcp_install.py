"""`ipybox mcp --install CLIENT`: the configuration of a client gets an entry, and nothing else of it changes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from program import BINARY, Program

FILES = {
    "claude": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
}


class Home:
    """A home directory of its own."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.path = program.directory / "home"
        self.path.mkdir()
        self.environment: dict[str, str] = {}

    def run(self, *arguments: str, code: int = 0) -> str:
        environment = {**os.environ, "HOME": str(self.path), **self.environment}
        for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
            if name not in self.environment:
                environment.pop(name, None)
        done = subprocess.run(
            [BINARY, "mcp", *arguments],
            env=environment,
            cwd=self.program.directory,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def file(self, client: str) -> Path:
        return self.path / FILES[client]


@pytest.fixture
def home(program: Program) -> Home:
    return Home(program)


def toml(text: str) -> dict[str, Any]:
    if sys.version_info < (3, 11):
        pytest.skip("tomllib came with Python 3.11")
    import tomllib

    return tomllib.loads(text)


def entry_of(client: str, text: str) -> dict[str, Any]:
    if client == "codex":
        entry = toml(text)["mcp_servers"]["ipybox"]
    else:
        entry = json.loads(text)["servers" if client == "vscode" else "mcpServers"]["ipybox"]
    assert isinstance(entry, dict)
    return entry


@pytest.mark.parametrize("client", FILES)
def test_a_client_is_set_up_and_cleared(home: Home, client: str) -> None:
    told = home.run("--install", client, "--workspace", "here", "--approve", "auto", "--sessions")
    file = home.file(client)
    assert str(file) in told
    entry = entry_of(client, file.read_text())
    assert Path(entry["command"]).samefile(BINARY)
    workspace = str(home.program.directory / "here")
    wanted = ["mcp", "--workspace", workspace, "--approve", "auto", "--sessions"]
    assert entry["args"][: len(wanted)] == wanted
    assert (entry["args"][len(wanted) :] == ["--wait-seconds", "50"]) == (client == "claude-desktop")
    assert (entry.get("type") == "stdio") == (client in ("claude", "vscode"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not Path(workspace).exists()

    before = file.read_bytes()
    assert "already" in home.run("--install", client, "--workspace", "here", "--approve", "auto", "--sessions")
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir() if path.is_file()] == [file.name]

    home.run("--uninstall", client)
    assert "ipybox" not in file.read_text()
    assert file.with_name(file.name + ".ipybox-backup").read_bytes() == before
    assert "no such entry" in home.run("--uninstall", client)


def test_what_it_would_do(home: Home) -> None:
    told = home.run("--install", "vscode", "--dry-run")
    assert str(home.file("vscode")) in told
    assert f'"{home.path}/ipybox-workspace"' in told
    assert list(home.path.iterdir()) == []
    assert "nothing to try" in home.run("--dry-run", code=2)
    assert "is none of claude, claude-desktop, codex, cursor, vscode" in home.run("--install", "emacs", code=2)


def test_the_server_starts_as_it_is_written(home: Home) -> None:
    home.run("--install", "cursor", "--workspace", "ws", "--sandbox", "none", "--log-level", "error")
    entry = entry_of("cursor", home.file("cursor").read_text())
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    done = subprocess.run(
        [entry["command"], *entry["args"]], input=request + "\n", capture_output=True, text=True, cwd="/", timeout=60
    )
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "ipybox"
    assert (home.program.directory / "ws").is_dir()


COMMENTED = """// my servers
{
\t"inputs": [ /* none, */ ],
\t"servers": {
\t\t"other": {"type": "stdio", "command": "x",}, // keep
\t},
}
"""


def test_comments_and_trailing_commas_stay(home: Home) -> None:
    file = home.file("vscode")
    file.parent.mkdir(parents=True)
    file.write_text(COMMENTED)
    file.chmod(0o640)
    home.run("--install", "vscode")
    changed = file.read_text()
    for line in COMMENTED.splitlines():
        assert line in changed.splitlines()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    home.run("--uninstall", "vscode")
    assert file.read_text() == COMMENTED


def test_a_link_stays_a_link(home: Home) -> None:
    kept = home.path / "dotfiles.json"
    kept.write_text('{"mcpServers": {"a": {"command": "x"}}}')
    file = home.file("cursor")
    file.parent.mkdir()
    file.symlink_to(kept)
    home.run("--install", "cursor")
    assert file.is_symlink()
    assert set(json.loads(kept.read_text())["mcpServers"]) == {"a", "ipybox"}


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("cursor", "{ broken"),
        ("claude", '{"mcpServers": []}'),
        ("vscode", '{"servers": {"ipybox": {"command": "x" /* mine */}}}'),
        ("codex", 'mcp_servers = { ipybox = { command = "x" } }\n'),
    ],
)
def test_a_file_that_cannot_be_changed_is_left_alone(home: Home, client: str, text: str) -> None:
    file = home.file(client)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    told = home.run("--install", client, code=1)
    assert f"add this to {file} yourself" in told
    assert "ipybox-workspace" in told
    assert file.read_text() == text
    assert [path.name for path in file.parent.iterdir() if path.is_file()] == [file.name]


def test_directories_that_variables_name(home: Home) -> None:
    for name, client, place in (
        ("CODEX_HOME", "codex", "config.toml"),
        ("CLAUDE_CONFIG_DIR", "claude", ".claude.json"),
        ("XDG_CONFIG_HOME", "vscode", "Code/User/mcp.json"),
    ):
        home.environment = {name: str(home.path / name)}
        home.run("--install", client)
        assert (home.path / name / place).is_file()


def test_settings_of_the_user_stay(home: Home) -> None:
    file = home.file("codex")
    file.parent.mkdir()
    file.write_text(
        'model = "x"\n\n[mcp_servers.ipybox]\ncommand = "old"\n# mine\n\n[mcp_servers.ipybox.env]\nA = "1"\n'
    )
    home.run("--install", "codex")
    read = toml(file.read_text())
    assert read["model"] == "x"
    assert read["mcp_servers"]["ipybox"]["env"] == {"A": "1"}
    assert read["mcp_servers"]["ipybox"]["command"] != "old"
    assert read["mcp_servers"]["ipybox"]["tool_timeout_sec"] == 600
    assert "# mine" in file.read_text()
