"""The data that a forked child needs to become a kernel."""

from __future__ import annotations

import os

from ipybox_kernel.refused import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

    from ipybox_kernel.journal import Leftovers


class Outputs:
    """The pipes for descriptors 1 and 2 of a kernel, and the journal of its streams.

    The host reads what a kernel that dies has left in the pipes.
    """

    def __init__(self) -> None:
        from ipybox_kernel.journal import Journal

        self.journal = Journal()
        self.pipes: list[tuple[int, int]] = []
        try:
            for _ in range(2):
                self.pipes.append(os.pipe2(os.O_CLOEXEC))
        except OSError as error:
            self.close()
            raise Refused("fork", f"a pipe for the output of the kernel: {error.strerror}") from None

    def reading_ends(self) -> list[int]:
        """Those of the host."""
        return [end for end, _ in self.pipes]

    def leftovers(self) -> Leftovers:
        """The parts that the supervisor keeps until the kernel has ended."""
        from ipybox_kernel.journal import Leftovers

        return Leftovers(self.journal, [end for _, end in self.pipes])

    def close(self) -> None:
        self.journal.close()
        for pipe in self.pipes:
            for end in pipe:
                os.close(end)


class Birth:
    """Of one kernel; made in the process that is to become it."""

    def __init__(
        self,
        *,
        supervisor: int,
        stream: socket,
        actions: socket | None,
        outputs: Outputs,
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
        self.outputs = outputs
        self.env = env
        self.restore_cwd = restore_cwd
        self.guard = guard
        self.allow = allow
        self.cpu_time = cpu_time
        self.first = first
