"""The include tree of the library: which header includes which."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
INCLUDE = REPOSITORY / "include"

_include_line = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


@dataclass
class Tree:
    """All files below `include/ipybox`, by their path there, e.g. `core/error.hpp`."""

    own: dict[str, list[str]] = field(default_factory=dict)  #: file -> files of the library it includes
    foreign: dict[str, list[str]] = field(default_factory=dict)  #: file -> everything else it includes

    def files(self, suffix: str = "") -> list[str]:
        return sorted(name for name in self.own if name.endswith(suffix))

    def node(self, name: str) -> str:
        """A header and its own body are one: `core/impl/error.ipp` -> `core/error.hpp` (or `core/impl/error.hpp`)."""
        if not name.endswith(".ipp"):
            return name
        beside = name.replace(".ipp", ".hpp")
        return beside if beside in self.own else beside.replace("impl/", "", 1)


def read_tree(include: Path = INCLUDE) -> Tree:
    tree = Tree()
    for path in sorted((include / "ipybox").rglob("*.[hi]pp")):
        name = path.relative_to(include / "ipybox").as_posix()
        text = path.read_text(encoding="utf-8")
        included = _include_line.findall(text)
        tree.own[name] = [i.removeprefix("ipybox/") for i in included if i.startswith("ipybox/")]
        tree.foreign[name] = [i for i in included if not i.startswith("ipybox/")]
    return tree


def room(name: str) -> str:
    """The folder of a file below `ipybox/`: `core/impl/error.ipp` -> `core`; files of the root: ``."""
    parts = name.split("/")
    return "" if len(parts) == 1 or parts[0] == "impl" else parts[0]


def finish(problems: list[str], done: str) -> int:
    """Prints the outcome of a check; the exit status of its program."""
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems" if problems else done)
    return 1 if problems else 0
