"""The users as which probes run, and the interpreter of each."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / "cli"), str(TESTS / "support")]  # program, open_interpreter

from open_interpreter import ORDINARY_USER, open_interpreter  # noqa: E402
from program import PYTHON  # noqa: E402

USERS = {"root": 0, "ordinary": ORDINARY_USER}


@pytest.fixture(scope="module", params=USERS)
def user(request: pytest.FixtureRequest) -> int:
    if os.geteuid() == 0:
        return USERS[request.param]
    if request.param == "root":
        pytest.skip("elsewhere: these tests run as an ordinary user")
    return os.geteuid()


@pytest.fixture(scope="module")
def python(user: int) -> Iterator[str]:
    """The kernel's interpreter, which this user can run."""
    if user == os.geteuid():
        yield PYTHON
    else:
        with open_interpreter(PYTHON) as interpreter:
            yield interpreter
