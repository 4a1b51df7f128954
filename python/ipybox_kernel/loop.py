"""The event loop of a kernel: waiting for requests, and running whatever cells do to it.

The kernel does not wait in the loop as a task: there code could cancel it, lose it or run it twice.
"""

from __future__ import annotations

import asyncio
import contextvars
import select
import sys
from asyncio import BaseEventLoop, Task
from collections.abc import Callable, Coroutine
from typing import Any

from ipybox_kernel.interrupt import interrupts

MOST_FAILURES = 100  # of a loop in a row, before it is given up

leave = BaseEventLoop.stop  # whatever code puts in its place
LOOP = asyncio.SelectorEventLoop
KEPT = {kind: dict(vars(kind)) for kind in (asyncio.Handle, asyncio.TimerHandle, *LOOP.__mro__[:-1])}
shares_context = sys.version_info >= (3, 11)  # whether a task can run in the context of others


class BrokenLoop(Exception):
    """The loop does not run any more, because of the code; there is another one now."""


class MainLoop:
    """Runs the kernel's coroutines, one at a time, all in one context: what a cell sets is there in the next one.

    `call_later`, `add_callback` and `stop` are the parts of a tornado loop that ipykernel and IPython use.
    """

    def __init__(self) -> None:
        self.context = contextvars.copy_context()
        self.begun = False  # what runs
        self.latest: Task[Any] | None = None  # which runs
        self.watched = -1  # the descriptor of the kernel that it waits for
        self.mend: Callable[[], object] = lambda: None  # called before there is another loop
        self.begin()

    def begin(self) -> None:
        """Makes the loop."""
        self.asyncio_loop = loop = LOOP()
        self.remove_reader = loop.remove_reader
        loop.remove_reader = self.remove_others_reader  # type: ignore[method-assign]
        asyncio.set_event_loop(loop)
        interrupts.loop = loop
        self.call_later = loop.call_later
        self.add_callback = loop.call_soon_threadsafe  # wakes the loop, also when a signal handler calls it

    def end(self) -> None:
        """Lets go of the loop."""
        self.asyncio_loop.close()
        del self.asyncio_loop, self.call_later, self.add_callback, self.remove_reader
        interrupts.loop = None

    def remove_others_reader(self, fd: Any) -> bool:
        """``loop.remove_reader``, as code has it: the kernel goes on listening to its host."""
        return fd != self.watched and self.remove_reader(fd)

    def stop(self) -> None:
        """Asked for by ``exit()``; the kernel leaves by itself when it has replied."""

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine to its end; raises BrokenLoop if that is impossible."""
        self.begun = False
        while not self.begun:  # else code has cancelled the task before its first step
            if self.asyncio_loop.is_closed():
                self.replace()
            loop = self.asyncio_loop
            whole = self.whole(coroutine)
            try:
                task = self.latest = self.task(whole)
                task.add_done_callback(self.leave_unbegun)
            except Exception as error:
                whole.close()
                coroutine.close()
                self.replace()
                raise BrokenLoop(f"the event loop takes no tasks any more: {error!r}") from error
            self.drive(loop, task.done)
        self.latest = None
        if not task.cancelled() and (failure := task.exception()):
            raise failure

    async def whole(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """The coroutine, which stays as it is where this one never begins."""
        self.begun = True
        try:
            await coroutine
        finally:
            leave(self.asyncio_loop)

    def leave_unbegun(self, task: Task[Any]) -> None:
        """Ends the running of the loop for a task that was cancelled before its first step.

        That of the cell before may be told of when this one runs already, in a nested loop which must not end then.
        """
        if task is self.latest and not self.begun:
            leave(self.asyncio_loop)

    def task(self, coroutine: Coroutine[Any, Any, Any]) -> Task[Any]:
        """A task in the kernel's context. Tasks of code have copies of it, as in any Python program."""
        if shares_context:
            return Task(coroutine, loop=self.asyncio_loop, context=self.context)
        task: Task[Any] = self.context.run(Task, self.keeping_context(coroutine), loop=self.asyncio_loop)
        return task

    async def keeping_context(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Before Python 3.11 a task has a copy of the context: the one that ended first is that of a cell."""
        before = self.context
        try:
            return await coroutine
        finally:
            if self.context is before:
                self.context = contextvars.copy_context()

    def rest(self, fd: int, seconds: float | None = None) -> bool:
        """Waits until there is something to read, or only for a while; returns whether there is. Runs tasks of code."""
        try:
            arrived = None if self.has_work() else self.wait(fd, seconds)
        except Exception:
            arrived = None  # code has changed the loop
        return self.run_tasks(fd, seconds) if arrived is None else arrived

    def has_work(self) -> bool:
        """Whether the loop has something to run by now or at some time, without anything that comes from outside."""
        loop: Any = self.asyncio_loop
        return bool(loop._ready or loop._scheduled)

    def wait(self, fd: int, seconds: float | None) -> bool | None:
        """Waits as `rest` does, without the loop, which takes longer; none when the loop has got something to run."""
        loop: Any = self.asyncio_loop
        ready = select.poll()
        ready.register(fd, select.POLLIN)
        ready.register(loop._selector.fileno(), select.POLLIN)
        try:
            found = ready.poll(None if seconds is None else seconds * 1000)
        except (KeyboardInterrupt, SystemExit):
            interrupts.cancel()  # it came when its cell had ended
            return None
        if not found:
            return False
        return True if found[0][0] == fd and found[0][1] & select.POLLIN else None

    def run_tasks(self, fd: int, seconds: float | None) -> bool:
        """Runs tasks of code until there is something to read, or only for a while; returns whether there is.

        Only then does the loop watch the descriptor: no cell is disturbed by it.
        """
        loop = self.asyncio_loop
        seen: list[bool] = []

        def settle(arrived: bool) -> None:
            seen.append(arrived)
            leave(loop)

        timer = None
        try:
            loop.add_reader(fd, settle, True)
            self.watched = fd
            timer = None if seconds is None else loop.call_later(seconds, settle, False)
            self.drive(loop, lambda: bool(seen))
        except BrokenLoop:
            return False
        except Exception:
            self.replace()
            return False
        finally:
            self.watched = -1
            try:
                self.remove_reader(fd)
                if timer:
                    timer.cancel()
            except Exception:
                pass  # the loop is broken
        return seen[0]

    def drive(self, loop: BaseEventLoop, done: Callable[[], bool]) -> None:
        """Runs the loop until something is done, whatever cells and their tasks do to the loop meanwhile.

        Nested loops take away what the outer one is about to run: it fails then, and nothing is lost.
        """
        failures = 0
        while not done():
            try:
                loop.run_forever()
                failures = 0
            except (KeyboardInterrupt, SystemExit):
                interrupts.cancel()  # it struck in another task than the cell's
            except BaseException as error:
                failures += 1
                if failures == MOST_FAILURES or loop.is_closed():
                    self.replace()
                    raise BrokenLoop(f"the event loop cannot run any more: {error!r}") from error

    def replace(self) -> None:
        """Begins anew, with another loop. Methods that code has replaced are taken back, those of nested loops too."""
        for kind, kept in KEPT.items():
            for name, value in kept.items():
                if callable(value) and vars(kind).get(name) is not value:
                    setattr(kind, name, value)
        self.mend()
        asyncio._set_running_loop(None)  # which the end of the old one may have failed to do
        self.begin()
