"""The packages that cpack makes of a build: their fields, and that their files work from another folder."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

BUILD = Path(os.environ["IPYBOX_BUILD"])
CMAKE = Path(os.environ["IPYBOX_CMAKE"])
REPOSITORY = Path(__file__).parents[2]


def run(*command: str | Path, **options: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return str(done.stdout)


@dataclass
class Packages:
    """The two packages, and the folder that both were unpacked into."""

    program: Path
    library: Path
    root: Path

    def field(self, package: Path, name: str) -> str:
        return run("dpkg-deb", "--field", package, name).strip()


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    out = tmp_path_factory.mktemp("packages")
    run(CMAKE.parent / "cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "DEB", "-B", out, cwd=out)
    (program,) = out.glob("ipybox_*.deb")
    (library,) = out.glob("libipybox-dev_*.deb")
    for package in (program, library):
        run("dpkg-deb", "--extract", package, out / "root")
    return Packages(program, library, out / "root")


def test_the_program_runs_python(packages: Packages, tmp_path: Path) -> None:
    ipybox = packages.root / "usr/bin/ipybox"
    version = run(ipybox, "--version").splitlines()[0]
    assert version == f"ipybox {packages.field(packages.program, 'Version')}"
    command = [ipybox, "run", "--sandbox", "none", "--python", os.environ["IPYBOX_PYTHON"], "-c", "print(6 * 7)"]
    assert run(*command, cwd=tmp_path) == "42\n"


def test_the_program_names_the_libraries_that_it_loads(packages: Packages) -> None:
    depends = packages.field(packages.program, "Depends")
    for library in ("libc6", "libstdc++6", "libssl3", "libzmq5", "libhttp-parser"):
        assert library in depends
    assert "bubblewrap" in packages.field(packages.program, "Recommends")


@pytest.mark.parametrize(
    "path",
    [
        "man/man1/ipybox.1.gz",
        "bash-completion/completions/ipybox",
        "zsh/site-functions/_ipybox",
        "fish/vendor_completions.d/ipybox.fish",
        "doc/ipybox/copyright",
        "doc/libipybox-dev/copyright",
    ],
)
def test_a_file_that_comes_along(packages: Packages, path: str) -> None:
    assert (packages.root / "usr/share" / path).stat().st_size > 1000


def test_packages_share_no_file(packages: Packages) -> None:
    def files(package: Path) -> set[str]:
        lines = run("dpkg-deb", "--contents", package).splitlines()
        return {line.split()[5] for line in lines if not line.startswith("d")}

    program, library = files(packages.program), files(packages.library)
    assert "./usr/bin/ipybox" in program
    assert "./usr/include/ipybox/executor.hpp" in library
    assert not program & library


@pytest.mark.timeout(600)
def test_a_project_finds_the_library(packages: Packages, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(consumer LANGUAGES CXX)\n"
        "find_package(ipybox 0.1 REQUIRED)\n"
        "if(TARGET ipybox::zmq)\n"
        '  message(FATAL_ERROR "ZeroMQ was looked for")\n'
        "endif()\n"
        f"add_executable(consumer {REPOSITORY}/packaging/conan-center/all/test_package/test_package.cpp)\n"
        "target_link_libraries(consumer PRIVATE ipybox::ipybox)\n"
        f"add_executable(small {REPOSITORY}/tests/consumer/small.cpp)\n"
        "target_link_libraries(small PRIVATE ipybox::header_only)\n",
        encoding="utf-8",
    )
    settings = {
        "CMAKE_PREFIX_PATH": packages.root / "usr",
        "CMAKE_CXX_COMPILER": os.environ["IPYBOX_COMPILER"],
        "CMAKE_CXX_COMPILER_LAUNCHER": os.environ.get("IPYBOX_LAUNCHER", ""),
        "CMAKE_CXX_FLAGS": "-O0",
    }
    run(CMAKE, "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", *(f"-D{k}={v}" for k, v in settings.items()))
    run(CMAKE, "--build", tmp_path / "build")
    objects = {file.name for file in (tmp_path / "build").rglob("*.o")}
    assert objects == {"test_package.cpp.o", "small.cpp.o"}  # nothing of the library is compiled
    assert run(tmp_path / "build/consumer", cwd=tmp_path).strip().endswith(": 42")
    assert run(tmp_path / "build/small").strip().endswith(": right")
