"""A generator that is killed, or refused by the system, at any moment: the old package is there, or the new one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from many_tools import many_tools
from packages import HERE, SUPPORT, Packages, run_writer, tool

#: What writing a package asks of the system, and can be refused.
CALLS = ["mkdirat", "openat", "write", "syncfs", "fsync", "renameat2", "renameat", "unlinkat", "flock", "newfstatat"]


def request(packages: Packages, tools: list[dict[str, Any]]) -> str:
    return json.dumps({"root": str(packages.root), "packages": [{"server": "server", "tools": tools}]})


def imported(packages: Packages) -> str:
    """Which of the packages another interpreter imports, all of it."""
    code = (
        f"import sys; sys.path[:0] = [{str(HERE)!r}, {str(packages.root.parent)!r}]\n"
        "from packages import install_runner; install_runner()\n"
        "import importlib, json, pathlib\n"
        f"import {packages.name}.server as server\n"
        "folder = pathlib.Path(server.__file__).parent\n"
        "listed = json.loads((folder / '_schemas.json').read_text())\n"
        "modules = [importlib.import_module(f'{server.__name__}.{name}') for name in listed['modules']]\n"
        "assert len(modules) == 3\n"
        "assert all(module.run() == '' for module in modules)\n"
        "print(modules[0].__name__.rpartition('.')[2])\n"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def files(packages: Packages) -> dict[str, bytes]:
    """All that an import reads."""
    paths = [packages.root / "__init__.py", *(packages.root / "server").iterdir()]
    return {path.name if path.parent == packages.root else f"server/{path.name}": path.read_bytes() for path in paths}


class Generations:
    """The two packages as they are when nothing goes wrong."""

    def __init__(self, packages: Packages) -> None:
        self.files = {}
        for name, tools in (("old", OLD), ("new", NEW)):
            packages.generate({"server": "server", "tools": tools})
            assert imported(packages) == name
            self.files[name] = files(packages)
            assert len(self.files[name]) == 1 + len(SUPPORT) + 6

    def present(self, packages: Packages) -> str:
        """Which of them is there, to the last byte."""
        there = files(packages)
        return next((name for name, expected in self.files.items() if there == expected), "broken")


OLD = [tool("old"), tool("b"), tool("c")]
NEW = [tool("new"), tool("d"), tool("e")]


def traced(packages: Packages, *options: str) -> subprocess.CompletedProcess[str]:
    prefix = ("strace", "-qq", "-f", "-o", "/dev/null", *options)
    return run_writer(request(packages, NEW), prefix=prefix)


def calls_of(packages: Packages, call: str, tmp_path: Path) -> int:
    """How often a successful generation makes a system call, after those that start a program."""
    packages.generate({"server": "server", "tools": OLD})  # a package that is there already is not written
    log = tmp_path / "calls"
    run_writer(request(packages, NEW), prefix=("strace", "-qq", "-f", "-o", str(log), "-e", f"trace={call}"))
    return len(re.findall(rf"\b{call}\(", log.read_text(encoding="utf-8", errors="replace")))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("fault", ["error=ENOSPC", "signal=SIGKILL"])
def test_refused_or_killed_at_any_call(packages: Packages, tmp_path: Path, fault: str) -> None:
    generations = Generations(packages)
    counts = {call: calls_of(packages, call, tmp_path) for call in CALLS}
    seen: dict[str, int] = {"old": 0, "new": 0, "broken": 0}
    moments = 0
    for call, count in counts.items():
        for moment in range(1, count + 1):
            # a few moments of each kind of call are enough where it is made for every file
            if count > 12 and moment % 5 and moment < count - 2:
                continue
            if generations.present(packages) != "old":
                packages.generate({"server": "server", "tools": OLD})
            done = traced(packages, "-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={moment}")
            moments += 1
            seen[present := generations.present(packages)] += 1
            if fault.startswith("error") and done.stdout and "error" in json.loads(done.stdout)[0]:
                assert present == "old", (call, moment)
                left = [path.name for path in packages.root.iterdir() if path.name.startswith(".server.tmp")]
                assert left == [] or call in ("unlinkat", "newfstatat", "openat"), (call, moment, left)
    print(
        f"\nscore: generator hit by {fault} at {moments} moments: old package {seen['old']}, new {seen['new']}, "
        f"broken {seen['broken']}"
    )
    assert seen["broken"] == 0
    assert seen["old"] > 5
    assert seen["new"] > 0
    # the next one cleans up
    packages.generate({"server": "server", "tools": NEW})
    assert sorted(path.name for path in packages.root.iterdir()) == ["__init__.py", "server"]
    assert imported(packages) == "new"


def test_a_file_system_that_cannot_exchange(packages: Packages) -> None:
    generations = Generations(packages)
    packages.generate({"server": "server", "tools": OLD})
    cannot = ("-e", "trace=renameat2,renameat", "-e", "inject=renameat2:error=EINVAL")
    for moment in (1, 2, 3):
        done = traced(packages, *cannot, "-e", f"inject=renameat:error=ENOSPC:when={moment}")
        assert "error" in json.loads(done.stdout)[0]
        assert generations.present(packages) == "old"
    assert "error" not in json.loads(traced(packages, *cannot).stdout)[0]
    assert generations.present(packages) == "new"
    assert sorted(path.name for path in packages.root.iterdir()) == ["__init__.py", "server"]


def test_a_root_index_that_cannot_be_written(packages: Packages) -> None:
    packages.generate({"server": "server", "tools": OLD})
    (packages.root / "__init__.py").unlink()
    done = traced(packages, "-e", "trace=renameat", "-e", "inject=renameat:error=ENOSPC")
    assert "__init__.py" in json.loads(done.stdout)[0]["error"]
    packages.generate({"server": "server", "tools": OLD})
    assert imported(packages) == "old"


def test_a_last_flush_that_fails_is_a_notice(packages: Packages) -> None:
    generations = Generations(packages)
    packages.generate({"server": "server", "tools": OLD})
    done = traced(packages, "-e", "trace=fsync", "-e", "inject=fsync:error=EIO")
    answer = json.loads(done.stdout)[0]
    assert "a crash may bring the old package back" in str(answer["notices"])
    assert generations.present(packages) == "new"


def test_a_limit_of_the_size_of_files(packages: Packages) -> None:
    packages.generate({"server": "server", "tools": OLD})
    done = run_writer(
        request(packages, many_tools(200)), prefix=("bash", "-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "-")
    )
    assert "File too large" in json.loads(done.stdout)[0]["error"]
    assert imported(packages) == "old"
