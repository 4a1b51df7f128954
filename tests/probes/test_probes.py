"""Ways out of each sandbox, tried by code in a kernel and by shell commands: each ends as the table says.

The table is outcomes.txt; docs/probes.md is made of it. A probe that says n/a is about something that this machine does
not have.
"""

from __future__ import annotations

import os

import pytest
from inside.catalogue import all_probes
from open_interpreter import open_path
from outcomes import SANDBOXES
from program import Ended, Program
from targets import Place, place

LIMITS = {"memory": "1G", "file-size": "500M", "open-files": "500", "processes": "200"}

#: What is said where a sandbox does not work on this machine.
UNAVAILABLE = ("ask for no_sandbox by name", "Landlock of ABI")

#: What is said when the kernel was ended for its processes.
TOO_MANY_PROCESSES = f"processes and threads with all that it had started, its limit is {LIMITS['processes']}"

#: The script of a run. A cell imports the probes; a shell command runs them in a process of its own.
IN_A_CELL = "import inside.__main__\n"
AS_A_COMMAND = "import sys\n!{sys.executable} -m inside\n"


@pytest.mark.parametrize("way", SANDBOXES.ways)
def test_each_ends_as_the_table_says(way: str, user: int, python: str) -> None:
    kind, as_a_command = way.rstrip("!"), way.endswith("!")
    script = AS_A_COMMAND if as_a_command else IN_A_CELL
    with place(user, python, script, with_env=kind != "landlock", with_limits=kind != "none") as made:
        before = made.snapshot()
        seen = said(run(kind, made))
        changed = made.changes_since(before)
    print(*(f"{name}: {what}" for name, what in seen.items()), sep="\n")
    if os.environ.get("IPYBOX_UPDATE_GOLDEN"):
        SANDBOXES.note(way, user, seen)
    assert SANDBOXES.surprises(way, user, seen) == []
    if kind in SANDBOXES.without_gaps:
        assert "ESCAPED" not in seen.values()
        assert changed == []


def run(kind: str, made: Place) -> Ended:
    user = None if made.user == os.geteuid() else made.user
    program = Program(made.work, "bubblewrap" if kind == "guard" else kind, environment(made), user)
    ended = program.run("--python", made.python, *made.options(), *options(kind, made), made.facts["script"])
    if ended.code == 3 and any(sentence in ended.err for sentence in UNAVAILABLE):
        pytest.skip(ended.err)
    return ended


def options(kind: str, made: Place) -> list[str]:
    """Nothing is limited without a sandbox, where each probe is to be seen to escape."""
    if kind == "none":
        return []
    limits = [word for name, number in LIMITS.items() for word in ("--limit", f"{name}={number}")]
    guard = ["--require-shell-escape"] if kind == "guard" else []
    return [*limits, *guard, "--sandbox-config", made.facts["sandbox_configuration"]]


def environment(made: Place) -> dict[str, str]:
    state = made.home / "state"
    own = {"HOME": str(made.home), "XDG_STATE_HOME": str(state), "PYTHONDONTWRITEBYTECODE": "1"}
    return own if made.user == os.geteuid() else own | {"PATH": open_path(os.environ["PATH"])}


def said(ended: Ended) -> dict[str, str]:
    """Of each probe what it said."""
    found = dict(line.split(": ", 1) for line in ended.out.splitlines())
    if ended.code == 1 and TOO_MANY_PROCESSES in ended.err:
        found["start_many_processes"] = "blocked"  # the last one: nothing comes behind the kernel's end
    assert list(found) == [probe.name for probe in all_probes()], ended
    assert {name: what for name, what in found.items() if what.startswith("broken")} == {}
    return found
