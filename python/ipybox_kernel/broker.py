"""The owners of programs: each runs for a kernel, and ends with it."""

from __future__ import annotations

import os

from ipybox_kernel import process


class Broker:
    """The kernels that live, their programs, and the background processes that these left."""

    def __init__(self) -> None:
        self.environments: dict[int, dict[str, str]] = {}  # what each kernel was forked with; within walls nothing
        self.owners: dict[int, int] = {}  # program or background process -> kernel

    def processes_of(self, kernel: int) -> set[int]:
        """A kernel and what runs for it beside it; not what these have started themselves."""
        return {kernel, *(pid for pid, owner in self.owners.items() if owner == kernel)}

    def forget(self, pid: int) -> int | None:
        """A child has ended; returns the kernel that it ran for, if it ran for one."""
        self.environments.pop(pid, None)
        return self.owners.pop(pid, None)

    def adopt(self, ended: dict[int, int], living: set[int], *, alone: bool) -> None:
        """Finds out for which kernel the processes run whose parents are among those that ended just now.

        Their session tells it. Processes that set themselves apart run for the same kernel as those
        that ended, if they were alone.
        """
        sessions = {**ended, **{os.getsid(pid): kernel for pid, kernel in self.owners.items()}}
        kernels = set(ended.values())
        heir = kernels.pop() if alone and len(kernels) == 1 else None
        for pid in process.children():
            if pid not in living and pid not in self.owners:
                kernel = sessions.get(os.getsid(pid), heir)
                if kernel is not None:
                    self.owners[pid] = kernel

    def claim(self, strangers: set[int], *, alone: bool) -> set[int]:
        """Finds out for which kernel processes run that came here while the program that has started them lives.

        Returns those that set themselves apart, where several kernels may have started them.
        """
        sessions = {kernel: kernel for kernel in self.environments}
        sessions.update({session_of(pid): kernel for pid, kernel in self.owners.items()})
        heir = next(iter(self.environments)) if alone and len(self.environments) == 1 else None
        for pid in sorted(strangers):
            kernel = sessions.get(session_of(pid), heir)
            if kernel in self.environments:
                self.owners[pid] = kernel
        return strangers - self.owners.keys()

    def has_kernels_alone(self) -> bool:
        """Whether nothing runs below this process but kernels, which cannot signal its children."""
        try:
            return not self.owners and len(process.children_of_task("thread-self")) == len(self.environments)
        except OSError:
            return False  # /proc cannot tell

    def has_group(self, pid: int) -> bool:
        """Whether a program that has ended left processes in its process group."""
        return any(os.getpgid(background) == pid for background in self.owners)

    def left(self, living: set[int]) -> set[int]:
        """The children that are of no use any more."""
        children = {*process.children(), *self.owners}
        used = {pid for pid, kernel in self.owners.items() if kernel in self.environments}
        return children - used - (living - self.owners.keys())


def session_of(pid: int) -> int:
    """The session of a process; 0 where it has ended."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0
