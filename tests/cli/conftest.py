from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "support"))  # open_interpreter, ways_to_start_programs

from mcp_client import ERAS, Client, Clients
from program import WIDE, Program, Terminal, Terminals


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

    def start(*arguments: str, size: tuple[int, int] = WIDE) -> Terminal:
        opened.append(program.on_terminal(*arguments, size=size))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


@pytest.fixture
def fresh_seed() -> int:
    """Another one in each run, unless IPYBOX_TEST_SEED names it. A test that fails shows it."""
    seed = int(os.environ.get("IPYBOX_TEST_SEED") or secrets.randbelow(1 << 32))
    print(f"IPYBOX_TEST_SEED={seed}")
    return seed


@pytest.fixture(params=["none", "bubblewrap"])
def any_sandbox(request: pytest.FixtureRequest, program: Program) -> Program:
    """The program with each sandbox."""
    program.sandbox = request.param
    return program


@pytest.fixture
def boxed(program: Program) -> Program:
    """The program with bubblewrap."""
    program.sandbox = "bubblewrap"
    return program


@pytest.fixture
def connect(program: Program) -> Iterator[Clients]:
    """Starts servers, which end with the test."""
    opened: list[Client] = []

    def start(*arguments: str, **options: Any) -> Client:
        opened.append(Client(program, *arguments, **options))
        return opened[-1]

    yield start
    for client in opened:
        if client.process.poll() is None:
            assert client.close() == 0


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """Of the MCP protocol: with its handshake, and without."""
    return str(request.param)
