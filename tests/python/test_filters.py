"""The base filter of system calls, in guarded kernels: what it closes, what of it can be left open, and what goes on working."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

import closed_system
from ipybox_kernel import guards

from harness import Host, Kernel
from test_guards import missing_here

ROOT = Path(__file__).parents[2]

TRIES = (ROOT / "tests" / "support" / "closed_system.py").read_text().replace('if __name__ == "__main__":', "if False:")


@pytest.fixture(scope="module")
def guard_host() -> Iterator[Host]:
    if missing := missing_here():
        pytest.skip(missing)
    with Host(cwd="/") as host:
        yield host


@pytest.fixture
def guarded(guard_host: Host, tmp_path: Path) -> Iterator[Kernel]:
    kernel = guard_host.fork(guard="no_exec", cwd=tmp_path)
    yield kernel
    kernel.close()


def mistakes(kernel: Kernel, allowed: list[str]) -> str:
    assert not kernel.run(TRIES).error
    return kernel.run(f"print(*mistakes(outcomes(), {allowed!r}), sep='\\n')", timeout=60).text().strip()


def test_all_of_it_is_open_without() -> None:
    """Or the other tests would show nothing. The kernel is asked, by a process that nothing confines."""
    if "Seccomp:\t0" not in Path("/proc/self/status").read_text():
        pytest.skip("elsewhere: these tests run in a sandbox themselves")
    run = [sys.executable, closed_system.__file__, *(name for name in closed_system.TRIES if name)]
    wrong = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split("\n")
    assert {line.partition(":")[0] for line in wrong if line} >= {"vsock", "keyctl", "typing"}


def test_what_is_closed(guarded: Kernel) -> None:
    assert mistakes(guarded, []) == ""


@pytest.mark.parametrize("name", ["unix-sockets", "ptrace", "io-uring"])
def test_what_is_left_open(guard_host: Host, name: str) -> None:
    kernel = guard_host.fork(guard="no_exec", cwd="/", allow=[name])
    assert mistakes(kernel, [name]) == ""
    kernel.close()


def test_unknown_names_are_refused(guard_host: Host) -> None:
    for allow in (["sockets"], "unix-sockets", [1]):
        with pytest.raises(AssertionError) as refused:
            guard_host.fork(guard="no_exec", allow=allow)
        assert "'kind': 'request'" in str(refused.value)


def test_services_of_the_user_cannot_be_reached(guard_host: Host, guarded: Kernel, tmp_path: Path) -> None:
    """One that would run what it is told, for example."""
    path = str(tmp_path / "service")
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(path)
        service.listen()
        threading.Thread(target=lambda: service.accept()[0].send(b"done"), daemon=True).start()
        connect = f"import socket\ns = socket.socket(socket.AF_UNIX); s.connect({path!r}); s.recv(9)"
        assert guarded.run(connect).error == "PermissionError"
        free = guard_host.fork(guard="no_exec", cwd="/", allow=["unix-sockets"])
        assert free.run(connect).value == "b'done'"
        free.close()


def test_what_people_use_works(guarded: Kernel) -> None:
    code = """
        import asyncio, logging.handlers, multiprocessing, socket, sqlite3, ssl, tempfile, threading, uuid
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
        fork = multiprocessing.get_context('fork')
        with fork.Pool(2) as pool: print(pool.map(abs, [-1, -2]))
        with ProcessPoolExecutor(2, mp_context=fork) as pool: print(list(pool.map(abs, [-3])))
        with ThreadPoolExecutor(2) as pool: print(list(pool.map(abs, [-4])))
        ours, theirs = fork.Pipe(); ours.send(5); print(theirs.recv())
        queue = fork.Queue(); queue.put(6); print(queue.get())
        async def answer(reader, writer): writer.write(await reader.readline()); await writer.drain(); writer.close()
        server = await asyncio.start_server(answer, '127.0.0.1', 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b'7\\n'); print((await reader.readline()).decode().strip()); server.close()
        print(socket.getaddrinfo('localhost', 80)[0][4][1], [name for _, name in socket.if_nameindex()][:1] != None)
        ssl.create_default_context(); uuid.uuid4(); sqlite3.connect(':memory:').execute('select 1').fetchone()
        with tempfile.NamedTemporaryFile() as file: file.write(b'x')
    """
    result = guarded.run(code, timeout=60)
    assert not result.error, result.reply
    assert result.text() == "[1, 2]\n[3]\n[4]\n5\n6\n7\n80 True\n"


@pytest.mark.parametrize(
    ("module", "code", "shown"),
    [
        ("numpy", "import numpy as np; np.ones((200, 200)).dot(np.ones(200)).sum() == 40_000", "True"),
        (
            "matplotlib",
            "import io, matplotlib.pyplot as plt; plt.plot([1]); file = io.BytesIO(); plt.savefig(file); plt.close()\n"
            "file.getvalue()[1:4]",
            "b'PNG'",
        ),
    ],
)
def test_libraries_work(guarded: Kernel, module: str, code: str, shown: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    result = guarded.run(code, timeout=120)
    assert result.value in (shown, f"np.{shown}_"), result.reply


STARTS = {
    "subprocess": "import subprocess; subprocess.run(['echo'])",
    "pip": "import subprocess, sys; subprocess.run([sys.executable, '-m', 'pip', '--version'])",
    "spawn": "import multiprocessing; multiprocessing.get_context('spawn').Process(target=print).start()",
    "asyncio": "import asyncio; await asyncio.create_subprocess_exec('echo')",
    "os.system": "import os; os.system('echo')",
}


@pytest.mark.parametrize("way", STARTS)
def test_programs_are_refused_with_a_sentence(guarded: Kernel, way: str) -> None:
    result = guarded.run(STARTS[way])
    assert result.error == "PermissionError" and guards.SENTENCE in result.traceback


def test_the_host_has_the_same_blocks() -> None:
    """What C++ puts together is made of them: tests/unit/sandbox compares the whole."""
    header = ROOT / "include/ipybox/sandbox/filter_blocks.hpp"
    check = [sys.executable, str(ROOT / "tools/write_filter_blocks.py"), "--check", str(header)]
    done = subprocess.run(check, capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 0, done.stderr
