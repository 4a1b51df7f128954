"""Approvals of `ipybox mcp`: asked where the client shows forms, in both eras; else by rules; else rejected."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mcp_client import FORMS, LEGACY, Client, accept
from program import PYTHON, Program, wait_for
from servers import ECHO, TOOLS, config

CALL = ECHO + "print('got', echo('hello'))"


def answering(program: Program, era: str, answer: Any, *arguments: str) -> Client:
    """A client whose user answers each question so."""
    return Client(
        program,
        "--mcp-config",
        config(program, tools=TOOLS),
        *arguments,
        version=era,
        capabilities=FORMS,
        on_question=answer if callable(answer) else lambda _: answer,
    )


def test_a_tool_call_is_asked_and_done(program: Program, era: str) -> None:
    client = answering(program, era, accept())
    answer = client.run(CALL)
    assert answer.text == "got hello", answer.text
    (question,) = client.questions
    assert "tool call tools.echo" in question["message"]
    assert '"hello"' in question["message"]
    assert question["requestedSchema"]["properties"]["decision"]["enum"] == [
        "accept",
        "accept_in_cell",
        "accept_always",
        "reject",
    ]
    assert client.run(CALL).text == "got hello"
    assert len(client.questions) == 2
    assert client.close() == 0


def test_what_is_accepted_for_the_session_is_not_asked_again(program: Program, era: str) -> None:
    client = answering(program, era, accept("accept_always"))
    client.run(CALL)
    client.run(CALL)
    assert len(client.questions) == 1
    client.run(CALL.replace("hello", "another"))
    assert len(client.questions) == 2
    assert client.close() == 0


def test_a_tool_that_is_accepted_in_its_cell_is_asked_again_in_the_next(program: Program, era: str) -> None:
    client = answering(program, era, accept("accept_in_cell"))
    calls = ECHO + "print([echo(str(n)) for n in range(5)])"
    assert client.run(calls).text == "['0', '1', '2', '3', '4']"
    assert len(client.questions) == 1
    client.run(calls)
    assert len(client.questions) == 2
    assert client.close() == 0


def test_a_rejection_reaches_the_code_with_its_reason(program: Program, era: str) -> None:
    client = answering(program, era, accept("reject", reason="not on weekends"))
    answer = client.run(CALL)
    assert answer.failed
    assert "ApprovalRejectedError" in answer.text
    assert "the user rejected it: not on weekends" in answer.text
    assert client.close() == 0


@pytest.mark.parametrize(
    "given", [{"action": "decline"}, {"action": "cancel"}, {"action": "accept"}, accept("nonsense")]
)
def test_what_is_no_acceptance_rejects(program: Program, era: str, given: dict[str, Any]) -> None:
    client = answering(program, era, given)
    assert "ApprovalRejectedError" in client.run(CALL).text
    assert client.close() == 0


def test_a_client_without_forms_is_never_asked(program: Program, era: str) -> None:
    client = Client(program, "--mcp-config", config(program, tools=TOOLS), version=era, on_question=lambda _: accept())
    answer = client.run(CALL)
    assert answer.failed
    assert "ApprovalRejectedError" in answer.text
    assert "--approve" in answer.text
    assert client.questions == []
    assert "--approve" in client.call("install_package", package_name="x").text
    assert client.call("register_mcp_server", server_name="a", server_params={"command": "true"}).failed
    assert client.questions == []
    assert client.close() == 0


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
def test_a_version_without_forms_is_never_asked(program: Program, version: str) -> None:
    client = answering(program, version, accept())
    assert "ApprovalRejectedError" in client.run(CALL).text
    assert client.questions == []
    assert client.close() == 0


def test_rules_decide_before_the_user(program: Program) -> None:
    rules = program.write("rules.json", json.dumps({"allow": [{"tool": "tools.echo"}], "deny": [{"kind": "server"}]}))
    client = Client(program, "--mcp-config", config(program, tools=TOOLS), "--approve", rules)
    assert client.run(CALL).text == "got hello"
    denied = client.call("register_mcp_server", server_name="a", server_params={"command": "true"})
    assert denied.failed
    assert "a rule denies it" in denied.text
    assert "ApprovalRejectedError" in client.run("!true").text  # left open, and nobody to ask
    assert client.close() == 0


def test_a_rule_allows_a_server_by_its_command(program: Program) -> None:
    words = [TOOLS["command"], *TOOLS["args"]]
    rules = program.write("rules.json", json.dumps({"allow": [{"kind": "server", "argv": words}]}))
    client = Client(program, "--approve", rules)
    assert "echo" in client.call("register_mcp_server", server_name="tools", server_params=TOOLS).value["tools"]
    for params in (
        {**TOOLS, "args": [*TOOLS["args"], "more"]},
        {**TOOLS, "env": {"PYTHONPATH": "."}},
        {**TOOLS, "cwd": str(program.directory)},
    ):
        answer = client.call("register_mcp_server", server_name="tools", server_params=params)
        assert answer.failed
        assert "--approve" in answer.text  # left open, and nobody to ask
    assert client.close() == 0


def test_deny_rejects_everything(program: Program) -> None:
    client = answering(program, LEGACY, accept(), "--approve", "deny")
    assert "--approve deny" in client.run(CALL).text
    assert client.questions == []
    assert client.close() == 0


def test_shell_commands_are_asked(program: Program, era: str) -> None:
    client = answering(program, era, lambda question: accept("accept" if "ls one" in question["message"] else "reject"))
    (program.directory / "one").touch()
    assert client.run("!ls one").text == "one"
    assert "ApprovalRejectedError" in client.run("!ls two").text
    assert client.close() == 0


def test_hosts_are_asked(program: Program) -> None:
    program.sandbox = "bubblewrap"
    client = answering(program, LEGACY, accept("reject", reason="no network"))
    code = (
        "import urllib.request\n"
        "try: urllib.request.urlopen('http://ipybox-test.example/', timeout=20)\n"
        "except Exception as e: print(e)"
    )
    client.run(code)
    (question,) = client.questions
    assert "connect to a host" in question["message"]
    assert "ipybox-test.example port 80" in question["message"]
    assert client.close() == 0


def test_a_question_holds_the_clock_of_the_cell(program: Program, era: str) -> None:
    def slowly(_: Any) -> dict[str, Any]:
        time.sleep(5)
        return accept()

    client = answering(program, era, slowly)
    assert client.run("1").text == "1"  # the kernel has started: that counts
    assert client.run(CALL, timeout=4, wait_seconds=4).text == "got hello"
    assert client.close() == 0


def test_an_installation_and_a_server_are_asked_like_any_action(program: Program, era: str) -> None:
    client = answering(program, era, accept("reject", reason="never"))
    answer = client.call("install_package", package_name="ipybox-tiny", version=">=1")
    assert answer.failed
    assert "never" in answer.text
    assert "package installation pip install 'ipybox-tiny>=1'" in client.questions[-1]["message"]
    answer = client.call(
        "register_mcp_server",
        server_name="evil",
        server_params={"command": "sh", "args": ["-c", "touch done"], "env": {"A": "b"}},
    )
    assert answer.failed
    assert "never" in answer.text
    message = client.questions[-1]["message"]
    assert "server registration evil" in message
    assert "touch done" in message
    assert '"env":{"A":"b"}' in message
    assert not (program.directory / "done").exists()
    # The next one is asked again: it is the user's word that counts, not the one before.
    client.call("install_package", package_name="ipybox-tiny", version=">=1")
    assert len(client.questions) == 3
    assert client.close() == 0


def test_a_cell_without_a_call_waits_for_the_next_one_with_its_question(program: Program, era: str) -> None:
    client = answering(program, era, accept())
    code = "import time\ntime.sleep(1)\n" + CALL
    answer = client.run(code, wait_seconds=0)
    assert answer.value["status"] in ("waiting", "running")
    assert not answer.failed
    wait_for(lambda: "waits for the user's approval: tool call tools.echo" in client.call("cell_output").text)
    assert client.questions == []
    assert client.call("wait_for_cell", id=answer.value["id"]).text == "got hello"
    assert len(client.questions) == 1
    assert client.close() == 0


def test_several_questions_come_one_after_the_other(program: Program, era: str) -> None:
    client = answering(program, era, accept())
    code = ECHO + (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(5) as pool: print(sorted(pool.map(echo, 'abcde')))"
    )
    assert client.run(code).text == "['a', 'b', 'c', 'd', 'e']"
    assert len(client.questions) == 5
    assert client.close() == 0


def test_a_question_of_a_cancelled_call_is_withdrawn(program: Program) -> None:
    client = answering(program, LEGACY, lambda _: None)  # a user who does not answer
    pending = client.begin_call("execute_ipython_cell", {"code": "print('before')\n" + CALL})
    wait_for(lambda: len(client.questions) == 1)
    client.cancel(pending)
    wait_for(lambda: len(client.withdrawn) == 1)
    wait_for(lambda: client.call("cell_output", id="1").value["status"] == "cancelled")
    assert "before" in client.call("cell_output", id="1").text
    assert client.close() == 0


def test_everything_is_in_the_audit_log(program: Program, tmp_path: Path) -> None:
    log = tmp_path.parent / f"{tmp_path.name}-audit.jsonl"
    client = answering(program, LEGACY, accept(), "--audit-log", str(log))
    client.run(CALL)
    client.call("register_mcp_server", server_name="other", server_params=TOOLS)
    assert client.close() == 0
    records = [json.loads(line) for line in log.read_text().splitlines()]
    requests = [record for record in records if record["record"] == "request"]
    assert [request["kind"] for request in requests] == ["tool", "server"]
    outcomes = {record["id"] for record in records if record["record"] == "outcome"}
    assert outcomes == {request["id"] for request in requests}


def test_a_package_is_asked_once_and_installed(program: Program) -> None:
    program.sandbox = "bubblewrap"
    wheels = program.directory.parent / f"{program.directory.name}-wheels"
    subprocess.run(
        [sys.executable, str(Path(__file__).parents[1] / "support/write_wheels.py"), str(wheels)], check=True
    )
    client = answering(program, LEGACY, accept(), "--package-index", "none", "--package-wheels", str(wheels))
    answer = client.call("install_package", package_name="ipybox-tiny==2.0")
    assert not answer.failed, answer.text
    assert len(client.questions) == 1
    assert client.run("import ipybox_tiny; ipybox_tiny.version").text == "'2.0'"
    assert client.close() == 0


def test_a_thread_that_outlives_its_cell_is_not_asked_about_and_told_why(program: Program, era: str) -> None:
    client = answering(program, era, accept())
    client.run(f"""{ECHO}
import threading, time
said, go = [], threading.Event()
def act():
    go.wait()
    time.sleep(0.5)
    try: said.append(echo("late"))
    except Exception as error: said.append(str(error))
thread = threading.Thread(target=act)
thread.start()
""")
    client.run("go.set()")
    wait_for(lambda: "rejected, as no cell runs" in "".join(client.errors))
    assert "no cell runs" in client.run("thread.join(); said[0]").text
    assert client.questions == []
    assert client.close() == 0


def test_the_question_about_a_server_says_that_code_can_change_it(program: Program, era: str) -> None:
    program.sandbox = "bubblewrap"
    client = answering(program, era, accept("reject"))
    client.run("open('server.py', 'w').write('')")
    for params in ({"command": PYTHON, "args": ["server.py"]}, {"command": "npx", "args": ["-y", "some-server"]}):
        client.call("register_mcp_server", server_name="own", server_params=params)
    client.call("register_mcp_server", server_name="tools", server_params=TOOLS)
    own, npx, other = (question["message"] for question in client.questions)
    attention = "Attention: the Python code can change files that this program is started from"
    assert attention in own
    assert str(program.directory / "server.py") in own
    assert attention in npx  # it looks for packages in the directory that it starts in
    assert "Attention" not in other
    assert client.close() == 0
