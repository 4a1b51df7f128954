"""The event loop of a kernel: waiting for requests, and running whatever cells do to it."""

from __future__ import annotations

import asyncio

from ipybox_kernel.interrupt import interrupts


class MainLoop:
    """The parts of a tornado loop that ipykernel and IPython use."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.asyncio_loop = loop
        self.call_later = loop.call_later
        self.add_callback = loop.call_soon_threadsafe  # wakes the loop, also when a signal handler calls it

    def stop(self) -> None:
        """Asked for by ``exit()``; the kernel leaves by itself when it has replied."""


async def readable(loop: asyncio.AbstractEventLoop, fd: int, seconds: float | None = None) -> bool:
    """Waits until there is something to read, or only for a while; returns whether there is.

    Only then is the descriptor watched: no cell is disturbed by it.
    """
    arrived: asyncio.Future[bool] = loop.create_future()
    loop.add_reader(fd, settle, arrived, True)
    timer = None if seconds is None else loop.call_later(seconds, settle, arrived, False)
    try:
        return await arrived
    finally:
        loop.remove_reader(fd)
        if timer:
            timer.cancel()


def settle(future: asyncio.Future[bool], value: bool) -> None:
    """The first result counts."""
    if not future.done():
        future.set_result(value)


def drive(loop: asyncio.AbstractEventLoop, kernel: asyncio.Task[None]) -> None:
    """Runs the loop until the kernel is done, whatever cells and their tasks do to the loop meanwhile."""
    kernel.add_done_callback(lambda _: loop.stop())
    while not kernel.done():
        try:
            loop.run_forever()
        except (KeyboardInterrupt, SystemExit):
            interrupts.cancel()  # it struck in another task than the cell's
    kernel.result()
