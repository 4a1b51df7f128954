"""Text in Markdown pages has at most 120 columns. With --write, paragraphs with longer lines are wrapped.

Tables, code, headings and HTML comments stay as they are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import snippets
from tree import REPOSITORY, finish

WIDTH = 120

_item = re.compile(r"^( *)(?:([*+-]|\d+[.)])( +))?")
_other = re.compile(r"^ *(?:\||```|#|<!--|$)")
_word = re.compile(r"(?:`[^`]*`|[^\s`])+")
_marker = re.compile(r"^(?:[*+-]|#+|>|\d+[.)])$")


def pages(root: Path) -> list[Path]:
    more = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md"]
    return snippets.pages(root) + [root / name for name in more if (root / name).is_file()]


def paragraphs(text: str) -> Iterator[tuple[bool, list[str]]]:
    """The lines of a page in groups, and whether a group is text that may be wrapped."""
    group: list[str] = []
    code = False
    after_blank = True
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        indented = after_blank and line.startswith("    ")
        if code or fence or _other.match(line) or indented:
            if group:
                yield True, group
            yield False, [line]
            group = []
            code = code != fence
            after_blank = not line.strip() or indented
            continue
        item = _item.match(line)
        if group and item and item[2]:
            yield True, group
            group = []
        group.append(line)
        after_blank = False
    if group:
        yield True, group


def wrapped(lines: list[str]) -> list[str]:
    """The same words. The lines after the first begin below the text of the first, as in a list."""
    first = _item.match(lines[0])
    lead = first[0] if first else ""
    words = _word.findall(" ".join([lines[0][len(lead) :], *(line.strip() for line in lines[1:])]))
    made = [lead + words[0]]
    for word in words[1:]:
        if len(made[-1]) + 1 + len(word) > WIDTH and not _marker.match(word):
            made.append(" " * len(lead) + word)
        else:
            made[-1] += " " + word
    return made


def wrapped_page(text: str) -> str:
    lines: list[str] = []
    for is_text, group in paragraphs(text):
        too_long = is_text and any(len(line) > WIDTH for line in group)
        lines += wrapped(group) if too_long else group
    return "\n".join(lines)


def long_lines(page: Path, root: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    if wrapped_page(text) == text:
        return []
    return [f"{page.relative_to(root)}: lines of text with more than {WIDTH} columns (./dev format wraps them)"]


def main() -> int:
    if "--write" in sys.argv[1:]:
        for page in pages(REPOSITORY):
            page.write_text(wrapped_page(page.read_text(encoding="utf-8")), encoding="utf-8")
    problems = [problem for page in pages(REPOSITORY) for problem in long_lines(page, REPOSITORY)]
    return finish(problems, f"{len(pages(REPOSITORY))} pages have lines of at most {WIDTH} columns")


if __name__ == "__main__":
    sys.exit(main())
