"""Every header compiles alone, twice in a row: headers_alone.py WORK COMPILER FLAG…

Clang reads most of what a header includes from a precompiled header: a base, one of the headers that it includes
itself or through others, ours or not. A base compiles alone, too, and stands before the code in any case, so that the
code may see the same as without.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[1] / "include"

_comment = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_directive = re.compile(r"#\s*(\w+)\s*(.*)")
_name = re.compile(r"<([^>]+)>")


def includes(header: Path) -> list[str]:
    """The headers that it includes in any case, before its code."""
    found: list[str] = []
    depth = 0
    for line in _comment.sub("", header.read_text(encoding="utf-8")).splitlines():
        if not line.strip():
            continue
        directive = _directive.match(line.strip())
        if not directive:
            break
        word = directive[1]
        depth += word.startswith("if") - (word == "endif")
        name = _name.match(directive[2])
        if word == "include" and depth == 0 and name:
            found.append(name[1])
    return found


def reached(name: str, tree: dict[str, list[str]], seen: set[str]) -> set[str]:
    """The header and all that it includes."""
    if name not in seen:
        seen.add(name)
        for other in tree.get(name, []):
            reached(other, tree, seen)
    return seen


#: How long others' headers take to read, roughly, in tenths of a second; each of ours counts as one.
HEAVY = {
    "asio/error_code.hpp": 2,
    "asio/version.hpp": 0,
    "chrono": 4,
    "filesystem": 5,
    "functional": 3,
    "memory": 2,
    "nlohmann/json.hpp": 12,
    "nlohmann/json_fwd.hpp": 4,
    "string": 2,
    "tl/expected.hpp": 2,
}


def weight(names: set[str]) -> int:
    """How long they take to read, roughly."""
    return sum(HEAVY.get(name, 4 if name.startswith("asio/") else 1) for name in names)


def choose_bases(tree: dict[str, list[str]]) -> dict[str, str]:
    """Header -> the base among all that it includes. A base takes twice its own time."""
    reach = {name: reached(name, tree, set()) for name in tree}
    weights = {name: weight(names) for name, names in reach.items()}
    base_of: dict[str, str] = {}

    def saved(base: str) -> int:
        users = (name for name in tree if name != base and base in reach[name])
        return sum(max(0, weights[base] - weights.get(base_of.get(name, ""), 0)) for name in users) - 2 * weights[base]

    candidates = set(tree)
    while candidates:
        best = max(sorted(candidates), key=saved)
        if saved(best) <= 0:
            break
        candidates.remove(best)
        for name in tree:
            if name != best and best in reach[name] and weights[best] > weights.get(base_of.get(name, ""), 0):
                base_of[name] = best
    bases = set(base_of.values())
    # a base is compiled without another one: Clang 16 cannot read precompiled headers that read others
    return {name: base for name, base in base_of.items() if name not in bases}


class Compiler:
    """Compiles a header alone; bases leave a precompiled header."""

    def __init__(self, work: Path, command: list[str], base_of: dict[str, str]) -> None:
        self.work = work
        self.command = command
        self.base_of = base_of
        self.bases = set(base_of.values())

    def compile(self, name: str) -> str:
        """What the compiler says; empty when the header compiles."""
        source = self.work / f"{name}.twice.hpp"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(f"#include <{name}>\n#include <{name}>\n", encoding="utf-8")
        base = self.base_of.get(name)
        read = ["-include-pch", str(self.precompiled(base))] if base else []
        if name in self.bases:
            write = ["-x", "c++-header", "-fpch-instantiate-templates", str(source), "-o", str(self.precompiled(name))]
        else:
            write = ["-fsyntax-only", "-x", "c++", str(source)]
        ended = subprocess.run([*self.command, *read, *write], capture_output=True, text=True)
        return f"{name} does not compile alone:\n{ended.stderr}" if ended.returncode else ""

    def precompiled(self, name: str) -> Path:
        return self.work / f"{name}.pch"


def compile_all(names: Iterable[str], compiler: Compiler) -> list[str]:
    """The bases first; where one does not compile, those that need it say so, too."""
    others = sorted(set(names) - compiler.bases)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [*pool.map(compiler.compile, sorted(compiler.bases))]
        said += pool.map(compiler.compile, others)
    return [text for text in said if text]


def main() -> int:
    work = Path(sys.argv[1])
    command = sys.argv[2:]
    headers = [path for path in sorted((INCLUDE / "ipybox").rglob("*.hpp")) if "impl" not in path.parts]
    tree = {path.relative_to(INCLUDE).as_posix(): includes(path) for path in headers if path.name != "src.hpp"}
    others = [name for name in HEAVY if not name.startswith("asio/")]  # these want a header of ours before them
    with_others = tree | {name: [] for name in others}
    base_of = choose_bases(with_others) if "clang" in Path(command[0]).name else {}
    problems = compile_all(tree, Compiler(work, command, base_of))
    print("\n".join(problems) if problems else f"{len(tree)} headers compile alone")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
