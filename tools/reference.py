"""The settings of Doxygen for the reference: python3 tools/reference.py | doxygen -

The reference has the headers that docs/api.md names. Their types are grouped as the sections of that page: this is
written to build/docs/groups.dox.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = ROOT / "include/ipybox"

_section = re.compile(r"^## (.+)$")
_header = re.compile(r"`([\w/]+\.hpp)`")
_namespace = re.compile(r"^namespace ([\w:]+) \{$")
_no_code = re.compile(r"//.*|^ ?\*.*|/\*.*|\"(?:[^\"\\]|\\.)*\"|'.'")
_type = re.compile(r"^(?:(class|struct|enum) (?:class )?(?:\[\[\w+\]\] )?|(concept) )(\w+)(?!\w*(?:::|<|;))")


def sections(page: str) -> dict[str, list[str]]:
    """The headers of each section. In one cell, a name without a folder is in that of the name before."""
    found: dict[str, list[str]] = {}
    for line in page.splitlines():
        if match := _section.match(line):
            found[match[1]] = []
        elif line.startswith("| `"):
            folder = ""
            for name in _header.findall(line.split("|")[1]):
                folder, plain = (name.rsplit("/", 1)[0] + "/", True) if "/" in name else (folder, False)
                found[list(found)[-1]].append(name if plain else folder + name)
    return found


def types(header: str) -> Iterator[tuple[str, str]]:
    """The kind and the full name of each type that a header defines in a public namespace."""
    inside: list[tuple[str, int]] = []  # namespaces, each with the depth of braces around it
    depth = 0
    for line in header.splitlines():
        code = _no_code.sub("", line)
        names = [name for name, _ in inside]
        if match := _namespace.match(line):
            inside.append((match[1], depth))
        elif (match := _type.match(code)) and names and "detail" not in names and ("{" in code or ";" not in code):
            yield match[1] or match[2], "::".join([*names, match[3]])
        depth += code.count("{") - code.count("}")
        while inside and depth <= inside[-1][1] and not _namespace.match(line):
            inside.pop()


def groups(of_sections: dict[str, list[str]]) -> str:
    lines = [r"/** \mainpage The reference of ipybox", ""]
    lines += [r"Start with ipybox::executor and ipybox::executor_base, which has its operations.", ""]
    lines += [rf"- \ref {identifier(title)}" for title in of_sections] + ["*/"]
    for title, headers in of_sections.items():
        lines.append(rf"/** \defgroup {identifier(title)} {title} */")
        for header in headers:
            text = (INCLUDE / header).read_text(encoding="utf-8")
            lines += [f"/** \\{kind} {name}\n\\ingroup {identifier(title)} */" for kind, name in types(text)]
    return "\n".join(lines) + "\n"


def identifier(title: str) -> str:
    return re.sub(r"\W+", "_", title.lower())


def main() -> None:
    of_sections = sections((ROOT / "docs/api.md").read_text(encoding="utf-8"))
    written = ROOT / "build/docs/groups.dox"
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(groups(of_sections), encoding="utf-8")
    print((ROOT / "docs/Doxyfile").read_text(encoding="utf-8"))
    for headers in of_sections.values():
        for header in headers:
            print(f"INPUT += include/ipybox/{header}")
    print("INPUT += build/docs/groups.dox")


if __name__ == "__main__":
    main()
