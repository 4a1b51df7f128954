"""What a person sees: the program on a terminal that is emulated, with code that wants another question to be seen."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from program import Program, Terminal, Terminals
from servers import ECHO, config

pyte = pytest.importorskip("pyte")

QUESTION = r"\[y\]es, \[n\]o, \[a\]lways exactly this in this session, or why not: "
ROWS, COLUMNS = SIZE = (24, 80)


def screen(terminal: Terminal) -> list[str]:
    """The rows as they are shown now."""
    emulated = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(emulated)
    stream.feed(terminal.received)
    # Not `display`, which fails on the second half of a wide letter whose first half was overwritten.
    return ["".join(emulated.buffer[y][x].data for x in range(COLUMNS)).rstrip() for y in range(ROWS)]


def question(terminal: Terminal) -> tuple[list[str], list[str]]:
    """The rows above, and those of the last question, which ends the screen."""
    rows = screen(terminal)
    while rows and not rows[-1]:
        rows.pop()
    begins = [number for number, row in enumerate(rows) if row.startswith("| shell command ")]
    assert begins, rows
    return rows[: begins[-1]], rows[begins[-1] :]


def text_of(rows: list[str]) -> str:
    """The action's text in the rows of a question. Blanks at the end of a row cannot be seen."""
    return "".join(
        row[2:].ljust(COLUMNS - 3) if len(row) < COLUMNS - 1 else row[2:] for row in rows if row.startswith("| ")
    )


def asked(on_terminal: Terminals, code: str, *arguments: str) -> Terminal:
    terminal = on_terminal("--approve-shell-cmds", *arguments, "-c", code, size=SIZE)
    terminal.expect(r"or why not: ")
    return terminal


#: What is written before the question, so that something else is seen in its place.
STATES = {
    "no wrapping": "\x1b[?7l",
    "a region at the bottom": "\x1b[24;24r\x1b[24;1H",
    "a painted question above a region": "\x1b[2J\x1b[19;1H| shell command /bin/sh -c 'ls -l'\x1b[20;23r\x1b[20;1H",
    "origin in a region": "\x1b[5;6r\x1b[?6h",
    "open OSC": "\x1b]0;",
    "open DCS": "\x1bPq",
    "open APC": "\x1b_",
    "open PM": "\x1b^",
    "open SOS": "\x1bX",
    "open CSI": "\x1b[",
    "open escape": "\x1b",
    "drawing letters in G1": "\x1b)0\x0e",
    "drawing letters in G0": "\x1b(0",
    "invisible": "\x1b[8m",
    "inserting": "\x1b[4h",
    "the right edge": "\x1b[1;79H",
    "the alternate screen": "\x1b[?1049h",
    "margins": "\x1b[?69h\x1b[10;20s",
    "new line mode": "\x1b[20h",
    "eight-bit CSI": "\u009b5;6r\u009b?6h",
}


@pytest.mark.parametrize("output", [[], ["--raw-output"]], ids=["colours", "raw"])
@pytest.mark.parametrize("state", STATES)
def test_a_question_is_read_whatever_the_code_has_written(
    program: Program, on_terminal: Terminals, state: str, output: list[str]
) -> None:
    command = "echo harmless; rm -rf important-directory-with-a-long-name-so-that-it-wraps; echo done now"
    code = f"import sys\nsys.stdout.write({STATES[state]!r}); sys.stdout.flush()\nget_ipython().system({command!r})"
    terminal = asked(on_terminal, code, *output)
    _, rows = question(terminal)
    assert text_of(rows).startswith(f"shell command /bin/sh -c '{command}' (in ")
    assert re.search(QUESTION.strip() + "$", rows[-1])
    assert re.fullmatch(r"shell command /bin/sh, \d+ characters", rows[-2])
    terminal.type("n\n")


def test_a_question_has_the_colours_that_the_person_has_chosen(program: Program, on_terminal: Terminals) -> None:
    painted = "\x1b]4;1;#000000\x1b\\\x1b]10;#000000\x1b\\\x1b]11;#000000\x1b\\"
    code = f"import sys\nsys.stdout.write({painted!r}); sys.stdout.flush()\nget_ipython().system('ls')"
    terminal = asked(on_terminal, code, "--raw-output")
    _, _, after = terminal.received.partition(painted.encode())
    before_the_question, asked_for, _ = after.partition(b"| shell command ")
    assert asked_for
    for number in (104, 110, 111):  # of the palette, of text, of the background: back to what they were
        assert f"\x1b]{number}\x1b\\".encode() in before_the_question
    terminal.type("n\n")


@pytest.mark.parametrize(
    ("code", "before", "own"),
    [
        ("print('abc', end='')", "abc", "[1] "),
        ("?len", "Type:      builtin_function_or_method", "[1] "),
        ("import os, sys\nsys.stdout.write('abc')\nsys.stdout.flush()\nos.abort()", "abc", "ipybox: cell 1: "),
        ("import sys\nsys.stdout.write('abc')\nsys.stdout.flush()\n1 / 0", "abc", "-----"),
    ],
    ids=["times", "pager", "death", "error"],
)
def test_lines_of_the_program_are_lines_of_their_own(
    program: Program, on_terminal: Terminals, code: str, before: str, own: str
) -> None:
    terminal = on_terminal("--times", "-c", code, size=SIZE)
    terminal.wait()
    rows = screen(terminal)
    assert any(row == before and after.startswith(own) for row, after in itertools.pairwise(rows)), rows


def test_no_row_is_pushed_away_by_blanks(program: Program, on_terminal: Terminals) -> None:
    fake = "shell command /bin/sh -c ls (in /work)"
    terminal = asked(on_terminal, f"get_ipython().system('echo evil; # ' + ' ' * 1900 + {fake!r} + ' ' * 120)")
    _, rows = question(terminal)
    assert text_of(rows).startswith(r"shell command /bin/sh -c $'echo evil; #\x20{1901}" + fake + r"\x20{120}' (in ")
    terminal.type("n\n")


def test_of_a_long_command_head_tail_and_length_are_seen_and_v_shows_all(
    program: Program, on_terminal: Terminals
) -> None:
    terminal = asked(on_terminal, "get_ipython().system('echo HEAD' + 'x' * 20_000 + '; echo TAIL')")
    _, rows = question(terminal)
    assert rows[0].startswith("| shell command /bin/sh -c 'echo HEADxxx")
    assert "; echo TAIL' (in " in text_of(rows)
    left_out, length = re.fullmatch(r"\.\.\. ([\d,]+) of ([\d,]+) characters are left out \.\.\.", rows[12]).groups()  # type: ignore[union-attr]
    assert 18_000 < int(left_out.replace(",", "")) < int(length.replace(",", "")) < 20_300
    assert rows[-2].endswith(", not all of which are shown")
    assert rows[-1] == "[v]iew all, [y]es, [n]o, [a]lways exactly this in this session, or why not:"
    terminal.type("v\n")
    terminal.expect(r"\| shell command(?s:.*)shell command /bin/sh, \d+ characters\r\n" + QUESTION)
    assert terminal.received.count(b"x") > 20_000
    terminal.type("n\n")


def test_letters_that_hide_or_reorder_are_spelled(program: Program, on_terminal: Terminals) -> None:
    letters = "\u00a0\u3000\u2800\u3164\u115f\u034f\u202f\u2003\u05d0\u0627\ufe0fa\u0336\ue000\U000f0000\ufff9\u17b4"
    terminal = asked(on_terminal, f"get_ipython().system({'ls ' + letters!r})")
    _, rows = question(terminal)
    code_points = "".join(
        c if c == "a" else f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}" for c in letters
    )
    assert f"-c$'ls{code_points}'" in without_blanks("".join(row[2:] for row in rows))
    terminal.type("n\n")


def test_only_text_and_colours_of_the_code_reach_a_terminal(program: Program, on_terminal: Terminals) -> None:
    written = "\x1b]0;title\x07\x1b[31mred\x1b[0m \x1b[2J\x1b[5;5Hhere\x1b[?7l 50%\r\x1b[K100%\n"
    code = f"import sys\nsys.stdout.write({written!r})\nsys.stderr.write({written!r})\nprint('end')"
    terminal = on_terminal("-c", code, size=SIZE)
    terminal.expect("end")
    assert terminal.wait() == 0
    assert terminal.received.decode().count("\x1b[31mred\x1b[0m here 50%\r\x1b[K100%\r\n") == 2
    assert terminal.received.count(b"\x1b") == 6
    terminal = on_terminal("--raw-output", "-c", code, size=SIZE)
    terminal.expect("end")
    assert terminal.wait() == 0
    assert terminal.received.decode().count(written.replace("\n", "\r\n")) == 2


def test_a_prompt_of_the_code_cannot_move_the_cursor(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("-c", "input('\\x1b[2J\\x1b[1;1Hname? ')", size=SIZE)
    terminal.expect(r"name\? ")
    assert b"\x1b" not in terminal.received
    terminal.type("x\n")
    assert terminal.wait() == 0


SWAP = """
import os, time
REST = {"kind": "shell", "env": {}, "merge": False}
channel = __import__('ipybox_kernel.actions', fromlist=['channel']).channel()
def ask(command):
    return channel.ask("run", {"argv": ["/bin/sh", "-c", command], "cwd": os.getcwd(), **REST})
first, second = ask("ls -l"), ask("echo EVIL > evil")
time.sleep(1)
channel.cancel(first)
try:
    channel.wait(second)
    second.take()
    print("accepted")
except PermissionError as error:
    print("rejected:", error)
"""


def test_an_answer_to_a_question_that_was_exchanged_does_not_count(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("--approve-shell-cmds", "-c", SWAP, size=SIZE)
    terminal.expect("ls -l(?s:.*)" + QUESTION)
    terminal.expect("The question was taken back.\r\n(?s:.*)echo EVIL(?s:.*)" + QUESTION)
    terminal.type("y\n")  # the finger was on its way
    terminal.expect("please read this one:\r\n(?s:.*)echo EVIL(?s:.*)" + QUESTION)
    terminal.type("n\n")
    terminal.expect("rejected")
    assert terminal.wait() == 0
    assert not (program.directory / "evil").exists()


def test_a_key_that_was_meant_for_the_next_input_does_not_count(program: Program, on_terminal: Terminals) -> None:
    code = "for item in range(3): input(f'item {item}? ')\nget_ipython().system('echo EVIL > evil')"
    terminal = on_terminal("--approve-shell-cmds", "-c", code, size=SIZE)
    for item in range(3):
        terminal.expect(rf"item {item}\? ")
        terminal.type("y\n")
    terminal.expect("echo EVIL(?s:.*)" + QUESTION)
    terminal.type("y\n")
    terminal.expect("please read this one:\r\n(?s:.*)echo EVIL(?s:.*)" + QUESTION)
    terminal.type("n\n")
    terminal.expect("rejected")
    assert not (program.directory / "evil").exists()


def test_an_exchanged_question_can_be_answered_once_it_was_read(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("--approve-shell-cmds", "-c", SWAP, size=SIZE)
    terminal.expect("taken back(?s:.*)" + QUESTION)
    terminal.answer_behind_another("y\n")
    terminal.expect("accepted")
    assert terminal.wait() == 0


FRAGMENTS = [
    *STATES.values(),
    "\n",
    "\r",
    "\b",
    "\t",
    "\x1b[2J",
    "\x1b[1;1H",
    "\x1b[5A",
    "\x1b[3L",
    "\x1b[3M",
    "\x1b7",
    "\x1b8",
    "\x1bM",
    "\x1bD",
    "\x1bc",
    "\x1b#8",
    "\x1b[31m",
    "\x1b[7m",
    "\x1b[?25l",
    "\x1b[?5h",
    "\x1b[3g",
    "\x1b[1P",
    "\x1b[s",
    "\x1b[u",
    "\x1b\\",
    "\x07",
    "\x18",
    "\u202e",
    "\u0301",
    "\u65e5",
    "\x00",
    "| shell command /bin/sh -c ls (in /work)\n",
    "[y]es, [n]o, [a]lways exactly this in this session, or why not: ",
    "text ",
    "\x1b[38;5;1",
    "\udcff",
]
PIECES = [
    "echo ",
    "rm -rf x",
    "; ",
    "# ",
    " " * 30,
    " " * 700,
    "x" * 60,
    "\n",
    "\\n",
    "'",
    '"',
    "\x1b[2A",
    "\u202e",
    "\u00a0",
    "\u65e5\u672c",
    "| ls",
    "\t",
    "\\",
]


@pytest.mark.parametrize("output", [[], ["--raw-output"]], ids=["colours", "raw"])
def test_random_output_and_commands_never_change_a_question(
    program: Program, on_terminal: Terminals, output: list[str], fresh_seed: int
) -> None:
    chance = random.Random(fresh_seed)
    rounds = [
        (
            "".join(chance.choices(FRAGMENTS, k=chance.randrange(12))),
            f": round {number}; " + "".join(chance.choices(PIECES, k=chance.randrange(1, 9))),
        )
        for number in range(25)
    ]
    code = (
        f"import os, time\nfor written, command in {rounds!r}:\n"
        "    os.write(1, written.encode('utf-8', 'surrogateescape'))\n"
        "    time.sleep(0.05)\n"
        "    try:\n        get_ipython().system.__self__.show(command, 'shell')\n"
        "    except PermissionError:\n        pass\n"
    )
    terminal = on_terminal("--approve-shell-cmds", *output, "-c", code, size=SIZE)
    for number, (written, command) in enumerate(rounds):
        terminal.expect(rf": round {number};(?s:.*)or why not: ")
        _, rows = question(terminal)
        expected = f"shell command /bin/sh -c {spelled(command)} (in "
        shown = "".join(row[2:] for row in rows if row.startswith("| "))
        assert without_blanks(shown).startswith(without_blanks(expected)), (written, command)
        ends = next(number for number, row in enumerate(rows) if not row.startswith("| "))
        assert re.fullmatch(r"shell command /bin/sh, \d+ characters", rows[ends]), (written, command)
        assert rows[ends + 1 :] == ["[y]es, [n]o, [a]lways exactly this in this session, or why not:"], (
            written,
            command,
        )
        terminal.type("n\n")
    assert terminal.wait() == 0


def without_blanks(text: str) -> str:
    """Blanks at the end of a row are not seen on a screen; those that matter are counted in the text."""
    return re.sub(r"\s", "", text)


def spelled(command: str) -> str:
    """What the library's `safe_text::word` says, written a second time."""
    plain = all(" " <= c <= "~" or c in "\u65e5\u672c" for c in command) and " " * 9 not in command
    if plain:
        simple = re.fullmatch(r"[\w@%+=:,./-]+", command, re.A)
        return command if simple else "'" + command.replace("'", "'\\''") + "'"
    text = re.sub(r"[\\']", r"\\\g<0>", command)
    text = re.sub(r" {9,}", lambda run: f"\\x20{{{len(run[0])}}}", text)
    names = {"\n": "\\n", "\t": "\\x09", "\x1b": "\\x1b", "\u202e": "\\u202e", "\u00a0": "\\u00a0"}
    return "$'" + "".join(names.get(c, c) for c in text) + "'"


def test_a_question_does_not_overtake_what_was_printed_before(program: Program, on_terminal: Terminals) -> None:
    code = ECHO + "for i in range(12):\n    print('x' * 3000)\n    print(f'why {i}?')\n    echo(str(i))\n"
    terminal = on_terminal("--mcp-config", config(program), "-c", code)
    for i in range(12):
        terminal.expect(rf"why {i}\?")  # and then the question, or it would have been read over
        terminal.expect(rf'tool call tools\.echo \{{"text":"{i}"\}}\r\n' + QUESTION)
        terminal.type("y\n")
    assert terminal.wait() == 0
