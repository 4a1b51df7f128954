"""Calls of tools say exactly what was meant, through kernel, host and the process of a server, and end in time."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from program import PATIENCE, PYTHON, Program
from servers import ECHO, TOOLS, config

SERVER = str(Path(__file__).with_name("exact_server.py"))


def exact(*mode: str, **members: Any) -> dict[str, Any]:
    return {"command": PYTHON, "args": [SERVER, *mode], **members}


def run(program: Program, code: str, *options: str, **servers: dict[str, Any]) -> Any:
    file = config(program, **(servers or {"exact": exact()}))
    return program.run("--mcp-config", file, "--yes", *options, "-c", code)


def sent(line: str) -> str:
    """The text of the arguments on the wire."""
    _, found, rest = line.partition('"arguments":')
    assert found
    _, end = json.JSONDecoder().raw_decode(rest)
    return rest[:end]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("{'keys': {'score': -1, 'name': 1}, 'a': 0}", '{"keys":{"score":-1,"name":1},"a":0}'),
        (
            "{'v': [2**64 + 1, -2**63 - 1, 10**40]}",
            '{"v":[18446744073709551617,-9223372036854775809,1' + "0" * 40 + "]}",
        ),
        (
            "{'v': [0.1, 5e-324, 1e22, True, None, '\\u2028é']}",
            '{"v":[0.1,5e-324,1e+22,true,null,"\u2028é"]}',
        ),
    ],
)
def test_arguments_arrive_as_they_were_written(any_sandbox: Program, arguments: str, text: str) -> None:
    ended = run(any_sandbox, f"from mcptools.exact import wire\nprint(wire.run({arguments}))")
    assert (ended.code, sent(ended.out)) == (0, text)


def test_the_order_is_kept_in_events_edits_and_the_log(program: Program) -> None:
    code = "from mcptools.exact import wire\nprint(wire.run({'z': 1, 'a': {'y': 1, 'b': 2}}))"
    (program.directory / "log").mkdir()
    options = ("--approve", "stdin", "--json", "--audit-log", "log/audit.jsonl", "-c", code)
    process = program.start("--mcp-config", config(program, exact=exact()), *options, stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    asked = process.stdout.readline().decode()
    assert '"arguments":{"z":1,"a":{"y":1,"b":2}}' in asked
    edited = '"decision": "accept", "arguments": {"z": 2, "a": {"y": 3, "b": 4}}'
    process.stdin.write(f'{{"id": {json.loads(asked)["id"]}, {edited}}}\n'.encode())
    process.stdin.flush()
    events = process.communicate(timeout=PATIENCE)[0].decode().splitlines()
    assert sent(json.loads(events[-1])["text"]) == '{"z":2,"a":{"y":3,"b":4}}'
    request, decision, _ = (program.directory / "log/audit.jsonl").read_text().splitlines()
    assert '"arguments":{"z":1,"a":{"y":1,"b":2}}' in request
    assert '"arguments":{"z":2,"a":{"y":3,"b":4}}' in decision


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"z":1,"a":2,"m":{"y":0,"b":1}}', "{'z': 1, 'a': 2, 'm': {'y': 0, 'b': 1}}"),
        ('{"v":123456789012345678901234567890}', "{'v': 123456789012345678901234567890}"),
        ('{"v":' + "[" * 200 + "]" * 200 + "}", "{'v': " + "[" * 200 + "]" * 200 + "}"),
    ],
)
def test_results_come_as_they_were_sent(program: Program, text: str, shown: str) -> None:
    code = f"from mcptools.exact import structured\nprint(structured.run(json={text!r}))"
    ended = run(program, code)
    assert (ended.code, ended.out.strip()) == (0, shown)


def test_a_result_that_is_as_deep_as_may_be_arrives(program: Program) -> None:
    code = """
from mcptools.exact import structured
got = structured.run(json='{"v":' + '[' * 498 + ']' * 498 + '}')
levels, value = 0, got['v']
while value: levels, value = levels + 1, value[0]
print(levels)
"""
    ended = run(program, code)
    assert (ended.code, ended.out, ended.err) == (0, "497\n", "")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (
            "structured.run(json='{\"v\":' + '[' * 600 + ']' * 600 + '}')",
            "`structuredContent` that is nested too deeply",
        ),
        ("cut_off.run()", "sent an answer that is not whole JSON"),
        ("never.run()", "did not answer in time"),
        ("wire.run({'deep': deep})", "ValueError the arguments of Params are nested too deeply to be sent"),
    ],
)
def test_what_cannot_be_answered_is_an_error_of_its_own_call(program: Program, call: str, why: str) -> None:
    code = f"""
from mcptools.exact import cut_off, never, structured, wire
deep = []
for _ in range(600): deep = [deep]
try: {call}
except Exception as error: print(type(error).__name__, error)
print('next:', 'arguments' in wire.run({{'a': 1}}))
"""
    ended = run(program, code, "--tool-timeout", "3")
    assert ended.code == 0, ended.err
    first, *_, last = ended.out.splitlines()
    assert why in first
    assert first.startswith(("ToolRunnerError ", why))
    assert last == "next: True"


def test_what_a_server_says_of_an_error_arrives_whole(program: Program) -> None:
    code = "from mcptools.exact import refuse\ntry: refuse.run()\nexcept Exception as error: print(error)"
    ended = run(program, code)
    assert ended.out.endswith(': Invalid arguments: [\n  Required\n] (-32602)\ndata: {"hint": "give a"}\n'), ended


@pytest.mark.parametrize(
    ("options", "timeout"),
    [(["--tool-timeout", "0.5"], None), ([], 0.5), ([], 4000), (["--tool-timeout", "0.5"], 600)],
)
def test_a_call_is_bounded_by_the_program_or_by_the_servers_entry(
    program: Program, options: list[str], timeout: float | None
) -> None:
    """0.5 is half a second; 4000, as editors write it that count milliseconds, four."""
    entry = exact() if timeout is None else exact(timeout=timeout)
    code = """
import time
from mcptools.exact import never
begin = time.monotonic()
try: never.run()
except Exception as error: print(error)
print(time.monotonic() - begin)
"""
    ended = run(program, code, *options, exact=entry)
    why, took = ended.out.splitlines()
    assert why == "the MCP server 'exact' did not answer in time"
    least = 4.0 if timeout == 4000 else 0.5
    assert least <= float(took) < PATIENCE / 2


def test_a_server_that_lists_nothing_holds_up_no_other(program: Program) -> None:
    servers = {"mute": exact("no list"), "tools": TOOLS}
    code = ECHO + "print(echo('a'))\ntry: import mcptools.mute\nexcept ImportError: print('mute')"
    ended = run(program, code, "--tool-timeout", "10", **servers)
    assert (ended.code, ended.out) == (0, "a\nmute\n")
    assert "the MCP server 'mute' did not answer in time" in ended.err
    assert "its tools are missing in this run" in ended.err


def test_notices_of_the_generator_are_shown(program: Program) -> None:
    ended = run(program, "from mcptools.exact import dangling", exact=exact("notices"))
    assert ended.code == 0
    deep, twice, dangling = ended.err.splitlines()
    assert deep.startswith("ipybox: exact.deep: left out: ")
    assert twice == "ipybox: exact.wire: left out: another tool has the same name"
    assert dangling.startswith("ipybox: exact.dangling: $ref #/$defs/gone names nothing")


def test_a_daemon_of_a_server_ends_with_the_run(any_sandbox: Program) -> None:
    file = any_sandbox.directory / "daemon"
    ended = run(any_sandbox, "from mcptools.exact import wire; wire.run()", exact=exact("daemon", str(file)))
    assert ended.code == 0
    daemon = int(file.read_text())
    deadline = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{daemon}") and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{daemon}")
    any_sandbox.assert_all_gone()


def test_a_call_of_a_thread_ends_with_its_cell(program: Program) -> None:
    code = """
import threading
from mcptools.tools import sleep, server
why = []
def call():
    try: sleep.run(seconds=60)
    except Exception as error: why.append(f"{type(error).__name__}: {error}")
thread = threading.Thread(target=call)
thread.start()
import time; time.sleep(0.5)
# %%
thread.join(20)
print(why)
print(server.run())
"""
    file = program.write("cells.py", code)
    ended = program.run("--mcp-config", config(program), "--yes", file)
    assert ended.code == 0, ended.err
    why, told = ended.out.splitlines()
    assert why == "['ToolRunnerError: the call ended with its cell: wait for it there']"
    assert json.loads(told)["cancelled"] == ["sleep"]
