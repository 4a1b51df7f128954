"""`--limit`: what the code may take of the machine."""

from __future__ import annotations

import os

import pytest
from fork_bomb import fork_bomb
from open_interpreter import ORDINARY_USER, open_directory, open_interpreter
from program import PYTHON, Program


def test_memory(any_sandbox: Program) -> None:
    ended = any_sandbox.run("--limit", "memory=500M", "-c", "bytearray(1 << 30)")
    assert ended.code == 1
    assert "MemoryError" in ended.err + ended.out


def test_no_handler_of_crashes_is_started(any_sandbox: Program) -> None:
    """Linux starts the program of `core_pattern` outside, unless the limit of an image is 1."""
    code = "print(open('/proc/self/limits').read())\n!cat /proc/self/limits"
    said = any_sandbox.run("-c", code).out.splitlines()
    assert [line.split()[4:6] for line in said if line.startswith("Max core file size")] == [["1", "1"]] * 2


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
        ("disk=1G", "there are memory, kernel-memory, processes, cpu-time, file-size and open-files"),
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


def test_a_fork_bomb_of_an_ordinary_user(program: Program) -> None:
    with open_directory() as directory, open_interpreter(PYTHON) as python:
        program.directory, program.sandbox = directory, "bubblewrap"
        if os.getuid() == 0:
            os.chown(directory, ORDINARY_USER, ORDINARY_USER)
            program.user, program.env = ORDINARY_USER, {"HOME": str(directory)}
        bomb = program.write("bomb.py", fork_bomb() + "# %%\nprint(6 * 7)\n")
        ended = program.run("--python", python, "--limit", "processes=100", bomb)
    assert ended.code == 0, ended.err
    count, answer = ended.out.split()
    assert 10 < int(count) < 100
    assert answer == "42"


@pytest.mark.skipif(os.getuid() != 0, reason="elsewhere: this user is not root")
def test_a_fork_bomb_of_root_ends_its_kernel(any_sandbox: Program) -> None:
    bomb = any_sandbox.write("bomb.py", fork_bomb(300) + "# %%\ntime.sleep(1000)\n")
    ended = any_sandbox.run("--limit", "processes=100", bomb)
    assert ended.code == 1
    assert "processes and threads with all that it had started, its limit is 100" in ended.err


def test_memory_of_all_that_the_code_starts(any_sandbox: Program) -> None:
    code = """
import os, time
for _ in range(10):
    if not os.fork():
        kept = b'1' * (50 << 20)
        time.sleep(1000)
time.sleep(1000)
"""
    ended = any_sandbox.run("--limit", "kernel-memory=400M", "-c", code)
    assert ended.code == 1
    assert "out of memory: it took" in ended.err


@pytest.mark.parametrize("limits", [[], ["--limit", "processes=none"], ["--limit", "open-files=1000"]])
def test_limits_that_are_not_asked_for_are_not_noticed(program: Program, limits: list[str]) -> None:
    ended = program.run(*limits, "-c", "print(1)")
    assert (ended.code, ended.out, ended.err) == (0, "1\n", "")
