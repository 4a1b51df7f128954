"""`ipybox mcp --sessions`: several kernels for one client, with walls between them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp_client import FORMS, LEGACY, Client, Clients, accept
from program import Program, wait_for
from servers import ECHO, TOOLS, config

#: Of the tools, those that are about one session.
OF_SESSIONS = ["execute_ipython_cell", "reset", "cell_output", "wait_for_cell", "interrupt_cell"]

SLEEP = "print('begun')\nimport time; time.sleep(1000)"


@pytest.fixture
def connect(boxed: Program, connect: Clients) -> Clients:
    """Starts servers with sessions, in bubblewrap."""
    return partial(connect, "--sessions")


def children(pid: int) -> list[int]:
    return [
        int(word) for task in Path(f"/proc/{pid}/task").iterdir() for word in (task / "children").read_text().split()
    ]


def begin(client: Client, code: str, session: str) -> Any:
    return client.begin_call("execute_ipython_cell", {"code": code, "session": session})


def test_only_with_the_option_do_tools_have_sessions(connect: Clients, boxed: Program) -> None:
    def with_session(client: Client) -> list[str]:
        tools = client.request("tools/list")["tools"]
        return [tool["name"] for tool in tools if "session" in tool["inputSchema"]["properties"]]

    client = connect()
    assert with_session(client) == OF_SESSIONS
    assert str(boxed.directory / "sessions/NAME") in client.initialized["instructions"]
    assert len(boxed.processes()) == 1  # no kernel, no runtime
    plain = Client(boxed)
    assert with_session(plain) == []
    assert plain.run("1", session="a").failed
    assert plain.close() == 0


def test_each_has_variables_and_cells_of_its_own(connect: Clients, era: str) -> None:
    client = connect(version=era)
    client.run("x = 'of default'")
    client.run("x = 'of a'", session="a")
    assert client.run("x").text == "'of default'"
    assert client.run("x", session="default").text == "'of default'"
    assert client.run("x", session="a").text == "'of a'"
    assert "NameError" in client.run("x", session="b").text
    assert client.call("cell_output", session="a").text == "'of a'\n"
    assert client.call("cell_output", id="1", session="b").value["status"] == "error"
    assert client.call("cell_output", id="3").value["status"] == "ok"


def test_names_are_checked(connect: Clients) -> None:
    client = connect()
    for name in ("", "../x", "a/b", ".", "-a", "a b", "ä", "x" * 65):
        answer = client.run("1", session=name)
        assert answer.failed
        assert "session must be a name" in answer.text
    assert client.run("1", session="x" * 64).text == "1"


def test_calls_about_cells_begin_no_session(connect: Clients) -> None:
    client = connect()
    for tool in ("cell_output", "wait_for_cell", "interrupt_cell"):
        assert "no cell was executed yet" in client.call(tool, session="a").text
    client.run("1", session="a")
    answer = client.call("wait_for_cell", session="b")
    assert answer.failed
    assert 'there is no session "b": there are "a"' in answer.text


def test_a_session_writes_into_its_directory_alone(connect: Clients, boxed: Program) -> None:
    boxed.write("data.csv", "1,2")
    (boxed.directory / "secret").mkdir()
    boxed.write("secret/.env", "TOKEN=hush")
    boxed.write(".env", "TOKEN=hush")
    client = connect()
    client.run("open('mine', 'w').write('of a')", session="a")
    assert (boxed.directory / "sessions/a/mine").read_text() == "of a"
    probe = f"""
import os, pathlib
top = pathlib.Path({str(boxed.directory)!r})
def can(what):
    try: return what()
    except OSError as error: return type(error).__name__
mine = [name for name in os.listdir('.') if name == '.cache' or os.access(name, os.W_OK)]
print(os.getcwd() == str(top / 'sessions/b'), mine, os.listdir('..'))
print(can((top / 'data.csv').read_text))
print(can((top / 'sessions/a/mine').read_text), os.path.exists('../a'), os.path.lexists(top / 'sessions/a'))
print(can(lambda: (top / 'made').write_text('')), can(lambda: (top / 'sessions/made').write_text('')))
print(can((top / '.env').read_text), can((top / 'secret/.env').read_text))
print(can(lambda: os.listdir(top)) if True else '')
"""
    lines = client.run(probe, session="b").text.splitlines()
    assert lines[0] == "True ['.cache'] ['b']"
    assert lines[1] == "1,2"
    assert lines[2] == "FileNotFoundError False False"
    assert lines[3] == "OSError OSError"
    assert "hush" not in lines[4]
    assert "data.csv" in lines[5]


def test_kernels_do_not_see_each_other(connect: Clients) -> None:
    client = connect()
    client.run("import subprocess; sleeping = subprocess.Popen(['sleep', '4321'])", session="a")
    client.run("open('/tmp/a', 'w').close(); import socket; s = socket.create_server(('127.0.0.1', 7777))", session="a")
    code = """
import os, pathlib, socket
running = [path.read_text() for path in pathlib.Path('/proc').glob('[0-9]*/cmdline')]
print(any('4321' in words for words in running), os.path.exists('/tmp/a'))
try: socket.create_connection(('127.0.0.1', 7777), timeout=5)
except OSError as error: print(type(error).__name__)
else: print('connected')
"""
    assert client.run(code, session="a").text == "True True\nconnected"
    assert client.run(code, session="b").text == "False False\nConnectionRefusedError"


def test_cells_of_several_run_at_the_same_time(connect: Clients, era: str) -> None:
    client = connect(version=era)
    waiting = begin(client, SLEEP, "a")
    wait_for(lambda: "begun" in client.call("cell_output", session="a").text)
    assert client.run("6 * 7", session="b").text == "42"
    assert client.run("6 * 7").text == "42"
    # Those of one session wait for each other.
    behind = client.run("1", session="a", wait_seconds=0)
    assert behind.value["status"] == "waiting"
    assert 'wait_for_cell(id="2", session="a")' in behind.text
    assert client.call("interrupt_cell", id="1", session="a").text.endswith("KeyboardInterrupt")
    assert client.finish_call(waiting, "execute_ipython_cell").failed
    assert client.call("wait_for_cell", id="2", session="a").text == "1"


def test_a_cancelled_call_ends_the_cell_of_its_session(connect: Clients, era: str) -> None:
    client = connect(version=era)
    client.run("x = 1", session="b")
    pending = begin(client, SLEEP, "a")
    wait_for(lambda: "begun" in client.call("cell_output", session="a").text)
    other = begin(client, SLEEP, "b")
    wait_for(lambda: "begun" in client.call("cell_output", session="b").text)
    client.cancel(pending)
    after = client.run("2", session="a")
    assert after.text.startswith("2\n")
    assert 'cell_output(id="1", session="a") has what it printed' in after.text
    assert client.call("cell_output", id="2", session="b").value["status"] == "running"
    client.call("interrupt_cell", session="b")
    assert "KeyboardInterrupt" in client.finish_call(other, "execute_ipython_cell").text
    assert client.run("x", session="b").text == "1"


def test_a_reset_leaves_the_others(connect: Clients) -> None:
    client = connect()
    for session in ("a", "b"):
        client.run("x = 1; open('kept', 'w').close()", session=session)
    assert not client.call("reset", session="a").failed
    assert "NameError" in client.run("x", session="a").text
    assert client.run("import os; os.path.exists('kept')", session="a").text == "True"
    assert client.run("x", session="b").text == "1"


def test_a_kernel_that_died_leaves_the_others(connect: Clients) -> None:
    client = connect()
    client.run("x = 1", session="b")
    assert client.run("import os; os._exit(3)", session="a").value["status"] == "kernel_died"
    assert "fresh kernel" in client.run("1 + 1", session="a").text
    assert client.run("x", session="b").text == "1"


def test_a_sandbox_that_has_ended_is_replaced(connect: Clients) -> None:
    client = connect()
    for session in ("a", "b"):
        client.run("x = 1", session=session)
    (sandbox,) = children(client.process.pid)
    (supervisor,) = children(sandbox)
    os.kill(supervisor, signal.SIGKILL)
    wait_for(lambda: "NameError" in client.run("x", session="a").text)
    after = client.run("'x' in globals()", session="b")
    assert after.text == 'False\n\n[the session "b" has ended with the sandbox of all sessions: its variables are gone]'


def test_a_session_that_is_idle_is_ended_and_that_is_told(connect: Clients, boxed: Program) -> None:
    client = connect("--session-idle", "4.5")
    code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.1)\nprint('late')"
    client.run(code, session="b", wait_seconds=0)  # a cell keeps its session
    client.run("x = 1", session="a")
    wait_for(lambda: any("session a: ended, as it was idle" in line for line in client.errors))
    gone = client.call("cell_output", session="a")
    assert 'the session "a" was idle for 4.5 s and has been ended: its variables are gone' in gone.text
    waiting = client.begin_call("wait_for_cell", {"session": "b", "wait_seconds": 60})
    (boxed.directory / "sessions/b/go").touch()
    assert client.finish_call(waiting, "wait_for_cell").text == "late"
    after = client.run("print('x' in globals())", session="a")
    assert after.text == 'False\n\n[the session "a" was idle for 4.5 s and has been ended: its variables are gone]'
    assert client.run("1", session="a").text == "1"  # told once


def test_an_idle_session_leaves_no_process(connect: Clients, boxed: Program) -> None:
    client = connect("--session-idle", "0.5")
    code = "import subprocess; left = subprocess.Popen(['sleep', '1000']); left.poll() is None"
    assert client.run(code, session="a").text == "True"
    wait_for(lambda: any("session a: ended, as it was idle" in line for line in client.errors))
    wait_for(lambda: not any("sleep 1000" in process for process in boxed.processes()))
    assert client.process.poll() is None


def test_so_many_sessions_and_one_more(connect: Clients) -> None:
    client = connect()
    for number in range(16):
        assert client.run(str(number), session=f"s{number}").text == str(number)
    refused = client.run("1", session="one-more")
    assert refused.failed
    assert "16 sessions are open, and no more can be: " in refused.text
    assert '"s15"' in refused.text
    assert "reset(session=NAME) empties it. A session that is idle for 3600 s is ended" in refused.text
    assert client.run("1").text == "1"  # the default one has its place
    assert client.run("1", session="s3").text == "1"


def test_a_place_is_free_again_when_a_session_has_ended(connect: Clients) -> None:
    client = connect("--session-idle", "2")
    for number in range(16):
        client.run("1", session=f"s{number}", wait_seconds=0)
    wait_for(lambda: not client.run("1", session="one-more").failed)


def test_a_registered_server_is_that_of_all(connect: Clients, boxed: Program, era: str) -> None:
    client = connect("--approve", "auto", version=era)
    client.run("1", session="before")
    answer = client.call("register_mcp_server", server_name="tools", server_params=TOOLS)
    assert not answer.failed, answer.text
    for session in ("before", "default", "behind"):
        assert client.run(ECHO + f"print(echo({session!r}))", session=session).text == session
    client.call("reset", session="before")
    assert client.run(ECHO + "print(echo('again'))", session="before").text == "again"
    servers = [process for process in boxed.processes() if "tool_server.py" in process]
    assert len(servers) == 1


def test_configured_servers_are_those_of_all(connect: Clients, boxed: Program) -> None:
    client = connect("--mcp-config", config(boxed, tools=TOOLS), "--approve", "auto")
    for session in ("a", "b"):
        assert client.run(ECHO + "print(echo('x'))", session=session).text == "x"
        assert (boxed.directory / f"sessions/{session}/mcptools/tools/echo.py").exists()
    assert not (boxed.directory / "mcptools").exists()


def test_a_package_is_that_of_all(connect: Clients, boxed: Program) -> None:
    wheels = boxed.directory.parent / f"{boxed.directory.name}-wheels"
    script = Path(__file__).parents[1] / "support/write_wheels.py"
    subprocess.run([sys.executable, str(script), str(wheels)], check=True)
    client = connect("--approve", "auto", "--package-index", "none", "--package-wheels", str(wheels))
    client.run("1", session="a")
    assert not client.call("install_package", package_name="ipybox-tiny", version="1.0").failed
    for session in ("a", "b"):
        assert client.run("import ipybox_tiny; ipybox_tiny.version", session=session).text == "'1.0'"


def test_a_cell_of_a_session_as_a_task(connect: Clients) -> None:
    client = connect(version=LEGACY)
    arguments = {"code": "import time; time.sleep(1); print('done')", "session": "a"}
    task = client.request("tools/call", {"name": "execute_ipython_cell", "arguments": arguments, "task": {}})["task"]
    assert client.run("1", session="b").text == "1"
    result = client.request("tasks/result", {"taskId": task["taskId"]})
    assert result["content"][0]["text"] == "done"
    assert client.call("cell_output", session="a").text == "done\n"


def test_the_user_reads_who_asks_and_grants_one_session_alone(connect: Clients, boxed: Program, era: str) -> None:
    client = connect(
        "--mcp-config",
        config(boxed, tools=TOOLS),
        version=era,
        capabilities=FORMS,
        on_question=lambda _: accept("accept_always"),
    )
    call = ECHO + "print(echo('x'))"
    for session in ("a", "a", "b", "b"):
        assert client.run(call, session=session).text == "x"
    assert [question["message"].partition(" wants")[0] for question in client.questions] == [
        "The Python code of the session `a`",
        "The Python code of the session `b`",
    ]


def test_the_audit_log_names_the_session_that_asks(connect: Clients, boxed: Program, tmp_path: Path) -> None:
    log = tmp_path.parent / f"{tmp_path.name}-audit.jsonl"
    client = connect("--approve", "auto", "--audit-log", str(log))
    client.run("!true", session="a")
    client.run("!true")
    client.call("register_mcp_server", server_name="other", server_params=TOOLS)
    client.run("!true", session="b")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    requests = [record for record in records if record["record"] == "request"]
    assert [(request["kind"], request["session"]) for request in requests] == [
        ("shell", "a"),
        ("shell", "default"),
        ("server", "default"),
        ("shell", "b"),
    ]
    assert len({request["run"] for request in requests}) == 1


def test_questions_of_several_sessions_are_open_at_once(connect: Clients, boxed: Program) -> None:
    client = connect(
        "--mcp-config",
        config(boxed, tools=TOOLS),
        version=LEGACY,
        capabilities=FORMS,
        on_question=lambda question: accept("accept" if "session `a`" in question["message"] else "reject"),
    )
    calls = {session: begin(client, ECHO + "print(echo('x'))", session) for session in ("a", "b")}
    assert client.finish_call(calls["a"], "execute_ipython_cell").text == "x"
    assert "ApprovalRejectedError" in client.finish_call(calls["b"], "execute_ipython_cell").text


def test_images_and_long_output_are_those_of_the_session(connect: Clients, boxed: Program) -> None:
    from program import ONE_PIXEL

    client = connect()
    (image,) = client.run(ONE_PIXEL, session="a").value["images"]
    assert Path(image).parent == boxed.directory / "sessions/a/images"
    client.run("for i in range(11): print('x' * 1_000_000)", session="a")
    assert len(list((boxed.directory / "sessions/a/output").iterdir())) == 1
    assert visible(boxed.directory / "sessions") == ["a"]


def test_paths_of_a_configuration_begin_at_the_workspace(connect: Clients, boxed: Program) -> None:
    for name in ("shared", "closed"):
        (boxed.directory / name).mkdir()
    boxed.write("closed/file", "secret")
    settings = boxed.write(
        "sandbox.json", '{"filesystem": {"allowWrite": [".", "shared"], "denyRead": ["closed", "**/*.key"]}}'
    )
    boxed.write("a.key", "secret")
    client = connect("--sandbox-config", settings)
    client.run("open('../../shared/x', 'w').write('of a')", session="a")
    assert client.run("open('../../shared/x').read()", session="b").text == "'of a'"
    for path in ("../../closed/file", "../../a.key"):
        assert "secret" not in client.run(f"open({path!r}).read()", session="b").text
    assert client.run("open('own', 'w').write('x')", session="b").text == "1"


def test_a_link_in_the_place_of_a_session_is_not_followed(connect: Clients, boxed: Program, tmp_path: Path) -> None:
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    elsewhere.mkdir()
    (boxed.directory / "sessions").mkdir()
    (boxed.directory / "sessions/a").symlink_to(elsewhere)
    client = connect()
    answer = client.run("open('x', 'w').close()", session="a")
    assert answer.failed
    assert "is a symbolic link, which code may have made" in answer.text
    assert client.run("1", session="b").text == "1"
    assert list(elsewhere.iterdir()) == []


def test_a_link_in_the_place_of_all_sessions_is_refused(boxed: Program) -> None:
    (boxed.directory / "sessions").symlink_to("/tmp")
    process = boxed.start_command(boxed.mcp("--sessions"))
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert b"is a symbolic link" in said


@pytest.mark.parametrize("sandbox", ["landlock", "srt", "best"])
def test_a_sandbox_without_walls_is_refused(boxed: Program, sandbox: str) -> None:
    boxed.sandbox = sandbox
    process = boxed.start_command(boxed.mcp("--sessions"))
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"the sandbox {sandbox} has no walls between kernels".encode() in said


def test_without_a_sandbox_there_are_sessions_without_walls(program: Program) -> None:
    client = Client(program, "--sessions")
    client.run("x = 1; open('mine', 'w').close()", session="a")
    assert client.run("import os; os.path.exists('../a/mine'), 'x' in globals()", session="b").text == "(True, False)"
    assert client.close() == 0


def test_the_idle_time_needs_sessions(program: Program) -> None:
    process = program.start_command(program.mcp("--session-idle", "5"))
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert b"--sessions" in said


def visible(directory: Path) -> list[str]:
    """Without the placeholders that are there while a sandbox is."""
    return sorted(name for name in os.listdir(directory) if not name.startswith("."))


@pytest.mark.parametrize("how", ["close", "kill"])
def test_when_the_client_is_gone_nothing_is_left(boxed: Program, how: str) -> None:
    temporary = boxed.directory.parent / f"{boxed.directory.name}-tmp"
    temporary.mkdir()
    boxed.env = {"TMPDIR": str(temporary)}
    client = Client(boxed, "--sessions", "--approve", "auto", "--mcp-config", config(boxed, tools=TOOLS))
    for session in ("a", "b", "c"):
        client.run("import subprocess; subprocess.Popen(['setsid', 'sleep', '1000'])", session=session)
        begin(client, SLEEP, session)
    for session in ("a", "b", "c"):
        wait_for(lambda session=session: "begun" in client.call("cell_output", session=session).text)  # type: ignore[misc]
    begun = time.monotonic()
    if how == "close":
        assert client.close() == 0
        assert time.monotonic() - begun < 15
    else:
        client.process.kill()
        client.ended()
    boxed.assert_all_gone()
    if how == "close":  # what a killed one leaves, the next start removes
        assert sorted(os.listdir(boxed.directory / "sessions/a")) == [".cache", "mcptools"]
        assert os.listdir(temporary) == []
        assert sorted(os.listdir(boxed.directory / "sessions")) == ["a", "b", "c"]


def test_the_end_of_input_while_sessions_begin(boxed: Program) -> None:
    for delay in (0, 0.1, 0.3):
        client = Client(boxed, "--sessions")
        for session in "abc":
            begin(client, "1", session)
        time.sleep(delay)
        assert client.close() == 0
        boxed.assert_all_gone()
