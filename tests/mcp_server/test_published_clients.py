"""The clients that the protocol's authors publish, in both eras: every tool, questions, progress, cancellation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import python, tasks, typescript

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
CLIENTS = [
    pytest.param(typescript, "v1", LEGACY, id="typescript-1"),
    pytest.param(typescript, "legacy", LEGACY, id="typescript-2-legacy"),
    pytest.param(typescript, "auto", MODERN, id="typescript-2-auto"),
    pytest.param(typescript, MODERN, MODERN, id="typescript-2-pinned"),
    pytest.param(python, "legacy", LEGACY, id="python-2-legacy"),
    pytest.param(python, "auto", MODERN, id="python-2-auto"),
    pytest.param(python, MODERN, MODERN, id="python-2-pinned"),
]


@pytest.mark.parametrize(("client", "mode", "version"), CLIENTS)
def test_a_client_uses_every_tool(client: Callable[[str], Any], mode: str, version: str) -> None:
    seen = client(mode)
    assert seen.get("version", version) == version  # that of TypeScript 1 does not tell
    names = [tool["name"] for tool in seen["tools"]]
    assert names[:4] == ["echo", "add", "slow", "ask"]
    add = seen["tools"][1]
    assert add["title"] == "Addition"
    assert add["annotations"]["readOnlyHint"] is True
    assert add["outputSchema"]["required"] == ["sum"]

    assert json.loads(seen["echo"]["content"][0]["text"]) == seen["nested"]
    assert seen["echo"]["structuredContent"] == seen["nested"]
    assert list(seen["echo"]["structuredContent"]) == list(seen["nested"])
    assert seen["add"]["structuredContent"] == {"sum": 42}
    assert json.loads(seen["add"]["content"][0]["text"]) == {"sum": 42}
    assert seen["wrong"]["isError"]
    assert seen["wrong"]["content"][0]["text"] == 'argument a has to be a number, not "two"'
    assert seen["unknown"] == -32602
    assert [block["type"] for block in seen["image"]["content"]] == ["text", "image"]
    assert seen["image"]["content"][1]["mimeType"] == "image/png"
    assert seen["fail"]["isError"]
    assert seen["throws"]["isError"]
    assert seen["throws"]["content"][0]["text"] == "thrown by the handler"
    assert seen["big"]["isError"]
    assert "9000" in seen["big"]["content"][0]["text"]
    assert seen["large"] == 7_000_000
    assert seen["client"]["version"] == version
    assert "elicitation" in seen["client"]["capabilities"]

    # The TypeScript client drops progress that it reads together with the result.
    reports = [(made["progress"], made["total"], made["message"]) for made in seen["progress"]]
    assert reports
    assert reports == [(step, 4, f"step {step}") for step in range(1, 5)][: len(reports)]
    assert seen["slow"]["content"][0]["text"] == "took 4 steps"
    assert seen["answers"] == [
        'accept {"answer":"ja, gern: ä✓"}',
        "decline",
        "cancel",
        'accept {"answer":"one"}; accept {"answer":"two"}',
    ]
    assert seen["asked"] == ["question 1", "question 1", "question 1", "question 1", "question 2"]
    assert seen["waited"] == {"begun": 1, "cancelled": 1}
    assert seen["many"] == [n + 1 for n in range(50)]
    assert seen["closing"] < 1500, "the server does not end with its input"


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_the_package_for_tasks(mode: str) -> None:
    seen = tasks(mode)
    assert seen["slow"]["kind"] == "task"
    assert seen["slow"]["outcome"]["status"] == "completed", seen
    assert seen["slow"]["outcome"]["result"]["content"][0]["text"] == "took 30 steps"
    assert seen["ask"]["kind"] == "task"
    assert seen["ask"]["outcome"]["status"] == "completed"
    answers = 'accept {"answer":"yes"}; accept {"answer":"yes"}'
    assert seen["ask"]["outcome"]["result"]["content"][0]["text"] == answers
    assert seen["asked"] == ["question 1", "question 2"]
    assert (seen["waiting"], seen["cancelled"]) == ("task", "cancelled")
    if mode == MODERN:
        assert {"tasks/get", "tasks/update", "tasks/cancel"} <= set(seen["methods"])
