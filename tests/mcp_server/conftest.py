from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FIXTURE = os.environ.get("IPYBOX_MCP_FIXTURE", "build/default/bin/mcp_fixture_server")
NODE_MODULES = Path(os.environ.get("IPYBOX_TEST_MCP_CLIENTS", ".node/mcp-clients/node_modules"))
PYTHON = Path(os.environ.get("IPYBOX_TEST_MCP_PYTHON", ".venvs/mcp/bin/python"))
CLIENTS = Path(__file__).parent / "clients"


class RawClient:
    """A client that writes what it likes, and reads line by line."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [FIXTURE, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self.process.stdin
        assert self.process.stdout
        self.stdin = self.process.stdin
        self.stdout = self.process.stdout

    def write(self, data: bytes) -> None:
        self.stdin.write(data)
        self.stdin.flush()

    def send(self, **message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def read(self) -> Any:
        line = self.stdout.readline()
        assert line.endswith(b"\n"), f"the server has ended: {line!r}"
        return json.loads(line)

    def ask(self, **message: Any) -> Any:
        self.send(**message)
        return self.read()

    def initialize(self, version: str = "2025-11-25", **capabilities: Any) -> Any:
        params = {
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "raw", "version": "0"},
        }
        answer = self.ask(id="init", method="initialize", params=params)
        self.send(method="notifications/initialized")
        return answer

    def call(self, name: str, request: Any = "call", **arguments: Any) -> Any:
        return self.ask(id=request, method="tools/call", params={"name": name, "arguments": arguments})

    def end(self, timeout: float = 10) -> int:
        """Ends its output; the exit code of the server."""
        if not self.stdin.closed:
            self.stdin.close()
        return self.process.wait(timeout)

    def memory(self, which: str = "VmHWM") -> int:
        """Bytes of the server's memory, at its highest."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith(which)).split()[1]) * 1024


@pytest.fixture
def raw() -> Iterator[Any]:
    """Starts the fixture server for a client of the test's own; no server may be left."""
    started: list[RawClient] = []

    def start(*arguments: str) -> RawClient:
        started.append(RawClient(*arguments))
        return started[-1]

    yield start
    for client in started:
        try:
            client.process.kill()
            client.process.wait(10)
        finally:
            for stream in (client.stdin, client.stdout, client.process.stderr):
                try:
                    stream.close()  # type: ignore[union-attr]
                except BrokenPipeError:
                    pass


def run_client(*command: str | Path) -> Any:
    """What a client of others saw, which it prints as JSON."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def typescript(mode: str) -> Any:
    if not (NODE_MODULES / "@modelcontextprotocol/client").is_dir():
        pytest.skip("./dev setup installs the Node packages")
    return run_client("node", CLIENTS / "dialogue.cjs", mode, NODE_MODULES.absolute(), FIXTURE)


def tasks(mode: str) -> Any:
    if not (NODE_MODULES / "@modelcontextprotocol/ext-tasks").is_dir():
        pytest.skip("./dev setup installs the Node packages")
    return run_client("node", CLIENTS / "tasks.mjs", mode, NODE_MODULES.absolute(), FIXTURE)


def python(mode: str) -> Any:
    if not PYTHON.exists():
        pytest.skip("./dev setup makes this environment")
    return run_client(PYTHON, CLIENTS / "dialogue.py", mode, FIXTURE)
