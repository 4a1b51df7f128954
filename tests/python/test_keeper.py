"""Without a pid namespace: with the supervisor, with its keeper and with the host, everything ends that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

from ipybox_kernel import landlock

from harness import Host, Kernel, alive, wait_until

NAME = "6464.25"  # the seconds of a sleep, by which it is found

PROGRAMS = f"""
!sleep {NAME} &
!setsid sh -c 'trap "" TERM HUP INT; sleep {NAME}; sleep {NAME}' > /dev/null 2>&1 &
import os, subprocess, time
subprocess.Popen(['sleep', '{NAME}'], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 1000)
    os.execvp('sleep', ['sleep', '{NAME}'])
time.sleep(0.3)
"""


def left() -> list[int]:
    """The processes that PROGRAMS started and that run."""
    found = []
    for name in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0") if name.isdigit() else []
        except (FileNotFoundError, ProcessLookupError):
            continue
        if NAME.encode() in words and alive(int(name)):
            found.append(int(name))
    return found


def stopped_host(host: Host) -> None:
    """The host ends while the supervisor is stopped."""
    os.kill(host.supervisor, signal.SIGSTOP)
    host.vanish()


@pytest.mark.parametrize(
    "end",
    [
        lambda host: os.kill(host.supervisor, signal.SIGKILL),
        lambda host: os.kill(host.supervisor, signal.SIGTERM),
        lambda host: os.kill(host.process.pid, signal.SIGKILL),
        lambda host: host.vanish(),
        lambda host: host.control.close(),
        stopped_host,
    ],
    ids=[
        "supervisor killed",
        "supervisor terminated",
        "keeper killed",
        "host gone",
        "hung up",
        "host gone, supervisor stopped",
    ],
)
def test_nothing_is_left(end: Callable[[Host], None]) -> None:
    host = Host(cwd="/")
    kernel = host.fork(actions=True, cwd="/")
    assert kernel.run(PROGRAMS).reply["status"] == "ok"
    assert len(left()) >= 4
    begin = time.monotonic()
    end(host)
    host.process.wait(10)
    wait_until(lambda: not left() and not alive(kernel.pid) and not alive(host.supervisor))
    assert time.monotonic() - begin < 20


def test_it_ends_as_the_supervisor_does() -> None:
    host = Host()
    os.kill(host.supervisor, signal.SIGKILL)
    assert host.process.wait(10) == -signal.SIGKILL
    assert Host(wait=False).close() in (0, 1)


@pytest.mark.parametrize("guard", [None, "no_exec"])
def test_kernels_cannot_signal_those_above_them(guard: str | None) -> None:
    if landlock.version() < landlock.ABI_WITH_SCOPES:
        pytest.skip("elsewhere: this Linux's Landlock knows no signals")
    with Host(cwd="/") as host:
        kernel = host.fork(cwd="/", **({"guard": guard} if guard else {}))
        for pid in (host.supervisor, host.process.pid):
            for number in (signal.SIGSTOP, signal.SIGKILL, signal.SIGTERM):
                assert kernel.run(f"import os; os.kill({pid}, {number})").error == "PermissionError"
        assert signal_own_child(kernel) == "-15"


@pytest.mark.parametrize("guard", [None, "no_exec"])
def test_kernels_cannot_stop_other_processes_of_the_user(guard: str | None) -> None:
    """One that the host is about to start counts among them: until its exec, a thread of the host waits for it."""
    if landlock.version() < landlock.ABI_WITH_SCOPES:
        pytest.skip("elsewhere: this Linux's Landlock knows no signals")
    with subprocess.Popen(["sleep", "1000"]) as other:
        try:
            with Host(cwd="/") as host:
                kernel = host.fork(cwd="/", **({"guard": guard} if guard else {}))
                for number in (0, signal.SIGSTOP):
                    assert kernel.run(f"import os; os.kill({other.pid}, {number})").error == "PermissionError"
        finally:
            other.kill()


def test_neither_can_foreign_kernels() -> None:
    if landlock.version() < landlock.ABI_WITH_SCOPES:
        pytest.skip("elsewhere: this Linux's Landlock knows no signals")
    with Host(cwd="/", preload=False) as host:
        code = "import os, sys\ntry: os.kill(os.getppid(), 19)\nexcept PermissionError: sys.exit(7)"
        env = {"PATH": os.environ["PATH"]}
        pid = host.request("spawn", argv=[sys.executable, "-c", code], env=env, cwd=None)["pid"]
        assert host.event("exit", pid=pid)["code"] == 7


def signal_own_child(kernel: Kernel) -> str | None:
    code = """
        import os, signal, time
        pid = os.fork()
        if pid == 0: time.sleep(1000)
        os.kill(pid, signal.SIGTERM)
        os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    """
    return kernel.run(code).value
