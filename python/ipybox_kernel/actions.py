"""The action socket: what a kernel asks its host to do. Requests of any thread and any loop, answers in any order."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from threading import get_ident
from typing import Any

from ipybox_kernel.inbox import READ, Answer, Inbox
from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.service import Bell

MAX_REQUEST = 65 << 20  # bytes; what is larger the host does not read
MAX_HEAD = 256 << 10
FINAL = ("result", "exited", "error")  # no further answer follows
ABSENT = "No actions are possible here: the host takes none from this kernel."
ENDED = "No actions are possible any more: the host has closed their channel."
FORKED = "Actions are possible in the kernel itself only, not in a process that it has forked."

to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class ToolRunnerError(Exception):
    """An action could not be done, or failed."""


class ApprovalRejectedError(ToolRunnerError, PermissionError):
    """An action was rejected; the text is the reason."""

    #: Who decided: `rule`, `policy` (the application, or a person it asks), `no_policy`, `budget`, `cancellation`, …
    decided_by = ""


class ApprovalTimeoutError(ToolRunnerError):
    """No decision about an action came in time."""

    decided_by = "timeout"


current: ActionChannel | None = None


def channel() -> ActionChannel:
    """This kernel's way to its host."""
    if current is None:
        raise ToolRunnerError(ABSENT)
    return current


def failure(head: dict[str, Any]) -> Exception:
    """The exception that an error of the host is raised as."""
    kind, text = head.get("kind"), str(head.get("text"))
    if kind == "rejected":
        rejection = ApprovalRejectedError(text)
        rejection.decided_by = str(head.get("by", ""))
        return rejection
    if kind == "approval_timeout":
        return ApprovalTimeoutError(text)
    if kind == "exec":
        return OSError(head.get("errno"), text)
    return ToolRunnerError(text)


class Request:
    """A question to the host, and its answers so far."""

    def __init__(self, number: int, wake: Callable[[], object], thread: int) -> None:
        self.number = number
        self.answers: deque[Answer] = deque()
        self.wake = wake
        self.thread = thread  # which need not be woken by what it reads itself; 0: none

    def take_report(self) -> dict[str, Any] | None:
        """How far the work has come, if that is the next answer."""
        if self.answers and self.answers[0].head["op"] == "progress":
            return self.answers.popleft().head
        return None

    def take(self) -> Answer:
        """The next answer; raises what it says if it is an error."""
        if not self.answers:
            raise KeyboardInterrupt  # what else ends the waiting
        answer = self.answers.popleft()
        if answer.head["op"] == "error":
            raise failure(answer.head)
        return answer


#: How often who waits alone looks for its answer before it sleeps: for about 0.2 ms, if another processor works on it.
LOOKS = 400 if len(os.sched_getaffinity(0)) > 1 else 0


class ActionChannel:
    """Asks the host.

    Threads that wait read: one of them leads, reads the socket and wakes those whose answers have come; it
    passes the lead on when it has its own. Loops that wait watch the socket as well. Changes are made in the shield of
    `interrupts`: the main thread leaves none half done.
    """

    def __init__(self, stream: socket.socket, cell: Callable[[], str], output_before: Callable[[], int]) -> None:
        self.socket = stream
        self.cell = cell
        self.output_before = output_before
        self.closed = ""  # why nothing can be asked any more
        self._inbox = Inbox(stream)
        self._numbers = itertools.count(1)
        self._outstanding: dict[int, Request] = {}
        self._sending, self._reading, self._lock = threading.RLock(), threading.RLock(), threading.RLock()
        self._leader: Request | None = None
        self._followers: dict[Request, None] = {}  # in order
        self._loops: dict[asyncio.AbstractEventLoop, int] = {}  # how many tasks of each wait
        self._bells = threading.local()
        self._bells.own = Bell()
        interrupts.wake = self._bells.own.ring
        os.register_at_fork(after_in_child=self._in_child)

    # Asking

    def call(self, op: str, head: dict[str, Any], body: bytes) -> Answer:
        """Asks for what is answered once, and waits for it. An interrupt takes the request back."""
        with interrupts:
            request = self.ask(op, head, body)
            try:
                self.wait(request)
            finally:
                self.cancel(request)
                self._outstanding.pop(request.number, None)
        return request.take()

    def call_heard(
        self, op: str, head: dict[str, Any], body: bytes, heard: Callable[[dict[str, Any]], object]
    ) -> Answer:
        """As `call`, and calls `heard` with the reports that come before. An exception of `heard` ends the call."""
        request = None
        try:
            with interrupts:
                request = self.ask(op, head, body)
                self.wait(request)
            while report := request.take_report():
                heard(report)
                with interrupts:
                    self.wait(request)
            return request.take()
        finally:
            if request:
                self.cancel(request)
                self.forget(request)

    async def call_async(
        self, op: str, head: dict[str, Any], body: bytes, heard: Callable[[dict[str, Any]], object] | None = None
    ) -> Answer:
        """The same in a coroutine, which can be cancelled. Reports come only where `heard` takes them."""
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        request = None
        try:
            with interrupts:
                request = self.ask(op, head, body, partial(call_soon, loop, came.set))
                self._watch(loop)
            while not request.answers:
                await came.wait()
                came.clear()
                while heard and (report := request.take_report()):
                    heard(report)
            return request.take()
        finally:
            if request:
                self._unwatch(loop)
                self.cancel(request)
                self.forget(request)

    def ask(
        self, op: str, head: dict[str, Any], body: bytes = b"", wake: Callable[[], object] | None = None
    ) -> Request:
        """Sends a request. For callers that wait in threads, or are called (in any) when an answer has come."""
        if self.closed:
            raise ToolRunnerError(self.closed)
        after = self.output_before()
        request = Request(next(self._numbers), wake or self._bell().ring, 0 if wake else get_ident())
        try:
            text = to_json({"op": op, "id": request.number, "cell": self.cell(), "after": after, **head}).encode()
        except UnicodeEncodeError as error:
            what = "a word, a variable or the directory" if op == "run" else "a name"
            raise OSError(
                errno.EILSEQ,
                f"{what} is not UTF-8, and cannot be shown for approval: {error.object[error.start : error.end]!r}",
            ) from None
        if len(text) > MAX_HEAD:
            raise OSError(errno.E2BIG, f"{len(text)} bytes of words and variables are too much for one program")
        if 4 + len(text) + len(body) > MAX_REQUEST:
            raise ToolRunnerError(f"{len(body)} bytes are too much for one request: 64 MiB are possible.")
        with interrupts:
            self._outstanding[request.number] = request
            self._send(text, body)
        return request

    def cancel(self, request: Request) -> None:
        """Takes a request back that has no last answer yet; that may be waited for all the same."""
        if request.number not in self._outstanding:
            return  # as most times, and then without a shield
        with interrupts:
            if request.number in self._outstanding:
                self._send(to_json({"op": "cancel", "id": request.number}).encode(), b"")

    def forget(self, request: Request) -> None:
        """Drops the answers of a request that is not waited for any more."""
        with interrupts:
            self._outstanding.pop(request.number, None)
            for answer in request.answers:
                close(answer.descriptors)

    def _send(self, head: bytes, body: bytes) -> None:
        frame = struct.pack("<II", 4 + len(head) + len(body), len(head)) + head
        with self._sending:
            try:
                for data in (frame, body) if len(body) > READ else (frame + body,):
                    self._send_all(memoryview(data))
            except OSError:
                self._end(ENDED)

    def _send_all(self, left: memoryview) -> None:
        """Sends, and reads meanwhile: a host whose answers are not taken may read nothing either."""
        while left:
            try:
                left = left[self.socket.send(left, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                poller = select.poll()
                poller.register(self.socket, select.POLLIN | select.POLLOUT)
                poller.poll()
                # Who reads already may be a thread that a finalizer keeps from sending: not to be waited for.
                if self._reading.acquire(blocking=False):
                    try:
                        self.receive()
                    finally:
                        self._reading.release()

    # Waiting

    def wait(self, request: Request, descriptors: Sequence[int] = (), timeout: float | None = None) -> list[int]:
        """Waits for an answer, or for something to read: returns the descriptors that have it. An interrupt ends it."""
        bell = self._bell()
        with interrupts:
            request.thread, request.wake = get_ident(), bell.ring
            try:
                while not request.answers and not interrupts.waiting():
                    poller = select.poll()
                    for fd in (bell.fd, *descriptors, *([self.socket] if self._leads(request) else ())):
                        poller.register(fd, select.POLLIN)
                    # To sleep and to be woken takes as long as most answers.
                    looks = 0 if self._followers else LOOKS
                    events = next(filter(None, map(poller.poll, itertools.repeat(0, looks))), None)
                    ready = [fd for fd, _ in events or poller.poll(None if timeout is None else timeout * 1000)]
                    if bell.fd in ready:
                        bell.silence()
                    if self.socket.fileno() in ready:
                        self.receive()
                    if found := [fd for fd in descriptors if fd in ready]:
                        return found
                    if not ready:
                        break
            finally:
                self._leave(request)
        return []

    def receive(self) -> None:
        """Reads what is there, and tells those whose it is."""
        with interrupts, self._reading:
            try:
                self._inbox.read()
                while answer := self._inbox.next():
                    self._deliver(answer)
            except EOFError:
                self._end(ENDED)
            except (ValueError, KeyError, TypeError) as error:
                self._end(f"No actions are possible any more: the host has sent {error}.")

    def _deliver(self, answer: Answer) -> None:
        number = answer.head["id"]
        request = self._outstanding.get(number)
        if answer.head["op"] in FINAL:
            self._outstanding.pop(number, None)
        if request:
            request.answers.append(answer)
            if request.thread != get_ident():
                request.wake()
        else:
            close(answer.descriptors)

    def _leads(self, request: Request) -> bool:
        with self._lock:
            # A thread may wait within its own waiting: a finalizer asked.
            if self._leader is None or self._leader.thread == request.thread:
                self._leader = request
                self._followers.pop(request, None)
            elif self._leader is not request:
                self._followers[request] = None
            return self._leader is request

    def _leave(self, request: Request) -> None:
        with self._lock:
            self._followers.pop(request, None)
            if self._leader is request:
                self._leader = next(iter(self._followers), None)
                if self._leader:
                    del self._followers[self._leader]
                    self._leader.wake()

    def _bell(self) -> Bell:
        try:
            return self._bells.own  # type: ignore[no-any-return]
        except AttributeError:
            self._bells.own = Bell()
            return self._bells.own  # type: ignore[no-any-return]

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            self._loops[loop] = self._loops.get(loop, 0) + 1
            if self._loops[loop] == 1:
                loop.add_reader(self.socket, self.receive)

    def _unwatch(self, loop: asyncio.AbstractEventLoop) -> None:
        with interrupts, self._lock:
            self._loops[loop] -= 1
            if not self._loops[loop]:
                del self._loops[loop]
                if not loop.is_closed():
                    loop.remove_reader(self.socket)

    # The end

    def _end(self, reason: str) -> None:
        with self._lock:
            self.closed = self.closed or reason
            lost, self._outstanding = self._outstanding, {}
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is closed, on one side or the other
        for request in lost.values():
            request.answers.append(Answer({"op": "error", "text": self.closed}, memoryview(b""), []))
            request.wake()

    def _in_child(self) -> None:
        """A forked process has no part in the socket; threads that held the locks do not exist in it."""
        self.closed = FORKED
        self._sending, self._reading, self._lock = threading.RLock(), threading.RLock(), threading.RLock()
        self._outstanding.clear()
        self._loops.clear()
        self.socket.close()


def close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    """Has a loop call something, from any thread."""
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:
        pass  # it was closed while a task of it waited
