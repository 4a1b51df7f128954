"""Code in README.md and docs/ is quoted from files that are compiled and run.

    <!-- snippet: examples/01_hello.cpp execute -->
    ```cpp
    …                         what stands between two lines `//! [execute]` in that file; without a name the whole file
    ```

With --write the blocks are brought up to date. A C++ block without such a line above it is a mistake, unless the line
says `<!-- snippet: none -->` (a signature, say, or something that is not meant to compile).

README.md has a link to the file under a block, or under the last one of several blocks of the same file in a row: a
comment is not shown. --write also writes these links.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tree import REPOSITORY, finish

_block = re.compile(
    r"(?:<!-- snippet: (?P<file>\S+)(?: (?P<region>\S+))? -->\n)?"
    r"^```(?P<language>\w*)\n(?P<code>.*?)^```$"
    r"(?P<link>\n\n\*\[[^\]\n]*\]\([^)\n]*\)\*$)?",
    re.MULTILINE | re.DOTALL,
)
_alone = re.compile(r"^<!-- snippet: .* -->\n(?!```)", re.MULTILINE)
_leading_comments = re.compile(r"\A(?:// prints: .*\n)+\n?")


def blocks(text: str) -> Iterator[re.Match[str]]:
    """The code blocks of a page."""
    return _block.finditer(text)


def quoted(root: Path, file: str, region: str | None) -> str:
    """The text that a block has to show. Raises ValueError when there is none."""
    path = root / file
    if not path.is_file():
        raise ValueError(f"{file} does not exist")
    text = path.read_text(encoding="utf-8")
    if region is None:
        text = _leading_comments.sub("", text)
        return _without_markers(text)
    parts = re.split(rf"^[ \t]*(?://!|#!|#) \[{re.escape(region)}\][ \t]*\n", text, flags=re.MULTILINE)
    if len(parts) != 3:
        raise ValueError(f"{file} does not have the marker [{region}] twice")
    return _without_markers(textwrap.dedent(parts[1]))


def _without_markers(text: str) -> str:
    return re.sub(r"^[ \t]*//! \[\w+\][ \t]*\n", "", text, flags=re.MULTILINE)


def link_under(block: re.Match[str]) -> str:
    """What stands under a block of README.md."""
    file = block["file"]
    another = re.compile(rf"\n\n<!-- snippet: {re.escape(file)}[ ]")
    return "" if another.match(block.string, block.end()) else f"\n\n*[{file}]({file})*"


def check_page(page: Path, root: Path, write: bool) -> list[str]:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(root)
    problems: list[str] = []

    def visit(match: re.Match[str]) -> str:
        line = text.count("\n", 0, match.start("code"))
        file = match["file"]
        if file is None:
            if match["language"] == "cpp":
                problems.append(f"{name}:{line}: a C++ block that is not quoted from a compiled file")
            return match[0]
        if file == "none":
            return match[0]
        try:
            code = quoted(root, file, match["region"])
        except ValueError as error:
            problems.append(f"{name}:{line}: {error}")
            return match[0]
        link = match["link"] or ""
        wanted_link = link_under(match) if page == root / "README.md" else link
        if not write and code != match["code"]:
            problems.append(f"{name}:{line}: differs from {file} (./dev snippets brings it up to date)")
        if not write and link != wanted_link:
            problems.append(
                f"{name}:{line}: the link to {file} under it is wrong (./dev snippets brings it up to date)"
            )
        before = match.start("code") - match.start()
        return match[0][:before] + code + "```" + wanted_link

    for lost in _alone.finditer(text):
        line = 1 + text.count("\n", 0, lost.start())
        problems.append(f"{name}:{line}: no block stands below this line")
    updated = _block.sub(visit, text)
    if write and updated != text:
        page.write_text(updated, encoding="utf-8")
        print(f"updated {name}")
    return problems


def pages(root: Path) -> list[Path]:
    return [path for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))] if path.is_file()]


def main() -> int:
    problems = []
    for page in pages(REPOSITORY):
        problems += check_page(page, REPOSITORY, write="--write" in sys.argv[1:])
    return finish(problems, f"{len(pages(REPOSITORY))} pages quote compiled code")


if __name__ == "__main__":
    sys.exit(main())
