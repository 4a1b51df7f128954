"""A probe is a function that tries one way out, and returns whether it led anywhere. An OSError means: nowhere."""

from __future__ import annotations

import errno
import json
import os
import resource
import select
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Seconds after which a probe that hangs is a mistake of the suite.
PATIENCE = 30

#: Every secret begins with this word.
SECRET = "SECRET"

#: Gets the targets, and what the probe was added with.
Body = Callable[..., object]


class NotHere(Exception):
    """What a probe needs does not exist on this machine; the text says what."""


class Targets:
    """What probes aim at: all of it was made by the test. See targets.py."""

    def __init__(self, facts: dict[str, Any], probe: str) -> None:
        self._facts = facts
        self._probe = probe

    def __getattr__(self, name: str) -> Any:
        """A fact of the test: a path, the number of a process, a port."""
        value = self._facts[name]
        if value is None:
            raise NotHere(self._facts["why_not"].get(name, f"there is no {name.replace('_', ' ')}"))
        return value

    def needs(self, path: str) -> str:
        """A path that not every system has."""
        if path not in self._facts["present"]:
            raise NotHere(f"there is no {path}")
        return path

    @property
    def theirs(self) -> str:
        """A directory outside of the sandbox that is there for this probe alone, with a file `secret`."""
        return f"{self._facts['outside']}/{self._probe}"

    @property
    def scratch(self) -> str:
        """A directory of its own in the working directory."""
        path = f"{self._facts['work']}/scratch/{self._probe}"
        os.makedirs(path, exist_ok=True)
        return path


@dataclass(frozen=True)
class Probe:
    group: str
    name: str
    what: str
    body: Body
    given: tuple[object, ...] = ()

    def outcome(self, facts: dict[str, Any]) -> str:
        try:
            return "ESCAPED" if self.body(Targets(facts, self.name), *self.given) else "blocked"
        except OSError:
            return "blocked"
        except NotHere as reason:
            return f"n/a {reason}"
        except BaseException as mistake:  # a broken probe must not pass for a blocked one
            return f"broken {type(mistake).__name__}: {mistake}"


class Group:
    """Probes of one kind."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.probes: dict[str, Probe] = {}

    def add(self, name: str, what: str, body: Body, *given: object) -> None:
        """One of many probes that have a body in common."""
        assert name not in self.probes, name
        self.probes[name] = Probe(self.title, name, what, body, given)

    def probe(self, body: Body) -> Body:
        """Makes a probe of a function, whose docstring says what it tries."""
        assert body.__doc__
        self.add(body.__name__, body.__doc__.strip(), body)
        return body


def run(probes: list[Probe], facts: dict[str, Any]) -> Iterator[str]:
    """A line for each probe: NAME: blocked | ESCAPED | n/a WHY."""
    for probe in probes:
        yield f"{probe.name}: {in_a_process_of_its_own(probe, facts)}"


def in_a_process_of_its_own(probe: Probe, facts: dict[str, Any]) -> str:
    """So that a probe that is killed is a blocked one, and nothing that it does to itself reaches the next."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setsid()
        os.write(writer, probe.outcome(facts).encode()[:4000])
        os._exit(0)
    os.close(writer)
    said = os.read(reader, 4096) if select.select([reader], [], [], PATIENCE)[0] else b"broken it hangs"
    os.close(reader)
    if not said or said.startswith(b"broken"):
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            pass
    status = os.waitpid(child, 0)[1]
    return said.decode() or ended_by(os.WTERMSIG(status))


def ended_by(number: int) -> str:
    if number == signal.SIGSYS:
        return "blocked"
    return f"broken it was ended by {signal.Signals(number).name}"


def beginning(process: int) -> str:
    """When a process began, in ticks since the system did: it says which one a number stands for."""
    return read(f"/proc/{process}/stat").rsplit(")", 1)[1].split()[19]


def read(path: str) -> str:
    return Path(path).read_bytes().decode(errors="replace")


def reads_secret(path: str) -> bool:
    return SECRET in read(path)


def attempt(way: Callable[..., object], *arguments: object, **named: object) -> bool:
    """One way among several."""
    try:
        return bool(way(*arguments, **named))
    except OSError:
        return False


def append(path: str, dir_fd: int | None = None) -> bool:
    """Writes to the end of a file that exists."""
    return os.write(os.open(path, os.O_WRONLY | os.O_APPEND, dir_fd=dir_fd), b"# probed\n") > 0


def makes_unnamed_file(directory: str) -> bool:
    """A file that goes by itself."""
    try:
        os.close(os.open(directory, os.O_TMPFILE | os.O_WRONLY))
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            raise NotHere("the file system has no files without a name") from error
        raise
    return True


def raises_limit(kind: int) -> bool:
    most = resource.getrlimit(kind)[1]
    if most == resource.RLIM_INFINITY:
        return True
    try:
        resource.setrlimit(kind, (most + 1, most + 1))
    except ValueError:
        return False
    return True


def facts_of(directory: str) -> dict[str, Any]:
    with open(f"{directory}/facts.json") as file:
        facts: dict[str, Any] = json.load(file)
    return facts
