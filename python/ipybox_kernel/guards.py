"""The guard ``no_exec``: a kernel that can start no program and touch no process that is not its own.

What holds is the system: capabilities, Landlock and a seccomp filter, none of which can be undone. Python's own ways to
start programs say so in a sentence, for people.
"""

from __future__ import annotations

import _posixsubprocess
import ctypes
import errno
import os
import platform
import pty
import struct
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple

PR_CAPBSET_READ, PR_CAPBSET_DROP = 23, 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446  # on every machine
LANDLOCK_CREATE_RULESET_VERSION = 1
LANDLOCK_RULE_PATH_BENEATH = 1
LANDLOCK_ACCESS_FS_MAKE_BLOCK, LANDLOCK_ACCESS_FS_REFER = 1 << 11, 1 << 13
LANDLOCK_SCOPES = 1 << 0 | 1 << 1  # abstract sockets, signals

SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_TSYNC = 1
SECCOMP_RET_KILL_PROCESS = 0x80000000
SECCOMP_RET_ERRNO = 0x00050000
SECCOMP_RET_ALLOW = 0x7FFF0000
X32 = 0x40000000  # this bit is in every number of the x32 ABI

SENTENCE = "Programs cannot be started from Python here. Start them with !, as in `!ls -l`, or in a %%bash cell."

libc = ctypes.CDLL(None, use_errno=True)


class Machine(NamedTuple):
    """What the filter has to know of a processor: its number, and those of system calls."""

    audit: int
    seccomp: int
    execve: int
    execveat: int
    prlimit: int


MACHINES = {
    "x86_64": Machine(audit=0xC000003E, seccomp=317, execve=59, execveat=322, prlimit=302),
    "aarch64": Machine(audit=0xC00000B7, seccomp=277, execve=221, execveat=281, prlimit=261),
}


class Missing(Exception):
    """The guard cannot be had; the text says what this system lacks."""


def confine() -> None:
    """Puts this process, for ever, under the guard, and all that it will fork; raises Missing if that is impossible."""
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise Missing(f"there is no filter for {platform.machine()}, only for {' and '.join(MACHINES)}")
    drop_capabilities()
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise missing("no_new_privs")
    restrict(landlock_version())
    install(program(machine), machine)
    explain()


def unavailable() -> str:
    """What is missing here, found out by trying it in a process of its own; empty if nothing is."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            confine()
            os.write(writing, b"ok")
        except BaseException as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(pid, 0)
    return "" if text == "ok" else text or "a process that was put under it died"


def missing(what: str) -> Missing:
    """What to say after a system call has failed."""
    number = ctypes.get_errno()
    return Missing(f"{what}: {os.strerror(number)} (errno {number})")


# Capabilities


def drop_capabilities() -> None:
    """Gives up all capabilities, in every set."""
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    capability = 0
    while libc.prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0:
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for ordinary users, who have none to be given
        capability += 1
    if libc.capset(struct.pack("Ii", CAPABILITY_VERSION_3, 0), bytes(24)):
        raise missing("the capabilities cannot be dropped")


# Landlock


def landlock_version() -> int:
    """The ABI of Landlock; raises Missing without one."""
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_CREATE_RULESET_VERSION)
    if version < 1:
        raise missing("this Linux has no Landlock (it came with 5.13, and can be left out with `lsm=`)")
    return int(version)


def restrict(version: int) -> None:
    """Enters a domain that restricts no file: memory and descriptors outside are closed; from ABI 6 on signals too.

    A domain wants something to restrict. Making block devices was possible to nobody, but a domain that handles any
    right to files forbids renames across directories unless these are granted, which was impossible with ABI 1.
    """
    if version >= 6:
        attributes, grants = struct.pack("QQQ", 0, 0, LANDLOCK_SCOPES), 0
    elif version >= 2:
        grants = LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_REFER
        attributes = struct.pack("Q", grants)
    else:
        attributes, grants = struct.pack("Q", LANDLOCK_ACCESS_FS_MAKE_BLOCK), 0
    ruleset = libc.syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        raise missing("Landlock makes no ruleset")
    try:
        if grants:
            grant(ruleset, grants)
        if libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0):
            raise missing("Landlock does not restrict this process")
    finally:
        os.close(ruleset)


def grant(ruleset: int, rights: int) -> None:
    """Grants rights to all files."""
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        if libc.syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, struct.pack("=Qi", rights, root), 0):
            raise missing("Landlock takes no rule")
    finally:
        os.close(root)


# seccomp


def program(machine: Machine) -> bytes:
    """The filter: no program is started by any number, limits are set for oneself only, the rest is as ever."""
    nothing, number, architecture, arguments = 0, 0, 4, 16
    deny, kill = SECCOMP_RET_ERRNO | errno.EPERM, SECCOMP_RET_KILL_PROCESS
    steps: list[tuple[str, int, str, str]] = [
        ("load", architecture, "", ""),
        ("equal", machine.audit, "", "kill"),
        ("load", number, "", ""),
        *([("at least", X32, "deny", "")] if machine is MACHINES["x86_64"] else []),
        ("equal", machine.execve, "deny", ""),
        ("equal", machine.execveat, "deny", ""),
        ("equal", machine.prlimit, "", "allow"),
        ("load", arguments, "", ""),  # whose limits
        ("equal", nothing, "allow", ""),
        ("load", arguments + 16, "", ""),  # where the new ones are, in two halves
        ("equal", nothing, "", "deny"),
        ("load", arguments + 20, "", ""),
        ("equal", nothing, "allow", "deny"),
    ]
    ends = {"allow": SECCOMP_RET_ALLOW, "deny": deny, "kill": kill}
    places = {name: len(steps) + place for place, name in enumerate(ends)}
    codes = {"load": 0x20, "equal": 0x15, "at least": 0x35}  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JGE|K
    packed = b""
    for place, (code, value, yes, no) in enumerate(steps):
        jumps = [places[name] - place - 1 if name else 0 for name in (yes, no)]
        packed += struct.pack("HBBI", codes[code], *jumps, value)
    return packed + b"".join(struct.pack("HBBI", 0x06, 0, 0, value) for value in ends.values())  # BPF_RET|K


def install(filter: bytes, machine: Machine) -> None:
    """Filters the system calls of all threads of this process from now on."""
    memory = ctypes.create_string_buffer(filter, len(filter))
    description = struct.pack("HxxxxxxP", len(filter) // 8, ctypes.addressof(memory))
    if libc.syscall(machine.seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, description):
        raise missing("this Linux takes no seccomp filter")


# Python


def explain() -> None:
    """Makes Python say what to do instead. The filter would only say that it is not permitted."""
    names = ("system", "posix_spawn", "posix_spawnp", "execv", "execve", "spawnv", "spawnve", "spawnvp", "spawnvpe")
    for name in names:  # the other ones call these
        replace(os, name)
    for module in (pty, _posixsubprocess, subprocess):
        replace(module, "spawn" if module is pty else "fork_exec" if module is _posixsubprocess else "_fork_exec")


def replace(module: Any, name: str) -> None:
    """Replaces a function by one that says why it does not do what it did."""
    original: Callable[..., Any] | None = getattr(module, name, None)
    if original is None:
        return

    def denied(*args: object, **options: object) -> None:
        raise PermissionError(SENTENCE)

    denied.__name__ = denied.__qualname__ = name
    denied.__doc__ = SENTENCE
    setattr(module, name, denied)
