"""The way to the working directory of a kernel, which other kernels may have changed."""

from __future__ import annotations

import errno
import os
import stat

MOST_LINKS = 40  # as the system follows


def enter(path: str, workspace: str) -> None:
    """Goes to a directory, by no link within the workspace: another kernel may have made it. Raises OSError."""
    place = walk(path, os.stat(workspace))
    try:
        os.fchdir(place)
    finally:
        os.close(place)


def walk(path: str, workspace: os.stat_result) -> int:
    """A descriptor of what a path leads to."""
    place = top()
    names, links = parts(path), 0
    try:
        while names:
            following = os.open(names.pop(), os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
            if not stat.S_ISLNK(os.fstat(following).st_mode):
                os.close(place)
                place = following
                continue
            target = os.readlink("", dir_fd=following)
            os.close(following)
            links += 1
            if links > MOST_LINKS or lies_in(place, workspace):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            names += parts(target)
            if target.startswith("/"):
                os.close(place)
                place = top()
    except BaseException:
        os.close(place)
        raise
    return place


def top() -> int:
    return os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def parts(path: str) -> list[str]:
    """The names of a path, the last one first."""
    return [name for name in reversed(path.split("/")) if name]


def lies_in(directory: int, around: os.stat_result) -> bool:
    """Whether a directory is the one around it, or lies in that."""
    place = os.dup(directory)
    try:
        while not os.path.samestat(here := os.fstat(place), around):
            above = os.open("..", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place)
            os.close(place)
            place = above
            if os.path.samestat(os.fstat(place), here):
                return False  # the root directory
        return True
    finally:
        os.close(place)
