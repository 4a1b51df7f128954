"""The processes below the supervisor: kernels, the programs that run for them, and whatever these leave behind."""

from __future__ import annotations

import os
import signal

from ipybox_kernel import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from ipybox_kernel.broker import Broker
    from ipybox_kernel.isolation import Isolation
    from ipybox_kernel.journal import Leftovers
    from ipybox_kernel.watchdog import Excess, Watchdog


class Children:
    """Those that live, and those that have ended until nothing of theirs is left."""

    def __init__(
        self, isolation: Isolation, broker: Broker, limits: dict[str, int], tell: Callable[[dict[str, Any]], None]
    ) -> None:
        self.isolation = isolation
        self.broker = broker
        self.limits = limits
        self.tell = tell  # events to the host
        self.living: set[int] = set()
        self.ended: dict[int, int] = {}  # pid -> wait status, until what it left behind is gone
        self.entrances: dict[int, int] = {}  # kernel -> the file by which its programs enter its control group
        self.leftovers: dict[int, Leftovers] = {}  # of kernels, until their end has been reported
        self.watchdog: Watchdog | None = None  # from the first code on that runs for long
        self.excesses: dict[int, Excess] = {}  # for which kernels were ended

    def add_kernel(self, pid: int, env: dict[str, str], entrance: int | None, leftovers: Leftovers) -> None:
        """A kernel was forked."""
        self.living.add(pid)
        self.leftovers[pid] = leftovers
        self.broker.environments[pid] = env
        if entrance is not None:
            self.entrances[pid] = os.dup(entrance)

    def add_program(self, pid: int, kernel: int) -> None:
        """A program was started for a kernel."""
        self.living.add(pid)
        self.broker.owners[pid] = kernel

    def signal(self, pid: int, number: int, group: bool) -> bool:
        """Signals a child or its group; false if that is gone."""
        self.reap()
        if pid not in self.living:
            return group and self.isolation.has_group(pid) and process.kill(pid, number, group=True)
        # A child that was forked just now may not have its group yet; then it is alone.
        return (group and process.kill(pid, number, group=True)) or process.kill(pid, number)

    # Watching

    def watch(self, pid: int, runs: bool) -> None:
        """Looks from time to time at what a kernel takes while it runs code."""
        if self.watchdog is None:
            from ipybox_kernel.watchdog import Watchdog

            self.watchdog = Watchdog(self.limits)
        if not runs:
            self.watchdog.rest(pid)
        elif pid in self.living:
            self.watchdog.begin(pid)

    def patience(self) -> int | None:
        """Milliseconds until the next look; None: there will be none."""
        return self.watchdog.patience() if self.watchdog else None

    def look(self) -> None:
        """Ends the kernels that take more than they may, and processes that may be of several kernels."""
        if not self.watchdog or not self.watchdog.is_due():
            return
        numbers = process.numbered_children()
        strangers = self.broker.claim(numbers.keys() - self.living - self.broker.owners.keys(), alone=not self.ended)

        def roots(kernel: int) -> list[str]:
            pids = self.broker.processes_of(kernel) if kernel else strangers
            return [numbers[pid] for pid in pids if pid in numbers]

        for kernel, excess in self.watchdog.look(roots).items():
            self.watchdog.forget(kernel)
            if kernel in self.living:
                self.excesses[kernel] = excess
            # No kernel has to answer for what another one may have started.
            for pid in {kernel} & self.living if kernel else strangers:
                process.kill(pid, signal.SIGKILL, group=True)
                process.kill(pid, signal.SIGKILL)

    # Ends

    def reap(self) -> None:
        """Collects dead children; reports programs of kernels at once, others when nothing of theirs is left."""
        programs: dict[int, int] = {}
        while dead := peek():
            kernel = self.broker.forget(dead)
            if dead not in self.living:
                os.waitpid(dead, 0)
            elif kernel is not None:
                self.isolation.end_program(kernel, dead)
                self.report(dead, os.waitpid(dead, 0)[1])
            else:
                self.forget(dead)
                process.kill(dead, signal.SIGKILL, group=True)  # before its pid can be given to another
                self.ended[dead] = os.waitpid(dead, 0)[1]
            self.living.discard(dead)
            if kernel is not None:
                programs[dead] = kernel
        if programs or (self.ended and self.broker.owners):
            self.broker.adopt(programs, self.living, alone=not self.ended)
        if self.ended and not self.kill_orphans():
            for pid, status in self.ended.items():
                self.report(pid, status)
            self.ended.clear()

    def forget(self, kernel: int) -> None:
        """A kernel has ended."""
        if kernel in self.entrances:
            os.close(self.entrances.pop(kernel))
        if self.watchdog:
            self.watchdog.forget(kernel)
        self.isolation.forget(kernel)

    def kill_orphans(self) -> bool:
        """Kills what dead children left behind; true as long as something was there. Their deaths wake us again.

        No pid can be another's by now: it is kept until we have waited for the child.
        """
        orphans = self.broker.left(self.living)
        killed = [pid for pid in orphans if process.kill(pid, signal.SIGKILL, group=pid in self.living)]
        return bool(killed)

    def report(self, pid: int, status: int) -> None:
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        event: dict[str, Any] = {"event": "exit", "pid": pid, "code": code, "signal": number}
        excess = self.excesses.pop(pid, None)
        if excess and number == signal.SIGKILL:
            event["exceeded"] = excess.described()
        if pid in self.leftovers:
            self.leftovers.pop(pid).deliver()
        self.tell(event)

    def end(self) -> NoReturn:
        """Kills everything below this process, until nothing is left, and exits."""
        for pid in self.living:
            process.kill(pid, signal.SIGKILL, group=True)
        while remaining := {*self.living, *process.children()}:
            for pid in remaining:
                process.kill(pid, signal.SIGKILL)
            self.living.discard(os.waitpid(-1, 0)[0])
        os._exit(0)

    def close(self) -> None:
        """For forked children."""
        for entrance in self.entrances.values():
            os.close(entrance)
        for leftovers in self.leftovers.values():
            leftovers.close()


def peek() -> int | None:
    """The pid of a dead child that still has to be waited for."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return found.si_pid if found else None
