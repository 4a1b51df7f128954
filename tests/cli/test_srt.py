"""srt as the sandbox: what is left when something of it is killed, and which hosts its proxies reach."""

from __future__ import annotations

import http.server
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import BUSY, PATIENCE, Program, wait_for
from servers import ECHO, TOOLS, config

#: Reaches a host by the proxy of the environment, which would not be asked for addresses of this machine.
FETCH = """
import os, urllib.request
for name in ("NO_PROXY", "no_proxy"): os.environ.pop(name, None)
try: print(urllib.request.urlopen("{url}", timeout=20).read().decode())
except OSError as error: print(error)
"""


@pytest.fixture
def boxed(program: Program, tmp_path: Path) -> Program:
    """The program with srt."""
    program.sandbox = "srt"
    program.env["XDG_STATE_HOME"] = str(tmp_path.with_name(tmp_path.name + "-state"))
    return program


def pid_of(program: Program, pattern: str) -> int:
    """The first process of the program whose command line begins so."""
    found = [line.split(" ", 1) for line in sorted(program.processes(), key=lambda line: int(line.split(" ", 1)[0]))]
    matching = [int(pid) for pid, command in found if re.match(pattern, command)]
    assert matching, found
    return matching[0]


VICTIMS = {
    "the host": r"\S*ipybox run",
    "the keeper": r"/bin/sh -c # A small parent",
    "the shell around srt": r"/bin/sh -c dir=",
    "srt": r"node .*srt --settings",
    "the shell that srt starts": r"/bin/sh -c bwrap",
    "bwrap": r"bwrap ",
    "a relay of srt": r"socat UNIX-LISTEN",
    "the supervisor": r"\S*python\S* -I -c",
}


@pytest.mark.parametrize("victim", VICTIMS)
def test_nothing_is_left_when_one_is_killed(boxed: Program, victim: str) -> None:
    boxed.write("busy.py", BUSY)
    host = boxed.start("busy.py")
    assert host.stdout
    private = Path(host.stdout.readline().decode().strip()).parent
    assert private.name.startswith("ipybox-srt-")
    assert (boxed.directory / ".bashrc").exists()
    os.kill(pid_of(boxed, VICTIMS[victim]), signal.SIGKILL)
    if victim in ("the keeper", "a relay of srt"):  # without which code goes on
        host.terminate()
    host.communicate(timeout=PATIENCE)
    wait_for(lambda: not boxed.processes())
    wait_for(lambda: not private.exists())
    if victim == "the host":  # its placeholders are removed by the next start
        assert boxed.run("-c", "1").code == 0
    assert [path.name for path in boxed.directory.iterdir()] == ["busy.py"]


def test_tools_are_called_and_their_servers_stay_as_they_are(boxed: Program) -> None:
    (boxed.directory / "servers").mkdir()
    script = Path(boxed.write("servers/server.py", Path(TOOLS["args"][0]).read_text()))
    file = config(boxed, tools={**TOOLS, "args": [str(script)]})
    attack = f"""
for target in ({str(script)!r}, {file!r}, {str(script.parent / "new.py")!r}):
    try: open(target, "a"); print("changed", target)
    except OSError as error: pass
try: print(open({file!r}).read())
except OSError as error: print(error.strerror)
"""
    ended = boxed.run("--mcp-config", file, "--yes", "-c", ECHO + "print(echo('größe'))" + attack)
    assert (ended.code, ended.out) == (0, "größe\nPermission denied\n")


def test_own_files_of_these_names_stay(boxed: Program) -> None:
    boxed.write(".bashrc", "")
    boxed.write(".mcp.json", "{}")
    (boxed.directory / ".vscode").mkdir()
    assert boxed.run("-c", "open('made', 'w').close()").code == 0
    assert sorted(path.name for path in boxed.directory.iterdir()) == [".bashrc", ".mcp.json", ".vscode", "made"]


def test_two_at_a_time_share_placeholders(boxed: Program) -> None:
    boxed.write("busy.py", BUSY)
    first = boxed.start("busy.py")
    assert first.stdout
    first.stdout.readline()
    attack = "\ntry: open('.envrc', 'w')\nexcept OSError as error: print(error.strerror)"
    assert boxed.run("-c", attack).out == "Is a directory\n"
    assert (boxed.directory / ".bashrc").exists()
    first.terminate()
    first.communicate(timeout=PATIENCE)
    assert [path.name for path in boxed.directory.iterdir()] == ["busy.py"]


@pytest.fixture
def web_server() -> Iterator[int]:
    """The port of a server on this machine."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"served")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


def test_hosts_by_name(boxed: Program, web_server: int) -> None:
    url = f"http://127.0.0.1:{web_server}/"
    (boxed.directory / "conf").mkdir()
    allowed = {"allowedDomains": [f"127.0.0.1:{web_server}"], "deniedDomains": []}
    file = boxed.write("conf/sandbox.json", json.dumps({"network": allowed}))
    fetch = FETCH.format(url=url)
    assert boxed.run("--sandbox-config", file, "-c", fetch).out == "served\n"
    assert "403" in boxed.run("-c", fetch).out
    by_command = f"!curl -s --noproxy '' {url}"
    assert boxed.run("--sandbox-config", file, "-c", by_command).out.strip() == "served"


def test_a_variable_that_is_hidden(boxed: Program) -> None:
    file = boxed.write("sandbox.json", json.dumps({"credentials": {"envVars": [{"name": "LANG", "mode": "deny"}]}}))
    boxed.env["LANG"] = "C.UTF-8"
    code = "import os; print(os.environ.get('LANG'))\n!echo ${LANG-none}"
    assert boxed.run("-c", code).out.split() == ["C.UTF-8", "C.UTF-8"]
    assert boxed.run("--sandbox-config", file, "-c", code).out.split() == ["None", "none"]


def test_without_srt_it_is_told_what_to_install(boxed: Program) -> None:
    boxed.env["PATH"] = "/usr/bin:/bin"
    if subprocess.run(["env", "PATH=/usr/bin:/bin", "sh", "-c", "command -v srt"], capture_output=True).returncode == 0:
        pytest.skip("elsewhere: srt is installed for the whole system")
    ended = boxed.run("-c", "1")
    assert ended.code == 3
    assert "npm install -g @anthropic-ai/sandbox-runtime" in ended.err


def test_a_configuration_that_srt_cannot_enforce(boxed: Program) -> None:
    file = boxed.write("sandbox.json", json.dumps({"network": {"allowUnixSockets": ["/run/x"]}}))
    ended = boxed.run("--sandbox-config", file, "-c", "1")
    assert ended.code == 2
    assert "allowUnixSockets, which srt ignores" in ended.err
