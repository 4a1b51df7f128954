"""Resources and prompts of servers, as code reads them: requests, what becomes of answers, and their oddities."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness import Kernel

SETUP = "from ipybox_kernel import resources\nfrom ipybox_kernel.tools import *\n"


@pytest.fixture
def asking(acting: Kernel) -> Kernel:
    """A kernel that has the functions, and a server behind it that has two resources."""
    contents = {
        "doc://a": [{"uri": "doc://a", "mimeType": "text/markdown", "text": "größe"}],
        "doc://b": [{"uri": "doc://b", "blob": "AAEC"}],
        "doc://both": [{"uri": "doc://1", "text": "one"}, {"uri": "doc://2", "text": "two"}],
        "doc://odd": [{"uri": 7, "blob": "not base64!"}, "no object", {"uri": "doc://none"}],
    }
    acting.actions.tools["resources/read"] = lambda action: {"contents": contents[action["name"]], "_meta": None}
    assert acting.run(SETUP).reply["status"] == "ok"
    return acting


def listed(kernel: Kernel, method: str, *items: Any, remark: str = "") -> None:
    kernel.actions.tools[method] = lambda action: {"items": list(items), "remark": remark}


def shown(kernel: Kernel, expression: str) -> str:
    """What an expression is, on one line."""
    return kernel.run(f"print({expression})").text().rstrip("\n")


class TestRead:
    def test_request(self, asking: Kernel) -> None:
        request = asking.start("resources.read('doc://a', 'srv').text")
        assert asking.finish(request).value == "'größe'"
        (action,) = asking.actions.seen
        what = {"id": action["id"], "cell": request, "after": action["after"], "server": "srv"}
        assert action.head == {"op": "ask", **what, "method": "resources/read", "name": "doc://a"}
        assert action.body == b""

    def test_contents_are_what_they_are(self, asking: Kernel) -> None:
        assert asking.run("resources.read('doc://a', 'srv')").value == "[<Document doc://a, text/markdown, 7 bytes>]"
        assert asking.run("resources.read('doc://b', 'srv')").value == (
            "[<Blob doc://b, application/octet-stream, 3 bytes>]"
        )
        assert asking.run("resources.read('doc://b', 'srv').data").value == repr(bytes([0, 1, 2]))
        assert asking.run("resources.read('doc://both', 'srv').text").value == repr("one\ntwo")
        assert "is not text" in asking.run("resources.read('doc://b', 'srv').text").reply["evalue"]
        assert "there are 2 contents" in asking.run("resources.read('doc://both', 'srv').data").reply["evalue"]

    def test_odd_contents(self, asking: Kernel) -> None:
        assert shown(asking, "resources.read('doc://odd', 'srv')") == (
            "[<Unreadable application/octet-stream, 11 bytes>, <Document doc://none, text/plain, 0 bytes>]"
        )

    def test_a_link_knows_its_server(self, asking: Kernel) -> None:
        link = {"type": "link", "uri": "doc://a", "name": "a", "size": 0}
        asking.actions.tools["find"] = lambda action: (
            {"op": "result", "text": True, "parts": [dict(link)]},
            b"doc://a",
        )
        code = "found = ToolRunner(server_name='other').run_sync('find', {})\nresources.read(found.parts[0]).text"
        assert asking.run(code).value == "'größe'"
        assert asking.actions.seen[-1]["server"] == "other"
        assert asking.run("resources.read(found.parts[0], 'srv')").reply["status"] == "ok"
        assert asking.actions.seen[-1]["server"] == "srv"

    def test_a_uri_alone(self, asking: Kernel) -> None:
        result = asking.run("resources.read('doc://a')")
        assert result.error == "TypeError"
        assert result.reply["evalue"] == "which server has doc://a? write read(uri, server=...)"

    def test_beside_each_other(self, asking: Kernel) -> None:
        code = "import asyncio\n[c.text for c in await asyncio.gather(*(resources.aread('doc://a', 'srv') for _ in range(3)))]"
        assert asking.run(code).value == "['größe', 'größe', 'größe']"

    def test_is_awaited_as_well(self, asking: Kernel) -> None:
        assert asking.run("(await resources.read('doc://a', 'srv')).text").value == "'größe'"
        code = "import asyncio\nlen(await asyncio.gather(resources.read('doc://a', 'srv'), resources.read('doc://b', 'srv')))"
        assert asking.run(code).value == "2"

    def test_refused(self, asking: Kernel) -> None:
        result = asking.run("resources.prompts('srv')")
        assert result.error == "ToolRunnerError"
        assert "no tool prompts/list" in result.reply["evalue"]


class TestLists:
    def test_resources(self, asking: Kernel) -> None:
        listed(
            asking,
            "resources/list",
            {"uri": "doc://a", "name": "a", "title": None, "mimeType": "text/plain", "size": 3},
            {"uri": "doc://b", "name": "b", "description": "B", "icons": []},
        )
        code = "listed = resources.resources('srv')\n[(r.uri, r.name, r.title, r.description, r.mime) for r in listed]"
        assert asking.run(code).value == (
            "[('doc://a', 'a', None, None, 'text/plain'), ('doc://b', 'b', None, 'B', None)]"
        )
        assert asking.run("resources.read(listed[0]).text").value == "'größe'"

    def test_templates(self, asking: Kernel) -> None:
        listed(asking, "resources/templates/list", {"uriTemplate": "doc://{x}", "name": "t", "mimeType": "text/plain"})
        assert asking.run("resources.resource_templates('srv')").value == (
            "[ResourceTemplate(uri_template='doc://{x}', name='t', title=None, description=None, mime='text/plain')]"
        )

    def test_prompts(self, asking: Kernel) -> None:
        arguments = [{"name": "city", "description": "Where", "required": True}, {"name": "state"}]
        listed(asking, "prompts/list", {"name": "p", "description": "P", "arguments": arguments}, {"name": "bare"})
        assert shown(asking, "resources.prompts('srv')[0].arguments") == (
            "(PromptArgument(name='city', description='Where', required=True), "
            "PromptArgument(name='state', description=None, required=False))"
        )
        assert asking.run("resources.prompts('srv')[1].arguments").value == "()"

    def test_a_remark_is_a_warning(self, asking: Kernel) -> None:
        listed(asking, "resources/list", {"uri": "doc://a", "name": "a"}, remark="the list has no end")
        result = asking.run("len(resources.resources('srv'))")
        assert result.value == "1"
        assert "srv: the list has no end" in result.text("stderr")


class TestPrompt:
    def test_request_and_messages(self, asking: Kernel) -> None:
        blocks: list[Any] = [
            {"type": "text", "text": "weather?"},
            {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "doc://a", "text": "inside"}},
            {"type": "resource_link", "uri": "doc://b", "name": "b"},
            {"type": "hologram"},
        ]
        messages = [{"role": "assistant" if i else "user", "content": block} for i, block in enumerate(blocks)]
        asking.actions.tools["prompts/get"] = lambda action: {"description": "D", "messages": messages}
        asking.run("said = resources.prompt('srv', 'p', city='Köln', name=True, server=2)")
        assert shown(asking, "[(m.role, m.content) for m in said]") == (
            "[('user', 'weather?'), ('assistant', <Image image/png, 4 bytes>), "
            "('assistant', <Document doc://a, text/plain, 6 bytes>), ('assistant', <Link doc://b, b>), "
            "('assistant', '{\"type\": \"hologram\"}')]"
        )
        assert json.loads(asking.actions.seen[-1].body) == {"city": "Köln", "name": "true", "server": "2"}
        assert asking.run("said.text, said.description").value == r"""('weather?\n{"type": "hologram"}', 'D')"""
        assert asking.run("resources.read(said[3].content).data").value == repr(bytes([0, 1, 2]))

    def test_arguments_are_texts(self, asking: Kernel) -> None:
        result = asking.run("resources.prompt('srv', 'p', city=['a'])")
        assert result.error == "TypeError"
        assert result.reply["evalue"] == "arguments of a prompt are texts, and city is of type list"
        assert asking.actions.seen == []
