"""Arguments of our own tools as clients and models send them: what is plainly meant is done."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp_client import MODERN, Answer, CallFailed, Client, Clients
from program import Program
from servers import TOOLS

#: As clients send a cell, and what it prints.
CELLS: list[tuple[dict[str, Any], str]] = [
    ({"code": "2+1", "timeout": "60"}, "3"),
    ({"code": "2+2", "timeout": None, "max_output_chars": None, "wait_seconds": None}, "4"),
    ({"code": "2+3", "timeout": 30.0}, "5"),
    ({"code": "2+4", "max_output_chars": "5000"}, "6"),
    ({"code": "2+5", "wait_seconds": " 30 "}, "7"),
    ({"code": "```python\nprint('fenced')\n```"}, "fenced"),
    ({"code": "\n```\n2+6\n```\n"}, "8"),
]


@pytest.fixture
def client(program: Program, connect: Clients, era: str) -> Client:
    return connect("--approve", "auto", version=era)


def test_a_cell_as_clients_send_it(client: Client) -> None:
    for arguments, text in CELLS:
        assert client.call("execute_ipython_cell", **arguments).text == text, arguments


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"code": "1", "timeout": "soon"}, 'timeout has to be a number, not "soon"'),
        ({"code": "1", "timeout": "0"}, "timeout has to be more than 0"),
        ({"code": None}, "code has to be a string, not null"),
        ({}, "code is missing"),
        ({"code": ["1"]}, "code has to be a string"),
        ({"code": "1", "wait": 3}, "wait"),
        ({"code": '{"a": 1}', "timeout": {}}, "timeout has to be a number"),
    ],
)
def test_what_is_not_meant_plainly_is_an_error(connect: Clients, arguments: dict[str, Any], told: str) -> None:
    answer = connect().call("execute_ipython_cell", **arguments)
    assert answer.failed
    assert told in answer.text


def call_with(client: Client, tool: str, arguments: Any) -> Answer:
    return Answer(client.request("tools/call", {"name": tool, "arguments": arguments}))


def test_arguments_that_are_missing_null_or_text(client: Client) -> None:
    assert Answer(client.request("tools/call", {"name": "reset"})).text == "The kernel was reset."
    assert call_with(client, "reset", None).text == "The kernel was reset."
    assert call_with(client, "execute_ipython_cell", '{"code": "5+5"}').text == "10"
    for wrong in ("[1]", "code", [1]):
        with pytest.raises(CallFailed, match="has to be an object"):
            call_with(client, "execute_ipython_cell", wrong)


def test_ids_and_positions(client: Client) -> None:
    client.run("print('first')")
    for arguments in ({"id": 1}, {"id": "1", "from": "0"}, {"id": None, "from": None}, {}):
        assert client.call("cell_output", **arguments).text.strip() == "first", arguments
    assert client.call("wait_for_cell", id=1, wait_seconds="1").value["status"] == "ok"


def test_packages_without_a_version(client: Client) -> None:
    answer = client.call("install_package", package_name="no such", version=None)
    assert answer.failed
    assert "has to be" not in answer.text


@pytest.mark.parametrize(
    "params",
    [
        json.dumps(TOOLS),
        {**TOOLS, "args": json.dumps(TOOLS["args"])},
        {**TOOLS, "env": json.dumps({"A": "1"}), "cwd": None, "timeout": "60"},
        {"mcpServers": {"anything": TOOLS}},
        json.dumps({"mcpServers": {"anything": TOOLS}}),
    ],
)
def test_a_server_as_clients_send_it(connect: Clients, params: Any) -> None:
    client = connect("--approve", "auto")
    answer = client.call("register_mcp_server", server_name="tools", server_params=params)
    assert not answer.failed, answer.text
    assert "echo" in answer.value["tools"]


def test_the_handshake_is_no_method_of_the_newest_version(connect: Clients) -> None:
    client = connect(version=MODERN, handshake=False)
    with pytest.raises(CallFailed) as refused:
        client.request(
            "initialize", {"protocolVersion": MODERN, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        )
    assert refused.value.code == -32601
    assert client.request("tools/list")["tools"]
