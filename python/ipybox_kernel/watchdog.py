"""Looks at what kernels take of the machine while they run code: each with all that it has started."""

from __future__ import annotations

import os
import time

from ipybox_kernel import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

INTERVAL = 0.1  # seconds between two looks
LONGEST_INTERVAL = 1.0
SLICE = 0.02  # seconds that a look takes at once: what many processes share takes long to count, and requests wait
SHARE = 50  # looks take no more than this part of the time, as long as the longest interval allows it
KIB = 1024
IDLE_LOOKS = 3
STRANGERS = 0  # no pid: processes that may be of several kernels


class Excess:
    """A limit that a kernel has exceeded."""

    def __init__(self, limit: str, used: int, allowed: int) -> None:
        self.limit = limit
        self.used = used
        self.allowed = allowed

    def described(self) -> dict[str, object]:
        return {"limit": self.limit, "used": self.used, "allowed": self.allowed}


class Rest:
    """Processes that a kernel has left at work: their processor time, and how many looks have found no more of it."""

    def __init__(self) -> None:
        self.used = -1
        self.idle = 0


class Watchdog:
    """Which kernels are looked at, and when. While none is, nothing happens."""

    def __init__(self, limits: dict[str, int]) -> None:
        self.memory = limits.get("kernel_memory")
        self.tasks = limits.get("kernel_processes")
        self.running: set[int] = set()
        self.resting: dict[int, Rest] = {}  # what kernels have left at work
        self.next = 0.0
        self.steps: Iterator[dict[int, Excess] | None] | None = None  # of the look that is under way
        self.spent = 0.0  # seconds on it

    def begin(self, kernel: int) -> None:
        """A kernel runs code."""
        if not self.watched():
            self.next = time.monotonic()
        self.resting.pop(kernel, None)
        self.running.add(kernel)

    def rest(self, kernel: int) -> None:
        """The code has ended. Processes that it has left at work are looked at until they do nothing any more."""
        if kernel in self.running:
            self.running.discard(kernel)
            self.resting[kernel] = Rest()

    def forget(self, kernel: int) -> None:
        self.running.discard(kernel)
        self.resting.pop(kernel, None)

    def watched(self) -> set[int]:
        return {*self.running, *self.resting}

    def patience(self) -> int | None:
        """Milliseconds until the next look; None: there will be none."""
        if not self.watched():
            return None
        return max(0, round(1000 * (self.next - time.monotonic())))

    def is_due(self) -> bool:
        return bool(self.watched()) and time.monotonic() >= self.next

    def look(self, roots: Callable[[int], list[str]]) -> dict[int, Excess]:
        """The kernels that exceed a limit. Their processes are below the roots, which are numbers in ``/proc``.

        Nothing as long as the look is not done: then the next slice of it is due at once.
        """
        begun = now = time.monotonic()
        if self.steps is None:
            self.steps, self.spent = self.look_in_steps(roots), 0.0
        found = None
        while found is None and now - begun < SLICE:
            found = next(self.steps)
            now = time.monotonic()
        self.spent += now - begun
        if found is None:
            self.next = now
            return {}
        self.steps = None
        self.next = now + min(max(INTERVAL, SHARE * self.spent), LONGEST_INTERVAL)
        return found

    def look_in_steps(self, roots: Callable[[int], list[str]]) -> Iterator[dict[int, Excess] | None]:
        """Short steps, and at last what they have come to."""
        excesses = {}
        for kernel in [*self.watched(), STRANGERS]:
            numbers = list(descendants(roots(kernel)))
            excess = yield from self.excess(numbers)
            if excess:
                excesses[kernel] = excess
            elif kernel in self.resting:
                self.look_at_rest(kernel, numbers)
        yield excesses

    def look_at_rest(self, kernel: int, numbers: list[str]) -> None:
        """It is at rest when it has used no processor time for a few looks: a busy machine may have had none for it."""
        rest = self.resting[kernel]
        used = sum(map(processor_time, numbers))
        rest.idle = rest.idle + 1 if used == rest.used else 0
        rest.used = used
        if rest.idle == IDLE_LOOKS:
            del self.resting[kernel]

    def excess(self, numbers: list[str]) -> Generator[None, None, Excess | None]:
        """The limit that these processes exceed together."""
        states = []
        for number in numbers:
            states.append(State(number))
            yield
        tasks = sum(state.tasks for state in states)
        if self.tasks is not None and tasks > self.tasks:
            return Excess("processes", tasks, self.tasks)
        # This counts shared memory once for each process: they take no more than that.
        if self.memory is None or sum(state.memory for state in states) <= self.memory:
            return None
        memory = 0
        for state in states:
            memory += own_memory(state)
            yield
        return Excess("memory", memory, self.memory) if memory > self.memory else None


class State:
    """The figures of a process that ``/proc`` has at hand; none where it has ended."""

    def __init__(self, number: str) -> None:
        self.number = number
        fields = read_fields(f"/proc/{number}/status")
        self.tasks = fields.get("Threads", 0)
        if self.tasks > 1 and "VmPTE" not in fields:  # its first thread has ended, and the others have its memory
            self.number, fields = living_thread(number)
        self.tables = KIB * fields.get("VmPTE", 0)  # no part of them is shared
        self.memory = self.tables + KIB * sum(fields.get(name, 0) for name in ("RssAnon", "RssShmem", "VmSwap"))


def living_thread(number: str) -> tuple[str, dict[str, int]]:
    """A thread that has memory, with what ``/proc`` says of it; the process itself where it has none."""
    try:
        threads = os.listdir(f"/proc/{number}/task")
    except OSError:
        threads = []
    for thread in threads:
        fields = read_fields(f"/proc/{thread}/status")
        if "VmPTE" in fields:
            return thread, fields
    return number, {}


def own_memory(state: State) -> int:
    """Bytes that a process takes, of those that it shares its part. Files that are mapped do not count."""
    fields = read_fields(f"/proc/{state.number}/smaps_rollup")
    if "Pss_Anon" not in fields:  # it has ended, runs for another user, or the system is older than Linux 5.4
        return State(state.number).memory
    return state.tables + KIB * sum(fields.get(name, 0) for name in ("Pss_Anon", "Pss_Shmem", "SwapPss"))


def read_fields(path: str) -> dict[str, int]:
    """The numbers of a file of lines like ``VmRSS:    1024 kB``; empty where it cannot be read."""
    fields = {}
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return {}
    for line in lines:
        name, _, value = line.partition(b":")
        words = value.split()
        if words and words[0].isdigit():
            fields[name.decode()] = int(words[0])
    return fields


def processor_time(number: str) -> int:
    """Ticks that a process has used, with the children that it has waited for."""
    try:
        with open(f"/proc/{number}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))


def descendants(roots: Iterable[str]) -> Iterator[str]:
    """Processes and all below them, as numbers in ``/proc``."""
    waiting = list(roots)
    while waiting:
        number = waiting.pop()
        yield number
        waiting += children_of(number)


def children_of(number: str) -> list[str]:
    found: list[str] = []
    try:
        for task in os.listdir(f"/proc/{number}/task"):
            found += process.children_of_task(f"{number}/task/{task}")
    except OSError:
        pass  # gone meanwhile
    return found
