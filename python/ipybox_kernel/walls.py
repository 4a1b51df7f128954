"""Walls between the kernels of one supervisor: each lives in namespaces of its own, and so do its programs.

Within walls there is a file system in which the directories of the other kernels do not exist, and there are private
temporary directories, a loopback, terminals, shared memory and processes of its own.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import stat
import struct

from ipybox_kernel import filters, hosts, landlock, limits, privileges, process
from ipybox_kernel.landlock import Missing, libc, missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn

    #: The environment of a kernel with this listening socket, if it has one.
    Environment = Callable[[socket.socket | None], dict[str, str]]
    #: Of a kernel's environment: words, environment and directory of a program.
    Words = Callable[[dict[str, str]], tuple[list[str], dict[str, str], str | None]]

NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
CLONE_NEWPID = 0x20000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
OPEN_TREE, MOVE_MOUNT = 428, 429  # on every machine
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC, AT_RECURSIVE = 1, os.O_CLOEXEC, 0x8000
MOVE_MOUNT_F_EMPTY_PATH = 4
AT_FDCWD = -100

LONGEST_WORDS = 4096

SIOCSIFFLAGS, IFF_UP = 0x8914, 1


class Plan:
    """What the rooms of all kernels have in common."""

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


class Walls:
    """The rooms of the kernels that live, and one for the next: making it is most of what a walled start takes."""

    def __init__(self, hello: dict[str, Any]) -> None:
        self.hello = hello
        self.plan: Plan | None = None  # from the first kernel on
        self.rooms: dict[int, Room] = {}
        self.next: Room | None = None

    def wants_room(self) -> bool:
        return self.plan is not None and self.next is None

    def prepare(self, living: set[int]) -> None:
        """Makes the room for the next kernel, after the first one."""
        if self.plan is None:
            return
        try:
            self.next = prepare(self.plan)
            living.add(self.next.init)
        except (OSError, Missing):
            self.plan = None  # the next kernel tries it again, and its start says why it fails

    def fork(
        self, directory: str, network: bool, environment: Environment, living: set[int]
    ) -> tuple[int, Room, socket.socket | None]:
        """Forks a kernel; the pid is 0 in the child, where alone its environment is asked for.

        Raises Missing and OSError.
        """
        self.plan = self.plan or Plan(self.hello)
        room, self.next = self.next or prepare(self.plan), None
        living.discard(room.init)
        try:
            pid, listener = fork_kernel(self.plan, room, directory, network, environment)
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

    def start(self, kernel: int, words: Words, descriptors: list[int]) -> int:
        """Starts a program of a kernel, as `process.start` does; raises Missing and OSError.

        The words are asked for in the child alone: kernels to come inherit the memory of this process.
        """
        plan = self.plan or Plan(self.hello)
        room = self.rooms[kernel]
        pid = start(Program(plan, room, words, descriptors))
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

    def __init__(self, plan: Plan, room: Room, words: Words, descriptors: list[int]) -> None:
        self.plan = plan
        self.room = room
        self.words = words
        self.descriptors = descriptors


class Room:
    """Namespaces for a kernel and its programs, with nothing in them yet but their first process."""

    def __init__(self, init: int) -> None:
        self.init = init  # with it the system ends everything else there
        self.programs: set[int] = set()  # those that run, and those that have ended and left processes
        self.descriptor = os.pidfd_open(init)
        self.memory = os.memfd_create("environment")  # of its kernel, which writes it before there is any other code

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
        words, _ = collect(ours)
    os.waitpid(between, 0)
    if "failure" in words or "init" not in words:
        raise Missing(words.get("failure", "a process that was to make namespaces died"))
    return Room(int(words["init"]))


def build(plan: Plan, report: socket.socket) -> NoReturn:
    try:
        enter_new_namespaces(plan)
        raise_loopback()
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
    """Forks into the pid namespace of a room; the other ones are entered by the child. Raises Missing."""
    supervisor = os.getpid()
    back = os.pidfd_open(supervisor)
    try:
        enter(room.descriptor, CLONE_NEWPID)
        return os.fork()
    finally:
        if os.getpid() == supervisor and libc.setns(back, CLONE_NEWPID):
            os._exit(1)  # what is forked next would be in the room of another kernel
        os.close(back)


def enter(descriptor: int, namespaces: int) -> None:
    """Enters namespaces of the process behind a pidfd."""
    if libc.setns(descriptor, namespaces):
        raise missing("the namespaces for a kernel cannot be entered")


def fork_kernel(
    plan: Plan, room: Room, directory: str, network: bool, environment: Environment
) -> tuple[int, socket.socket | None]:
    """Forks a kernel into a room, with a listening socket there if it has a network; the pid is 0 in the child."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        pid = fork(room)
        if not pid:
            return 0, settle(plan, room, directory, network, environment, theirs)
        theirs.close()
        words, descriptors = collect(ours)
    listener = socket.socket(fileno=descriptors[0]) if descriptors else None
    if "failure" not in words:
        return pid, listener
    if listener:
        listener.close()
    os.waitpid(pid, 0)
    raise Missing(words["failure"])


def settle(
    plan: Plan, room: Room, directory: str, network: bool, environment: Environment, report: socket.socket
) -> socket.socket | None:
    """What a kernel does first; its listening socket."""
    try:
        enter(room.descriptor, NAMESPACES & ~CLONE_NEWPID)
        rearrange_files(plan, os.path.realpath(directory))
        mount_processes()
        give_up_rights(plan)
        listener = hosts.listen() if network else None
        if listener:
            socket.send_fds(report, [b"listener"], [listener.fileno()])
        room.remember(environment(listener))
    except BaseException as error:
        tell(report, f"failure {error}")
        os._exit(1)
    return listener


def start(program: Program) -> int:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        pid = fork(program.room)
        if not pid:
            become(program, theirs)
        theirs.close()
        words, _ = collect(ours)
    if "failure" not in words:
        return pid
    os.waitpid(pid, 0)
    code, _, text = words["failure"].partition(" ")
    raise OSError(int(code), text)


def become(program: Program, report: socket.socket) -> NoReturn:
    """Runs a program in place of this process."""
    argv, cwd = [""], None
    try:
        os.setsid()
        argv, env, cwd = program.words(program.room.environment())
        enter(program.room.descriptor, NAMESPACES & ~CLONE_NEWPID)
        if cwd is not None:
            os.chdir(cwd)
        give_up_rights(program.plan)
        process.default_signals()
        for number, descriptor in enumerate(program.descriptors):
            os.dup2(descriptor, number)
        process.execute(argv, env)
    except OSError as error:
        place = f": {cwd}" if cwd is not None and error.filename == cwd else ""
        tell(report, f"failure {error.errno} {argv[0]}: {error.strerror}{place}")
    except BaseException as error:
        tell(report, f"failure {errno.EPERM} {argv[0]}: {error}")
    finally:
        os._exit(127)


def tell(report: socket.socket, words: str) -> None:
    report.send(words.encode(errors="replace")[:LONGEST_WORDS])


def collect(report: socket.socket) -> tuple[dict[str, str], list[int]]:
    """What the processes tell that make walls, until the last one has closed its end."""
    words: dict[str, str] = {}
    descriptors: list[int] = []
    while True:
        data, received, _, _ = socket.recv_fds(report, LONGEST_WORDS, 1)
        descriptors += received
        if not data:
            return words, descriptors
        name, _, text = data.decode(errors="replace").partition(" ")
        words.setdefault(name, text)


# Files


def rearrange_files(plan: Plan, directory: str) -> None:
    """Gives this process a file system without the directories of other kernels."""
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    inside = place_in(plan.workspace, directory)
    hidden = [] if lies_in(plan.workspace, [inside]) else [plan.workspace]
    own = [(path, copy_of(path)) for path in sorted({directory, inside})]
    outside = [path for path in sorted(plan.kept) if not lies_in(path, [directory])]
    kept = [(path, copy_of(path)) for path in outside if lies_in(path, [*plan.private, *hidden])]
    for place in plan.private:
        cover(place, plan.size)
    for path, tree in kept:
        if not lies_in(path, hidden):
            put_back(path, tree)
    for place in hidden:
        os.makedirs(place, exist_ok=True)
        cover(place, plan.size)
    for path, tree in kept:
        if lies_in(path, hidden):
            put_back(path, tree)
    for path, tree in own:
        if lies_in(path, [*plan.private, *hidden]):
            put_back(path, tree)
    for place in hidden:
        mount(None, place, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    for _, descriptor in (*own, *kept):
        if descriptor is not None:
            os.close(descriptor)
    mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.chdir(directory)  # its parents are no longer those of the directory that this process was in


def place_in(workspace: str, directory: str) -> str:
    """The name of a directory in the workspace, which is mounted a second time where a link to it was private."""
    above, rest = directory, ""
    while above != "/":
        if os.path.samefile(above, workspace):
            return os.path.join(workspace, rest) if rest else workspace
        above, name = os.path.split(above)
        rest = os.path.join(name, rest) if rest else name
    return directory


def mount_processes() -> None:
    """Its own ``/proc``. Root's files there are writable for user 0 without any capability, unless it is read-only."""
    read_only = MS_RDONLY if os.geteuid() == 0 else 0
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | read_only)


def lies_in(path: str, places: Iterable[str]) -> bool:
    """Whether a path is one of these places, or lies in one."""
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)


def copy_of(path: str) -> int | None:
    """What is mounted at a path and below it, detached; None where there is nothing."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    descriptor = libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(path), flags)
    if descriptor < 0 and ctypes.get_errno() not in (errno.ENOENT, errno.ENOTDIR):
        raise missing(f"{path} cannot be opened to the kernel alone")
    return None if descriptor < 0 else int(descriptor)


def put_back(path: str, tree: int | None) -> None:
    """Mounts a copy where it was, also if something else has been mounted there."""
    if tree is None:
        return
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.lexists(path):
            os.close(os.open(path, os.O_CREAT | os.O_CLOEXEC, 0o600))
    if libc.syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(path), MOVE_MOUNT_F_EMPTY_PATH):
        raise missing(f"{path} cannot be mounted for the kernel alone")


def cover(place: str, size: int) -> None:
    """Mounts an empty directory of its own over a directory."""
    mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=755,size={size}" if size else "mode=755")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [word if word is None else os.fsencode(word) for word in (source, target, kind)]
    if libc.mount(*words, ctypes.c_ulong(flags), data.encode() if data else None):
        raise missing(f"{target} cannot be mounted for the kernel alone")


# Everything else


def raise_loopback() -> None:
    """The loopback of a new namespace is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def give_up_rights(plan: Plan) -> None:
    """Gives up what the namespaces have granted, and what the supervisor may do to make them."""
    if plan.processes is not None:
        limits.take({"processes": plan.processes})
    privileges.drop_capabilities()
    landlock.give_up_new_privileges()
    privileges.filter_calls(plan.filter, plan.machine)
