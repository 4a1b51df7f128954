"""Calls of tools: `ToolRunner`, its results and its errors, from threads, loops and forks."""

from __future__ import annotations

import json
import select
import socket
import struct
import time

import pytest

from harness import PACKAGE, Action, Host, Kernel, Refusal, wait_until

SETUP = "from ipybox_kernel.tools import *\nrunner = ToolRunner(server_name='srv')\n"


@pytest.fixture
def acting(acting: Kernel) -> Kernel:
    """A kernel with a runner, and a few tools behind it."""
    acting.actions.tools.update(
        echo=lambda action: json.loads(action.body),
        length=lambda action: str(len(action.body)),
        hang=lambda action: action.cancelled.wait(20) and refuse("cancelled", ""),
        fail=lambda action: refuse("tool", "it went wrong"),
    )
    assert acting.run(SETUP).reply["status"] == "ok"
    return acting


def refuse(kind: str, text: str) -> None:
    raise Refusal(kind, text)


class TestCall:
    def test_request(self, acting: Kernel) -> None:
        request = acting.start("runner.run_sync('echo', {'text': 'ü', 'n': 1})")
        assert acting.finish(request).value == "{'text': 'ü', 'n': 1}"
        (action,) = acting.actions.seen
        what = {"id": action["id"], "cell": request, "after": action["after"], "server": "srv", "tool": "echo"}
        assert action.head == {"op": "call", **what}
        assert action.body == '{"text":"ü","n":1}'.encode()

    def test_what_was_printed_is_there_before_the_question(self, acting: Kernel) -> None:
        seen: list[bytes] = []

        def look(action: Action) -> str:
            there, _, _ = select.select([acting.stream], [], [], 0)
            seen.append(acting.stream.recv(1 << 16, socket.MSG_PEEK) if there else b"")
            return ""

        acting.actions.tools["look"] = look
        request = acting.start("import sys\nprint('one'); print('two', file=sys.stderr); runner.run_sync('look', {})")
        wait_until(lambda: seen)
        assert b"one" in seen[0]
        assert b"two" in seen[0]
        acting.finish(request)

    @pytest.mark.parametrize("value", ["", "text", "ü\n", {}, {"a": [1, None, 2.5]}, [], ["a"], None, 1])
    def test_results(self, acting: Kernel, value: object) -> None:
        acting.actions.tools["value"] = lambda action: value
        assert acting.run("runner.run_sync('value', {}) == " + repr(value)).value == "True"

    @pytest.mark.parametrize("size", [0, 1, 65_000, 65_536, 70_000, 1_000_000, 64_000_000])
    def test_sizes(self, acting: Kernel, size: int) -> None:
        acting.actions.tools["text"] = lambda action: "x" * size
        assert acting.run(f"len(runner.run_sync('text', {{}})) == {size}").value == "True"
        assert int(acting.run(f"int(runner.run_sync('length', {{'x': 'y' * {size}}}))").value or 0) == size + 8

    def test_answers_come_while_requests_go(self, acting: Kernel) -> None:
        """A host that writes before it reads on must not wait for a kernel that writes before it reads."""
        actions, large = acting.actions, "x" * 1_000_000
        actions.tools["large"] = lambda action: large
        actions.in_turn = True
        code = """
            import asyncio
            calls = [runner.run('large', {'text': 'y' * 1_000_000}) for _ in range(40)]
            {len(text) for text in await asyncio.gather(*calls)}
        """
        assert acting.run(code).value == "{1000000}"

    def test_arguments_that_are_no_json(self, acting: Kernel) -> None:
        code = """
            import datetime, pathlib, uuid, enum
            from pydantic import BaseModel
            class Model(BaseModel):
                x: int = 1
            class Color(enum.Enum):
                RED = 'red'
            runner.run_sync('echo', {'m': Model(), 'p': pathlib.Path('/a'), 'd': datetime.date(2020, 1, 2), 'c': Color.RED, 's': {1}})
        """
        pytest.importorskip("pydantic")
        assert acting.run(code).value == "{'m': {'x': 1}, 'p': '/a', 'd': '2020-01-02', 'c': 'red', 's': [1]}"

    @pytest.mark.parametrize(
        ("args", "name", "text"),
        [
            ("{'x': float('nan')}", "ValueError", "Out of range float values"),
            (
                "{'x': 'a\\ud800'}",
                "ToolRunnerError",
                "the arguments of srv.echo hold '\\ud800', half of a surrogate pair",
            ),
            ("{'\\udfff': 1}", "ToolRunnerError", "hold '\\udfff', half of a surrogate pair"),
            ("deep", "ToolRunnerError", "the arguments of srv.echo are nested too deeply"),
            ("{'x': object()}", "PydanticSerializationError", "object"),
        ],
    )
    def test_arguments_that_cannot_be_sent(self, acting: Kernel, args: str, name: str, text: str) -> None:
        pytest.importorskip("pydantic")
        acting.run("deep = {}\nfor _ in range(100_000): deep = {'x': deep}")
        reply = acting.run(f"runner.run_sync('echo', {args})").reply
        assert (reply["status"], reply["ename"]) == ("error", name)
        assert text in reply["evalue"]
        assert not acting.actions.seen and acting.run("runner.run_sync('echo', {})").value == "{}"

    def test_parameters_of_the_original_are_taken(self, acting: Kernel) -> None:
        code = "ToolRunner(server_name='srv', server_params={'command': 'evil'}, host='localhost', port=8900).run_sync('echo', {})"
        assert acting.run(code).value == "{}" and "evil" not in str(acting.actions.seen[0])


class TestErrors:
    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            ("rejected", "ApprovalRejectedError"),
            ("approval_timeout", "ApprovalTimeoutError"),
            ("tool", "ToolRunnerError"),
            ("server", "ToolRunnerError"),
            ("cancelled", "ToolRunnerError"),
            ("unavailable", "ToolRunnerError"),
        ],
    )
    def test_kinds(self, acting: Kernel, kind: str, name: str) -> None:
        acting.actions.tools["fail"] = lambda action: refuse(kind, "the reason")
        for call in ("runner.run_sync('fail', {})", "await runner.run('fail', {})"):
            result = acting.run(call)
            assert (result.error, result.reply["evalue"]) == (name, "the reason")
            assert "ipybox_kernel" not in result.traceback

    def test_hierarchy(self, acting: Kernel) -> None:
        code = "ApprovalRejectedError.__bases__ == (ToolRunnerError, PermissionError), ApprovalTimeoutError.__bases__ == (ToolRunnerError,)"
        assert acting.run(code).value == "(True, True)"

    def test_names_of_the_original(self, acting: Kernel) -> None:
        code = """
            from mcpygen import ToolRunner as A
            from mcpygen.tool_exec.client import ToolRunner as B, ToolRunnerError, ApprovalTimeoutError
            from mcpygen.tool_exec.approval.client import ApprovalRejectedError as C
            import mcpygen.tool_exec.client
            (A is ToolRunner, B is ToolRunner, C is ApprovalRejectedError, mcpygen.tool_exec.client.ToolRunner is A)
        """
        assert acting.run(code).value == "(True, True, True, True)"
        assert acting.run("import mcpygen.nothing").error == "ModuleNotFoundError"

    def test_calls_go_through_the_host_where_the_original_is_installed(self, acting: Kernel, tmp_path) -> None:
        package = tmp_path / "mcpygen" / "tool_exec" / "approval"
        package.mkdir(parents=True)
        for folder in (package, package.parent, package.parent.parent):
            for module in ("__init__", "client"):
                (folder / f"{module}.py").write_text("raise RuntimeError('the original')")
            (folder / "other.py").write_text("original = True")
        acting.run(f"import sys; sys.path.insert(0, '{tmp_path}')")
        others = (
            "import mcpygen.other, mcpygen.tool_exec.other; mcpygen.other.original, mcpygen.tool_exec.other.original"
        )
        assert acting.run(others).value == "(True, True)"
        code = "from mcpygen.tool_exec.client import ToolRunner\nToolRunner.__module__"
        assert acting.run(code).value == "'ipybox_kernel.tools'"
        assert acting.run("from mcpygen.tool_exec.approval.client import ApprovalRejectedError").error == ""

    def test_what_the_original_has_besides_is_explained(self, acting: Kernel) -> None:
        result = acting.run("from mcpygen.tool_exec.approval.client import ApprovalRequestor")
        assert result.error == "ImportError" and "asks by itself" in result.reply["evalue"]

    def test_without_a_channel(self, kernel: Kernel) -> None:
        result = kernel.run(SETUP + "runner.run_sync('echo', {})")
        assert result.error == "ToolRunnerError" and "No actions are possible here" in result.reply["evalue"]

    def test_end_of_the_channel(self, acting: Kernel) -> None:
        acting.actions.close()
        for call in ("runner.run_sync('echo', {})", "await runner.run('echo', {})", "!true"):
            result = acting.run(call)
            assert result.error == "ToolRunnerError" and "host has closed" in result.reply["evalue"]

    def test_end_of_the_channel_for_those_who_wait(self, acting: Kernel) -> None:
        code = """
            import asyncio, threading
            outcomes = []
            def work():
                try: runner.run_sync('hang', {})
                except ToolRunnerError as error: outcomes.append(str(error))
            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads: thread.start()
            outcomes += [str(r) for r in await asyncio.gather(*(runner.run('hang', {}) for _ in range(3)), return_exceptions=True)]
            for thread in threads: thread.join()
            len(outcomes), set(outcomes)
        """
        request = acting.start(code)
        wait_until(lambda: len(acting.actions.seen) == 6)
        acting.actions.close()
        value = acting.finish(request).value
        assert value and value.startswith("(6, {'No actions are possible any more")

    @pytest.mark.parametrize(
        "frame", [b"\1\0\0\0\0\0\0\0", b"\xff" * 8, struct.pack("<II", 6, 2) + b"[]", b"\x04\0\0\0\0\0\0\0"]
    )
    def test_a_host_that_sends_nonsense(self, acting: Kernel, frame: bytes) -> None:
        acting.actions.tools["nonsense"] = lambda action: acting.actions.stream.sendall(frame) or time.sleep(0.1) or ""
        result = acting.run("runner.run_sync('nonsense', {})")
        assert result.error == "ToolRunnerError" and "No actions are possible any more" in result.reply["evalue"]
        assert acting.run("1 + 1").value == "2"


class TestContent:
    PNG = b"\x89PNG" + bytes(range(256)) * 40
    #: What the modules of a generated package do with an answer.
    SUPPORT = f"""
        import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})
        from typing import Any, Literal, Union
        from mcp_support._mcp import Model, to_result, to_text
        class Result(Model):
            a: int
    """

    @pytest.fixture
    def acting(self, acting: Kernel) -> Kernel:
        image, sound, file, text, broken, link = (
            ({"type": "image", "mime": "image/png"}, self.PNG),
            ({"type": "audio", "mime": "audio/wav"}, b"RIFF"),
            ({"type": "blob", "mime": "application/zip", "uri": "file:///z"}, b"PK"),
            ({"type": "document", "mime": "text/plain", "uri": "file:///t"}, "tü".encode()),
            ({"type": "unreadable", "mime": "image/png"}, b"no base64!"),
            ({"type": "link", "uri": "file:///l", "name": "n", "description": "d", "mime": "text/x"}, b""),
        )

        def answer(text: bool, value: bytes, *parts: tuple[dict[str, str], bytes]) -> object:
            described = [{**head, "size": len(data)} for head, data in parts]
            body = value + b"".join(data for _, data in parts)
            return lambda action: ({"op": "result", "text": text, "parts": [dict(part) for part in described]}, body)

        acting.actions.tools.update(
            image=answer(True, b"", image),
            all=answer(True, b"caption", image, sound, file, text, broken, link),
            json=lambda action: answer(False, json.dumps(json.loads(action.body)["is"]).encode(), image, link)(action),
        )
        return acting

    def test_image_alone(self, acting: Kernel) -> None:
        result = acting.run("r = runner.run_sync('image', {})\nr")
        (display,) = result.of("display_data")
        assert display.content["data"]["image/png"] and not result.of("execute_result")
        value = acting.run("r == '', type(r.parts[0]).__name__, r.parts[0].mime, r.parts[0]").value
        assert value == f"(True, 'Image', 'image/png', <Image image/png, {len(self.PNG)} bytes>)"
        assert acting.run("len(r.parts[0].data)").value == str(len(self.PNG))

    def test_it_displays_itself(self, acting: Kernel) -> None:
        from base64 import b64decode

        (shown,) = acting.run("runner.run_sync('image', {}).parts[0]").of("execute_result")
        assert b64decode(shown.content["data"]["image/png"]) == self.PNG
        assert shown.content["data"]["text/plain"] == f"<Image image/png, {len(self.PNG)} bytes>"

    @pytest.mark.parametrize(
        ("mime", "key"),
        [
            ("IMAGE/PNG; charset=binary", "image/png"),
            ("audio/wav", "audio/wav"),
            ("image/svg+xml", "image/svg+xml"),
            ("text/html", None),
            ("text/plain", None),
            ("application/javascript", None),
            ("image/png\x1b[2J", None),
        ],
    )
    def test_a_server_does_not_choose_how_else_it_is_shown(self, acting: Kernel, mime: str, key: str | None) -> None:
        from base64 import b64decode

        head = {"type": "image", "mime": mime, "size": 6}
        acting.actions.tools["look"] = lambda action: ({"op": "result", "text": True, "parts": [dict(head)]}, b"<svg/>")
        (shown,) = acting.run("runner.run_sync('look', {}).parts[0]").of("execute_result")
        data = shown.content["data"]
        assert data.pop("text/plain") == f"<Image {mime}, 6 bytes>".replace("\x1b", r"\x1b")
        assert list(data) == ([key] if key else [])
        if key:
            assert data[key] == "<svg/>" if key == "image/svg+xml" else b64decode(data[key]) == b"<svg/>"

    def test_text_and_more(self, acting: Kernel) -> None:
        result = acting.run("r = runner.run_sync('all', {})\nr")
        texts = [message.content["data"]["text/plain"] for message in result.of("display_data")]
        assert texts == [
            "'caption'",
            f"<Image image/png, {len(self.PNG)} bytes>",
            "<Audio audio/wav, 4 bytes>",
            "<Blob file:///z, application/zip, 2 bytes>",
            "<Document file:///t, text/plain, 3 bytes>",
            "<Unreadable image/png, 10 bytes>",
            "<Link file:///l, n, d, text/x>",
        ]
        assert acting.run("r + '!', isinstance(r, str), r.parts[1].data").value == "('caption!', True, b'RIFF')"
        assert acting.run("r.parts[3].text, r.parts[4].data").value == "('tü', b'no base64!')"
        link = acting.run("link = r.parts[5]; link.uri, link.name, link.title, link.description, link.mime").value
        assert link == "('file:///l', 'n', None, 'd', 'text/x')"

    @pytest.mark.parametrize("value", [{}, {"a": 1}, [], ["a"], "", "text", 0, 5, 0.5])
    def test_structured_and_more(self, acting: Kernel, value: object) -> None:
        result = acting.run(f"r = runner.run_sync('json', {{'is': {value!r}}})\nr")
        displayed = [message.content["data"] for message in result.of("display_data")]
        assert [repr(value)] * (value != "") == [data["text/plain"] for data in displayed[:-2]]
        assert displayed[-2]["image/png"] and displayed[-1]["text/plain"] == "<Link file:///l, n, d, text/x>"
        asked = f"r == {value!r}, isinstance(r, {type(value).__name__}), len(r.parts)"
        assert acting.run(asked).value == "(True, True, 2)"

    @pytest.mark.parametrize("value", [True, False, None])
    def test_what_cannot_have_parts_is_displayed_with_them_at_once(self, acting: Kernel, value: object) -> None:
        result = acting.run(f"r = runner.run_sync('json', {{'is': {value!r}}})\nr is {value!r}")
        assert result.value == "True" and result.of("display_data")[0].content["data"]["image/png"]

    @pytest.mark.parametrize(
        ("result", "value"),
        [
            ("Result", {"a": 1}),
            ("Result", {"a": 1, "parts": "mine"}),
            ("Result", {"a": "not as promised"}),
            ("Union[Result, str]", {"a": 1}),
            ("list[Result]", [{"a": 1}]),
            ("dict[str, Any]", {"b": 2}),
            ("Literal[5]", 5),
            ("float", 0.5),
            ("str", "text"),
        ],
    )
    def test_a_typed_result_and_more(self, acting: Kernel, result: str, value: object) -> None:
        pytest.importorskip("pydantic")
        assert not acting.run(self.SUPPORT).error
        assert not acting.run("import warnings; warnings.simplefilter('ignore', UserWarning)").error
        shown = acting.run(f"r = to_result({result}, runner.run_sync('json', {{'is': {value!r}}}))\nr")
        plain = acting.run(f"plain = to_result({result}, runner.run_sync('echo', {{'is': {value!r}}})['is'])\nplain")
        displayed = [message.content["data"] for message in shown.of("display_data")]
        assert len(displayed) == 3 and displayed[1]["image/png"] and not shown.of("execute_result")
        assert displayed[0]["text/plain"].split() == (plain.value or "").split()
        kind = "type(plain)" if result in ("Result", "Union[Result, str]") else type(value).__name__
        assert acting.run(f"r == plain, isinstance(r, {kind}), hasattr(plain, 'parts')").value == (
            f"(True, True, {'parts' in str(value)})"
        )
        if "parts" in str(value):
            assert acting.run("r.parts, r.to_arguments(), r.model_dump()").value == repr(("mine", value, value))
        else:
            assert acting.run("[type(part).__name__ for part in r.parts]").value == "['Image', 'Link']"

    def test_what_more_there_is_is_no_part_of_the_object(self, acting: Kernel) -> None:
        pytest.importorskip("pydantic")
        assert not acting.run(self.SUPPORT).error
        acting.run("r = to_result(Result, runner.run_sync('json', {'is': {'a': 1, 'b': 2}}))")
        assert acting.run("r.to_arguments() == r.model_dump() == dict(r) == {'a': 1, 'b': 2}").value == "True"
        assert acting.run("repr(r), r.model_copy() == r").value == "('Result(a=1, b=2)', True)"
        assert acting.run("import copy, pickle; copy.deepcopy(r) == r").value == "True"

    def test_text_of_a_structured_result_and_more(self, acting: Kernel) -> None:
        pytest.importorskip("pydantic")
        assert not acting.run(self.SUPPORT).error
        code = "r = to_text(runner.run_sync('json', {'is': {'a': 1}}))\nr == '{\"a\": 1}', len(r.parts)"
        assert acting.run(code).value == "(True, 2)"


class TestManyAtOnce:
    def test_threads(self, acting: Kernel) -> None:
        code = """
            import threading
            def work(n):
                for i in range(100):
                    if runner.run_sync('echo', {'n': n, 'i': i, 'x': 'x' * (i * n * 10)})['n'] != n: wrong.append(n)
            wrong = []
            threads = [threading.Thread(target=work, args=(n,)) for n in range(20)]
            for t in threads: t.start()
            work(20)
            for t in threads: t.join()
            wrong
        """
        assert acting.run(code).value == "[]" and len(acting.actions.seen) == 2100

    def test_tasks(self, acting: Kernel) -> None:
        code = """
            import asyncio
            async def work(n):
                return [(await runner.run('echo', {'n': n, 'i': i}))['n'] == n for i in range(20)]
            all(map(all, await asyncio.gather(*map(work, range(50)))))
        """
        assert acting.run(code).value == "True"

    def test_slow_ones_do_not_hold_fast_ones(self, acting: Kernel) -> None:
        code = """
            import asyncio
            slow = asyncio.ensure_future(runner.run('hang', {}))
            fast = [await runner.run('echo', {'i': i}) for i in range(5)]
            sync = [runner.run_sync('echo', {'i': i}) for i in range(5)]
            slow.cancel()
            fast == sync
        """
        assert acting.run(code).value == "True"
        (slow,) = (action for action in acting.actions.seen if action["tool"] == "hang")
        wait_until(slow.cancelled.is_set)

    def test_all_kinds_together(self, acting: Kernel) -> None:
        code = """
            import asyncio, threading
            done = []
            def sync():
                for _ in range(50): done.append(runner.run_sync('echo', {}))
            async def work():
                for _ in range(50): done.append(await runner.run('echo', {}))
            def loop():
                asyncio.run(gather())
            async def gather(): await asyncio.gather(*(work() for _ in range(3)))
            threads = [threading.Thread(target=t) for t in (sync, loop, sync, loop)]
            for t in threads: t.start()
            sync()
            for i in range(10):
                !echo {i}
            await gather()
            for t in threads: t.join()
            len(done)
        """
        result = acting.run(code)
        assert result.value == str(50 * (3 + 9)) and result.text() == "".join(f"{i}\n" for i in range(10))

    def test_a_thread_leads_while_the_main_one_sleeps(self, acting: Kernel) -> None:
        code = """
            import threading, time
            slow = threading.Thread(target=lambda: runner.run_sync('hang', {}))
            fast = threading.Thread(target=lambda: [runner.run_sync('echo', {}) for _ in range(100)])
            slow.daemon = True
            slow.start(); time.sleep(0.05); fast.start(); fast.join(10); fast.is_alive()
        """
        assert acting.run(code).value == "False"

    def test_from_a_task_between_cells(self, acting: Kernel) -> None:
        acting.run("import asyncio\ntask = asyncio.ensure_future(runner.run('echo', {'x': 1}))")
        wait_until(lambda: acting.actions.seen)
        assert acting.run("await task").value == "{'x': 1}"
        assert acting.actions.seen[0]["cell"] == ""


class TestInterrupt:
    @pytest.mark.parametrize("call", ["runner.run_sync('hang', {})", "await runner.run('hang', {})"])
    def test_it_takes_the_call_back(self, acting: Kernel, call: str) -> None:
        for _ in range(5):
            result = acting.interrupt_when_started(f"print('started', flush=True)\n{call}")
            assert result.error == "KeyboardInterrupt" and "ipybox_kernel" not in result.traceback
            wait_until(lambda: all(action.cancelled.is_set() for action in acting.actions.seen))
            assert acting.run("runner.run_sync('echo', {'x': 1})").value == "{'x': 1}"
            acting.actions.seen.clear()

    def test_at_any_moment_nothing_is_torn(self, acting: Kernel) -> None:
        code = "print('started', flush=True)\nn = 0\nwhile True:\n  n += 1\n  assert runner.run_sync('echo', {'n': n, 'x': 'x' * 3000})['n'] == n"
        for pause in range(40):
            request = acting.start(code)
            acting.until("started\n")
            time.sleep(pause / 10_000)
            acting.interrupt()
            assert acting.finish(request).error == "KeyboardInterrupt"
        assert acting.run("runner.run_sync('echo', {'x': 1})").value == "{'x': 1}"

    def test_large_transfers_are_not_torn(self, acting: Kernel) -> None:
        acting.actions.tools["text"] = lambda action: "x" * 30_000_000
        for code in ("runner.run_sync('text', {})", "runner.run_sync('length', {'x': 'x' * 30_000_000})"):
            for pause in (0, 0.005, 0.02, 0.04):
                request = acting.start(f"print('started', flush=True)\nwhile True: {code}")
                acting.until("started\n")
                time.sleep(pause)
                acting.interrupt()
                assert acting.finish(request).error == "KeyboardInterrupt"
        assert acting.run("runner.run_sync('echo', {'x': 1})").value == "{'x': 1}"

    def test_other_threads_go_on(self, acting: Kernel) -> None:
        code = """
            import threading
            got = []
            def work():
                while len(got) < 1000: got.append(runner.run_sync('echo', {}))
            t = threading.Thread(target=work); t.start()
            print('started', flush=True)  # not before: an interrupt within start() can break Python's own locks
            runner.run_sync('hang', {})
        """
        assert acting.interrupt_when_started(code).error == "KeyboardInterrupt"
        assert acting.run("t.join(10); len(got)").value == "1000"

    def test_a_task_that_is_cancelled(self, acting: Kernel) -> None:
        code = """
            import asyncio
            try: await asyncio.wait_for(runner.run('hang', {}), 0.05)
            except asyncio.TimeoutError: print('late')
        """
        assert acting.run(code).text() == "late\n"
        wait_until(lambda: acting.actions.seen[0].cancelled.is_set())


class TestForks:
    def test_a_child_is_told(self, acting: Kernel) -> None:
        code = """
            import multiprocessing, os
            def work(_):
                try: return runner.run_sync('echo', {})
                except ToolRunnerError as error: return str(error)
            with multiprocessing.get_context('fork').Pool(2) as pool: print(set(pool.map(work, range(4))))
            runner.run_sync('echo', {'x': 1})
        """
        result = acting.run(code)
        assert "not in a process that it has forked" in result.text() and result.value == "{'x': 1}"
        assert len(acting.actions.seen) == 1

    def test_forks_while_others_wait(self, acting: Kernel) -> None:
        code = """
            import multiprocessing, threading
            got = []
            t = threading.Thread(target=lambda: [got.append(runner.run_sync('echo', {})) for _ in range(300)]); t.start()
            fork = multiprocessing.get_context('fork')
            for _ in range(20):
                p = fork.Process(target=int); p.start(); p.join()
            t.join(20); len(got)
        """
        assert acting.run(code).value == "300"


def test_no_descriptor_is_left_open(acting: Kernel) -> None:
    count = "import os; len(os.listdir('/proc/self/fd'))"
    acting.run("import threading, asyncio")
    before = acting.run(count).value
    acting.run(
        "ts = [threading.Thread(target=runner.run_sync, args=('echo', {})) for _ in range(20)]\nfor t in ts: t.start()\nfor t in ts: t.join()\ndel ts, t"
    )
    acting.run("await asyncio.gather(*(runner.run('echo', {}) for _ in range(20)))")
    acting.interrupt_when_started("print('started', flush=True)\nrunner.run_sync('hang', {})")
    assert acting.run("import gc; gc.collect()\n" + count).value == before


def test_start_of_a_kernel_with_actions(host: Host) -> None:
    kernel = host.fork(actions=True)
    names = kernel.run("[n for n in dir() if not n.startswith('_')]").value
    plain = host.fork()
    assert names == plain.run("[n for n in dir() if not n.startswith('_')]").value, "nothing is put into the namespace"
    kernel.close()
    plain.close()


def test_cell_of_an_action(acting: Kernel) -> None:
    seen: list[Action] = acting.actions.seen
    first = acting.start("runner.run_sync('echo', {})")
    acting.finish(first)
    second = acting.start("await runner.run('echo', {})")
    acting.finish(second)
    assert [action["cell"] for action in seen] == [first, second]


def test_an_action_names_the_last_message_before_it(acting: Kernel) -> None:
    """Messages are numbered from the sign of life on, which is 0."""
    seen: list[Action] = acting.actions.seen
    asked = "runner.run_sync('echo', {})\n"
    acting.run(asked + "print('why')\n" + asked + asked + "print('why', end='')\n" + asked)
    before = [action["after"] for action in seen]
    first, printed = before[0], len(acting.sizes) - 1
    assert before == [first, first + 1, first + 1, first + 2]
    assert first + 2 < printed, "the reply comes behind them"
    acting.run(asked)
    assert seen[-1]["after"] in range(printed, len(acting.sizes) - 1)
