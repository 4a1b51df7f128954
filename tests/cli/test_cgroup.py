"""`--cgroup`: kernels in control groups. Where there can be no group, the tests are about the error that says why."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from fork_bomb import fork_bomb
from open_interpreter import ORDINARY_USER, open_directory, open_interpreter
from program import PYTHON, Program, wait_for

SHOW = "print(open('/proc/self/cgroup').read().strip().split('/')[-1])"


class Groups:
    """A group below the root of the hierarchy of version 2, if one can be made, and what can be limited there."""

    def __init__(self) -> None:
        self.directory = Path("/sys/fs/cgroup/ipybox-test")
        self.are_there = self.limit = False
        for hierarchy in Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"):
            if (hierarchy / "cgroup.controllers").exists():
                self._make(hierarchy)
                return

    def _make(self, hierarchy: Path) -> None:
        directory = hierarchy / f"test-{uuid.uuid4()}"
        try:
            directory.mkdir()
        except OSError:
            return
        self.directory, self.are_there = directory, True
        try:
            (hierarchy / "cgroup.subtree_control").write_text("+memory +pids")
        except OSError:
            return  # version 1 has them
        self.limit = True

    def below(self, directory: Path) -> list[Path]:
        return [path for path in directory.rglob("*") if path.is_dir()]

    def remove(self) -> None:
        if self.are_there:
            (self.directory / "cgroup.kill").write_text("1")
            wait_for(lambda: "populated 0" in (self.directory / "cgroup.events").read_text())
            for directory in sorted(self.below(self.directory), reverse=True):
                directory.rmdir()
            self.directory.rmdir()

    def options(self, directory: Path | str) -> list[str]:
        """Where the system cannot limit anything in a group, nothing is asked for that it would have to."""
        none = [] if self.limit else ["--limit", "kernel-memory=none", "--limit", "processes=none"]
        return ["--cgroup", str(directory), *none]


@pytest.fixture
def groups() -> Iterator[Groups]:
    made = Groups()
    yield made
    made.remove()


def assert_refused(program: Program, groups: Groups) -> None:
    ended = program.run("--cgroup", str(groups.directory), "-c", "1")
    assert ended.code == 3
    assert f"the cgroup {groups.directory} (the limit `cgroup`) cannot be used: " in ended.err


@pytest.mark.parametrize("sandbox", ["none", "bubblewrap", "landlock", "srt"])
def test_a_kernel_is_in_its_group_and_cannot_leave_it(program: Program, groups: Groups, sandbox: str) -> None:
    program.sandbox = sandbox
    if not groups.are_there or not groups.limit:
        assert_refused(program, groups)
    if not groups.are_there:
        return
    leave = f"""
for path in {str(groups.directory)!r}, {str(groups.directory.parent)!r}:
    try:
        with open(path + '/cgroup.procs', 'w') as file: file.write('0')
        print('moved')
    except OSError: pass
"""
    ended = program.run(*groups.options(groups.directory), "-c", SHOW + ("" if sandbox == "none" else leave + SHOW))
    if sandbox == "landlock" and ended.code == 3:
        assert "Landlock" in ended.err  # of this system is too old
    else:
        assert ended.out == ("kernel-1\n" if sandbox == "none" else "kernel-1\nkernel-1\n"), ended.err
    assert groups.below(groups.directory) == []


def test_the_next_start_removes_what_a_killed_program_left_behind(program: Program, groups: Groups) -> None:
    if not groups.are_there:
        assert_refused(program, groups)
        return
    code = "import time; print(1, flush=True); time.sleep(99)"
    started = program.start(*groups.options(groups.directory), "-c", code)
    assert started.stdout
    assert started.stdout.readline() == b"1\n"
    assert len(groups.below(groups.directory)) == 3  # of the supervisor, it and its kernel
    started.send_signal(signal.SIGKILL)
    started.communicate()
    program.assert_all_gone()
    assert len(groups.below(groups.directory)) == 3
    assert program.run(*groups.options(groups.directory), "-c", SHOW).out == "kernel-1\n"
    assert groups.below(groups.directory) == []


def test_an_ordinary_user_in_a_delegated_group(program: Program, groups: Groups) -> None:
    """As systemd does it with Delegate=yes and DelegateSubgroup=app; the other group is made by the program."""
    if not groups.are_there or os.getuid() != 0:
        assert_refused(program, groups)
        return
    (groups.directory / "app").mkdir()
    for path in groups.directory, *(groups.directory / name for name in ("cgroup.procs", "cgroup.subtree_control")):
        os.chown(path, ORDINARY_USER, ORDINARY_USER)
    with open_directory() as directory, open_interpreter(PYTHON) as python:
        os.chown(directory, ORDINARY_USER, ORDINARY_USER)
        program.directory, program.sandbox, program.user = directory, "bubblewrap", ORDINARY_USER
        program.env = {"HOME": "/nonexistent", "IPYBOX_PYTHON": python}

        def run(group: Path, named: Path | str) -> tuple[int | None, str, str]:
            def enter() -> None:
                (group / "cgroup.procs").write_text("0")
                os.setgroups([])
                os.setgid(ORDINARY_USER)
                os.setuid(ORDINARY_USER)

            command = program.arguments(*groups.options(named), "-c", SHOW + "\n!echo $((6 * 7))")
            started = program.start_command(command, preexec_fn=enter)
            out, err = started.communicate()
            return started.returncode, out.decode(), err.decode()

        assert run(groups.directory / "app", "../kernels") == (0, "kernel-1\n42\n", "")
        assert groups.below(groups.directory / "kernels") == []
        # Beside what was delegated, processes cannot be moved.
        code, _, err = run(groups.directory.parent, groups.directory / "kernels")
        assert code == 3
        assert f"would have to write to {groups.directory.parent}/cgroup.procs; start the application in" in err


def test_limits(any_sandbox: Program, groups: Groups) -> None:
    if not groups.are_there or not groups.limit:
        assert_refused(any_sandbox, groups)
        return
    chosen = ["--cgroup", str(groups.directory), "--limit", "processes=50", "--limit", "kernel-memory=300M"]
    assert 10 < int(any_sandbox.run(*chosen, "-c", fork_bomb()).out) < 50
    eater = "kept = []\nwhile len(kept) < 1000: kept.append(b'1' * (1 << 20))"
    begun = time.monotonic()
    ended = any_sandbox.run(*chosen, "-c", eater)
    assert ended.code == 1
    assert "out of memory: it took 300 MiB with all that it had started, its limit is 300 MiB" in ended.err
    assert time.monotonic() - begun < 60
    # Memory that no process has mapped.
    files = "import os\nfd = os.memfd_create('x')\nfor _ in range(1000): os.write(fd, bytes(1 << 20))"
    assert "out of memory: it took 300 MiB" in any_sandbox.run(*chosen, "-c", files).err
    assert groups.below(groups.directory) == []


def test_doctor_has_a_line(program: Program) -> None:
    said = subprocess.run(
        [*program.arguments()[:1], "doctor"], cwd=program.directory, env=program.environment(), capture_output=True
    )
    assert b"\n  cgroup v2: " in said.stdout
