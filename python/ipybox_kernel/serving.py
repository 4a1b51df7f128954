"""How a kernel serves its host: request by request, whatever code has done to it."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.loop import BrokenLoop, MainLoop
from ipybox_kernel.tracebacks import Tracebacks, describe
from ipybox_kernel.wire import CONTROL, SHELL, Link

if TYPE_CHECKING:
    from ipybox_kernel.originals import Originals
    from ipybox_kernel.session import LeanSession, Sink
    from ipybox_kernel.streams import Streams
    from ipybox_kernel.warming import WarmUp

MOST_NAMES = 5  # in a notice
MOST_FAILURES = 5  # of the machinery, in a row
MOST_MENDED = 5  # times for one request: a thread of code may break again and again what is put back

T = TypeVar("T")


class Serving:
    """The part of a kernel that takes requests and runs the loop. A cell can fail, this cannot."""

    if TYPE_CHECKING:
        shell: Any
        session: LeanSession
        link: Link | None
        backlog: deque[tuple[int, list[memoryview]]]
        originals: Originals | None
        mended: int
        io_loop: MainLoop
        streams: Streams
        tracebacks: Tracebacks
        warm_up: WarmUp
        replies: Sink
        execution_count: int
        shell_handlers: dict[str, Callable[..., Any]]
        set_parent: Callable[..., None]
        keep: Callable[[int, list[memoryview]], None]
        write_notice: Callable[[str], None]

    def serve(self) -> None:
        """Handles requests, one after the other. Returns between two of them."""
        failures = 0  # of the machinery, in a row
        while not self.shell.exit_now:
            try:
                self.serve_next()
                failures = 0
            except EOFError:
                return
            except Exception:
                failures += 1
                if failures == MOST_FAILURES:
                    raise
                self.mend()

    def serve_next(self) -> None:
        """Handles one request, or waits; raises EOFError when there will be no more."""
        assert self.link
        message = self.backlog.popleft() if self.backlog else self.link.receive()
        if message and self.is_shutdown(*message):
            raise EOFError
        if message:
            self.take(*message)
        else:
            self.rest(self.link.socket.fileno())

    def rest(self, fd: int) -> None:
        """Waits until there is something to read. If that takes a while, the first error is prepared meanwhile."""
        while not self.io_loop.rest(fd, self.warm_up.wait if self.warm_up.pieces else None):
            if self.tracebacks.rendered:
                self.warm_up.drop()
            else:
                self.warm_up.step()

    def is_shutdown(self, channel: int, frames: list[memoryview]) -> bool:
        """Whether the host wants this kernel to end. It does not ask while a cell runs."""
        return channel == CONTROL and self.session.parse(frames)["msg_type"] == "shutdown_request"

    def take(self, channel: int, frames: list[memoryview]) -> None:
        """Handles one message of the host. Whatever happens, a request is answered."""
        if channel != SHELL:
            return  # late: this input is not waited for, the cell to be interrupted has ended
        self.mended = 0
        request = self.insist(partial(self.session.parse, frames))
        self.session.begin(request, frames)
        while True:
            try:
                self.run_in_loop(request)
                return
            except Exception as error:
                interrupts.disarm()
                if not self.mend() or interrupts.begun:
                    self.insist(partial(self.refuse, request, error))
                    return

    def run_in_loop(self, request: dict[str, Any]) -> None:
        """Handles a request; once more in another loop if code has left one in which it cannot begin."""
        interrupts.begun = False
        try:
            self.io_loop.run(self.handle(request))
        except BrokenLoop:
            if interrupts.begun:
                raise
            self.io_loop.run(self.handle(request))

    async def handle(self, request: dict[str, Any]) -> None:
        """Handles one request, as ipykernel does; again if it could not begin, for what earlier code has replaced."""
        while True:
            try:
                await self.handle_once(request)
                return
            except BaseException as error:
                mended = self.mend()
                if not mended or interrupts.begun or not isinstance(error, Exception):
                    self.insist(partial(self.refuse, request, error))
                    return

    async def handle_once(self, request: dict[str, Any]) -> None:
        try:
            self.set_parent([], request)
            interrupts.arm(cell=request["msg_type"] == "execute_request")
            if interrupts.early:
                self.check_early_interrupt(request)
            handler = self.shell_handlers[request["msg_type"]]
            result = handler(self.replies, [], request)
            if inspect.isawaitable(result):
                await result
        finally:
            interrupts.disarm()

    def insist(self, step: Callable[[], T]) -> T:
        """Does a step that must not fail: if it does, what code has replaced is put back first."""
        while True:
            try:
                return step()
            except Exception:
                if not self.mend():
                    raise

    def mend(self) -> bool:
        """Puts back what code has put in the place of what the kernel lives on; whether there was anything."""
        if not self.originals or self.mended == MOST_MENDED or not (put_back := self.originals.mend()):
            return False
        self.mended += 1
        more = f" and {len(put_back) - MOST_NAMES} more" if len(put_back) > MOST_NAMES else ""
        self.write_notice(
            f"the kernel cannot work without what code has replaced or removed, and has put it back: "
            f"{', '.join(put_back[:MOST_NAMES])}{more}"
        )
        return True

    def check_early_interrupt(self, request: dict[str, Any]) -> None:
        """Stops a request whose interrupt came before it was read: its announcement is right behind it."""
        interrupts.early = False
        if not self.link:
            return
        with interrupts:
            while message := self.link.receive():
                if message[0] == CONTROL:
                    announced = self.session.parse(message[1])
                    if announced["content"].get("msg_id") == request["msg_id"]:
                        raise KeyboardInterrupt
                else:
                    self.keep(*message)

    def refuse(self, request: dict[str, Any], error: BaseException) -> None:
        """Answers a request that could not be handled."""
        kind, _, suffix = request["msg_type"].rpartition("_")
        self.streams.flush()
        if suffix == "request":
            content = {"status": "error", "execution_count": self.execution_count, **describe(error)}
            self.session.send(self.replies, f"{kind}_reply", content, request)

    def mend_loop(self) -> None:
        """There is about to be another event loop."""
        self.mend()
        self.write_notice("the event loop could not run any more: there is a fresh one, without the tasks of the old")
