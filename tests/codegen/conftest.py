from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packages import Packages, install_runner

install_runner()
sys.path.append(str(Path(__file__).parents[2] / "benchmarks" / "servers"))  # many_tools


@pytest.fixture
def packages(tmp_path: Path) -> Iterator[Packages]:
    made = Packages(tmp_path)
    yield made
    sys.path.remove(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == made.name]:
        del sys.modules[name]
