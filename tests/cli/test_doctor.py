"""`ipybox doctor` on this machine, and on one that lacks something."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from program import BINARY, PATIENCE, PYTHON, Ended, Program

Check = dict[str, Any]


def doctor(program: Program, *arguments: str) -> Ended:
    return program.without_sandbox("doctor", *arguments)


def diagnosis(program: Program, *arguments: str) -> tuple[int, dict[str, Any], dict[str, Check]]:
    """The exit code, the whole report, and its checks by their names."""
    ended = doctor(program, "--json", *arguments)
    assert ended.err == ""
    assert ended.out.count("\n") == 1
    report = json.loads(ended.out)
    return ended.code, report, {check["name"]: check for check in report["checks"]}


def shadow(program: Program, **scripts: str) -> Path:
    """Puts scripts in front of the programs of PATH."""
    folder = program.outside / "shadow"
    folder.mkdir()
    for name, script in scripts.items():
        file = folder / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
    program.env["PATH"] = f"{folder}:{os.environ['PATH']}"
    return folder


def alone(program: Program, *names: str) -> None:
    """Leaves no program on PATH but some of those that are there."""
    folder = program.outside / "alone"
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(
            next(Path(d) / name for d in os.environ["PATH"].split(":") if (Path(d) / name).exists())
        )
    program.env["PATH"] = str(folder)


def bare_environment(program: Program) -> Path:
    """An interpreter without ipykernel."""
    folder = program.outside / "bare"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin/python"


def test_everything_that_is_needed_works_here(program: Program) -> None:
    code, report, checks = diagnosis(program, "--python", PYTHON)
    assert (code, report["verdict"], report["schema"], report["sandbox"]) == (0, "ready", 1, "bubblewrap")
    interpreter = checks["interpreter"]
    assert (interpreter["state"], interpreter["path"]) == ("works", PYTHON)
    versions = "import sys, ipykernel; print(sys.version.split()[0], ipykernel.__version__)"
    told = subprocess.run([PYTHON, "-c", versions], capture_output=True, text=True, check=True).stdout.split()
    assert [interpreter["version"], checks["ipykernel"]["version"]] == told
    assert checks["pydantic"]["state"] == "works"
    bubblewrap = checks["bubblewrap"]
    assert (bubblewrap["state"], bubblewrap["needed"], bubblewrap["gap"]) == ("works", True, None)
    assert 0 < bubblewrap["elapsed_ms"] < PATIENCE * 1000
    assert checks["working"]["path"] == str(program.directory)
    assert all(checks[name]["state"] == "works" for name in ("working", "temporary", "state", "node", "npm", "npx"))
    assert re.fullmatch(r"\d+\.\d+\.\d+", checks["node"]["version"])
    assert {"Asio", "nlohmann/json", "libzmq", "CLI11"} < set(report["libraries"])


def test_each_sandbox_that_works_has_run_a_cell(program: Program) -> None:
    _, report, checks = diagnosis(program, "--python", PYTHON)
    for policy in report["sandboxes"]:
        check = checks[policy["policy"]]
        if policy["policy"] == "none":
            assert check["state"] == "untried"
        elif policy["gap"]:
            assert (check["state"], check["gap"]) == ("fails", policy["gap"])
        else:
            assert check["state"] == "works", check


def test_without_a_sandbox_code_runs_only_if_that_is_wanted(program: Program) -> None:
    code, _, checks = diagnosis(program, "--python", PYTHON, "--sandbox", "none")
    assert code == 0
    assert (checks["none"]["state"], checks["none"]["needed"], checks["bubblewrap"]["needed"]) == ("works", True, False)


def test_the_text_for_people(program: Program) -> None:
    ended = doctor(program, "--python", PYTHON)
    assert (ended.code, ended.err) == (0, "")
    assert re.search(r"^  yes  interpreter +3\.\d+\.\d+ +/", ended.out, re.MULTILINE)
    assert re.search(r"^  yes  bubblewrap .* first cell after \d+\.\d\d s$", ended.out, re.MULTILINE)
    assert ended.out.endswith("\nReady: code runs with --sandbox bubblewrap.\n")


def test_a_node_that_hangs_does_not_hang_the_doctor(program: Program) -> None:
    shadow(program, node="sleep 1000", uv="echo uv 9.8.7")
    begin = time.monotonic()
    code, _, checks = diagnosis(program, "--python", PYTHON)
    assert time.monotonic() - begin < 60
    assert code == 0  # no code needs it
    assert checks["node"]["state"] == "fails"
    assert "did not end within" in checks["node"]["gap"]
    assert "install nodejs" in checks["node"]["remedy"]
    assert checks["uv"]["version"] == "9.8.7"


def test_a_doctor_that_is_interrupted_leaves_nothing(program: Program) -> None:
    folder = shadow(program, node=f"touch {program.directory}/asked; sleep 1000")
    assert folder.exists()
    process = program.start_command([BINARY, "doctor", "--python", PYTHON])
    deadline = time.monotonic() + PATIENCE
    while not (program.directory / "asked").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.terminate()
    out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (143, b"")


class TestGaps:
    """Each is named, with what mends it."""

    def test_no_ipykernel(self, program: Program) -> None:
        python = bare_environment(program)
        code, report, checks = diagnosis(program, "--python", str(python))
        assert (code, report["verdict"]) == (3, "no_kernel")
        assert checks["interpreter"]["state"] == "works"
        assert re.fullmatch(r"3\.\d+\.\d+", checks["interpreter"]["version"])
        assert checks["ipykernel"]["state"] == "fails"
        assert "has no ipykernel" in checks["ipykernel"]["gap"]
        assert checks["ipykernel"]["remedy"] == f"{python} -m pip install ipykernel"
        assert checks["bubblewrap"]["gap"] == "the interpreter cannot run kernels"

    def test_an_interpreter_that_is_too_old(self, program: Program) -> None:
        python = bare_environment(program)
        (packages,) = python.parents[1].glob("lib/python3*/site-packages")
        # it says of itself that it is an old one, before anything else runs in it
        pretence = "import sys\nsys.version_info, sys.version = (3, 9, 18, 'final', 0), '3.9.18 (main)'\n"
        (packages / "sitecustomize.py").write_text(pretence)
        code, _, checks = diagnosis(program, "--python", str(python))
        assert code == 3
        assert checks["interpreter"]["state"] == "fails"
        assert "needs Python >= 3.10, this is 3.9.18" in checks["interpreter"]["gap"]
        assert "--python PATH" in checks["interpreter"]["remedy"]
        assert checks["ipykernel"]["state"] == "untried"
        assert checks["bubblewrap"]["gap"] == "the interpreter cannot run kernels"

    def test_no_interpreter(self, program: Program) -> None:
        alone(program, "bwrap")
        program.env["IPYBOX_PYTHON"] = program.env["VIRTUAL_ENV"] = ""
        code, _, checks = diagnosis(program)
        assert code == 3
        assert "no Python interpreter" in checks["interpreter"]["gap"]
        assert "-m venv .venv && .venv/bin/pip install ipykernel" in checks["interpreter"]["remedy"]
        assert checks["bubblewrap"]["gap"] == "not tried: there is no interpreter"

    def test_an_interpreter_that_is_named_and_is_none(self, program: Program) -> None:
        code, _, checks = diagnosis(program, "--python", "/no/such/python")
        assert code == 3
        assert "/no/such/python" in checks["interpreter"]["gap"]

    def test_a_program_that_is_no_interpreter(self, program: Program) -> None:
        code, _, checks = diagnosis(program, "--python", "/bin/true")
        assert code == 3
        assert "a Python interpreter?" in checks["bubblewrap"]["gap"]
        assert checks["interpreter"]["gap"] == "it does not answer --version as Python does"
        assert checks["ipykernel"]["state"] == "untried"

    def test_no_bubblewrap(self, program: Program) -> None:
        alone(program)
        code, report, checks = diagnosis(program, "--python", PYTHON)
        others = [checks[name]["state"] for name in ("landlock", "srt")]
        assert code == (1 if "works" in others else 3)
        assert checks["bubblewrap"]["state"] == "fails"
        assert "bubblewrap is not installed" in checks["bubblewrap"]["gap"]
        assert re.fullmatch(r"sudo .* bubblewrap", checks["bubblewrap"]["remedy"])
        assert checks["npx"]["gap"] == "there is no npx on PATH"
        assert checks["uvx"]["remedy"]
        assert "not installed" in report["sandboxes"][0]["gap"]

    def test_another_sandbox_than_the_wanted_one(self, program: Program) -> None:
        alone(program)
        code, _, checks = diagnosis(program, "--python", PYTHON, "--sandbox", "none")
        assert code == 0
        assert checks["bubblewrap"]["state"] == "fails"

    def test_a_directory_that_cannot_be_written_to(self, program: Program) -> None:
        if os.geteuid() == 0:
            code, _, checks = diagnosis(program, "--python", PYTHON, "--sandbox", "none", "--working-dir", "/proc/sys")
        else:
            closed = program.directory / "closed"
            closed.mkdir(mode=0o555)
            code, _, checks = diagnosis(program, "--python", PYTHON, "--sandbox", "none", "--working-dir", str(closed))
        assert code in (1, 3)
        assert "cannot be written to" in checks["working"]["gap"]
        assert "--working-dir" in checks["working"]["remedy"]

    def test_no_temporary_directory(self, program: Program) -> None:
        program.env["TMPDIR"] = "/proc/sys"
        code, _, checks = diagnosis(program, "--python", PYTHON)
        assert code != 0
        assert "TMPDIR" in checks["temporary"]["remedy"]


def test_an_interpreter_that_is_merely_found_runs_in_no_other_place_than_a_sandbox(program: Program) -> None:
    """Code may have made the environment, and what is in it would run on the host."""
    folder = program.directory / ".venv"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    evidence = program.directory / "ran"
    (packages / "evil.pth").write_text(f"import os; open({str(evidence)!r} + str(os.getpid() == 1), 'w')\n")
    alone(program)  # so that there is no bubblewrap
    program.env["IPYBOX_PYTHON"] = program.env["VIRTUAL_ENV"] = ""
    _, _, checks = diagnosis(program)
    assert checks["interpreter"]["path"] == str(folder / "bin/python")
    if not any(checks[name]["elapsed_ms"] for name in ("landlock", "srt")):
        assert list(program.directory.glob("ran*")) == []
        assert checks["interpreter"]["version"] is None


@pytest.mark.parametrize("arguments", [["--sandbox", "glass"], ["--working-dir", "/no/such"], ["extra"]])
def test_usage(program: Program, arguments: list[str]) -> None:
    ended = doctor(program, *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith("`ipybox doctor --help` tells more.\n")


def test_version_with_libraries() -> None:
    ended = subprocess.run([BINARY, "--version", "--verbose"], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0
    lines = ended.stdout.splitlines()
    assert re.fullmatch(r"ipybox \d+\.\d+\.\d+", lines[0])
    told = dict(re.split(r"  +", line, maxsplit=1) for line in lines[1:])
    for name in ("Asio", "nlohmann/json", "libzmq", "cppzmq", "tl::expected", "OpenSSL (libcrypto)", "CLI11"):
        assert re.match(r"\d+\.\d+", told[name]), name
    assert re.match(r"(GCC|Clang) \d+", told["compiler"])
    assert Path(told["Python for kernels"]).exists()


def test_verbose_alone_is_wrong() -> None:
    ended = subprocess.run([BINARY, "--verbose"], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 2
    assert "--verbose requires --version" in ended.stderr
