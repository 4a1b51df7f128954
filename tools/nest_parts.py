"""A filter of Doxygen: python3 tools/nest_parts.py HEADER

Where a class publishes a type of namespace `detail` (`using part = detail::name;`), the reference shows the type as if
it were defined there, with the comments of its members: `detail` itself is not in the reference.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[1] / "include/ipybox"

_alias = re.compile(r"^( +)using (\w+) = (?:ipybox::)?detail::(\w+);\n", re.MULTILINE)
_definition = re.compile(
    r"^((?:struct|class|enum class) )(\w+)((?: final)?(?: : [^{]*)? \{\n.*?^\};\n)", re.MULTILINE | re.DOTALL
)


@cache
def definitions() -> dict[str, tuple[str, str]]:
    """The kind of each type that `detail` defines in a header, and its definition behind the name."""
    found: dict[str, tuple[str, str]] = {}
    for header in sorted(INCLUDE.rglob("*.hpp")):
        text = header.read_text(encoding="utf-8")
        for part in re.split(r"^(?=namespace )", text, flags=re.MULTILINE):
            if re.match(r"namespace (?:ipybox::)?detail \{", part):
                found |= {match[2]: (match[1], match[3]) for match in _definition.finditer(part)}
    return found


def nested(match: re.Match[str]) -> str:
    """The definition in the place of an alias. One that is no class or enumeration stays an alias."""
    margin, name, own_name = match[1], match[2], match[3]
    if own_name not in definitions():
        return match[0]
    kind, body = definitions()[own_name]
    body = re.sub(rf"\b{own_name}\b", name, body)
    return "".join(margin + line if line.strip() else line for line in f"{kind}{name}{body}".splitlines(keepends=True))


def main() -> None:
    sys.stdout.write(_alias.sub(nested, Path(sys.argv[1]).read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
