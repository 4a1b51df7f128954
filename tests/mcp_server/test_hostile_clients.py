"""Clients that break the protocol, or send too much: the server refuses, goes on, and keeps to its bounds."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

MIB = 1 << 20
Raw = Callable[..., Any]


def assert_serves(client: Any) -> None:
    """Whatever came before, the next request is answered."""
    client.send(id="still there?", method="ping")
    while client.read().get("id") != "still there?":
        pass


def waits_cancelled(client: Any) -> int:
    """How many calls of `wait` were begun, once all of them are cancelled."""
    deadline = time.monotonic() + 20
    waited: Any = {"begun": 0, "cancelled": 1}
    while waited["begun"] != waited["cancelled"]:
        assert time.monotonic() < deadline, waited
        waited = json.loads(client.call("waited")["result"]["content"][0]["text"])
    begun: int = waited["begun"]
    return begun


def test_requests_before_initialize(raw: Raw) -> None:
    client = raw()
    assert client.ask(id=1, method="tools/list")["error"]["code"] == -32602
    assert client.call("echo")["error"]["code"] == -32602
    assert client.ask(id=2, method="ping")["result"] == {}
    assert client.initialize()["result"]["protocolVersion"] == "2025-11-25"
    assert client.call("echo", x=1)["result"]["structuredContent"] == {"x": 1}
    assert client.end() == 0


def test_ids_of_every_type(raw: Raw) -> None:
    client = raw()
    client.initialize()
    for good in ["1", "-1", "0", '"a"', '""', '"1"', "123456789012345678901234567890"]:
        client.write(b'{"jsonrpc":"2.0","method":"ping","id":' + good.encode() + b"}\n")
        assert client.stdout.readline().decode() == f'{{"jsonrpc":"2.0","id":{good},"result":{{}}}}\n'
    for bad in ["null", "1.5", "true", "[1]", "{}", "1e400"]:
        client.write(b'{"jsonrpc":"2.0","method":"ping","id":' + bad.encode() + b"}\n")
        answer = client.read()
        assert answer["id"] is None
        assert answer["error"]["code"] in (-32600, -32700)
    assert_serves(client)


def test_malformed_frames(raw: Raw) -> None:
    client = raw()
    client.initialize()
    frames = [
        b"garbage",
        b"\x00\x01\x02",
        b"\xff\xfe\xfd",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}}',
        b'{"jsonrpc":"2.0" "id":1}',
        b"{'jsonrpc':'2.0'}",
        b"[" * 100_000,
        b"{" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'"' + b"\\" * 99_999,
        b"[]",
        b"{}",
        b"null",
        b"0",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":'
        + b"[" * 600
        + b"]" * 600
        + b"}}",
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":7}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{"a":1}}}',
        b"Content-Length: 52",
        b"GET / HTTP/1.1",
    ]
    for frame in frames:
        client.write(frame + b"\n")
        answer = client.read()
        assert answer["error"]["code"] in (-32700, -32600, -32602), frame[:40]
    for ignored in [
        b"",
        b"   ",
        b"\r",
        b'{"jsonrpc":"2.0","id":7,"result":{}}',
        b'{"jsonrpc":"2.0","method":"nonsense"}',
    ]:
        client.write(ignored + b"\n")
    assert client.ask(id="next", method="ping")["id"] == "next"
    assert client.end() == 0


def test_a_frame_in_pieces(raw: Raw) -> None:
    client = raw()
    for byte in b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n':
        client.write(bytes([byte]))
    assert client.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    client.write(b'{"jsonrpc":"2.0","id":2,"method":"pi')
    assert client.end() == 0  # cut off: there is no such line
    assert client.stdout.read() == b""


def test_a_line_of_200_mb_is_refused_and_the_next_is_served(raw: Raw) -> None:
    client = raw()
    client.initialize()
    before = client.memory()
    piece = b"x" * MIB
    client.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"x":"')
    for _ in range(200):
        client.write(piece)
    client.write(b'"}}}\n')
    client.send(id="next", method="ping")
    refused = client.read()
    assert refused["error"]["code"] == -32600
    assert refused["id"] == 1
    assert client.read()["id"] == "next"
    assert client.memory() - before < 150 * MIB
    assert client.memory("VmRSS") - before < 16 * MIB


def test_the_longest_line_and_one_more_byte(raw: Raw) -> None:
    client = raw("--max-line-in", "100000")
    client.initialize()
    head = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"'
    for size, served in [(100_000, True), (100_001, False)]:
        tail = b'"}}\n'
        client.write(head + b"x" * (size - len(head) - len(tail)) + tail)
        assert ("result" in client.read()) == served
    assert_serves(client)


def test_a_flood_of_garbage(raw: Raw) -> None:
    client = raw()
    client.initialize()
    before = client.memory()
    lines = 100_000

    def flood() -> None:
        for _ in range(lines // 1000):
            client.write(b"{garbage\n" * 1000)

    writer = threading.Thread(target=flood)
    writer.start()
    for _ in range(lines):
        assert client.read()["error"]["code"] == -32700
    writer.join()
    assert_serves(client)
    assert client.memory() - before < 64 * MIB


def test_a_flood_of_a_client_that_does_not_read(raw: Raw) -> None:
    client = raw("--stalled-output", "1500")
    client.initialize()
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode() + b"\n"

    def flood() -> None:
        while True:
            client.write(request * 100)

    with pytest.raises(BrokenPipeError):  # the server stops reading, and then ends
        flood()
    assert client.process.wait(10) == 2
    assert b"does not read" in client.process.stderr.read()


def test_more_calls_than_are_allowed(raw: Raw) -> None:
    client = raw()
    client.initialize()
    for n in range(200):
        client.send(id=n, method="tools/call", params={"name": "wait"})
    client.send(id="count", method="tools/call", params={"name": "waited"})
    refused = []
    while (answer := client.read())["id"] != "count":
        assert answer["error"]["code"] == -32603
        refused.append(answer["id"])
    assert refused == list(range(64, 200))
    assert answer["error"]["code"] == -32603
    for n in range(200):
        client.send(method="notifications/cancelled", params={"requestId": n})
    assert waits_cancelled(client) == 64
    assert client.end() == 0


def test_10_000_calls_that_are_cancelled_at_once(raw: Raw) -> None:
    client = raw()
    client.initialize()
    client.call("echo")
    before = client.memory("VmRSS")
    for n in range(10_000):
        client.send(id=n, method="tools/call", params={"name": "wait"})
        client.send(method="notifications/cancelled", params={"requestId": n})
    assert 0 < waits_cancelled(client) <= 10_000  # some are cancelled before they begin
    assert client.memory("VmRSS") - before < 16 * MIB


def test_an_id_in_flight_is_not_taken_twice(raw: Raw) -> None:
    client = raw()
    client.initialize()
    client.send(id=7, method="tools/call", params={"name": "slow", "arguments": {"steps": 1, "interval_ms": 100}})
    twice = client.call("echo", request=7)
    assert twice["id"] is None
    assert twice["error"]["code"] == -32600
    assert client.read()["result"]["content"][0]["text"] == "took 1 steps"


def test_forged_states(raw: Raw) -> None:
    client = raw()
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    asked = client.ask(id=1, method="tools/call", params={"name": "ask", "arguments": {}, "_meta": meta})["result"]
    state = asked["requestState"]
    (key,) = asked["inputRequests"]
    responses = {key: {"action": "accept", "content": {"answer": "x"}}}
    for forged in ["", "x", state[:-1], state + " ", "0" * 32]:
        params = {"name": "ask", "arguments": {}, "_meta": meta, "requestState": forged, "inputResponses": responses}
        assert client.ask(id=2, method="tools/call", params=params)["error"]["code"] == -32602
    for name, arguments in [("echo", {}), ("ask", {"times": 2})]:
        params = {
            "name": name,
            "arguments": arguments,
            "_meta": meta,
            "requestState": state,
            "inputResponses": responses,
        }
        assert client.ask(id=3, method="tools/call", params=params)["error"]["code"] == -32602
    params = {"name": "ask", "arguments": {}, "_meta": meta, "requestState": state, "inputResponses": responses}
    answer = client.ask(id=4, method="tools/call", params=params)
    assert answer["result"]["content"][0]["text"] == 'accept {"answer":"x"}'
    assert client.ask(id=5, method="tools/call", params=params)["error"]["code"] == -32602


def test_states_that_no_one_comes_back_with(raw: Raw) -> None:
    client = raw("--question-timeout", "200")
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    params = {"name": "ask", "arguments": {}, "_meta": meta}
    states = [client.ask(id=n, method="tools/call", params=params)["result"]["requestState"] for n in range(16)]
    full = client.ask(id="one more", method="tools/call", params=params)["result"]
    assert "16 questions" in full["content"][0]["text"]
    deadline = time.monotonic() + 10
    while "inputRequests" not in client.ask(id="again", method="tools/call", params=params)["result"]:
        assert time.monotonic() < deadline
    late = client.ask(id="late", method="tools/call", params={**params, "requestState": states[0]})
    assert late["error"]["code"] == -32602


def test_the_end_of_the_client_ends_all_at_once(raw: Raw) -> None:
    client = raw()
    client.initialize(elicitation={})
    for n in range(10):
        client.send(id=n, method="tools/call", params={"name": "wait" if n % 2 else "ask"})
    for _ in range(5):
        assert client.read()["method"] == "elicitation/create"
    begin = time.monotonic()
    assert client.end() == 0
    assert time.monotonic() - begin < 2
    assert client.stdout.read() == b""


def test_a_client_that_dies(raw: Raw) -> None:
    client = raw()
    client.initialize()
    for n in range(10):
        client.send(id=n, method="tools/call", params={"name": "big", "arguments": {"bytes": 5_000_000}})
    client.stdout.close()
    client.stdin.close()
    client.process.wait(10)
