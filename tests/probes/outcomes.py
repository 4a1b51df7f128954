"""The table of outcomes: what each probe is expected to say in each way to run code."""

from __future__ import annotations

from pathlib import Path

from inside.catalogue import all_probes

FILE = Path(__file__).parent / "outcomes.txt"

#: Each way twice: as root, and as an ordinary user.
WAYS = ("none", "none!", "bubblewrap", "bubblewrap!", "guard", "landlock", "landlock!", "srt", "srt!")

#: Ways in which nothing may escape, whatever the table says.
WITHOUT_GAPS = ("bubblewrap", "guard")

#: What stands in the table for an outcome.
LETTERS = {"blocked": "b", "ESCAPED": "E", "n/a": "-"}

HEAD = """\
# What each probe says, as root and as an ordinary user: b blocked, E ESCAPED, - not on this machine.
# none, bubblewrap, landlock, srt: the sandbox, probes in a cell; with "!" in a shell command; guard: bubblewrap with
# --require-shell-escape. After a change that is meant: IPYBOX_UPDATE_GOLDEN=1, and read what it changed.
"""

#: Of each probe, by its name, the two letters for each way.
Table = dict[str, dict[str, str]]


def read(text: str) -> Table:
    (_, *ways), *rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {name: dict(zip(ways, letters, strict=True)) for name, *letters in rows}


def written(table: Table) -> str:
    width = max(map(len, table)) + 2
    rows = {"probe": {way: way for way in WAYS}, **table}
    lines = [name.ljust(width) + " ".join(row[way].ljust(len(way)) for way in WAYS) for name, row in rows.items()]
    return HEAD + "".join(line.rstrip() + "\n" for line in lines)


def surprises(way: str, user: int, seen: dict[str, str]) -> list[str]:
    """Outcomes that are not in the table. What this machine or the one of the table does not have is no surprise."""
    table = read(FILE.read_text())
    assert list(table) == list(seen)
    found = []
    for name, what in seen.items():
        expected = table[name][way][int(user != 0)]
        if LETTERS[what.split()[0]] not in (expected, "-") and expected != "-":
            found.append(f"{name}: {what}, where the table has {expected}")
    return found


def note(way: str, user: int, seen: dict[str, str]) -> None:
    """Writes what was seen into the table."""
    known = read(FILE.read_text()) if FILE.exists() else {}
    table = {probe.name: known.get(probe.name, dict.fromkeys(WAYS, "??")) for probe in all_probes()}
    for name, what in seen.items():
        letters = list(table[name][way])
        letters[int(user != 0)] = LETTERS[what.split()[0]]
        table[name][way] = "".join(letters)
    FILE.write_text(written(table))
