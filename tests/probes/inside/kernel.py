"""What the kernel offers besides files: namespaces, mounts, and calls that have been the way out of many sandboxes.

Calls of the last kind get arguments that make no sense, so that they do nothing. ESCAPED says that they are refused for
that reason alone: the kernel has looked at them.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import pty
import resource
import signal
import struct
import termios

from inside.calls import (
    AT_FDCWD,
    MS_BIND,
    MS_RDONLY,
    MS_REMOUNT,
    OPEN_TREE_CLONE,
    USER_AND_MOUNTS,
    Argument,
    call,
    libc,
    raw,
    reaches_the_kernel,
)
from inside.frame import Group, NotHere, Targets, attempt, raises_limit

NAMESPACES = Group("Namespaces, mounts and privileges")

#: The flag of each kind of namespace.
KINDS = {
    "user": 0x10000000,
    "mount": 0x00020000,
    "process": 0x20000000,
    "network": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
    "cgroup": 0x02000000,
    "time": 0x00000080,
}


def add_namespaces() -> None:
    for kind, flag in KINDS.items():
        what = f"makes a {kind} namespace of its own"
        NAMESPACES.add(f"unshare_{kind}", what, unshares, flag)


def unshares(at: Targets, flag: int) -> bool:
    return call("unshare", flag) == 0


add_namespaces()


@NAMESPACES.probe
def clone_user(at: Targets) -> bool:
    """starts a process in a user namespace of its own (clone)"""
    return starts(KINDS["user"] | signal.SIGCHLD)


@NAMESPACES.probe
def clone_with_high_bits(at: Targets) -> bool:
    """starts a process in a user namespace of its own, with bits in the upper half of the argument"""
    return starts(KINDS["user"] | signal.SIGCHLD | 1 << 40)


def starts(flags: int) -> bool:
    return ends(call("clone", flags, 0, 0, 0, 0))


def ends(child: int) -> bool:
    """Of a fork: the child ends at once, and its parent has seen it."""
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


@NAMESPACES.probe
def clone3_user(at: Targets) -> bool:
    """starts a process in a user namespace of its own (clone3)"""
    arguments = struct.pack("11Q", KINDS["user"], 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    try:
        return ends(call("clone3", ctypes.create_string_buffer(arguments), 88))
    except NotHere:  # which the filter says, too
        return False


@NAMESPACES.probe
def enter_namespace(at: Targets) -> bool:
    """enters a user namespace by its file (setns)"""
    try:
        return call("setns", os.open("/proc/self/ns/user", os.O_RDONLY), KINDS["user"]) == 0
    except OSError as error:
        return error.errno == errno.EINVAL  # it is in that one already


@NAMESPACES.probe
def mount_directory(at: Targets) -> bool:
    """mounts a file system of its own"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    return mounts("none", at.scratch, "tmpfs", 0)


@NAMESPACES.probe
def bind_directory(at: Targets) -> bool:
    """mounts a directory in another place"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    return mounts(at.theirs, at.scratch, None, MS_BIND)


@NAMESPACES.probe
def remount_directory(at: Targets) -> bool:
    """changes the flags of a mount"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    mounts(at.theirs, at.scratch, None, MS_BIND)
    return call("mount", None, at.scratch, None, MS_REMOUNT | MS_BIND | MS_RDONLY, None) == 0


def mounts(source: str, target: str, kind: str | None, flags: int) -> bool:
    return call("mount", source, target, kind, flags, None) == 0


@NAMESPACES.probe
def move_detached_mount(at: Targets) -> bool:
    """copies a tree of mounts, and mounts it in another place (open_tree, move_mount)"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    tree = call("open_tree", AT_FDCWD, at.theirs, OPEN_TREE_CLONE)
    return call("move_mount", tree, "", AT_FDCWD, at.scratch, 4) == 0


@NAMESPACES.probe
def open_file_system(at: Targets) -> bool:
    """opens a file system to be mounted (fsopen)"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    return reaches_the_kernel("fsopen", "tmpfs", 0)


@NAMESPACES.probe
def pick_mount(at: Targets) -> bool:
    """opens a mount to be changed (fspick)"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    return reaches_the_kernel("fspick", AT_FDCWD, "/", 0)


@NAMESPACES.probe
def change_root(at: Targets) -> bool:
    """changes its root directory (chroot)"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    return call("chroot", at.scratch) == 0


@NAMESPACES.probe
def pivot_root(at: Targets) -> bool:
    """exchanges the root of all mounts"""
    attempt(call, "unshare", USER_AND_MOUNTS)
    return reaches_the_kernel("pivot_root", at.scratch, at.scratch)


@NAMESPACES.probe
def have_capabilities(at: Targets) -> bool:
    """has any capability"""
    with open("/proc/self/status") as status:
        return any(int(line.split()[1], 16) for line in status if line.startswith(("CapEff", "CapPrm", "CapAmb")))


@NAMESPACES.probe
def set_host_name(at: Targets) -> bool:
    """sets the host's name, to what it is"""
    name = os.uname().nodename.encode()
    return bool(libc.sethostname(name, len(name)) == 0)


@NAMESPACES.probe
def raise_priority(at: Targets) -> bool:
    """takes a higher priority than other processes"""
    return os.nice(-1) < 0


@NAMESPACES.probe
def take_real_time(at: Targets) -> bool:
    """takes a place before all ordinary processes"""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    return True


@NAMESPACES.probe
def survive_lack_of_memory(at: Targets) -> bool:
    """makes itself the last to be killed where memory is short"""
    with open("/proc/self/oom_score_adj", "r+") as file:
        before = int(file.read())
        file.seek(0)
        file.write(str(before - 1))
    return True


@NAMESPACES.probe
def leave_core_file(at: Targets) -> bool:
    """may leave core files"""
    return raises_limit(resource.RLIMIT_CORE)


CALLS = Group("System calls")

#: What each call is given. It makes no sense, so that nothing happens.
SENSELESS: dict[str, tuple[str, tuple[object, ...]]] = {
    "io_uring_setup": ("sets up a ring of system calls", (1, ctypes.create_string_buffer(b"\xff" * 120, 120))),
    "bpf": ("loads a program into the kernel", (5, ctypes.create_string_buffer(128), 128)),
    "perf_event_open": ("counts events of the processor", (None, 0, -1, -1, 0)),
    "userfaultfd": ("handles page faults of the kernel", (0,)),
    "keyctl": ("asks for its session keyring", (0, -3, 0)),
    "add_key": ("adds a key", ("user", "ipybox-probe", "x", 1, -1)),
    "request_key": ("asks for a key", ("user", "ipybox-probe", None, 0)),
    "init_module": ("loads a kernel module", (ctypes.create_string_buffer(1), 0, "")),
    "finit_module": ("loads a kernel module from a file", (-1, "", 0)),
    "delete_module": ("unloads a kernel module", ("ipybox-probe-no-such-module", 0)),
    "kexec_load": ("loads another kernel", (0, 0, None, 0xFFFF)),
    "kexec_file_load": ("loads another kernel from a file", (-1, -1, 0, None, 0xFFFF)),
    "reboot": ("restarts the machine", (0, 0, 0, None)),
    "swapon": ("adds memory on a disk", ("/ipybox-probe/none", 0)),
    "swapoff": ("takes memory on a disk away", ("/ipybox-probe/none",)),
    "acct": ("has all processes recorded", ("/ipybox-probe/none",)),
    "quotactl": ("changes quotas", (0xFFFF << 8, "/ipybox-probe/none", 0, None)),
    "settimeofday": ("sets the clock", (None, None)),
    "syslog": ("reads the kernel's log", (3, ctypes.create_string_buffer(64), 64)),
    "iopl": ("talks to devices by ports", (3,)),
    "ioperm": ("talks to a device by its port", (0x80, 1, 1)),
    "modify_ldt": ("looks at segments of memory", (0, None, 0)),
    "fanotify_init": ("watches and decides about files of others", (0, 0)),
    "name_to_handle_at": ("asks for a handle of a file", (AT_FDCWD, "/", None, None, 0)),
}  # fmt: skip


def add_calls() -> None:
    for name, (what, arguments) in SENSELESS.items():
        CALLS.add(name, what, reaches, name, *arguments)


def reaches(at: Targets, name: str, *arguments: Argument) -> bool:
    return reaches_the_kernel(name, *arguments)


add_calls()


@CALLS.probe
def type_into_terminal(at: Targets) -> bool:
    """types into a terminal (TIOCSTI)"""
    return types(termios.TIOCSTI, b"x")


@CALLS.probe
def type_with_high_bits(at: Targets) -> bool:
    """types into a terminal, with bits in the upper half of the number of TIOCSTI"""
    return types(termios.TIOCSTI | 1 << 32, b"x")


@CALLS.probe
def paste_into_terminal(at: Targets) -> bool:
    """pastes into a terminal (TIOCLINUX)"""
    return types(0x541C, b"\x03")


def types(request: int, what: bytes) -> bool:
    """Into a terminal of its own. EIO: TIOCSTI is switched off; ENOTTY: this terminal is none that can be pasted to."""
    terminal = pty.openpty()[1]
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    try:
        return call("ioctl", terminal, request, ctypes.create_string_buffer(what)) == 0
    except OSError as error:
        if error.errno == errno.EIO:
            raise NotHere("the system lets no process type into terminals") from error
        return error.errno == errno.ENOTTY


@CALLS.probe
def call_as_x32(at: Targets) -> bool:
    """makes system calls of the x32 ABI"""
    only_on_x86()
    return raw(0x40000000 + 39) == os.getpid()


@CALLS.probe
def call_as_i386(at: Targets) -> bool:
    """makes system calls of 32 bits (int 0x80)"""
    only_on_x86()
    if not at.runs_32_bits:
        raise NotHere("the system has no calls of 32 bits")
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return bool(ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid())


def only_on_x86() -> None:
    if platform.machine() != "x86_64":
        raise NotHere("this processor has no such ABI")


@CALLS.probe
def map_address_zero(at: Targets) -> bool:
    """maps memory at the address 0, where mistakes of the kernel find it"""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10  # MAP_FIXED
    return call("mmap", 0, 4096, mmap.PROT_READ, flags, -1, 0) == 0


@CALLS.probe
def limits_of_another_process(at: Targets) -> bool:
    """sets limits of its parent, to what they are"""
    limits = resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)
    resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, limits)
    return True
