"""docs/errors.md lists every code and every condition that an error can have, and `to_string` spells each as it is."""

from __future__ import annotations

import re
import sys

from tree import INCLUDE, REPOSITORY, finish


def enumerators(text: str, name: str) -> list[str]:
    """The names in an enumeration, which is written one on a line."""
    body = re.search(rf"^enum class {name} {{\n(.*?)^}};", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^    (\w+)", body[1], re.MULTILINE) if body else []


def listed(page: str) -> set[str]:
    """What the first cells of the page's rows name."""
    cells = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", " ".join(cells))) - {"errc", "condition"}


def differences(known: set[str], page: str) -> list[str]:
    named = listed(page)
    problems = [f"docs/errors.md: lacks {name}" for name in sorted(known - named)]
    return problems + [f"docs/errors.md: {name} is no error" for name in sorted(named - known)]


def misspelt(body: str) -> list[str]:
    """Names that `to_string` returns and that are not those of their enumerators."""
    returned = re.findall(r'case (?:errc|condition)::(\w+): return "(\w+)";', body)
    return [f"core/impl/error.ipp: {name} is named {text!r}" for name, text in returned if name != text]


def main() -> int:
    text = (INCLUDE / "ipybox/core/error.hpp").read_text(encoding="utf-8")
    kinds = [set(enumerators(text, kind)) for kind in ("errc", "condition")]
    if not all(kinds):
        return finish(["core/error.hpp: its enumerations were not found"], "")
    known = set.union(*kinds)
    page = (REPOSITORY / "docs/errors.md").read_text(encoding="utf-8")
    body = (INCLUDE / "ipybox/core/impl/error.ipp").read_text(encoding="utf-8")
    return finish(differences(known, page) + misspelt(body), f"{len(known)} errors are described")


if __name__ == "__main__":
    sys.exit(main())
