"""What a kernel may take with all that it has started, and what the supervisor says of one that takes more."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ipybox_kernel import watchdog

from harness import Host, Kernel

MIB = 1 << 20
LIMITS = {"kernel_memory": 400 * MIB, "kernel_processes": 60}


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host(limits=LIMITS) as host:
        yield host


def watch(kernel: Kernel, runs: bool = True) -> None:
    answer = kernel.host.request("watch", pid=kernel.pid, runs=runs)
    assert "error" not in answer


def end_of(kernel: Kernel) -> dict[str, Any]:
    return kernel.host.event("exit", timeout=60, pid=kernel.pid)


def test_memory(host: Host) -> None:
    kernel, other = host.fork(), host.fork()
    watch(kernel)
    kernel.start("import time\nkept = []\nwhile len(kept) < 500: kept.append(b'1' * (1 << 20))\ntime.sleep(1000)")
    ended = end_of(kernel)
    assert ended["signal"] == signal.SIGKILL
    exceeded = ended["exceeded"]
    assert exceeded["limit"] == "memory" and exceeded["allowed"] == 400 * MIB < exceeded["used"]
    assert other.run("6 * 7").value == "42"


PROCESSES = """
import os, time
for _ in range({processes}):
    if not os.fork():
        kept = b'1' * ({size} << 20)
        time.sleep(1000)
time.sleep({rest})
"""


def test_memory_of_many_processes_which_alone_take_little(host: Host) -> None:
    kernel = host.fork()
    watch(kernel)
    kernel.start(PROCESSES.format(processes=10, size=50, rest=1000))
    exceeded = end_of(kernel)["exceeded"]
    assert exceeded["limit"] == "memory"


def test_memory_that_processes_share_counts_once(host: Host) -> None:
    kernel = host.fork()
    assert kernel.run("kept = b'1' * (200 << 20)").error == ""
    watch(kernel)
    assert kernel.run(PROCESSES.format(processes=10, size=1, rest=1)).error == ""
    kernel.close()
    assert "exceeded" not in end_of(kernel)


ENDED_THREAD = """
import ctypes, os, threading, time
def eat():
    time.sleep(0.3)
    kept = b'1' * (600 << 20)
    time.sleep(1000)
if not os.fork():
    threading.Thread(target=eat).start()
    ctypes.CDLL(None).pthread_exit(None)
time.sleep(1000)
"""


def test_memory_of_a_process_whose_first_thread_has_ended(host: Host) -> None:
    kernel = host.fork()
    watch(kernel)
    kernel.start(ENDED_THREAD)
    assert end_of(kernel)["exceeded"]["limit"] == "memory"


PAGE_TABLES = """
import mmap, time
kept = []
for _ in range(16):
    kept.append(mmap.mmap(-1, 16 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ))
    kept[-1].madvise(getattr(mmap, 'MADV_NOHUGEPAGE', 15))
    for place in range(0, 16 << 30, 2 << 20):
        kept[-1][place]
time.sleep(1000)
"""


def test_page_tables_are_memory(host: Host) -> None:
    """A page that is only read costs nothing but its place in a table."""
    kernel = host.fork()
    watch(kernel)
    kernel.start(PAGE_TABLES)
    assert end_of(kernel)["exceeded"]["limit"] == "memory"


def test_processes(host: Host) -> None:
    kernel, other = host.fork(), host.fork()
    watch(kernel)
    kernel.start(PROCESSES.format(processes=200, size=0, rest=1000))
    ended = end_of(kernel)
    exceeded = ended["exceeded"]
    assert exceeded["limit"] == "processes" and exceeded["allowed"] == 60 < exceeded["used"]
    assert other.run("6 * 7").value == "42"


def test_a_program_counts_with_the_kernel_that_runs_it(host: Host) -> None:
    kernel = host.fork(actions=True)
    watch(kernel)
    kernel.start("!i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i + 1)); done; sleep 1000")
    exceeded = end_of(kernel)["exceeded"]
    assert exceeded["limit"] == "processes"


EATS = "import time; kept = b'1' * (600 << 20); time.sleep(1000)"
SETS_APART = f"""!(setsid {{sys.executable}} -c "{EATS}" &) ; sleep 1000"""
SIBLING = f"""
import ctypes, time
CLONE_PARENT, SIGCHLD = 0x8000, 17
clone = 220 if os.uname().machine == "aarch64" else 56
if ctypes.CDLL(None).syscall(clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0:
    os.setsid()
    {EATS}
time.sleep(1000)
"""


@pytest.mark.parametrize("code", [SETS_APART, SIBLING], ids=["of a command", "beside the kernel"])
def test_a_process_that_sets_itself_apart_counts_with_its_kernel(code: str) -> None:
    with Host(limits=LIMITS) as host:
        kernel = host.fork(actions=True)
        kernel.run("import os, sys")
        watch(kernel)
        kernel.start(code)
        assert end_of(kernel)["exceeded"]["limit"] == "memory"


def test_a_process_that_may_be_of_two_kernels_is_ended_alone(host: Host) -> None:
    kernel, other = host.fork(actions=True), host.fork()
    kernel.run("import os, sys, time")
    watch(kernel)
    code = f"""!(setsid sh -c 'echo $$ >&1; exec {{sys.executable}} -c "{EATS}"' &) ; sleep 1000"""
    kernel.start(code)
    pid = int(kernel.until("\n")[-1].content["text"])
    ends = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < ends
        time.sleep(0.1)
    assert other.run("6 * 7").value == "42"
    assert kernel.host.signal(kernel.pid, 0)


def test_requests_do_not_wait_for_a_look_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """What many processes share takes long to count: it is counted in slices."""
    counted = []

    def count(state: watchdog.State) -> int:
        counted.append(state)
        time.sleep(watchdog.SLICE)
        return 0

    monkeypatch.setattr(watchdog, "own_memory", count)
    looking = watchdog.Watchdog({"kernel_memory": 1})
    looking.begin(1)
    processes = [str(os.getpid())] * 5
    for number in range(1, 6):
        assert looking.is_due() and looking.look(lambda kernel: processes if kernel else []) == {}
        assert len(counted) <= number
    while looking.is_due():
        looking.look(lambda kernel: [])
    assert len(counted) >= 5


def test_what_a_cell_has_left_at_work_is_looked_at(host: Host) -> None:
    kernel = host.fork()
    watch(kernel)
    code = "import threading\ndef fill(kept=[]):\n    while len(kept) < 500: kept.append(b'1' * (1 << 20))\n"
    code += "    while True: pass\nthreading.Thread(target=fill, daemon=True).start()"
    assert kernel.run(code).error == ""
    watch(kernel, runs=False)
    exceeded = end_of(kernel)["exceeded"]
    assert exceeded["limit"] == "memory"


def wakes(pid: int) -> int:
    """How often a process has gone to sleep."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


def is_left_alone(pid: int) -> bool:
    before = wakes(pid)
    time.sleep(0.5)
    return wakes(pid) == before


def test_while_nothing_runs_the_supervisor_sleeps() -> None:
    with Host(limits=LIMITS) as host:
        kernel = host.fork()
        watch(kernel)
        assert not is_left_alone(host.supervisor)
        watch(kernel, runs=False)
        ends = time.monotonic() + 30
        while not is_left_alone(host.supervisor):
            assert time.monotonic() < ends
        assert kernel.run("6 * 7").value == "42"


def test_a_kernel_that_has_ended_is_not_looked_at(host: Host) -> None:
    kernel = host.fork()
    watch(kernel)
    kernel.close()
    assert "exceeded" not in end_of(kernel)
    watch(kernel)
    watch(kernel, runs=False)
    assert host.fork().run("1").value == "1"
