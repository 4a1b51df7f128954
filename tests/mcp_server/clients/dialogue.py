"""What a client of the Python SDK says to the fixture server. Prints what it saw as JSON.

dialogue.py legacy|auto|VERSION COMMAND [ARGUMENT…]
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

mode, command, *arguments = sys.argv[1:]
seen: dict[str, Any] = {"asked": []}
answers: list[dict[str, Any]] = [
    {"action": "accept", "content": {"answer": "ja, gern: ä✓"}},
    {"action": "decline"},
    {"action": "cancel"},
    {"action": "accept", "content": {"answer": "one"}},
    {"action": "accept", "content": {"answer": "two"}},
]


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    seen["asked"].append(params.message)
    return types.ElicitResult(**answers.pop(0))


def plain(result: Any) -> Any:
    return json.loads(result.model_dump_json(by_alias=True, exclude_none=True))


async def talk(client: Client) -> None:
    async def call(name: str, given: dict[str, Any] | None = None, **options: Any) -> Any:
        return plain(await client.call_tool(name, given or {}, **options))

    seen["version"] = client.session.protocol_version
    seen["tools"] = [plain(tool) for tool in (await client.list_tools()).tools]
    seen["nested"] = {"text": 'ä✓\n"', "list": [1, None, {"deep": [True]}], "big": 9007199254740991, "z": 1, "a": 2}
    seen["echo"] = await call("echo", seen["nested"])
    seen["add"] = await call("add", {"a": 2, "b": 40})
    seen["wrong"] = await call("add", {"a": "two", "b": 40})
    try:
        await call("nope")
    except MCPError as error:
        seen["unknown"] = error.code
    for name in ("image", "fail", "throws"):
        seen[name] = await call(name)
    seen["big"] = await call("big", {"bytes": 9_000_000})
    seen["large"] = len((await call("big", {"bytes": 7_000_000}))["content"][0]["text"])
    seen["client"] = json.loads((await call("client"))["content"][0]["text"])

    seen["progress"] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        seen["progress"].append({"progress": progress, "total": total, "message": message})

    seen["slow"] = await call("slow", {"steps": 4, "interval_ms": 50}, progress_callback=progressed)
    seen["answers"] = [(await call("ask", {"times": times}))["content"][0]["text"] for times in (1, 1, 1, 2)]

    async def waited() -> Any:
        return json.loads((await call("waited"))["content"][0]["text"])

    async with anyio.create_task_group() as group:
        group.start_soon(call, "wait")
        while (await waited())["begun"] == 0:
            await anyio.sleep(0.005)
        group.cancel_scope.cancel()
    while (await waited())["cancelled"] == 0:
        await anyio.sleep(0.005)
    seen["waited"] = await waited()

    sums: dict[int, float] = {}

    async def add(n: int) -> None:
        sums[n] = (await call("add", {"a": n, "b": 1}))["structuredContent"]["sum"]

    async with anyio.create_task_group() as group:
        for n in range(50):
            group.start_soon(add, n)
    seen["many"] = [sums[n] for n in range(50)]


async def main() -> None:
    transport = stdio_client(StdioServerParameters(command=command, args=arguments))
    async with Client(transport, mode=mode, elicitation_callback=elicit) as client:
        await talk(client)
        begin = time.monotonic()
    seen["closing"] = (time.monotonic() - begin) * 1000
    print(json.dumps(seen))


anyio.run(main)
