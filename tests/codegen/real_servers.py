"""MCP servers as their authors publish them: tools are listed and called by the library's own client."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ["everything", "filesystem", "memory", "sequential-thinking"]


def package_name(server: str) -> str:
    return server.replace("-", "_")


class RealServers:
    """The program serve_tools, and behind it the servers, while it is entered."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        modules = Path(os.environ.get("IPYBOX_TEST_MCP_NODE", "")) / "@modelcontextprotocol"
        scripts = {name: modules / f"server-{name}" / "dist" / "index.js" for name in NAMES}
        missing = [str(script) for script in scripts.values() if not script.is_file()]
        assert not missing, f"./dev setup installs the Node packages; there is no {missing}"
        servers: dict[str, Any] = {
            package_name(name): {"command": "node", "args": [str(script)]} for name, script in scripts.items()
        }
        servers["filesystem"]["args"].append(str(directory))
        servers["memory"]["env"] = {"MEMORY_FILE_PATH": str(directory / "memory.json")}
        self.file = directory / "servers.json"
        self.file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")

    def __enter__(self) -> RealServers:
        program = os.environ.get("IPYBOX_SERVE_TOOLS", "")
        assert program, "IPYBOX_SERVE_TOOLS does not say where the program serve_tools is"
        self.host = subprocess.Popen([program, self.file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.host.communicate(timeout=60)

    def _ask(self, **request: Any) -> Any:
        assert self.host.stdin
        assert self.host.stdout
        self.host.stdin.write(json.dumps(request) + "\n")
        self.host.stdin.flush()
        answer = json.loads(self.host.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def tools(self, server: str) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = self._ask(server=server)
        return tools

    def call(self, server: str, tool: str, arguments: dict[str, Any]) -> Any:
        return self._ask(server=server, tool=tool, arguments=arguments)["value"]
