"""docs/probes.md says what tests/probes found: the tables of outcomes, in words. With --write they are written anew."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from tree import REPOSITORY, finish

sys.path.append(str(REPOSITORY / "tests" / "probes"))

from inside import siblings
from inside.catalogue import GROUPS
from inside.frame import Group
from outcomes import SANDBOXES, SIBLINGS, Sheet, Table

PAGE = REPOSITORY / "docs" / "probes.md"

#: The columns of a table: the ways to run code that each stands for.
Columns = dict[str, tuple[str, ...]]
COLUMNS: Columns = {
    "none": ("none", "none!"),
    "bubblewrap": ("bubblewrap", "bubblewrap!", "guard"),
    "Landlock": ("landlock", "landlock!"),
    "srt": ("srt", "srt!"),
}
COLUMNS_OF_SIBLINGS: Columns = {
    "walls": ("walls", "walls!", "guard"),
    "no walls": ("open", "open!"),
}
USERS = ("as root", "as an ordinary user")

#: What stands above this line of the page is written by hand.
MARK = "<!-- written by tests/house/check_probes.py -->\n"


@dataclass(frozen=True)
class Chapter:
    """The part of the page that is made of one table."""

    title: str
    sheet: Sheet
    groups: list[Group]
    columns: Columns

    def text(self, table: Table) -> str:
        parts = [f"\n## {self.title}\n\n", summary(table, self.columns)]
        for group in self.groups:
            rows = [[probe.what, *cells(table[probe.name], self.columns)] for probe in group.probes.values()]
            parts += [f"\n## {group.title}\n\n", table_of(["the code", *self.columns], rows)]
        return "".join(parts)

    def mistakes(self, table: Table) -> list[str]:
        place = self.sheet.file.relative_to(REPOSITORY)
        if list(table) != [probe.name for probe in self.sheet.probes()]:
            return [f"{place} does not have the probes of tests/probes/inside (IPYBOX_UPDATE_GOLDEN=1)"]
        closed = [way for way in self.sheet.ways if way.rstrip("!") in self.sheet.without_gaps]
        escaped = [name for name, row in table.items() if any("E" in row[way] for way in closed)]
        return [f"{place}: {name} escapes" for name in escaped]


CHAPTERS = [
    Chapter("How many escape", SANDBOXES, GROUPS, COLUMNS),
    Chapter("How many escape to a sibling", SIBLINGS, siblings.GROUPS, COLUMNS_OF_SIBLINGS),
]


def text_of(tables: list[Table]) -> str:
    return "".join(chapter.text(table) for chapter, table in zip(CHAPTERS, tables, strict=True))


def summary(table: Table, columns: Columns) -> str:
    rows = []
    for place, user in enumerate(USERS):
        counts = [str(count(table, ways, place)) for ways in columns.values()]
        rows.append([f"{user}, of {len(table)}", *counts])
    return table_of(["", *columns], rows)


def count(table: Table, ways: tuple[str, ...], user: int) -> int:
    return sum(any(row[way][user] == "E" for way in ways) for row in table.values())


def table_of(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cells(row: dict[str, str], columns: Columns) -> list[str]:
    return [cell({way: row[way] for way in ways}) for ways in columns.values()]


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


def mistakes(tables: list[Table], shown: str) -> list[str]:
    problems = [text for chapter, table in zip(CHAPTERS, tables, strict=True) for text in chapter.mistakes(table)]
    if not problems and shown != text_of(tables):
        problems.append("docs/probes.md differs from the tables of tests/probes (./dev snippets brings it up to date)")
    return problems


def main() -> int:
    tables = [chapter.sheet.read() for chapter in CHAPTERS]
    introduction, shown = PAGE.read_text().split(MARK)
    if "--write" in sys.argv[1:]:
        shown = text_of(tables)
        PAGE.write_text(introduction + MARK + shown)
    return finish(mistakes(tables, shown), f"docs/probes.md shows {sum(map(len, tables))} probes")


if __name__ == "__main__":
    sys.exit(main())
