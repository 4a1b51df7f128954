"""The sibling of a kernel: another session of the same runtime. It keeps secrets where siblings/victim.py says."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import glob
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator

from inside.calls import (
    AT_FDCWD,
    MNT_DETACH,
    MS_BIND,
    MS_REMOUNT,
    OPEN_TREE_CLONE,
    USER_AND_MOUNTS,
    call,
    libc,
)
from inside.frame import SECRET, Group, NotHere, Targets, append, attempt, beginning, read, reads_secret
from inside.network import asks

FILES = Group("Files of a sibling")


def secret_of(at: Targets) -> str:
    return f"{at.theirs}/secret"


def below(at: Targets) -> str:
    """The probe's file, as it lies below the directory of the runtime."""
    return os.path.relpath(secret_of(at), os.path.dirname(at.work))


def processes() -> list[int]:
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


def descriptors(process: int | str = "self") -> list[str]:
    try:
        return sorted(glob.glob(f"/proc/{process}/fd/*"))
    except OSError:
        return []


@FILES.probe
def sibling_read_by_path(at: Targets) -> bool:
    """reads a file by its path"""
    return reads_secret(secret_of(at))


@FILES.probe
def sibling_read_beside(at: Targets) -> bool:
    """reads a file by ../"""
    return reads_secret(os.path.relpath(secret_of(at)))


@FILES.probe
def sibling_read_by_program(at: Targets) -> bool:
    """lets cat read a file"""
    said = subprocess.run(["cat", secret_of(at)], capture_output=True, text=True)
    return SECRET in said.stdout


@FILES.probe
def sibling_list_runtime(at: Targets) -> bool:
    """lists the directory of the runtime, in which all sessions have theirs"""
    return set(os.listdir("..")) > {os.path.basename(at.work)}


@FILES.probe
def sibling_list_directory(at: Targets) -> bool:
    """lists the directory"""
    return "locked" in os.listdir(at.directory)


@FILES.probe
def sibling_stat(at: Targets) -> bool:
    """learns the size of a file"""
    return os.stat(secret_of(at)).st_size > 0


@FILES.probe
def sibling_read_by_cwd_of_processes(at: Targets) -> bool:
    """reads a file below /proc/PID/cwd of every process"""
    places = [f"/proc/{process}/cwd" for process in processes()]
    return any(attempt(reads_secret, f"{place}/{name}") for place in places for name in ways_to(at))


def ways_to(at: Targets) -> list[str]:
    """The probe's file, seen from the root, from the runtime's directory, and from a session's."""
    return [secret_of(at).lstrip("/"), below(at), f"../{below(at)}", os.path.relpath(secret_of(at), at.directory)]


@FILES.probe
def sibling_read_by_root_of_processes(at: Targets) -> bool:
    """reads a file below /proc/PID/root of every process"""
    return any(attempt(reads_secret, f"/proc/{process}/root{secret_of(at)}") for process in processes())


@FILES.probe
def sibling_read_by_descriptors_of_processes(at: Targets) -> bool:
    """reads a file by the directories that any process has open"""
    return any(by_directory(at, place) for process in processes() for place in descriptors(process))


def by_directory(at: Targets, place: str) -> bool:
    return any(attempt(reads_secret, f"{place}/{name}") for name in ways_to(at))


@FILES.probe
def sibling_read_by_own_descriptors(at: Targets) -> bool:
    """reads a file by the directories that it has inherited"""
    found = []
    for descriptor in range(1024):
        for name in ways_to(at):
            try:
                found.append(os.read(os.open(name, os.O_RDONLY, dir_fd=descriptor), 100))
            except OSError:
                continue
    return any(SECRET.encode() in text for text in found)


@FILES.probe
def sibling_read_by_link(at: Targets) -> bool:
    """reads a file through a symbolic link of its own"""
    os.symlink(secret_of(at), f"{at.scratch}/link")
    return reads_secret(f"{at.scratch}/link")


@FILES.probe
def sibling_read_by_second_name(at: Targets) -> bool:
    """gives a file a second name in its own directory"""
    os.link(secret_of(at), f"{at.scratch}/name")
    return reads_secret(f"{at.scratch}/name")


@FILES.probe
def sibling_read_by_mounts(at: Targets) -> bool:
    """reads a file below any mount that it or another process has"""
    places = {line.split()[4] for process in processes() for line in mounts_of(process)}
    return any(attempt(reads_secret, f"{place}/{name}") for place in places for name in ways_to(at))


def mounts_of(process: int) -> list[str]:
    try:
        return read(f"/proc/{process}/mountinfo").splitlines()
    except OSError:
        return []


@FILES.probe
def sibling_in_table_of_mounts(at: Targets) -> bool:
    """finds the directory in the table of mounts"""
    return any(at.directory in line for process in processes() for line in mounts_of(process))


@FILES.probe
def sibling_read_by_handle(at: Targets) -> bool:
    """opens a file by its handle, which needs no path"""
    return bool(SECRET.encode() in by_handle(at))


def by_handle(at: Targets) -> bytes:
    handle = ctypes.create_string_buffer(bytes.fromhex(at.handle))
    root = os.open("/", os.O_RDONLY)
    for place in (root, os.open(".", os.O_RDONLY)):
        try:
            return os.read(call("open_by_handle_at", place, handle, os.O_RDONLY), 100)
        except OSError:
            continue
    return b""


@FILES.probe
def sibling_read_uncovered(at: Targets) -> bool:
    """unmounts what lies over the directory of the runtime, also in namespaces of its own"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    for place in (os.path.dirname(at.work), at.work, "/tmp", "/"):
        while attempt(unmounts, place):
            pass
    return reads_secret(secret_of(at))


def unmounts(place: str) -> bool:
    return call("umount2", place, MNT_DETACH) == 0


@FILES.probe
def sibling_read_in_copy_of_mounts(at: Targets) -> bool:
    """reads a file in a detached copy of the mounts (open_tree)"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    tree = call("open_tree", AT_FDCWD, "/", OPEN_TREE_CLONE)  # without what is mounted below
    return attempt(reads_secret, f"/proc/self/fd/{tree}{secret_of(at)}")


@FILES.probe
def sibling_read_in_bind(at: Targets) -> bool:
    """mounts the root directory in another place, without what is mounted in it"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    call("mount", "/", at.scratch, None, MS_BIND, None)
    return reads_secret(f"{at.scratch}{secret_of(at)}")


@FILES.probe
def sibling_remount_runtime(at: Targets) -> bool:
    """makes the directory of the runtime writable (remount)"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    return call("mount", None, os.path.dirname(at.work), None, MS_REMOUNT | MS_BIND, None) == 0


@FILES.probe
def sibling_enter_namespaces(at: Targets) -> bool:
    """enters the namespaces of every process by their files (setns), and reads a file"""
    for process in processes():
        for kind in ("user", "mnt"):
            attempt(enters, f"/proc/{process}/ns/{kind}")
        if attempt(reads_secret, secret_of(at)):
            return True
    return False


def enters(path: str) -> bool:
    return call("setns", os.open(path, os.O_RDONLY), 0) == 0


@FILES.probe
def sibling_enter_by_descriptors(at: Targets) -> bool:
    """enters namespaces by the descriptors that it has inherited (setns with a pidfd)"""
    for descriptor in range(3, 1024):
        for kinds in (0x10020000, 0x00020000, 0x40000000, 0x08000000):
            if attempt(lambda of=descriptor, flags=kinds: call("setns", of, flags) == 0):
                return True
    return False


@FILES.probe
def sibling_move_root(at: Targets) -> bool:
    """exchanges the root of all mounts (pivot_root, chroot)"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    return any(attempt(moves_root, way, at.scratch) for way in ("pivot_root", "chroot"))


def moves_root(way: str, place: str) -> bool:
    return call(way, *([place, place] if way == "pivot_root" else [place])) == 0


@FILES.probe
def sibling_write(at: Targets) -> bool:
    """writes to a file"""
    return append(secret_of(at))


@FILES.probe
def sibling_empty(at: Targets) -> bool:
    """empties a file"""
    os.truncate(secret_of(at), 0)
    return True


@FILES.probe
def sibling_make_file(at: Targets) -> bool:
    """makes a file"""
    os.close(os.open(f"{at.theirs}/made", os.O_CREAT | os.O_WRONLY))
    return True


@FILES.probe
def sibling_remove(at: Targets) -> bool:
    """removes a file"""
    os.unlink(secret_of(at))
    return True


@FILES.probe
def sibling_rename_over(at: Targets) -> bool:
    """puts a file of its own in the place of one"""
    mine = f"{at.scratch}/mine"
    os.close(os.open(mine, os.O_CREAT | os.O_WRONLY))
    os.rename(mine, secret_of(at))
    return True


@FILES.probe
def sibling_take_file(at: Targets) -> bool:
    """moves a file into its own directory"""
    os.rename(secret_of(at), f"{at.scratch}/taken")
    return True


@FILES.probe
def sibling_rename_directory(at: Targets) -> bool:
    """renames a directory"""
    os.rename(at.theirs, f"{at.theirs}-renamed")
    return True


@FILES.probe
def sibling_make_link(at: Targets) -> bool:
    """makes a symbolic link in a directory"""
    os.symlink("/etc/passwd", f"{at.theirs}/link")
    return True


@FILES.probe
def sibling_change_mode(at: Targets) -> bool:
    """changes the mode of a file"""
    os.chmod(secret_of(at), 0o606)
    return True


@FILES.probe
def sibling_change_owner(at: Targets) -> bool:
    """changes the owner of a file, to the same"""
    os.chown(secret_of(at), os.getuid(), -1)
    return True


@FILES.probe
def sibling_change_times(at: Targets) -> bool:
    """changes the times of a file"""
    os.utime(secret_of(at), (1, 1))
    return True


@FILES.probe
def sibling_set_attribute(at: Targets) -> bool:
    """sets an attribute of a file"""
    try:
        os.setxattr(secret_of(at), "user.probe", b"x")
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            raise NotHere("the file system has no such attributes") from error
        raise
    return True


@FILES.probe
def sibling_watch_directory(at: Targets) -> bool:
    """watches a directory for names (inotify)"""
    return bool(libc.inotify_add_watch(libc.inotify_init1(0), at.theirs.encode(), 0xFFF) > 0)


@FILES.probe
def sibling_see_lock(at: Targets) -> bool:
    """sees a lock in /proc/locks"""
    return any(f":{at.inode_of_lock} " in line for line in open("/proc/locks"))


@FILES.probe
def sibling_meet_lock(at: Targets) -> bool:
    """waits for a lock of a file"""
    file = os.open(f"{at.directory}/locked", os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


@FILES.probe
def sibling_open_pipe(at: Targets) -> bool:
    """opens a named pipe"""
    return os.open(f"{at.directory}/pipe", os.O_RDWR) > 0


@FILES.probe
def sibling_make_in_runtime(at: Targets) -> bool:
    """makes a file in the directory of the runtime"""
    os.close(os.open("../made-by-sibling", os.O_CREAT | os.O_WRONLY))
    return True


@FILES.probe
def sibling_make_session(at: Targets) -> bool:
    """makes a directory for a session to come"""
    os.mkdir("../session-to-come")
    return True


@FILES.probe
def sibling_replace_own_directory(at: Targets) -> bool:
    """renames its own directory, so that another can be put there"""
    os.rename(at.work, f"{at.work}-away")
    os.rename(f"{at.work}-away", at.work)
    return True


TEMPORARY = Group("Temporary files and shared memory of a sibling")


def add_temporary() -> None:
    for name, place in {"tmp": "/tmp", "var_tmp": "/var/tmp", "run": "/run", "shm": "/dev/shm"}.items():
        TEMPORARY.add(f"sibling_read_{name}", f"reads a file in {place}", reads_temporary, place)
        TEMPORARY.add(f"sibling_list_{name}", f"lists {place}", lists_temporary, place)
        TEMPORARY.add(f"sibling_write_{name}", f"writes to a file in {place}", writes_temporary, place)


def reads_temporary(at: Targets, place: str) -> bool:
    return reads_secret(f"{place}/{at.name}")


def lists_temporary(at: Targets, place: str) -> bool:
    return at.name in os.listdir(place)


def writes_temporary(at: Targets, place: str) -> bool:
    return append(f"{place}/{at.name}")


add_temporary()


@TEMPORARY.probe
def sibling_read_segment(at: Targets) -> bool:
    """reads shared memory (System V)"""
    return SECRET.encode() in ctypes.string_at(call("shmat", call("shmget", at.key, 0, 0), 0, 0o10000), 10)


@TEMPORARY.probe
def sibling_read_any_segment(at: Targets) -> bool:
    """reads any shared memory by its number (System V)"""
    return any(attempt(segment_has_secret, number) for number in range(200))


def segment_has_secret(number: int) -> bool:
    return SECRET.encode() in ctypes.string_at(call("shmat", number, 0, 0o10000), 10)


@TEMPORARY.probe
def sibling_list_segments(at: Targets) -> bool:
    """lists shared memory (/proc/sysvipc/shm)"""
    return any(line.split()[0] == str(at.key) for line in open("/proc/sysvipc/shm"))


@TEMPORARY.probe
def sibling_read_semaphore(at: Targets) -> bool:
    """reads a semaphore (System V)"""
    return bool(libc.semctl(libc.semget(at.key, 0, 0), 0, 12) == 42)  # GETVAL


@TEMPORARY.probe
def sibling_set_semaphore(at: Targets) -> bool:
    """sets a semaphore (System V)"""
    return bool(libc.semctl(libc.semget(at.key, 0, 0), 0, 16, 42) == 0)  # SETVAL


@TEMPORARY.probe
def sibling_take_message(at: Targets) -> bool:
    """takes a message from a queue (System V)"""
    buffer = ctypes.create_string_buffer(108)
    taken = libc.msgrcv(libc.msgget(at.key, 0), buffer, 100, 0, 0o4000)  # IPC_NOWAIT
    return taken > 0 and SECRET.encode() in buffer.raw


@TEMPORARY.probe
def sibling_send_message(at: Targets) -> bool:
    """puts a message into a queue (System V)"""
    buffer = ctypes.create_string_buffer((1).to_bytes(8, "little") + b"x")
    return bool(libc.msgsnd(libc.msgget(at.key, 0), buffer, 1, 0o4000) == 0)


@TEMPORARY.probe
def sibling_open_queue(at: Targets) -> bool:
    """opens a queue (POSIX)"""
    return bool(libc.mq_open(at.posix_queue.encode(), os.O_RDWR) >= 0)


PROCESSES = Group("Processes of a sibling")


def seen(at: Targets) -> list[int]:
    """The processes of the sibling, by numbers that mean them here too."""
    return [number for number in map(int, at.beginnings) if stands_for(at, number)]


def stands_for(at: Targets, process: int) -> bool:
    try:
        return bool(beginning(process) == at.beginnings[str(process)])
    except OSError:
        return False


def on_any(at: Targets, body: object, *arguments: object) -> bool:
    assert callable(body)
    return any(attempt(body, process, *arguments) for process in seen(at) or list(map(int, at.beginnings))) and bool(
        seen(at)
    )


@PROCESSES.probe
def sibling_list_processes(at: Targets) -> bool:
    """lists processes (/proc)"""
    return bool(seen(at))


@PROCESSES.probe
def sibling_signal(at: Targets) -> bool:
    """signals a process"""
    return on_any(at, signals)


def signals(process: int) -> bool:
    os.kill(process, 0)
    return True


@PROCESSES.probe
def sibling_signal_command(at: Targets) -> bool:
    """signals a command"""
    return stands_for(at, at.command) and signals(at.command)


@PROCESSES.probe
def sibling_signal_group(at: Targets) -> bool:
    """signals a group of processes"""
    return on_any(at, signals_group)


def signals_group(process: int) -> bool:
    os.killpg(os.getpgid(process), 0)
    return os.getpgid(process) != os.getpgid(0)


@PROCESSES.probe
def sibling_signal_unseen(at: Targets) -> bool:
    """signals a process that /proc does not list, by any number"""
    listed = set(processes())
    answering = [number for number in range(1, 40_000) if number not in listed and attempt(signals, number)]
    return bool(answering and not set(answering) <= threads())


def threads() -> set[int]:
    return {int(path.rsplit("/", 1)[1]) for path in glob.glob("/proc/[0-9]*/task/*")}


@PROCESSES.probe
def sibling_signal_everyone(at: Targets) -> bool:
    """signals all processes that it can (kill -1)"""
    signal.signal(signal.SIGURG, signal.SIG_IGN)
    attempt(os.kill, -1, signal.SIGURG)  # which ends nobody: a command of the sibling makes a file then
    time.sleep(1)
    return False  # the test looks for the file


@PROCESSES.probe
def sibling_signal_by_descriptors(at: Targets) -> bool:
    """signals processes by the descriptors that it has inherited (pidfd_send_signal)"""
    return any(attempt(signals_by, descriptor) for descriptor in range(3, 1024))


def signals_by(descriptor: int) -> bool:
    return call("pidfd_send_signal", descriptor, 0, None, 0) == 0


@PROCESSES.probe
def sibling_hold_process(at: Targets) -> bool:
    """holds descriptors of processes that are not its own"""
    return any("pidfd" in link_of(place) for place in descriptors())


def link_of(place: str) -> str:
    try:
        return os.readlink(place)
    except OSError:
        return ""


@PROCESSES.probe
def sibling_open_process(at: Targets) -> bool:
    """opens a descriptor of a process (pidfd_open)"""
    return on_any(at, lambda process: call("pidfd_open", process, 0) > 0)


@PROCESSES.probe
def sibling_signal_supervisor(at: Targets) -> bool:
    """signals the supervisor"""
    return is_supervisor(1) and signals(1)


def is_supervisor(process: int) -> bool:
    return "import sys" in read(f"/proc/{process}/cmdline")


@PROCESSES.probe
def sibling_read_status(at: Targets) -> bool:
    """reads the status of a process"""
    return on_any(at, lambda process: "VmRSS" in read(f"/proc/{process}/status"))


@PROCESSES.probe
def sibling_read_command_line(at: Targets) -> bool:
    """reads the command line of a process"""
    return stands_for(at, at.command) and "SECRET-ARG" in read(f"/proc/{at.command}/cmdline")


@PROCESSES.probe
def sibling_read_environment(at: Targets) -> bool:
    """reads the environment of a process"""
    return on_any(at, lambda process: "SECRET-ENV" in read(f"/proc/{process}/environ"))


@PROCESSES.probe
def sibling_read_memory(at: Targets) -> bool:
    """reads memory of a process (/proc/PID/mem)"""
    return on_any(at, memory_has_secret, at.address)


def memory_has_secret(process: int, address: int) -> bool:
    return SECRET.encode() in os.pread(os.open(f"/proc/{process}/mem", os.O_RDONLY), 20, address)


@PROCESSES.probe
def sibling_copy_memory(at: Targets) -> bool:
    """reads memory of a process (process_vm_readv)"""
    return on_any(at, copies_secret, at.address)


def copies_secret(process: int, address: int) -> bool:
    buffer = ctypes.create_string_buffer(20)
    own, theirs = struct.pack("QQ", ctypes.addressof(buffer), 20), struct.pack("QQ", address, 20)
    call("process_vm_readv", process, own, 1, theirs, 1, 0)
    return SECRET.encode() in buffer.raw


@PROCESSES.probe
def sibling_read_maps(at: Targets) -> bool:
    """reads where the memory of a process is"""
    return on_any(at, lambda process: "[stack]" in read(f"/proc/{process}/maps"))


@PROCESSES.probe
def sibling_trace(at: Targets) -> bool:
    """traces a process"""
    return on_any(at, lambda process: call("ptrace", 0x4206, process, 0, 0) == 0)  # PTRACE_SEIZE


@PROCESSES.probe
def sibling_read_open_files(at: Targets) -> bool:
    """reads a file without a name that a process has open"""
    return on_any(
        at, lambda process: any(attempt(reads_secret, f"/proc/{process}/fd/{number}") for number in at.descriptors)
    )


@PROCESSES.probe
def sibling_copy_descriptor(at: Targets) -> bool:
    """copies a descriptor of a process (pidfd_getfd)"""
    return on_any(at, lambda process: call("pidfd_getfd", call("pidfd_open", process, 0), at.descriptors[0], 0) > 0)


@PROCESSES.probe
def sibling_read_own_memory(at: Targets) -> bool:
    """finds variables, words of commands or names of directories in its own memory, which the supervisor left there"""
    return any(re.search(rb"SECRET-(?:ENV|ARG|DIR)-[0-9a-f]{16}", part) for part in own_memory())


@PROCESSES.probe
def sibling_read_memory_of_own_processes(at: Targets) -> bool:
    """finds variables, words of commands or names of directories in the memory of its own processes"""
    pattern = re.compile(rb"SECRET-(?:ENV|ARG|DIR)-[0-9a-f]{16}")
    return any(pattern.search(part) for process in (1, at.own_kernel) for part in own_memory(process))


def own_memory(process: int | str = "self") -> Iterator[bytes]:
    try:
        memory, regions = os.open(f"/proc/{process}/mem", os.O_RDONLY), read(f"/proc/{process}/maps").splitlines()
    except OSError:
        return
    for region in regions:
        place, rights = region.split()[:2]
        begin, end = (int(number, 16) for number in place.split("-"))
        if rights[0] != "r" or "[v" in region:
            continue
        try:
            yield os.pread(memory, min(end - begin, 1 << 28), begin)
        except (OSError, ValueError, OverflowError):
            continue


@PROCESSES.probe
def sibling_share_descriptors(at: Targets) -> bool:
    """has a socket, a pipe or a file that the sibling has too"""
    theirs = {tuple(look) for look in at.inherited}
    return any(look in theirs for look in looks_of_own())


def looks_of_own() -> Iterator[tuple[int, int]]:
    for descriptor in range(3, 1024):
        try:
            known = os.fstat(descriptor)
        except OSError:
            continue
        if not link_of(f"/proc/self/fd/{descriptor}").startswith(("/dev/", "anon_inode:")):
            yield known.st_dev, known.st_ino


@PROCESSES.probe
def sibling_open_pipes_of_processes(at: Targets) -> bool:
    """opens a pipe of a process that is not its kernel or a command of it: of the supervisor, of the first process"""
    pipes = [place for process in processes() if is_not_own(at, process) for place in descriptors(process)]
    return any(link_of(place).startswith("pipe:") and attempt(os.open, place, os.O_RDONLY) for place in pipes)


def is_not_own(at: Targets, process: int) -> bool:
    """The kernel leads the session of what it forks, and a command its own."""
    return os.getsid(process) not in (at.own_kernel, os.getsid(0), os.getsid(os.getppid()))


@PROCESSES.probe
def sibling_write_memory_of_first_process(at: Targets) -> bool:
    """may write to the memory of the first process, which has more rights"""
    if filters_of(1) >= filters_of("self"):
        return False
    return os.open("/proc/1/mem", os.O_RDWR) > 0


def filters_of(process: int | str) -> int:
    status = re.search(r"^Seccomp_filters:\s(\d+)", read(f"/proc/{process}/status"), re.MULTILINE)
    return int(status[1]) if status else 0


@PROCESSES.probe
def sibling_change_priority(at: Targets) -> bool:
    """changes the priority of a process"""
    return on_any(at, lowers_priority)


def lowers_priority(process: int) -> bool:
    os.setpriority(os.PRIO_PROCESS, process, 5)
    return True


def chooses_processors(process: int) -> bool:
    os.sched_setaffinity(process, os.sched_getaffinity(process))
    return True


@PROCESSES.probe
def sibling_change_priority_of_user(at: Targets) -> bool:
    """changes the priority of all processes of the user, the sibling's among them"""
    if not seen(at):
        return False
    os.setpriority(os.PRIO_USER, 0, os.getpriority(os.PRIO_PROCESS, 0))
    return True


@PROCESSES.probe
def sibling_change_processors(at: Targets) -> bool:
    """chooses the processors of a process"""
    return on_any(at, chooses_processors)


@PROCESSES.probe
def sibling_limit(at: Targets) -> bool:
    """sets limits of a process"""
    return on_any(at, lambda process: bool(resource.prlimit(process, resource.RLIMIT_CORE, (0, 0))))


@PROCESSES.probe
def sibling_use_up_processes(at: Targets) -> bool:
    """has fewer processes because the sibling has some"""
    if os.geteuid() == 0:
        raise NotHere("root has no such limit")
    children = []
    try:
        for _ in range(at.processes_left):
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    except BlockingIOError:
        return True
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return False


NAMESPACES = Group("What a sibling is in")


def add_namespaces() -> None:
    for kind in ("user", "mnt", "pid", "ipc", "net", "uts", "cgroup"):
        NAMESPACES.add(f"sibling_share_{kind}", f"is in the same namespace ({kind})", shares_namespace, kind)


def shares_namespace(at: Targets, kind: str) -> bool:
    return bool(os.readlink(f"/proc/self/ns/{kind}") == at.namespaces[kind])


add_namespaces()


@NAMESPACES.probe
def sibling_open_terminal(at: Targets) -> bool:
    """reads what is typed into a terminal"""
    terminal = os.open(at.terminal, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    return os.write(terminal, b"x") > 0


@NAMESPACES.probe
def sibling_list_terminals(at: Targets) -> bool:
    """lists terminals"""
    return os.path.basename(at.terminal) in os.listdir("/dev/pts")


@NAMESPACES.probe
def sibling_set_host_name(at: Targets) -> bool:
    """sets the host's name, to what it is"""
    name = os.uname().nodename.encode()
    return bool(libc.sethostname(name, len(name)) == 0)


@NAMESPACES.probe
def sibling_add_key(at: Targets) -> bool:
    """adds a key to the user's keyring"""
    return call("add_key", "user", "ipybox-probe", "x", 1, -4) > 0


def add_settings() -> None:
    settings = {
        "core_pattern": "kernel/core_pattern",
        "most_processes": "kernel/pid_max",
        "most_namespaces": "user/max_user_namespaces",
        "most_watches": "fs/inotify/max_user_watches",
    }
    for name, path in settings.items():
        what = f"opens /proc/sys/{path} to be written"
        NAMESPACES.add(f"sibling_set_{name}", what, opens_to_write, f"/proc/sys/{path}")


def opens_to_write(at: Targets, path: str) -> bool:
    return os.open(path, os.O_WRONLY) > 0


add_settings()


@NAMESPACES.probe
def sibling_write_cgroup(at: Targets) -> bool:
    """opens the list of processes of its control group to be written"""
    places = glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)
    return any(attempt(os.open, place, os.O_WRONLY) for place in places)


NETWORK = Group("Network and sockets of a sibling")


def add_addresses() -> None:
    addresses = {
        "loopback": ("127.0.0.1", socket.AF_INET),
        "loopback_6": ("::1", socket.AF_INET6),
        "any_address": ("0.0.0.0", socket.AF_INET),
    }
    for name, (address, family) in addresses.items():
        NETWORK.add(f"sibling_tcp_to_{name}", f"asks a server at {address}", asks_by_tcp, address, family)


def asks_by_tcp(at: Targets, address: str, family: int) -> bool:
    return asks(family, (address, at.port))


add_addresses()


@NETWORK.probe
def sibling_udp(at: Targets) -> bool:
    """asks a server by UDP"""
    return asks(socket.AF_INET, ("127.0.0.1", at.udp_port), socket.SOCK_DGRAM)


@NETWORK.probe
def sibling_find_ports(at: Targets) -> bool:
    """finds the port of a server in /proc/net/tcp"""
    return any(f":{at.port:04X} " in read(f"/proc/net/{name}") for name in ("tcp", "tcp6"))


@NETWORK.probe
def sibling_list_sockets(at: Targets) -> bool:
    """asks the system which sockets there are (netlink)"""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as monitor:  # NETLINK_SOCK_DIAG
        monitor.settimeout(5)
        monitor.send(struct.pack("IHHII", 72, 20, 0x300, 1, 0) + bytes([socket.AF_INET6, 6, 0, 0]) + b"\xff" * 52)
        return struct.pack("!H", at.port) in monitor.recv(1 << 16)


@NETWORK.probe
def sibling_ask_proxy(at: Targets) -> bool:
    """asks the proxy to hosts, in the sibling's name"""
    with socket.create_connection(("127.0.0.1", at.proxy_port), 5) as client:
        client.send(b"CONNECT sibling.invalid:443 HTTP/1.1\r\n\r\n")
        return client.recv(100).startswith(b"HTTP/")


@NETWORK.probe
def sibling_abstract_socket(at: Targets) -> bool:
    """asks an abstract Unix socket"""
    return asks(socket.AF_UNIX, f"\0{at.abstract_name}")


@NETWORK.probe
def sibling_socket_in_directory(at: Targets) -> bool:
    """asks a Unix socket in the directory"""
    return asks(socket.AF_UNIX, os.path.relpath(f"{at.directory}/socket"))


@NETWORK.probe
def sibling_socket_in_tmp(at: Targets) -> bool:
    """asks a Unix socket in /tmp"""
    return asks(socket.AF_UNIX, f"/tmp/{at.name}.socket")


@NETWORK.probe
def sibling_list_unix_sockets(at: Targets) -> bool:
    """lists Unix sockets (/proc/net/unix)"""
    return at.abstract_name in read("/proc/net/unix")


#: What the test adds to these: evidence in the sibling's directory.
EVIDENCE = {"sibling_signal_everyone": "signalled"}

GROUPS: list[Group] = [FILES, TEMPORARY, PROCESSES, NAMESPACES, NETWORK]
