"""Reports of the processes that enter walls, to the supervisor: how far they came, and why they could not go on."""

from __future__ import annotations

import errno
import os
import socket

from ipybox_kernel import process
from ipybox_kernel.landlock import Missing
from ipybox_kernel.refused import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

LONGEST_WORDS = 4096
LINK = "a link in the directory of the runtime, which a kernel may have made, is not followed"


def fail(report: socket.socket, error: BaseException, status: int) -> NoReturn:
    """Ends a child, and tells why. Names that are its own are left out: what is told is read in the supervisor."""
    if isinstance(error, Refused):
        tell(report, f"{error.error['kind']} {error.error.get('errno', 0)}")
    else:
        tell(report, f"failure {error.strerror if isinstance(error, OSError) else error}")
    os._exit(status)


def failure_in(words: dict[str, str]) -> Exception | None:
    """The failure that a child has told of, as the exception to raise here."""
    for kind in ("cwd", "exec"):
        if kind in words:
            number = int(words[kind])
            is_link = kind == "cwd" and number == errno.ELOOP
            return Refused(kind, LINK if is_link else os.strerror(number), errno=number)
    if "request" in words:
        return Refused("request", "malformed request")
    return Missing(words["failure"]) if "failure" in words else None


def tell(report: socket.socket, words: str) -> None:
    report.send(words.encode(errors="replace")[:LONGEST_WORDS])


def collect(report: socket.socket, pid: int) -> tuple[dict[str, str], list[int]]:
    """The reports of the processes that make walls, until the last one has closed its end: the child with this pid."""
    words: dict[str, str] = {}
    descriptors: list[int] = []
    while True:
        process.wait_for_report(report.fileno(), pid)
        data, received, _, _ = socket.recv_fds(report, LONGEST_WORDS, 1)
        descriptors += received
        if not data:
            return words, descriptors
        name, _, text = data.decode(errors="replace").partition(" ")
        words.setdefault(name, text)
