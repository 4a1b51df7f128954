"""Decisions of another program: --approve stdin, one JSON object a line."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from program import PATIENCE, Program
from servers import ECHO, config

CATCH = "try:\n    print('got', echo('a'))\nexcept PermissionError as e:\n    print('rejected:', e)\n"


class Dialogue:
    """The program, and who reads its events and decides."""

    def __init__(self, program: Program, code: str, *options: str) -> None:
        arguments = ("--mcp-config", config(program), "--approve", "stdin", "--json", *options, "-c", ECHO + code)
        self.process = program.start(*arguments, stdin=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def next(self, event: str = "approval") -> dict[str, Any]:
        for line in self.stdout:
            found: dict[str, Any] = json.loads(line)
            if found["event"] == event:
                return found
        raise AssertionError(f"no {event} came")

    def write(self, line: str | dict[str, Any], end: str = "\n") -> None:
        self.stdin.write(((line if isinstance(line, str) else json.dumps(line)) + end).encode())
        self.stdin.flush()

    def finish(self) -> tuple[dict[str, Any], str]:
        """The last result, and what stood on standard error."""
        result = self.next("result")
        err = self.process.communicate(timeout=PATIENCE)[1].decode()
        return result, err


Dialogues = Callable[..., Dialogue]


@pytest.fixture
def dialogue(program: Program) -> Iterator[Dialogues]:
    opened: list[Dialogue] = []

    def start(code: str, *options: str) -> Dialogue:
        opened.append(Dialogue(program, code, *options))
        return opened[-1]

    yield start
    for each in opened:
        each.process.kill()
        each.process.wait()
        for pipe in (each.process.stdin, each.process.stdout, each.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def test_accept(any_sandbox: Program, dialogue: Dialogues) -> None:
    run = dialogue(CATCH)
    run.write({"id": run.next()["id"], "decision": "accept"})
    result, err = run.finish()
    assert (result["text"], err, run.process.returncode) == ("got a", "", 0)


def test_reject_with_a_reason(any_sandbox: Program, dialogue: Dialogues) -> None:
    run = dialogue(CATCH)
    run.write({"id": run.next()["id"], "decision": "reject", "reason": "größer: später"})
    assert run.finish()[0]["text"] == "rejected: größer: später"


def test_edited_arguments(program: Program, dialogue: Dialogues) -> None:
    run = dialogue(CATCH)
    run.write({"id": run.next()["id"], "decision": "accept", "arguments": {"text": "edited"}})
    assert run.finish()[0]["text"] == "got edited"


def test_edited_arguments_of_a_shell_command(program: Program, dialogue: Dialogues) -> None:
    run = dialogue("!echo hi", "--approve-shell-cmds")
    run.write({"id": run.next()["id"], "decision": "accept", "arguments": {"argv": ["true"]}})
    assert "a shell command has none" in run.finish()[0]["error"]["evalue"]


def test_grant(program: Program, dialogue: Dialogues) -> None:
    run = dialogue("print(echo('a'), echo('b'), echo('c'))\nprint(echo('d'))")
    event = run.next()
    run.write({"id": event["id"], "decision": "accept", "grant": {"tool": "tools.*", "uses": 3}})
    event = run.next()
    assert event["arguments"] == {"text": "d"}
    run.write({"id": event["id"], "decision": "accept"})
    assert run.finish()[0]["text"] == "a b c\nd"


@pytest.mark.parametrize(
    "line",
    [
        "yes",
        "true",
        "{",
        "[]",
        '{"id": ID}',
        '{"decision": "accept"}',
        '{"id": ID, "decision": true}',
        '{"id": ID, "decision": "yes"}',
        '{"id": "ID", "decision": "accept"}',
        '{"id": ID, "decision": "reject", "decision": "accept"}',
        '{"id": ID, "decision": "accept", "extra": 1}',
        '{"id": ID, "decision": "accept", "grant": {}}',
        '{"id": ID, "decision": "reject", "arguments": {}}',
        '{"id": ID, "decision": "accept"} {"id": ID, "decision": "accept"}',
        "\x00\xff",
    ],
)
def test_malformed_line_changes_nothing(program: Program, dialogue: Dialogues, line: str) -> None:
    run = dialogue(CATCH)
    identity = run.next()["id"]
    run.write(line.replace("ID", str(identity)))
    run.write({"id": identity, "decision": "reject", "reason": "after all"})
    result, err = run.finish()
    assert result["text"] == "rejected: after all"
    assert err.startswith("ipybox: not a decision: ")
    assert len(err.splitlines()) == 1


def test_unknown_and_answered_ids(program: Program, dialogue: Dialogues) -> None:
    run = dialogue("echo('a')\nprint(echo('b'))")
    first = run.next()["id"]
    run.write({"id": first + 1, "decision": "accept"})
    run.write({"id": first, "decision": "accept"})
    second = run.next()["id"]
    run.write({"id": first, "decision": "reject"})
    run.write({"id": second, "decision": "accept"})
    result, err = run.finish()
    assert result["text"] == "b"
    complaint = "ipybox: nothing waits for a decision about "
    assert err.splitlines() == [f"{complaint}{first + 1}", f"{complaint}{first}"]


def test_blank_lines_and_carriage_returns(program: Program, dialogue: Dialogues) -> None:
    run = dialogue(CATCH)
    run.write("\r\n  \n")
    run.write({"id": run.next()["id"], "decision": "accept"}, end="\r\n")
    result, err = run.finish()
    assert (result["text"], err) == ("got a", "")


def test_last_line_without_its_end(program: Program, dialogue: Dialogues) -> None:
    run = dialogue(CATCH)
    run.write({"id": run.next()["id"], "decision": "accept"}, end="")
    run.stdin.close()
    assert run.next("result")["text"] == "got a"


def test_end_of_file_rejects_what_waits_and_what_comes(any_sandbox: Program, dialogue: Dialogues) -> None:
    run = dialogue(CATCH + CATCH.replace("'a'", "'b'"))
    run.next()
    run.stdin.close()
    text = run.next("result")["text"]
    assert text.splitlines() == ["rejected: no decision can come: standard input has ended"] * 2


def test_no_standard_input_at_all(program: Program) -> None:
    ended = program.run("--mcp-config", config(program), "--approve", "stdin", "--json", "-c", ECHO + CATCH)
    assert ended.code == 0
    assert "standard input has ended" in ended.results[0]["text"]


def test_several_outstanding_answered_in_any_order(any_sandbox: Program, dialogue: Dialogues) -> None:
    code = (
        "from concurrent.futures import ThreadPoolExecutor as P\n"
        "def ask(text):\n"
        "    try:\n        return echo(text)\n"
        "    except PermissionError as e:\n        return str(e)\n"
        "print(list(P(6).map(ask, 'abcdef')))"
    )
    run = dialogue(code)
    asked = {event["arguments"]["text"]: event["id"] for event in (run.next() for _ in range(6))}
    for text in "fbdace":
        if text in "ace":
            run.write({"id": asked[text], "decision": "accept", "arguments": {"text": text.upper()}})
        else:
            run.write({"id": asked[text], "decision": "reject", "reason": f"not {text}"})
    assert run.finish()[0]["text"] == str(["A", "not b", "C", "not d", "E", "not f"])


def test_answers_may_come_at_once(program: Program, dialogue: Dialogues) -> None:
    run = dialogue("for i in range(200): echo(str(i))\nprint('done')")
    for _ in range(200):
        run.write({"id": run.next()["id"], "decision": "accept"})
    result, err = run.finish()
    assert (result["text"], err) == ("done", "")


def test_large_edited_arguments(program: Program, dialogue: Dialogues) -> None:
    run = dialogue("print(len(echo('a')))")
    run.write({"id": run.next()["id"], "decision": "accept", "arguments": {"text": "x" * 500_000}})
    assert run.finish()[0]["text"] == "500000"


def test_input_is_not_read_from_the_decisions(program: Program, dialogue: Dialogues) -> None:
    run = dialogue("try:\n    input('? ')\nexcept Exception as e:\n    print(type(e).__name__)\n" + CATCH)
    run.write({"id": run.next()["id"], "decision": "accept"})
    assert run.finish()[0]["text"].splitlines() == ["StdinNotImplementedError", "got a"]


def test_interrupted_while_it_waits(any_sandbox: Program, dialogue: Dialogues) -> None:
    run = dialogue(CATCH)
    identity = run.next()["id"]
    run.process.terminate()
    result = run.next("result")
    assert result["status"] == "cancelled"
    assert run.process.wait(PATIENCE) == 143
    assert identity > 0
