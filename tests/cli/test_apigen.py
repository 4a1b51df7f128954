"""`ipybox apigen`: the Python API of a server's tools."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

import pytest
from program import BINARY, PATIENCE, PYTHON, Program, assert_usage_error, wait_for
from servers import DEAF, SDK, TOOLS, config, filesystem

FEWER = """
import tool_server
tool_server.TOOLS[0]["description"] = "Another."
del tool_server.TOOLS[1]
tool_server.TOOLS.append({"name": "more", "inputSchema": {"type": "object"}})
tool_server.main()
"""


def as_json(server: dict[str, Any]) -> str:
    return json.dumps(server)


def test_from_parameters(program: Program) -> None:
    ended = program.apigen("--server-name", "tools", "--server-params", as_json(TOOLS), "--root-dir", "api")
    modules = ["echo", "sleep", "fail", "picture", "chart", "server"]
    assert (ended.code, ended.out.split(), ended.err) == (0, modules, "")
    package = program.directory / "api/tools"
    assert "def run(params: Params) -> str:" in (package / "echo.py").read_text()
    for module in package.glob("*.py"):
        compile(module.read_text(), str(module), "exec")


def test_from_a_configuration(program: Program) -> None:
    options = ("--mcp-config", config(program, tools=TOOLS, broken={"command": "/no/such"}), "--root-dir", "api")
    assert program.apigen("--server-name", "tools", *options).code == 0
    ended = program.apigen("--server-name", "other", *options)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith("mcp.json has no server 'other', but broken, tools\n")


def test_names_that_python_cannot_import_and_servers_out_of_reach(program: Program) -> None:
    file = config(program, **{"the-tools": TOOLS, "far": {"url": "http://127.0.0.1:9"}})
    options = ("--mcp-config", file, "--root-dir", "api")
    ended = program.apigen("--server-name", "the-tools", *options)
    assert (ended.code, ended.err) == (0, "ipybox: the package is called the_tools\n")
    assert (program.directory / "api/the_tools/echo.py").exists()
    assert program.apigen("--server-name", "the_tools", *options).err == ""
    ended = program.apigen("--server-name", "far", *options)
    assert (ended.code, ended.out) == (3, "")
    assert "'far' cannot be reached: " in ended.err


def test_async(program: Program) -> None:
    options = ("--server-params", as_json(TOOLS), "--root-dir", "api")
    assert program.apigen("--server-name", "tools", *options, "--async").code == 0
    assert "async def run(" in (program.directory / "api/tools/echo.py").read_text()


def test_async_in_a_run(any_sandbox: Program) -> None:
    any_sandbox.apigen("--server-name", "tools", "--server-params", as_json(TOOLS), "--root-dir", "api", "--async")
    code = "from api.tools import echo\nprint(await echo.run(echo.Params(text='a')))"
    ended = any_sandbox.run("--mcp-config", config(any_sandbox), "--yes", "-c", code)
    assert (ended.code, ended.out) == (0, "a\n")


def test_servers_of_node_and_of_python(program: Program) -> None:
    path = config(program, files=filesystem(program.directory), sdk=SDK)
    for name, module in (("files", "read_text_file"), ("sdk", "mirror")):
        ended = program.apigen("--server-name", name, "--mcp-config", path, "--root-dir", "api")
        assert ended.code == 0
        assert module in ended.out.split()
    code = "import api.files.read_text_file, api.sdk.mirror as m; print(m.Params(point={'x': 1, 'y': 2}))"
    runtime = str(TOOLS["args"][0]).replace("tests/support/tool_server.py", "python")
    ended = subprocess.run([PYTHON, "-c", code], cwd=program.directory, env={"PYTHONPATH": runtime}, check=True)
    assert ended.returncode == 0


def test_check(program: Program) -> None:
    common = ("--server-name", "tools", "--root-dir", "api")
    same = (*common, "--server-params", as_json(TOOLS))
    ended = program.apigen(*same, "--check")
    assert (ended.code, ended.out.split("\n")[0]) == (1, "added chart")
    assert not (program.directory / "api").exists()

    program.apigen(*same)
    ended = program.apigen(*same, "--check")
    assert (ended.code, ended.out, ended.err) == (0, "", "")

    before = (program.directory / "api/tools/echo.py").read_text()
    support = str(TOOLS["args"][0]).removesuffix("/tool_server.py")
    other = {"command": PYTHON, "args": ["-c", FEWER], "env": {"PYTHONPATH": support}}
    ended = program.apigen(*common, "--server-params", as_json(other), "--check")
    assert (ended.code, ended.out.splitlines()) == (1, ["added more", "removed sleep", "changed echo"])
    assert (program.directory / "api/tools/echo.py").read_text() == before


def test_written_anew(program: Program) -> None:
    options = ("--server-name", "tools", "--server-params", as_json(TOOLS), "--root-dir", "api")
    program.apigen(*options)
    (program.directory / "api/tools/left_over.py").write_text("")
    assert program.apigen(*options).code == 0
    assert (program.directory / "api/tools/left_over.py").exists()


def test_secrets_are_not_written(program: Program) -> None:
    server = {**TOOLS, "env": {"TOKEN": "s3cr3t-value"}}
    program.apigen("--server-name", "tools", "--server-params", as_json(server), "--root-dir", "api")
    assert not any("s3cr3t" in file.read_text() for file in (program.directory / "api").rglob("*.*") if file.is_file())


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "--server-name is required"),
        (["--server-name", "a"], "--root-dir is required"),
        (["--server-name", "a", "--root-dir", "api"], "--server-params or --mcp-config is required"),
        (["--server-name", "a", "--root-dir", "api", "--mcp-config", "/no/such"], "/no/such"),
        (["--server-name", "a", "--root-dir", "api", "--server-params", ""], "--server-params: is empty"),
        (
            ["--server-name", "a", "--root-dir", "api", "--server-params", "{}", "--mcp-config", "/dev/null"],
            "--server-params and --mcp-config exclude each other",
        ),
        (["--server-name", "a", "--root-dir", "api", "--server-params", "{}", "--colour"], "--colour"),
    ],
)
def test_usage_error(program: Program, arguments: list[str], why: str) -> None:
    if "/dev/null" in arguments:
        arguments[-1] = config(program)
    ended = program.apigen(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert_usage_error(ended.err, why, "apigen")


@pytest.mark.parametrize(
    ("name", "params", "code", "why"),
    [
        ("a", "{", 2, "--server-params:1:2: syntax error"),
        ("a", "uvx mcp-server-fetch", 2, '; JSON is wanted, as {"command": "uvx", "args": ["mcp-server-fetch"]}'),
        ("a", '{"command": "c" "args": []}', 2, "--server-params:1:22: syntax error"),
        ("a", "[]", 2, "--server-params: "),
        ("a", "{}", 2, "neither a `command` nor a `url`"),
        ("1a", '{"command": "x"}', 2, '"1a" cannot be the name of an MCP server'),
        ("a.b", '{"command": "x"}', 2, '"a.b" cannot be the name of an MCP server'),
        ("../a", '{"command": "x"}', 2, "cannot be the name of an MCP server"),
        ("a", '{"command": "/no/such/server"}', 3, "/no/such/server"),
        ("a", '{"command": "/bin/true"}', 3, "it ended: exit code 0"),
    ],
)
def test_nothing_is_written(program: Program, name: str, params: str, code: int, why: str) -> None:
    ended = program.apigen("--server-name", name, "--server-params", params, "--root-dir", "api")
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("ipybox: ")
    assert why in ended.err
    assert not (program.directory / "api").exists()


def test_what_is_not_generated_is_not_replaced(program: Program) -> None:
    (program.directory / "api/tools").mkdir(parents=True)
    (program.directory / "api/tools/mine.py").write_text("mine")
    for check in ([], ["--check"]):
        options = ("--server-name", "tools", "--server-params", as_json(TOOLS), "--root-dir", "api")
        ended = program.apigen(*options, *check)
        assert ended.code == 2
        assert "api/tools" in ended.err
    assert (program.directory / "api/tools/mine.py").read_text() == "mine"


def test_package_that_cannot_be_written(program: Program) -> None:
    ended = program.apigen("--server-name", "tools", "--server-params", as_json(TOOLS), "--root-dir", "/proc")
    assert ended.code == 1
    assert "/proc" in ended.err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_server_too(program: Program, number: int, code: int) -> None:
    command = [BINARY, "apigen", "--server-name", "deaf", "--server-params", as_json(DEAF), "--root-dir", "api"]
    with program.start_command(command) as running:
        wait_for((program.directory / "started").exists)
        running.send_signal(number)
        assert running.wait(PATIENCE) == code
        assert running.communicate(timeout=PATIENCE) == (b"", b"")
    program.assert_all_gone()


def test_help(program: Program) -> None:
    ended = program.apigen("--help")
    assert ended.code == 0
    for part in ("--server-params", "--check", "Exit codes:", "ipybox apigen --server-name github"):
        assert part in ended.out
    assert max(map(len, ended.out.splitlines())) <= 120


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ":1:1: syntax error"),
        ('{\n  "mcpServers": {', ":2:18: syntax error"),
        ('{\n  // of an editor\n  "mcpServers" {}}', ":3:16: syntax error"),
        ("[]", ":1:1: an object is wanted, with `mcpServers` in it"),
    ],
)
@pytest.mark.parametrize("command", ["run", "apigen"])
def test_a_configuration_that_is_not_json_names_line_and_column(
    program: Program, command: str, text: str, words: str
) -> None:
    file = program.write("mcp.json", text)
    if command == "run":
        ended = program.run("--mcp-config", file, "-c", "print(1)")
    else:
        ended = program.apigen("--server-name", "a", "--mcp-config", file, "--root-dir", "api")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"ipybox: {file}{words}"), ended.err
