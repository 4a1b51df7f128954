"""Sentences about failures whose reason lies in the sandbox: the programs that fail know nothing of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from ipybox_kernel import hosts, packages
from ipybox_kernel.paths import lies_in

Write = Callable[[str], Any]

MARK = "[ipybox] "

INSTALLS = re.compile(r"\b(?:pip[\d.]*|conda|mamba)\s+(?:-\S+\s+)*install\b|\buv\s+(?:pip\s+install|add)\b")
NO_NETWORK = "pip reaches no index here: the kernel has no network. "
NO_PASSAGE = "pip was not let through to an index, as it says above. "
BY_PROXY = "Tunnel connection failed: "
WITH_LAYER = "%pip install, without options, has the host fetch packages."
WITHOUT_LAYER = (
    "Packages come from outside: by the tool install_package of `ipybox mcp`; with `ipybox run --packages DIR`, where "
    "%pip install has the host fetch them; or into the environment of this kernel, by its pip, before it starts."
)

#: What git says, and the sentence about it.
OF_GIT = [
    (
        re.compile(r"could not (?:write|lock) config file [^\n]*: (?:Device or resource busy|Read-only file system)"),
        "The settings of a repository cannot be changed here, as git starts programs that they name: change them "
        "outside of the sandbox, or set allowGitConfig in the sandbox's configuration.",
    ),
    (
        re.compile(r"'([^'\n]*\.git)/[^'\n]*\.lock': Read-only file system"),
        "The repository lies in {0}, where code cannot write: name that path in allowWrite of the sandbox's "
        "configuration.",
    ),
    (
        re.compile(r"\.git\b[^\n]*: Read-only file system"),
        "No repository can be made here, as git starts programs that its settings name: make it outside of the "
        "sandbox, or in a directory below.",
    ),
]


#: Directories that are the sandbox's own, empty at its start, where the host has others of these names.
private: tuple[str, ...] = ()

OWN = (
    "{0} is the sandbox's own here, and was empty at the start. A file of the host's {0} can be read where it is put "
    "into the working directory."
)

#: What programs and Python say of a path that is not there: ``cat: PATH: …``, ``… '/tmp/x': …``, ``…: 'PATH'``.
MISSING = re.compile(
    r"(?P<before>/[^\s:'\"]+)['\"]?: (?:\[Errno 2\] )?No such file or directory"
    r"|No such file or directory: b?['\"](?P<behind>/[^\n'\"]+)"
)


class Output:
    """What a command writes: it is passed on, and its end is kept."""

    LONGEST = 4096

    def __init__(self) -> None:
        self.end = ""

    def to(self, write: Write) -> Write:
        """A function that passes text on to another one."""

        def written(text: str) -> Any:
            self.end = (self.end + text)[-self.LONGEST :]
            return write(text)

        return written


def of_command(command: str, code: int, output: Output) -> str:
    """Lines to show behind the output of a command that has ended; empty: nothing is to be said."""
    if code and INSTALLS.search(command):
        advice = WITH_LAYER if packages.layer else WITHOUT_LAYER
        if hosts.are_out_of_reach(os.environ):
            return line(NO_NETWORK + advice)
        if BY_PROXY in output.end:
            return line(NO_PASSAGE + advice)
    if "git" in command:
        for said, sentence in OF_GIT:
            if found := said.search(output.end):
                return line(sentence.format(*found.groups()))
    return of_missing(output.end) if code else ""


def of_missing(text: str) -> str:
    """A line about what an error says is not there; empty: nothing is to be said."""
    for found in MISSING.finditer(text[-Output.LONGEST :]) if private else ():
        path = found["before"] or found["behind"]
        place = next((place for place in private if lies_in(path, [place])), None)
        if place and not lies_in(path, [workplace()]):
            return line(OWN.format(place))
    return ""


def workplace() -> str:
    """The working directory, which may be gone."""
    try:
        return os.getcwd()
    except OSError:
        return "/"


def line(sentence: str) -> str:
    return f"{MARK}{sentence}\n"
