"""Completion in real shells, and the manual page in real formatters: both are made of the option tree."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import BINARY
from shells import PATIENCE, Shell, need, printed, said, with_program

#: As the help lists them.
COMMANDS = re.findall(r"^  (\w+) ", printed("--help").partition("Subcommands:")[2], re.MULTILINE)
SANDBOXES = ["bubblewrap", "landlock", "srt", "best", "none"]


def options_of(*command: str) -> list[str]:
    """The long options that the help of a command names."""
    return sorted(set(re.findall(r"^  (?:-\w, ?)?(--[\w-]+)", printed(*command, "--help"), re.MULTILINE)))


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell([need("bash"), "--norc", "--noprofile", "-i"], with_program(tmp_path), tmp_path)
    shell.run("source <(ipybox completion bash)")
    shell.run("bind 'set enable-bracketed-paste off'")
    yield shell
    shell.close()


@pytest.fixture
def zsh(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell([need("zsh"), "-f", "-i"], with_program(tmp_path), tmp_path)
    shell.run("autoload -U compinit && compinit -D -u && source <(ipybox completion zsh)")
    shell.run("unsetopt zle_bracketed_paste 2>/dev/null; setopt no_always_last_prompt; LISTMAX=1000; PS1='$ '")
    yield shell
    shell.close()


class TestBash:
    """In readline, with the Tab key."""

    def candidates(self, directory: Path, *words: str) -> list[str]:
        """What is offered for the last of the words."""
        script = (
            'source <(ipybox completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            'compopt() { :; }; _ipybox; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        lines = said(["bash", "--norc", "-c", script, "bash", "ipybox", *words], directory)
        return [line for line in lines if line]

    def test_commands(self, tmp_path: Path) -> None:
        assert {"run", "apigen", "doctor", "completion"} <= set(COMMANDS)
        assert self.candidates(tmp_path, "") == COMMANDS
        assert self.candidates(tmp_path, "do") == ["doctor"]
        assert self.candidates(tmp_path, "--v") == ["--version", "--verbose"]

    @pytest.mark.parametrize("command", COMMANDS)
    def test_options_are_those_of_the_help(self, tmp_path: Path, command: str) -> None:
        found = self.candidates(tmp_path, command, "--")
        assert sorted(found) == options_of(command)
        assert "--help" in found

    def test_words(self, tmp_path: Path) -> None:
        assert self.candidates(tmp_path, "run", "--sandbox", "") == SANDBOXES
        assert self.candidates(tmp_path, "run", "--sandbox", "=", "b") == ["bubblewrap", "best"]
        assert self.candidates(tmp_path, "run", "--sandbox", "=") == SANDBOXES
        assert self.candidates(tmp_path, "doctor", "--sandbox", "la") == ["landlock"]
        assert self.candidates(tmp_path, "run", "--limit", "ker") == ["kernel-memory="]
        assert self.candidates(tmp_path, "run", "--timeout", "") == []
        assert self.candidates(tmp_path, "completion", "") == ["bash", "zsh", "fish"]

    def test_files_and_directories(self, tmp_path: Path) -> None:
        (tmp_path / "a file.json").write_text("{}")
        (tmp_path / "a folder").mkdir()
        assert sorted(self.candidates(tmp_path, "run", "--mcp-config", "a")) == ["a file.json", "a folder"]
        assert self.candidates(tmp_path, "run", "--working-dir", "a") == ["a folder"]
        assert sorted(self.candidates(tmp_path, "run", "--approve", "a")) == ["a file.json", "a folder", "ask", "auto"]
        assert sorted(self.candidates(tmp_path, "run", "--yes", "a ")) == ["a file.json", "a folder"]

    def test_a_tab_completes(self, bash: Shell) -> None:
        bash.send("ipybox run --sandbox bub\t")
        bash.expect(r"ipybox run --sandbox bubblewrap $")
        bash.send("--times --audit-l\t")
        bash.expect(r"--audit-log $")

    def test_a_tab_goes_on_behind_an_equals_sign(self, bash: Shell) -> None:
        bash.send("ipybox run --sandbox=land\t")
        bash.expect(r"ipybox run --sandbox=landlock $")
        bash.send("--limit kern\t7")
        bash.expect(r"--limit kernel-memory=7$")


class TestZsh:
    def test_commands(self, zsh: Shell) -> None:
        zsh.send("ipybox doc\t")
        zsh.expect(r"ipybox doctor $")

    def test_words(self, zsh: Shell) -> None:
        zsh.send("ipybox run --sandbox bub\t")
        zsh.expect(r"ipybox run --sandbox bubblewrap $")

    def test_options(self, zsh: Shell) -> None:
        zsh.send("ipybox run --audit-l\t")
        zsh.expect(r"ipybox run --audit-log[ =]$")

    def test_beginnings_and_files(self, zsh: Shell, tmp_path: Path) -> None:
        (tmp_path / "rules.json").write_text("{}")
        zsh.send("ipybox run --limit kern\t7 --approve ru\t")
        zsh.expect(r"--limit kernel-memory=7 --approve rules.json $")

    def test_all_options_of_a_command_are_there(self, zsh: Shell) -> None:
        zsh.send("ipybox run --\t")
        shown = ""
        for option in options_of("run"):
            if option not in shown:
                shown += zsh.expect(re.escape(option) + r"\b")


class TestFish:
    def candidates(self, directory: Path, line: str) -> list[str]:
        command = f"ipybox completion fish | source; complete -C '{line}'"
        lines = said(["fish", "--no-config", "-c", command], directory)
        return [line.split("\t")[0] for line in lines]

    def test_commands(self, tmp_path: Path) -> None:
        assert sorted(self.candidates(tmp_path, "ipybox ")) == sorted(COMMANDS)

    def test_options_are_those_of_the_help(self, tmp_path: Path) -> None:
        assert sorted(self.candidates(tmp_path, "ipybox run --")) == options_of("run")

    def test_words(self, tmp_path: Path) -> None:
        assert sorted(self.candidates(tmp_path, "ipybox run --sandbox ")) == sorted(SANDBOXES)

    def test_files(self, tmp_path: Path) -> None:
        (tmp_path / "rules.json").write_text("{}")
        assert "rules.json" in self.candidates(tmp_path, "ipybox run --mcp-config ")
        assert "rules.json" not in self.candidates(tmp_path, "ipybox doctor --sandbox r")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_valid(shell: str, tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_text(printed("completion", shell))
    ended = subprocess.run([need(shell), "-n", str(file)], capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_shell_that_is_unknown() -> None:
    ended = subprocess.run([BINARY, "completion", "tcsh"], capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "'tcsh' is none of bash, zsh, fish" in ended.stderr


class TestManualPage:
    def test_formats_without_a_warning(self, tmp_path: Path) -> None:
        page = tmp_path / "ipybox.1"
        page.write_text(printed("man-page"))
        for command in (["groff", "-man", "-Tutf8", "-ww", "-z"], ["mandoc", "-T", "lint", "-W", "warning"]):
            ended = subprocess.run(
                [need(command[0]), *command[1:], str(page)], capture_output=True, text=True, timeout=PATIENCE
            )
            lines = (ended.stdout + ended.stderr).splitlines()
            # the page has no date: it is the same whenever it is built
            assert [line for line in lines if "missing date" not in line] == []

    def test_has_every_option(self) -> None:
        page = subprocess.run(
            [need("groff"), "-man", "-Tascii", "-P-cbou"],
            input=printed("man-page"),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        ).stdout
        for command in COMMANDS:
            for option in options_of(command):
                assert option in page
        assert "ipybox run analysis.py" in page
        assert "124  a cell took longer than --timeout" in page

    def test_begins_with_each_command_as_it_is_written(self) -> None:
        synopsis = printed("man-page").partition(".SH SYNOPSIS\n")[2].partition(".SH ")[0]
        lines = re.sub(r"\\f[A-Z]", "", synopsis).replace("\n.br\n", "\n").splitlines()
        assert lines[0] == "ipybox run [FILE] [ARG ...] [options]"
        assert lines[-1] == "ipybox [options]"
        assert {f"ipybox {command} [options]" for command in ("apigen", "mcp", "doctor")} <= set(lines)


def test_everything_is_installed_where_it_is_looked_for(tmp_path: Path) -> None:
    """What was written when the program was built, by the rules of a project that is to be installed."""
    pages = next(
        (folder / "cli/pages" for folder in Path(BINARY).parents if (folder / "CMakeCache.txt").exists()), None
    )
    if pages is None:
        pytest.skip("elsewhere: the program is not in the directory that it was built in")
    build = tmp_path / "build"
    parts = [f"-DIPYBOX_BUILD_{part}=OFF" for part in ("TESTS", "EXAMPLES", "BENCHMARKS")]
    configure = ["-S", str(Path(__file__).parents[2]), "-B", str(build), *parts, "-DCMAKE_BUILD_TYPE=Debug"]
    cmake(*configure, "-DIPYBOX_BUILD_CLI=ON", "-DIPYBOX_INSTALL=ON", "-DIPYBOX_INSTALL_COMPILED=OFF")
    # nothing is built again: what this test is about is there
    shutil.copytree(pages, build / "cli/pages", dirs_exist_ok=True)
    (build / "bin").mkdir(exist_ok=True)
    shutil.copy(BINARY, build / "bin/ipybox")
    cmake("--install", str(build), "--prefix", str(tmp_path / "prefix"))
    for path, arguments in (
        ("share/bash-completion/completions/ipybox", ["completion", "bash"]),
        ("share/zsh/site-functions/_ipybox", ["completion", "zsh"]),
        ("share/fish/vendor_completions.d/ipybox.fish", ["completion", "fish"]),
        ("share/man/man1/ipybox.1", ["man-page"]),
    ):
        assert (tmp_path / "prefix" / path).read_text() == printed(*arguments)


def cmake(*arguments: str) -> None:
    ended = subprocess.run([need("cmake"), *arguments], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stdout + ended.stderr
