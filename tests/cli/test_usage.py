"""Wrong usage, help, and what cannot start."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from program import BINARY, PYTHON, Program, assert_usage_error


def plain(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)


def test_version() -> None:
    ended = plain("--version")
    assert ended.returncode == 0
    assert re.fullmatch(r"ipybox \d+\.\d+\.\d+\n", ended.stdout)


def test_help() -> None:
    ended = plain("--help")
    assert ended.returncode == 0
    assert "run" in ended.stdout


def test_help_of_run_explains_cells_exit_codes_and_examples() -> None:
    ended = plain("run", "--help")
    assert ended.returncode == 0
    for part in (
        "# %%",
        "[markdown]",
        "124",
        "130",
        "ipybox run -c",
        "--keep-going",
        "--images-dir",
        "--approve",
        "--audit-log",
    ):
        assert part in ended.stdout


def test_help_names_values_alone() -> None:
    assert " in [" not in plain("run", "--help").stdout
    assert re.search(r"--end-grace S +Seconds", plain("run", "--help").stdout)


def test_help_says_where_pictures_are_saved() -> None:
    for command, place in (("run", "./images"), ("mcp", "images in the workspace")):
        said = " ".join(plain(command, "--help").stdout.split())
        assert f"--images-dir DIR Where pictures are saved (default: {place})" in said


def test_help_fits_a_terminal() -> None:
    assert max(map(len, plain("run", "--help").stdout.splitlines())) <= 120


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["run"], "FILE, `-` or -c CODE is required"),
        (["run", "--json"], "FILE, `-` or -c CODE is required"),
        (["run", "--colour", "-c", "1"], "The following argument was not expected: --colour"),
        (["run", "tool.py", "--fast"], "not expected: --fast; to pass it to the code: ipybox run FILE -- ARG"),
        (
            ["run", "--workdir", "x"],
            "not expected: --workdir; did you mean --working-dir? To pass it to the code: ipybox run FILE -- ARG",
        ),
        (["run", "--time-out", "5"], "not expected: --time-out; did you mean --timeout?"),
        (["run", "--time-out=5", "-c", "1"], "not expected: --time-out=5; did you mean --timeout?"),
        (["run", "--approve-shell"], "not expected: --approve-shell; did you mean --approve-shell-cmds?"),
        (["run", "-c", "1", "--keepgoing", "--tims"], ": --keepgoing --tims; did you mean --keep-going, --times?"),
        (["run", "-c", "1", "a.py"], "FILE and -c CODE exclude each other"),
        (["run", "-c"], "CODE missing"),
        (
            ["run", "-c", "1", "--sandbox", "glass"],
            "--sandbox: 'glass' is none of bubblewrap, landlock, srt, best, none",
        ),
        (["run", "-c", "1", "--timeout", "soon"], "'soon' is not a number of seconds"),
        (["run", "-c", "1", "--timeout", "0"], "'0' is not a number of seconds"),
        (["run", "-c", "1", "--timeout", "-1"], "'-1' is not a number of seconds"),
        (["run", "-c", "1", "--timeout", "nan"], "'nan' is not a number of seconds"),
        (["run", "-c", "1", "--timeout", "1e300"], "'1e300' is not a number of seconds"),
        (["run", "-c", "1", "--tool-timeout", "-1"], "'-1' is not a number of seconds from 0.001 to 1000000000"),
        (["run", "-c", "1", "--end-grace", "-1"], "--end-grace: '-1' is not a number of seconds from 0 to 1000000"),
        (["run", "-c", "1", "--end-grace", "nan"], "'nan' is not a number of seconds"),
        (["run", "-c", "1", "--end-grace", "soon"], "'soon' is not a number of seconds"),
        (["run", "-c", "1", "--end-grace", "1e7"], "'1e7' is not a number of seconds"),
        (["run", "-c", "1", "--calls-per-cell", "-1"], "--calls-per-cell: '-1' is not a whole number from 0 to"),
        (
            ["run", "-c", "1", "--calls-per-cell", "99999999999999999999"],
            "'99999999999999999999' is not a whole number",
        ),
        (["run", "-c", "1", "--calls-per-cell", "1.5"], "--calls-per-cell: '1.5' is not a whole number"),
        (["run", "-c", "1", "--calls-per-cell", "many"], "'many' is not a whole number"),
        (["run", "-c", "1", "--calls-per-cell", ""], "'' is not a whole number"),
        (["run", "-c", "1", "--working-dir", "/no/such/directory"], "/no/such/directory"),
        (["run", "-c", "1", "--yes", "--deny"], "--approve, --yes and --deny exclude each other"),
        (["run", "-c", "1", "--approve", "auto", "--yes"], "--approve, --yes and --deny exclude each other"),
        (["run", "-c", "1", "--approve", "deny", "--deny"], "--approve, --yes and --deny exclude each other"),
        (
            ["run", "-c", "1", "--approve", "no.json"],
            "--approve: the file 'no.json' does not exist, and it is not ask,",
        ),
        (["run", "-c", "1", "--approve", "/"], "'/' is not a file of rules, nor ask, auto, deny or stdin"),
        (["run", "-c", "1", "--allow-host", "http://a.b/"], "a host's name is wanted, as example.org"),
        (["run", "-c", "1", "--allow-host", "https://a.b:443"], "not a URL"),
        (["run", "-c", "1", "--images-dir", "/proc"], "--images-dir: /proc cannot be written to: "),
        (["run", "-c", "1", "--images-dir", "/proc/x"], "--images-dir: /proc cannot be written to: "),
        (["run", "-c", "1", "--images-dir", "/sys/x"], "--images-dir: /sys cannot be written to: "),
        (["run", "-c", "1", "--spill-dir", "/proc/x"], "--spill-dir: /proc cannot be written to: "),
        (["run", "-c", "1", "--images-dir", "/dev/null"], "--images-dir: /dev/null is not a directory"),
        (["run", "-c", "1", "--images-dir", "/dev/null/below"], "--images-dir: /dev/null is not a directory"),
        (["run", "-c", "1", "--spill-dir", "/dev/null"], "--spill-dir: /dev/null is not a directory"),
        (["run", "-c", "1", "--approve", "ask"], "standard input is no terminal; choose auto, deny or a rules file"),
        (["run", "-", "--approve", "ask"], "the code is read from standard input; choose auto"),
        (["run", "-c", "1", "--approve", "stdin"], "--approve stdin: needs --json"),
        (["run", "-", "--json", "--approve", "stdin"], "the code is read from there already; give it as FILE"),
        (["run", "-c", "1", "--mcp-config", "/no/such.json"], "--mcp-config: File does not exist: /no/such.json"),
        (["run", "-c", "1", "--audit-log", ""], "--audit-log: is empty"),
        (["run", "-c", "1", "--kernel", "python3", "--mcp-config", "/dev/null"], "--mcp-config needs the kernel"),
        (["run", "-c", "1", "--kernel", "python3", "--approve-shell-cmds"], "--approve-shell-cmds needs the kernel of"),
        (
            ["run", "-c", "1", "--kernel", "python3", "--require-shell-escape"],
            "--require-shell-escape needs the kernel",
        ),
        (["run", "-c", "1", "--kernel", "python3", "--approve", "deny"], "--approve needs the kernel of ipybox"),
        (["run", "-c", "1", "--kernel", "python3", "--yes"], "--yes needs the kernel of ipybox: it has no effect on"),
        (["run", "-c", "1", "--kernel", "python3", "--deny"], "--deny needs the kernel of ipybox"),
        (["run", "-c", "1", "--kernel", "python3", "--audit-log", "a"], "--audit-log needs the kernel of ipybox"),
    ],
)
def test_usage_error(arguments: list[str], why: str) -> None:
    ended = plain(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert_usage_error(ended.stderr, why, "run")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "a command is missing; there are run, apigen, "),
        (["walk"], "'walk' is no command; there are run, apigen, "),
        (["walk"], ". To run a file: ipybox run FILE"),
        (["docter"], "'docter' is no command: did you mean doctor? There are run, apigen, "),
        (["analysis.py", "--times"], "'analysis.py' is no command"),
    ],
)
def test_without_a_command(arguments: list[str], why: str) -> None:
    ended = plain(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert_usage_error(ended.stderr, why, "")


@pytest.mark.parametrize("arguments", [["mcp", "--workspac", "/tmp"], ["--workspac", "/tmp"]])
def test_unexpected_arguments_are_told_in_their_order(arguments: list[str]) -> None:
    ended = plain(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert_usage_error(ended.stderr, "not expected: --workspac /tmp; did you mean --workspace?", "mcp")


def test_an_output_directory_that_would_be_made_is_not_made_by_its_check(tmp_path: Path) -> None:
    ended = plain("run", "-c", "", "--images-dir", str(tmp_path / "a" / "b"))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "option",
    [
        "--python",
        "--kernel",
        "--working-dir",
        "--images-dir",
        "--spill-dir",
        "--mcp-config",
        "--sandbox-config",
        "--audit-log",
        "--approve",
    ],
)
def test_an_empty_text_is_not_the_default(option: str) -> None:
    ended = plain("run", "-c", "print(1)", option, "")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"ipybox: {option}: is empty\n`ipybox run --help` tells more.\n"


def test_an_empty_name_is_no_file() -> None:
    ended = plain("run", "")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "ipybox: FILE: is empty\n`ipybox run --help` tells more.\n"


def test_an_empty_text_is_neither_server_nor_directory_of_a_package() -> None:
    for arguments in (["--server-name", "", "--root-dir", "out"], ["--server-name", "a", "--root-dir", ""]):
        ended = plain("apigen", "--server-params", '{"command": "cat"}', *arguments)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert re.match(r"ipybox: --(server-name|root-dir): is empty\n", ended.stderr)


def test_missing_file(program: Program) -> None:
    ended = program.run("no-such.py")
    assert (ended.code, ended.out, ended.err) == (2, "", "ipybox: no-such.py: No such file or directory\n")


def test_directory_instead_of_a_file(program: Program) -> None:
    ended = program.run(str(program.directory))
    assert ended.code == 2
    assert "Is a directory" in ended.err


def test_file_that_is_not_utf8(program: Program) -> None:
    ended = program.run(program.write("latin.py", b"a = 1\nb = '\xe9'\n"))
    assert ended.code == 2
    assert "latin.py: not UTF-8: line 2" in ended.err


def test_standard_input_that_is_not_utf8(program: Program) -> None:
    ended = program.run("-", stdin=b"\xff")
    assert ended.code == 2
    assert "standard input: not UTF-8" in ended.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("print(1)", "no valid JSON"),
        ("{}", "not a Jupyter notebook"),
        ('{"nbformat": 3, "worksheets": []}', "format 3"),
        ('{"nbformat": 4}', "without cells"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code", "source": 1}]}', "source of a cell is not text"),
    ],
)
def test_malformed_notebook(program: Program, text: str, why: str) -> None:
    ended = program.run(program.write("n.ipynb", text))
    assert (ended.code, ended.out) == (2, "")
    assert "n.ipynb: " in ended.err
    assert why in ended.err


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_missing_interpreter(program: Program, json: list[str]) -> None:
    ended = program.run("-c", "1", "--python", "/no/such/python", *json)
    assert (ended.code, ended.out) == (3, "")
    assert "/no/such/python" in ended.err


def test_interpreter_without_ipykernel(program: Program) -> None:
    bare = program.directory / "bare"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(bare)], check=True)
    ended = program.run("-c", "1", "--python", str(bare / "bin/python"))
    assert (ended.code, ended.out) == (3, "")
    assert "ipykernel" in ended.err
    assert f"{bare}/bin/python -m pip install ipykernel" in ended.err


def test_interpreter_of_the_system_without_ipykernel(program: Program) -> None:
    base = os.path.realpath(PYTHON)
    if subprocess.run([base, "-I", "-c", "import ipykernel"], stderr=subprocess.DEVNULL).returncode == 0:
        pytest.skip("elsewhere: it has ipykernel")
    ended = program.run("-c", "1", "--python", base)
    assert (ended.code, ended.out) == (3, "")
    command, advice = ended.err.splitlines()
    assert command.endswith(f"{base} -m venv .venv && .venv/bin/pip install ipykernel")
    assert advice.endswith("(--python, kernel.python) has to name .venv/bin/python instead.")


def test_interpreter_that_is_too_old(program: Program) -> None:
    folder = program.directory / "old"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    # it says of itself that it is an old one, before anything else runs in it
    pretence = "import sys\nsys.version_info, sys.version = (3, 9, 18, 'final', 0), '3.9.18 (main)'\n"
    (packages / "sitecustomize.py").write_text(pretence)
    ended = program.run("-c", "1", "--python", str(folder / "bin/python"))
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == f"ipybox: ipybox needs Python >= 3.10, this is 3.9.18 ({folder}/bin/python)\n"


def test_interpreter_that_is_none(program: Program) -> None:
    ended = program.run("-c", "1", "--python", "/bin/true")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("ipybox: ")
    assert "/bin/true" in ended.err
    assert "a Python interpreter?" in ended.err


def test_sandbox_that_is_not_installed(program: Program, tmp_path: Path) -> None:
    program.sandbox = "bubblewrap"
    folder = tmp_path / "bin"
    folder.mkdir()
    program.env["PATH"] = str(folder)
    ended = program.run("-c", "1")
    assert (ended.code, ended.out) == (3, "")
    assert "bwrap" in ended.err
    assert "install" in ended.err


def test_bubblewrap_is_the_default(tmp_path: Path) -> None:
    code = "open('/etc/ipybox-test', 'w')"
    ended = subprocess.run([BINARY, "run", "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=30)
    assert ended.returncode == 1
    assert "Read-only file system" in ended.stderr
    assert not os.path.exists("/etc/ipybox-test")


@pytest.mark.parametrize("kernel", [[], ["--kernel", "python3"]], ids=["forked", "zmq"])
class TestLongPaths:
    """Names of sockets have 108 bytes, those of files 4096."""

    def test_temporary_directories(self, program: Program, kernel: list[str]) -> None:
        long = program.directory / ("l" * 200)
        long.mkdir()
        file = program.write("file", "")
        for temporary in (str(long), str(program.directory / "missing"), file, "relative", ""):
            program.env["TMPDIR"] = temporary
            ended = program.run(*kernel, "-c", "print(1)")
            assert (ended.code, ended.out) == (0, "1\n"), (temporary, ended)

    def test_a_working_directory(self, any_sandbox: Program, kernel: list[str]) -> None:
        deep = any_sandbox.directory.joinpath(*["d" * 200] * 5)
        deep.mkdir(parents=True)
        code = "import os\nprint(len(os.getcwd()))\n_ = open('file', 'w').write('text')"
        ended = any_sandbox.run(*kernel, "--working-dir", str(deep), "-c", code)
        assert (ended.code, ended.out) == (0, f"{len(os.path.realpath(deep))}\n"), ended
        assert (deep / "file").read_text() == "text"

    def test_a_working_directory_that_is_too_long(self, any_sandbox: Program, kernel: list[str]) -> None:
        ended = any_sandbox.run(*kernel, "--working-dir", "/tmp/" + "x/" * 2500, "-c", "1")
        assert (ended.code, ended.out) == (2, "")
