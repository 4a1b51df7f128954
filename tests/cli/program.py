"""Runs the program `ipybox` as a user does: as a process with arguments, files, pipes and a terminal."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from open_interpreter import open_program

BINARY = os.environ["IPYBOX_BINARY"]
PYTHON = os.environ["IPYBOX_PYTHON"]

#: No test waits longer for anything.
PATIENCE = float(os.environ.get("IPYBOX_TEST_PATIENCE", "120"))

#: Says where its temporary files go, starts a process in a session of its own, and stays.
BUSY = """
import os, subprocess, tempfile
subprocess.Popen(["setsid", "sleep", "1000"])
print(tempfile.gettempdir(), flush=True)
while True:
    try:
        while True: pass
    except BaseException: pass
"""

#: Rows and columns of a terminal on which each question of a test has one row.
WIDE = (24, 400)

#: Code that displays a picture.
ONE_PIXEL = """
from IPython.display import display, Image
import base64
png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
display(Image(base64.b64decode(png)))
"""


def assert_usage_error(said: str, why: str, command: str) -> None:
    """A usage error has two lines: the reason, and what tells more, of a command or of the program."""
    first, second = said.splitlines()
    assert first.startswith("ipybox: ")
    assert why in first
    assert second == f"`{f'ipybox {command}'.rstrip()} --help` tells more."


def wait_for(what: Callable[[], bool]) -> None:
    """Waits until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@dataclass
class Ended:
    """A run that has ended."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """The lines of --json. Every line must be an event."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def approvals(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == "approval"]

    @property
    def results(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == "result"]


def _with_default_signals() -> None:
    # A test run in the background of a script inherits SIGINT as ignored, which the program would respect.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@dataclass
class Program:
    """Starts the program in a directory of its own, and knows which processes stem from it."""

    directory: Path
    sandbox: str = "none"
    env: dict[str, str] = field(default_factory=dict)
    user: int | None = None  # this one, unless it is set
    _mark: str = field(default_factory=lambda: f"/ipybox-test/{uuid.uuid4()}")

    def write(self, name: str, text: str | bytes) -> str:
        path = self.directory / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    @property
    def outside(self) -> Path:
        """A directory that is not the code's."""
        folder = self.directory.with_name(self.directory.name + "-outside")
        folder.mkdir(exist_ok=True)
        return folder

    def environment(self) -> dict[str, str]:
        # PATH is what every process below inherits, into the sandbox too: a folder that is not there marks them.
        path = f"{self.env.get('PATH', os.environ['PATH'])}:{self._mark}"
        return {**os.environ, "XDG_STATE_HOME": str(self.state), **self.env, "PATH": path}

    @property
    def state(self) -> Path:
        """Where the program keeps what later runs get."""
        return self.directory.with_name(self.directory.name + "-state")

    def arguments(self, *arguments: str) -> list[str]:
        binary = BINARY if self.user is None else open_program(BINARY)
        return [binary, "run", "--sandbox", self.sandbox, *arguments]

    def run(self, *arguments: str, stdin: str | bytes | None = None) -> Ended:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        ended = subprocess.run(
            self.arguments(*arguments),
            cwd=self.directory,
            env=self.environment(),
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            timeout=PATIENCE,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )
        return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def apigen(self, *arguments: str) -> Ended:
        return self.without_sandbox("apigen", *arguments)

    def without_sandbox(self, command: str, *arguments: str) -> Ended:
        """A command that needs none of the options of `run`."""
        ended = subprocess.run(
            [BINARY, command, *arguments],
            cwd=self.directory,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
        )
        return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def mcp(self, *arguments: str) -> list[str]:
        return [BINARY, "mcp", "--workspace", str(self.directory), "--sandbox", self.sandbox, *arguments]

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        return self.start_command(self.arguments(*arguments), **options)

    def start_command(self, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        usual = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "preexec_fn": _with_default_signals,
        }
        return subprocess.Popen(command, cwd=self.directory, env=self.environment(), **{**usual, **options})

    def on_terminal(self, *arguments: str, size: tuple[int, int] = WIDE) -> Terminal:
        return Terminal(self, arguments, size)

    def processes(self) -> list[str]:
        """What still runs of all that this program has started."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                if self._mark.encode() in (entry / "environ").read_bytes():
                    found.append(entry.name + " " + (entry / "cmdline").read_bytes().decode().replace("\0", " ")[:200])
        return found

    def assert_all_gone(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self.processes() == []


class Terminal:
    """The program in the foreground of a terminal."""

    def __init__(self, program: Program, arguments: tuple[str, ...], size: tuple[int, int]) -> None:
        self.seen = ""
        self.received = b""  # all of it
        self._master, slave = pty.openpty()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

        def take_terminal() -> None:
            _with_default_signals()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            program.arguments(*arguments),
            cwd=program.directory,
            env=program.environment(),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        self._slave = slave

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self._slave)[3] & termios.ECHO)

    def expect(self, pattern: str, patience: float = PATIENCE) -> re.Match[str]:
        """Waits for output; what came before it is done with."""
        deadline = time.monotonic() + patience
        while not (match := re.search(pattern, self.seen)):
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._master], [], [], max(left, 0))
            assert ready, f"{pattern!r} did not come, but {self.seen!r}"
            self._read()
        self.seen = self.seen[match.end() :]
        return match

    def _read(self) -> None:
        data = os.read(self._master, 65536)
        self.received += data
        self.seen += self._decoder.decode(data)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def answer_behind_another(self, text: str) -> None:
        """Answers a question that took the place of another one, which cannot be done at once."""
        time.sleep(0.9)
        self.type(text)

    def press_ctrl_c(self) -> None:
        self.type("\x03")

    def wait(self) -> int:
        code = self.process.wait(PATIENCE)
        while select.select([self._master], [], [], 0)[0]:
            self._read()
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)
        os.close(self._slave)


Terminals = Callable[..., Terminal]
