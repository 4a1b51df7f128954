"""How far the kernels of one supervisor are apart: they share its files and processes, or walls are between them."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager

from ipybox_kernel import hosts, landlock, process
from ipybox_kernel.refused import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from socket import socket
    from typing import Any, TypeAlias

    from ipybox_kernel.broker import Broker
    from ipybox_kernel.rooms import Room
    from ipybox_kernel.walls import Directory, Environment, Words

    #: What belongs to a kernel or a program alone.
    Own = Callable[[], dict[str, Any]]
    Isolation: TypeAlias = "Shared | Walled"

SHARE = "if they may see each other's files and processes, do without walls between them"


def of_kernels(plan: dict[str, Any] | None, broker: Broker) -> Isolation:
    """Walls, if there is a plan of them."""
    return Shared(broker) if plan is None else Walled(plan, broker)


def check_place(asked: str | None) -> None:
    """No way leads to a directory that was removed while a sandbox had it mounted: much fails there in a kernel."""
    try:
        os.getcwd()
    except OSError as error:
        raise Refused("cwd", f"{asked}: it was removed after the sandbox was made", errno=error.errno) from None


class Forked:
    """A kernel that has just been forked; the pid is 0 in the kernel itself."""

    def __init__(self, pid: int, listener: socket | None, room: Room | None = None) -> None:
        self.pid = pid
        self.listener = listener
        self.room = room


class Shared:
    """All kernels and programs live where the supervisor does."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.supervisor = os.getpid()  # with which kernels die
        self.home = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def wants_room(self) -> bool:
        """Whether there is something to `prepare` for the next kernel."""
        return False

    def prepare(self, living: set[int]) -> None:
        """There is nothing to be made ahead of time."""

    @contextmanager
    def own_part(self, request: dict[str, Any], descriptors: list[int]) -> Iterator[Own]:
        """The part of a request that only the kernel or the program itself reads."""
        yield lambda: request

    def fork(
        self, directory: Directory, network: bool, environment: Environment, living: set[int], entrance: int | None
    ) -> Forked:
        """Forks a kernel in a directory and with an environment; raises Refused."""
        pid = None
        asked, _ = directory()  # only walls close anything
        self.enter(asked)
        try:
            check_place(asked)
            listener = hosts.listen() if network else None
            environment(listener)
            pid = os.fork()
        except OSError as error:
            raise Refused("fork", str(error)) from None
        finally:
            if pid != 0:
                self.leave()
        if not pid:
            process.enter_cgroup_or_end(entrance)
        return Forked(pid, listener)

    def add(self, kernel: Forked) -> None:
        """Nothing but its pid is to be kept."""

    def spawn(
        self, argv: list[str], env: dict[str, str], cwd: str | None, cpu_time: int | None, entrance: int | None
    ) -> int:
        """Starts a program with nothing to read and nowhere to write; raises Refused."""
        return self.start(argv, cwd, lambda: process.run(argv, env, self.supervisor, cpu_time, entrance))

    def run(self, kernel: int, words: Words, descriptors: list[int], entrance: int | None) -> int:
        """Starts a program for a kernel; raises Refused."""
        argv, env, cwd = words(self.broker.environments[kernel])
        alone = self.broker.has_kernels_alone()
        return self.start(argv, cwd, lambda: process.start(argv, env, descriptors, entrance, alone=alone))

    def start(self, argv: list[str], cwd: str | None, program: Callable[[], int]) -> int:
        self.enter(cwd)
        try:
            return program()
        except OSError as error:
            raise Refused("exec", f"{argv[0]}: {error.strerror}", errno=error.errno) from None
        finally:
            self.leave()

    def enter(self, directory: str | None) -> None:
        """Goes where a child is to start, so that it fails here and not there."""
        if directory is None:
            return
        try:
            os.chdir(directory)
        except OSError as error:
            raise Refused("cwd", f"{directory}: {error.strerror}", errno=error.errno) from None

    def leave(self) -> None:
        os.fchdir(self.home)

    def has_group(self, program: int) -> bool:
        """Whether a program that has ended left anything in its process group."""
        return self.broker.has_group(program)

    def end_program(self, kernel: int, program: int) -> None:
        """A program has ended: the broker knows."""

    def forget(self, pid: int) -> None:
        """A kernel has ended: the broker knows."""

    def close(self) -> None:
        """For forked children."""
        os.close(self.home)


class Walled:
    """Each kernel lives in a room of its own, with its programs."""

    def __init__(self, plan: dict[str, Any], broker: Broker) -> None:
        from ipybox_kernel.walls import Walls

        self.walls = Walls(plan)
        self.broker = broker
        self.supervisor = 0  # kernels die with the first process of their room
        self.wants_room = self.walls.wants_room
        self.prepare = self.walls.prepare
        self.has_group = self.walls.has_group
        self.end_program = self.walls.end_program
        self.forget = self.walls.forget

    @contextmanager
    def own_part(self, request: dict[str, Any], descriptors: list[int]) -> Iterator[Own]:
        """It is in a file: kernels inherit the memory of this process with all that it has ever read."""
        if not descriptors:
            raise Refused("request", "the environment has to come in a file")
        with open(descriptors.pop(), "rb") as file:
            yield lambda: json.loads(os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0))

    def fork(
        self, directory: Directory, network: bool, environment: Environment, living: set[int], entrance: int | None
    ) -> Forked:
        """Forks a kernel into a room; raises Refused."""
        try:
            pid, room, listener = self.walls.fork(directory, network, environment, living, entrance)
        except OSError as error:
            raise Refused("fork", str(error)) from None
        except landlock.Missing as lack:
            text = f"the kernels of a runtime cannot be kept apart here: {lack}; {SHARE}"
            raise Refused("walls", text) from None
        return Forked(pid, listener, room)

    def add(self, kernel: Forked) -> None:
        """Keeps its room. Processes that its programs leave behind are below the first one there."""
        if kernel.room:
            self.walls.add(kernel.pid, kernel.room)
            self.broker.owners[kernel.room.init] = kernel.pid

    def spawn(self, *program: object) -> int:
        raise Refused("walls", f"kernels of other programs cannot be kept apart; {SHARE}")

    def run(self, kernel: int, words: Words, descriptors: list[int], entrance: int | None) -> int:
        """Starts a program in the room of a kernel; its directory is one there, and need not exist here."""
        try:
            return self.walls.start(kernel, words, descriptors, entrance)
        except OSError as error:  # there is no memory for a process, say
            raise Refused("exec", error.strerror or str(error), errno=error.errno) from None
        except landlock.Missing as lack:  # the kernel's first process has just ended, and so does the kernel
            raise Refused("kernel", f"kernel {kernel} has ended: {lack}") from None

    def close(self) -> None:
        """A forked child has no room but its own: see `Walls.fork`."""
