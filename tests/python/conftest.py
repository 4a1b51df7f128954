"""One supervisor for all tests, one forked kernel for each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import Host, Kernel

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    with Host() as host:
        yield host


@pytest.fixture(scope="session")
def handlers_host() -> Iterator[Host]:
    with Host(level="handlers") as host:
        yield host


@pytest.fixture
def kernel(host: Host) -> Iterator[Kernel]:
    kernel = host.fork()
    yield kernel
    kernel.close()


@pytest.fixture
def acting(host: Host) -> Iterator[Kernel]:
    """A kernel whose actions the test answers."""
    kernel = host.fork(actions=True)
    yield kernel
    kernel.close()


@pytest.fixture(params=["lean", "handlers"])
def any_kernel(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    """The same test at both levels."""
    host = request.getfixturevalue("host" if request.param == "lean" else "handlers_host")
    assert host.ready["level"] == request.param
    kernel = host.fork()
    yield kernel
    kernel.close()
