"""Walls between the kernels of one supervisor: each lives in namespaces of its own, and so do its programs.

Within walls there is a file system in which the directories of the other kernels do not exist, and there are private
temporary directories, a loopback, terminals, shared memory and processes of its own.
"""

from __future__ import annotations

import os
import signal
import socket

from ipybox_kernel import hosts, process, workplace
from ipybox_kernel.landlock import Missing
from ipybox_kernel.mounts import mount_processes, rearrange_files
from ipybox_kernel.refused import Refused
from ipybox_kernel.reports import collect, fail, failure_in
from ipybox_kernel.rooms import CLONE_NEWPID, ENDED, NAMESPACES, Plan, Room, enter, fork, give_up_rights, prepare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    #: The working directory of a kernel (None: that of this process), and paths in it that it must not write to.
    Directory = Callable[[], tuple[str | None, list[str]]]
    #: The environment of a kernel with this listening socket, if it has one.
    Environment = Callable[[socket.socket | None], dict[str, str]]
    #: Of a kernel's environment: words, environment and directory of a program.
    Words = Callable[[dict[str, str]], tuple[list[str], dict[str, str], str | None]]


class Walls:
    """The rooms of the kernels that live, and one for the next: making it is most of what a walled start takes."""

    def __init__(self, hello: dict[str, Any]) -> None:
        self.plan = Plan(hello)
        self.rooms: dict[int, Room] = {}
        self.next: Room | None = None
        self.ahead = False  # whether it is made ahead of time: from the first kernel on, as long as that works

    def wants_room(self) -> bool:
        return self.ahead and self.next is None

    def prepare(self, living: set[int]) -> None:
        """Makes the room for the next kernel, after the first one."""
        try:
            self.next = prepare(self.plan)
            living.add(self.next.init)
        except (OSError, Missing):
            self.ahead = False  # the next kernel tries it again, and its start says why it fails

    def take_room(self, living: set[int]) -> Room:
        """The room that was made ahead of time, or another one where there is none or its first process has ended."""
        room, self.next = self.next, None
        if room:
            living.discard(room.init)
            if not room.has_ended():
                return room
            room.close()
        return prepare(self.plan)

    def fork(
        self,
        directory: Directory,
        network: bool,
        environment: Environment,
        living: set[int],
        entrance: int | None = None,
    ) -> tuple[int, Room, socket.socket | None]:
        """Forks a kernel; the pid is 0 in the child, where alone its directory and its environment are asked for.

        Kernels to come inherit the memory of this process. Raises Refused, Missing and OSError.
        """
        room = self.take_room(living)
        self.ahead = True
        try:
            process.enter_cgroup(entrance, room.init)  # code can look into it, and change it
            pid, listener = fork_kernel(self.plan, room, directory, network, environment, entrance)
        except BaseException:
            process.kill(room.init, signal.SIGKILL)
            room.close()
            raise
        if not pid:  # the rooms of others are none of its business
            for each in (room, *self.rooms.values()):
                each.close()
        return pid, room, listener

    def add(self, kernel: int, room: Room) -> None:
        self.rooms[kernel] = room

    def start(self, kernel: int, words: Words, descriptors: list[int], entrance: int | None = None) -> int:
        """Starts a program of a kernel, as `process.start` does; raises Refused, Missing and OSError.

        The words are asked for in the child alone: kernels to come inherit the memory of this process.
        """
        room = self.rooms[kernel]
        pid = start(Program(self.plan, room, words, descriptors, entrance))
        room.programs.add(pid)
        return pid

    def has_group(self, program: int) -> bool:
        """Whether a program that has ended left anything in its process group: the first process adopted that."""
        inits = [room.init for room in self.rooms.values() if program in room.programs]
        return any(program in process.groups_below(init) for init in inits)

    def end_program(self, kernel: int, program: int) -> None:
        """A program has ended. Its pid stays in use as long as its group has processes."""
        room = self.rooms.get(kernel)
        if room and program in room.programs and not self.has_group(program):
            room.programs.discard(program)

    def forget(self, pid: int) -> None:
        """A kernel has ended, or the first process of the next one's room."""
        if room := self.rooms.pop(pid, None):
            room.close()
        if self.next and self.next.init == pid:
            self.next.close()
            self.next = None


class Program:
    """A program that a kernel has asked for."""

    def __init__(self, plan: Plan, room: Room, words: Words, descriptors: list[int], entrance: int | None) -> None:
        self.plan = plan
        self.room = room
        self.words = words
        self.descriptors = descriptors
        self.entrance = entrance  # of the control group of its kernel, if that has one


def fork_kernel(
    plan: Plan, room: Room, directory: Directory, network: bool, environment: Environment, entrance: int | None
) -> tuple[int, socket.socket | None]:
    """Forks a kernel into a room, with a listening socket there if it has a network; the pid is 0 in the child."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        pid = fork(room)
        if not pid:
            process.enter_cgroup_or_end(entrance)
            return 0, settle(plan, room, directory, network, environment, theirs)
        theirs.close()
        words, descriptors = collect(ours, pid)
    listener = socket.socket(fileno=descriptors[0]) if descriptors else None
    failure = failure_in(words)
    if failure is None:
        return pid, listener
    if listener:
        listener.close()
    os.waitpid(pid, 0)
    raise failure


def settle(
    plan: Plan, room: Room, directory: Directory, network: bool, environment: Environment, report: socket.socket
) -> socket.socket | None:
    """Does the first steps of a kernel; returns its listening socket."""
    try:
        enter(room.descriptor, NAMESPACES & ~CLONE_NEWPID)
        place, closed = directory()
        go_to(place, plan.workspace)
        rearrange_files(plan, os.getcwd(), closed)
        mount_processes()
        give_up_rights(plan)
        listener = hosts.listen() if network else None
        if listener:
            socket.send_fds(report, [b"listener"], [listener.fileno()])
        room.remember(environment(listener))
    except BaseException as error:
        fail(report, error, 1)
    return listener


def go_to(directory: str | None, workspace: str) -> None:
    """Goes to the working directory of a kernel."""
    try:
        if directory is not None:
            workplace.enter(directory, workspace)
            os.getcwd()  # no way leads to one that was removed while it was mounted
    except OSError as error:
        raise Refused("cwd", "", errno=error.errno) from None


def start(program: Program) -> int:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        pid = fork(program.room)
        if not pid:
            become(program, theirs)
        theirs.close()
        words, _ = collect(ours, pid)
    failure = failure_in(words)
    if failure is None:
        return pid
    os.waitpid(pid, 0)
    raise Missing(ENDED) if program.room.has_ended() else failure


def become(program: Program, report: socket.socket) -> NoReturn:
    """Runs a program in place of this process."""
    try:
        process.enter_cgroup(program.entrance)
        os.setsid()
        argv, env, cwd = program.words(program.room.environment())
        enter(program.room.descriptor, NAMESPACES & ~CLONE_NEWPID)
        try:
            os.chdir(os.getcwd() if cwd is None else cwd)
        except OSError as error:
            raise Refused("cwd", "", errno=error.errno) from None
        give_up_rights(program.plan)
        process.default_signals()
        for number, descriptor in enumerate(program.descriptors):
            os.dup2(descriptor, number)
        try:
            process.execute(argv, env)
        except OSError as error:
            raise Refused("exec", "", errno=error.errno) from None
    except BaseException as error:
        fail(report, error, 127)
    os._exit(127)
