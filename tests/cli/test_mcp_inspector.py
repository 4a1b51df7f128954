"""Every tool of `ipybox mcp` through the command line of the MCP Inspector, in both eras."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from program import PATIENCE, PYTHON, Program
from servers import TOOLS

PACKAGES = Path(os.environ.get("IPYBOX_TEST_MCP_INSPECTOR", ".node/mcp-inspector/node_modules")).absolute()
INSPECTOR = PACKAGES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"

#: A tool that answers with `isError` ends the Inspector so.
TOOL_FAILED = 5

CELL = "execute_ipython_cell"


class Inspector:
    """Starts a server for each method that it is asked for."""

    def __init__(self, program: Program, era: str, *options: str) -> None:
        self.program = program
        self.era = era
        self.options = options
        home = program.directory.parent / f"{program.directory.name}-home"
        home.mkdir(exist_ok=True)
        self.env = {**program.environment(), "HOME": str(home)}

    def run(self, *arguments: str) -> tuple[int, Any]:
        server = self.program.mcp("--python", PYTHON, *self.options)
        command = ["node", str(INSPECTOR), "--cli", "--protocol-era", self.era, "--format", "json", "--quiet"]
        ended = subprocess.run(
            [*command, *arguments, "--", *server],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd=self.program.directory,
            env=self.env,
            stdin=subprocess.DEVNULL,
        )
        assert ended.stdout, ended.stderr
        return ended.returncode, json.loads(ended.stdout)["result"]

    def call(self, tool: str, **arguments: Any) -> tuple[int, Any]:
        words = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        return self.run("--method", "tools/call", *words)

    def text(self, tool: str, **arguments: Any) -> str:
        """Of a tool that does not fail."""
        code, result = self.call(tool, **arguments)
        assert code == 0, result
        return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")

    def failure(self, tool: str, **arguments: Any) -> str:
        code, result = self.call(tool, **arguments)
        assert code == TOOL_FAILED
        assert result["isError"]
        return str(result["content"][0]["text"])


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest) -> str:
    if not INSPECTOR.exists():
        pytest.skip("./dev setup installs the Node packages")
    return str(request.param)


@pytest.mark.parametrize("options", [(), ("--sessions",)])
def test_tools_are_listed_and_portable(program: Program, era: str, options: tuple[str, ...]) -> None:
    inspector = Inspector(program, era, *options)
    code, result = inspector.run("--method", "tools/list", "--strict")
    assert code == 0  # 6 where other clients could not use a schema
    tools = {tool["name"]: tool for tool in result["tools"]}
    assert list(tools)[:3] == ["register_mcp_server", "install_package", CELL]
    assert len(tools) == 7
    assert ("session" in tools[CELL]["inputSchema"]["properties"]) == bool(options)


def test_a_cell_and_its_results(program: Program, era: str) -> None:
    from program import ONE_PIXEL

    inspector = Inspector(program, era)
    code, result = inspector.call(CELL, code="print('printed')\n6 * 7", timeout=60, max_output_chars=100)
    assert code == 0
    assert result["structuredContent"] == {"id": "1", "status": "ok", "output": "printed\n42", "to": 11}
    assert "ZeroDivisionError" in inspector.failure(CELL, code="1 / 0")
    code, result = inspector.call(CELL, code=ONE_PIXEL)
    assert [block["type"] for block in result["content"]] == ["text", "image"]
    assert "argument no is not expected" in inspector.failure(CELL, code="1", no=1)


def test_tools_about_cells(program: Program, era: str) -> None:
    inspector = Inspector(program, era)
    for tool in ("cell_output", "wait_for_cell", "interrupt_cell"):
        assert inspector.failure(tool) == "no cell was executed yet"
        assert inspector.failure(tool, id="7") == "no cell was executed yet"
    assert inspector.text("reset") == "The kernel was reset."
    assert 'wait_for_cell(id="1")' in inspector.text(CELL, code="import time; time.sleep(1000)", wait_seconds=0)
    program.assert_all_gone()


def test_a_server_is_registered(program: Program, era: str) -> None:
    inspector = Inspector(program, era, "--approve", "auto")
    code, result = inspector.call("register_mcp_server", server_name="tools", server_params=TOOLS)
    assert code == 0
    assert "echo" in result["structuredContent"]["tools"]
    assert (program.directory / "mcptools/tools/echo.py").exists()
    denied = Inspector(program, era)
    assert "--approve" in denied.failure("register_mcp_server", server_name="tools", server_params=TOOLS)


def test_a_package_is_installed(program: Program, era: str) -> None:
    program.sandbox = "bubblewrap"
    wheels = program.directory.parent / f"{program.directory.name}-wheels"
    script = Path(__file__).parents[1] / "support/write_wheels.py"
    subprocess.run([sys.executable, str(script), str(wheels)], check=True)
    inspector = Inspector(program, era, "--approve", "auto", "--package-index", "none", "--package-wheels", str(wheels))
    code, result = inspector.call("install_package", package_name="ipybox-tiny", version="1.0")
    assert code == 0
    assert result["structuredContent"]["installed"] == [{"name": "ipybox_tiny", "version": "1.0"}]


def test_a_cell_of_a_session(program: Program, era: str) -> None:
    program.sandbox = "bubblewrap"
    inspector = Inspector(program, era, "--sessions")
    assert inspector.text(CELL, code="import os; os.getcwd()", session="a") == repr(
        str(program.directory / "sessions/a")
    )
    assert "no cell was executed yet" in inspector.failure("wait_for_cell", session="a")
