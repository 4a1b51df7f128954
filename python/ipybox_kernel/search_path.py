"""The directories in which programs are looked for by their names."""

from __future__ import annotations

import os
from functools import lru_cache

from ipybox_kernel.paths import lies_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_LINKS = 40  # on one way, as for the system


def without_open(path: str, changeable: tuple[str, ...]) -> str:
    """Those of PATH in which code cannot put a program: one there would run under the name that was approved.

    ``changeable`` are the directories in which the sandbox lets code write, as far as they are not mounted read-only.
    """
    return os.pathsep.join(
        folder for folder in path.split(os.pathsep) if folder.startswith("/") and not is_open(folder, changeable)
    )


@lru_cache(maxsize=256)
def is_open(folder: str, changeable: tuple[str, ...]) -> bool:
    """The answer is kept: code cannot change what it depends on, unless it is true.

    A kernel within walls inherits those of the supervisor: what code can change there, it could change here.
    """
    try:
        return any(can_change(place, changeable) for place in deciding(folder))
    except OSError:
        return True  # it has just gone


def deciding(path: str) -> Iterator[str]:
    """The directories that decide where a path leads: each with a link on the way, and the one at its end."""
    here = "/"
    left = path.split("/")
    links = 0
    while left and links <= MOST_LINKS:
        name = left.pop(0)
        if name in ("", "."):
            continue
        if name == "..":
            here = os.path.dirname(here)
            continue
        entry = f"{here.rstrip('/')}/{name}"
        try:
            target = os.readlink(entry)
        except OSError:
            here = entry  # no link, or nothing at all
            continue
        links += 1
        yield here
        here = "/" if target.startswith("/") else here
        left[:0] = target.split("/")
    yield here


def can_change(folder: str, changeable: tuple[str, ...]) -> bool:
    """Whether code can write to a directory without links, make it, or put another one in its place.

    Its mode does not count, which its owner changes.
    """
    if not lies_in(folder, changeable):
        return False
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if is_read_only(folder):  # and held in its place, by mounts on what it lies in
        return False
    while True:
        if not is_read_only(folder) and (os.lstat(folder).st_uid == os.geteuid() or os.access(folder, os.W_OK)):
            return True
        if folder == "/":
            return False
        folder = os.path.dirname(folder)


def is_read_only(folder: str) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
