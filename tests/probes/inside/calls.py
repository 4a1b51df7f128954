"""System calls that Python has no function for."""

from __future__ import annotations

import ctypes
import errno
import os
import platform

from inside.frame import NotHere

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

#: Numbers on x86-64 and ARM64. They are not taken from the filter, which they test.
NUMBERS = {
    "ioctl": (16, 29), "mmap": (9, 222), "sched_setaffinity": (203, 122), "ptrace": (101, 117), "syslog": (103, 116),
    "socketpair": (53, 199), "socket": (41, 198), "clone": (56, 220), "shmget": (29, 194), "shmat": (30, 196),
    "personality": (135, 92), "modify_ldt": (154, None), "pivot_root": (155, 41), "chroot": (161, 51),
    "acct": (163, 89), "settimeofday": (164, 170), "mount": (165, 40), "umount2": (166, 39), "swapon": (167, 224),
    "swapoff": (168, 225), "reboot": (169, 142), "iopl": (172, None), "ioperm": (173, None), "init_module": (175, 105),
    "delete_module": (176, 106), "quotactl": (179, 60), "mq_open": (240, 180), "kexec_load": (246, 104),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "ioprio_set": (251, 30),
    "move_pages": (279, 239), "unshare": (272, 97), "get_robust_list": (274, 100), "perf_event_open": (298, 241),
    "fanotify_init": (300, 262), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "setns": (308, 268), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "finit_module": (313, 273), "kexec_file_load": (320, 294), "renameat2": (316, 276), "bpf": (321, 280),
    "userfaultfd": (323, 282), "rt_sigqueueinfo": (129, 138), "tgkill": (234, 131), "migrate_pages": (256, 238),
    "execve": (59, 221), "execveat": (322, 281), "capset": (126, 91), "setxattr": (188, 5),
    "pidfd_send_signal": (424, 424), "io_uring_setup": (425, 425), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fspick": (433, 433), "pidfd_open": (434, 434), "clone3": (435, 435),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "mount_setattr": (442, 442),
    "openat2": (437, 437), "fchmodat2": (452, 452), "open_tree_attr": (467, 467),
}  # fmt: skip

AT_FDCWD, AT_RECURSIVE = -100, 0x8000
RENAME_EXCHANGE = 2
MNT_DETACH = 2
OPEN_TREE_CLONE = 1
USER_AND_MOUNTS = 0x10020000  # CLONE_NEWUSER | CLONE_NEWNS
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18

Argument = int | str | bytes | None | ctypes.Array | ctypes.Structure  # type: ignore[type-arg]


def number(name: str) -> int:
    found = NUMBERS[name][0 if platform.machine() == "x86_64" else 1]
    if found is None:
        raise NotHere(f"this processor has no system call {name}")
    return found


def call(name: str, *arguments: Argument) -> int:
    """A system call; raises OSError as Python does, and NotHere where the system does not know the call."""
    return raw(number(name), *arguments)


def raw(of: int, *arguments: Argument) -> int:
    ctypes.set_errno(0)
    result: int = libc.syscall(ctypes.c_long(of), *[as_register(argument) for argument in arguments])
    if result != -1:
        return result
    if ctypes.get_errno() == errno.ENOSYS:
        raise NotHere("the system does not know this call")
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def as_register(argument: Argument) -> object:
    if isinstance(argument, int):
        return ctypes.c_ulong(argument & (1 << 64) - 1)
    if isinstance(argument, str):
        return ctypes.c_char_p(argument.encode())
    if isinstance(argument, ctypes.Structure):
        return ctypes.byref(argument)
    return argument


#: A call that ends with one of these was refused; with any other error the kernel has looked at its arguments.
REFUSALS = (errno.EPERM, errno.EACCES)


def reaches_the_kernel(name: str, *arguments: Argument) -> bool:
    """Whether a call that makes no sense, and therefore does nothing, is refused only because of that."""
    try:
        result = call(name, *arguments)
    except OSError as error:
        return error.errno not in REFUSALS
    if result > 2 and name in ("fsopen", "open_tree", "fanotify_init", "userfaultfd", "io_uring_setup"):
        os.close(result)
    return True


def exchange(one: str, other: str) -> None:
    """Both names change places at one moment."""
    call("renameat2", AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
