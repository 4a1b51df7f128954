"""Landlock as the sandbox: what code and commands cannot do there, and what is left when something is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import BINARY, BUSY, PATIENCE, PYTHON, Program, wait_for

#: Prints the name of the error that each line ends with, or "done".
TRY_ALL = """
import os, socket, subprocess, sys
for line in {lines!r}:
    try: exec(line); print("done")
    except Exception as error: print(type(error).__name__)
"""


@pytest.fixture
def boxed(program: Program) -> Program:
    """The program with Landlock."""
    program.sandbox = "landlock"
    ended = program.run("-c", "print(1)")
    if ended.code == 3 and "Landlock of ABI 6" in ended.err:
        pytest.skip(ended.err)
    assert ended.out == "1\n", ended.err
    return program


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the same user, with a secret in its environment."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={"SECRET": "42"})
    yield process
    process.kill()
    process.communicate(timeout=PATIENCE)


def outcomes(program: Program, *lines: str) -> list[str]:
    ended = program.run("-c", TRY_ALL.format(lines=lines))
    assert ended.code == 0, ended.err
    return ended.out.split()


def test_files_outside_are_closed(boxed: Program, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    secret = outside / "secret"
    secret.write_text("secret")
    closed = [
        f"open({str(secret)!r})",
        f"open({str(secret)!r}, 'a')",
        f"os.truncate({str(secret)!r}, 0)",
        f"os.rename({str(secret)!r}, 'mine')",
        f"os.link({str(secret)!r}, 'mine')",
        f"os.listdir({str(outside)!r})",
        f"open({str(outside / 'new')!r}, 'w')",
        "os.listdir(os.path.expanduser('~'))",
        "os.listdir('/tmp')",
        "open('/etc/passwd', 'a')",
        "open('/dev/kmsg')",
        "open('/dev/shm/x', 'w')",
        "open('/proc/sys/kernel/core_pattern', 'w')",
    ]
    assert set(outcomes(boxed, *closed)) <= {"PermissionError", "OSError"}
    assert secret.read_text() == "secret"
    by_command = boxed.run("-c", f"!cat {secret}; echo x >> {secret}")
    assert by_command.err.count("Permission denied") == 2
    assert list(outside.iterdir()) == [secret]


def test_work_goes_on(boxed: Program) -> None:
    lines = [
        "os.makedirs('a/b'); open('a/f', 'w').write('x'); os.rename('a/f', 'a/b/f'); assert open('a/b/f').read()",
        "import tempfile, shutil; f = tempfile.mkstemp()[1]; shutil.move(f, 'moved'); os.remove('moved')",
        "assert subprocess.run(['sh', '-c', 'exit 3']).returncode == 3",
        "a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'",
        "open('/etc/passwd').read()",
        "assert open('/dev/urandom', 'rb').read(1); open('/dev/null', 'w').write('x')",
        "import asyncio; asyncio.new_event_loop().close()",
        "import importlib.util as u; u.find_spec('numpy') and __import__('numpy').linalg.svd([[1, 2], [3, 4]])",
    ]
    assert outcomes(boxed, *lines) == ["done"] * len(lines)
    assert boxed.run("-c", "!echo $((6 * 7)) > out; cat out; rm out").out.strip() == "42"


def test_no_socket_leads_out(boxed: Program, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = str(tmp_path_factory.mktemp("service") / "s")
    with socket.socket(socket.AF_UNIX) as service, socket.socket(socket.AF_UNIX) as abstract:
        service.bind(path)
        service.listen()
        abstract.bind(f"\0ipybox-test-{os.getpid()}")
        abstract.listen()
        lines = [
            "socket.socket(socket.AF_INET)",
            "socket.socket(socket.AF_INET6)",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
            "socket.socket(socket.AF_UNIX)",
            "socket.create_server(('127.0.0.1', 0))",
        ]
        assert outcomes(boxed, *lines) == ["PermissionError"] * len(lines)
        # Unix sockets that are opened: those with a path are reached, as the docs say, those without are not.
        reach = "socket.socket(socket.AF_UNIX).connect({})"
        connects = [reach.format(repr(path)), reach.format(repr(abstract.getsockname()))]
        ended = boxed.run("--allow", "unix-sockets", "-c", TRY_ALL.format(lines=connects))
        assert ended.out.split() == ["done", "PermissionError"]


def test_other_processes_are_out_of_reach(boxed: Program, bystander: subprocess.Popen[bytes]) -> None:
    pid = bystander.pid
    lines = [
        f"os.kill({pid}, 0)",
        f"os.kill({os.getpid()}, 9)",
        f"open('/proc/{pid}/environ').read()",
        f"open('/proc/{pid}/mem').read()",
        f"open('/proc/{pid}/maps').read()",
        f"os.listdir('/proc/{pid}/root')",
        f"os.readlink('/proc/{pid}/cwd')",
    ]
    assert outcomes(boxed, *lines) == ["PermissionError"] * len(lines)
    assert "not permitted" in boxed.run("-c", f"!kill -9 {pid}").err
    assert bystander.poll() is None


def test_capabilities_and_privileges_are_gone(boxed: Program) -> None:
    status = boxed.run("-c", "!cat /proc/self/status\nprint(open('/proc/self/status').read())").out
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert status.count(f"{name}:\t0000000000000000") == 2
    assert status.count("NoNewPrivs:\t1") == 2


def test_shared_memory_by_name(boxed: Program) -> None:
    code = "import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as p: print(p.map(abs, [-1]))"
    assert "PermissionError" in boxed.run("-c", code).err
    config = {"filesystem": {"allowWrite": [".", "/dev/shm"]}}
    file = boxed.directory.with_name(boxed.directory.name + "-sandbox.json")
    file.write_text(json.dumps(config))
    assert boxed.run("--sandbox-config", str(file), "-c", code).out == "[1]\n"


def test_a_closed_part_of_the_working_directory_is_refused(boxed: Program) -> None:
    boxed.write(".env", "KEY=1")
    ended = boxed.run("-c", "1")
    assert ended.code == 3
    assert ".env must not be read" in ended.err
    assert "choose bubblewrap" in ended.err


def test_it_works_within_another_sandbox(boxed: Program) -> None:
    """Whose filter leaves it fewer system calls."""
    inner = f"mkdir -p /tmp/work && cd /tmp/work && {BINARY} run --sandbox landlock -c 'print(6 * 7)'"
    boxed.sandbox = "bubblewrap"
    ended = boxed.run("--python", PYTHON, "-c", f"!{inner}")
    assert ended.out.strip() == "42", ended


def test_hosts_are_refused(boxed: Program) -> None:
    ended = boxed.run("--allow-host", "example.org", "-c", "1")
    assert ended.code == 3
    assert "names hosts" in ended.err


def test_a_script_of_the_working_directory_runs(boxed: Program) -> None:
    boxed.write("script.py", "print(__file__.rsplit('/')[-1])")
    assert boxed.run("script.py").out == "script.py\n"


@pytest.mark.parametrize("name", ["ipybox run", "/bin/sh -c # A small parent", "-I -c"])
def test_nothing_is_left_when_one_is_killed(boxed: Program, name: str) -> None:
    host = boxed.start("-c", BUSY)
    assert host.stdout
    private = Path(host.stdout.readline().decode().strip())
    assert private.name.startswith("ipybox-landlock-")
    found = sorted((int(pid), line) for pid, _, line in (p.partition(" ") for p in boxed.processes()) if name in line)
    os.kill(found[0][0], signal.SIGKILL)
    if name.startswith("/bin/sh"):  # without which code goes on for a moment
        host.terminate()
    host.communicate(timeout=PATIENCE)
    wait_for(lambda: not boxed.processes())
    if name == "ipybox run":  # what a killed host leaves behind is removed by the next start
        assert boxed.run("-c", "1").code == 0
    wait_for(lambda: not private.exists())
    assert list(boxed.directory.iterdir()) == []


def test_best_is_bubblewrap_where_it_works(boxed: Program) -> None:
    boxed.sandbox = "best"
    assert boxed.run("-c", "import os; print(os.getppid())").out == "1\n"
    without = boxed.directory.with_name(boxed.directory.name + "-best.json")
    without.write_text(json.dumps({"bwrapPath": "/nonexistent/bwrap"}))
    code = "import tempfile; print(tempfile.gettempdir())"
    assert "/tmp/ipybox-landlock-" in boxed.run("--sandbox-config", str(without), "-c", code).out
