"""Directories that code works in: how they are written, the home directory, and what code leaves for the next start."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp_client import Client, Clients
from program import Program, assert_usage_error

WHERE = "import os; print(os.getcwd())"


@pytest.fixture
def at_home(boxed: Program) -> Program:
    """The program with a sandbox, in a directory that is the home directory."""
    boxed.env["HOME"] = str(boxed.directory)
    boxed.env["XDG_STATE_HOME"] = str(boxed.outside / "state")
    return boxed


@pytest.mark.parametrize("spelling", ["~/ws", "$HOME/ws", "${HOME}/ws", "file://{home}/ws"])
def test_spellings_of_a_directory(at_home: Program, spelling: str) -> None:
    (at_home.directory / "ws").mkdir()
    ended = at_home.run("--working-dir", spelling.replace("{home}", str(at_home.directory)), "-c", WHERE)
    assert ended.out.strip() == str(at_home.directory / "ws"), ended.err
    assert [path.name for path in at_home.directory.iterdir()] == ["ws"]


@pytest.mark.parametrize("option", ["--workspace", "--images-dir", "--cache", "--packages"])
@pytest.mark.parametrize("spelling", ["${workspaceFolder}/scratch", "$PWD/ws", "~other/ws", "file:ws"])
def test_no_directory_is_named_like_a_variable(at_home: Program, option: str, spelling: str) -> None:
    ended = at_home.without_sandbox("mcp", option, spelling)
    assert ended.code == 2
    assert f"{option}: '{spelling}'" in ended.err
    assert list(at_home.directory.iterdir()) == []


def test_a_home_that_is_named_needs_an_option(at_home: Program) -> None:
    home = str(at_home.directory)
    for named in (home, str(at_home.directory.parent), "~", "."):
        refused = at_home.run("--working-dir", named, "-c", "1")
        assert refused.code == 2
        assert_usage_error(refused.err, "is your home directory, or one above it", "run")
        assert "add --allow-home" in refused.err
    assert at_home.run("--working-dir", home, "--allow-home", "-c", WHERE).out.strip() == home
    at_home.sandbox = "none"  # there code writes to all of it anyway
    assert at_home.run("--working-dir", "~", "-c", WHERE).out.strip() == home


def test_a_home_that_nobody_named_is_not_written_to(at_home: Program) -> None:
    ended = at_home.run("-c", WHERE + "\nopen('made', 'w').close()")
    assert ended.code == 0, ended.err
    assert "the current directory is your home directory" in ended.err
    private = Path(ended.out.strip())
    assert f"the code works in {private}" in ended.err
    assert (private / "made").exists()
    assert private.stat().st_mode & 0o777 == 0o700
    assert list(at_home.directory.iterdir()) == []


#: Obeyed by programs of the user.
OF_HOME = [
    ".ssh/authorized_keys",
    ".aws/config",
    ".kube/config",
    ".docker/config.json",
    ".bash_logout",
    ".zlogout",
    ".xsessionrc",
    ".pam_environment",
    "bin/ls",
    ".pip/pip.conf",
    ".npmrc",
    ".vimrc",
    ".emacs",
    ".tmux.conf",
    ".gdbinit",
    ".git-credentials",
    ".bashrc",
    ".gitconfig",
]


def test_what_programs_of_the_user_obey_cannot_be_made_in_a_home(at_home: Program) -> None:
    code = f"""
import os
for path in {OF_HOME!r}:
    try: os.makedirs(os.path.dirname(path) or ".", exist_ok=True); open(path, "w").write("x"); print("made", path)
    except OSError: pass
"""
    ended = at_home.run("--working-dir", "~", "--allow-home", "-c", code)
    assert (ended.out, ended.code) == ("", 0), ended.err
    assert list(at_home.directory.iterdir()) == []


LEAVES = {
    "files that other programs take commands from": "os.makedirs(f'd{i}'); open(f'd{i}/.npmrc', 'w').close()",
    "secrets": "os.makedirs(f'd{i}'); open(f'd{i}/.env', 'w').close()",
    "repositories": "os.makedirs(f'r/{i}/.git/objects'); open(f'r/{i}/.git/HEAD', 'w').close()",
}


@pytest.mark.parametrize("what", LEAVES)
def test_what_code_leaves_holds_up_no_start(boxed: Program, what: str) -> None:
    boxed.run("-c", f"import os\nfor i in range(1600): {LEAVES[what]}")
    ended = boxed.run("-c", "open('made', 'w').close(); print('runs')")
    assert (ended.out, ended.code) == ("runs\n", 0), ended.err
    config = boxed.outside / "sandbox.json"
    config.write_text("{}")
    told = boxed.run("--sandbox-config", str(config), "-c", "1")
    assert told.code == 0
    assert "one by one" in told.err or "stay open" in told.err


def test_sessions_have_the_guard_of_a_directory_of_their_own(boxed: Program) -> None:
    client = Client(boxed, "--sessions")
    code = """
import os
for path in ('.envrc', '.mcp.json', '.vscode/x', '.git/config', '.claude/x'):
    try: os.makedirs(os.path.dirname(path) or '.', exist_ok=True); open(path, 'w'); print('made', path)
    except OSError: pass
os.makedirs('r/.git', exist_ok=True)
open('r/.git/HEAD', 'w').close()
try: open('r/.git/config', 'w').write('[core]\\n\\thooksPath = ../../b\\n')
except OSError as error: print(error.strerror)
"""
    assert "made" not in client.call("execute_ipython_cell", code=code, session="a").text
    assert client.close() == 0
    client = Client(boxed, "--sessions")
    written = client.call("execute_ipython_cell", code="print(open('x', 'w').write('12'))", session="b")
    assert written.text == "2"
    assert client.close() == 0
    assert not (boxed.directory / "sessions/a/.envrc").exists()


def test_a_file_in_the_hosts_temporary_directory(boxed: Program, tmp_path_factory: pytest.TempPathFactory) -> None:
    table = tmp_path_factory.mktemp("of_the_host") / "table.csv"
    table.write_text("a,b")
    assert str(table).startswith("/tmp/")
    for code in (f"open({str(table)!r})", f"!cat {table}"):
        assert "[ipybox] /tmp is the sandbox's own here" in boxed.run("-c", code).err


#: pip says this when it tries an index again, which takes seconds.
RETRIES = "Retrying (Retry("


@pytest.mark.parametrize("command", ["!pip", "%pip"])
def test_pip_without_a_place_for_packages(boxed: Program, command: str) -> None:
    ended = boxed.run("--yes", "-c", f"{command} install no-such-package")
    assert "[ipybox] pip reaches no index here" in ended.err
    assert "by the tool install_package of `ipybox mcp`; with `ipybox run --packages DIR`" in ended.err
    assert RETRIES not in ended.out + ended.err


def test_pip_in_a_server_that_lets_it_reach_no_index(boxed: Program, connect: Clients) -> None:
    rules = boxed.outside / "rules.json"
    rules.write_text('{"allow": [{"argv": ["pip", "**"]}], "deny": [{"kind": "network", "reason": "not today"}]}')
    answer = connect("--approve", str(rules)).run("!pip install no-such-package")
    assert "not today" in answer.text
    assert "[ipybox] pip was not let through to an index, as it says above. %pip install, without" in answer.text
    assert answer.text.count(RETRIES) <= 1
