"""Limits of a process: setrlimit(2)."""

from __future__ import annotations

import json
import mmap
import os
import resource
import sys
from collections.abc import Callable
from socket import socket

SHARED = {
    "memory": resource.RLIMIT_DATA,  # what is written to; address space alone costs nothing
    "processes": resource.RLIMIT_NPROC,
    "file_size": resource.RLIMIT_FSIZE,
    "open_files": resource.RLIMIT_NOFILE,
}


#: Of all that the system holds for a user, also for programs outside: signals that wait, bytes of message queues.
OF_USER = {resource.RLIMIT_SIGPENDING: 1024, resource.RLIMIT_MSGQUEUE: 256 << 10}

FREE_MEMORY = 16 << 20  # bytes that a kernel needs besides what Python takes: the stack of a thread has half of them
FREE_FILES = 16  # descriptors, of which its streams take most


class OpenFiles:
    """The limit of open files of a kernel, which its code may lower so far that no cell can open anything."""

    def __init__(self) -> None:
        self.before = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.told = False  # that it cannot be raised

    def raise_again(self, descriptor: int) -> str:
        """Raises the limit where nothing can be opened; returns what there is to say, mostly nothing.

        The descriptor is one that is open.
        """
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft >= min(FREE_FILES, self.before[0]) or can_open(descriptor):
            return ""
        for limits in self.before, (hard, hard):
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            except (ValueError, OSError):  # the hard limit is lower now, and only root raises it
                continue
            if can_open(descriptor):
                return f"with a limit of {soft} open files nothing could be opened: the limit is {limits[0]} again"
        if self.told:
            return ""
        self.told = True
        return (
            f"nothing can be opened any more, modules included: code has lowered the limit of open files to {hard}, "
            "and the system does not let it be raised; reset the session for a kernel that can open files"
        )


def can_open(descriptor: int) -> bool:
    """Whether there may be one more descriptor."""
    try:
        os.close(os.dup(descriptor))
    except OSError:
        return False
    return True


def take(limits: dict[str, int]) -> None:
    """Limits this process and all that it will start; what they are limited to already is never raised."""
    leave_no_image()
    for kind, limit in OF_USER.items():
        lower(kind, limit)
    for name, kind in SHARED.items():
        if name in limits:
            lower(kind, limits[name])


def leave_no_image() -> None:
    """No image of a process that crashes: no file, and with this limit no program outside that takes it either.

    With a limit of 0 Linux starts the one that `core_pattern` names, as root. It has to be 1.
    """
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    except (ValueError, OSError):  # there is a hard limit of 0, and only root raises it
        lower(resource.RLIMIT_CORE, 0)


def take_with_room(limits: dict[str, int], control: socket) -> Callable[[], None]:
    """Takes limits. The result ends everything where they leave a kernel no room, and tells the host so."""
    refusals = [(has_room, refusal(name, limits[name])) for name, has_room in ROOM.items() if name in limits]
    take(limits)

    def check_room() -> None:
        for has_room, words in refusals:  # which were written while there was memory for them
            if not has_room():
                control.send(words)
                os._exit(1)

    return check_room


def refusal(name: str, limit: int) -> bytes:
    """The event that says which limit is too low."""
    what, unit, enough = {
        "memory": ("memory", " bytes", "256 MiB"),
        "open_files": ("open files", "", "64"),
        "file_size": ("bytes in a file", "", "4096"),
    }[name]
    text = f"a kernel needs more {what} than its limit, {limit}{unit}; raise the limit to {enough} or more"
    return json.dumps({"event": "failed", "kind": "limits", "text": text}).encode()


def has_memory() -> bool:
    """Whether a kernel finds the memory that it needs at least."""
    try:
        mmap.mmap(-1, FREE_MEMORY, mmap.MAP_PRIVATE).close()
    except (OSError, MemoryError):
        return False
    return True


def has_files() -> bool:
    """Whether a kernel finds the descriptors that it needs at least."""
    opened: list[int] = []
    try:
        while len(opened) < FREE_FILES:
            opened.append(os.dup(2))
    except OSError:
        return False
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return True


def has_bytes() -> bool:
    """Whether a file can have any: Python writes one to find out where temporary files can be."""
    try:
        with open(os.memfd_create("room"), "wb", buffering=0) as file:
            return file.write(b"1") == 1
    except OSError:
        return False


ROOM = {"memory": has_memory, "open_files": has_files, "file_size": has_bytes}


def take_cpu_time(seconds: int) -> None:
    """Limits the processor time of this process: `SIGXCPU` at the end of it, and `SIGKILL` a second later."""
    lower(resource.RLIMIT_CPU, seconds + 1, soft=seconds)


def lower(kind: int, limit: int, soft: int | None = None) -> None:
    """Sets both limits of a kind, the hard one included, so that nothing raises them again."""
    _, hard = resource.getrlimit(kind)
    limit = min(limit, sys.maxsize)  # which is more than there is of anything
    bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (bound if soft is None else min(soft, bound), bound))
