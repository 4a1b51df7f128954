"""Processes outside of the sandbox, and those that keep it: the host, the keeper, the supervisor."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import struct
import subprocess
import sys

from inside.calls import call
from inside.frame import SECRET, Group, NotHere, Targets, attempt, beginning, read, reads_secret

SIGNALS = Group("Signals and scheduling of other processes")


def stands_for(at: Targets, process: int) -> bool:
    """Whether this number means the same process here as outside."""
    try:
        return bool(beginning(process) == at.beginnings[str(process)])
    except FileNotFoundError:
        return False
    except OSError:
        return True


@SIGNALS.probe
def signal_process(at: Targets) -> bool:
    """signals a process of the user (kill)"""
    os.kill(at.bystander, 0)
    return stands_for(at, at.bystander)


@SIGNALS.probe
def signal_thread(at: Targets) -> bool:
    """signals a thread of a process of the user (tgkill)"""
    call("tgkill", at.bystander, at.bystander, 0)
    return stands_for(at, at.bystander)


@SIGNALS.probe
def signal_group(at: Targets) -> bool:
    """signals a group of processes of the user"""
    os.killpg(at.bystander, 0)
    return stands_for(at, at.bystander)


@SIGNALS.probe
def signal_by_descriptor(at: Targets) -> bool:
    """signals a process of the user by a descriptor (pidfd_send_signal)"""
    call("pidfd_send_signal", call("pidfd_open", at.bystander, 0), 0, None, 0)
    return stands_for(at, at.bystander)


@SIGNALS.probe
def end_process(at: Targets) -> bool:
    """ends a process of the user"""
    same = stands_for(at, at.victim)
    os.kill(at.victim, signal.SIGTERM if same else 0)
    return same


@SIGNALS.probe
def end_process_by_program(at: Targets) -> bool:
    """lets kill end a process of the user"""
    same = stands_for(at, at.second_victim)
    command = ["sh", "-c", f"kill -{'TERM' if same else 0} {at.second_victim}"]
    return subprocess.run(command, capture_output=True).returncode == 0 and same


@SIGNALS.probe
def signal_by_input(at: Targets) -> bool:
    """has a process of the user signalled when something can be read (F_SETOWN)"""
    one, other = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, at.bystander)
    fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC)
    other.send(b"x")
    pending = [line.split()[1] for line in read(f"/proc/{at.bystander}/status").splitlines() if "Pnd:" in line]
    return any(int(signals, 16) & 1 << signal.SIGIO - 1 for signals in pending) and stands_for(at, at.bystander)


def above(at: Targets) -> list[int]:
    """The processes above this kernel or command: the supervisor, its keeper, the host."""
    found, process = [], os.getppid()
    if "ipykernel" in sys.modules:
        process = parent_of(process)  # the kernel
    while process and process != at.test:
        if not attempt(is_own_command, process):
            found.append(process)
        process = parent_of(process)
    return found


def is_own_command(process: int) -> bool:
    return "-m\0inside" in read(f"/proc/{process}/cmdline").replace(" ", "\0")


def parent_of(process: int) -> int:
    try:
        with open(f"/proc/{process}/stat") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


@SIGNALS.probe
def signal_supervisor(at: Targets) -> bool:
    """signals the processes above its kernel"""
    return any(attempt(signals, process) for process in above(at))


def signals(process: int) -> bool:
    """The first process of a namespace gets only signals that it asks for."""
    os.kill(process, 0)
    return process > 1


@SIGNALS.probe
def change_priority_of_supervisor(at: Targets) -> bool:
    """changes the priority of a process above its kernel"""
    return any(attempt(changes_priority, process) for process in above(at))


def changes_priority(process: int) -> bool:
    """To what it is."""
    os.setpriority(os.PRIO_PROCESS, process, os.getpriority(os.PRIO_PROCESS, process))
    return True


@SIGNALS.probe
def change_processors_of_supervisor(at: Targets) -> bool:
    """chooses the processors of a process above its kernel"""
    return any(attempt(changes_processors, process) for process in above(at))


def changes_processors(process: int) -> bool:
    """To what they are."""
    os.sched_setaffinity(process, os.sched_getaffinity(process))
    return True


@SIGNALS.probe
def change_priority_of_process(at: Targets) -> bool:
    """changes the priority of a process of the user"""
    os.setpriority(os.PRIO_PROCESS, at.bystander, os.getpriority(os.PRIO_PROCESS, at.bystander) + 1)
    return stands_for(at, at.bystander)


@SIGNALS.probe
def change_processors_of_process(at: Targets) -> bool:
    """chooses the processors of a process of the user"""
    os.sched_setaffinity(at.bystander, os.sched_getaffinity(at.bystander))
    return stands_for(at, at.bystander)


@SIGNALS.probe
def change_disk_priority_of_process(at: Targets) -> bool:
    """changes the priority at the disk of a process of the user"""
    call("ioprio_set", 1, at.bystander, 2 << 13 | 7)
    return stands_for(at, at.bystander)


@SIGNALS.probe
def limit_process(at: Targets) -> bool:
    """sets limits of a process of the user"""
    resource.prlimit(at.bystander, resource.RLIMIT_CORE, resource.prlimit(at.bystander, resource.RLIMIT_CORE))
    return stands_for(at, at.bystander)


MEMORY = Group("Memory and descriptors of other processes")


@MEMORY.probe
def trace_process(at: Targets) -> bool:
    """traces a process of the user"""
    return traces(at.bystander) and stands_for(at, at.bystander)


def traces(process: int) -> bool:
    call("ptrace", 0x4206, process, 0, 0)  # PTRACE_SEIZE, which does not stop it
    return True


@MEMORY.probe
def trace_own_child(at: Targets) -> bool:
    """traces a process of its own"""
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        return traces(child)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@MEMORY.probe
def trace_supervisor(at: Targets) -> bool:
    """traces a process above its kernel"""
    return any(attempt(traces, process) for process in above(at))


@MEMORY.probe
def read_memory(at: Targets) -> bool:
    """reads memory of a process of the user (process_vm_readv)"""
    return SECRET.encode() in copied(at, "process_vm_readv", b"")


@MEMORY.probe
def write_memory(at: Targets) -> bool:
    """writes memory of a process of the user (process_vm_writev)"""
    copied(at, "process_vm_writev", SECRET.encode())
    return True


def copied(at: Targets, name: str, what: bytes) -> bytes:
    buffer = ctypes.create_string_buffer(what, len(SECRET))
    own = struct.pack("QQ", ctypes.addressof(buffer), len(SECRET))
    theirs = struct.pack("QQ", at.address, len(SECRET))
    call(name, at.bystander, ctypes.create_string_buffer(own), 1, ctypes.create_string_buffer(theirs), 1, 0)
    return buffer.raw


@MEMORY.probe
def read_memory_file(at: Targets) -> bool:
    """reads memory of a process of the user (/proc/PID/mem)"""
    return SECRET.encode() in os.pread(os.open(f"/proc/{at.bystander}/mem", os.O_RDONLY), 10, at.address)


@MEMORY.probe
def write_memory_file(at: Targets) -> bool:
    """writes memory of a process of the user (/proc/PID/mem)"""
    return os.pwrite(os.open(f"/proc/{at.bystander}/mem", os.O_WRONLY), SECRET.encode(), at.address) > 0


@MEMORY.probe
def take_descriptor(at: Targets) -> bool:
    """takes a descriptor of a process of the user (pidfd_getfd)"""
    descriptor = call("pidfd_getfd", call("pidfd_open", at.bystander, 0), at.descriptor, 0)
    return SECRET.encode() in os.pread(descriptor, 10, 0)


@MEMORY.probe
def open_descriptor(at: Targets) -> bool:
    """opens a file that a process of the user has open (/proc/PID/fd)"""
    return reads_secret(f"/proc/{at.bystander}/fd/{at.descriptor}")


@MEMORY.probe
def read_environment(at: Targets) -> bool:
    """reads the environment of a process of the user"""
    return reads_secret(f"/proc/{at.bystander}/environ")


@MEMORY.probe
def read_command_line(at: Targets) -> bool:
    """reads the command line of a process of the user"""
    return reads_secret(f"/proc/{at.bystander}/cmdline")


@MEMORY.probe
def read_map_of_memory(at: Targets) -> bool:
    """reads where things are in the memory of a process of the user"""
    return opens_of(at, "maps")


def opens_of(at: Targets, name: str, mode: int = os.O_RDONLY) -> bool:
    descriptor = os.open(f"/proc/{at.bystander}/{name}", mode)
    if mode == os.O_RDONLY:
        os.read(descriptor, 1)
    return stands_for(at, at.bystander)


#: Of /proc/PID: what each file tells or changes.
FILES_OF_PROCESS = {
    "auxv": ("learns addresses in the memory of a process of the user", os.O_RDONLY),
    "io": ("learns what a process of the user reads and writes", os.O_RDONLY),
    "oom_score_adj": ("chooses a process of the user to be killed first where memory is short", os.O_WRONLY),
    "coredump_filter": ("chooses what a process of the user leaves when it crashes", os.O_WRONLY),
    "clear_refs": ("changes what is known about memory of a process of the user", os.O_WRONLY),
}


def add_files_of_process() -> None:
    for name, (what, mode) in FILES_OF_PROCESS.items():
        MEMORY.add(f"{name}_of_process", what, opens_of, name, mode)


add_files_of_process()


@MEMORY.probe
def follow_directory_of_process(at: Targets) -> bool:
    """enters the working directory of a process of the user by /proc"""
    return bool(os.listdir(f"/proc/{at.bystander}/cwd/.")) and stands_for(at, at.bystander)


@MEMORY.probe
def follow_root_of_process(at: Targets) -> bool:
    """reads ~/.ssh/id_ed25519 below the root of a process of the user"""
    return reads_secret(f"/proc/{at.bystander}/root{at.home}/.ssh/id_ed25519")


@MEMORY.probe
def compare_process(at: Targets) -> bool:
    """compares what it has with a process of the user (kcmp)"""
    call("kcmp", os.getpid(), at.bystander, 1, 0, 0)
    return stands_for(at, at.bystander)


@MEMORY.probe
def move_memory_of_process(at: Targets) -> bool:
    """asks where memory of a process of the user lies (move_pages)"""
    call("move_pages", at.bystander, 0, None, None, None, 0)
    return stands_for(at, at.bystander)


@MEMORY.probe
def list_locks_of_process(at: Targets) -> bool:
    """asks for the list of locks of a process of the user (get_robust_list)"""
    pointer, length = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
    call("get_robust_list", at.bystander, pointer, length)
    return stands_for(at, at.bystander)


@MEMORY.probe
def advise_process(at: Targets) -> bool:
    """advises about memory of a process of the user (process_madvise)"""
    vector = ctypes.create_string_buffer(struct.pack("QQ", at.address & ~4095, 4096))
    try:
        call("process_madvise", call("pidfd_open", at.bystander, 0), vector, 1, 20, 0)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise NotHere("this system takes no such advice") from error
        raise
    return stands_for(at, at.bystander)


@MEMORY.probe
def read_memory_of_supervisor(at: Targets) -> bool:
    """opens the memory of a process above its kernel"""
    return any(attempt(os.open, f"/proc/{process}/mem", os.O_RDONLY) for process in above(at))


@MEMORY.probe
def read_environment_of_supervisor(at: Targets) -> bool:
    """reads the environment of a process above its kernel"""
    return any(attempt(os.open, f"/proc/{process}/environ", os.O_RDONLY) for process in above(at))


@MEMORY.probe
def list_descriptors_of_supervisor(at: Targets) -> bool:
    """opens what a process above its kernel has open"""
    return any(attempt(os.readlink, f"/proc/{process}/fd/0") for process in above(at))


@MEMORY.probe
def list_processes(at: Targets) -> bool:
    """sees processes of the host"""
    return str(at.bystander) in os.listdir("/proc") and stands_for(at, at.bystander)
