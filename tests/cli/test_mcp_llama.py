"""`ipybox mcp` under a client that behaves as the one of llama.cpp (tools/server/server-mcp.cpp)."""

from __future__ import annotations

import json
import select
import time
from collections.abc import Iterator
from typing import Any

import pytest
from program import PYTHON, Program
from servers import ECHO, TOOLS, config

#: Lines that are longer are dropped.
LONGEST_LINE = 8 * 1024 * 1024


class LlamaClient:
    """2024-11-05 without capabilities; one call at a time.

    The first frame with the call's id is its answer, whatever it is. Progress and late answers are dropped.
    """

    def __init__(self, program: Program, *arguments: str, timeout: float = 30) -> None:
        self.timeout = timeout
        self.dropped: list[str] = []
        self._last = 0
        self._rest = b""
        self.process = program.start_command(program.mcp("--python", PYTHON, *arguments), stdin=-1)
        hello = {
            "protocolVersion": "2024-11-05",
            "capabilities": {},
            "clientInfo": {"name": "llama.cpp", "version": "b1"},
        }
        assert self.request("initialize", hello)["result"]["protocolVersion"] == "2024-11-05"
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def _line(self, deadline: float) -> bytes | None:
        assert self.process.stdout
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                return None
            more = self.process.stdout.read1(1 << 20)  # type: ignore[attr-defined]
            assert more, "the server has ended"
            self._rest += more
        line, self._rest = self._rest.split(b"\n", 1)
        return bytes(line)

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        deadline = time.monotonic() + self.timeout
        while (line := self._line(deadline)) is not None:
            if len(line) > LONGEST_LINE:
                self.dropped.append("a long line")
                continue
            message = json.loads(line)
            if message.get("id") == self._last:
                assert isinstance(message, dict)
                return message
            self.dropped.append(message.get("method", "a late answer"))
        return {"error": {"message": "timeout"}}

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def text(self, tool: str, **arguments: Any) -> str:
        answer = self.call(tool, **arguments)
        return "\n".join(block.get("text", "") for block in answer["result"]["content"])

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(30) == 0


@pytest.fixture
def llama(program: Program) -> Iterator[LlamaClient]:
    client = LlamaClient(program, "--mcp-config", config(program, tools=TOOLS))
    yield client
    client.close()


def test_started_listed_stopped_and_started_again(program: Program) -> None:
    client = LlamaClient(program)
    assert len(client.request("tools/list", {})["result"]["tools"]) == 7
    assert len(program.processes()) == 1  # no kernel
    client.close()
    client = LlamaClient(program)
    assert client.text("execute_ipython_cell", code="1 + 1") == "2"
    client.close()


def test_it_is_never_asked_and_told_what_to_do(llama: LlamaClient) -> None:
    text = llama.text("execute_ipython_cell", code=ECHO + "echo('a')")
    assert "ApprovalRejectedError" in text
    assert "--approve" in text
    assert llama.dropped == []  # no request of the server's own


def test_a_cell_that_outlives_the_clients_patience_is_not_lost(program: Program) -> None:
    client = LlamaClient(program, "--wait-seconds", "1", timeout=5)
    text = client.text("execute_ipython_cell", code="import time\ntime.sleep(8)\nprint('late')")
    assert 'wait_for_cell(id="1")' in text
    while "late" not in (text := client.text("wait_for_cell", id="1", wait_seconds=2)):
        assert "still running" in text
    assert client.dropped == []
    client.close()


def test_a_call_that_is_given_up_loses_no_output(program: Program) -> None:
    client = LlamaClient(program)
    client.text("execute_ipython_cell", code="1")
    client.timeout = 3
    assert client.call("execute_ipython_cell", code="import time\ntime.sleep(5)\nprint('late')") == {
        "error": {"message": "timeout"}
    }
    client.timeout = 30
    assert client.text("wait_for_cell", wait_seconds=20) == "late"
    assert client.dropped == ["a late answer"]
    client.close()


def test_an_interrupt_gets_through_after_an_early_answer(llama: LlamaClient) -> None:
    llama.text("execute_ipython_cell", code="1")
    text = llama.text("execute_ipython_cell", code="while True: pass", wait_seconds=0.5)
    assert "interrupt_cell" in text
    assert "KeyboardInterrupt" in llama.text("interrupt_cell", id="2")


def test_large_results_stay_below_its_longest_line(llama: LlamaClient) -> None:
    code = (
        "import os\nfrom IPython.display import display, Image\n"
        r"for _ in range(8): display(Image(b'\x89PNG\r\n\x1a\n' + os.urandom(1_000_000), format='png', "
        "width=1, height=1))"
        "\nprint('\\x01' * 1_000_000)"
    )
    answer = llama.call("execute_ipython_cell", code=code, max_output_chars=10**9)
    assert "result" in answer
    assert llama.dropped == []
    images = [block for block in answer["result"]["content"] if block["type"] == "image"]
    assert 1 <= len(images) < 8
    text = answer["result"]["content"][0]["text"]
    assert text.count("](/") == 8  # all are linked


def test_images_are_passed_through(llama: LlamaClient) -> None:
    from program import ONE_PIXEL

    answer = llama.call("execute_ipython_cell", code=ONE_PIXEL)
    assert [block["type"] for block in answer["result"]["content"]] == ["text", "image"]
    assert not answer["result"].get("isError")
