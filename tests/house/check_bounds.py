"""Each row of the table of bounds in docs/design.md names tests, and they are there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tree import REPOSITORY, finish

PAGE = "docs/design.md"
_head = "| what | bound | beyond it | tests |"
_test = re.compile(r"`([\w/]+\.(?:cpp|py)): ([^`]+)`")
_name = re.compile(r'TEST_CASE\w*\([^"]*"((?:[^"\\]|\\.)*)"|def (test_\w+)')
SYSTEM = "none: the bound is the system's"


def rows(page: str) -> list[str]:
    """The rows of the table; none where there is no such table."""
    table = page.partition(_head)[2].partition("\n\n")[0]
    return [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| ---")]


def wrong_rows(page: str, tests: Path) -> list[str]:
    problems = [] if rows(page) else [f"{PAGE}: there is no table that begins with {_head}"]
    for row in rows(page):
        what, *_, named = (cell.strip() for cell in row.strip().strip("|").split("|"))
        found = _test.findall(named)
        if not found and named != SYSTEM:
            problems.append(f"{PAGE}: the row '{what}' names no test")
        problems += [
            f"{PAGE}: the row '{what}' names '{words}', which is no test of tests/{file}"
            for file, words in found
            if not any(words in name for name in names(tests / file))
        ]
    return problems


def names(file: Path) -> list[str]:
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return ["".join(found) for found in _name.findall(text)]


def main() -> int:
    page = (REPOSITORY / PAGE).read_text(encoding="utf-8")
    return finish(wrong_rows(page, REPOSITORY / "tests"), f"{len(rows(page))} bounds have their tests")


if __name__ == "__main__":
    sys.exit(main())
