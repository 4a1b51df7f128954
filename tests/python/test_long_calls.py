"""Long calls of the libraries that people use, interrupted as the host does it: code ends, and nothing else does."""

from __future__ import annotations

import importlib.util
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import STDIN, Host, Kernel, Message, Result

SHARED = ("numpy", "pandas", "matplotlib")  # by several calls: imported once
CALLS: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "support" / "long_calls.json").read_text())
REPEAT_AFTER = 0.25  # as in stop_ladder.hpp
MACHINERY = ("ipybox_kernel", "ipykernel/", "IPython/core", "stack_data", "executing", "never awaited")


def stopped(kernel: Kernel, request: str) -> Result:
    """Interrupts a request, and once more if it goes on after it was told; returns what came of it."""
    messages: list[Message] = []
    kernel.interrupt(request)
    repeat_at = float("inf")
    while True:
        try:
            message = kernel.receive(max(0.01, min(60.0, repeat_at - time.monotonic())))
        except TimeoutError:
            assert repeat_at < float("inf"), "the code neither was told of the interrupt nor has ended"
            kernel.host.signal(kernel.pid, signal.SIGINT)
            repeat_at = float("inf")
            continue
        if message.type == "execute_reply" and message.parent["msg_id"] == request:
            return Result(message.content, messages)
        messages.append(message)
        if message.type == "status" and message.content["execution_state"] == "interrupted":
            repeat_at = time.monotonic() + REPEAT_AFTER
        if message.type == "status" and message.content["execution_state"] == "ending":
            repeat_at = float("inf")


@pytest.fixture(scope="module")
def library_host() -> Iterator[Host]:
    with Host(level="handlers", modules=[name for name in SHARED if importlib.util.find_spec(name)]) as host:
        yield host


@pytest.mark.parametrize("call", CALLS, ids=[call["name"] for call in CALLS])
def test_a_long_call_ends_and_the_state_stays(library_host: Host, call: dict[str, Any]) -> None:
    if call["needs"] and importlib.util.find_spec(call["needs"]) is None:
        pytest.skip(f"{call['needs']} is not installed")
    kernel = library_host.fork()
    assert not kernel.run(call["setup"] + "\nkept = 7", timeout=60).error
    request = kernel.start(call["call"], allow_stdin=True)
    while kernel.receive().type != "execute_input":
        pass
    time.sleep(0.05)  # nothing depends on it: an interrupt that comes early is as good
    result = stopped(kernel, request)
    assert not any(message.channel == STDIN for message in result.messages) or call["name"] == "input"
    text = result.traceback + result.text("stderr")
    assert not any(part in text for part in MACHINERY), text
    assert kernel.run("kept").value == "7"
    kernel.close()
