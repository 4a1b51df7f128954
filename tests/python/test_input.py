"""``input()`` and ``getpass()`` ask the host, or nobody."""

from __future__ import annotations

from harness import STDIN, Kernel, Message


def asked(kernel: Kernel) -> Message:
    while (message := kernel.receive()).type != "input_request":
        pass
    assert message.channel == STDIN
    return message


def test_input(any_kernel: Kernel) -> None:
    request = any_kernel.start("print('before', end=' '); x = input('name? '); print(x)", allow_stdin=True)
    question = asked(any_kernel)
    assert question.content == {"prompt": "name? ", "password": False} and question.parent["msg_id"] == request
    any_kernel.send("input_reply", {"value": "J\xf6rg"}, STDIN, parent=question.header)
    assert any_kernel.finish(request).text() == "J\xf6rg\n"


def test_getpass(any_kernel: Kernel) -> None:
    request = any_kernel.start("import getpass; print(len(getpass.getpass()))", allow_stdin=True)
    assert asked(any_kernel).content == {"prompt": "Password: ", "password": True}
    any_kernel.send("input_reply", {"value": "secret"}, STDIN)
    assert any_kernel.finish(request).text() == "6\n"


def test_refused_at_once(any_kernel: Kernel) -> None:
    for code in ("input()", "import getpass; getpass.getpass()"):
        assert any_kernel.run(code).error == "StdinNotImplementedError"


def test_end_of_input(any_kernel: Kernel) -> None:
    request = any_kernel.start("input()", allow_stdin=True)
    asked(any_kernel)
    any_kernel.send("input_reply", {"value": "\x04"}, STDIN)
    assert any_kernel.finish(request).error == "EOFError"


def test_stale_answers_and_early_requests(any_kernel: Kernel) -> None:
    any_kernel.send("input_reply", {"value": "stale"}, STDIN)
    request = any_kernel.start("input()", allow_stdin=True)
    asked(any_kernel)
    later = any_kernel.start("print('later')")
    any_kernel.send("input_reply", {"value": "fresh"}, STDIN)
    assert any_kernel.finish(request).value == "'fresh'"
    assert any_kernel.finish(later).text() == "later\n"


def test_in_an_await_cell(any_kernel: Kernel) -> None:
    request = any_kernel.start("import asyncio; await asyncio.sleep(0); x = input()\nx", allow_stdin=True)
    asked(any_kernel)
    any_kernel.send("input_reply", {"value": "1"}, STDIN)
    assert any_kernel.finish(request).value == "'1'"


def test_stdin_itself_is_empty(any_kernel: Kernel) -> None:
    assert any_kernel.run("import sys; sys.stdin.read()").value == "''"


def test_debugger(any_kernel: Kernel) -> None:
    request = any_kernel.start("def f():\n  x = 41\n  breakpoint()\n  print(x)\nf()", allow_stdin=True)
    for command in ("!x += 1", "c"):
        asked(any_kernel)
        any_kernel.send("input_reply", {"value": command}, STDIN)
    assert any_kernel.finish(request).text().endswith("42\n")


def test_end_of_file_while_it_waits(any_kernel: Kernel) -> None:
    any_kernel.start("input()", allow_stdin=True)
    asked(any_kernel)
    any_kernel.stream.close()
    assert any_kernel.host.event("exit", pid=any_kernel.pid)["code"] == 0
