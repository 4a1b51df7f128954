"""The tables of outcomes: what each probe is expected to say in each way to run code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inside.catalogue import all_probes, sibling_probes
from inside.frame import Probe

#: What stands in a table for an outcome.
LETTERS = {"blocked": "b", "ESCAPED": "E", "n/a": "-"}

#: Of each probe, by its name, the two letters for each way.
Table = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Sheet:
    """A file with a table."""

    file: Path
    head: str
    probes: Callable[[], list[Probe]]
    ways: tuple[str, ...]  # each twice: as root, and as an ordinary user
    without_gaps: tuple[str, ...]  # ways in which nothing may escape, whatever the table says

    def read(self) -> Table:
        return self.parsed(self.file.read_text())

    def parsed(self, text: str) -> Table:
        (_, *ways), *rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
        return {name: dict(zip(ways, letters, strict=True)) for name, *letters in rows}

    def written(self, table: Table) -> str:
        width = max(map(len, table)) + 2
        rows = {"probe": {way: way for way in self.ways}, **table}
        lines = [
            name.ljust(width) + " ".join(row[way].ljust(len(way)) for way in self.ways) for name, row in rows.items()
        ]
        return self.head + "".join(line.rstrip() + "\n" for line in lines)

    def surprises(self, way: str, user: int, seen: dict[str, str]) -> list[str]:
        """Outcomes that are not in the table. What this or the table's machine does not have is no surprise."""
        table = self.read()
        assert list(table) == list(seen)
        found = []
        for name, what in seen.items():
            expected = table[name][way][int(user != 0)]
            if LETTERS[what.split()[0]] not in (expected, "-") and expected != "-":
                found.append(f"{name}: {what}, where the table has {expected}")
        return found

    def note(self, way: str, user: int, seen: dict[str, str]) -> None:
        """Writes what was seen into the table."""
        known = self.read() if self.file.exists() else {}
        table = {probe.name: known.get(probe.name, dict.fromkeys(self.ways, "??")) for probe in self.probes()}
        for name, what in seen.items():
            letters = list(table[name][way])
            letters[int(user != 0)] = LETTERS[what.split()[0]]
            table[name][way] = "".join(letters)
        self.file.write_text(self.written(table))


FOLDER = Path(__file__).parent

SANDBOXES = Sheet(
    FOLDER / "outcomes.txt",
    """\
# What each probe says, as root and as an ordinary user: b blocked, E ESCAPED, - not on this machine.
# none, bubblewrap, landlock, srt: the sandbox, probes in a cell; with "!" in a shell command; guard: bubblewrap with
# --require-shell-escape. After a change that is meant: IPYBOX_UPDATE_GOLDEN=1, and read what it changed.
""",
    all_probes,
    ("none", "none!", "bubblewrap", "bubblewrap!", "guard", "landlock", "landlock!", "srt", "srt!"),
    ("bubblewrap", "guard"),
)

SIBLINGS = Sheet(
    FOLDER / "siblings.txt",
    """\
# What each probe of a sibling says, as root and as an ordinary user: b blocked, E ESCAPED, - not on this machine.
# walls: in a cell; with "!" in a shell command; guard: with require_shell_escape; open: without walls.
# After a change that is meant: IPYBOX_UPDATE_GOLDEN=1, and read what it changed.
""",
    sibling_probes,
    ("walls", "walls!", "guard", "open", "open!"),
    ("walls", "guard"),
)
