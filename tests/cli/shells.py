"""Real shells on a terminal, with the program's completion, and what they make of a Tab."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from program import BINARY

#: No test waits longer for a shell; less than pytest waits for a test, so that it says what has come.
PATIENCE = 60.0


def need(name: str) -> str:
    """The path of a program. A test that lacks it is skipped, or fails where no test may be skipped."""
    found = shutil.which(name)
    if found:
        return found
    if os.environ.get("IPYBOX_TEST_STRICT") == "1":
        pytest.fail(f"{name} is missing: ./dev setup installs it")
    pytest.skip(f"{name} is not installed")


def printed(*arguments: str) -> str:
    return subprocess.run([BINARY, *arguments], check=True, capture_output=True, text=True, timeout=PATIENCE).stdout


def said(command: list[str], directory: Path) -> list[str]:
    """The lines that a shell prints; it must not complain."""
    ended = subprocess.run(
        [need(command[0]), *command[1:]],
        env=with_program(directory),
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.stderr == ""
    return ended.stdout.splitlines()


def with_program(directory: Path) -> dict[str, str]:
    """An environment in which the program is called `ipybox`, and nothing of the user's is read."""
    folder = directory / ".bin"
    if not folder.exists():
        folder.mkdir()
        (folder / "ipybox").symlink_to(BINARY)
    return {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "HOME": str(directory),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
        "PS1": "$ ",
    }


class Shell:
    """A shell at a terminal."""

    def __init__(self, command: list[str], env: dict[str, str], directory: Path) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command, env=env, cwd=directory, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self.seen = ""

    def send(self, text: str) -> None:
        os.write(self._master, text.encode())

    def expect(self, pattern: str) -> str:
        """Waits for output; what came until its end is done with."""
        deadline = time.monotonic() + PATIENCE
        while not (match := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self._master], [], [], max(deadline - time.monotonic(), 0))
            assert ready, f"{pattern!r} did not come, but {self.seen!r}"
            self.seen += os.read(self._master, 65536).decode(errors="replace")
        before = self.seen[: match.end()]
        self.seen = self.seen[match.end() :]
        return before

    def run(self, command: str) -> None:
        """Runs a command to its end."""
        self.send(f"{command}; echo do''ne\n")
        self.expect(r"done\r?\n")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)
