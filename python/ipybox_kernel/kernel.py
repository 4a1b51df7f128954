"""The kernel: ipykernel's, with everything between it and the host replaced."""

from __future__ import annotations

import asyncio
import builtins
import gc
import getpass
import os
import socket
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from ipykernel.ipkernel import IPythonKernel
from IPython.core.error import StdinNotImplementedError

from ipybox_kernel import debugging, hints, hooks, limits, magics, shutdown
from ipybox_kernel.cells import Cells, name_cells_in_warnings
from ipybox_kernel.formats import PlainFormats
from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.leaving import Exit, exit_code
from ipybox_kernel.loop import MainLoop
from ipybox_kernel.serving import Serving
from ipybox_kernel.session import Sink
from ipybox_kernel.shell import ShellCommands
from ipybox_kernel.streams import Streams
from ipybox_kernel.tracebacks import Mended, Tracebacks, as_interrupt, describe
from ipybox_kernel.warming import WarmUp
from ipybox_kernel.wire import IOPUB, SHELL, STDIN, Link

if TYPE_CHECKING:
    from ipybox_kernel.journal import Journal
    from ipybox_kernel.originals import Originals

#: What the kernel itself puts into modules of all code.
REPLACED = [
    ("builtins", "input"),
    ("getpass", "getpass"),
    *(("sys", name) for name in ("breakpointhook", "unraisablehook", "stdin", "stdout", "stderr")),
    *(("sys", name) for name in ("__stdin__", "__stdout__", "__stderr__")),
    ("signal", "signal"),
    ("signal", "getsignal"),
    ("warnings", "formatwarning"),
]
END_OF_INPUT = "\x04"


class HandlersKernel(Serving, IPythonKernel):
    """ipykernel's own handlers, over a Link."""

    level = "handlers"

    def __init__(self, **options: Any) -> None:
        super().__init__(iopub_socket=Sink(IOPUB), stdin_socket=Sink(STDIN), **options)
        # Python drops an interrupt that strikes there; what it cleans up is a number for each thread that has ended.
        gc.callbacks[:] = [call for call in gc.callbacks if getattr(call, "__self__", None) is not self]
        self.replies = Sink(SHELL)
        self.streams = Streams(self.session, self.iopub_socket)
        self.commands = ShellCommands(self.shell, self.streams)
        self.program_magics = magics.of_programs(self.shell)
        # ipykernel's compiler invents files, for its debugger; IPython trips over them
        self.cells = self.shell.compile = Cells(self.shell.input_transformer_manager.cleanup_transforms, self.mend)
        self.tracebacks = Tracebacks(self.shell, self.cells, self.publish_error, self.mend)
        self.warm_up = WarmUp(self.shell)
        self.shell.displayhook.quiet = self.quiet
        self.formats = PlainFormats(self.shell.display_formatter, self.tracebacks)
        hooks.wrap(self.shell, self.tracebacks)
        self.shell.exiter = Exit(self.shell)
        for namespace in (self.shell.user_ns, self.shell.user_ns_hidden):
            namespace.update(exit=self.shell.exiter, quit=self.shell.exiter)
        self.loop_runner = self.shell.loop_runner
        self.link: Link | None = None
        self.originals: Originals | None = None
        self.open_files = limits.OpenFiles()
        self.mended = 0  # times, for the request that is being handled
        self.backlog: deque[tuple[int, list[memoryview]]] = deque()  # requests that came while a cell read input
        self.home: str | None = None  # where a cell that went elsewhere is brought back to
        self.exit_status = 0  # of this process, when it ends by itself
        self._execute_sleep = 0.0

    # Life

    def run(
        self, link: Link, outputs: list[tuple[int, int]], journal: Journal, restore_cwd: bool, first: bool
    ) -> NoReturn:
        """Lives as a kernel, until ``exit()``, a request to shut down or the end of file.

        The first one of a supervisor prepares its first error. Later ones are forked from one that is warm; those that
        come before it is would each pay for it with 6 MB that they share with no other.
        """
        self.link = link
        self.cells.forget()
        name_cells_in_warnings(self.cells)
        self.home = os.getcwd() if restore_cwd else None
        self.session.connect(link)
        interrupts.install()
        self.streams.open(outputs, journal)
        builtins.input, getpass.getpass = self.raw_input, self.getpass
        sys.breakpointhook = debugging.stop
        if self.originals:
            self.originals.replaced(REPLACED)
        self.open_files = limits.OpenFiles()
        self.io_loop = MainLoop()
        self.io_loop.mend = self.mend_loop
        self.shell_channel_thread = self.main_thread()
        if first and not self.tracebacks.rendered:
            self.warm_up.plan()
        own = shutdown.open_for_writing()
        self.publish_status("starting")
        self.serve()
        shutdown.end(self.streams, self.shell, self.exit_status, own)

    def connect_actions(self, stream: socket.socket) -> None:
        """Lets cells ask the host for tools and programs."""
        from ipybox_kernel import actions, aliases

        actions.current = actions.ActionChannel(stream, self.cell, self.output_before_question)
        self.commands.ask(actions.current)
        magics.install(self.shell, self.commands, self.program_magics)
        aliases.install()

    def cell(self) -> str:
        """The id of the request that is being handled."""
        return self.session.request.get("msg_id", "") if interrupts.armed else ""

    def output_before_question(self) -> int:
        """Sends what was printed; returns the number of the last message, which the host has to see before it asks."""
        assert self.link
        self.streams.flush_before_question()
        return self.link.sent - 1  # the first one, a sign of life, has number 0

    def main_thread(self) -> Any:
        """ipykernel 7 asks it whether a cell runs in the main thread, ipykernel 6 does not."""
        return SimpleNamespace(parent_thread=threading.main_thread())

    def publish_status(self, state: str) -> None:
        self.session.send(self.iopub_socket, "status", {"execution_state": state}, self.get_parent("shell"))

    def publish_error(self, content: dict[str, Any]) -> None:
        self.streams.err.write(hints.of_missing(content["evalue"]))
        self.streams.flush()
        self.session.send(self.iopub_socket, "error", content, self.get_parent("shell"))

    # Cells

    async def execute_request(self, stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        """Runs a cell between busy and idle, as Jupyter has it."""
        content = parent["content"]
        content.update(code=content["code"], stop_on_error=False)  # without code ipykernel would not even reply
        self.publish_status("busy")
        await super().execute_request(stream, ident, parent)
        self.publish_status("idle")

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: dict[str, str] | None = None,
        allow_stdin: bool = False,
        **cell: Any,
    ) -> dict[str, Any]:
        """Runs a cell; returns the content of its reply when everything it put out has been sent."""
        self.tracebacks.begin()
        if not silent:
            metadata = self.get_parent("shell").get("metadata", {})
            self.cells.begin(metadata.get("title"), metadata.get("number"))
        self.shell.displayhook.do_full_cache = store_history  # else there are no numbers for `Out`
        try:
            try:
                reply = await self.run_mended(code, silent, store_history, user_expressions or {})
            finally:
                interrupts.disarm()
            error = self.tracebacks.display_error
        except BaseException as stopped:
            interrupts.disarm()
            self.mend()
            reply, error = self.reply({}), as_interrupt(stopped)
            self.tracebacks.show((type(error), error, error.__traceback__))
        if error is not None:
            reply.update(describe(error), status="error")
        if reply["status"] == "error":
            reply["traceback"] = (self.session.last_error or {}).get("traceback", [])
        self.tell_exit(reply)
        self.finish_cell()
        return reply

    async def run_mended(self, *cell: Any) -> dict[str, Any]:
        """Runs a cell; again if the machinery could not even begin it, for what earlier code has replaced."""
        while True:
            try:
                return await self.run_cell(*cell)
            except Mended:
                continue
            except Exception:
                if interrupts.begun or not self.mend():
                    raise

    def tell_exit(self, reply: dict[str, Any]) -> None:
        """Adds the exit code of a cell that wants to leave. ``exit()`` is no error: its cell has come to its end."""
        left = self.tracebacks.left
        if self.shell.exit_now and not self.shell.keepkernel_on_exit:
            self.exit_status = reply["exit_code"] = exit_code(self.shell.exiter.status)
            if reply.get("ename") == "SystemExit":
                reply["status"] = "ok"
        elif left is not None:
            reply["exit_code"] = exit_code(left.code)

    async def run_cell(
        self, code: str, silent: bool, store_history: bool, user_expressions: dict[str, str]
    ) -> dict[str, Any]:
        """Runs a cell and returns the content of its reply."""
        reply: dict[str, Any] = await super().do_execute(
            code, silent, store_history, user_expressions, self.stdin_allowed()
        )
        if interrupts.cancelled and reply.get("ename") == "CancelledError":
            reply.update(describe(KeyboardInterrupt()))
        return reply

    @contextmanager
    def _cancel_on_sigint(self, task: asyncio.Task[Any]) -> Iterator[None]:
        """While an ``await`` cell runs. ipykernel would handle the signal itself, and tell the host nothing."""
        interrupts.task = task
        try:
            yield
        finally:
            interrupts.task = None

    def reply(self, expressions: dict[str, Any]) -> dict[str, Any]:
        """The content of a reply to a cell that did not fail."""
        payload = self.shell.payload_manager.read_payload()
        self.shell.payload_manager.clear_payload()
        return {
            "status": "ok",
            "execution_count": self.shell.execution_count - 1,
            "user_expressions": expressions,
            "payload": payload,
        }

    def quiet(self) -> bool:
        """Whether the cell ends in a semicolon. (IPython looks at the end of its history: another cell, perhaps.)"""
        code = self.get_parent("shell").get("content", {}).get("code", "")
        return ";" in code and bool(self.shell.displayhook.semicolon_at_end_of_expression(code))

    def finish_cell(self) -> None:
        """Puts the working directory right and sends everything that was written."""
        if self.streams.forked:
            self.streams.flush()
            os._exit(0)  # a child that a cell forked and did not end
        self.restore_cwd()
        if self.link and (notice := self.open_files.raise_again(self.link.socket.fileno())):
            self.write_notice(notice)
        self.streams.flush()

    def restore_cwd(self) -> None:
        if self.home is None:
            return
        try:
            if os.getcwd() == self.home:
                return
        except FileNotFoundError:
            self.warm_up.plan()
        try:
            os.chdir(self.home)
            self.write_notice(f"cwd reset to {self.home}")
        except OSError as error:
            self.write_notice(f"cwd cannot be reset to {self.home}: {error.strerror}")

    def write_notice(self, text: str) -> None:
        """Says something behind the output of the cell, on a line of its own."""
        self.streams.flush()
        line_end = "\n" if self.session.in_line else ""
        self.streams.out.write(f"{line_end}[ipybox] {text}\n")

    # Input

    def stdin_allowed(self) -> bool:
        return bool(self.get_parent("shell").get("content", {}).get("allow_stdin"))

    def raw_input(self, prompt: object = "") -> str:
        """``input()``: asks the host."""
        return self.ask("input", str(prompt), password=False)

    def getpass(self, prompt: str = "Password: ", stream: object = None, *, echo_char: str | None = None) -> str:
        """``getpass.getpass()``: asks the host, which does not show the answer."""
        return self.ask("getpass", prompt, password=True)

    def ask(self, function: str, prompt: str, *, password: bool) -> str:
        if not self.stdin_allowed() or threading.current_thread() is not threading.main_thread():
            raise StdinNotImplementedError(f"{function}() was called, but the host answers no input here.")
        assert self.link
        self.streams.flush()
        while self.next_input():
            pass  # stale
        content = {"prompt": prompt, "password": password}
        self.session.send(self.stdin_socket, "input_request", content, self.get_parent("shell"))
        while not (frames := self.next_input()):
            self.link.wait()
        value = str(self.session.parse(frames)["content"].get("value", ""))
        if value == END_OF_INPUT:
            raise EOFError
        return value

    def next_input(self) -> list[memoryview] | None:
        """The answer of the host, if it is there. Requests that come before it must not be lost to an interrupt."""
        assert self.link
        with interrupts:
            while message := self.link.receive():
                if message[0] == STDIN:
                    return message[1]
                self.keep(*message)
        return None

    def keep(self, channel: int, frames: list[memoryview]) -> None:
        """Puts a request aside that came too early. Input that came too late is dropped."""
        if channel == SHELL:
            self.backlog.append((channel, frames))
