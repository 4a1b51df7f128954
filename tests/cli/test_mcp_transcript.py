"""A session of the official TypeScript client with `ipybox mcp` in a sandbox, in both eras."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from program import PATIENCE, PYTHON, Program
from servers import NODE

CLIENTS = Path(os.environ.get("IPYBOX_TEST_MCP_CLIENTS", ".node/mcp-clients/node_modules")).absolute()
FILESYSTEM = NODE / "@modelcontextprotocol/server-filesystem/dist/index.js"

PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9, 16])\nplt.show()"


def text(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")])
def test_a_session_with_the_typescript_client(program: Program, mode: str, version: str) -> None:
    if not (CLIENTS / "@modelcontextprotocol/client").is_dir():
        pytest.skip("./dev setup installs the Node packages")
    program.sandbox = "bubblewrap"
    data = program.directory / "data"
    data.mkdir()
    (data / "hello.txt").write_text("hello from the file")
    script = Path(__file__).parent / "transcript.cjs"
    command = ["node", str(script), mode, str(CLIENTS), str(FILESYSTEM), str(data), PLOT]
    done = subprocess.run(
        [*command, *program.mcp("--python", PYTHON)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=program.environment(),
        cwd=program.directory,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["version"] == version
    assert "execute_ipython_cell" in seen["tools"]

    assert "read_text_file" in seen["registered"]["structuredContent"]["tools"]
    assert "hello from the file" in text(seen["read"])
    assert seen["rejected"]["isError"]
    assert "ApprovalRejectedError" in text(seen["rejected"])
    assert "enough for today" in text(seen["rejected"])
    assert [
        "server registration fs" in seen["asked"][0],
        *("fs.read_text_file" in asked for asked in seen["asked"][1:]),
    ] == [
        True,
        True,
        True,
    ]
    image = next(block for block in seen["plot"]["content"] if block["type"] == "image")
    assert image["mimeType"] == "image/png"
    assert image["data"].startswith("iVBORw0KGgo")
    assert "Generated images:" in text(seen["plot"])

    assert seen["cancelled"] != "no error"
    assert any("step 0" in message for message in seen["progress"])
    assert text(seen["after"]).startswith("42\n")
    assert text(seen["output"]).startswith("step 0\n")
    assert seen["output"]["structuredContent"]["status"] == "cancelled"

    assert text(seen["reset"]) == "The kernel was reset."
    assert seen["gone"]["isError"]
    assert "NameError" in text(seen["gone"])
