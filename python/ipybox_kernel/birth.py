"""The data that a forked child needs to become a kernel."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket


class Birth:
    """Of one kernel; made in the process that is to become it."""

    def __init__(
        self,
        *,
        supervisor: int,
        stream: socket,
        actions: socket | None,
        env: dict[str, str],
        restore_cwd: bool,
        guard: bool,
        allow: list[str],
        cpu_time: int | None,
        first: bool,
    ) -> None:
        self.supervisor = supervisor  # with which it dies; 0: the system sees to that
        self.stream = stream
        self.actions = actions
        self.env = env
        self.restore_cwd = restore_cwd
        self.guard = guard
        self.allow = allow
        self.cpu_time = cpu_time
        self.first = first
