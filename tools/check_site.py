"""Follows every link of the built site: python3 tools/check_site.py build/docs/site

A link has to lead to a file of the site, and to an anchor that this has. Of the pages of the reference, links within a
page are left out: Doxygen lists sections at their top that it then has nothing to write in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


@cache
def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8", errors="replace"))


def broken(page: Path, link: str) -> str | None:
    """The reason, if it leads nowhere."""
    target, anchor = urldefrag(link)
    path = (page.parent / unquote(target)).resolve() if target else page
    if path.is_dir():
        path /= "index.html"
    if not path.is_file():
        return "there is no such file"
    if path.suffix == ".html" and anchor and unquote(anchor) not in read(path).anchors:
        return "the page has no such anchor"
    return None


def broken_links(site: Path) -> Iterator[str]:
    for page in sorted(site.rglob("*.html")):
        if page.name == "404.html":
            continue  # its links are absolute: it is shown at any address
        for link in sorted(read(page).links):
            if link.startswith(("http:", "https:", "mailto:", "javascript:", "data:")):
                continue
            if link.startswith("#") and page.is_relative_to(site / "reference"):
                continue
            if reason := broken(page, link):
                yield f"{page.relative_to(site)}: {link}: {reason}"


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    problems = list(broken_links(site))
    print(*problems, sep="\n")
    pages = len(list(site.rglob("*.html")))
    print(f"{len(problems)} broken links" if problems else f"{pages} pages, and every link of them leads somewhere")
    return 1 if problems or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
