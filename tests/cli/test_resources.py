"""Resources, prompts and instructions of MCP servers, as code has them; the rules and questions about them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from program import PYTHON, Program, Terminals
from servers import NODE, TESTS, config

SERVER = str(TESTS / "mcp/servers/resourceful.py")
EVERYTHING: dict[str, Any] = {
    "command": "node",
    "args": [str(NODE / "@modelcontextprotocol/server-everything/dist/index.js")],
}


def resourceful(era: str = "handshake", *further: str) -> dict[str, Any]:
    how = {"negotiation": "stateless_only"} if era == "stateless" else {}
    return {"command": PYTHON, "args": [SERVER, "--era", era, *further], **how}


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_code_reads_resources_and_prompts(any_sandbox: Program, era: str) -> None:
    code = """
import asyncio, mcptools
print(mcptools.read("doc://hello", server="docs").text)
print(mcptools.read("doc://bytes", "docs").data)
print([link.uri for link in mcptools.resources("docs")][:2], len(mcptools.resources("docs")))
print(mcptools.resource_templates("docs")[0].uri_template)
print([prompt.name for prompt in mcptools.prompts("docs")])
print(mcptools.prompt("docs", "weather", city="Köln").text)
print([c.text for c in await asyncio.gather(*(mcptools.aread(f"doc://{i}", "docs") for i in range(3)))])
"""
    ended = any_sandbox.run("--mcp-config", config(any_sandbox, docs=resourceful(era)), "--yes", "-c", code)
    assert ended.err == ""
    assert ended.out.splitlines() == [
        "größe",
        r"b'\x00\x01\x02'",
        "['doc://hello', 'doc://bytes'] 7",
        "doc://{number}",
        "['weather', 'bare']",
        "Weather in Köln?",
        "['text 0', 'text 1', 'text 2']",
    ]


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_a_server_has_what_it_knows(program: Program, era: str) -> None:
    code = """
import mcptools, mcptools.docs
print(mcptools.prompts("docs"), mcptools.read("doc://1", "docs").text)
"""
    docs = resourceful(era, "--lacks", "tools/list", "prompts/list")
    ended = program.run("--mcp-config", config(program, docs=docs), "--yes", "-c", code)
    assert (ended.out, ended.err) == ("[] text 1\n", "")


def test_a_link_of_a_result_is_read(program: Program) -> None:
    code = "import mcptools\nlink, = mcptools.docs.find.run().parts\nprint(link, mcptools.read(link).text)"
    ended = program.run("--mcp-config", config(program, docs=resourceful()), "--yes", "-c", code)
    assert (ended.out, ended.err) == ("<Link doc://hello, hello> größe\n", "")


def test_a_published_server(program: Program) -> None:
    code = """
import mcptools
print(mcptools.read(mcptools.resources("everything")[0]).text[:2])
links = mcptools.everything.get_resource_links.run(count=2).parts
print([type(mcptools.read(link)[0]).__name__ for link in links])
print(mcptools.prompt("everything", "args-prompt", city="Kiel").text)
print("Everything Server" in mcptools.everything.__doc__, "Everything Server" in mcptools.describe("everything"))
"""
    ended = program.run("--mcp-config", config(program, everything=EVERYTHING), "--yes", "-c", code)
    assert ended.out.splitlines() == ["# ", "['Blob', 'Document']", "What's weather in Kiel?", "True True"], ended.err


def test_instructions_are_the_servers_own_words(program: Program) -> None:
    code = "import mcptools\nprint(mcptools.docs.__doc__)\nprint('---')\nprint(mcptools.describe('docs'))"
    ended = program.run("--mcp-config", config(program, docs=resourceful()), "-c", code)
    docstring, described = ended.out.split("---\n")
    said = "Instructions of the server's author:\n\n    Read doc://hello first.\n"
    assert said in docstring
    assert described.startswith(said.replace("\n\n", "\n"))
    assert "docs.find()" in described


def test_what_cannot_be_read_says_why(program: Program) -> None:
    code = """
import mcptools
for read in (
    lambda: mcptools.read("doc://none", "docs"),
    lambda: mcptools.read("doc://hello", "nobody"),
    lambda: mcptools.read("doc://hello"),
    lambda: mcptools.prompt("docs", "nothing"),
):
    try:
        read()
    except Exception as e:
        print(f"{type(e).__name__}: {e}")
"""
    ended = program.run("--mcp-config", config(program, docs=resourceful()), "--yes", "-c", code)
    missing, unknown, which, nothing = [line for line in ended.out.splitlines() if "Error: " in line]
    assert missing.startswith("ToolRunnerError: the MCP server 'docs' refused `resources/read`: Resource not found")
    assert unknown.startswith("ToolRunnerError: no MCP server 'nobody' is registered")
    assert which == "TypeError: which server has doc://hello? write read(uri, server=...)"
    assert nothing.startswith("ToolRunnerError: the MCP server 'docs' refused `prompts/get`: Unknown prompt")


def test_rules_decide_about_resources_and_prompts(program: Program) -> None:
    rules = {
        "allow": [
            {"kind": "resource", "server": "docs", "uri": "doc://*"},
            {"kind": "prompt", "server": "docs", "prompt": "weather"},
        ],
        "deny": [{"kind": "resource", "uri": "doc://bytes", "reason": "no bytes"}],
    }
    code = """
import mcptools
print(mcptools.read("doc://hello", "docs").text, mcptools.prompt("docs", "weather", city="Kiel").text)
for ask in (lambda: mcptools.read("doc://bytes", "docs"), lambda: mcptools.resources("docs")):
    try:
        ask()
    except PermissionError as e:
        print(e.decided_by, e)
"""
    file = program.write("rules.json", json.dumps(rules))
    ended = program.run("--mcp-config", config(program, docs=resourceful()), "--approve", file, "-c", code)
    done, denied, asked = ended.out.splitlines()
    assert done == "größe Weather in Kiel?"
    assert denied == "rule no bytes"
    assert asked.startswith("policy no rule of ")


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ('mcptools.read("doc://hello", "docs")', {"kind": "resource", "uri": "doc://hello"}),
        ('mcptools.resources("docs")', {"kind": "resource"}),
        ('mcptools.prompt("docs", "p", city="a")', {"kind": "prompt", "prompt": "p", "arguments": {"city": "a"}}),
    ],
)
def test_events(program: Program, call: str, shown: dict[str, Any]) -> None:
    ended = program.run(
        "--mcp-config", config(program, docs=resourceful()), "--yes", "--json", "-c", f"import mcptools\n{call}"
    )
    (event,) = ended.approvals
    names = ("kind", "server", "uri", "prompt", "arguments")
    assert {name: event[name] for name in names if event.get(name) is not None} == {"server": "docs", **shown}


def test_a_person_is_asked(program: Program, on_terminal: Terminals) -> None:
    code = "import mcptools\nprint(mcptools.read('doc://hello', 'docs').text)"
    terminal = on_terminal("--mcp-config", config(program, docs=resourceful()), "-c", code)
    terminal.expect(r"\| resource request docs doc://hello")
    terminal.type("y\n")
    terminal.expect("größe")
    assert terminal.wait() == 0
