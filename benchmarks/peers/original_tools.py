"""Tool calls of the Python package ipybox, timed in the kernel, and the generation of its packages."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from measurement import CAP, Context, capped, measures, milliseconds

BENCHMARKS = Path(__file__).resolve().parents[1]
LARGE = 60_000_000


def python_server(file: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(BENCHMARKS / "servers" / file)]}


SDK, PLAIN = python_server("echo_server.py"), python_server("plain_echo_server.py")


def cell(file: str) -> str:
    return (BENCHMARKS / "cells" / file).read_text()


async def generate(name: str, server: dict[str, Any]) -> list[str]:
    from mcpygen import generate_mcp_sources

    return await generate_mcp_sources(name, server, Path("mcptools"))


async def samples_of(executor: Any, code: str) -> list[float]:
    """Runs a cell that leaves its samples in a file."""
    file = Path("samples")
    file.unlink(missing_ok=True)
    await executor.execute(code, timeout=120)
    return json.loads(file.read_text())


def calls(size: int, count: int) -> str:
    return f"keep([call({size}) for _ in range({count})])"


@measures("tool_import", "tool_first_call")
async def first_calls(context: Context) -> None:
    await generate("echo", PLAIN)
    runs = []
    for _ in range(context.repeat):
        async with context.executor() as executor:
            runs.append(await samples_of(executor, cell("tool_import.py")))
    context.record("tool_import", "ms", [run[0] for run in runs], "import of a generated module in a fresh kernel")
    context.record("tool_first_call", "ms", [run[1] for run in runs], "starts the MCP server")


async def tool_calls(context: Context, server: dict[str, Any], suffix: str, note: str, **options: Any) -> None:
    plans = {
        "tool_100b": ("ms", calls(100, 200 * context.repeat)),
        "tool_1mb": ("ms", calls(1_000_000, 10 * context.repeat)),
        "tool_8_threads": ("calls/s", f"keep([burst(200) for _ in range({3 * context.repeat})])"),
    }
    await generate("echo", server)
    async with context.executor(**options) as executor:
        await executor.execute(cell("tool_calls.py"))
        for name, (unit, code) in plans.items():
            if context.wants(name + suffix):
                context.record(name + suffix, unit, await samples_of(executor, code), note)


@measures("tool_100b", "tool_1mb", "tool_8_threads")
async def sdk_calls(context: Context) -> None:
    await tool_calls(context, SDK, "", "no approval", approve_tool_calls=False)


@measures("tool_100b_approval", "tool_1mb_approval", "tool_8_threads_approval")
async def approved_sdk_calls(context: Context) -> None:
    await tool_calls(context, SDK, "_approval", "each accepted by execute()", approve_tool_calls=True)


@measures("tool_100b_plain", "tool_1mb_plain", "tool_8_threads_plain")
async def plain_calls(context: Context) -> None:
    await tool_calls(context, PLAIN, "_plain", "no approval", approve_tool_calls=False)


@measures("tool_100b_plain_approval", "tool_1mb_plain_approval", "tool_8_threads_plain_approval")
async def approved_plain_calls(context: Context) -> None:
    await tool_calls(context, PLAIN, "_plain_approval", "each accepted by execute()", approve_tool_calls=True)


async def http_calls(context: Context, name: str, note: str, **options: Any) -> None:
    """To a server that runs already."""
    command = [sys.executable, str(BENCHMARKS / "servers/http_echo_server.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        await generate("echo", {"url": server.stdout.readline().strip()})
        async with context.executor(**options) as executor:
            await executor.execute(cell("tool_calls.py"))
            context.record(name, "ms", await samples_of(executor, calls(100, 200 * context.repeat)), note)
        server.stdin.close()


@measures("tool_http_100b")
async def unasked_http_calls(context: Context) -> None:
    await http_calls(context, "tool_http_100b", "no approval", approve_tool_calls=False)


@measures("tool_http_100b_approval")
async def approved_http_calls(context: Context) -> None:
    await http_calls(context, "tool_http_100b_approval", "each accepted by execute()", approve_tool_calls=True)


@measures("tool_60mb", "tool_60mb_received")
async def large_call(context: Context) -> None:
    await generate("echo", PLAIN)
    async with context.executor(approve_tool_calls=True) as executor:
        await executor.execute(cell("tool_calls.py"))
        elapsed, outcome = await capped(executor.execute(calls(LARGE, 1)))
    arrived = outcome == "ok"
    context.record("tool_60mb", "ms", json.loads(Path("samples").read_text()) if arrived else [elapsed], outcome)
    context.record("tool_60mb_received", "bytes", [float(LARGE * arrived)])


class BareServer:
    """The SDK's echo server behind nothing but its pipes: what is left is its own time."""

    def __init__(self) -> None:
        command = [SDK["command"], *SDK["args"]]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        client = {"name": "bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def call(self) -> float:
        begin = time.perf_counter()
        self._ask("tools/call", {"name": "echo", "arguments": {"text": "x" * 100}})
        return 1000 * (time.perf_counter() - begin)

    def close(self) -> None:
        self._process.communicate(timeout=CAP)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    def _ask(self, method: str, params: dict[str, Any]) -> None:
        assert self._process.stdout is not None
        self._send({"id": 1, "method": method, "params": params})
        assert b'"result"' in self._process.stdout.readline()


@measures("tool_above_server")
async def above_server(context: Context) -> None:
    """Less the server's own time. They take turns, so that both meet the same phases of the machine."""
    await generate("echo", SDK)
    bare, above = BareServer(), []
    async with context.executor(approve_tool_calls=False) as executor:
        await executor.execute(cell("tool_calls.py"))
        for _ in range(10 * context.repeat):
            own = statistics.median(bare.call() for _ in range(30))
            above.append(statistics.median(await samples_of(executor, calls(100, 30))) - own)
    bare.close()
    context.record("tool_above_server", "ms", above, "tool_100b less the time of the server itself")


async def generation(context: Context, name: str, server: dict[str, Any]) -> None:
    from mcpygen.client import MCPClient

    async def start() -> None:
        """What precedes the generation: a server that is ready, and its end."""
        async with MCPClient(server):
            pass

    await generate("echo", PLAIN)  # whatever is imported and prepared by then
    whole, alone, tools = [], [], []
    for _ in range(max(1, context.repeat // 2)):
        before = await milliseconds(start)
        shutil.rmtree("mcptools", ignore_errors=True)
        begin = time.perf_counter()
        tools = await generate(name, server)
        whole.append(1000 * (time.perf_counter() - begin))
        alone.append(whole[-1] - before)
    files = Path("mcptools", name).glob("*.py")
    context.record(f"codegen_{name}", "ms", whole, "start of the MCP server included")
    context.record(f"codegen_{name}_alone", "ms", alone, "less the time of a start")
    context.record(f"codegen_{name}_bytes", "bytes", [float(sum(file.stat().st_size for file in files))])
    context.record(f"codegen_{name}_tools", "tools", [float(len(tools))])


@measures("codegen_filesystem", "codegen_filesystem_alone", "codegen_filesystem_bytes", "codegen_filesystem_tools")
async def codegen_filesystem(context: Context) -> None:
    await generation(context, "filesystem", {"command": "node", "args": [str(context.filesystem_server), "."]})


@measures("codegen_many", "codegen_many_alone", "codegen_many_bytes", "codegen_many_tools", "codegen_many_importable")
async def codegen_many(context: Context) -> None:
    await generation(context, "many", python_server("many_tools_server.py"))
    subprocess.run([sys.executable, "-c", cell("tool_modules.py")], check=True)
    context.record("codegen_many_importable", "tools", json.loads(Path("samples").read_text()))
