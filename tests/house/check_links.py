"""Links between the pages of the repository lead to files and folders that are there, and to headings of theirs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import snippets
from tree import REPOSITORY, finish

_link = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
_heading = re.compile(r"^#+ (.*)$", re.MULTILINE)
_code = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """What its headings are called in links, as GitHub makes it of them."""
    headings = _heading.findall(_code.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path, root: Path) -> list[str]:
    text = _code.sub("", page.read_text(encoding="utf-8"))
    problems = []
    for target, anchor in _link.findall(text):
        path = (page.parent / target).resolve() if target else page
        if not path.exists():
            problems.append(f"{page.relative_to(root)}: {target} does not exist")
        elif anchor and anchor not in anchors(path.read_text(encoding="utf-8")):
            problems.append(f"{page.relative_to(root)}: {target} has no heading for #{anchor}")
    return problems


def pages(root: Path) -> list[Path]:
    more = [
        root / "CONTRIBUTING.md",
        root / "CHANGELOG.md",
        root / "SECURITY.md",
        root / "benchmarks/README.md",
        root / "examples/data/README.md",
    ]
    return snippets.pages(root) + [page for page in more if page.is_file()]


def main() -> int:
    problems = [problem for page in pages(REPOSITORY) for problem in broken_links(page, REPOSITORY)]
    return finish(problems, f"{len(pages(REPOSITORY))} pages link to what is there")


if __name__ == "__main__":
    sys.exit(main())
