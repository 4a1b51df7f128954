"""docs/probes.md says what tests/probes found: the table of outcomes, in words. With --write it is written anew."""

from __future__ import annotations

import sys

from tree import REPOSITORY, finish

sys.path.append(str(REPOSITORY / "tests" / "probes"))

import outcomes
from inside.catalogue import GROUPS, all_probes

PAGE = REPOSITORY / "docs" / "probes.md"

#: The columns of the page: the ways to run code that each stands for.
COLUMNS = {
    "none": ("none", "none!"),
    "bubblewrap": ("bubblewrap", "bubblewrap!", "guard"),
    "Landlock": ("landlock", "landlock!"),
    "srt": ("srt", "srt!"),
}
USERS = ("as root", "as an ordinary user")

#: What stands above this line of the page is written by hand.
MARK = "<!-- written by tests/house/check_probes.py -->\n"


def tables(table: outcomes.Table) -> str:
    parts = ["\n## How many escape\n\n", summary(table)]
    for group in GROUPS:
        rows = [[probe.what, *cells(table[probe.name])] for probe in group.probes.values()]
        parts += [f"\n## {group.title}\n\n", table_of(["the code", *COLUMNS], rows)]
    return "".join(parts)


def summary(table: outcomes.Table) -> str:
    rows = []
    for place, user in enumerate(USERS):
        counts = [str(count(table, ways, place)) for ways in COLUMNS.values()]
        rows.append([f"{user}, of {len(table)}", *counts])
    return table_of(["", *COLUMNS], rows)


def count(table: outcomes.Table, ways: tuple[str, ...], user: int) -> int:
    return sum(any(row[way][user] == "E" for way in ways) for row in table.values())


def table_of(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cells(row: dict[str, str]) -> list[str]:
    return [cell({way: row[way] for way in ways}) for ways in COLUMNS.values()]


def cell(letters: dict[str, str]) -> str:
    """The outcomes of one policy, in words."""
    seen = {(way, user): letter for way, both in letters.items() for user, letter in enumerate(both) if letter != "-"}
    escaped = [way_and_user for way_and_user, letter in seen.items() if letter == "E"]
    if not escaped:
        return "blocked" if seen else "n/a"
    if escaped == list(seen):
        return "ESCAPED"
    users = [[way for way, who in escaped if who == user] for user in (0, 1)]
    all_of_them = [[way for way, who in seen if who == user] for user in (0, 1)]
    if users[0] == users[1]:
        return f"ESCAPED {which(users[0], all_of_them[0])}".strip()
    told = [f"{USERS[user]} {which(users[user], all_of_them[user])}".strip() for user in (0, 1) if users[user]]
    return f"ESCAPED {', '.join(told)}"


def which(escaped: list[str], seen: list[str]) -> str:
    """The kind of run, unless all of them escape."""
    if escaped == seen:
        return ""
    return " and ".join(sorted({"in commands" if way.endswith("!") else "in cells" for way in escaped}))


def mistakes(table: outcomes.Table, shown: str) -> list[str]:
    names = [probe.name for probe in all_probes()]
    if list(table) != names:
        return ["tests/probes/outcomes.txt does not have the probes of tests/probes/inside (IPYBOX_UPDATE_GOLDEN=1)"]
    escaped = [name for name, row in table.items() if any("E" in row[way] for way in COLUMNS["bubblewrap"])]
    problems = [f"tests/probes/outcomes.txt: {name} escapes from bubblewrap" for name in escaped]
    if shown != tables(table):
        problems.append("docs/probes.md differs from tests/probes/outcomes.txt (./dev snippets brings it up to date)")
    return problems


def main() -> int:
    table = outcomes.read(outcomes.FILE.read_text())
    introduction, shown = PAGE.read_text().split(MARK)
    if "--write" in sys.argv[1:]:
        shown = tables(table)
        PAGE.write_text(introduction + MARK + shown)
    return finish(mistakes(table, shown), f"docs/probes.md shows {len(table)} probes")


if __name__ == "__main__":
    sys.exit(main())
