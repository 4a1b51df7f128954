"""How `ipybox mcp` ends, and what it does with clients and workspaces that do harm."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from mcp_client import ERAS, FORMS, Answer, Client
from program import PATIENCE, PYTHON, Program, wait_for
from servers import DEAF, TOOLS, config

SLEEP = "print('begun')\nimport time; time.sleep(1000)"
STUBBORN = """
import subprocess
subprocess.Popen(["setsid", "sleep", "1000"])
print('begun', flush=True)
while True:
    try:
        while True: pass
    except BaseException: pass
"""


def begun(client: Client, code: str) -> None:
    client.begin_call("execute_ipython_cell", {"code": code})
    wait_for(lambda: "begun" in client.call("cell_output").text if client.process.poll() is None else False)


@pytest.mark.parametrize("code", [SLEEP, STUBBORN])
def test_the_end_of_input_ends_everything(any_sandbox: Program, code: str) -> None:
    client = Client(any_sandbox)
    client.run("1")
    begun(client, code)
    before = time.monotonic()
    assert client.close() == 0
    assert time.monotonic() - before < 15
    any_sandbox.assert_all_gone()


def test_the_end_of_input_while_the_kernel_starts(any_sandbox: Program) -> None:
    for delay in (0, 0.05, 0.1, 0.2):
        client = Client(any_sandbox)
        client.begin_call("execute_ipython_cell", {"code": "1"})
        time.sleep(delay)
        assert client.close() == 0
        any_sandbox.assert_all_gone()


def test_the_end_of_input_while_a_question_is_open(program: Program, era: str) -> None:
    client = Client(
        program,
        "--mcp-config",
        config(program, tools=TOOLS),
        version=era,
        capabilities=FORMS,
        on_question=lambda _: None,
    )
    pending = client.begin_call("register_mcp_server", {"server_name": "a", "server_params": TOOLS})
    if era == ERAS[0]:
        wait_for(lambda: len(client.questions) == 1)
    else:
        assert pending.wait()["resultType"] == "input_required"
    assert client.close() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_signals_end_everything(any_sandbox: Program, number: int, code: int) -> None:
    client = Client(any_sandbox)
    client.run("1")
    begun(client, SLEEP)
    client.process.send_signal(number)
    assert client.ended() == code
    any_sandbox.assert_all_gone()


def test_sigkill_leaves_nothing(any_sandbox: Program) -> None:
    client = Client(any_sandbox)
    client.run("1")
    begun(client, SLEEP)
    client.process.kill()
    client.ended()
    any_sandbox.assert_all_gone()


def test_a_server_that_nothing_ends_is_ended_with_the_program(program: Program) -> None:
    client = Client(program, "--approve", "auto")
    client.begin_call("register_mcp_server", {"server_name": "deaf", "server_params": DEAF})
    wait_for((program.directory / "started").exists)
    assert client.close() == 0
    program.assert_all_gone()


def test_a_registration_is_cancelled(program: Program) -> None:
    client = Client(program, "--approve", "auto")
    pending = client.begin_call("register_mcp_server", {"server_name": "deaf", "server_params": DEAF})
    wait_for((program.directory / "started").exists)
    client.cancel(pending)
    answer = client.call("register_mcp_server", server_name="tools", server_params=TOOLS)
    assert "echo" in answer.value["tools"]
    assert client.close() == 0


def test_frames_that_are_none_do_no_harm(program: Program, era: str) -> None:
    client = Client(program, version=era)
    for frame in ("", "nonsense", "[]", "{}", "1", '{"jsonrpc":"2.0"}', '{"id":', "\x00", "[" * 10_000):
        client.send(frame)
    assert client.run("1").text == "1"
    assert client.close() == 0


def test_a_client_that_reads_nothing_does_not_stop_the_end(program: Program) -> None:
    process = program.start_command(program.mcp(), stdin=-1)
    assert process.stdin
    for i in range(20_000):
        try:
            process.stdin.write(b'{"jsonrpc":"2.0","id":%d,"method":"no/such/method"}\n' % i)
        except BrokenPipeError:
            break
        if i == 2000:
            break
    process.stdin.close()
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 143


def test_a_client_that_never_reads_the_log_does_not_stop_the_server(program: Program) -> None:
    reading, writing = os.pipe()
    with Client(program, "--log-level", "debug", stderr=writing).process as process:
        os.close(writing)
        assert process.stdin
        call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "cell_output", "arguments": {}}}
        for i in range(1000, 6000):
            process.stdin.write(json.dumps({**call, "id": i}).encode() + b"\n")
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    assert os.read(reading, 1 << 20).count(b"\n") > 100
    os.close(reading)


def test_a_workspace_whose_files_stand_in_the_way(program: Program) -> None:
    os.mkfifo(program.directory / ".env")
    (program.directory / "images").symlink_to("/etc")
    (program.directory / "output").write_text("")
    (program.directory / "mcptools").write_text("")
    client = Client(program, "--approve", "auto")
    assert client.run("1").text == "1"
    from program import ONE_PIXEL

    assert client.run(ONE_PIXEL).failed  # no link below the workspace is followed
    answer = client.call("register_mcp_server", server_name="tools", server_params=TOOLS)
    assert answer.failed
    assert "mcptools" in answer.text
    assert client.run("1").text == "1"
    assert client.close() == 0


def test_code_that_sets_a_trap_for_the_next_start(program: Program) -> None:
    client = Client(program)
    client.run("open('.env', 'w').write('KERNEL_ENV_LD_PRELOAD=/tmp/evil.so\\nKERNEL_ENV_PATH=/tmp\\n')")
    assert client.close() == 0
    client = Client(program)
    assert client.run("import os; 'LD_PRELOAD' in os.environ").text == "False"
    assert client.close() == 0
    assert sum("is left out: code can write this file" in line for line in client.errors) == 2


@pytest.mark.parametrize("sandbox", ["bubblewrap", "srt"])
def test_code_makes_no_env_file_for_the_next_start(program: Program, sandbox: str) -> None:
    program.sandbox = sandbox
    client = Client(program)
    for code in (
        "open('.env', 'a').write('DATA_ROOT=/\\n')",
        "import os; open('e', 'w').close(); os.rename('e', '.env')",
    ):
        assert client.run(code).failed
    assert client.close() == 0
    assert not (program.directory / ".env").exists()


@pytest.mark.parametrize("sandbox", ["none", "bubblewrap", "srt"])
def test_the_env_file_reaches_no_program_but_the_kernel(program: Program, sandbox: str) -> None:
    """Code may have written the file, and node, for one, loads libraries that OPENSSL_CONF names."""
    program.sandbox = sandbox
    program.write(".env", "KERNEL_ENV_OPENSSL_CONF=/trap\nKERNEL_ENV_LANG=trap\n")
    client = Client(program)
    assert client.run("import os; os.environ['OPENSSL_CONF'], os.environ['LANG']").text == "('/trap', 'trap')"
    pids = [int(line.split(" ", 1)[0]) for line in program.processes()]
    assert len(pids) > 2
    told = [pid for pid in pids if b"trap" in Path(f"/proc/{pid}/environ").read_bytes()]
    assert told == []
    assert client.run("!echo $OPENSSL_CONF").failed  # has to be approved
    assert client.close() == 0


def test_calls_that_are_cancelled_in_masses_leave_a_short_note(program: Program) -> None:
    client = Client(program)
    client.run("1")
    for _ in range(100):
        pending = client.begin_call("execute_ipython_cell", {"code": SLEEP})
        client.call("cell_output")  # it has been submitted
        client.cancel(pending)
    last = client.begin_call("execute_ipython_cell", {"code": SLEEP})
    waits = client.begin_call("wait_for_cell", {"wait_seconds": 1000})
    client.call("cell_output")
    client.cancel(waits)  # its answer, which is dropped, would have had the note
    told = client.call("interrupt_cell").text + Answer(last.wait()).text  # the first of them has it
    assert '"101" were cancelled by the client' in told
    assert '"85"' not in told
    assert len(told) < 2000
    assert "cancelled by the client" not in client.run("2").text
    assert client.close() == 0


def test_a_task_whose_time_is_over_when_the_client_has_gone(program: Program) -> None:
    process = program.start_command(program.mcp("--python", PYTHON), stdin=-1)
    assert process.stdin
    hello = {"protocolVersion": ERAS[0], "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "execute_ipython_cell", "arguments": {"code": SLEEP}, "task": {"ttl": 1000}}
    requests = [("initialize", hello), ("tools/call", call), *[("tools/list", {})] * 40]
    for i, (method, params) in enumerate(requests):
        message = {"jsonrpc": "2.0", "id": i, "method": method, "params": params}
        process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.close()
    # Its answers are not read, and the server waits for that longer than the task lives.
    assert process.wait(PATIENCE) == 0
