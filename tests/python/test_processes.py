"""Fork, spawn, signal, exit: what becomes of processes, and of what they leave behind."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from ipybox_kernel import process
from ipybox_kernel.broker import Broker

from harness import Closed, Host, Kernel, alive, default_env, wait_until

LEAVE_BEHIND = """
import os, subprocess, sys
daemon = "import os, time; print(os.getpid(), flush=True); time.sleep(1000)"
# One in the kernel's group, one that set itself apart and lost its parent, one that did so twice.
first = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
pids = [first.pid]
for command in ("setsid %s -c '%s' &", "(setsid setsid %s -c '%s' &) &"):
    lines = subprocess.Popen(["sh", "-c", command % (sys.executable, daemon)], stdout=subprocess.PIPE).stdout
    pids.append(int(lines.readline()))
print(*pids)
"""


def test_a_kernel_is_on_its_own(host: Host, kernel: Kernel) -> None:
    result = kernel.run("import os; print(os.getpid(), os.getpgrp(), os.getsid(0), os.getppid())")
    assert result.text() == f"{kernel.pid} {kernel.pid} {kernel.pid} {host.supervisor}\n"
    assert os.readlink(f"/proc/{kernel.pid}/fd/0") == "/dev/null"


def test_kernels_are_independent(host: Host) -> None:
    first, second = host.fork(), host.fork()
    first.run("x = 1")
    assert second.run("x").error == "NameError"
    first.close()
    assert second.run("print('here')").text() == "here\n"
    second.close()


def test_exit_code(host: Host) -> None:
    kernel = host.fork()
    kernel.start("import os; os._exit(3)")
    assert kernel.wait_closed() == {"event": "exit", "pid": kernel.pid, "code": 3, "signal": None}


def test_death_by_signal(host: Host) -> None:
    kernel = host.fork()
    kernel.start("import os; os.abort()")
    assert kernel.wait_closed() == {"event": "exit", "pid": kernel.pid, "code": None, "signal": signal.SIGABRT}


def test_kill(host: Host, kernel: Kernel) -> None:
    kernel.start("while True: pass")
    assert host.signal(kernel.pid, signal.SIGKILL)
    assert kernel.wait_closed()["signal"] == signal.SIGKILL
    assert not host.signal(kernel.pid, signal.SIGKILL), "it is gone"


def test_the_null_device_is_that_of_the_sandbox() -> None:
    """By a descriptor of the host, code of root could change the mode of the host's device."""
    reading, writing = os.pipe()
    null = os.open(os.devnull, os.O_RDONLY)
    descriptors = [null, os.dup(null), writing]
    same = os.fstat(writing).st_ino
    process.open_null_anew(descriptors)
    os.set_blocking(null, False)
    assert os.get_blocking(descriptors[1])  # another open file
    assert fcntl.fcntl(null, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    assert os.fstat(writing).st_ino == same
    for descriptor in (reading, *descriptors):
        os.close(descriptor)


def test_a_child_that_is_stopped_before_it_is_a_program_is_killed() -> None:
    begun = time.monotonic()
    pid = process.start_prepared(lambda: os.kill(os.getpid(), signal.SIGSTOP), ["true"], default_env())
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert time.monotonic() - begun < process.BEGINNING


def test_a_child_that_does_not_become_a_program_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "BEGINNING", 0.1)
    pid = process.start_prepared(lambda: time.sleep(600), ["true"], default_env())
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL


def test_programs_are_forked_where_others_could_stop_them() -> None:
    """What is started without a copy of the supervisor is waited for without a bound."""
    broker = Broker()
    broker.environments = {pid: {} for pid in process.children()}
    assert broker.has_kernels_alone()
    child = subprocess.Popen(["sleep", "600"])
    try:
        assert not broker.has_kernels_alone()
        broker.environments[child.pid] = {}
        assert broker.has_kernels_alone()
        broker.owners[child.pid] = child.pid
        assert not broker.has_kernels_alone()
    finally:
        child.kill()
        child.wait()


def test_signals_go_to_children_only(host: Host) -> None:
    assert not host.signal(os.getpid(), 0)
    assert not host.signal(1, 0, group=False)


def test_a_kernel_can_be_signalled_at_once(host: Host) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pid = host.request("fork", [theirs.fileno()], env=default_env(), cwd=None, restore_cwd=False)["pid"]
        assert host.signal(pid, signal.SIGKILL)
        assert host.event("exit", pid=pid)["signal"] == signal.SIGKILL


def test_end_of_file_on_the_stream_ends_the_kernel(host: Host) -> None:
    idle, busy = host.fork(), host.fork()
    busy.start("import time; print('busy', flush=True)\nwhile True: time.sleep(1)")
    busy.until("busy\n")
    for kernel in (idle, busy):
        kernel.stream.close()
        assert host.event("exit", pid=kernel.pid)["code"] == 0


def test_what_a_kernel_leaves_behind_is_gone_before_exit_is_reported(host: Host) -> None:
    kernel = host.fork()
    pids = [int(pid) for pid in kernel.run(LEAVE_BEHIND).text().split()]
    assert len(pids) == 3 and all(map(alive, pids))
    other = host.fork()
    kernel.start("import os; os._exit(0)")
    kernel.wait_closed()
    assert not any(map(alive, pids))
    assert other.run("print(1)").text() == "1\n"
    other.close()


def test_orphans_of_a_live_kernel_stay(kernel: Kernel, host: Host) -> None:
    pids = [int(pid) for pid in kernel.run(LEAVE_BEHIND).text().split()]
    doomed = host.fork()
    doomed.start("import os; os._exit(0)")
    doomed.wait_closed()
    assert len(pids) == 3 and all(map(alive, pids)), "they belong to another kernel"


def test_end_of_file_on_the_control_socket_ends_everything() -> None:
    host = Host()
    kernels = [host.fork() for _ in range(3)]
    pids = [int(pid) for pid in kernels[0].run(LEAVE_BEHIND).text().split()]
    spawned = host.request("spawn", argv=["sleep", "1000"], env=default_env(), cwd=None)["pid"]
    assert len(pids) == 3 and host.close() == 0
    assert not any(map(alive, [*pids, spawned, *(kernel.pid for kernel in kernels)]))


def test_kernels_die_with_a_killed_supervisor() -> None:
    host = Host()
    kernel = host.fork()
    host.process.kill()
    wait_until(lambda: not alive(kernel.pid))
    with pytest.raises((Closed, ConnectionError)):
        kernel.receive()
    host.close()


def test_many_forks_at_once(host: Host) -> None:
    kernels = [host.fork() for _ in range(20)]
    requests = [kernel.start(f"print({number})") for number, kernel in enumerate(kernels)]
    for number, (kernel, request) in enumerate(zip(kernels, requests)):
        assert kernel.finish(request).text() == f"{number}\n"
    for kernel in kernels:
        kernel.close()
    for kernel in kernels:
        host.event("exit", pid=kernel.pid)


def test_no_descriptor_is_left_open_in_the_supervisor(host: Host) -> None:
    def descriptors() -> int:
        return len(os.listdir(f"/proc/{host.supervisor}/fd"))

    before = descriptors()
    for _ in range(3):
        kernel = host.fork()
        host.request("fork", env={"": ""}, cwd=None)
        kernel.close()
        host.event("exit", pid=kernel.pid)
    assert descriptors() == before


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_kernel_needs_a_directory(host: Host, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AssertionError) as refused:
        host.fork(cwd=tmp_path / name)
    assert "'kind': 'cwd'" in str(refused.value) and name in str(refused.value)
    assert host.fork().run("print(1)").text() == "1\n"


class TestSpawn:
    """Foreign programs."""

    def test_environment_directory_and_group(self, host: Host, tmp_path: Path) -> None:
        script = "echo $A; pwd; ps -o sid=,pgid= -p $$ | tr -d ' '; echo $$; ls -l /proc/self/fd > fds"
        argv = ["/bin/sh", "-c", f"({script}) > out"]
        env = {"A": "value", "PATH": os.environ["PATH"]}
        pid = host.request("spawn", argv=argv, env=env, cwd=str(tmp_path))["pid"]
        assert host.event("exit", pid=pid)["code"] == 0
        assert (tmp_path / "out").read_text().split()[:2] == ["value", str(tmp_path)]
        assert "socket" not in (tmp_path / "fds").read_text()

    def test_interrupt_is_not_ignored(self, host: Host) -> None:
        pid = host.request("spawn", argv=["sleep", "1000"], env=default_env(), cwd=None)["pid"]
        assert host.signal(pid, signal.SIGINT)
        assert host.event("exit", pid=pid)["signal"] == signal.SIGINT

    def test_it_takes_its_descendants_along(self, host: Host, tmp_path: Path) -> None:
        argv = ["/bin/sh", "-c", "setsid sleep 1000 & echo $! > pid; exit 4"]
        pid = host.request("spawn", argv=argv, env=default_env(), cwd=str(tmp_path))["pid"]
        assert host.event("exit", pid=pid)["code"] == 4
        assert not alive(int((tmp_path / "pid").read_text()))

    @pytest.mark.parametrize("argv", [["no-such-program"], ["/etc/passwd"], ["/"]])
    def test_what_cannot_be_executed(self, host: Host, argv: list[str]) -> None:
        error = host.request("spawn", argv=argv, env=default_env(), cwd=None)["error"]
        assert error["kind"] == "exec" and argv[0] in error["text"]

    def test_missing_directory(self, host: Host) -> None:
        error = host.request("spawn", argv=["true"], env=default_env(), cwd="/no/such/place")["error"]
        assert error["kind"] == "cwd"

    def test_a_kernel_in_a_directory_that_was_removed(self, host: Host, tmp_path: Path) -> None:
        (removed := tmp_path / "removed").mkdir()
        kept = os.open(removed, os.O_PATH)  # as a mount does
        removed.rmdir()
        cwd = f"/proc/{os.getpid()}/fd/{kept}"
        ours, theirs = socket.socketpair()
        with ours, theirs:
            error = host.request("fork", [theirs.fileno()], env=default_env(), cwd=cwd, restore_cwd=True)["error"]
        os.close(kept)
        assert error["kind"] == "cwd" and "was removed" in error["text"]
        assert host.fork(cwd=tmp_path).run("print(1)").text() == "1\n"

    def test_program_is_looked_up_in_its_own_path(self, host: Host, tmp_path: Path) -> None:
        program = tmp_path / "my-program"
        program.write_text("#!/bin/sh\nexit 9\n")
        program.chmod(0o755)
        pid = host.request("spawn", argv=["my-program"], env={"PATH": str(tmp_path)}, cwd=None)["pid"]
        assert host.event("exit", pid=pid)["code"] == 9
