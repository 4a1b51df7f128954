"""`--limit`: what the code may take of the machine."""

from __future__ import annotations

import os

import pytest
from open_interpreter import ORDINARY_USER, open_directory, open_interpreter
from program import PYTHON, Program


def test_memory(any_sandbox: Program) -> None:
    ended = any_sandbox.run("--limit", "memory=500M", "-c", "bytearray(1 << 30)")
    assert ended.code == 1
    assert "MemoryError" in ended.err + ended.out


def test_several(program: Program) -> None:
    code = "from resource import *\nprint(getrlimit(RLIMIT_NOFILE)[0], getrlimit(RLIMIT_DATA)[0])"
    ended = program.run("--limit", "open-files=99", "--limit", "memory=none", "-c", code)
    assert ended.out == "99 -1\n"


def test_processor_time(any_sandbox: Program) -> None:
    ended = any_sandbox.run("--limit", "cpu-time=1", "-c", "while True: pass")
    assert ended.code == 1
    assert "it has used the processor time" in ended.err


def test_processor_time_of_a_command(any_sandbox: Program) -> None:
    ended = any_sandbox.run("--limit", "cpu-time=1", "-c", "!while :; do :; done\n!ulimit -t\nprint('on')")
    assert ended.out.endswith("1\non\n")


@pytest.mark.parametrize(
    ("limit", "advice"),
    [
        ("memory=4GB", "a number of bytes, as in memory=4G"),
        ("cpu-time=soon", "whole seconds, as in cpu-time=60"),
        ("disk=1G", "there are memory, processes, cpu-time, file-size and open-files"),
    ],
)
def test_what_is_no_limit(program: Program, limit: str, advice: str) -> None:
    ended = program.run("--limit", limit, "-c", "1")
    assert ended.code == 2
    assert advice in ended.err


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("memory=1K", "a kernel needs more memory than its limit, 1024 bytes; raise the limit to 256 MiB or more"),
        ("open-files=1", "a kernel needs more open files than its limit, 1; raise the limit to 64 or more"),
    ],
)
def test_a_limit_that_leaves_no_room_for_a_kernel(any_sandbox: Program, limit: str, words: str) -> None:
    ended = any_sandbox.run("--limit", limit, "-c", "1")
    assert ended.code == 3
    assert ended.err == f"ipybox: {words}\n"


@pytest.mark.parametrize("limit", ["file-size=1", "processes=1", "cpu-time=1"])
def test_the_lowest_limits_that_leave_room(program: Program, limit: str) -> None:
    assert program.run("--limit", limit, "-c", "print(6 * 7)").out == "42\n"


BOMB = """
import os, time
count = 0
try:
    while count < 1000:
        if not os.fork():
            time.sleep(1000)
        count += 1
except BlockingIOError:
    print(count)
# %%
print(6 * 7)
"""


def test_a_fork_bomb_of_an_ordinary_user(program: Program) -> None:
    with open_directory() as directory, open_interpreter(PYTHON) as python:
        program.directory, program.sandbox = directory, "bubblewrap"
        if os.getuid() == 0:
            os.chown(directory, ORDINARY_USER, ORDINARY_USER)
            program.user, program.env = ORDINARY_USER, {"HOME": str(directory)}
        ended = program.run("--python", python, "--limit", "processes=100", program.write("bomb.py", BOMB))
    assert ended.code == 0, ended.err
    count, answer = ended.out.split()
    assert 10 < int(count) < 100
    assert answer == "42"


NO_EFFECT = "ipybox: --limit processes=100 has no effect "


@pytest.mark.skipif(os.getuid() != 0, reason="elsewhere: this user is not root")
def test_a_limit_of_processes_has_no_effect_for_root(any_sandbox: Program) -> None:
    ended = any_sandbox.run("--limit", "processes=100", "-c", "print(1)")
    assert (ended.code, ended.out) == (0, "1\n")
    assert ended.err == NO_EFFECT + "for root, whose processes the system does not limit; run ipybox as another user\n"


@pytest.mark.parametrize("limits", [[], ["--limit", "processes=none"], ["--limit", "open-files=1000"]])
def test_limits_that_are_not_asked_for_are_not_noticed(program: Program, limits: list[str]) -> None:
    ended = program.run(*limits, "-c", "print(1)")
    assert (ended.code, ended.out, ended.err) == (0, "1\n", "")


@pytest.mark.parametrize("sandbox", ["none", "bubblewrap"])
def test_processes_of_an_ordinary_user_are_counted_in_bubblewrap_alone(program: Program, sandbox: str) -> None:
    with open_directory() as directory, open_interpreter(PYTHON) as python:
        program.directory, program.sandbox = directory, sandbox
        if os.getuid() == 0:
            os.chown(directory, ORDINARY_USER, ORDINARY_USER)
            program.user, program.env = ORDINARY_USER, {"HOME": str(directory)}
        ended = program.run("--python", python, "--limit", "processes=100", "-c", "print(1)")
    assert (ended.code, ended.out) == (0, "1\n"), ended.err
    notice = NO_EFFECT + "with --sandbox none: processes are counted in bubblewrap alone\n"
    assert ended.err == (notice if sandbox == "none" else "")
