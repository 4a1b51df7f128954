from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import Program, Terminal, Terminals

sys.path.append(str(Path(__file__).parents[1] / "support"))  # ways_to_start_programs


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """The program without a sandbox. Whatever a test does, no process may be left."""
    program = Program(tmp_path)
    yield program
    program.assert_all_gone()


@pytest.fixture
def on_terminal(program: Program) -> Iterator[Terminals]:
    """Starts the program in the foreground of a terminal."""
    opened: list[Terminal] = []

    def start(*arguments: str) -> Terminal:
        opened.append(program.on_terminal(*arguments))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


@pytest.fixture(params=["none", "bubblewrap"])
def any_sandbox(request: pytest.FixtureRequest, program: Program) -> Program:
    """The program with each sandbox."""
    program.sandbox = request.param
    return program
