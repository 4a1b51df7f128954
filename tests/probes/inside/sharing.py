"""Memory and messages that processes share, and limits."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import signal
import tempfile
import time

from inside.calls import call, libc
from inside.frame import SECRET, Group, Targets, append, raises_limit, reads_secret

MESSAGES = Group("Shared memory and messages")


@MESSAGES.probe
def read_shared_memory_file(at: Targets) -> bool:
    """reads shared memory of the user (/dev/shm)"""
    return reads_secret(at.shared_file)


@MESSAGES.probe
def write_shared_memory_file(at: Targets) -> bool:
    """writes to shared memory of the user (/dev/shm)"""
    return append(at.shared_file)


@MESSAGES.probe
def list_shared_memory_files(at: Targets) -> bool:
    """lists shared memory of the user (/dev/shm)"""
    return os.path.basename(at.shared_file) in os.listdir("/dev/shm")


@MESSAGES.probe
def read_shared_segment(at: Targets) -> bool:
    """reads shared memory of the user (System V)"""
    return SECRET.encode() in ctypes.string_at(attached(at, 0o10000), 10)


@MESSAGES.probe
def write_shared_segment(at: Targets) -> bool:
    """writes to shared memory of the user (System V)"""
    ctypes.memmove(attached(at, 0), SECRET.encode(), len(SECRET))
    return True


def attached(at: Targets, flags: int) -> int:
    return call("shmat", call("shmget", at.key, 0, 0), 0, flags)


@MESSAGES.probe
def read_semaphore(at: Targets) -> bool:
    """reads a semaphore of the user (System V)"""
    return bool(libc.semctl(checked(libc.semget(at.key, 0, 0)), 0, 12) == 42)  # GETVAL


@MESSAGES.probe
def set_semaphore(at: Targets) -> bool:
    """sets a semaphore of the user (System V)"""
    return checked(libc.semctl(checked(libc.semget(at.key, 0, 0)), 0, 16, 42)) == 0  # SETVAL


@MESSAGES.probe
def read_message(at: Targets) -> bool:
    """takes a message of the user from a queue (System V)"""
    buffer = ctypes.create_string_buffer(108)
    checked(libc.msgrcv(checked(libc.msgget(at.key, 0)), buffer, 100, 0, 0o4000))  # IPC_NOWAIT
    return SECRET.encode() in buffer.raw


@MESSAGES.probe
def send_message(at: Targets) -> bool:
    """puts a message into a queue of the user (System V)"""
    buffer = ctypes.create_string_buffer((1).to_bytes(8, "little") + b"x")
    return checked(libc.msgsnd(checked(libc.msgget(at.key, 0)), buffer, 1, 0o4000)) == 0


def checked(result: int) -> int:
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@MESSAGES.probe
def list_shared_segments(at: Targets) -> bool:
    """lists shared memory of the user (/proc/sysvipc/shm)"""
    with open("/proc/sysvipc/shm") as table:
        return any(line.split()[0] == str(at.key) for line in table)


LIMITS = Group("Limits that are set")


@LIMITS.probe
def take_memory(at: Targets) -> bool:
    """takes more memory than its limit"""
    return len(mmap.mmap(-1, 2 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)) > 0


@LIMITS.probe
def write_large_file(at: Targets) -> bool:
    """writes a file that is larger than its limit"""
    descriptor = os.open(f"{at.scratch}/large", os.O_CREAT | os.O_WRONLY)
    return os.pwrite(descriptor, b"x", 1 << 30) > 0


@LIMITS.probe
def open_many_files(at: Targets) -> bool:
    """opens more files than its limit"""
    return len([os.open("/", os.O_RDONLY) for _ in range(600)]) == 600


@LIMITS.probe
def raise_limits(at: Targets) -> bool:
    """raises its limits"""
    return raises_limit(resource.RLIMIT_NOFILE)


@LIMITS.probe
def fill_private_directory(at: Targets) -> bool:
    """has a temporary directory without a bound"""
    there = os.statvfs(tempfile.gettempdir())
    return there.f_blocks * there.f_frsize > 4 << 30


@LIMITS.probe
def start_many_processes(at: Targets) -> bool:
    """starts more processes than its limit"""
    children: list[int] = []
    try:
        while len(children) < 250:
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
        time.sleep(at.time_to_be_ended)
        return True
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
