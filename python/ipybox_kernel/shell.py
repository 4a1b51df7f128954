"""``!command``, ``x = !command`` and their magics: runs shell commands for cells."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable
from typing import IO, Any

from IPython.utils.text import LSString, SList

from ipybox_kernel.pipe import available, text_decoder

SHELL = "/bin/sh"
READ = 65536
INTERRUPT_GRACE = 0.25

Write = Callable[[str], Any]


class ShellCommands:
    """Takes the place of the shell's ``system`` and ``getoutput``, which need pexpect and a tenth of a second."""

    def __init__(self, shell: Any, streams: Any) -> None:
        self.shell = shell
        self.streams = streams
        shell.system = shell.system_piped = shell.system_raw = self.system
        shell.getoutput = self.getoutput

    def system(self, cmd: str) -> None:
        """Runs a command; its output appears as the cell's."""
        command = self.shell.var_expand(cmd, depth=1)
        self.streams.flush()
        code = run(command, self._target(sys.stdout, self.streams.out), self._target(sys.stderr, self.streams.err))
        self.streams.flush()
        self.shell.user_ns["_exit_code"] = code
        if getattr(self.shell, "system_raise_on_error", False) and code:
            raise subprocess.CalledProcessError(code, command)

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Runs a command and returns what it writes, to stdout and stderr."""
        parts: list[str] = []
        run(self.shell.var_expand(cmd, depth=depth + 1), parts.append, None)
        text = "".join(parts)
        return SList(text.splitlines()) if split else LSString(text)

    @staticmethod
    def _target(stream: Any, own: Any) -> Any:
        """Our own stream as it is: the command inherits it. Any other (``%%capture``) has to be written to."""
        return own if stream is own else stream.write


def run(command: str, stdout: Write | IO[str], stderr: Write | IO[str] | None) -> int:
    """Runs a command in the kernel's process group and returns its exit code, negative if a signal ended it.

    A target is an open file, which the command inherits, or a function that gets its text; stderr may be None for
    "where stdout goes". This is the one place where a command starts.
    """
    out, err = (subprocess.PIPE if callable(target) else target for target in (stdout, stderr or stdout))
    process = subprocess.Popen(
        [SHELL, "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT if stderr is None else err,
    )
    pipes = [(process.stdout, stdout), (process.stderr, stderr)]
    pumps = {pipe.fileno(): Pump(pipe.fileno(), write) for pipe, write in pipes if pipe and callable(write)}
    try:
        forward(process, pumps)
        return process.wait()
    finally:
        stop(process)
        for pipe, _ in pipes:
            if pipe:
                pipe.close()


class Pump:
    """Forwards what arrives in a pipe as text."""

    def __init__(self, fd: int, write: Write) -> None:
        self.fd = fd
        self.write = write
        self.decoder = text_decoder()

    def forward(self, size: int = READ) -> bool:
        """Forwards one piece; false at the end of file."""
        data = os.read(self.fd, size)
        text = self.decoder.decode(data, final=not data)
        if text:
            self.write(text)
        return bool(data)

    def forward_available(self) -> None:
        if size := available(self.fd):
            self.forward(size)


def forward(process: subprocess.Popen[bytes], pumps: dict[int, Pump]) -> None:
    """Forwards until the process has ended. A background process may hold the pipes open: nobody waits for that."""
    ended = os.pidfd_open(process.pid)
    poller = select.poll()
    for fd in (ended, *pumps):
        poller.register(fd, select.POLLIN)
    try:
        while True:
            ready = [fd for fd, _ in poller.poll()]
            if ended in ready:
                for pump in pumps.values():
                    pump.forward_available()
                return
            for fd in ready:
                if not pumps[fd].forward():
                    poller.unregister(fd)
    finally:
        os.close(ended)


def stop(process: subprocess.Popen[bytes]) -> None:
    """After an interrupt, which the command got as well: waits a moment for it, then kills it."""
    if process.poll() is not None:
        return
    try:
        process.wait(INTERRUPT_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
