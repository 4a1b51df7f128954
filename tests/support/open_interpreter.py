"""Interpreters, programs and directories that other users can reach, wherever the project lies."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

ORDINARY_USER = 65534


def is_open(path: Path) -> bool:
    """Whether other users can read what is there: each directory above lets them through."""
    real = path.resolve()
    return all(above.stat().st_mode & stat.S_IXOTH for above in real.parents) and bool(
        real.stat().st_mode & stat.S_IROTH
    )


@contextmanager
def open_directory() -> Iterator[Path]:
    """A directory that other users can enter. Those of pytest are closed again whenever another run of it begins."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


def open_base(candidates: list[Path]) -> Path:
    """The first of these directories in which other users can be given one."""
    for directory in candidates:
        if directory.is_dir() and is_open(directory) and os.access(directory, os.W_OK):
            return directory
    pytest.skip("elsewhere: other users can enter none of " + ", ".join(map(str, candidates)))


def lasting_directory() -> Path:
    """A directory that other users can enter, and that lives as long as this process."""
    directory = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    directory.chmod(0o755)
    return directory


@cache
def open_program(program: str) -> str:
    """The program itself; where others may not reach it, a copy that lives as long as this process."""
    if is_open(Path(program)):
        return program
    copy = lasting_directory() / Path(program).name
    shutil.copy(program, copy)
    copy.chmod(0o755)
    return str(copy)


@cache
def open_path(path: str) -> str:
    """A PATH whose directories of Node packages others can reach: copies live as long as this process."""
    return ":".join(str(open_packages(Path(directory))) for directory in path.split(":"))


def open_packages(programs: Path) -> Path:
    if programs.parts[-2:] != ("node_modules", ".bin") or not programs.is_dir() or is_open(programs):
        return programs
    packages = lasting_directory() / "node_modules"
    shutil.copytree(programs.parent, packages, symlinks=True, copy_function=link_or_copy)
    return packages / ".bin"


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
    packages = Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip())
    own = directory / "lib" / version / "site-packages"
    if is_open(packages):
        (own / "packages.pth").write_text(f"{packages}\n")
    else:
        shutil.copytree(packages, own, dirs_exist_ok=True, symlinks=True, copy_function=link_or_copy)
    return str(directory / "bin" / "python")


def link_or_copy(source: str, target: str) -> None:
    """Another name of the file, which costs no room; a copy on another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
