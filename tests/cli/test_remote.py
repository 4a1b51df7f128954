"""MCP servers that are reached over HTTP: published ones, each started by its own package."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from program import PATIENCE, Program
from servers import NODE, SDK_PYTHON, TESTS, config

EVERYTHING = NODE / "@modelcontextprotocol/server-everything/dist/index.js"
SDK = TESTS / "mcp/servers/sdk.py"


def free_port() -> int:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def is_open(port: int) -> bool:
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def listening(command: list[str], port: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server, from when it listens until it is killed."""
    with log.open("ab") as output:
        server = subprocess.Popen(
            command, env={**os.environ, "PORT": str(port)}, stdout=output, stderr=output, start_new_session=True
        )
        deadline = time.monotonic() + PATIENCE
        while not is_open(port):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        try:
            yield server
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def everything(way: str, port: int) -> list[str]:
    return ["node", str(EVERYTHING), way]


def sdk(way: str, port: int) -> list[str]:
    return [str(SDK_PYTHON), str(SDK), way, str(port)]


ADD = "from mcptools.far import add\nprint(add.run(a=1, b=2))"
ECHO = "from mcptools.far import echo\nprint(echo.run(message='größe'))"

SERVERS: dict[str, tuple[Any, str, dict[str, Any], str, str]] = {
    "everything, Streamable HTTP": (everything, "streamableHttp", {"path": "/mcp"}, ECHO, "Echo: größe"),
    "everything, HTTP+SSE": (everything, "sse", {"path": "/sse"}, ECHO, "Echo: größe"),
    "Python, streams": (sdk, "--http", {"path": "/mcp"}, ADD, "result=3"),
    "Python, JSON": (sdk, "--json", {"path": "/mcp", "type": "http"}, ADD, "result=3"),
    "Python, HTTP+SSE": (sdk, "--sse", {"path": "/sse", "type": "sse"}, ADD, "result=3"),
    "Python, 2026-07-28": (sdk, "--http", {"path": "/mcp", "negotiation": "stateless_only"}, ADD, "result=3"),
    "Python, 2026-07-28 in JSON": (sdk, "--json", {"path": "/mcp", "negotiation": "discover_first"}, ADD, "result=3"),
}


def entry(port: int, path: str, **more: Any) -> dict[str, Any]:
    return {"url": f"http://127.0.0.1:{port}{path}", **more}


@pytest.mark.parametrize("kind", SERVERS)
def test_published_servers(program: Program, tmp_path_factory: pytest.TempPathFactory, kind: str) -> None:
    make, way, how, code, expected = SERVERS[kind]
    port = free_port()
    log = tmp_path_factory.mktemp("server") / "log"
    with listening(make(way, port), port, log):
        file = config(program, far=entry(port, **how))
        ended = program.run("--mcp-config", file, "--yes", "-c", code)
        assert (ended.code, ended.out) == (0, expected + "\n"), ended.err + log.read_text()


def test_the_kernel_cannot_reach_what_the_host_calls(boxed: Program, tmp_path_factory: pytest.TempPathFactory) -> None:
    port = free_port()
    with listening(sdk("--http", port), port, tmp_path_factory.mktemp("server") / "log"):
        reach = f"socket.create_connection(('127.0.0.1', {port}), 2)"
        code = f"{ADD}\nimport socket\ntry: {reach}\nexcept OSError: print('closed')"
        ended = boxed.run("--mcp-config", config(boxed, far=entry(port, "/mcp")), "--yes", "-c", code)
        assert (ended.code, ended.out) == (0, "result=3\nclosed\n"), ended.err


def test_a_call_is_asked_about_before_it_is_sent(program: Program, tmp_path_factory: pytest.TempPathFactory) -> None:
    port = free_port()
    with listening(sdk("--http", port), port, tmp_path_factory.mktemp("server") / "log"):
        ended = program.run("--mcp-config", config(program, far=entry(port, "/mcp")), "-c", ADD)
        assert ended.code == 1
        assert "ApprovalRejectedError" in ended.err


def test_a_server_that_starts_anew_is_found_again(program: Program, tmp_path_factory: pytest.TempPathFactory) -> None:
    port = free_port()
    log = tmp_path_factory.mktemp("server") / "log"
    code = """
import os, time
from mcptools.far import add
print(add.run(a=1, b=2))
open("first", "w").close()
while not os.path.exists("again"): time.sleep(0.05)
print(add.run(a=3, b=4))
"""
    file = config(program, far=entry(port, "/mcp"))
    with listening(sdk("--http", port), port, log):
        running = program.start("--mcp-config", file, "--yes", "-c", code)
        deadline = time.monotonic() + PATIENCE
        while not (program.directory / "first").exists():
            assert running.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
    with listening(sdk("--http", port), port, log):
        (program.directory / "again").touch()
        out, err = running.communicate(timeout=PATIENCE)
        assert (running.returncode, out) == (0, b"result=3\nresult=7\n"), err.decode() + log.read_text()


def test_a_package_is_generated(program: Program, tmp_path_factory: pytest.TempPathFactory) -> None:
    port = free_port()
    with listening(sdk("--json", port), port, tmp_path_factory.mktemp("server") / "log"):
        params = json.dumps(entry(port, "/mcp"))
        ended = program.apigen("--server-name", "far", "--server-params", params, "--root-dir", "api")
        assert (ended.code, ended.err) == (0, "")
        assert (program.directory / "api/far/add.py").exists()


def test_secrets_of_headers_are_in_no_text(program: Program) -> None:
    """The server echoes what it is sent, in the body of its refusal."""
    secret = "sk-0123456789abcdef"
    code = """
import http.server, sys
class Echo(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = ("no: " + self.headers["Authorization"]).encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Echo).serve_forever()
"""
    port = free_port()
    file = config(program, far=entry(port, "/mcp", headers={"Authorization": "Bearer ${TOKEN_OF_TEST}"}))
    program.env["TOKEN_OF_TEST"] = secret
    with listening([str(SDK_PYTHON), "-c", code, str(port)], port, program.directory / "log"):
        ended = program.run(
            "--mcp-config", file, "--yes", "-c", "try: import mcptools.far\nexcept ImportError as e: print(e)"
        )
    assert "wants a sign-in (401)" in ended.out
    assert secret not in ended.out
    assert "${Authorization}" in ended.out


def test_a_server_that_is_down_costs_its_own_tools_alone(program: Program) -> None:
    file = config(program, far=entry(free_port(), "/mcp"))
    ended = program.run("--mcp-config", file, "--yes", "-c", "print(1)")
    assert (ended.code, ended.out) == (0, "1\n")
    strict = program.run("--require-servers", "--mcp-config", file, "--yes", "-c", "print(1)")
    assert strict.code == 3
    assert "the MCP server 'far' cannot be reached: " in strict.err
