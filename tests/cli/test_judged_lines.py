"""Lines that rules allow: what runs is what the rules looked at, and it does what the line says."""

from __future__ import annotations

import json

import pytest
from program import Program

NAMES = ("echo", "ls", "cat", "printf", "true", "cd", "pwd", "false", "wc", "sort", ":", "type", "head")
RULES = json.dumps({"allow": [{"argv": [name, "**"], "env": ["A"]} for name in NAMES]})

TRAPS = """
import os, sys
for n in range(3, 30):
    os.makedirs(str(n), exist_ok=True)
    with open(f"{n}/ls", "w") as file:
        file.write("#!/bin/sh\\necho EVIL RAN as $0\\n")
    os.chmod(f"{n}/ls", 0o755)
run = get_ipython().system.__self__.programs.run
def attempt(argv, text=b""):
    try:
        run(argv, "shell", sys.stdout.write, sys.stderr.write, text)
    except Exception as error:
        print(type(error).__name__)
"""

#: bash puts the number of a descriptor into PATH.
INTO_PATH = (
    *(f"{first} {{PATH}}>/dev/null; ls" for first in ("true", ":", "pwd", "cd /", "printf x", "type ls", "false")),
    *(f"echo {{PATH}}{operator}; ls" for operator in ("<>/dev/null", ">>/dev/null", "<&0", ">&1", "</dev/null")),
    "(echo {PATH}>&1; ls)",
    "echo $(echo {PATH}>/dev/null; ls)",
    "echo {PATH[0]}>/dev/null\nls",
)

LINES = (
    'echo a \'b  c\' "d" e\\ f $A "$HOME" ~ *.txt {1..3} > /dev/null; echo behind',
    "echo *.txt \"$A\" '$A' a=b --x=y # no word",
    "cat a.txt && echo yes || echo no",
    "false && echo yes || echo no; false",
    "cat a.txt | sort | wc -l",
    "cd .. && pwd && cat nothing 2>&1; true",
    "(cd /; pwd); pwd",
    "echo $(cat a.txt) `cat b.txt` \"$(echo 'x  y' | cat)\"",
    "A=1 printf '%s\\n' 'it'\"'\"'s' $? \"$@\"",
    "sh -c 'echo \"in a line\"; false' || echo ended with $?",
    "echo out; ls nothing >&2; echo 'two\nlines'",
    "echo größe [a]* ?.txt [!a].txt",
)


@pytest.fixture
def judged(any_sandbox: Program) -> Program:
    any_sandbox.write("a.txt", "2\n1\n")
    any_sandbox.write("b.txt", "3\n")
    return any_sandbox


def lines_of(program: Program, shell: str, *options: str) -> list[str]:
    code = [TRAPS, *(f"attempt([{shell!r}, '-c', {line!r}]); print()" for line in LINES)]
    code += [f"attempt([{shell!r}], {line!r}.encode() + b'\\n'); print()" for line in LINES]
    file = program.write("lines.py", "\n".join(code))
    ended = program.run("--approve-shell-cmds", *options, file)
    assert ended.code == 0, ended.err
    assert "ApprovalRejectedError" not in ended.out
    return [*ended.out.splitlines(), *ended.err.splitlines()]


@pytest.mark.parametrize("shell", ["/bin/sh", "bash"])
def test_what_rules_allow_does_what_the_line_says(judged: Program, shell: str) -> None:
    rules = judged.write("rules.json", RULES)
    assert lines_of(judged, shell, "--approve", rules) == lines_of(judged, shell, "--yes")


def test_a_program_that_no_rule_allows_does_not_run(judged: Program) -> None:
    rules = judged.write("rules.json", RULES)
    code = [TRAPS]
    for line in INTO_PATH:
        code += [f"attempt(['bash', '-c', {line!r}])", f"attempt(['bash'], {line!r}.encode() + b'\\n')"]
    # A command finds nothing of the script on its standard input, and cannot add to it.
    code += [r"attempt(['bash'], b'head -c 6\necho \'a\nls\n\'\n')", r"attempt(['bash'], b'echo ls -d 10 >&0\n')"]
    ended = judged.run("--approve-shell-cmds", "--approve", rules, judged.write("traps.py", "\n".join(code)))
    assert ended.code == 0, ended.err
    assert "EVIL" not in ended.out + ended.err
    assert ended.out.count("ApprovalRejectedError") == 2 * len(INTO_PATH)
