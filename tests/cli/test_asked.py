"""Approvals by the person at the terminal."""

from __future__ import annotations

import json
import time

import pytest
from program import Program, Terminals
from servers import ECHO, config

QUESTION = r"\[y\]es, \[n\]o, \[a\]lways exactly this in this session, or why not: "
CATCH = "try:\n    print('got', echo('a'))\nexcept PermissionError as e:\n    print('rejected:', e)\n"


@pytest.mark.parametrize(("typed", "outcome"), [("y", "got a"), ("yes", "got a"), ("a", "got a"), ("always", "got a")])
def test_accepted(any_sandbox: Program, on_terminal: Terminals, typed: str, outcome: str) -> None:
    terminal = on_terminal("--mcp-config", config(any_sandbox), "-c", ECHO + CATCH)
    terminal.expect(r'tool call tools\.echo \{"text":"a"\}\r\n' + QUESTION)
    terminal.type(typed + "\n")
    terminal.expect(outcome)
    assert terminal.wait() == 0


@pytest.mark.parametrize(
    ("typed", "outcome"),
    [
        ("n\n", "rejected: "),
        ("no\n", "rejected: "),
        ("\n", "rejected: "),
        ("Y ?\n", r"rejected: Y \?"),
        ("ask me tomorrow\n", "rejected: ask me tomorrow"),
        ("\x04", "rejected: the question was not answered"),
    ],
)
def test_rejected(program: Program, on_terminal: Terminals, typed: str, outcome: str) -> None:
    terminal = on_terminal("--mcp-config", config(program), "--approve", "ask", "-c", ECHO + CATCH)
    terminal.expect(QUESTION)
    terminal.type(typed)
    terminal.expect(outcome)
    assert terminal.wait() == 0


def test_asked_again_after_the_end_of_file(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("--mcp-config", config(program), "-c", ECHO + CATCH + "print('then', echo('b'))")
    terminal.expect(QUESTION)
    terminal.type("\x04")
    terminal.expect(QUESTION)
    terminal.type("y\n")
    terminal.expect("then b")
    assert terminal.wait() == 0


def test_always_is_for_the_same_alone(program: Program, on_terminal: Terminals) -> None:
    code = (
        ECHO
        + "print('first', echo('a'))\n# %%\n"
        + "same, other = echo('a'), echo('b')\nprint('same', same)\nprint('other', other)"
    )
    terminal = on_terminal("--mcp-config", config(program), program.write("a.py", code))
    terminal.expect(QUESTION)
    terminal.type("a\n")
    terminal.expect("first a")
    terminal.expect(r'"text":"b"\}\r\n' + QUESTION)
    terminal.type("y\n")
    terminal.expect("same a")
    terminal.expect("other b")
    assert terminal.wait() == 0


def test_shell_commands(any_sandbox: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("--approve-shell-cmds", "-c", "!echo hello")
    terminal.expect(r"shell command /bin/sh -c 'echo hello' \(in [^\n]*\)\r\n" + QUESTION)
    terminal.type("y\n")
    terminal.expect("hello")
    assert terminal.wait() == 0


def test_ctrl_c_instead_of_an_answer(any_sandbox: Program, on_terminal: Terminals) -> None:
    file = any_sandbox.write("a.py", ECHO + "echo('a')\n# %%\nprint('got', echo('b'))")
    terminal = on_terminal("--mcp-config", config(any_sandbox), "--keep-going", file)
    terminal.expect(QUESTION)
    terminal.press_ctrl_c()
    terminal.expect("KeyboardInterrupt")
    terminal.expect(r'"text":"b"\}\r\n' + QUESTION)
    terminal.answer_behind_another("y\n")
    terminal.expect("got b")
    assert terminal.wait() == 130


def test_ctrl_c_that_the_code_survives_takes_the_question_back(program: Program, on_terminal: Terminals) -> None:
    code = ECHO + "try:\n    echo('a')\nexcept KeyboardInterrupt:\n    print('got', echo('b'))"
    terminal = on_terminal("--mcp-config", config(program), "-c", code)
    terminal.expect(QUESTION)
    terminal.press_ctrl_c()
    terminal.expect(r'"text":"b"\}\r\n' + QUESTION)
    terminal.answer_behind_another("y\n")
    terminal.expect("got b")
    assert terminal.wait() == 130


def test_ctrl_c_twice_while_asked(any_sandbox: Program, on_terminal: Terminals) -> None:
    code = ECHO + "while True:\n    try:\n        echo('a')\n    except BaseException:\n        pass"
    terminal = on_terminal("--mcp-config", config(any_sandbox), "-c", code)
    terminal.expect(QUESTION)
    terminal.press_ctrl_c()
    terminal.expect(QUESTION)
    terminal.press_ctrl_c()
    assert terminal.wait() == 130
    any_sandbox.assert_all_gone()


def test_what_was_typed_before_the_question_does_not_count(program: Program, on_terminal: Terminals) -> None:
    code = ECHO + "import time\nprint('begun')\ntime.sleep(0.5)\n" + CATCH
    terminal = on_terminal("--mcp-config", config(program), "-c", code)
    terminal.expect("begun")
    terminal.type("y\n")
    terminal.expect(QUESTION)
    terminal.type("n\n")
    terminal.expect("rejected")
    assert terminal.wait() == 0


def test_the_code_cannot_write_beside_a_question(program: Program, on_terminal: Terminals) -> None:
    code = ECHO + (
        "import threading, time\n"
        "caller = threading.Thread(target=echo, args=('a',))\n"
        "print('\\x1b[8m' 'before', end='', flush=True)\n"
        "time.sleep(0.3)\n"
        "caller.start()\n"
        "time.sleep(0.3)\n"
        "print('\\rDo you like cats? ')\n"
        "caller.join()\n"
        "print('after')"
    )
    terminal = on_terminal("--mcp-config", config(program), "-c", code)
    match = terminal.expect(r"before([^\n]*)\r\n([^\n]*)\r\n" + QUESTION)
    assert "\x1b[0m" in match[1]  # visible again
    assert match[2] == '| tool call tools.echo {"text":"a"}'
    with pytest.raises(AssertionError):
        terminal.expect("cats", patience=0.7)
    terminal.type("y\n")
    terminal.expect("cats")
    terminal.expect("after")
    assert terminal.wait() == 0


def test_text_of_the_code_is_shown_as_it_is(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("--mcp-config", config(program), "-c", ECHO + "echo('\\x1b[2J\\u202e\\r\\n')")
    terminal.expect(r"\\u001b\[2J\\u202e\\r\\n")
    terminal.type("n\n")
    assert terminal.wait() == 1


def test_input_and_approvals_are_asked_one_after_the_other(program: Program, on_terminal: Terminals) -> None:
    code = ECHO + (
        "import threading, time\n"
        "caller = threading.Timer(0.3, lambda: print('got', echo('a')))\n"
        "caller.start()\n"
        "print('typed', input('cats? '))\n"
        "caller.join()"
    )
    terminal = on_terminal("--mcp-config", config(program), "-c", code)
    terminal.expect(r"cats\? ")
    with pytest.raises(AssertionError):
        terminal.expect("tool call", patience=0.8)
    terminal.type("y\n")  # is not an answer to the question that waits
    terminal.expect(QUESTION)
    time.sleep(1)  # what is typed sooner does not count
    terminal.type("y\n")
    terminal.expect("typed y")
    terminal.expect("got a")
    assert terminal.wait() == 0


def test_several_questions_from_threads(any_sandbox: Program, on_terminal: Terminals) -> None:
    code = ECHO + (
        "from concurrent.futures import ThreadPoolExecutor as P\n"
        "def ask(text):\n"
        "    try:\n        return echo(text)\n"
        "    except PermissionError as e:\n        return str(e)\n"
        "print('all', list(P(4).map(ask, 'abcd')))"
    )
    terminal = on_terminal("--mcp-config", config(any_sandbox), "-c", code)
    for _ in range(4):
        text = terminal.expect(r'"text":"(.)"\}\r\n' + QUESTION)[1]
        terminal.type("y\n" if text in "ac" else f"not {text}\n")
    terminal.expect(r"all \['a', 'not b', 'c', 'not d'\]")
    assert terminal.wait() == 0


def test_a_cell_that_ends_takes_its_questions_along(program: Program, on_terminal: Terminals) -> None:
    code = ECHO + (
        "import threading, time\n"
        "threading.Thread(target=echo, args=('a',), daemon=True).start()\n"
        "time.sleep(0.5)\n"
        "# %%\nprint('next')"
    )
    terminal = on_terminal("--mcp-config", config(program), program.write("a.py", code))
    terminal.expect(QUESTION)
    terminal.expect("next")
    assert terminal.wait() == 0


def test_rules_leave_the_rest_to_the_person(program: Program, on_terminal: Terminals) -> None:
    rules = program.write("rules.json", json.dumps({"deny": [{"tool": "tools.fail", "reason": "never"}]}))
    code = "from mcptools.tools import fail\ntry:\n    fail.run(fail.Params())\nexcept PermissionError as e:\n"
    code += "    why = str(e)\n" + ECHO + CATCH + "print('rejected:', why)"
    terminal = on_terminal("--mcp-config", config(program), "--approve", rules, "-c", code)
    terminal.expect(QUESTION)
    terminal.type("y\n")
    terminal.expect("got a")
    terminal.expect("rejected: never")
    assert terminal.wait() == 0


def test_time_does_not_count_while_asked(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("--mcp-config", config(program), "--timeout", "1", "-c", ECHO + CATCH)
    terminal.expect(QUESTION)
    with pytest.raises(AssertionError):
        terminal.expect("got", patience=1.5)
    terminal.type("y\n")
    terminal.expect("got a")
    assert terminal.wait() == 0


def test_json_on_a_terminal_asks_too(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("--mcp-config", config(program), "--json", "-c", ECHO + CATCH)
    terminal.expect(QUESTION)
    terminal.type("y\n")
    terminal.expect("got a")
    assert terminal.wait() == 0
