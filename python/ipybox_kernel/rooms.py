"""Rooms: namespaces for one kernel and its programs, with a first process that the supervisor starts in them."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import struct
from contextlib import suppress

from ipybox_kernel import filters, landlock, limits, privileges, process
from ipybox_kernel.landlock import Missing, libc, missing
from ipybox_kernel.reports import collect, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
CLONE_NEWPID = 0x20000000

SIOCSIFFLAGS, IFF_UP = 0x8914, 1

CONNECTION = b"4096 65536 262144"  # bytes in each direction: at least, usually, at most

ENDED = "the first process of its namespace has ended"


class Plan:
    """The properties that the rooms of all kernels share."""

    def __init__(self, hello: dict[str, Any]) -> None:
        self.workspace: str = hello["workspace"]  # the directories of kernels lie in it
        self.private: list[str] = hello["private"]  # directories of which each kernel has an empty one
        self.kept: list[str] = hello["kept"]  # what lies in these, or in the workspace, and is for all kernels
        self.size: int = hello["size"]  # bytes of each private directory; 0: what the system allows
        self.processes: int | None = hello.get("processes")
        self.user: int = hello["user"]  # who is root for the supervisor, and has this number within walls as outside
        self.group: int = hello["group"]
        self.machine = privileges.machine()
        self.filter = filters.base(self.machine, hello["allow"])


class Room:
    """Namespaces for a kernel and its programs, with nothing in them yet but their first process."""

    def __init__(self, init: int) -> None:
        self.init = init  # with it the system ends everything else there
        self.programs: set[int] = set()  # those that run, and those that have ended and left processes
        self.descriptor = os.pidfd_open(init)
        self.memory = os.memfd_create("environment")  # of its kernel, which writes it before there is any other code

    def has_ended(self) -> bool:
        """Whether its first process has, so that nothing can be started in it any more."""
        poller = select.poll()
        poller.register(self.descriptor, select.POLLIN)
        return bool(poller.poll(0))

    def remember(self, environment: dict[str, str]) -> None:
        os.pwrite(self.memory, json.dumps(environment).encode(), 0)

    def environment(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(os.pread(self.memory, os.fstat(self.memory).st_size, 0))
        return found

    def close(self) -> None:
        os.close(self.descriptor)
        os.close(self.memory)


def prepare(plan: Plan) -> Room:
    """Makes namespaces. Raises Missing if there can be none."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    between = os.fork()  # enters the namespaces, but for that of pids, in which its child is the first process
    if not between:
        ours.close()
        build(plan, theirs)
    theirs.close()
    with ours:
        words, _ = collect(ours, between)
    os.waitpid(between, 0)
    if "failure" in words or "init" not in words:
        raise Missing(words.get("failure", "a process that was to make namespaces died"))
    return Room(int(words["init"]))


def build(plan: Plan, report: socket.socket) -> NoReturn:
    try:
        enter_new_namespaces(plan)
        raise_loopback()
        bound_connections()
        os.chdir("/")  # what is mounted over the current directory later would not be over that of the first process
        give_up_rights(plan)
        tell(report, f"init {start_init()}")
    except BaseException as error:
        tell(report, f"failure {error}")
    finally:
        os._exit(0)


def enter_new_namespaces(plan: Plan) -> None:
    user, group = f"{plan.user} {os.geteuid()} 1", f"{plan.group} {os.getegid()} 1"
    process.set_dumpable(True)  # or it could not say who it is in its namespace
    if libc.unshare(NAMESPACES):
        raise missing("namespaces for a kernel cannot be made")
    for name, text in ("setgroups", "deny"), ("uid_map", user), ("gid_map", group):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def start_init() -> int:
    """Starts the first process of a namespace, which does nothing: the system reaps what it adopts.

    It is a program: a fork of this process would take more time and memory. Code can look into it, and change it.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    silent, other = socket.socketpair()  # it waits for what is never written
    numbers = {0: silent, 2: silent, 3: other}  # of the supervisor it has nothing
    actions = [(os.POSIX_SPAWN_DUP2, end.fileno(), number) for number, end in numbers.items()]
    with silent, other:
        return os.posix_spawn("/bin/sh", ["sh", "-c", "read nothing"], {}, file_actions=actions, setsid=True)


def fork(room: Room) -> int:
    """Forks into the pid namespace of a room; the other ones are entered by the child. Raises Missing and OSError."""
    supervisor = os.getpid()
    back = os.pidfd_open(supervisor)
    try:
        enter(room.descriptor, CLONE_NEWPID)
        return os.fork()
    except OSError as error:
        if room.has_ended():  # what the system says then is that there is no memory
            raise Missing(ENDED) from error
        raise
    finally:
        if os.getpid() == supervisor and libc.setns(back, CLONE_NEWPID):
            os._exit(1)  # what is forked next would be in the room of another kernel
        os.close(back)


def enter(descriptor: int, namespaces: int) -> None:
    """Enters namespaces of the process behind a pidfd."""
    if libc.setns(descriptor, namespaces):
        raise missing("the namespaces for a kernel cannot be entered")


def raise_loopback() -> None:
    """The loopback of a new namespace is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def bound_connections() -> None:
    """Bounds what a connection can hold, as the machine has so much for those of all namespaces together."""
    for name in ("tcp_rmem", "tcp_wmem"):
        with suppress(OSError):  # older systems have one value for all of them
            file = os.open(f"/proc/sys/net/ipv4/{name}", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(file, CONNECTION)
            finally:
                os.close(file)


def give_up_rights(plan: Plan) -> None:
    """Gives up what the namespaces have granted, and what the supervisor may do to make them."""
    if plan.processes is not None:
        limits.take({"processes": plan.processes})
    privileges.drop_capabilities()
    landlock.give_up_new_privileges()
    privileges.filter_calls(plan.filter, plan.machine)
