"""Programs that the host is asked to run: they are no children of the kernel."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from ipybox_kernel.actions import ActionChannel, ToolRunnerError
from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.pipe import Pump

GRACE = 0.5  # for a program to end that was cancelled, so that it does not run on beside the next cell

Write = Callable[[str], Any]


class Programs:
    """Asks for programs. They get the environment of the kernel, with what cells have changed in it."""

    def __init__(self, channel: ActionChannel) -> None:
        self.channel = channel
        self.environment = dict(os.environ)  # the host knows this one

    def run(
        self,
        argv: list[str],
        kind: str,
        stdout: Write,
        stderr: Write | None,
        body: bytes = b"",
        *,
        inherits: bool = True,
    ) -> int:
        """Runs a program to its end, forwards its output and returns its exit code; without stderr both are one."""
        program = None
        try:
            with interrupts:
                program = self.start(argv, kind, body, merge=stderr is None, inherits=inherits)
            return program.forward(stdout, stderr or stdout)
        finally:
            if program:
                program.close()

    def start(
        self, argv: list[str], kind: str, body: bytes = b"", *, merge: bool = False, inherits: bool = True
    ) -> Program:
        """Asks for a program, which inherits the environment unless the host gives it one of its own."""
        env = self.changes() if inherits else {}
        head = {"kind": kind, "argv": argv, "cwd": os.getcwd(), "env": env, "merge": merge}
        return Program(self.channel, head, body)

    def changes(self) -> dict[str, str | None]:
        """How the environment differs from the one that the host knows."""
        now = dict(os.environ)
        if now == self.environment:
            return {}
        changed = {name: value for name, value in now.items() if self.environment.get(name) != value}
        return {**changed, **dict.fromkeys(self.environment.keys() - now.keys())}


class Program:
    """A program of the host, with what a `subprocess.Popen` has while it runs."""

    def __init__(self, channel: ActionChannel, head: dict[str, Any], body: bytes) -> None:
        self.args = head["argv"]
        self.pid = None  # of another process's children
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        self._code: int | None = None
        self._descriptors: list[int] = []  # read ends of its output
        self._channel = channel
        self._request = channel.ask("run", head, body)

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative if a signal ended it; None while it runs."""
        if self._code is None:
            self._channel.receive()
            if self._request.answers:
                self._take()
        return self._code

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end and returns its exit code."""
        while self._code is None:
            self._channel.wait(self._request, timeout=timeout)
            if timeout is not None and not self._request.answers:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self._take()
        return self._code

    def terminate(self) -> None:
        """Asks for its end: it is interrupted, and killed if that does not help."""
        self._channel.cancel(self._request)

    kill = terminate

    def send_signal(self, number: int) -> None:
        """The same, for the signals that end programs; others cannot be sent."""
        if number not in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            raise ValueError(f"A program can be made to end; signal {number} cannot be sent to it.")
        self.terminate()

    def forward(self, *targets: Write) -> int:
        """Forwards its output until it has ended. Background processes that hold the pipes open are not waited for."""
        pumps = {fd: Pump(fd, write) for fd, write in zip(self._started(), targets, strict=False)}
        while self._code is None:
            self._forward_once(pumps)
        for pump in pumps.values():
            pump.finish()
        return self._code

    def background(self, *, keep_stdout: bool, keep_stderr: bool) -> None:
        """Lets it run beside the cells, with ``stdout`` and ``stderr`` to be read; what is not kept is read away."""
        self._started()
        with interrupts:
            pipes = [os.fdopen(fd, "rb") for fd in self._descriptors]
            self._descriptors.clear()
        for name, keep, pipe in zip(("stdout", "stderr"), (keep_stdout, keep_stderr), pipes, strict=False):
            if keep:
                setattr(self, name, pipe)
            else:
                threading.Thread(target=read_away, args=(pipe,), daemon=True).start()

    def close(self) -> None:
        """Lets go of it; if it has not ended it is made to, for which there is a moment."""
        with interrupts:
            try:
                if self._code is None:
                    self.terminate()
                    self._linger()
            finally:
                self._channel.forget(self._request)
                for fd in self._descriptors:
                    os.close(fd)
                self._descriptors.clear()

    def _started(self) -> list[int]:
        """Waits until it runs; raises what keeps it from running. Returns the read ends of its output."""
        self._channel.wait(self._request)
        self._take()
        return self._descriptors

    def _forward_once(self, pumps: dict[int, Pump], timeout: float | None = None) -> None:
        ready = self._channel.wait(self._request, [*pumps], timeout)
        for fd in ready:
            if not pumps[fd].forward():
                del pumps[fd]
        if not ready:
            self._take()

    def _linger(self) -> None:
        pumps = {fd: Pump(fd, str) for fd in self._descriptors}
        end = time.monotonic() + GRACE
        try:
            while pumps and self._code is None and (left := end - time.monotonic()) > 0:
                self._forward_once(pumps, left)
        except (ToolRunnerError, KeyboardInterrupt):
            pass  # what ended the waiting before is more to the point

    def _take(self) -> None:
        with interrupts:
            answer = self._request.take()
            self._descriptors += answer.descriptors
            if answer.head["op"] == "exited":
                code, number = answer.head.get("code"), answer.head.get("signal")
                self._code = code if number is None else -number


def read_away(pipe: IO[bytes]) -> None:
    """Reads to the end, so that no writer waits for a reader."""
    with pipe:
        while pipe.read(1 << 16):
            pass
