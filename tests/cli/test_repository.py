"""A repository as the working directory: git works in it, and nothing of the sandbox is staged or committed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_client import Client
from program import Program

#: Names that a run makes in an empty working directory, and one for `.git` itself where there is none.
PLACEHOLDERS = {".claude", ".codex", ".cursor", ".envrc", ".gemini", ".idea", ".mcp.json", ".vscode", ".zed"}

STAYS = "import time; print('up', flush=True); time.sleep(100)"


class Repository:
    """A repository with one commit, and the program with a sandbox in it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.host: subprocess.Popen[bytes] | None = None  # of a run beside which tests look
        self.directory = program.directory
        program.env.update(
            GIT_CONFIG_NOSYSTEM="1",
            HOME=str(program.outside / "home"),
            XDG_STATE_HOME=str(program.outside / "state"),
        )
        (program.outside / "home").mkdir()
        self.git("init", "-q", ".")
        self.git("config", "user.email", "a@example.org")
        self.git("config", "user.name", "A")
        program.write("tracked", "1\n")
        self.git("add", "tracked")
        self.git("commit", "-qm", "first")

    def git(self, *arguments: str) -> str:
        """What git says outside of the sandbox."""
        environment = {**os.environ, **self.program.env}
        ended = subprocess.run(
            ["git", *arguments], cwd=self.directory, env=environment, capture_output=True, text=True, timeout=60
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def inside(self, command: str) -> str:
        """What a command says in the sandbox, with what it says to standard error."""
        ended = self.program.run("--yes", "-c", f"!{command}")
        return ended.out + ended.err

    def names(self) -> set[str]:
        return {path.name for path in self.directory.iterdir()}

    def start(self) -> None:
        """Starts a run that goes on until it is killed."""
        self.host = self.program.start("--deny", "-c", STAYS)
        assert self.host.stdout
        assert self.host.stdout.readline() == b"up\n"

    def kill(self) -> None:
        assert self.host
        self.host.kill()
        self.host.communicate()
        self.program.assert_all_gone()


@pytest.fixture
def repository(boxed: Program) -> Repository:
    return Repository(boxed)


@pytest.fixture
def running(repository: Repository) -> Iterator[Repository]:
    """A repository beside which a run lives."""
    repository.start()
    yield repository
    repository.kill()


STAGING = (
    "git add -A",
    "git add .",
    "git add -A -f .",
    "git stash -u -q; git stash -a -q",
    "git commit -qam x; git add -A",
)


@pytest.mark.parametrize("way", STAGING)
def test_code_stages_nothing_of_the_sandbox(repository: Repository, way: str) -> None:
    look = "git status --porcelain --untracked-files=all; git ls-files; git stash list"
    said = repository.inside(f"({way}) > /dev/null 2>&1; {look}")
    assert said == "tracked\n"
    assert repository.names() == {".git", "tracked"}


@pytest.mark.parametrize("way", STAGING)
def test_the_user_stages_nothing_of_a_run_beside(running: Repository, way: str) -> None:
    assert running.names() == {".git", "tracked"} | PLACEHOLDERS
    assert running.git("status", "--porcelain", "--untracked-files=all") == ""
    for command in way.split("; "):
        subprocess.run(command.split(), cwd=running.directory, capture_output=True, check=False, timeout=60)
    assert running.git("ls-files") == "tracked\n"
    assert running.git("stash", "list") == ""


def test_a_file_that_a_server_closes_is_not_staged(repository: Repository) -> None:
    """`ipybox mcp` closes `.env`, also where it is missing; programs outside may write to it."""
    exclude = repository.directory / ".git/info/exclude"
    before = exclude.read_text()
    client = Client(repository.program)
    client.call("execute_ipython_cell", code="1")
    assert ".env" in repository.names()
    assert repository.git("status", "--porcelain", "--untracked-files=all") == ""
    repository.git("add", "-A")
    assert repository.git("ls-files") == "tracked\n"
    assert client.close() == 0
    assert ".env" not in repository.names()
    assert exclude.read_text() == before


def test_a_secret_that_cannot_be_read_is_passed_over(repository: Repository) -> None:
    repository.program.write(".env", "secret")
    assert "A  new" in repository.inside("echo 2 > new; git add -A && git status --porcelain")


def test_the_daily_commands_work(repository: Repository) -> None:
    said = repository.inside(
        "echo 2 > new && git add . && git commit -qm second && echo 3 >> tracked && echo 4 > untracked && "
        "git stash -q -u && git stash pop -q && git checkout -q -b x && git tag t && git gc -q && git clean -fdq && "
        "git diff --stat && git log --oneline | wc -l && git init -q below && echo done"
    )
    assert said.endswith("2\ndone\n"), said
    assert repository.names() == {".git", "below", "new", "tracked"}
    assert repository.git("status", "--porcelain") == " M tracked\n?? below/\n"


def test_what_git_cannot_do_is_said_in_a_sentence(repository: Repository) -> None:
    closed = "[ipybox] The settings of a repository cannot be changed here, as git starts programs that they name"
    assert closed in repository.inside("git config user.name B; git config user.name")
    assert closed in repository.inside("git remote add origin /elsewhere")
    assert "Read-only file system" in repository.inside("echo x > .git/hooks/pre-commit")


def test_a_repository_is_made_outside(boxed: Program) -> None:
    ended = boxed.run("--yes", "-c", "!git init .")
    assert "[ipybox] No repository can be made here" in ended.out + ended.err
    assert list(boxed.directory.iterdir()) == []


def test_a_worktree_says_what_to_open() -> None:
    """Not below /tmp, which is private in the sandbox."""
    with tempfile.TemporaryDirectory(prefix="ipybox-worktree-", dir=Path.cwd()) as name:
        home = Path(name) / "main"
        home.mkdir()
        repository = Repository(Program(home, sandbox="bubblewrap"))
        linked = Path(name) / "linked"
        repository.git("worktree", "add", "-q", str(linked), "-b", "side")
        commit = (
            "!echo 5 > w; git add w && git -c user.email=a@b -c user.name=A commit -qm w && git log --oneline | wc -l"
        )
        in_it = ("--working-dir", str(linked), "--yes", "-c")
        refused = repository.program.run(*in_it, commit)
        assert f"[ipybox] The repository lies in {home}/.git, where code cannot write" in refused.out + refused.err

        config = Path(name) / "sandbox.json"
        config.write_text(f'{{"filesystem": {{"allowWrite": [".", "{home}/.git"]}}}}')
        open_to_it = ("--sandbox-config", str(config), *in_it)
        opened = repository.program.run(*open_to_it, commit)
        assert (opened.out, opened.code) == ("2\n", 0), opened.err
        hook = repository.program.run(*open_to_it, f"open('{home}/.git/hooks/x', 'w')")
        assert "Read-only file system" in hook.err


def test_settings_elsewhere_cannot_be_named(repository: Repository) -> None:
    """`commondir` would lead git to settings that code has written."""
    assert "Read-only file system" in repository.inside("echo ../evil > .git/commondir")
    assert not (repository.directory / ".git/commondir").exists()


@pytest.mark.parametrize("remover", ["run", "doctor"])
def test_what_a_killed_run_left_is_removed(repository: Repository, remover: str) -> None:
    repository.start()
    repository.kill()
    assert repository.names() == {".git", "tracked"} | PLACEHOLDERS
    elsewhere = repository.program.outside / "elsewhere"
    elsewhere.mkdir()
    if remover == "run":
        repository.program.run("--deny", "--working-dir", str(elsewhere), "-c", "1")
    else:
        said = repository.program.without_sandbox("doctor", "--working-dir", str(elsewhere)).out
        assert f"removed what a killed run left behind: {repository.directory}" in said
    assert repository.names() == {".git", "tracked"}
    assert not (repository.directory / ".git/commondir").exists()


def test_git_works_under_landlock(repository: Repository) -> None:
    repository.program.sandbox = "landlock"
    if "Landlock of ABI 6" in repository.program.run("-c", "1").err:
        pytest.skip("elsewhere: there is no Landlock of ABI 6 here")
    (repository.program.outside / "home/.gitconfig").write_text("[user]\n\tname = B\n")
    said = repository.inside("echo 2 > new; git add -A && git commit -qm second && git log --oneline | wc -l")
    assert said == "2\n"
