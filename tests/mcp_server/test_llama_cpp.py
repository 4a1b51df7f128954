"""A client with the traits of llama.cpp's (`tools/server/server-mcp.cpp`).

It speaks the oldest version without capabilities, has one call at a time, counts its requests, takes whatever has the
number of its call for the answer, passes over notifications, drops lines over 8 MiB, and starts each server twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

LONGEST_LINE = 8 << 20


class LlamaCpp:
    def __init__(self, raw: Callable[..., Any]) -> None:
        self.client = raw()
        self.last = 0
        info = {"name": "llama.cpp", "version": "0"}
        params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": info}
        self.agreed = self.request("initialize", params)["result"]["protocolVersion"]
        self.client.send(method="notifications/initialized")

    def request(self, method: str, params: dict[str, Any]) -> Any:
        self.last += 1
        self.client.send(id=self.last, method=method, params=params)
        while True:
            line = self.client.stdout.readline()
            assert line, "the server has ended"
            if len(line) > LONGEST_LINE:
                continue  # and the call is never answered
            message = json.loads(line)
            if message.get("id") == self.last:
                assert "method" not in message, "a request of the server would be taken for the answer"
                return message

    def call(self, name: str, **arguments: Any) -> Any:
        return self.request("tools/call", {"name": name, "arguments": arguments})["result"]


def test_no_result_is_lost(raw: Callable[..., Any]) -> None:
    listing = LlamaCpp(raw)
    assert listing.agreed == "2024-11-05"
    tools = listing.request("tools/list", {})["result"]["tools"]
    assert set(tools[1]) == {"name", "description", "inputSchema"}
    assert listing.client.end() == 0

    llama = LlamaCpp(raw)
    assert llama.call("add", a=2, b=40)["content"] == [{"type": "text", "text": '{"sum":42.0}'}]
    assert "structuredContent" not in llama.call("echo", x=1)
    assert llama.call("image")["content"][1]["type"] == "image"
    assert llama.call("fail")["isError"]
    assert "cannot ask" in llama.call("ask")["content"][0]["text"]
    assert llama.call("slow", steps=3, interval_ms=1)["content"][0]["text"] == "took 3 steps"
    assert len(llama.call("big", bytes=8_300_000)["content"][0]["text"]) == 8_300_000
    too_large = llama.call("big", bytes=LONGEST_LINE)
    assert too_large["isError"]
    assert "at most" in too_large["content"][0]["text"]
    assert llama.client.end() == 0
