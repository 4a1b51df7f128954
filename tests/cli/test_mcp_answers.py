"""Answers of `ipybox mcp` as clients show them to models, and what is refused before a person is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp_client import FORMS, MODERN, Answer, Client, Clients, accept
from program import ONE_PIXEL, Program
from servers import TOOLS


class ClaudeCode(Client):
    """Shows its model nothing but `structuredContent` where there is any."""

    def hello(self) -> dict[str, Any]:
        return {**super().hello(), "clientInfo": {"name": "claude-code", "version": "2.1.280"}}


def test_a_client_that_drops_content_beside_structured_content_gets_images(program: Program) -> None:
    client = ClaudeCode(program, "--approve", "auto")
    tools = client.request("tools/list")["tools"]
    assert all("outputSchema" not in tool for tool in tools)
    answer = client.run(ONE_PIXEL + "print('printed')")
    assert "structuredContent" not in answer.result
    assert len(answer.images) == 1
    assert "printed" in answer.text
    assert "[no output]" not in answer.text
    registered = client.call("register_mcp_server", server_name="tools", server_params=TOOLS)
    assert "structuredContent" not in registered.result
    assert "echo" in registered.text.split("\n")
    assert client.close() == 0


def test_other_clients_get_both(connect: Clients, era: str) -> None:
    client = connect(version=era)
    tools = {tool["name"]: tool for tool in client.request("tools/list")["tools"]}
    assert "outputSchema" in tools["execute_ipython_cell"]
    answer = client.run(ONE_PIXEL)
    assert len(answer.images) == 1
    assert answer.value["images"]


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("Latex('$x^2$')", "$x^2$"),
        ("Math('x^2')", r"$\displaystyle x^2$"),
        ("JSON({'a': [1, None]})", '{"a":[1,null]}'),
        ("SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
        ("Markdown('# title')", "# title"),
    ],
)
@pytest.mark.parametrize("how", ["{}", "display({})", "print('before'); display({})"])
def test_a_display_is_the_text_that_was_displayed(connect: Clients, shown: str, text: str, how: str) -> None:
    """IPython's `text/plain` of it names a class alone."""
    answer = connect().run("from IPython.display import *\n" + how.format(shown))
    for said in (answer.text, answer.value["output"]):
        assert said.removeprefix("before\n").strip() == text


def test_a_cell_without_output_says_so(connect: Clients, era: str) -> None:
    client = connect(version=era)
    answer = client.run("x = 1")
    assert answer.text == "[no output]"
    assert answer.value["output"] == ""
    assert client.call("cell_output").text == "[no output]"


def test_the_names_of_tools_are_one_block(connect: Clients) -> None:
    answer = connect("--approve", "auto").call("register_mcp_server", server_name="tools", server_params=TOOLS)
    assert len(answer.result["content"]) == 1
    assert answer.text.split("\n") == answer.value["tools"]
    assert len(answer.value["tools"]) > 1


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("register_mcp_server", {"server_name": "class", "server_params": TOOLS}, "'class' cannot be the name"),
        ("register_mcp_server", {"server_name": "my-server", "server_params": TOOLS}, 'try "my_server"'),
        ("register_mcp_server", {"server_name": "x", "server_params": {"url": "https://example.org"}}, "over HTTP"),
        ("install_package", {"package_name": "numpy pandas"}, "one package at a time"),
        ("install_package", {"package_name": "numpy", "version": "latest"}, "a version begins with a digit"),
        ("install_package", {"package_name": "git+https://example.org/x"}, "URLs cannot be installed"),
        ("install_package", {"package_name": "x-"}, "does not name a package"),
    ],
)
def test_what_cannot_be_done_is_not_asked(connect: Clients, tool: str, arguments: dict[str, Any], told: str) -> None:
    client = connect(capabilities=FORMS, on_question=lambda _: accept())
    answer = client.call(tool, **arguments)
    assert answer.failed
    assert told in answer.text
    assert "no wheel" not in answer.text
    assert client.questions == []


def test_a_server_called_as_a_module_of_python_is_no_news(connect: Clients) -> None:
    client = connect("--approve", "auto")
    client.call("register_mcp_server", server_name="time", server_params=TOOLS)
    assert client.run("from mcptools.time import echo; print(echo.run(text='x'))").text == "x"
    assert client.close() == 0
    assert "standard library" not in "".join(client.errors)


def test_a_request_that_is_too_long_keeps_its_id(connect: Clients) -> None:
    client = connect()
    pending = client.begin_call("execute_ipython_cell", {"code": "#" * (65 << 20)})
    message = pending.answers.get(timeout=60)
    assert message["error"]["code"] == -32600
    assert "bytes" in message["error"]["message"]
    assert client.run("1+1").text == "2"


def test_a_sandbox_configuration_that_is_missing_is_the_default(boxed: Program, connect: Clients) -> None:
    file = boxed.directory / "sandbox-config.json"
    client = connect("--sandbox-config", file.name, "--approve", "auto")
    assert client.run("6*7").text == "42"
    # The code does not make the one of the next start.
    answer = client.run("open('sandbox-config.json', 'w').write('{}')")
    assert answer.failed, answer.text
    assert client.close() == 0
    assert not file.exists()
    assert "sandbox-config.json does not exist: the default sandbox is used" in "".join(client.errors)


def test_a_configuration_of_the_python_package_starts(boxed: Program) -> None:
    arguments = ["--sandbox-config", "sandbox-config.json", "--tool-server-port", "8901", "--log-level", "INFO"]
    client = Client(boxed, *arguments, version=MODERN, handshake=False)
    assert Answer(client.request("tools/call", {"name": "reset", "arguments": {}})).text == "The kernel was reset."
    assert client.close() == 0
    assert Path(boxed.directory).is_dir()
