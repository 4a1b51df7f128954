"""Ways from one kernel of a runtime to another, tried by code in a kernel and by shell commands.

The table is siblings.txt; docs/probes.md is made of it.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from inside.catalogue import sibling_probes
from inside.frame import SECRET
from inside.siblings import EVIDENCE
from open_interpreter import open_program
from outcomes import SIBLINGS
from program import wait_for
from targets import base, handle_of, look_of

HERE = Path(__file__).parent / "siblings"

#: What is said where bubblewrap does not work on this machine.
UNAVAILABLE = "ask for no_sandbox by name"

#: The names are those of no host: the proxy is there, and nothing is connected with.
CONFIGURATION = {"network": {"allowedDomains": ["sibling.invalid"], "allowAllUnixSockets": True}}

#: Of the sixty that each session may have, of which the sibling has twenty and more.
PROCESSES_LEFT = 40

IN_A_CELL = "import inside.beside"
AS_A_COMMAND = "import sys\n!{sys.executable} -m inside.beside"


class Runtime:
    """A program that has sessions on one runtime, siblings/host.cpp."""

    def __init__(self, root: Path, python: str, user: int, walls: bool) -> None:
        command = [
            open_program(os.environ["IPYBOX_SIBLINGS"]),
            str(root / "runtime"),
            python,
            str(root / "sandbox.json"),
        ]
        self.process = subprocess.Popen(
            command + ([] if walls else ["open"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"HOME": str(root / "home"), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
            user=None if user == os.geteuid() else user,
            group=None if user == os.geteuid() else user,
        )

    def ask(self, **request: Any) -> dict[str, str]:
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer: dict[str, str] = json.loads(self.process.stdout.readline() or '{"error": "the host has ended"}')
        return answer

    def open(self, session: str, env: dict[str, str], guard: bool = False) -> None:
        answer = self.ask(session=session, env=env, guard=guard)
        if UNAVAILABLE in answer.get("error", ""):
            pytest.skip(answer["error"])
        assert answer == {}

    def run(self, session: str, code: str) -> str:
        answer = self.ask(session=session, code=code)
        assert "text" in answer, answer
        return answer["text"]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def place(user: int) -> Iterator[Path]:
    """A directory with one for the runtime."""
    with tempfile.TemporaryDirectory(prefix="siblings-", dir=base()) as name:
        root = Path(name)
        root.chmod(0o755)
        (root / "home").mkdir()
        (root / "sandbox.json").write_text(json.dumps(CONFIGURATION))
        for probe in sibling_probes():
            theirs = root / "runtime/victim/outside" / probe.name
            theirs.mkdir(parents=True)
            (theirs / "secret").write_text(f"{SECRET} of the sibling\n")
        shutil.copy(HERE / "command.py", root / "runtime/victim")
        inside = HERE.parent / "inside"
        shutil.copytree(inside, root / "runtime/attacker/inside", ignore=shutil.ignore_patterns("__pycache__"))
        for path in [root, *root.rglob("*")]:
            os.chown(path, user, -1)
        yield root


@contextmanager
def sibling(root: Path, python: str, user: int, walls: bool) -> Iterator[tuple[Runtime, dict[str, Any]]]:
    """A runtime with a session that has secrets, and what is known of it."""
    runtime = Runtime(root, python, user, walls)
    try:
        runtime.open("victim", {"PRIVATE": f"SECRET-ENV-{secrets.token_hex(8)}"})
        third = root / "runtime" / f"SECRET-DIR-{secrets.token_hex(8)}"
        third.mkdir()
        os.chown(third, user, -1)
        runtime.open(third.name, {})
        command = root / "runtime/victim/command"
        run = f"!{python} -B command.py SECRET-ARG-{secrets.token_hex(8)} > /dev/null 2>&1 &"
        assert runtime.run("victim", run) == ""
        wait_for(command.exists)
        said = runtime.run("victim", (HERE / "victim.py").read_text())
        assert said.startswith("{"), said
        yield runtime, json.loads(said)
    finally:
        runtime.close()


def attack(root: Path, runtime: Runtime, facts: dict[str, Any], way: str) -> dict[str, str]:
    """What each probe says in a session beside the sibling."""
    runtime.open("attacker", {}, guard=way == "guard")
    victim, work = root / "runtime/victim", root / "runtime/attacker"
    facts |= {"work": str(work), "outside": str(victim / "outside"), "why_not": {}, "processes_left": PROCESSES_LEFT}
    facts["handle"] = handle_of(victim / "outside/sibling_read_by_handle/secret")
    facts["own_kernel"] = int(runtime.run("attacker", "import os; os.getpid()"))
    (work / "facts.json").write_text(json.dumps(facts))
    said = runtime.run("attacker", AS_A_COMMAND if way.endswith("!") else IN_A_CELL)
    found = dict(line.split(": ", 1) for line in said.splitlines())
    found |= {probe: "ESCAPED" for probe, file in EVIDENCE.items() if (victim / file).exists()}
    assert list(found) == [probe.name for probe in sibling_probes()], said
    assert {name: what for name, what in found.items() if what.startswith("broken")} == {}
    return found


def snapshot(root: Path) -> dict[str, object]:
    paths = [path for path in (root / "runtime").rglob("*") if not path.is_relative_to(root / "runtime/attacker")]
    return {str(path): look_of(path) for path in [root / "runtime", *paths]}


@pytest.mark.parametrize("way", SIBLINGS.ways)
def test_each_says_what_the_table_says(way: str, user: int, python: str) -> None:
    kind = way.rstrip("!")
    with place(user) as root, sibling(root, python, user, walls=kind != "open") as (runtime, facts):
        before = snapshot(root)
        seen = attack(root, runtime, facts, way)
        lives = runtime.run("victim", "1 + 1")
        after = snapshot(root)
    print(*(f"{name}: {what}" for name, what in seen.items()), sep="\n")
    if os.environ.get("IPYBOX_UPDATE_GOLDEN"):
        SIBLINGS.note(way, user, seen)
    assert SIBLINGS.surprises(way, user, seen) == []
    if kind in SIBLINGS.without_gaps:
        assert "ESCAPED" not in seen.values()
        assert after == before
        assert lives == "2"


def test_most_escape_without_walls() -> None:
    """Else they would show nothing: each probe must be seen to lead somewhere."""
    rows = SIBLINGS.read().values()
    assert sum("E" in row["open"] + row["open!"] for row in rows) >= len(rows) * 2 // 3
