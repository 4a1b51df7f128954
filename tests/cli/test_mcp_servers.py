"""The MCP servers that code uses: slow ones hold up nothing, and lists of tools are live."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from mcp_client import FORMS, LEGACY, Answer, Client, Clients, accept
from program import PATIENCE, PYTHON, Program
from servers import ECHO, TOOLS, config

SCRIPT = str(Path(__file__).with_name("scripted_server.py"))

#: Starts, and never says anything.
MUTE: dict[str, Any] = {"command": "sleep", "args": ["1000"]}


def scripted(*arguments: str, **members: Any) -> dict[str, Any]:
    return {"command": PYTHON, "args": [SCRIPT, *arguments], **members}


def tried(statement: str) -> str:
    """Code that prints why an import fails."""
    return f"try:\n    {statement}\nexcept ImportError as error:\n    print(error)"


# --- servers that are slow


def test_cells_wait_for_no_server(connect: Clients, boxed: Program) -> None:
    servers = {"mute": MUTE, "unlisted": scripted("--lists-never"), "tools": TOOLS}
    client = connect("--mcp-config", config(boxed, **servers), "--approve", "auto")
    before = time.monotonic()
    assert client.run("1+1").text == "2"
    assert client.run(ECHO + "print(echo('a'))").text == "a"
    assert time.monotonic() - before < 25  # the one takes 30 s to be given up, the other one 60


def test_a_cell_that_waits_for_a_server_is_answered_in_time(connect: Clients, boxed: Program) -> None:
    slow = scripted("--start-after", "4")
    client = connect("--mcp-config", config(boxed, slow=slow), "--approve", "auto")
    client.run("1")
    before = time.monotonic()
    answer = client.run("import mcptools.slow; print(mcptools.slow.first.run())", wait_seconds=0.5)
    assert answer.value["status"] == "running"
    assert time.monotonic() - before < 3
    ended = client.call("wait_for_cell", id=answer.value["id"], wait_seconds=PATIENCE)
    assert ended.text == "first"


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({**MUTE, "connect_timeout": 0.5}, "the MCP server 'late' did not begin to talk within 500 ms"),
        ({**MUTE, "startup_timeout_sec": "0.5"}, "the MCP server 'late' did not begin to talk within 500 ms"),
        (scripted("--lists-never", timeout=3), "the MCP server 'late' did not answer in time"),
        ({"command": "/no/such/program"}, "the MCP server 'late' cannot be started: /no/such/program: there is no"),
    ],
)
def test_an_import_of_a_server_that_does_not_start_says_why(
    any_sandbox: Program, server: dict[str, Any], why: str
) -> None:
    code = tried("import mcptools.late") + "\n" + ECHO + "print(echo('a'))"
    ended = any_sandbox.run("--mcp-config", config(any_sandbox, late=server, tools=TOOLS), "--yes", "-c", code)
    assert ended.code == 0, ended.err
    reason, echoed = ended.out.splitlines()
    assert why in reason
    assert echoed == "a"
    assert "its tools are missing in this run" in ended.err


def test_the_time_to_start_is_an_option_too(program: Program) -> None:
    file = config(program, mute={**MUTE, "connect_timeout": 1000})
    options = ("--mcp-config", file, "--connect-timeout", "0.5", "--yes")
    ended = program.run(*options, "-c", tried("import mcptools.mute"))
    assert "did not begin to talk within 500 ms" in ended.out
    refused = program.run("--mcp-config", config(program, mute={**MUTE, "connect_timeout": "soon"}), "-c", "1")
    assert "`connect_timeout` is not a number of seconds above 0" in refused.err


def test_the_time_to_start_counts_for_a_server_that_a_model_registers(connect: Clients, boxed: Program) -> None:
    client = connect("--connect-timeout", "0.5", "--approve", "auto")
    answer = client.call("register_mcp_server", server_name="late", server_params=MUTE)
    assert "did not begin to talk within 500 ms" in answer.text


def test_an_entry_that_nobody_could_read_whole_is_not_registered(connect: Clients, boxed: Program) -> None:
    client = connect("--approve", "auto")
    entry = {"command": "python3", "args": ["-c", "pass" + "#" * 9_000]}
    answer = client.call("register_mcp_server", server_name="long", server_params=entry)
    assert "server_params: the entry has 9" in answer.text
    assert "and can have 8000, so that people can read all of it" in answer.text


def test_search_tells_of_servers_that_do_not_start(program: Program) -> None:
    servers = {"tools": TOOLS, "mute": {**MUTE, "connect_timeout": 0.5}}
    code = "import mcptools\nprint(mcptools.search('echo'))\nprint(dir(mcptools))"
    code += "\nprint(mcptools.tools.echo.run(text='a'))"
    ended = program.run("--mcp-config", config(program, **servers), "--yes", "-c", code)
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[0].startswith("tools.echo(")
    assert (
        lines[-3]
        == "Without those of mute: the MCP server 'mute' did not begin to talk within 500 ms (connect_timeout)"
    )
    assert {"describe", "mute", "tools"} <= set(json.loads(lines[-2].replace("'", '"')))
    assert lines[-1] == "a"


def test_a_server_is_started_once_for_all_that_wait(program: Program) -> None:
    started = program.directory / "started"
    slow = scripted("--start-after", "1", "--touch", str(started))
    code = """
import threading
names = []
def use():
    from mcptools.slow import first
    names.append(first.run())
threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(names)
"""
    ended = program.run("--mcp-config", config(program, slow=slow), "--yes", "-c", code)
    assert ended.out == f"{['first'] * 8}\n", ended.err
    assert len(started.read_text().splitlines()) == 1


def test_a_server_that_no_code_needs_does_not_start(program: Program) -> None:
    started = program.directory / "started"
    file = config(program, idle=scripted("--touch", str(started)))
    assert program.run("--mcp-config", file, "--yes", "-c", "1").code == 0
    assert not started.exists()


def test_an_import_that_waits_can_be_interrupted(connect: Clients, boxed: Program) -> None:
    client = connect("--mcp-config", config(boxed, mute=MUTE), "--approve", "auto")
    client.run("1")
    cell = client.run("import mcptools.mute", wait_seconds=0)
    answer = client.call("interrupt_cell", id=cell.value["id"])
    assert "KeyboardInterrupt" in answer.text
    assert client.run("2").text == "2"


def test_servers_start_in_the_background_behind_the_first_answer(connect: Clients, boxed: Program) -> None:
    servers = {"tools": TOOLS, "broken": {"command": "/no/such/program"}}
    client = connect("--mcp-config", config(boxed, **servers), "--approve", "auto")
    client.run("1")
    deadline = time.monotonic() + PATIENCE
    while not (boxed.directory / "mcptools/tools/echo.py").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    answer = client.run("2").text
    assert "the tools of the MCP server broken are missing: the MCP server 'broken' cannot be started" in answer


# --- lists that change


def test_many_servers_start_a_few_at_a_time(connect: Clients, boxed: Program) -> None:
    at_once = 2 * max(2, os.cpu_count() or 1)
    starts = [boxed.directory / f"started{i}" for i in range(at_once + 2)]
    servers = {f"s{i}": scripted("--start-after", "2", "--touch", str(file)) for i, file in enumerate(starts)}
    client = connect("--mcp-config", config(boxed, **servers), "--approve", "auto")
    assert client.run("1+1").text == "2"
    assert client.run("1+1").text == "2"
    assert client.run("import mcptools; print(mcptools.search('first', limit=100).count('mcptools.'))").text
    times = sorted(file.stat().st_mtime for file in starts)
    assert times[at_once] - times[0] > 1.9  # when the first one is there


def test_tools_that_a_server_adds_can_be_called_at_once(any_sandbox: Program) -> None:
    code = """
import mcptools
from mcptools.growing import first
first.run()
from mcptools.growing import tool1
print(tool1.run())
print(mcptools.growing.tool2.run())
print(mcptools.search("tool3"))
"""
    file = config(any_sandbox, growing=scripted("--grows"))
    ended = any_sandbox.run("--mcp-config", file, "--yes", "-c", code)
    assert ended.out == "tool1\ntool2\ngrowing.tool3() - Does tool3\n", ended.err


# --- servers that are there after a restart


def register(client: Client, server: dict[str, Any], name: str = "kept") -> Answer:
    answer = client.call("register_mcp_server", server_name=name, server_params=server)
    assert not answer.failed, answer.text
    return answer


CALL = "from mcptools.kept import first\nprint(first.run())"


def test_a_server_that_was_registered_is_asked_for_at_its_first_use(connect: Clients, any_sandbox: Program) -> None:
    any_sandbox.env["MY_TOKEN"] = "s3cret"
    started = any_sandbox.outside / "started"
    server = scripted("--touch", str(started), env={"TOKEN": "${MY_TOKEN}"})
    options = {"capabilities": FORMS, "on_question": lambda _: accept()}
    client = connect(**options)
    register(client, server)
    assert client.close() == 0

    (file,) = (any_sandbox.state / "ipybox/servers").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert "${MY_TOKEN}" in file.read_text()
    assert "s3cret" not in file.read_text()

    client = connect(**options)
    assert "first" in client.run("import mcptools; print(mcptools.search())").text
    assert len(started.read_text().splitlines()) == 1  # to search its package it need not run
    assert client.questions == []
    assert client.run(CALL).text == "first"
    assert client.run(CALL).text == "first"
    asked = [question["message"] for question in client.questions]
    assert ["as an MCP server" in message for message in asked] == [True, False, False]
    assert "${MY_TOKEN}" in asked[0]
    assert len(started.read_text().splitlines()) == 2


def test_a_call_without_an_import_asks_for_the_server_too(connect: Clients, boxed: Program) -> None:
    client = connect("--approve", "auto")
    register(client, scripted())
    assert client.close() == 0
    client = connect(capabilities=FORMS, on_question=lambda _: accept("reject", reason="no more"))
    call = "from ipybox_kernel.tools import ToolRunner\nToolRunner('kept').run_sync('first', {})"
    answer = client.run(call)
    assert "no more" in answer.text
    assert [("as an MCP server" in question["message"]) for question in client.questions] == [True]
    assert "Without those of kept: " in client.run("import mcptools; print(mcptools.search())").text


def test_a_server_that_was_accepted_for_always_is_not_asked_again_until_its_files_change(
    connect: Clients, boxed: Program
) -> None:
    script = boxed.write("server.py", Path(SCRIPT).read_text())
    server = {"command": PYTHON, "args": [script]}
    client = connect(capabilities=FORMS, on_question=lambda _: accept("accept_always"))
    register(client, server)
    assert client.close() == 0
    for _ in range(2):
        client = connect(capabilities=FORMS, on_question=lambda _: accept())
        assert client.run(CALL).text == "first"
        assert ["call a tool" in question["message"] for question in client.questions] == [True]
        client.run(f"open({script!r}, 'a').close()")
        assert client.close() == 0
    client = connect()
    client.run(f"open({script!r}, 'a').write('# more')")
    assert client.close() == 0
    client = connect(capabilities=FORMS, on_question=lambda _: accept())
    assert client.run(CALL).text == "first"
    asked = client.questions[0]["message"]
    assert "since it was approved, this is so" in asked
    assert "server.py has changed" in asked


def test_a_rule_decides_about_a_server_of_an_earlier_run(connect: Clients, boxed: Program) -> None:
    client = connect("--approve", "auto")
    register(client, scripted())
    assert client.close() == 0
    allow = json.dumps({"allow": [{"kind": "server", "argv": [PYTHON, SCRIPT]}, {"tool": "kept.*"}]})
    client = connect("--approve", boxed.write("../allow.json", allow))
    assert client.run(CALL).text == "first"
    assert client.close() == 0
    client = connect("--approve", boxed.write("../deny.json", json.dumps({"deny": [{"kind": "server"}]})))
    assert "ImportError: a rule denies it" in client.run(CALL).text


def test_code_cannot_reach_what_is_kept(connect: Clients, boxed: Program) -> None:
    client = connect("--approve", "auto")
    register(client, scripted())
    (file,) = (boxed.state / "ipybox/servers").iterdir()
    assert "Error" in client.run(f"open({str(file)!r}).read()").text
    assert "Error" in client.run(f"open({str(file)!r}, 'w')").text


def test_servers_of_another_workspace_are_not_there(connect: Clients, program: Program) -> None:
    client = connect("--approve", "auto")
    register(client, scripted())
    assert client.close() == 0
    (file,) = (program.state / "ipybox/servers").iterdir()
    file.rename(file.with_name("0" * 64 + ".json"))  # as if it was that of another one
    client = connect("--approve", "auto")
    assert client.run("import mcptools; print(mcptools.search())").text.startswith("None of 0 tools")
    assert "no MCP server 'kept' is registered any more" in client.run(CALL).text


def test_a_server_of_the_configuration_comes_before_one_of_its_name(connect: Clients, boxed: Program) -> None:
    client = connect("--approve", "auto")
    register(client, scripted("--grows"))
    assert client.close() == 0
    client = connect("--mcp-config", config(boxed, kept=TOOLS), "--approve", "auto")
    assert client.run("from mcptools.kept import echo\nprint(echo.run(text='a'))").text == "a"


def test_tools_of_a_server_that_is_gone_are_not_listed_and_say_what_to_do(connect: Clients, boxed: Program) -> None:
    file = config(boxed, old=TOOLS, new=TOOLS)
    client = connect("--mcp-config", file, "--approve", "auto")
    client.run("import mcptools.old, mcptools.new")
    assert client.close() == 0
    file = config(boxed, new=TOOLS)
    client = connect("--mcp-config", file, capabilities=FORMS, on_question=lambda _: accept())
    listed = client.run("import mcptools; print(mcptools.search())").text
    assert "new.echo" in listed
    assert "old" not in listed
    answer = client.run("from mcptools.old import echo; echo.run(text='a')")
    assert "ToolRunnerError: no MCP server 'old' is registered any more: register it again" in answer.text
    assert client.questions == []


def test_sessions_share_the_servers_of_an_earlier_run(connect: Clients, boxed: Program) -> None:
    client = connect("--sessions", "--approve", "auto")
    register(client, scripted())
    assert client.close() == 0
    client = connect("--sessions", "--approve", "auto")
    for session in ("a", "b"):
        assert client.run(CALL, session=session).text == "first"
    assert len([process for process in boxed.processes() if SCRIPT in process]) == 1


# --- what a model reads of a server


def test_a_model_reads_names_of_variables_and_the_log_all(connect: Clients, boxed: Program) -> None:
    secrets = {"LITERAL": "s3cret-literal", "GIVEN": "${MY_TOKEN}-x"}
    boxed.env["MY_TOKEN"] = "s3cret-token"
    boxed.write("../keys.env", "OF_FILE=s3cret-file\n")
    leak = scripted(
        "--fail-with", "LITERAL", "GIVEN", "OF_FILE", env=secrets, envFile=str(boxed.directory / "../keys.env")
    )
    servers = {"leak": leak, "gone": {"command": "/opt/${MY_TOKEN}/server"}}
    client = connect("--mcp-config", config(boxed, **servers), "--approve", "auto", version=LEGACY)
    answers = [client.run(tried(f"import mcptools.{name}")).text for name in servers]
    answers += [client.call("register_mcp_server", server_name="x", server_params=leak).text]
    answers += [client.call("register_mcp_server", server_name="y", server_params={"command": "${MY_TOKEN}"}).text]
    assert "s3cret" not in "".join(answers)
    assert "exit code 3; it said: the key ${LITERAL} ${GIVEN} ${OF_FILE} was refused" in answers[0]
    assert "second line" not in "".join(answers)
    assert "cannot be started: /opt/${MY_TOKEN}/server: there is no such program" in answers[1]
    assert "exit code 3; it said: the key ${LITERAL} ${GIVEN} ${OF_FILE} was refused" in answers[2]
    assert "${MY_TOKEN}: there is no such program" in answers[3]
    assert client.close() == 0
    log = "".join(client.errors)
    assert "more in the second line: s3cret-literal s3cret-token-x s3cret-file" in log
    assert "/opt/s3cret-token/server: there is no such program" in log
