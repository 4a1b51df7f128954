"""Kernels and programs enter the control group whose entrance the host hands over, before they run anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import Closed, Host, default_env


def entered(file: Path) -> int:
    """How many processes have entered. The double of an entrance is a file that is appended to."""
    text = file.read_text()
    assert set(text) <= {"0"}, text
    return len(text)


def entrance(file: Path) -> int:
    return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def test_a_kernel_and_its_programs_enter(tmp_path: Path) -> None:
    file = tmp_path / "procs"
    with Host() as host:
        kernel = host.fork(actions=True, entrance=entrance(file))
        assert entered(file) == 1
        assert kernel.run("!echo 42").text() == "42\n"
        assert entered(file) == 2
        assert kernel.run("import subprocess\nsubprocess.run(['true']).returncode").value == "0"
        assert entered(file) == 2  # what they start themselves is in their group
        other = host.fork(actions=True)
        assert other.run("!echo 42").text() == "42\n"
        assert entered(file) == 2


def test_a_program_that_is_not_there_is_told_as_without_a_group(tmp_path: Path) -> None:
    with Host() as host:
        grouped = host.fork(actions=True, entrance=entrance(tmp_path / "procs"))
        free = host.fork(actions=True)
        fields = {"argv": ["no-such-program"], "env": {}, "cwd": "/"}
        answers = []
        for kernel in grouped, free:
            null = os.open(os.devnull, os.O_RDWR)
            answers.append(host.request("run", [null] * 3, kernel=kernel.pid, **fields)["error"])
            os.close(null)
        assert answers[0] == answers[1]
        assert answers[0]["kind"] == "exec"


def test_a_foreign_kernel_enters(tmp_path: Path) -> None:
    file = tmp_path / "procs"
    with Host() as host:
        started = host.request("spawn", [entrance(file)], argv=["true"], env=default_env(), cwd="/", cgroup=True)
        assert host.event("exit", pid=started["pid"])["code"] == 0
        assert entered(file) == 1


def test_code_has_no_entrance(tmp_path: Path) -> None:
    files = [tmp_path / "first", tmp_path / "second"]
    with Host() as host:
        kernels = [host.fork(actions=True, entrance=entrance(file)) for file in files]
        links = "[f'/proc/self/fd/{n}' for n in os.listdir('/proc/self/fd')]"  # one is the listing's own, and is gone
        code = f"import os\nprint([os.readlink(link) for link in {links} if os.path.lexists(link)])"
        for kernel in kernels:
            shown = kernel.run(code).text()
            assert "socket:" in shown and str(tmp_path) not in shown
            assert str(tmp_path) not in kernel.run("!ls -l /proc/self/fd").text()
        opened = [os.readlink(link) for link in Path(f"/proc/{host.supervisor}/fd").iterdir() if link.is_symlink()]
        assert [opened.count(str(file)) for file in files] == [1, 1]
        kernels[0].start("import os; os._exit(0)")
        host.event("exit", pid=kernels[0].pid)
        opened = [os.readlink(link) for link in Path(f"/proc/{host.supervisor}/fd").iterdir() if link.is_symlink()]
        assert [opened.count(str(file)) for file in files] == [0, 1]


def test_a_kernel_that_cannot_enter_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "procs").touch()
    closed = os.open(tmp_path / "procs", os.O_RDONLY)
    with Host() as host:
        with pytest.raises(Closed):
            host.fork(entrance=closed)
        assert host.event("exit")["code"] == 1
        assert "a kernel cannot enter its control group: Bad file descriptor" in host.stderr()
        answer = host.request("spawn", [closed], argv=["true"], env=default_env(), cwd="/", cgroup=True)
        assert answer["error"]["kind"] == "exec" and "Bad file descriptor" in answer["error"]["text"]
