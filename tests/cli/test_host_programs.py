"""No program that code has written is started outside of the sandbox, by whichever name the host looks for it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from mcp_client import FORMS, LEGACY, Client, accept
from program import PYTHON, Program
from servers import TESTS, TOOLS, config

#: All that the library and `ipybox doctor` look for on PATH.
NAMES = ["bwrap", "srt", "rg", "socat", "bash", "python3", "python", "node", "npm", "npx", "uv", "uvx"]

#: Leaves programs in a directory, each of which says that it ran, and goes on as what it stands for.
PLANT = """
import os, shutil
os.makedirs({folder!r}, exist_ok=True)
for name in {names!r}:
    real = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin") or "/bin/true"
    with open(os.path.join({folder!r}, name), "w") as file:
        file.write(f'#!/bin/sh\\necho {{name}} >> {evidence}\\nexec {{real}} "$@"\\n')
    os.chmod(os.path.join({folder!r}, name), 0o755)
"""


def plant(program: Program, folder: str) -> str:
    """Code that plants them. The file that would tell of them lies where everything may write."""
    return PLANT.format(folder=folder, names=NAMES, evidence=program.outside / "ran")


def ran(program: Program) -> str:
    evidence = program.outside / "ran"
    return evidence.read_text() if evidence.exists() else ""


@pytest.mark.parametrize("folder", ["bin", "node_modules/.bin", ".cargo/bin", "deep/er/bin"])
def test_programs_planted_in_a_directory_of_path_are_not_started(boxed: Program, folder: str) -> None:
    program = boxed
    where = program.directory / folder
    program.env["PATH"] = f"{where}:{os.environ['PATH']}"
    assert program.run("-c", plant(program, str(where))).code == 0
    assert (where / "bwrap").exists()
    servers = {name: {"command": name, "args": ["--version"]} for name in ("node", "npx", "python3", "uvx")}
    after = program.run("--mcp-config", config(program, **servers), "--yes", "-c", "1")
    assert after.out == "1\n"
    program.without_sandbox("doctor")
    program.env["IPYBOX_PYTHON"] = ""
    program.env["VIRTUAL_ENV"] = ""
    program.run("-c", "1")  # whether or not the python3 of the system has ipykernel
    program.sandbox = "landlock"
    program.run("-c", "1")
    assert ran(program) == ""


def test_a_link_that_code_can_exchange_leads_nowhere(boxed: Program) -> None:
    where = boxed.directory / "tools"
    (boxed.outside / "link").symlink_to(where)
    boxed.env["PATH"] = f"{boxed.outside / 'link'}:{os.environ['PATH']}"
    assert boxed.run("-c", plant(boxed, str(where))).code == 0
    assert boxed.run("-c", "1").out == "1\n"
    assert ran(boxed) == ""


def test_a_directory_that_the_configuration_opens_counts_as_well(boxed: Program) -> None:
    where = boxed.outside / "shared"
    where.mkdir()
    configuration = boxed.write("sandbox.json", json.dumps({"filesystem": {"allowWrite": [".", str(where)]}}))
    boxed.env["PATH"] = f"{where}:{os.environ['PATH']}"
    assert boxed.run("--sandbox-config", configuration, "-c", plant(boxed, str(where))).code == 0
    assert boxed.run("--sandbox-config", configuration, "-c", "1").out == "1\n"
    assert ran(boxed) == ""


def test_the_only_bwrap_is_named_where_code_can_write(boxed: Program) -> None:
    folder = boxed.directory / "bin"
    folder.mkdir()
    real = shutil.which("bwrap")
    assert real
    (folder / "bwrap").symlink_to(real)
    boxed.env["PATH"] = str(folder)
    ended = boxed.run("-c", "1")
    assert ended.code == 3
    assert f"{folder}/bwrap is not used, as code can write there" in ended.err
    assert "choose another working directory" in ended.err


def test_a_script_in_front_of_python_is_run_only_outside_of_the_code(boxed: Program) -> None:
    """As the shims of pyenv are."""
    boxed.env |= {"IPYBOX_PYTHON": "", "VIRTUAL_ENV": ""}
    shim = f'#!/bin/sh\necho shim >> {boxed.outside / "ran"}\nexec {PYTHON} "$@"\n'
    for folder in (boxed.outside / "shims", boxed.directory / "shims"):
        folder.mkdir()
        (folder / "python3").write_text(shim)
        (folder / "python3").chmod(0o755)
        boxed.env["PATH"] = f"{folder}:/usr/bin:/bin"
        ended = boxed.run("-c", "import sys; print(sys.prefix)")
        if folder.parent == boxed.outside:
            assert ended.out == f"{Path(PYTHON).parents[1]}\n"
            (boxed.outside / "ran").unlink()
    assert ran(boxed) == ""
    boxed.env["IPYBOX_PYTHON"] = str(boxed.directory / "shims/python3")
    ended = boxed.run("-c", "1")
    assert ended.code == 3
    assert "is a script where code can write" in ended.err
    assert ran(boxed) == ""


def test_in_one_session_neither_pip_nor_a_server_starts_them(boxed: Program) -> None:
    folder = boxed.directory / "bin"
    boxed.env["PATH"] = f"{folder}:{os.environ['PATH']}"
    script = str(TESTS / "support/tool_server.py")
    rules = boxed.write("rules.json", json.dumps({"allow": [{"kind": "server", "argv": ["python3", script]}]}))
    client = Client(
        boxed, "--package-index", "none", "--approve", rules, capabilities=FORMS, on_question=lambda _: accept()
    )
    client.run(plant(boxed, str(folder)))
    client.call("install_package", package_name="some-package")
    client.call("register_mcp_server", server_name="s", server_params={"command": "python3", "args": [script]})
    assert ran(boxed) == ""
    assert client.close() == 0


def registered(client: Client, name: str, *arguments: str, **more: object) -> bool:
    return not client.call(
        "register_mcp_server",
        server_name=name,
        server_params={"command": PYTHON, "args": list(arguments), **more},
    ).failed


#: Calls a tool, and says what came.
CALL = """
from ipybox_kernel.actions import channel
try:
    for tool in {tools!r}.split():
        said = channel().call("call", {{"server": {server!r}, "tool": tool}}, b'{{"text": "hi"}}')
        print(bytes(said.body).decode())
except Exception as e:
    print("failed:", e)
"""


def call(server: str, tools: str = "echo") -> str:
    return CALL.format(server=server, tools=tools)


#: A server that ends when it is told to.
MORTAL = """
import json, sys
names = ("echo", "die")
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    what, r = m.get("method"), {}
    if what == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}},
             "serverInfo": {"name": "mortal", "version": "1"}}
    if what == "tools/list": r = {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in names]}
    if what == "tools/call":
        if m["params"]["name"] == "die": sys.exit(3)
        r = {"content": [{"type": "text", "text": "hi"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""


def own_server(directory: Path) -> Path:
    """A server that is started from a script of its own."""
    script = directory / "server.py"
    script.write_text(MORTAL)
    return script


EXPLOIT = """
s = open({script!r}).read()
open({script!r}, "w").write("open({evidence!r}, 'w').write('x')\\n" + s)
"""


class TestFilesThatChange:
    """A server is not started from files that are others than those that were approved."""

    @pytest.mark.parametrize("where", ["workspace", "home", "sessions", "shared"])
    def test_a_script_that_code_rewrites(self, boxed: Program, where: str) -> None:
        folder = {"sessions": boxed.directory / "sessions/a", "shared": boxed.outside}.get(where, boxed.directory)
        folder.mkdir(parents=True, exist_ok=True)
        script = own_server(folder)
        named = f"${{HOME}}/{boxed.directory.name}/server.py" if where == "home" else str(script)
        if where == "home":
            boxed.env |= {"HOME": str(boxed.directory.parent)}
        options = {"sessions": ["--sessions"]}.get(where, [])
        if where == "shared":
            text = json.dumps({"filesystem": {"allowWrite": [".", str(boxed.outside)]}})
            options = ["--sandbox-config", boxed.write("sandbox.json", text)]
        session = {"session": "a"} if where == "sessions" else {}
        decision = ["accept"]
        client = Client(boxed, *options, version=LEGACY, capabilities=FORMS, on_question=lambda _: accept(decision[-1]))
        client.call("execute_ipython_cell", code="1", **session)
        assert registered(client, "own", named)
        assert "Attention: the Python code can change files" in client.questions[-1]["message"]
        assert "server.py" in client.questions[-1]["message"]
        assert f"Its program is:\n\n    {PYTHON}" in client.questions[-1]["message"]
        code = EXPLOIT.format(script=str(script), evidence=str(boxed.outside / "ran"))
        client.call("execute_ipython_cell", code=code, **session)
        client.call("execute_ipython_cell", code=call("own", "die"), **session)
        refused = client.call("execute_ipython_cell", code=call("own"), **session)
        assert "is not started" in refused.text
        assert ran(boxed) == ""
        decision.append("reject")
        assert not registered(client, "again", named)
        assert "server.py has changed" in client.questions[-1]["message"]
        assert client.close() == 0
        assert ran(boxed) == ""

    def test_a_module_beside_the_script_of_a_configured_server(self, boxed: Program) -> None:
        folder = boxed.outside / "shared"
        folder.mkdir()
        script = own_server(folder)
        sandbox = boxed.write("sandbox.json", json.dumps({"filesystem": {"allowWrite": [".", str(folder)]}}))
        servers = config(boxed, own={"command": PYTHON, "args": [str(script)]})
        evil = f"open({str(boxed.outside / 'ran')!r}, 'w')"
        planted = f"open({str(folder / 'json.py')!r}, 'w').write({evil!r})\n"
        cell = boxed.write("cell.py", call("own") + planted + call("own", "die") + call("own"))
        ended = boxed.run("--sandbox-config", sandbox, "--mcp-config", servers, "--yes", cell)
        assert (folder / "json.py").exists()
        assert "hi" in ended.out.splitlines()[0]
        assert f"is not started: {folder}/json.py is new" in ended.out
        assert ran(boxed) == ""
        assert "can change" in ended.err

    def test_a_file_that_options_of_node_name_is_read_only(self, boxed: Program) -> None:
        hook = boxed.directory / "hook.js"
        hook.write_text("//")
        own = {"command": PYTHON, "args": [str(own_server(boxed.outside))]}
        servers = config(boxed, own={**own, "env": {"NODE_OPTIONS": f"--require {hook}"}})
        ended = boxed.run("--mcp-config", servers, "--yes", "-c", "open('hook.js', 'w')")
        assert "Read-only file system" in ended.err

    def test_an_unchanged_server_and_data_beside_it_are_no_matter(self, boxed: Program) -> None:
        script = own_server(boxed.directory)
        client = Client(boxed, version=LEGACY, capabilities=FORMS, on_question=lambda _: accept("accept_always"))
        client.run("1")
        assert registered(client, "own", str(script))
        client.run("open('data.json', 'w').write('{}'); open('notes.txt', 'w').write('x')")
        client.run("import os; os.makedirs('__pycache__', exist_ok=True); open('__pycache__/x.pyc', 'w').write('x')")
        client.call("reset")
        assert "hi" in client.run(call("own")).text
        asked = len([q for q in client.questions if "server registration" in q["message"]])
        assert registered(client, "own", str(script))
        assert len([q for q in client.questions if "server registration" in q["message"]]) == asked
        assert client.close() == 0


class TestNames:
    """A name that is registered is another program's only where that was said."""

    def test_a_rule_without_a_name_replaces_none(self, boxed: Program) -> None:
        words = [TOOLS["command"], *TOOLS["args"], "other"]
        rules = boxed.write(
            "rules.json", json.dumps({"allow": [{"kind": "server", "argv": words}, {"tool": "github.*"}]})
        )
        servers = config(boxed, github=TOOLS)
        client = Client(
            boxed,
            "--approve",
            rules,
            "--mcp-config",
            servers,
            version=LEGACY,
            capabilities=FORMS,
            on_question=lambda _: accept("reject"),
        )
        client.run("1")
        assert registered(client, "free", *words[1:])
        assert client.questions == []
        assert not registered(client, "github", *words[1:])
        message = client.questions[-1]["message"]
        assert "It replaces the server that has this name" in message
        assert TOOLS["args"][0] in message
        assert client.close() == 0

    def test_a_rule_that_names_it_does(self, boxed: Program) -> None:
        words = [TOOLS["command"], *TOOLS["args"], "other"]
        rule = {"kind": "server", "server": "github", "argv": words}
        rules = boxed.write("rules.json", json.dumps({"allow": [rule]}))
        client = Client(boxed, "--approve", rules, "--mcp-config", config(boxed, github=TOOLS))
        client.run("1")
        assert registered(client, "github", *words[1:])
        assert client.close() == 0

    def test_grants_end_with_the_server(self, boxed: Program) -> None:
        client = Client(boxed, version=LEGACY, capabilities=FORMS, on_question=lambda _: accept("accept_always"))
        client.run("1")
        assert registered(client, "notes", *TOOLS["args"])
        client.run(call("notes"))
        client.run(call("notes"))
        calls = [q for q in client.questions if "tool call notes.echo" in q["message"]]
        assert len(calls) == 1
        assert registered(client, "notes", *TOOLS["args"], "other")
        client.run(call("notes"))
        calls = [q for q in client.questions if "tool call notes.echo" in q["message"]]
        assert len(calls) == 2
        assert client.close() == 0
