"""tests/house/public_names.txt has the names that `#include <ipybox/ipybox.hpp>` publishes: no other, and all of them.

Clang's code completion says which there are: what it offers behind `ipybox::` is what a user finds. A name that is not
to be published goes into a namespace `detail`; one that is goes into the list, below the header that a user includes
for it, and into docs/api.md. `--write` adds and removes lines. `fwd.hpp` declares each class of the list.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tree import INCLUDE, REPOSITORY, Tree, finish, read_tree

LIST = REPOSITORY / "tests/house/public_names.txt"

#: Namespaces that are not part of the interface: docs/guide/stability.md.
INTERNAL = {"detail", "found_by_argument", "os"}

#: Names that the standard library finds by the type of an argument; programs do not write them.
FOUND_BY_ARGUMENT = {"make_error_code", "make_error_condition"}

#: So many names there are at most. Publishing more is a decision: a smaller number here is always welcome.
MOST = 81

COMPILERS = ["clang++-19", "clang++-20", "clang++-21", "clang++-18", "clang++-17", "clang++-16", "clang++"]
FLAGS = [
    "-std=c++20",
    "-fsyntax-only",
    "-DASIO_STANDALONE",
    "-DIPYBOX_SEPARATE_COMPILATION",
    "-DIPYBOX_ZMQ",
    "-DIPYBOX_HTTP",
]
COROUTINES = ["-DASIO_HAS_CO_AWAIT=1", "-DASIO_HAS_STD_COROUTINE=1"]

_offer = re.compile(r"^COMPLETION: (?:Pattern : )?(\w+)(?: : .*)?$", re.MULTILINE)
_class = re.compile(r"^(?:class|struct) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: :.*)?\s*\{", re.MULTILINE)


def offers(compiler: str, line: str, include: Path = INCLUDE) -> set[str]:
    """The names that a completion offers at the end of a line."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.cpp"
        program.write_text(f"#include <ipybox/ipybox.hpp>\n{line}\n", encoding="utf-8")
        at = f"-code-completion-at={program}:2:{len(line) + 1}"
        command = [compiler, *FLAGS, *COROUTINES, "-I", str(include), "-Xclang", at, str(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    found = set(_offer.findall(done.stdout))
    if "PREFERRED-TYPE" not in done.stdout and not found:
        raise RuntimeError(f"{compiler} completes nothing: {done.stderr[:2000]}")
    return found


def namespaces_in(tree: Tree, include: Path) -> set[str]:
    """The namespaces in `ipybox` that headers below `ipybox.hpp` open."""
    texts = [(include / "ipybox" / name).read_text(encoding="utf-8") for name in reached(tree, "ipybox/ipybox.hpp")]
    return set(re.findall(r"^namespace (?:ipybox::)?(\w+)(?:::\w+)* \{$", "\n".join(texts), re.MULTILINE)) - {"ipybox"}


def published(compiler: str, namespaces: set[str], include: Path = INCLUDE) -> set[str]:
    """The names of `ipybox` and of the namespaces in it, without the first `ipybox::`."""
    found = offers(compiler, "auto wanted = ipybox::", include) - namespaces - INTERNAL - FOUND_BY_ARGUMENT
    for namespace in sorted(namespaces - INTERNAL):
        inner = offers(compiler, f"auto wanted = ipybox::{namespace}::", include) - INTERNAL
        found |= {f"{namespace}::{name}" for name in inner}
    return found


def read(text: str) -> dict[str, list[str]]:
    """The names below each header; lines with `#` are headings or comments."""
    groups: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("# ipybox/"):
            groups[line[2:].strip()] = []
        elif line.strip() and not line.startswith("#"):
            if not groups:
                raise ValueError(f"public_names.txt: {line} stands below no header")
            groups[list(groups)[-1]].append(line.strip())
    return groups


def reached(tree: Tree, header: str) -> set[str]:
    """The headers that a header includes, itself among them."""
    found: set[str] = set()
    left = [header.removeprefix("ipybox/")]
    while left:
        name = left.pop()
        if name in found or name not in tree.own or not name.endswith(".hpp"):
            continue
        found.add(name)
        left += tree.own[name]
    return found


def differences(found: set[str], groups: dict[str, list[str]]) -> list[str]:
    listed = [name for names in groups.values() for name in names]
    problems = [f"public_names.txt: {name} stands there twice" for name in {n for n in listed if listed.count(n) > 1}]
    problems += [
        f"{name} is public: hide it in a namespace `detail`, or add it to tests/house/public_names.txt and docs/api.md"
        for name in sorted(found - set(listed))
    ]
    return problems + [
        f"public_names.txt: {name} is not declared by <ipybox/ipybox.hpp>" for name in sorted(set(listed) - found)
    ]


def misplaced(groups: dict[str, list[str]], tree: Tree, include: Path) -> list[str]:
    """Names that the header above them does not bring."""
    problems = []
    for header, names in groups.items():
        texts = [(include / "ipybox" / name).read_text(encoding="utf-8") for name in sorted(reached(tree, header))]
        words = set(re.findall(r"\w+", "\n".join(texts)))
        lacking = [name for name in names if name.split("::")[-1] not in words]
        problems += [f"public_names.txt: {header} does not have {name}" for name in lacking]
    return problems


def undeclared(groups: dict[str, list[str]], tree: Tree, include: Path) -> list[str]:
    """Classes of the list that fwd.hpp does not declare. Templates and nested names of `jupyter` are left out."""
    listed = {name.split("::")[-1] for names in groups.values() for name in names if not name.startswith("jupyter::")}
    headers = reached(tree, "ipybox/ipybox.hpp")
    defined: set[str] = set()
    for name in headers:
        text = (include / "ipybox" / name).read_text(encoding="utf-8")
        text = re.sub(r"template\s*<.*?>\s*\n(?:    requires.*\n)?(?:class|struct)", "", text, flags=re.DOTALL)
        defined |= set(_class.findall(text))
    declared = set(
        re.findall(r"^(?:class|struct) (\w+);", (include / "ipybox/fwd.hpp").read_text("utf-8"), re.MULTILINE)
    )
    return [f"fwd.hpp: does not declare {name}" for name in sorted((defined & listed) - declared)]


def main(arguments: list[str]) -> int:
    compiler = next((name for name in COMPILERS if shutil.which(name)), None)
    if not compiler:
        return finish(["there is no Clang, which says what is public: install clang-19"], "")
    tree = read_tree()
    found = published(compiler, namespaces_in(tree, INCLUDE))
    groups = read(LIST.read_text(encoding="utf-8"))
    if arguments == ["--print"]:
        print("\n".join(sorted(found)))
        return 0
    problems = differences(found, groups) + misplaced(groups, tree, INCLUDE) + undeclared(groups, tree, INCLUDE)
    if len(found) > MOST:
        problems.append(f"{len(found)} names are public: more than {MOST}")
    return finish(problems, f"{len(found)} names are public, and listed")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
