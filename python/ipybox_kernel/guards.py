"""The guard ``no_exec``: a kernel that can start no program and touch no process that is not its own.

The system enforces it: capabilities, Landlock and a seccomp filter, none of which can be undone. Python's own ways to
start programs say so in a sentence, for people.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

from ipybox_kernel import filters, landlock, privileges, process

SENTENCE = "Programs cannot be started from Python here. Start them with !, as in `!ls -l`, or in a %%bash cell."
OF_OS = ("system", "posix_spawn", "posix_spawnp", "execv", "execve", "spawnv", "spawnve", "spawnvp", "spawnvpe")
REPLACED = [
    *(("os", name) for name in OF_OS),  # the other ones call these
    ("pty", "spawn"),
    ("_posixsubprocess", "fork_exec"),
    ("subprocess", "_fork_exec"),
]


def confine(allow: list[str]) -> None:
    """Puts this process, for ever, under the guard, and all that it will fork; raises Missing if that is impossible.

    ``allow`` names what the base filter leaves open.
    """
    machine = privileges.machine()
    privileges.drop_capabilities()
    landlock.give_up_new_privileges()
    landlock.isolate(landlock.version())
    for program in (filters.base(machine, allow), filters.no_exec(machine)):
        privileges.filter_calls(program, machine)
    explain()


def unavailable() -> str:
    """The thing that is missing here, found out by trying it in a process of its own; empty if nothing is."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            confine([])
            os.write(writing, b"ok")
        except BaseException as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    process.wait_for_report(reading, pid)
    with open(reading, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(pid, 0)
    return "" if text == "ok" else text or "a process that was put under it died"


# Python


def explain() -> None:
    """Makes Python say what to do instead. The filter would only say that it is not permitted."""
    for module, name in REPLACED:
        replace(module, name)


def replace(owner: str, name: str) -> None:
    """Replaces a function by one that says why it does not do what it did."""
    module = importlib.import_module(owner)  # the one of code, which is not the one that is seen here
    original: Callable[..., Any] | None = getattr(module, name, None)
    if original is None:
        return

    def denied(*args: object, **options: object) -> None:
        raise PermissionError(SENTENCE)

    denied.__name__ = denied.__qualname__ = name
    denied.__doc__ = SENTENCE
    setattr(module, name, denied)
