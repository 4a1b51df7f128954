"""Programs of seccomp: the base filter of everything that is sandboxed, and the one of the guard.

A filter is put together of blocks, which can be left out one by one. In each, the accumulator holds the number of the
system call at the beginning and at the end. The host has the same blocks: ``include/ipybox/sandbox/filter_blocks.hpp``
is written from this file by ``./dev embed``.
"""

from __future__ import annotations

import errno
import struct
from typing import NamedTuple

RET_KILL_PROCESS = 0x80000000
RET_ERRNO = 0x00050000
RET_ALLOW = 0x7FFF0000

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF_LD|W|ABS, BPF_JMP|…|K, BPF_RET|K
KEEP_BITS = 0x54  # BPF_ALU|AND|K
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # places in struct seccomp_data, little-endian
X32 = 0x40000000  # this bit is in every number of the x32 ABI

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
NETLINK_ROUTE = 0
SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET = 1, 2, 5
IPPROTO_TCP, IPPROTO_UDP = 6, 17
SOCK_TYPES = 0xF  # the bits of a type; above them are flags, as SOCK_CLOEXEC
NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
NAMESPACES_OF_UNSHARE = NAMESPACES | 0x80  # CLONE_NEWTIME, which clone would take for a part of a signal's number
O_CREAT, O_TMPFILE = 0o100, 0o20000000  # a mode follows
S_ISUID = 0o4000
SET_GROUP_ID_PROGRAM = 0o2010  # S_ISGID and S_IXGRP
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # type into a terminal
TIOCSETD = 0x5423  # takes a module of the system for a terminal
F_SETLEASE, F_NOTIFY = 1024, 1026
FIRST_PROCESS = 1  # the supervisor where the sandbox has a pid namespace of its own, and nothing else has to do with it

Block = list["Step"]


class Step(NamedTuple):
    """One instruction."""

    code: int
    yes: int
    no: int
    value: int


class Machine(NamedTuple):
    """A processor: its number, and those of its system calls."""

    audit: int
    calls: dict[str, int]
    x32: bool = False


# Below 424 each processor has numbers of its own; from there on they are the same everywhere.
COMMON = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "openat2": 437,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "fchmodat2": 452,
    "open_tree_attr": 467,
}
NAMES_X86_64 = {
    "open": 2, "ioctl": 16, "socket": 41, "socketpair": 53, "clone": 56, "execve": 59, "fcntl": 72, "creat": 85,
    "chmod": 90, "fchmod": 91, "ptrace": 101, "syslog": 103, "mknod": 133, "uselib": 134, "setpriority": 141,
    "sched_setparam": 142, "sched_setscheduler": 144, "vhangup": 153, "modify_ldt": 154, "pivot_root": 155,
    "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167,
    "swapoff": 168, "reboot": 169, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176,
    "quotactl": 179, "sched_setaffinity": 203, "clock_settime": 227, "kexec_load": 246, "add_key": 248,
    "request_key": 249, "keyctl": 250, "ioprio_set": 251, "openat": 257, "mknodat": 259, "fchmodat": 268,
    "unshare": 272, "perf_event_open": 298, "fanotify_init": 300, "prlimit64": 302, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
    "kcmp": 312, "finit_module": 313, "sched_setattr": 314, "seccomp": 317, "kexec_file_load": 320, "bpf": 321,
    "execveat": 322, "userfaultfd": 323,
}  # fmt: skip
NAMES_AARCH64 = {
    "fcntl": 25, "ioctl": 29, "ioprio_set": 30, "mknodat": 33, "umount2": 39, "mount": 40, "pivot_root": 41,
    "chroot": 51, "fchmod": 52, "fchmodat": 53, "openat": 56, "vhangup": 58, "quotactl": 60, "acct": 89, "unshare": 97,
    "kexec_load": 104, "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117,
    "sched_setparam": 118, "sched_setscheduler": 119, "sched_setaffinity": 122, "setpriority": 140, "reboot": 142,
    "settimeofday": 170, "adjtimex": 171, "socket": 198, "socketpair": 199, "add_key": 217, "request_key": 218,
    "keyctl": 219, "clone": 220, "execve": 221, "swapon": 224, "swapoff": 225, "perf_event_open": 241, "prlimit64": 261,
    "fanotify_init": 262, "name_to_handle_at": 264, "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268,
    "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "sched_setattr": 274,
    "seccomp": 277, "bpf": 280, "execveat": 281, "userfaultfd": 282, "kexec_file_load": 294,
}  # fmt: skip

MACHINES = {
    "x86_64": Machine(audit=0xC000003E, calls={**NAMES_X86_64, **COMMON}, x32=True),
    "aarch64": Machine(audit=0xC00000B7, calls={**NAMES_AARCH64, **COMMON}),
}

#: What nothing in a sandbox has a use for, and what has been the way out of many.
ALWAYS = (
    "bpf userfaultfd add_key request_key keyctl fanotify_init init_module finit_module delete_module kexec_load "
    "kexec_file_load reboot swapon swapoff acct quotactl quotactl_fd open_by_handle_at name_to_handle_at settimeofday "
    "clock_settime clock_adjtime adjtimex syslog iopl ioperm modify_ldt uselib vhangup"
)
MOUNTS = (
    "mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr"
)

#: What can be left open, by name: a word for it in the options of the host.
CHOICES = ("unix-sockets", "user-namespaces", "ptrace", "io-uring", "perf-events")

#: The block for sandboxes without a network of their own; nothing else has it.
NO_INTERNET = "no-internet"


def base(machine: Machine, allow: tuple[str, ...] | list[str] = ()) -> bytes:
    """The base filter, without what is allowed; raises ValueError for a name that is not in CHOICES."""
    if strangers := set(allow) - set(CHOICES):
        raise ValueError(f"nothing is named {', '.join(sorted(strangers))}; there are {', '.join(CHOICES)}")
    closed = [block for name, block in base_blocks(machine).items() if name not in (*allow, NO_INTERNET)]
    return pack([step for block in closed for step in block])


def base_blocks(machine: Machine) -> dict[str, Block]:
    """The blocks of the base filter, in order. Those that are not in CHOICES are in every filter."""
    return {
        "begin": begin(machine),
        "always": [
            *deny(machine, *ALWAYS.split()),
            *families(machine),
            *control_of_terminals(machine),
            *leases(machine),
            *limits_of_others(machine),
            *scheduling_of_supervisor(machine),
            *set_user_id_programs(machine),
        ],
        "unix-sockets": argument(machine, "socket", 0, [Step(EQUAL, 0, 1, AF_UNIX), denial()])
        + connected_pairs(machine),
        "user-namespaces": namespaces(machine) + deny(machine, "setns", *MOUNTS.split()),
        "ptrace": deny(
            machine, "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd"
        ),
        "io-uring": deny(machine, "io_uring_setup", "io_uring_enter", "io_uring_register"),
        "perf-events": deny(machine, "perf_event_open"),
        NO_INTERNET: argument(
            machine, "socket", 0, [Step(EQUAL, 1, 0, AF_INET), Step(EQUAL, 0, 1, AF_INET6), denial()]
        ),
        "end": [Step(RETURN, 0, 0, RET_ALLOW)],
    }


def no_exec(machine: Machine) -> bytes:
    """The guard's filter: no program is started."""
    return pack([*begin(machine), *deny(machine, "execve", "execveat"), Step(RETURN, 0, 0, RET_ALLOW)])


def denial(number: int = errno.EPERM) -> Step:
    return Step(RETURN, 0, 0, RET_ERRNO | number)


def begin(machine: Machine) -> Block:
    """Only system calls of this very ABI go on, so that one number is one system call."""
    steps = [
        Step(LOAD, 0, 0, ARCHITECTURE),
        Step(EQUAL, 1, 0, machine.audit),
        Step(RETURN, 0, 0, RET_KILL_PROCESS),
        Step(LOAD, 0, 0, NUMBER),
    ]
    return steps + ([Step(AT_LEAST, 0, 1, X32), denial()] if machine.x32 else [])


def deny(machine: Machine, *names: str) -> Block:
    """No system call of these names; some exist on one processor only."""
    numbers = [machine.calls[name] for name in names if name in machine.calls]
    last = len(numbers) - 1
    tests = [Step(EQUAL, last - place, int(place == last), number) for place, number in enumerate(numbers)]
    return [*tests, denial()]


def argument(machine: Machine, name: str, place: int, steps: Block) -> Block:
    """Judges a system call by the low half of an argument: all that the kernel looks at where it is an int."""
    judgement = [Step(LOAD, 0, 0, ARGUMENTS + 8 * place), *steps, Step(LOAD, 0, 0, NUMBER)]
    return [Step(EQUAL, 0, len(judgement), machine.calls[name]), *judgement]


def families(machine: Machine) -> Block:
    """Sockets of TCP and UDP, Unix ones, and those that ask for network interfaces (libzmq aborts without)."""
    # The system would load a module for the others. Programs that ask for MPTCP first go on with TCP at this error.
    protocols = [
        Step(LOAD, 0, 0, ARGUMENTS + 16),
        Step(EQUAL, 3, 0, 0),
        Step(EQUAL, 2, 0, IPPROTO_TCP),
        Step(EQUAL, 1, 0, IPPROTO_UDP),
        denial(errno.EPROTONOSUPPORT),
    ]
    internet = [
        Step(LOAD, 0, 0, ARGUMENTS + 8),
        Step(KEEP_BITS, 0, 0, SOCK_TYPES),
        Step(EQUAL, 2, 0, SOCK_STREAM),
        Step(EQUAL, 1, 0, SOCK_DGRAM),
        denial(),
        *protocols,
    ]
    known = [
        Step(EQUAL, 7 + len(internet), 0, AF_UNIX),
        Step(EQUAL, 6, 0, AF_INET),
        Step(EQUAL, 5, 0, AF_INET6),
        Step(EQUAL, 1, 0, AF_NETLINK),
        denial(),
        Step(LOAD, 0, 0, ARGUMENTS + 16),
        Step(EQUAL, 1 + len(internet), 0, NETLINK_ROUTE),
        denial(),
        *internet,
    ]
    pairs = [Step(EQUAL, 1, 0, AF_UNIX), denial()]
    return argument(machine, "socket", 0, known) + argument(machine, "socketpair", 0, pairs)


def connected_pairs(machine: Machine) -> Block:
    """Pairs that are connected for good. Datagrams of a pair can be sent to any other socket that has a path."""
    connected = [
        Step(KEEP_BITS, 0, 0, SOCK_TYPES),
        Step(EQUAL, 2, 0, SOCK_STREAM),
        Step(EQUAL, 1, 0, SOCK_SEQPACKET),
        denial(),
    ]
    return argument(machine, "socketpair", 1, connected)


def namespaces(machine: Machine) -> Block:
    """No new namespace. The arguments of clone3 lie in memory: it is said not to exist, and glibc takes clone."""
    return [
        *argument(machine, "clone", 0, [Step(ANY_BIT, 0, 1, NAMESPACES), denial()]),
        *argument(machine, "unshare", 0, [Step(ANY_BIT, 0, 1, NAMESPACES_OF_UNSHARE), denial()]),
        Step(EQUAL, 0, 1, machine.calls["clone3"]),
        denial(errno.ENOSYS),
    ]


def control_of_terminals(machine: Machine) -> Block:
    """Nothing is typed into a terminal, and none gets another line discipline."""
    refused = [Step(EQUAL, 2, 0, TIOCSTI), Step(EQUAL, 1, 0, TIOCLINUX), Step(EQUAL, 0, 1, TIOCSETD), denial()]
    return argument(machine, "ioctl", 1, refused)


def leases(machine: Machine) -> Block:
    """No lease, which would make everyone else wait who opens the file; it takes no right but to read it."""
    return argument(machine, "fcntl", 1, [Step(EQUAL, 1, 0, F_SETLEASE), Step(EQUAL, 0, 1, F_NOTIFY), denial()])


def limits_of_others(machine: Machine) -> Block:
    """Limits are set for oneself alone: a supervisor that may open no file could not find what it has to end."""
    judgement = [
        Step(LOAD, 0, 0, ARGUMENTS),  # whose limits
        Step(EQUAL, 5, 0, 0),
        Step(LOAD, 0, 0, ARGUMENTS + 16),  # where the new ones are, in two halves
        Step(EQUAL, 0, 2, 0),
        Step(LOAD, 0, 0, ARGUMENTS + 20),
        Step(EQUAL, 1, 0, 0),
        denial(),
        Step(LOAD, 0, 0, NUMBER),
    ]
    return [Step(EQUAL, 0, len(judgement), machine.calls["prlimit64"]), *judgement]


#: Calls that set priorities of a process, a group, or all of a user, each with its number for users.
PRIORITIES = {"setpriority": 2, "ioprio_set": 3}  # PRIO_USER, IOPRIO_WHO_USER


def scheduling_of_supervisor(machine: Machine) -> Block:
    """Priority and processors of the first process stay: it enforces limits. So do those of all that the user has."""
    block: Block = []
    first = [Step(EQUAL, 0, 1, FIRST_PROCESS), denial()]
    for name in ("sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"):
        block += argument(machine, name, 0, first)
    for name, user in PRIORITIES.items():
        block += argument(machine, name, 0, [Step(EQUAL, 2, 0, user), Step(LOAD, 0, 0, ARGUMENTS + 8), *first])
    return block


#: Where each call has the mode of a file. In those that open files it stands behind the flags, and counts with some.
MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
MODES_OF_OPENED = {"open": 2, "openat": 3}


def set_user_id_programs(machine: Machine) -> Block:
    """None are made: with one that code left in the working directory, other users would have the rights of its owner.

    Nor set-group-ID programs. Directories of such modes look alike here; new ones take the bit of the one around them.

    The arguments of openat2 lie in memory: it is said not to exist, and programs take openat.
    """
    block: Block = []
    refused = [
        Step(ANY_BIT, 2, 0, S_ISUID),
        Step(KEEP_BITS, 0, 0, SET_GROUP_ID_PROGRAM),
        Step(EQUAL, 0, 1, SET_GROUP_ID_PROGRAM),
        denial(),
    ]
    for name, place in MODES.items():
        if name in machine.calls:
            block += argument(machine, name, place, refused)
    for name, place in MODES_OF_OPENED.items():
        if name in machine.calls:
            mode = [Step(LOAD, 0, 0, ARGUMENTS + 8 * place), *refused]
            block += argument(machine, name, place - 1, [Step(ANY_BIT, 0, len(mode), O_CREAT | O_TMPFILE), *mode])
    return [*block, Step(EQUAL, 0, 1, machine.calls["openat2"]), denial(errno.ENOSYS)]


def pack(steps: Block) -> bytes:
    """The instructions as the kernel takes them."""
    return b"".join(struct.pack("HBBI", *step) for step in steps)
