"""A small parent of the supervisor: when either of them ends, nothing that the supervisor has started is left.

The first process of a pid namespace needs none: with it the system ends all others.
"""

from __future__ import annotations

import os
import select
import signal
import socket

from ipybox_kernel import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

GRACE = 2000  # milliseconds for the supervisor to end everything by itself, after the host has gone


def fork_supervisor(control: socket.socket) -> None:
    """Returns in a child, which becomes the supervisor. This process stays as its keeper, until all has ended."""
    if os.getpid() == 1:
        return
    process.set_dumpable(False)
    process.adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keeper = os.getpid()
    pid = os.fork()
    if pid == 0:
        process.die_with_parent(keeper, signal.SIGTERM)
        return
    keep(pid, control)


def keep(supervisor: int, control: socket.socket) -> NoReturn:
    """Waits for the end of the supervisor or of the host, ends what is left, and exits as the supervisor did."""
    ended = os.pidfd_open(supervisor)
    poller = select.poll()
    poller.register(ended, select.POLLIN)
    poller.register(control, 0)  # it is never read here; that the host has closed it is told all the same
    if ended not in dict(poller.poll()):
        poller.unregister(control)
        if not poller.poll(GRACE):
            process.kill(supervisor, signal.SIGKILL)
    control.close()
    status = os.waitpid(supervisor, 0)[1]
    process.kill_children()
    leave_as(status)


def leave_as(status: int) -> NoReturn:
    """Ends with a wait status."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))
