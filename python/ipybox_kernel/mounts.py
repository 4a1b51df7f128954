"""The file system of a kernel within walls: without the directories of the other kernels."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct

from ipybox_kernel.landlock import libc, missing
from ipybox_kernel.paths import lies_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ipybox_kernel.rooms import Plan

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
OPEN_TREE, MOVE_MOUNT = 428, 429  # on every machine
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC, AT_RECURSIVE, AT_EMPTY_PATH = 1, os.O_CLOEXEC, 0x8000, 0x1000
MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH = 4, 0x40
MOUNT_SETATTR, MOUNT_ATTR_RDONLY = 442, 1
AT_FDCWD = -100
MNT_DETACH = 2

# Of all sandboxes the system has some 3000.
TERMINALS = "newinstance,ptmxmode=0666,mode=620,max=64"

BYTES_OF_FILE = 4096  # of a private directory, for each file that it can hold
LEAST_FILES = 4096


def rearrange_files(plan: Plan, directory: str, closed: list[str]) -> None:
    """Gives this process, which is in a directory, a file system without the directories of other kernels.

    Paths in that directory are closed: the kernel cannot write to them.
    """
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    inside = place_in(plan.workspace, directory)
    hidden = [] if lies_in(plan.workspace, [inside]) else [plan.workspace]
    own = [(path, copy_of(".")) for path in sorted({directory, inside})]  # another kernel may exchange it by now
    outside = [path for path in sorted(plan.kept) if not lies_in(path, [directory])]
    kept = [(path, copy_of(path)) for path in outside if lies_in(path, [*plan.private, *hidden])]
    cover_together(plan.private, plan.size)
    for path, tree in kept:
        if not lies_in(path, hidden):
            put_back(path, tree)
    for place in hidden:
        os.makedirs(place, exist_ok=True)
        cover(place, plan.size)
    for path, tree in kept:
        if lies_in(path, hidden):
            put_back(path, tree)
    for path, tree in own:
        if lies_in(path, [*plan.private, *hidden]):
            put_back(path, tree)
    for place in hidden:
        mount(None, place, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    for _, descriptor in (*own, *kept):
        if descriptor is not None:
            os.close(descriptor)
    for path, _ in own:
        os.chdir(path)
        close_files(path, closed)
    mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, TERMINALS)
    os.chdir(directory)  # its parents are no longer those of the directory that this process was in


def close_files(directory: str, closed: list[str]) -> None:
    """Makes paths in this directory read-only. Those on the way to them cannot be renamed, nor replaced by others.

    For that, these become mount points, and the directory is then mounted over them once more: it stays one file
    system, in which files can be moved around.
    """
    ways = sorted({way for path in closed for way in ways_to(path)})
    if ways:
        again = copy_of(".")
        for way in ways:
            mount_over(way, read_only=False)
        put_back(directory, again)
        if again is not None:
            os.close(again)
        os.chdir(directory)
    for path in closed:
        mount_over(path, read_only=True)


def ways_to(path: str) -> list[str]:
    """The directories above a relative path."""
    names = path.split("/")[:-1]
    return ["/".join(names[: count + 1]) for count in range(len(names))]


def mount_over(path: str, *, read_only: bool) -> None:
    """Mounts what lies at a path over itself, unless it is gone by now, or reached by a link: code made that."""
    try:
        place = open_by_names(path)
    except OSError:
        return
    try:
        flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE
        tree = libc.syscall(OPEN_TREE, place, b"", flags)
        if tree < 0:
            raise missing("a file of the kernel cannot be closed")
        try:
            attributes = struct.pack("QQQQ", MOUNT_ATTR_RDONLY if read_only else 0, 0, 0, 0)
            how = AT_EMPTY_PATH | AT_RECURSIVE
            if libc.syscall(MOUNT_SETATTR, tree, b"", how, attributes, ctypes.c_size_t(len(attributes))):
                raise missing("a file of the kernel cannot be made read-only")
            if libc.syscall(MOVE_MOUNT, tree, b"", place, b"", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH):
                raise missing("a file of the kernel cannot be closed")
        finally:
            os.close(tree)
    finally:
        os.close(place)


def open_by_names(path: str) -> int:
    """A descriptor of what lies at a relative path, by no link."""
    place = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in path.split("/"):
        try:
            following = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
        finally:
            os.close(place)
        if stat.S_ISLNK(os.fstat(following).st_mode):
            os.close(following)
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        place = following
    return place


def place_in(workspace: str, directory: str) -> str:
    """The name of a directory in the workspace, which is mounted a second time where a link to it was private."""
    above, rest = directory, ""
    while above != "/":
        if os.path.samefile(above, workspace):
            return os.path.join(workspace, rest) if rest else workspace
        above, name = os.path.split(above)
        rest = os.path.join(name, rest) if rest else name
    return directory


def mount_processes() -> None:
    """Its own ``/proc``. Root's files there are writable for user 0 without any capability, unless it is read-only."""
    read_only = MS_RDONLY if os.geteuid() == 0 else 0
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | read_only)


def copy_of(path: str) -> int | None:
    """A detached copy of the mounts at a path and below it; None where there is nothing."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    descriptor = libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(path), flags)
    if descriptor < 0 and ctypes.get_errno() not in (errno.ENOENT, errno.ENOTDIR):
        raise missing("a directory cannot be opened to the kernel alone")
    return None if descriptor < 0 else int(descriptor)


def put_back(path: str, tree: int | None) -> None:
    """Mounts a copy where it was, also if something else has been mounted there."""
    if tree is None:
        return
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.lexists(path):
            os.close(os.open(path, os.O_CREAT | os.O_CLOEXEC, 0o600))
    if libc.syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(path), MOVE_MOUNT_F_EMPTY_PATH):
        raise missing("a directory cannot be mounted for the kernel alone")


def cover_together(places: list[str], size: int) -> None:
    """Mounts empty directories over directories, which take so much memory together."""
    if not places:
        return
    cover(places[0], size)
    parts = []
    for number in range(len(places)):
        directory = f"{places[0]}/{number}"
        os.mkdir(directory, 0o755)
        parts.append(copy_of(directory))
    if libc.umount2(os.fsencode(places[0]), MNT_DETACH):
        raise missing(f"{places[0]} cannot be unmounted for the kernel alone")
    for place, part in zip(places, parts, strict=True):
        put_back(place, part)
        if part is not None:
            os.close(part)


def cover(place: str, size: int) -> None:
    """Mounts an empty directory of its own over a directory."""
    # Empty files take no bytes of its size, but memory of the system.
    bounds = f",size={size},nr_inodes={max(LEAST_FILES, size // BYTES_OF_FILE)}" if size else ""
    mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755" + bounds)


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [word if word is None else os.fsencode(word) for word in (source, target, kind)]
    if libc.mount(*words, ctypes.c_ulong(flags), data.encode() if data else None):
        raise missing(f"{target} cannot be mounted for the kernel alone")
