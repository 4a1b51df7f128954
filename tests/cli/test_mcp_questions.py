"""Questions of `ipybox mcp` say the same as plain text, as Markdown and as HTML."""

from __future__ import annotations

import json
import os
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from mcp_client import FORMS, Clients, accept
from program import PYTHON, Program
from servers import ECHO, TOOLS, config

NODE_MODULES = Path(os.environ.get("IPYBOX_TEST_MCP_CLIENTS", ".node/mcp-clients/node_modules")).absolute()
REJECT = accept("reject", reason="no")


def row(head: str, text: str, filler: str = ".") -> str:
    """Fills a row of a question, behind the words that stand before the text."""
    return text.ljust(97 - len(head) - 1, filler) + " "


SHELL_HEAD = "shell command /bin/sh -c '"
#: Lines that Markdown or HTML would draw as something else.
LINES = [
    row(SHELL_HEAD, "ls -l; echo checking: ") + "-" * 97 + "| touch EVIL",
    row(SHELL_HEAD, "ls | cat ", "|") + "|-" * 48 + "\n| touch EVIL |",
    "ls ![](https://example.org/?what-the-code-has-read)",
    "ls <img src=https://example.org/x> <script>1</script> <!-- ",
    "ls &lt;b&gt; &copy=1 &#60; ?a=1&b=2",
    "ls [text](https://example.org/hidden) <https://example.org/auto> www.example.org",
    "echo it's `x` ``` ~~~ ~~gone~~ **bold** __bold__ $x$ \\* \\| a  b",
    "```\n```\n~~~\nls",
    "ls\n\n# heading\n\n- item\n\n    code\n\n> quote\n\n---\n",
    "x" * 4000 + "\n\n| a |\n| - |\n" + "y" * 4000,
    " " * 200 + "touch EVIL",
    "touch " + "EVIL " * 200,
]


class Page(HTMLParser):
    """What of HTML is text on the page, and which tags it has."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.text = ""
        self.code: list[str] = []
        self._within: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag != "br":
            self._within.append(tag)
        if tag == "pre":
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        self._within.remove(tag)

    def handle_comment(self, data: str) -> None:
        self.tags.add("comment")

    def handle_data(self, data: str) -> None:
        self.text += data
        if "pre" in self._within:
            self.code[-1] += data


def blocks(message: str) -> list[str]:
    """The blocks of code of a question, as it is written: rows with the margin."""
    rows = [part.rstrip("\n") for part in re.findall(r"(?:^ {4}.*\n?)+", message, re.MULTILINE)]
    return ["\n".join(line[4:] for line in part.split("\n")) for part in rows]


def assert_same_everywhere(messages: list[str]) -> None:
    if not (NODE_MODULES / "marked").is_dir():
        pytest.skip("./dev setup installs the Node packages")
    script = Path(__file__).parent / "drawn.cjs"
    done = subprocess.run(
        ["node", str(script), str(NODE_MODULES)], input=json.dumps(messages), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    for message, drawn in zip(messages, json.loads(done.stdout), strict=True):
        written = blocks(message)
        assert written, message
        for reader, html in drawn.items():
            page = Page(html)
            assert page.tags <= {"p", "pre", "code", "br"}, (reader, html)
            assert [part.rstrip("\n") for part in page.code] == written, (reader, html)
        as_html = Page(message)
        assert as_html.tags == set(), message
        assert as_html.text == message


def spelled(line: str) -> str:
    """Undoes the spelling of `$'…'` or `'…'`, as a shell does."""
    quoted = line.startswith("$")
    text = line[2:-1] if quoted else line[1:-1].replace("'\\''", "'")
    if not quoted:
        return text
    text = re.sub(r"\\x20\{(\d+)\}", lambda found: " " * int(found[1]), text)
    return re.sub(r"\\(n|x[0-9a-f]{2}|.)", lambda found: {"n": "\n"}.get(found[1]) or unescaped(found[1]), text)


def unescaped(word: str) -> str:
    return chr(int(word[1:], 16)) if len(word) == 3 else word


def test_every_character_of_a_command_is_on_the_page(connect: Clients) -> None:
    client = connect(capabilities=FORMS, on_question=lambda _: REJECT)
    for line in LINES:
        client.run(f"get_ipython().system({line!r})")
    messages = [question["message"] for question in client.questions]
    assert len(messages) == len(LINES)
    assert_same_everywhere(messages)
    for line, message in zip(LINES, messages, strict=True):
        shown = [part.replace("\n", "") for part in blocks(message)]
        if len(shown) == 1:
            word = shown[0].removeprefix("shell command /bin/sh -c ")
            assert word.endswith(")")
            assert spelled(word[: word.rindex(" (in ")]) == line
        else:
            assert "characters are left out" in message
            assert len(line) > 2000


@pytest.mark.parametrize("session", ["a_b_", "b__c__"])
def test_the_name_of_a_session_is_drawn_as_it_is(connect: Clients, session: str) -> None:
    client = connect("--sessions", capabilities=FORMS, on_question=lambda _: REJECT)
    client.run("!ls", session=session)
    (question,) = client.questions
    assert f"session `{session}`" in question["message"]


def test_tool_calls_are_the_same_everywhere(program: Program, connect: Clients) -> None:
    client = connect("--mcp-config", config(program, tools=TOOLS), capabilities=FORMS, on_question=lambda _: REJECT)
    for line in LINES[:6]:
        client.run(ECHO + f"echo({line!r})")
    messages = [question["message"] for question in client.questions]
    assert len(messages) == 6
    assert_same_everywhere(messages)


def registering(connect: Clients, params: Any, name: str = "fs") -> tuple[Any, list[str]]:
    client = connect(capabilities=FORMS, on_question=lambda _: REJECT)
    answer = client.call("register_mcp_server", server_name=name, server_params=params)
    return answer, [question["message"] for question in client.questions]


def test_a_server_is_shown_by_its_program_first(program: Program, connect: Clients) -> None:
    script = program.write("ws <b> ![](x).py", "")
    params = {
        "description": "npx -y @modelcontextprotocol/server-filesystem /home/me/docs " + "-" * 300,
        "type": "stdio",
        "env": {"A": "<img src=x>"},
        "cwd": str(program.directory),
        "args": [script, "| touch EVIL"],
        "command": PYTHON,
        "timeout": None,
    }
    _, messages = registering(connect, params)
    assert_same_everywhere(messages)
    shown = blocks(messages[0])[0].replace("\n", "")
    assert shown.startswith('server registration fs {"command":"' + PYTHON + '","args":["')
    assert re.findall(r'"(command|args|cwd|env|type|description|timeout)":', shown) == [
        "command",
        "args",
        "cwd",
        "env",
        "type",
        "description",
    ]


def test_a_member_that_no_format_has_is_refused_by_name(program: Program, connect: Clients) -> None:
    about = "npx -y @modelcontextprotocol/server-filesystem /home/me/docs"
    answer, messages = registering(connect, {"about": about, "command": "/usr/bin/touch", "args": ["/x"]})
    assert answer.failed
    assert 'no client\'s format has a member "about"' in answer.text
    assert messages == []
    # A file is a person's: members that are of no use are passed over.
    client = connect("--approve", "auto", "--mcp-config", config(program, tools={**TOOLS, "about": about}))
    assert client.run(ECHO + "print('got', echo('hello'))").text == "got hello"
