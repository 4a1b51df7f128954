"""``!command``, ``x = !command`` and their magics: runs shell commands for cells."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from IPython.utils.text import LSString, SList

from ipybox_kernel import hints, packages
from ipybox_kernel.pipe import Pump

if TYPE_CHECKING:
    from ipybox_kernel.actions import ActionChannel
    from ipybox_kernel.programs import Programs

SHELL = "/bin/sh"
INTERRUPT_GRACE = 0.25

Write = Callable[[str], Any]


class ShellCommands:
    """Takes the place of the shell's ``system`` and ``getoutput``, which need pexpect and a tenth of a second."""

    def __init__(self, shell: Any, streams: Any) -> None:
        self.shell = shell
        self.streams = streams
        self.programs: Programs | None = None  # the host's; the kernel starts its own where there are none
        shell.system = shell.system_piped = shell.system_raw = self.system
        shell.getoutput = self.getoutput

    def ask(self, channel: ActionChannel) -> None:
        """From now on the host is asked for programs; the kernel starts none itself."""
        from ipybox_kernel import programs

        self.programs = programs.Programs(channel)

    def system(self, cmd: str) -> None:
        """Runs a command; its output appears as the cell's."""
        self.show(self.shell.var_expand(cmd, depth=1), "shell")

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Runs a command and returns what it writes, to stdout and stderr."""
        command = self.shell.var_expand(cmd, depth=depth + 1)
        parts: list[str] = []
        output = hints.Output()
        write = output.to(parts.append)
        if self.programs:
            code = self.programs.run([SHELL, "-c", command], "shell", write, None)
        else:
            code = run(command, write, None)
        self.finish(command, code, output)
        text = "".join(parts)
        return SList(text.splitlines()) if split else LSString(text)

    def show(self, command: str, kind: str) -> None:
        """Runs a command that has no more variables in it; its output appears as the cell's."""
        if self.programs:
            self.run([SHELL, "-c", command], kind, command)
            return
        self.streams.flush()
        code = run(command, self._target(sys.stdout, self.streams.out), self._target(sys.stderr, self.streams.err))
        self.streams.flush()
        self.finish(command, code, hints.Output())

    def install(self, argv: list[str]) -> None:
        """Has the host run pip, which takes nothing from this kernel but its words."""
        self.run(argv, "package", " ".join(argv), inherits=False)

    def run(self, argv: list[str], kind: str, command: str, *, inherits: bool = True) -> None:
        """Has the host run a program; its output appears as the cell's."""
        assert self.programs
        output = hints.Output()
        self.streams.flush()
        to = output.to(sys.stdout.write), output.to(sys.stderr.write)
        code = self.programs.run(argv, kind, *to, inherits=inherits)
        self.streams.flush()
        self.finish(command, code, output, on_host=kind == "package" and packages.layer is not None)

    def finish(self, command: str, code: int, output: hints.Output, *, on_host: bool = False) -> None:
        """Keeps the exit code, and explains failures by the sandbox, in which programs of the host do not run."""
        self.shell.user_ns["_exit_code"] = code
        if not on_host:
            print(hints.of_command(command, code, output), end="", file=sys.stderr)
        if getattr(self.shell, "system_raise_on_error", False) and code:
            raise subprocess.CalledProcessError(code, command)

    @staticmethod
    def _target(stream: Any, own: Any) -> Any:
        """Our own stream as it is: the command inherits it. Any other (``%%capture``) has to be written to."""
        return own if stream is own else stream.write


def run(command: str, stdout: Write | IO[str], stderr: Write | IO[str] | None) -> int:
    """Runs a command in the kernel's process group and returns its exit code, negative if a signal ended it.

    A target is an open file, which the command inherits, or a function that gets its text; stderr may be None for
    "where stdout goes".
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


def forward(process: subprocess.Popen[bytes], pumps: dict[int, Pump]) -> None:
    """Forwards until the process has ended. A background process may hold the pipes open: that is not waited for."""
    ended = os.pidfd_open(process.pid)
    poller = select.poll()
    for fd in (ended, *pumps):
        poller.register(fd, select.POLLIN)
    try:
        while True:
            ready = [fd for fd, _ in poller.poll()]
            if ended in ready:
                for pump in pumps.values():
                    pump.finish()
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
