"""Parts of the system that sandbox and guard close, each with a try at it. As a program it prints what came of them."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import platform
import resource
import socket
import struct
import sys

X86 = platform.machine() == "x86_64"
NAMES = (
    ("ptrace", 101, 117),
    ("readv", 310, 270),
    ("writev", 311, 271),
    ("kcmp", 312, 272),
    ("unshare", 272, 97),
    ("setns", 308, 268),
    ("perf", 298, 241),
    ("userfaultfd", 323, 282),
    ("keyctl", 250, 219),
    ("add_key", 248, 217),
    ("bpf", 321, 280),
    ("handle", 303, 264),
    ("clone", 56, 220),
    ("syslog", 103, 116),
    ("mount", 165, 40),
    ("io_uring", 425, 425),
    ("clone3", 435, 435),
    ("pidfd_getfd", 438, 438),
    ("prlimit", 302, 261),
    ("openat2", 437, 437),
    ("setpriority", 141, 140),
    ("sched_setparam", 142, 118),
    ("sched_setscheduler", 144, 119),
    ("sched_setaffinity", 203, 122),
    ("ioprio_set", 251, 30),
    ("sched_setattr", 314, 274),
)
NUMBERS = {name: x86 if X86 else arm for name, x86, arm in NAMES}
CLONE_NEWUSER, CLONE_NEWNET, SIGCHLD = 0x10000000, 0x40000000, 17

libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: object) -> str:
    """A system call, in a child of its own: the name of its error, or "ok"."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        words = (ctypes.c_long(value) if isinstance(value, int) else value for value in (NUMBERS[name], *arguments))
        failed = libc.syscall(*words) == -1
        os.write(writing, (errno.errorcode.get(ctypes.get_errno(), "?") if failed else "ok").encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as file:
        said = file.read()
    os.waitpid(pid, 0)
    return said[:-2] or "ok" if said.endswith("ok") else said  # a clone says it twice


def make_socket(family: int, kind: int = socket.SOCK_STREAM, protocol: int = 0) -> str:
    try:
        socket.socket(family, kind, protocol).close()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "ok"


def make_pair(kind: int) -> str:
    """Datagrams of a pair can be sent to any other socket that has a path."""
    try:
        for end in socket.socketpair(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK):
            end.close()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "ok"


#: By what opens them; "" for what is always closed.
TRIES = {
    "unix-sockets": {
        "unix": lambda: make_socket(socket.AF_UNIX),
        "unix datagram": lambda: make_socket(socket.AF_UNIX, socket.SOCK_DGRAM),
        "unix, high bits": lambda: make_socket_raw((1 << 32) | 1),
        "pair of datagrams": lambda: make_pair(socket.SOCK_DGRAM),
        "pair of datagrams, raw": lambda: make_pair(socket.SOCK_RAW),
    },
    "user-namespaces": {
        "unshare": lambda: call("unshare", CLONE_NEWUSER),
        "clone": lambda: call("clone", CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0),
        "clone, high bits": lambda: call("clone", 1 << 32 | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0),
        "clone3": lambda: call("clone3", bytes(64), 64),
        "setns": lambda: call("setns", -1, 0),
        "mount": lambda: call("mount", 0, 0, 0, 0, 0),
    },
    "ptrace": {
        "traced": lambda: call("ptrace", 0, 0, 0, 0),
        "read": lambda: call("readv", os.getpid(), None, 0, None, 0, 0),
        "write": lambda: call("writev", os.getpid(), None, 0, None, 0, 0),
        "compare": lambda: call("kcmp", os.getpid(), os.getpid(), 1, 0, 0),
        "descriptor": lambda: call("pidfd_getfd", -1, 0, 0),
    },
    "io-uring": {"io_uring": lambda: call("io_uring", 1, bytes(120))},
    "perf-events": {"perf": lambda: call("perf", 0, 0, -1, -1, 0)},
    "": {
        "vsock": lambda: make_socket(40),
        "alg": lambda: make_socket(38, 5),
        "packet": lambda: make_socket(17, 3),
        "vsock, high bits": lambda: make_socket_raw(1 << 32 | 40),
        "netlink of the audit": lambda: make_socket(16, 3, 9),
        "raw": lambda: make_socket(socket.AF_INET, socket.SOCK_RAW, 1),
        "udp-lite": lambda: make_protocol(socket.SOCK_DGRAM, 136),
        "udp-lite 6": lambda: make_protocol(socket.SOCK_DGRAM, 136, socket.AF_INET6),
        "mptcp": lambda: make_protocol(socket.SOCK_STREAM, 262),
        "mptcp, high bits": lambda: make_protocol(socket.SOCK_STREAM, 1 << 32 | 262),
        "sctp": lambda: make_protocol(socket.SOCK_STREAM, 132),
        "sctp packets": lambda: make_socket(socket.AF_INET, socket.SOCK_SEQPACKET, 132),
        "line discipline": lambda: set_line_discipline(),
        "userfaultfd": lambda: call("userfaultfd", 1),
        "keyctl": lambda: call("keyctl", 0, -3, 1),
        "add_key": lambda: call("add_key", b"user", b"x", b"x", 1, -3),
        "bpf": lambda: call("bpf", 99, 0, 0),
        "file handle": lambda: call("handle", -100, b"/", 0, 0, 0),
        "syslog": lambda: call("syslog", 99, 0, 0),
        "typing": lambda: type_into_terminal(),
        "lease": lambda: control("/dev/null", 1024, 0),
        "notification": lambda: control("/", 1026, 0),
        "priority of the first process": lambda: call("setpriority", 0, 1, os.getpriority(os.PRIO_PROCESS, 1)),
        "priority of its group": lambda: call("setpriority", 1, 1, os.getpriority(os.PRIO_PROCESS, 1)),
        "priority of a user": lambda: call("setpriority", 2, 64999, 0),
        "its priority at the disk": lambda: call("ioprio_set", 1, 1, 7 << 13),
        "priority of a user at the disk": lambda: call("ioprio_set", 3, 64999, 7 << 13),
        "processors of the first process": lambda: call("sched_setaffinity", 1, 0, 0),
        "its parameters": lambda: call("sched_setparam", 1, None),
        "its scheduler": lambda: call("sched_setscheduler", 1, 0, None),
        "its attributes": lambda: call("sched_setattr", 1, None, 0),
        "limits of the parent": lambda: call("prlimit", os.getpid(), 0, 1, 0),
        "set-user-ID program": lambda: set_mode(0o4755),
        "set-group-ID program": lambda: set_mode(0o2755),
        "openat2": lambda: call("openat2", -100, b".", bytes(24), 24),
    },
}

#: What stays open in any case.
OPEN = {
    "pair": lambda: make_pair(socket.SOCK_STREAM),
    "pair of packets": lambda: make_pair(socket.SOCK_SEQPACKET),
    "internet": lambda: make_socket(socket.AF_INET),
    "internet 6": lambda: make_socket(socket.AF_INET6),
    "tcp": lambda: make_socket(socket.AF_INET, socket.SOCK_STREAM, 6),
    "udp": lambda: make_socket(socket.AF_INET6, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, 17),
    "interfaces": lambda: make_socket(16, 3, 0),
    "priority of its own": lambda: call("setpriority", 0, 0, os.getpriority(os.PRIO_PROCESS, 0)),
    "processors of its own": lambda: call("sched_setaffinity", 0, 128, b"\xff" * 128),
    "owner of signals": lambda: control("/", 8, 0),
    "limits of its own": lambda: call("prlimit", 0, 0, struct.pack("qq", *resource.getrlimit(resource.RLIMIT_CPU)), 0),
    "mode of a program": lambda: set_mode(0o755),
    "set-group-ID file that is no program": lambda: set_mode(0o2644),
    "a look at limits": lambda: call("prlimit", os.getpid(), 0, 0, bytes(16)),
}


def make_socket_raw(family: int) -> str:
    """With more bits than the system looks at."""
    number = 41 if X86 else 198
    result = libc.syscall(ctypes.c_long(number), ctypes.c_long(family), ctypes.c_long(1), ctypes.c_long(0))
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]


def make_protocol(kind: int, protocol: int, family: int = socket.AF_INET) -> str:
    """Refused as what the system does not have: programs take another protocol then."""
    number = 41 if X86 else 198
    result = libc.syscall(ctypes.c_long(number), ctypes.c_long(family), ctypes.c_long(kind), ctypes.c_ulong(protocol))
    if result >= 0:
        return "ok"
    return "EPERM" if ctypes.get_errno() == errno.EPROTONOSUPPORT else errno.errorcode[ctypes.get_errno()]


def set_line_discipline() -> str:
    """One that the system has: what typing goes through."""
    terminal, other = os.openpty()
    try:
        fcntl.ioctl(other, 0x5423, struct.pack("i", 0))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    finally:
        os.close(terminal)
        os.close(other)
    return "ok"


def set_mode(mode: int) -> str:
    file = os.memfd_create("program")
    try:
        os.fchmod(file, mode)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    finally:
        os.close(file)
    return "ok"


def control(path: str, command: int, argument: int) -> str:
    """fcntl(2)."""
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.fcntl(file, command, argument)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    finally:
        os.close(file)
    return "ok"


def type_into_terminal() -> str:
    """Into one of its own, as it has no other."""
    _, terminal = os.openpty()
    result = libc.ioctl(terminal, ctypes.c_ulong(1 << 32 | 0x5412), b"x")
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]


def outcomes() -> dict[str, dict[str, str]]:
    tries = {group: {name: action() for name, action in actions.items()} for group, actions in TRIES.items()}
    return {**tries, "open": {name: action() for name, action in OPEN.items()}}


def mistakes(seen: dict[str, dict[str, str]], allowed: list[str]) -> list[str]:
    """What should have come out otherwise, in words."""
    wrong = []
    for group, results in seen.items():
        for name, result in results.items():
            closed = group != "open" and group not in allowed
            denied = result == ("ENOSYS" if name in ("clone3", "openat2") else "EPERM")
            if closed != denied:
                wrong.append(f"{name}: {result}")
    return wrong


if __name__ == "__main__":
    seen = outcomes()
    if "--json" in sys.argv:
        print(json.dumps(seen))
    else:
        print("\n".join(mistakes(seen, sys.argv[1:])) or "as it should be")
