"""An interpreter that other users can run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ORDINARY_USER = 65534


def open_interpreter(python: str, directory: Path) -> str:
    """The interpreter itself; where others may not execute it, the system's of this version with its packages."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    try:
        subprocess.run([python, "-c", ""], user=ORDINARY_USER, check=True)
    except PermissionError:
        system = shutil.which(version, path="/usr/bin")
        if not system:
            pytest.skip("elsewhere: others may not execute this interpreter, and the system has none of its version")
        subprocess.run([system, "-m", "venv", "--without-pip", directory], check=True)
        packages = subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        (directory / "lib" / version / "site-packages" / "packages.pth").write_text(packages)
        for path in (directory, directory.parent, directory.parent.parent):
            path.chmod(0o755)
        return str(directory / "bin" / "python")
    return python
