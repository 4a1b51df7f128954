"""No file is longer than a reader takes in: 400 lines, tests 700."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from tree import REPOSITORY, finish

SUFFIXES = {".hpp", ".ipp", ".cpp", ".py", ".pyi", ".sh", ".cmake", ".js", ".mjs", ".ts"}
NAMES = {"CMakeLists.txt", "dev", "run"}

#: What a program made.
GENERATED = {
    "include/ipybox/codegen/support_source.hpp",
    "include/ipybox/kernel/runtime_source.hpp",
    "include/ipybox/sandbox/filter_blocks.hpp",
}


@dataclass(frozen=True)
class Rule:
    """Folders and files of the repository, the most lines of a file there, and why some have more."""

    places: tuple[str, ...]
    longest: int
    exceptions: dict[str, str] = field(default_factory=dict)


RULES = [
    Rule(("include",), 400, {"include/ipybox/executor_base.hpp": "two thirds are doc comments of public operations"}),
    Rule(
        ("python", "cli", "examples", "benchmarks", "cmake", "tools", "packaging", ".ci", "dev", "CMakeLists.txt"),
        400,
        {"python/mcp_support/mcptools.py": "the one file beside the packages, by which code finds them"},
    ),
    # A test may have a table with a row for each case.
    Rule(
        ("tests",),
        700,
        {
            "tests/probes/inside/siblings.py": "a function for each way out, and the table that names them",
            "tests/unit/gate/approval_gate.cpp": "cases for each way to a decision",
            "tests/unit/mcp/server_machine.cpp": "cases for each version of the protocol",
        },
    ),
]


def files_of(root: Path, places: tuple[str, ...]) -> list[Path]:
    """The files of these places that people write, by their paths from the root."""
    found: list[Path] = []
    for place in places:
        path = root / place
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        found += [file.relative_to(root) for file in inside if file.is_file() and is_source(file)]
    return [file for file in found if file.as_posix() not in GENERATED and "__pycache__" not in file.parts]


def is_source(file: Path) -> bool:
    return file.suffix in SUFFIXES or file.name in NAMES


def problems_of(root: Path, rule: Rule) -> list[str]:
    problems = []
    long = set()
    for file in files_of(root, rule.places):
        lines = (root / file).read_text(encoding="utf-8").count("\n")
        if lines <= rule.longest:
            continue
        long.add(file.as_posix())
        if file.as_posix() not in rule.exceptions:
            problems.append(f"{file}: {lines} lines, the limit is {rule.longest}: split it by what it is about")
    return problems + [
        f"{name}: within the limit of {rule.longest} lines: take it off the exceptions of tests/house/check_lengths.py"
        for name in sorted(set(rule.exceptions) - long)
    ]


def main() -> int:
    problems = [problem for rule in RULES for problem in problems_of(REPOSITORY, rule)]
    count = sum(len(files_of(REPOSITORY, rule.places)) for rule in RULES)
    return finish(problems, f"{count} files are short enough")


if __name__ == "__main__":
    sys.exit(main())
