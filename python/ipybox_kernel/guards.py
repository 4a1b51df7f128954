"""The guard ``no_exec``: a kernel that can start no program and touch no process that is not its own.

What holds is the system: capabilities, Landlock and a seccomp filter, none of which can be undone. Python's own ways to
start programs say so in a sentence, for people.
"""

from __future__ import annotations

import _posixsubprocess
import ctypes
import os
import platform
import pty
import struct
import subprocess
from collections.abc import Callable
from typing import Any

from ipybox_kernel import filters, landlock
from ipybox_kernel.landlock import Missing, libc, missing

PR_CAPBSET_READ, PR_CAPBSET_DROP = 23, 24
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522

SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_TSYNC = 1

SENTENCE = "Programs cannot be started from Python here. Start them with !, as in `!ls -l`, or in a %%bash cell."


def confine(allow: list[str]) -> None:
    """Puts this process, for ever, under the guard, and all that it will fork; raises Missing if that is impossible.

    ``allow`` names what the base filter leaves open.
    """
    machine = filters.MACHINES.get(platform.machine())
    if machine is None:
        raise Missing(f"there is no filter for {platform.machine()}, only for {' and '.join(filters.MACHINES)}")
    drop_capabilities()
    landlock.give_up_new_privileges()
    landlock.isolate(landlock.version())
    for program in (filters.base(machine, allow), filters.no_exec(machine)):
        install(program, machine)
    explain()


def unavailable() -> str:
    """What is missing here, found out by trying it in a process of its own; empty if nothing is."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            confine([])
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


# seccomp


def install(program: bytes, machine: filters.Machine) -> None:
    """Filters the system calls of all threads of this process from now on."""
    memory = ctypes.create_string_buffer(program, len(program))
    description = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(memory))
    number = machine.calls["seccomp"]
    if libc.syscall(number, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, description):
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
