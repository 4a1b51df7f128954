"""Gives up, for ever, what a process may do: capabilities, and system calls by a filter."""

from __future__ import annotations

import ctypes
import platform
import struct

from ipybox_kernel import filters
from ipybox_kernel.landlock import Missing, libc, missing

PR_CAPBSET_READ, PR_CAPBSET_DROP = 23, 24
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522

SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_TSYNC = 1


def drop_capabilities() -> None:
    """Gives up all capabilities, in every set."""
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    capability = 0
    while libc.prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0:
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for ordinary users, who have none to be given
        capability += 1
    if libc.capset(struct.pack("Ii", CAPABILITY_VERSION_3, 0), bytes(24)):
        raise missing("the capabilities cannot be dropped")


def machine() -> filters.Machine:
    """The processor of this computer; raises Missing if there is no filter for it."""
    name = platform.machine()
    if name not in filters.MACHINES:
        raise Missing(f"there is no filter for {name}, only for {' and '.join(filters.MACHINES)}")
    return filters.MACHINES[name]


def filter_calls(program: bytes, machine: filters.Machine) -> None:
    """Filters the system calls of all threads of this process from now on."""
    memory = ctypes.create_string_buffer(program, len(program))
    description = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(memory))
    number = machine.calls["seccomp"]
    if libc.syscall(number, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, description):
        raise missing("this Linux takes no seccomp filter")
