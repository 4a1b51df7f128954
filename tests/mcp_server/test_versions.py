"""What goes over the wire in each version of the protocol, told by hand."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

Raw = Callable[..., Any]
LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"


def meta(**capabilities: Any) -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "0"},
    }


@pytest.mark.parametrize("version", LEGACY)
def test_a_version_with_a_handshake(raw: Raw, version: str) -> None:
    client = raw()
    assert client.initialize(version)["result"]["protocolVersion"] == version
    result = client.call("add", a=1, b=2)["result"]
    assert ("structuredContent" in result) == (version >= "2025-06-18")
    assert result["content"] == [{"type": "text", "text": '{"sum":3.0}'}]
    assert "resultType" not in result
    batch = b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]\n'
    client.write(batch)
    answer = client.read()
    if version == "2025-03-26":
        assert [one["id"] for one in answer] == [1, "b"]
    else:
        assert answer["error"]["code"] == -32600
    assert client.end() == 0


def test_a_probe_and_then_either_era_in_one_process(raw: Raw) -> None:
    client = raw()
    found = client.ask(id=1, method="server/discover", params={"_meta": meta()})["result"]
    assert found["supportedVersions"] == [MODERN, *reversed(LEGACY)]
    params = {"name": "client", "_meta": meta(elicitation={})}
    said = json.loads(client.ask(id=2, method="tools/call", params=params)["result"]["content"][0]["text"])
    assert said["version"] == MODERN
    assert said["capabilities"] == {"elicitation": {}}
    assert client.initialize("2024-11-05")["result"]["protocolVersion"] == "2024-11-05"
    assert json.loads(client.call("client")["result"]["content"][0]["text"])["version"] == "2024-11-05"
    assert "resultType" in client.ask(id=3, method="tools/list", params={"_meta": meta()})["result"]


def test_pages_of_tools(raw: Raw) -> None:
    client = raw("--tools-page", "4")
    client.initialize()
    names: list[str] = []
    cursor: dict[str, str] = {}
    for _ in range(3):
        page = client.ask(id=1, method="tools/list", params=cursor)["result"]
        names += [tool["name"] for tool in page["tools"]]
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else {}
    assert not cursor
    assert names == ["echo", "add", "slow", "ask", "image", "fail", "throws", "big", "wait", "waited", "client"]
    assert client.ask(id=1, method="tools/list", params={"cursor": "nonsense"})["error"]["code"] == -32602


def poll(get: Callable[[], Any], status: str) -> Any:
    deadline = time.monotonic() + 20
    while (task := get())["status"] != status:
        assert time.monotonic() < deadline, task
        time.sleep(0.01)
    return task


def test_tasks_of_2025_11_25(raw: Raw) -> None:
    client = raw()
    client.initialize(elicitation={})
    params = {"name": "slow", "arguments": {"steps": 5, "interval_ms": 20}, "task": {"ttl": 60_000}}
    task = client.ask(id=1, method="tools/call", params=params)["result"]["task"]
    named = {"taskId": task["taskId"]}
    assert (task["status"], task["ttl"]) == ("working", 60_000)
    result = client.ask(id=2, method="tasks/result", params=named)["result"]
    assert result["content"][0]["text"] == "took 5 steps"
    assert result["_meta"]["io.modelcontextprotocol/related-task"] == named
    assert client.ask(id=3, method="tasks/get", params=named)["result"]["status"] == "completed"

    asking = client.ask(id=4, method="tools/call", params={"name": "ask", "arguments": {}, "task": {}})["result"][
        "task"
    ]
    question = client.read()
    assert question["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"] == asking["taskId"]
    named = {"taskId": asking["taskId"]}
    assert client.ask(id=5, method="tasks/get", params=named)["result"]["status"] == "input_required"
    client.send(id=question["id"], result={"action": "decline"})
    assert client.ask(id=6, method="tasks/result", params=named)["result"]["content"][0]["text"] == "decline"

    waiting = client.ask(id=7, method="tools/call", params={"name": "wait", "task": {}})["result"]["task"]
    named = {"taskId": waiting["taskId"]}
    assert client.ask(id=8, method="tasks/cancel", params=named)["result"]["status"] == "cancelled"
    assert len(client.ask(id=9, method="tasks/list")["result"]["tasks"]) == 3


def test_tasks_of_the_extension_of_2026_07_28(raw: Raw) -> None:
    client = raw()
    declared = meta(elicitation={}, extensions={"io.modelcontextprotocol/tasks": {}})

    def ask(method: str, **params: Any) -> Any:
        return client.ask(id=method, method=method, params={"_meta": declared, **params})["result"]

    quick = ask("tools/call", name="slow", arguments={"steps": 1, "interval_ms": 1})
    assert quick["resultType"] == "complete"
    task = ask("tools/call", name="slow", arguments={"steps": 30, "interval_ms": 20})
    assert (task["resultType"], task["status"]) == ("task", "working")
    done = poll(lambda: ask("tasks/get", taskId=task["taskId"]), "completed")
    assert done["result"]["content"][0]["text"] == "took 30 steps"
    assert done["resultType"] == "complete"
    assert "step" in done["statusMessage"]

    waiting = ask("tools/call", name="slow", arguments={"steps": 1000, "interval_ms": 1000})
    assert ask("tasks/cancel", taskId=waiting["taskId"])["resultType"] == "complete"
    assert ask("tasks/get", taskId=waiting["taskId"])["status"] == "cancelled"
