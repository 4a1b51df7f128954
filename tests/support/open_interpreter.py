"""An interpreter that other users can run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ORDINARY_USER = 65534


@contextmanager
def open_directory() -> Iterator[Path]:
    """A directory that other users can enter. Those of pytest are closed again whenever another run of it begins."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


@contextmanager
def open_interpreter(python: str) -> Iterator[str]:
    """The interpreter itself; where others may not execute it, the system's of this version with its packages."""
    try:
        subprocess.run([python, "-c", ""], user=ORDINARY_USER, check=True)
    except PermissionError:
        with open_directory() as directory:
            yield system_interpreter(python, directory)
    else:
        yield python


def system_interpreter(python: str, directory: Path) -> str:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    system = shutil.which(version, path="/usr/bin")
    if not system:
        pytest.skip("elsewhere: others may not execute this interpreter, and the system has none of its version")
    subprocess.run([system, "-m", "venv", "--without-pip", directory], check=True)
    where = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(where, capture_output=True, text=True, check=True).stdout
    (directory / "lib" / version / "site-packages" / "packages.pth").write_text(packages)
    return str(directory / "bin" / "python")
