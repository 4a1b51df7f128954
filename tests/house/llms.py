"""docs/llms.txt lists the pages for language models (llmstxt.org): it is written from mkdocs.yml and the pages.

With --write it is brought up to date. Each page of docs/ has to be in mkdocs.yml.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tree import REPOSITORY, finish

_section = re.compile(r"^  - (.+):$")
_entry = re.compile(r"^      - (\S+\.md)$")
_sentence = re.compile(r"(.+?\.)(?=\s|$)", re.DOTALL)

#: Pages of the site that lie elsewhere in the repository.
ELSEWHERE = {
    "index.md": "README.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "SECURITY.md": "SECURITY.md",
    "benchmarks/README.md": "benchmarks/README.md",
}


def sections(navigation: str) -> dict[str, list[str]]:
    """The sections of mkdocs.yml with their pages, as paths of the repository."""
    found: dict[str, list[str]] = {}
    for line in navigation[navigation.index("\nnav:") :].splitlines():
        if match := _section.match(line):
            found[match[1]] = []
        elif match := _entry.match(line):
            found[list(found)[-1]].append(ELSEWHERE.get(match[1], "docs/" + match[1]))
    return found


def title_and_summary(text: str) -> tuple[str, str]:
    """The heading of a page, and the first sentence of its first paragraph."""
    blocks = [block for block in text.split("\n\n") if block.strip() and not block.startswith(("```", "<!--"))]
    title = blocks[0].splitlines()[0].removeprefix("# ").replace("`", "")
    summary = next((block for block in blocks[1:] if re.match(r"[\w`*\[]", block)), "")
    sentence = _sentence.match(summary)
    words = " ".join((sentence[1] if sentence else summary).split())
    return title, re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words).rstrip(":")


def text_of(root: Path) -> str:
    _, summary = title_and_summary((root / "README.md").read_text(encoding="utf-8"))
    lines = ["# ipybox", "", f"> {summary}", ""]
    for section, pages in sections((root / "mkdocs.yml").read_text(encoding="utf-8")).items():
        lines += [f"## {section}", ""]
        for page in pages:
            title, about = title_and_summary((root / page).read_text(encoding="utf-8"))
            place = page.removeprefix("docs/") if page.startswith("docs/") else "../" + page
            lines.append(f"- [{title}]({place}): {about}" if about else f"- [{title}]({place})")
        lines.append("")
    return "\n".join(lines)


def mistakes(root: Path) -> list[str]:
    listed = {page for pages in sections((root / "mkdocs.yml").read_text(encoding="utf-8")).values() for page in pages}
    pages = {path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")}
    problems = [f"mkdocs.yml lacks {page}" for page in sorted(pages - listed)]
    gone = sorted(page for page in listed if not (root / page).is_file())
    problems += [f"mkdocs.yml: {page} does not exist" for page in gone]
    kept = root / "docs/llms.txt"
    if not gone and (not kept.is_file() or kept.read_text(encoding="utf-8") != text_of(root)):
        problems.append("docs/llms.txt is stale (./dev snippets brings it up to date)")
    return problems


def main() -> int:
    if "--write" in sys.argv[1:]:
        (REPOSITORY / "docs/llms.txt").write_text(text_of(REPOSITORY), encoding="utf-8")
    return finish(mistakes(REPOSITORY), "docs/llms.txt and mkdocs.yml list all pages")


if __name__ == "__main__":
    sys.exit(main())
