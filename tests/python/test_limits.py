"""What a kernel, and the programs that it starts, may take of the machine."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fork_bomb import fork_bomb
from open_interpreter import open_interpreter

from harness import PYTHON, TIMEOUT, Host

MIB = 1 << 20
USER = 100_000 + os.getpid() % 100_000  # has no other processes than those of this run


@pytest.fixture(scope="module")
def python() -> Iterator[str]:
    with open_interpreter(PYTHON) as python:
        yield python


def tasks_of_this_user() -> int:
    """Processes and threads: what the system counts."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid == os.getuid():
                count += len(list((process / "task").iterdir()))
    return count


def ordinary(python: str, limits: dict[str, int]) -> Host:
    """A supervisor of a user for whom all limits count: root may raise them, and has as many processes as it likes."""
    user: dict[str, Any] = {"user": USER, "cwd": "/", "python": python} if os.getuid() == 0 else {}
    return Host(limits=limits, **user)


def test_a_crash_leaves_no_image_and_starts_no_program_that_takes_it() -> None:
    """With a limit of 0 Linux starts the program of `core_pattern`, outside and as root; with 1 it does not."""
    with Host(limits={"open_files": 1000}) as host:
        kernel = host.fork()
        kernel.run("import subprocess\nfile = '/proc/self/limits'")
        for code in (
            "print(open(file).read())",
            "!cat $file",
            "print(subprocess.run(['cat', file], capture_output=True, text=True).stdout)",
        ):
            (core,) = [line for line in kernel.run(code).text().splitlines() if line.startswith("Max core file size")]
            assert core.split()[4:6] == ["1", "1"]


def test_memory_that_is_not_to_be_had_is_an_error_of_the_code() -> None:
    with Host(limits={"memory": 500 * MIB}) as host:
        kernel = host.fork()
        assert kernel.run("kept = bytearray(1 << 30)").error == "MemoryError"
        result = kernel.run("import mmap; mmap.mmap(-1, 1 << 30, mmap.MAP_PRIVATE)")
        assert result.error == "OSError" and "Cannot allocate memory" in result.traceback
        code = (
            "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'bytearray(1 << 30)'], stderr=-3).returncode"
        )
        assert kernel.run(code).value == "1"
        assert kernel.run("len(bytearray(100 << 20))").value == str(100 * MIB)


@pytest.mark.parametrize("limit", [(1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_limits_beyond_all_numbers_of_the_system_are_none(limit: int) -> None:
    names = ("memory", "processes", "cpu_time", "file_size", "open_files", "kernel_memory", "kernel_processes")
    with Host(limits=dict.fromkeys(names, limit)) as host:
        kernel = host.fork(actions=True)
        assert kernel.run("6 * 7").value == "42"
        assert kernel.run("!echo 42").text() == "42\n"


def test_no_bytes_of_a_file_are_too_few() -> None:
    with Host(limits={"file_size": 0}, wait=False) as host:
        failed = host.receive()
        assert failed["kind"] == "limits" and "more bytes in a file than its limit, 0" in failed["text"]


def test_address_space_that_nothing_is_written_to_costs_nothing() -> None:
    with Host(limits={"memory": 500 * MIB}) as host:
        code = "import mmap; len(mmap.mmap(-1, 1 << 34, mmap.MAP_PRIVATE, mmap.PROT_READ))"
        assert host.fork().run(code).value == str(1 << 34)


def test_processes(python: str) -> None:
    others = 0 if os.getuid() == 0 else tasks_of_this_user()
    with ordinary(python, {"processes": others + 60}) as host:
        kernel = host.fork()
        count = int(kernel.run(fork_bomb(500)).text())
        assert 10 < count < 60
        kernel.close()
        host.event("exit", pid=kernel.pid)
        assert host.fork().run("1").value == "1"


def test_files() -> None:
    with Host(limits={"file_size": 10 * MIB, "open_files": 100}) as host:
        kernel = host.fork()
        result = kernel.run("import tempfile\nwith tempfile.TemporaryFile() as file: file.write(bytes(11 << 20))")
        assert result.error == "OSError" and "File too large" in result.traceback
        result = kernel.run("files = []\nwhile len(files) < 200: files.append(open('/dev/null'))")
        assert result.error == "OSError" and "Too many open files" in result.traceback
        assert kernel.run("del files; open('/dev/null').close()").error == ""


def test_processor_time_of_a_kernel() -> None:
    with Host(limits={"cpu_time": 1}) as host:
        kernel, other = host.fork(), host.fork()
        kernel.start("while True: pass")
        assert host.event("exit", pid=kernel.pid)["signal"] == signal.SIGXCPU
        assert other.run("1").value == "1"
        assert host.fork().run("1").value == "1"


def test_processor_time_of_code_that_wants_to_go_on() -> None:
    with Host(limits={"cpu_time": 1}) as host:
        kernel = host.fork()
        kernel.start("import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass")
        assert host.event("exit", pid=kernel.pid)["signal"] == signal.SIGKILL


def test_processor_time_of_a_program() -> None:
    with Host(limits={"cpu_time": 1}) as host:
        kernel = host.fork(actions=True)
        result = kernel.run("!sh -c 'while :; do :; done'\n_exit_code")
        assert result.value in (str(128 + signal.SIGXCPU), str(128 + signal.SIGKILL))
        assert kernel.run("!echo 'a  b' c").text() == "a  b c\n"


@pytest.mark.parametrize("name", ["DATA", "NPROC", "FSIZE", "NOFILE", "CPU", "CORE", "SIGPENDING", "MSGQUEUE"])
def test_what_is_limited_cannot_be_raised(python: str, name: str) -> None:
    limits = {"memory": 1 << 30, "processes": 100, "file_size": MIB, "open_files": 100, "cpu_time": 100}
    with ordinary(python, limits) as host:
        kernel = host.fork()
        kernel.run(f"import resource\nkind = resource.RLIMIT_{name}\nsoft, hard = resource.getrlimit(kind)")
        assert kernel.run("resource.setrlimit(kind, (hard, hard + 1))").error == "ValueError"
        assert kernel.run("hard").value != "-1"


def test_of_what_all_programs_of_a_user_share_code_gets_a_small_part() -> None:
    """Signals that wait, and message queues: others could have none."""
    with Host(limits={"memory": 1 << 30}) as host:
        kernel = host.fork()
        kernel.run("from resource import *")
        assert kernel.run(
            "getrlimit(RLIMIT_SIGPENDING)[1] <= 1024, getrlimit(RLIMIT_MSGQUEUE)[1] <= 1 << 18"
        ).value == ("(True, True)")


def test_what_is_not_limited_stays_as_it_is() -> None:
    with Host() as host:
        code = "import resource\nresource.getrlimit(resource.RLIMIT_DATA) == (-1, -1)"
        assert host.fork().run(code).value == "True"


def test_a_limit_above_that_of_the_host() -> None:
    with Host(limits={"open_files": 1 << 40}) as host:
        assert host.fork().run("open('/dev/null').close()").error == ""


@pytest.mark.parametrize("limit", [{"memory": 1024}, {"memory": MIB}, {"open_files": 1}, {"open_files": 12}])
@pytest.mark.parametrize("preload", [True, False])
def test_a_limit_that_leaves_no_room_for_a_kernel(limit: dict[str, int], preload: bool) -> None:
    with Host(limits=limit, preload=preload, wait=False) as host:
        failed = host.event("failed")
        assert failed["kind"] == "limits"
        (number,) = limit.values()
        assert f"limit, {number}" in failed["text"] and "raise the limit to" in failed["text"]
        assert host.stderr() == ""


@pytest.mark.parametrize(("name", "too_few", "enough"), [("open_files", 8, 64), ("memory", 8 * MIB, 256 * MIB)])
def test_with_the_least_limit_that_is_accepted_a_kernel_runs(name: str, too_few: int, enough: int) -> None:
    while enough - too_few > max(1, enough // 64):
        middle = (too_few + enough) // 2
        if starts({name: middle}):
            enough = middle
        else:
            too_few = middle
    varies = {"open_files": 0, "memory": 2 * MIB}[name]  # what Python takes is not quite the same in each process
    with Host(limits={name: enough + varies}) as host:
        kernel = host.fork()
        assert kernel.run("print(6 * 7)").text() == "42\n"
        assert kernel.run("1 / 0").error == "ZeroDivisionError"


def starts(limits: dict[str, int]) -> bool:
    with Host(limits=limits, wait=False) as host:
        said = host.wait(lambda: host.events[0] if host.events else None, TIMEOUT)
        assert said["event"] == "ready" or said["kind"] == "limits"
        return bool(said["event"] == "ready")
