"""What a configuration of the sandbox opens and closes for code in a kernel, and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from program import BINARY, Program, Terminals

#: Says of each path what the code can do with it.
RIGHTS = """
import os, sys
def rights(path):
    found = ""
    try:
        with open(path) as file: found += "r" if file.read() else ""
    except OSError: pass
    try:
        with open(path, "a"): found += "w"
    except OSError: pass
    return found or "-"
for path in sys.argv[1:]: print(path, rights(path))
"""

#: Says that it runs, waits to be told to go on, and tries to make a file that it must not make.
WAITS_AND_WRITES = """
import os, time
print("ready", flush=True)
while not os.path.exists("go"): time.sleep(0.01)
open(".envrc", "w")
"""


@pytest.fixture
def project(program: Program) -> Program:
    """A project in a home directory, in bubblewrap."""
    program.sandbox = "bubblewrap"
    home = program.directory
    program.env |= {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    program.directory = home / "project"
    program.directory.mkdir()
    return program


def write(project: Program, *names: str) -> None:
    for name in names:
        path = project.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")


def configured(project: Program, config: object) -> str:
    """An option that names a file with this configuration, out of the code's reach."""
    file = project.directory.parent / "sandbox.json"
    file.write_text(json.dumps(config))
    return f"--sandbox-config={file}"


def rights(project: Program, *arguments: str) -> list[str]:
    """`arguments`: options of the program, then the paths."""
    options = [word for word in arguments if word.startswith("--")]
    paths = [word for word in arguments if not word.startswith("--")]
    ended = project.run(*options, "--deny", project.write("rights.py", RIGHTS), "--", *paths)
    assert ended.code == 0, ended.err
    return ended.out.splitlines()


def test_by_default_code_reads_no_secrets(project: Program) -> None:
    write(project, ".env", "sub/.env", "sub/other", "../.ssh/id")
    seen = rights(project, ".env", "sub/.env", "sub/other", "../.ssh/id")
    assert seen == [".env -", "sub/.env -", "sub/other rw", "../.ssh/id -"]
    shell = project.run("--deny", "-c", "!cat .env || echo refused")
    assert "text" not in shell.out
    assert "refused" in shell.out


def test_a_configuration_opens_and_closes(project: Program) -> None:
    write(project, "in", ".env", "secret/key", "secret/public", "out/x", "out/keep")
    option = configured(
        project,
        {
            "network": {"allowedDomains": []},
            "filesystem": {
                "denyRead": ["secret"],
                "allowRead": ["secret/public"],
                "allowWrite": ["out"],
                "denyWrite": ["out/keep"],
            },
        },
    )
    seen = rights(project, option, "in", ".env", "secret/key", "secret/public", "out/x", "out/keep")
    assert seen == ["in r", ".env r", "secret/key -", "secret/public r", "out/x rw", "out/keep r"]


def test_what_other_programs_take_commands_from_cannot_be_made(project: Program) -> None:
    code = """
import os
for path in (".git/config", ".envrc", ".vscode/tasks.json", ".claude/commands/x.md"):
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        open(path, "w").write("evil")
        print("made", path)
    except OSError as error:
        print(type(error).__name__)
!git init -q . && echo made || echo refused
"""
    ended = project.run("--deny", "-c", code)
    assert ended.code == 0, ended.err
    assert "made" not in ended.out
    assert ended.out.endswith("refused\n")
    assert list(project.directory.iterdir()) == []  # placeholders are gone


def test_a_killed_host_leaves_no_placeholders_after_the_next_start(project: Program) -> None:
    process = subprocess.Popen(
        project.arguments("--deny", "-c", "print('ready', flush=True)\nimport time; time.sleep(60)"),
        cwd=project.directory,
        env=project.environment(),
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    assert (project.directory / ".envrc").exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    project.assert_all_gone()
    elsewhere = project.directory.parent / "elsewhere"
    elsewhere.mkdir()
    project.run("--deny", "--working-dir", str(elsewhere), "-c", "1")
    assert list(project.directory.iterdir()) == []
    assert list(elsewhere.iterdir()) == []


def test_two_runs_of_one_directory_share_its_placeholders(project: Program) -> None:
    first = subprocess.Popen(
        project.arguments("--deny", "-c", WAITS_AND_WRITES),
        cwd=project.directory,
        env=project.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    assert first.stdout
    assert first.stdout.readline() == b"ready\n"
    assert project.run("--deny", "-c", "1").code == 0
    assert (project.directory / ".envrc").exists()
    write(project, "go")
    _, err = first.communicate(timeout=30)
    (project.directory / "go").unlink()
    assert b"Is a directory" in err
    assert list(project.directory.iterdir()) == []


def test_the_configuration_itself_cannot_be_changed(project: Program) -> None:
    file = project.write("sandbox.json", "{}")
    ended = project.run("--sandbox-config", file, "--deny", "-c", "open('sandbox.json', 'w')")
    assert ended.code == 1
    assert "OSError" in ended.err
    assert Path(file).read_text() == "{}"


GET = """
import urllib.request, urllib.error
try:
    print(urllib.request.urlopen("http://%s/", timeout=60).status)
except urllib.error.HTTPError as error:
    print(error.read().decode())
"""


def test_hosts_by_name(project: Program) -> None:
    network = {"allowedDomains": ["10.1.2.3"], "deniedDomains": ["bad.test"]}
    file = configured(project, {"network": network})
    ended = project.run(file, "--approve", "deny", "-c", GET % "10.1.2.3")
    assert "10.1.2.3 leads to " in ended.out
    assert "an address of this machine" in ended.out
    denied = project.run(file, "--approve", "deny", "-c", GET % "bad.test")
    assert "the connection to bad.test:80 is rejected: the sandbox's configuration denies it" in denied.out
    asked = project.run(file, "--approve", "deny", "-c", GET % "other.test")
    assert "the connection to other.test:80 is rejected" in asked.out


def test_hosts_on_the_command_line(project: Program) -> None:
    ended = project.run("--allow-host", "10.1.2.3", "--json", "--approve", "deny", "-c", GET % "other.test")
    events = [json.loads(line) for line in ended.out.splitlines()]
    question = next(event for event in events if event["event"] == "approval")
    assert (question["kind"], question["host"], question["port"], question["protocol"]) == (
        "network",
        "other.test",
        80,
        "http",
    )
    assert "leads to" in project.run("--allow-host", "10.1.2.3", "-c", GET % "10.1.2.3").out
    wrong = project.run("--allow-host", "*.org", "-c", "1")
    assert wrong.code == 2
    assert "it needs two labels" in wrong.err
    command = [BINARY, "run", "--sandbox", "none", "--allow-host", "a.test", "-c", "1"]
    useless = subprocess.run(command, capture_output=True, text=True)
    assert useless.returncode == 2
    assert "--allow-host has no effect" in useless.stderr


def test_a_wrong_configuration_is_told_with_its_line(project: Program) -> None:
    file = project.write("sandbox.json", '{\n  "filesystem": {\n    "denyReed": []}}')
    ended = project.run("--sandbox-config", file, "-c", "1")
    assert ended.code == 2
    assert f"{file}:3: filesystem/denyReed: no such member is known here; did you mean denyRead?" in ended.err
    sockets = project.run(configured(project, {"network": {"allowUnixSockets": ["/run/x"]}}), "-c", "1")
    assert sockets.code == 2
    assert "network/allowUnixSockets" in sockets.err
    devices = project.run(configured(project, {"devices": ["nvidia"]}), "-c", "1")
    assert devices.code == 2
    assert "names the device nvidia, but there is no /dev/nvidiactl" in devices.err
    none = subprocess.run(
        [BINARY, "run", "--sandbox", "none", "--sandbox-config", file, "-c", "1"], capture_output=True, text=True
    )
    assert none.returncode == 2
    assert "has no effect with --sandbox none" in none.stderr


def test_what_has_no_effect_is_told(project: Program) -> None:
    write(project, ".env")
    os.link(project.directory / ".env", project.directory / "copy")
    ended = project.run(
        configured(project, {"allowPty": True, "filesystem": {"allowWrite": [".", "none"]}}), "-c", "print(1)"
    )
    assert ended.out == "1\n"
    assert "ipybox: sandbox: allowPty is meant for macOS" in ended.err
    assert "allowWrite none has no effect" in ended.err
    assert "/.env has further names (hard links)" in ended.err


def test_a_host_is_asked_for_at_the_terminal(project: Program, on_terminal: Terminals) -> None:
    """Always means this host, whichever the port."""
    get = GET % "no-such-host.invalid"
    terminal = on_terminal("--allow-host", "a.test", "-c", get + get.replace(".invalid/", ".invalid:8080/"))
    terminal.expect(r"\| network connection no-such-host\.invalid port 80 by http")
    terminal.expect(r"\[y\]es, \[n\]o, \[a\]lways for this host in this session, or why not: ")
    terminal.type("a\n")
    terminal.expect("no-such-host.invalid is not found")
    terminal.expect("no-such-host.invalid is not found")
    assert terminal.wait() == 0


def test_a_working_directory_may_be_relative_and_what_is_named_itself_is_opened(project: Program) -> None:
    write(project, ".git/HEAD", ".git/hooks/sample", ".github/workflows/test.yml", ".husky/pre-commit")
    config = {"filesystem": {"allowWrite": [".", ".git/hooks", ".github/workflows"]}}
    paths = (".git/hooks/sample", ".github/workflows/test.yml", ".husky/pre-commit")
    seen = rights(project, configured(project, config), "--working-dir=.", *paths)
    assert seen == [".git/hooks/sample rw", ".github/workflows/test.yml rw", ".husky/pre-commit r"]
