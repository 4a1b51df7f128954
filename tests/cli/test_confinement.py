"""What the code cannot reach: the services of the user, the files that decide about it, and life after its end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from open_interpreter import ORDINARY_USER, open_directory, open_interpreter, open_path
from program import ONE_PIXEL, PATIENCE, PYTHON, Program
from servers import config

#: Speaks the protocol of tmux, and starts no program itself.
TMUX = """
import os, socket, struct
server = socket.socket(socket.AF_UNIX)
server.connect({socket!r})
def send(kind, body=b""):
    server.sendall(struct.pack("<IHHII", kind, 16 + len(body), 0, 8, os.getpid()) + body)
send(111, struct.pack("<Q", 0)); send(101, b"xterm\\0"); send(109, struct.pack("<i", 0)); send(102, b"\\0")
send(108, b"/\\0"); send(107, struct.pack("<i", os.getpid())); send(106)
words = [b"run-shell", b"-b", b"id > {out}"]
send(200, struct.pack("<i", len(words)) + b"".join(word + b"\\0" for word in words))
print(server.recv(200))
"""

#: A server that ends by one of its tools, and is started again by the next call of another.
SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method = message["method"]
    if method == "initialize":
        info = {"name": "pay", "version": "1"}
        result = {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("delete", "list_all")]}
    elif message["params"]["name"] == "delete":
        sys.exit(1)
    else:
        result = {"content": [{"type": "text", "text": "done"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[str]:
    """The path of a tmux server's socket, in a directory that the code may write to."""
    if not shutil.which("tmux"):
        pytest.skip("elsewhere: there is no tmux here")
    path = str(tmp_path / "tm")
    subprocess.run(["tmux", "-S", path, "-f", "/dev/null", "new-session", "-d", "sleep 60"], check=True)
    yield path
    subprocess.run(["tmux", "-S", path, "kill-server"], check=False)


@pytest.mark.parametrize(
    ("sandbox", "guard"),
    [("bubblewrap", []), ("bubblewrap", ["--require-shell-escape"]), ("none", ["--require-shell-escape"])],
)
def test_services_run_nothing_for_the_code(program: Program, tmux: str, sandbox: str, guard: list[str]) -> None:
    program.sandbox = sandbox
    out = program.directory / "out"
    code = TMUX.format(socket=tmux, out=out)
    closed = program.run("--deny", "--approve-shell-cmds", *guard, "-c", code)
    assert closed.code == 1
    assert "PermissionError" in closed.err + closed.out
    assert not out.exists()


def test_services_can_be_opened_again(boxed: Program, tmux: str) -> None:
    out = boxed.directory / "out"
    opened = boxed.run("--deny", "--allow", "unix-sockets", "-c", TMUX.format(socket=tmux, out=out))
    assert opened.code == 0, opened.err
    deadline = time.monotonic() + 5
    while not out.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert out.exists()


class TestFiles:
    """Those that decide about actions, or run on the host."""

    def attack(self, targets: list[str]) -> str:
        """Code that writes to files, and to what it may put in their places."""
        return f"""
import os
for target in {targets!r}:
    for way in (lambda: open(target, 'a').write('x'), lambda: os.rename(target, target + '.old'),
                lambda: os.unlink(target), lambda: os.chmod(target, 0o777), lambda: os.rename('other', target)):
        open('other', 'w').close()
        try: way(); print('CHANGED', target)
        except OSError: pass
"""

    def test_they_stay_as_they_are(self, boxed: Program) -> None:
        boxed.write("server.py", SERVER)
        (boxed.directory / "servers").mkdir()
        boxed.write("servers/clock.py", SERVER)
        file = config(
            boxed,
            pay={"command": "python3", "args": ["server.py"]},
            clock={"command": "python3", "args": ["servers/clock.py"]},
        )
        rules = boxed.write("rules.json", "{}")
        targets = [file, rules, "log.jsonl", "attack.py", "server.py", "servers/clock.py", "servers/new.py"]
        boxed.write("attack.py", self.attack(targets))
        ended = boxed.run("--mcp-config", file, "--approve", rules, "--audit-log", "log.jsonl", "attack.py")
        assert ended.code == 0, ended.err
        assert ended.out == ""
        assert (boxed.directory / "server.py").read_text() == SERVER

    def test_a_server_that_starts_again_is_the_same(self, boxed: Program) -> None:
        boxed.write("server.py", SERVER)
        file = config(boxed, pay={"command": "python3", "args": ["server.py"]})
        code = """
from ipybox_kernel.actions import channel
try: open("server.py", "w").write("open('PWNED', 'w')")
except OSError as error: print(error.strerror)
for tool in ("delete", "list_all"):
    try: channel().call("call", {"server": "pay", "tool": tool}, b"{}")
    except Exception as error: print("failed")
"""
        ended = boxed.run("--mcp-config", file, "--yes", "-c", code)
        assert ended.out.startswith("Read-only file system\nfailed\n"), ended
        assert not (boxed.directory / "PWNED").exists()

    def test_what_cannot_be_protected_is_told(self, boxed: Program) -> None:
        boxed.write("server.py", SERVER)
        file = config(boxed, pay={"command": "python3", "args": ["server.py"]})
        told = boxed.run("--mcp-config", file, "-c", "1")
        directory = os.path.realpath(boxed.directory)
        assert f"warning: the code can change {directory}, which the MCP server pay is started from" in told.err
        (boxed.directory / "work").mkdir()
        assert "warning" not in boxed.run("--mcp-config", file, "--working-dir", "work", "-c", "1").err

    def test_a_file_of_variables_that_code_cannot_read_is_no_warning(self, boxed: Program) -> None:
        """It is in denyRead: neither can code write to it. Some servers read one, others do not."""
        boxed.write(".env", "KEY=hunter2\n")
        server = {"command": "python3", "args": [str(boxed.outside / "server.py")]}
        (boxed.outside / "server.py").write_text(SERVER)
        for more in ({}, {"envFile": ".env"}):
            file = config(boxed, pay=server | more)
            ended = boxed.run("--mcp-config", file, "-c", "try: open('.env', 'w')\nexcept OSError as e: print(e.errno)")
            assert ended.out in ("13\n", "30\n")
            assert ended.err == ""

    @pytest.mark.parametrize("cwd", ["", "servers"], ids=["none", "its own"])
    def test_modules_in_the_directory_of_a_server(self, boxed: Program, cwd: str) -> None:
        """`python -m` imports what lies there before the standard library."""
        (boxed.directory / "servers").mkdir()
        boxed.write(f"{cwd or '.'}/pay.py", SERVER)
        server = {"command": "python3", "args": ["-m", "pay"]} | ({"cwd": "servers"} if cwd else {})
        file = config(boxed, pay=server)
        code = f"""
try: open({cwd!r} + "/json.py" if {cwd!r} else "json.py", "w"); print("written")
except OSError as error: print(error.strerror)
"""
        ended = boxed.run("--mcp-config", file, "--yes", "-c", code)
        directory = os.path.realpath(boxed.directory)
        warning = f"warning: the code can change {directory}, which the MCP server pay is started from"
        assert (ended.out, warning in ended.err) == (("Read-only file system\n", False) if cwd else ("written\n", True))

    def test_configuration_cannot_be_read(self, boxed: Program) -> None:
        server: dict[str, Any] = {"command": "python3", "args": ["server.py"], "env": {"KEY": "hunter2"}}
        boxed.write("server.py", SERVER)
        file = config(boxed, pay=server)
        ended = boxed.run("--mcp-config", file, "-c", f"print(open({file!r}).read())")
        assert ended.code == 1
        assert "PermissionError" in ended.err + ended.out
        assert "hunter2" not in ended.err + ended.out


def test_packages_are_not_written_through_a_link(any_sandbox: Program) -> None:
    """That an earlier run has left in the working directory."""
    (any_sandbox.directory / "outside").mkdir()
    (any_sandbox.directory / "work").mkdir()
    work = ["--working-dir", "work"]
    assert any_sandbox.run(*work, "-c", "import os; os.symlink('../outside', 'mcptools')").code == 0
    ended = any_sandbox.run(*work, "--mcp-config", config(any_sandbox), "-c", "print('ran')")
    assert (ended.code, ended.out) == (1, "")
    assert "work/mcptools is a symbolic link, which code may have made: remove it" in ended.err
    assert list((any_sandbox.directory / "outside").iterdir()) == []


def test_pictures_are_not_written_through_a_link(
    any_sandbox: Program, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """That the code makes where `images` would be."""
    outside = tmp_path_factory.mktemp("outside")
    ended = any_sandbox.run("-c", f"import os; os.symlink({str(outside)!r}, 'images')\n{ONE_PIXEL}")
    assert ended.code == 1
    assert "images is a symbolic link, which code may have made: remove it" in ended.err
    assert list(outside.iterdir()) == []


ORPHAN = """
import os, signal, subprocess
if os.fork() == 0:
    os.closerange(0, 1000); os.setsid()
    while True: pass
subprocess.Popen(['sleep', '6464'], start_new_session=True)
for number in {signals}:
    try: os.kill(os.getppid(), number)
    except PermissionError: pass
"""


@pytest.mark.parametrize("signals", [[], [19], [9], [15]])
@pytest.mark.parametrize("end", [signal.SIGKILL, None], ids=["killed", "ended"])
def test_nothing_outlives_the_program(any_sandbox: Program, signals: list[int], end: int | None) -> None:
    code = ORPHAN.format(signals=signals) + ("" if end is None else "print('ready', flush=True)\nwhile True: pass")
    running = any_sandbox.start("-c", code)
    assert running.stdout
    if end is not None:
        assert running.stdout.read(5) == b"ready"
        running.send_signal(end)
    running.wait(20)
    any_sandbox.assert_all_gone()


def test_the_supervisor_knows_no_site_of_the_user(boxed: Program) -> None:
    boxed.env["HOME"] = str(boxed.directory)
    assert boxed.run("-c", "import sys; sys.flags.no_user_site").out.strip() == "1"


IN_USE = {
    "numpy": "import numpy as np\nprint(np.random.default_rng(0).random((200, 200)).dot(np.ones(200)).shape)",
    "matplotlib": (
        "import io, matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
        "file = io.BytesIO(); plt.savefig(file); plt.close(); print(file.getvalue()[1:4])"
    ),
    "subprocess": "import subprocess\nprint(subprocess.run(['echo', 'x'], capture_output=True, text=True).stdout)",
    "a pipeline": "!echo x | tr x y | cat",
    "%%bash": "%%bash\nfor name in a b; do (echo $name) & wait; done; cat <(echo c)",
    "pip": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-m', 'pip', '--version']).returncode)",
    "!pip": "!pip --version",
    "fork": (
        "import multiprocessing\ncontext = multiprocessing.get_context('fork')\n"
        "with context.Pool(2) as pool: print(pool.map(abs, [-1, -2]))"
    ),
    "spawn": (
        "import multiprocessing\ncontext = multiprocessing.get_context('spawn')\n"
        "with context.Pool(2) as pool: print(pool.map(abs, [-1, -2]))"
    ),
    "threads": "import threading\nfor _ in range(50): threading.Thread(target=print, args=['x']).start()",
    "asyncio": (
        "import asyncio\nprocess = await asyncio.create_subprocess_exec('echo', 'x', stdout=-1)\n"
        "print((await process.communicate())[0])"
    ),
}
SHOWS = {
    "numpy": "(200,)",
    "matplotlib": "b'PNG'",
    "subprocess": "x",
    "a pipeline": "y",
    "%%bash": "a\nb\nc",
    "pip": "pip",
    "!pip": "pip",
    "fork": "[1, 2]",
    "spawn": "[1, 2]",
    "threads": "x",
    "asyncio": "b'x\\n'",
}


@pytest.mark.parametrize("what", IN_USE)
def test_what_people_use_works(boxed: Program, what: str) -> None:
    """Under the base filter, in bubblewrap."""
    ended = boxed.run("--yes", "-c", IN_USE[what])
    assert (ended.code, ended.out.startswith(SHOWS[what])) == (0, True), ended


def test_a_pipe_in_the_place_of_gits_settings_holds_up_no_start(any_sandbox: Program) -> None:
    git = any_sandbox.directory / ".git"
    git.mkdir()
    os.mkfifo(git / "config")
    ended = any_sandbox.run("-c", "print('runs')")
    assert ended.out == "runs\n", ended.err


@pytest.mark.parametrize("sandbox", ["bubblewrap", "srt"])
@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("denyRead", "closed/secret"),
        ("allowRead", "closed/secret"),
        ("denyWrite", "closed/secret"),
        ("denyRead", "work/link"),
        ("allowWrite", "work/rootonly"),
    ],
)
def test_a_path_that_the_user_cannot_reach_costs_no_start(program: Program, sandbox: str, key: str, path: str) -> None:
    program.sandbox = sandbox
    with open_directory() as directory, open_interpreter(PYTHON) as python:
        program.directory = directory / "work"
        program.directory.mkdir()
        if os.getuid() == 0:
            os.chown(program.directory, ORDINARY_USER, ORDINARY_USER)
            program.user = ORDINARY_USER
            program.env = {"HOME": str(program.directory), "PATH": open_path(os.environ["PATH"])}
        closed = [directory / "closed", program.directory / "rootonly"]
        for each in closed:
            each.mkdir()
        (program.directory / "link").symlink_to(closed[0] / "secret")
        rules = {"allowWrite": ["."]}
        rules[key] = [*rules.get(key, []), str(directory / path)]
        configuration = program.write("sandbox.json", json.dumps({"filesystem": rules}))
        for each in closed:
            each.chmod(0)
        ended = program.run("--python", python, "--sandbox-config", configuration, "-c", "print(6 * 7)")
        for each in closed:
            each.chmod(0o700)
    assert ended.out == "42\n", ended.err


@pytest.mark.parametrize("sandbox", ["bubblewrap", "srt"])
def test_a_directory_that_the_user_has_closed_is_not_opened_by_code(program: Program, sandbox: str) -> None:
    program.sandbox = sandbox
    with open_directory() as directory, open_interpreter(PYTHON) as python:
        program.directory = directory / "work"
        (program.directory / "closed").mkdir(parents=True)
        secret = program.write("closed/secret", "SECRET")
        if os.getuid() == 0:
            for path in (program.directory, program.directory / "closed", Path(secret)):
                os.chown(path, ORDINARY_USER, ORDINARY_USER)
            program.user = ORDINARY_USER
            program.env = {"HOME": str(program.directory), "PATH": open_path(os.environ["PATH"])}
        rules = {"denyRead": ["closed/secret"], "allowWrite": ["."]}
        configuration = program.write("sandbox.json", json.dumps({"filesystem": rules}))
        (program.directory / "closed").chmod(0)
        code = "import os; os.chmod('closed', 0o700); print(open('closed/secret').read())"
        ended = program.run("--python", python, "--sandbox-config", configuration, "-c", code)
        (program.directory / "closed").chmod(0o700)
    assert ended.code != 0
    assert "SECRET" not in ended.out


#: Starts a program where a directory can be seen at a second place, too.
MOUNTED_TWICE = 'mount --bind part also && exec "$@"'


def test_a_closed_path_is_closed_under_its_other_names(boxed: Program) -> None:
    namespaces = ["unshare", "--user", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*namespaces, "true"], capture_output=True).returncode:
        pytest.skip("there are no user namespaces")
    for name in ("part", "also"):
        (boxed.directory / name).mkdir()
    for name in ("closed", "fixed", "plain"):
        boxed.write(f"part/{name}", f"{name} text")
    rules = {"denyRead": ["part/closed"], "allowWrite": ["."], "denyWrite": ["part/fixed"]}
    file = boxed.outside / "sandbox.json"
    file.write_text(json.dumps({"filesystem": rules}))
    code = """
for place in "part", "also":
    for name in "closed", "fixed", "plain":
        for mode in "r", "r+":
            try: print(place, name, mode, open(f"{place}/{name}", mode).read())
            except OSError as error: print(place, name, mode, "no")
"""
    command = boxed.arguments("--sandbox-config", str(file), "-c", code)
    started = boxed.start_command([*namespaces, "sh", "-c", MOUNTED_TWICE, "sh", *command])
    out, err = started.communicate(timeout=PATIENCE)
    assert (started.returncode, err) == (0, b"")
    expected = ["closed r no", "closed r+ no", "fixed r fixed text", "fixed r+ no", "plain r plain text"]
    for place in ("part", "also"):
        said = [line.partition(" ")[2] for line in out.decode().splitlines() if line.startswith(place)]
        assert said[:5] == expected
    assert "part plain r+ plain text" in out.decode()
