"""Tool calls and shell commands of the code: what is asked for, who decides, what is recorded."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from program import PATIENCE, PYTHON, Program, Terminals
from servers import ECHO, ORIGINAL, SDK, config, filesystem
from servers import TOOLS as SERVER
from ways_to_start_programs import PAST_PYTHON, STARTS, TOOLS

ASLEEP = {"command": PYTHON, "args": ["-c", "import time; time.sleep(60)"]}


def records(program: Program) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (program.directory / "log/audit.jsonl").read_text().splitlines()]


def logged(program: Program) -> tuple[str, str]:
    """An option that puts the log where the code cannot write."""
    (program.directory / "log").mkdir()
    return "--audit-log", "log/audit.jsonl"


def test_a_tool_is_called(any_sandbox: Program) -> None:
    ended = any_sandbox.run("--mcp-config", config(any_sandbox), "--yes", "-c", ECHO + "print(echo('größe'))")
    assert (ended.code, ended.out) == (0, "größe\n")


def test_a_cell_asks_for_so_many_actions_and_no_more(any_sandbox: Program) -> None:
    file = any_sandbox.write("a.py", "!echo 1\n!echo 2\n!echo 3\n# %%\n!echo next cell")
    ended = any_sandbox.run(file, "--approve-shell-cmds", "--yes", "--calls-per-cell", "2", "--keep-going")
    assert (ended.code, ended.out) == (1, "1\n2\nnext cell\n")
    assert "ApprovalRejectedError" in ended.err


@pytest.fixture
def beside_the_original(any_sandbox: Program) -> str:
    """Code that imports `mcptools.old.echo`, a package as mcpygen 0.1.4 generated it, where mcpygen is installed."""
    package = any_sandbox.directory / "mcptools/old"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import os\n"
        "from mcpygen.tool_exec.client import ToolRunner\n\n"
        "CLIENT = ToolRunner(\n"
        "    server_name='tools',\n"
        "    server_params={'command': 'false'},\n"
        '    host=os.environ.get("TOOL_SERVER_HOST", "localhost"),\n'
        '    port=int(os.environ.get("TOOL_SERVER_PORT", "8900")),\n'
        ")\n"
    )
    (package / "echo.py").write_text(
        "from __future__ import annotations\n\n"
        "from pydantic import BaseModel, ConfigDict\n\n\n"
        "class Params(BaseModel):\n"
        "    model_config = ConfigDict(\n        use_enum_values=True,\n    )\n"
        "    text: str\n\n\n"
        "from . import CLIENT\n\n"
        "def run(params: Params) -> str:\n"
        '    """Says it again.\n    """\n'
        '    return CLIENT.run_sync(tool_name="echo", tool_args=params.model_dump(exclude_none=True))\n'
    )
    assert (ORIGINAL / "mcpygen/tool_exec/client.py").exists()
    return f"import sys\nsys.path.insert(0, {str(ORIGINAL)!r})\nfrom mcptools.old import echo\n"


def test_packages_of_the_original_call_through_the_host_where_it_is_installed(
    any_sandbox: Program, beside_the_original: str
) -> None:
    code = beside_the_original + (
        "from mcptools.tools import echo as ours\n"
        "import mcpygen.vars\n"
        "print(echo.run(echo.Params(text='old')), ours.run(ours.Params(text='new')), mcpygen.vars.__file__)\n"
    )
    ended = any_sandbox.run("--mcp-config", config(any_sandbox), "--yes", "-c", code)
    assert (ended.code, ended.out) == (0, f"old new {ORIGINAL}/mcpygen/vars.py\n")


def test_packages_of_the_original_ask_as_ours_do(any_sandbox: Program, beside_the_original: str) -> None:
    code = beside_the_original + (
        "from mcpygen.tool_exec.client import ApprovalRejectedError\n"
        "try:\n    echo.run(echo.Params(text='old'))\n"
        "except ApprovalRejectedError as error:\n    print('rejected:', error)\n"
    )
    ended = any_sandbox.run("--mcp-config", config(any_sandbox), "--deny", "-c", code)
    assert ended.code == 0
    assert ended.out.startswith("rejected: this run denies it; ")


def test_without_a_terminal_it_is_rejected(any_sandbox: Program) -> None:
    ended = any_sandbox.run("--mcp-config", config(any_sandbox), "-c", ECHO + "print(echo('a'))")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines()[-1] == (
        "ApprovalRejectedError: there is no terminal to ask at; "
        "`ipybox run --approve FILE` allows what rules say, --yes everything"
    )


def test_code_on_standard_input_cannot_be_asked_about(program: Program) -> None:
    ended = program.run("--mcp-config", config(program), "-", stdin=ECHO + "print(echo('a'))")
    assert ended.code == 1
    assert "there is no terminal to ask at" in ended.err


@pytest.mark.parametrize("option", [["--deny"], ["--approve", "deny"]])
def test_deny(program: Program, option: list[str]) -> None:
    code = ECHO + "try:\n    echo('a')\nexcept PermissionError as e:\n    print('rejected:', e)"
    ended = program.run("--mcp-config", config(program), *option, "-c", code)
    assert ended.code == 0
    assert ended.out.startswith("rejected: this run denies it; ")


@pytest.mark.parametrize("option", [["--yes"], ["--approve", "auto"]])
def test_auto(program: Program, option: list[str]) -> None:
    ended = program.run("--mcp-config", config(program), *option, "-c", ECHO + "print(echo('a'))")
    assert (ended.code, ended.out) == (0, "a\n")


def test_shell_commands_are_asked_for_on_demand_only(any_sandbox: Program) -> None:
    assert any_sandbox.run("-c", "!echo hello").out.splitlines() == ["hello"]
    ended = any_sandbox.run("--approve-shell-cmds", "-c", "!echo hello")
    assert (ended.code, ended.out) == (1, "")
    assert "ApprovalRejectedError" in ended.err
    ended = any_sandbox.run("--approve-shell-cmds", "--yes", "-c", "!echo hello")
    assert ended.out.splitlines() == ["hello"]


def test_packages_are_installed_into_a_directory_that_later_runs_import_from(program: Program, tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    script = Path(__file__).parents[1] / "support" / "write_wheels.py"
    subprocess.run([PYTHON, script, wheels], check=True)
    program.sandbox = "bubblewrap"
    where = ["--packages", str(tmp_path / "layer"), "--package-index", "none", "--package-wheels", str(wheels)]
    installs = "%pip install ipybox_tiny\nimport ipybox_tiny; print(ipybox_tiny.version)"
    ended = program.run(*where, "--yes", "-c", installs)
    if ended.code == 3:
        pytest.skip(ended.err)
    assert "Successfully installed ipybox_tiny-2.0\n2.0\n" in ended.out, ended.err
    later = "import ipybox_tiny; print(ipybox_tiny.version)\nopen(ipybox_tiny.__file__, 'a')"
    ended = program.run(*where[:2], "-c", later)
    assert ended.out == "2.0\n"
    assert "Read-only file system" in ended.err
    assert "choose another directory" in program.run("--packages", str(program.directory), "-c", "1").err
    assert "--packages" in program.run("--package-index", "none", "-c", "1").err
    assert "must be a URL" in program.run(*where[:2], "--package-index", "pypi", "-c", "1").err


def test_installations_are_always_asked_for(program: Program) -> None:
    ended = program.run("--json", "-c", "%pip --version")
    (event,) = ended.approvals
    assert (event["kind"], event["argv"][-1].endswith("pip --version")) == ("package", True)
    assert ended.results[0]["error"]["ename"] == "ApprovalRejectedError"


def test_the_ways_around_shell_commands_are_open_unless_they_are_closed(any_sandbox: Program) -> None:
    code = "import subprocess\nprint(subprocess.run(['echo', 'around'], capture_output=True).stdout)"
    ended = any_sandbox.run("--approve-shell-cmds", "--deny", "-c", code)
    assert ended.out == "b'around\\n'\n"
    ended = any_sandbox.run("--require-shell-escape", "-c", code)
    assert (ended.code, ended.out) == (1, "")
    assert "PermissionError" in ended.err
    ended = any_sandbox.run("--require-shell-escape", "-c", "!echo hello")
    assert ended.out.splitlines() == ["hello"]


def test_every_way_around_is_closed(any_sandbox: Program) -> None:
    code = f"""
import ast, inspect, os
names = {{}}
for way in {STARTS!r}:
    try:
        begun = eval(compile(way, "way", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if inspect.isawaitable(begun):
            await begun
        print("open:", way)
    except PermissionError:
        pass
exec({TOOLS!r})
for way, outcome in {PAST_PYTHON!r}.items():
    if (came := eval(way)) != outcome:
        print("open:", way, came)
print(os.path.exists("ran"))
"""
    ended = any_sandbox.run("--require-shell-escape", any_sandbox.write("ways.py", code))
    assert (ended.code, ended.out, ended.err) == (0, "False\n", "")


def test_event_of_a_tool_call(any_sandbox: Program) -> None:
    code = ECHO + "echo('a')"
    ended = any_sandbox.run("--mcp-config", config(any_sandbox), "--yes", "--json", "-c", code)
    (event,) = ended.approvals
    identity = event.pop("id")
    assert isinstance(identity, int)
    assert event == {
        "event": "approval",
        "cell": 0,
        "kind": "tool",
        "server": "tools",
        "tool": "echo",
        "arguments": {"text": "a"},
        "argv": [],
        "cwd": "",
        "env_difference": {},
        "stdin": "",
        "code": code,
    }


def test_events_of_shell_commands(program: Program) -> None:
    code = "import os\nos.environ['A'] = '1'\n!cat x\n# %%\n%%bash\necho $A"
    ended = program.run("--approve-shell-cmds", "--yes", "--json", program.write("a.py", code))
    first, second = ended.approvals
    assert (first["cell"], first["kind"], first["argv"]) == (0, "shell", ["/bin/sh", "-c", "cat x"])
    assert (first["cwd"], first["env_difference"]) == (str(program.directory), {"A": "1"})
    assert (first["arguments"], first["server"], first["tool"]) == (None, "", "")
    assert (second["cell"], second["kind"], second["stdin"]) == (1, "shell_magic", "echo $A\n")
    assert ended.results[1]["text"] == "1"
    assert first["id"] != second["id"]


def test_secrets_of_a_server_are_nowhere(any_sandbox: Program) -> None:
    server = {**SDK, "env": {"TOKEN": "s3cr3t-value"}}
    code = (
        "from mcptools.sdk import add\nprint(add.run(add.Params(a=2, b=40)))\n"
        "import subprocess\n"
        "found = subprocess.run('grep -rl s3cr3t-valu[e] mcptools; env', shell=True, capture_output=True)\n"
        "print(found.stdout.decode())"
    )
    ended = any_sandbox.run(
        "--mcp-config", config(any_sandbox, sdk=server), *logged(any_sandbox), "--yes", "--json", "-c", code
    )
    assert "42" in ended.results[0]["text"]
    assert "s3cr3t-value" not in ended.out + ended.err
    assert "s3cr3t-value" not in json.dumps(records(any_sandbox))


def test_servers_of_node_and_of_python(any_sandbox: Program) -> None:
    (any_sandbox.directory / "files").mkdir()
    servers = {"files": filesystem(any_sandbox.directory / "files"), "sdk": SDK}
    code = """
import os
from mcptools.files import write_file, read_text_file
from mcptools.sdk import add, mirror
write_file.run(write_file.Params(path=os.path.abspath('files/a.txt'), content=str(add.run(add.Params(a=2, b=40)))))
print(open('files/a.txt').read())
print(read_text_file.run(read_text_file.Params(path='/etc/hostname')))
"""
    ended = any_sandbox.run("--mcp-config", config(any_sandbox, **servers), "--yes", "-c", code)
    assert ended.code == 1
    assert "Access denied" in ended.err
    assert "ToolRunnerError" in ended.err
    assert (any_sandbox.directory / "files/a.txt").exists()


def test_generated_apis_are_in_the_working_directory(any_sandbox: Program) -> None:
    (any_sandbox.directory / "work").mkdir()
    ended = any_sandbox.run(
        "--mcp-config", config(any_sandbox), "--working-dir", "work", "--yes", "-c", ECHO + "print(echo('a'))"
    )
    assert (ended.code, ended.out) == (0, "a\n")
    assert (any_sandbox.directory / "work/mcptools/tools/echo.py").exists()
    assert not (any_sandbox.directory / "mcptools").exists()


@pytest.mark.parametrize("guard", [[], ["--require-shell-escape"]])
def test_pip_and_python_of_shell_lines_are_those_of_the_kernel(any_sandbox: Program, guard: list[str]) -> None:
    any_sandbox.env["PATH"] = "/usr/bin:/bin"  # the environment of the interpreter is not activated
    shell = "pip = !command -v pip\npython = !command -v python\n"
    code = f"import sys\n{shell}print(pip[0], python[0], sys.executable, sep='\\n')"
    ended = any_sandbox.run("--python", PYTHON, "--yes", *guard, "-c", code)
    assert ended.code == 0
    pip, python, kernel = ended.out.splitlines()
    assert python == kernel
    assert pip == str(Path(kernel).with_name("pip"))


def test_several_requests_at_once_from_threads(any_sandbox: Program) -> None:
    code = ECHO + "from concurrent.futures import ThreadPoolExecutor as P\nprint(sorted(P(8).map(echo, 'abcdefgh')))"
    ended = any_sandbox.run("--mcp-config", config(any_sandbox), "--yes", "--json", "-c", code)
    assert ended.results[0]["text"] == str(sorted("abcdefgh"))
    assert sorted(e["arguments"]["text"] for e in ended.approvals) == sorted("abcdefgh")
    assert len({e["id"] for e in ended.approvals}) == 8


def test_the_documented_rule_for_packages_allows_pip(program: Program) -> None:
    page = (Path(__file__).parents[2] / "docs/approvals.md").read_text()
    rules = re.search(r"```json\n(\{\n  \"allow\".*?)```", page, re.S)
    assert rules
    arguments = ("--approve", program.write("rules.json", rules[1]), "--audit-log", str(program.directory / "log"))
    ended = program.run(*arguments, "-c", "%pip install numpy")  # which is there
    assert "already satisfied: numpy" in ended.out
    recorded = [json.loads(line) for line in (program.directory / "log").read_text().splitlines()]
    assert [r["detail"] for r in recorded if r["record"] == "decision"] == ["allow[5]"]
    assert "there is no terminal to ask at" in program.run(*arguments, "-c", "%pip install evil").err


def test_a_word_with_blanks_is_a_program_and_not_a_line(any_sandbox: Program) -> None:
    code = """
import os, sys
evil = os.path.abspath("evil")
with open(evil, "w") as file: file.write("#!/bin/sh\\necho EVIL RAN\\n")
os.chmod(evil, 0o755)
for word in ("make test #", "ls "):
    os.makedirs(word, exist_ok=True)
    for kind in ("shell", "shell_magic", "package"):
        try: get_ipython().system.__self__.programs.run([word + "/../evil"], kind, sys.stdout.write, sys.stderr.write)
        except PermissionError: print("refused")
"""
    rules = {"allow": [{"argv": ["make", "test"]}, {"argv": ["ls", "**"]}, {"argv": ["l*", "**"]}]}
    ended = any_sandbox.run("--approve-shell-cmds", "--approve", any_sandbox.write("r", json.dumps(rules)), "-c", code)
    assert ended.out == "refused\n" * 6


def test_rules_decide_before_anybody(program: Program) -> None:
    rules = {
        "allow": [{"tool": "tools.echo", "where": [{"path": "text", "op": "prefix", "value": "a"}]}],
        "deny": [{"argv": ["rm", "**"], "reason": "nothing is removed here"}],
    }
    code = ECHO + (
        "print(echo('abc'))\n"
        "try:\n    echo('bcd')\nexcept PermissionError as e:\n    print(e)\n"
        "try:\n    get_ipython().system('rm x')\nexcept PermissionError as e:\n    print(e)\n"
    )
    ended = program.run(
        "--mcp-config", config(program), "--approve", program.write("rules.json", json.dumps(rules)), "-c", code
    )
    first, second, third = ended.out.splitlines()
    assert first == "abc"
    assert second.startswith("no rule of ")
    assert second.endswith("rules.json allows it, and there is no terminal to ask at")
    assert third == "nothing is removed here"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"allow": [}', "rules.json:1:12: "),
        ('{"allow": [{"tool": 1}]}', "rules.json/allow/0/tool: "),
        ('{"alow": []}', "rules.json/alow: "),
        ("[]", "rules.json: "),
        ("", "rules.json:"),
    ],
)
def test_wrong_rules(program: Program, text: str, place: str) -> None:
    program.write("rules.json", text)
    ended = program.run("--approve", "rules.json", "-c", "print(1)")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("ipybox: " + place)


def test_audit_log(any_sandbox: Program) -> None:
    code = ECHO + "echo('a')\n!exit 3\n# %%\necho('b')"
    file = any_sandbox.write("a.py", code)
    options = ("--mcp-config", config(any_sandbox), *logged(any_sandbox), "--yes", "--approve-shell-cmds")
    assert any_sandbox.run(*options, file).code == 0
    found = records(any_sandbox)
    assert [r["record"] for r in found] == ["request", "decision", "outcome"] * 3
    for request, decision, outcome in zip(found[::3], found[1::3], found[2::3], strict=True):
        assert request["id"] == decision["id"] == outcome["id"]
        assert (decision["decision"], decision["by"], outcome["outcome"]) == ("accept", "policy", "done")
    assert (found[0]["tool"], found[0]["arguments"]) == ("echo", {"text": "a"})
    assert (found[3]["argv"], found[5]["exit_code"]) == (["/bin/sh", "-c", "exit 3"], 3)
    assert found[0]["code"] == found[3].get("code", found[0]["code"])
    assert (any_sandbox.directory / "log/audit.jsonl").stat().st_mode & 0o777 == 0o600

    assert any_sandbox.run(*options[:-2], "--deny", file, "--audit-log", "log/audit.jsonl").code in (1, 2)
    assert [r["record"] for r in records(any_sandbox)][:9] == [r["record"] for r in found]


def test_audit_log_is_appended_to(program: Program) -> None:
    option = logged(program)
    for decision in ("--yes", "--deny"):
        program.run(*option, "--approve-shell-cmds", decision, "-c", "!true")
    found = records(program)
    assert [r["record"] for r in found] == ["request", "decision", "outcome", "request", "decision"]
    assert (found[4]["decision"], found[4]["by"]) == ("reject", "policy")
    assert found[4]["reason"].startswith("this run denies it")
    assert found[0]["run"] != found[3]["run"]


def test_what_the_switch_lets_pass_is_recorded(program: Program) -> None:
    program.run(*logged(program), "-c", "!true")
    assert [r.get("by") for r in records(program)] == [None, "switched_off", None]


def test_what_cannot_be_recorded_is_not_done(program: Program) -> None:
    ended = program.run("--audit-log", "/dev/full", "-c", "!touch done")
    assert ended.code != 0
    assert not (program.directory / "done").exists()


@pytest.mark.parametrize(("path", "why"), [("/no/such/log", "No such file"), ("/tmp", "Is a directory")])
def test_audit_log_that_cannot_be_opened(program: Program, path: str, why: str) -> None:
    ended = program.run("--audit-log", path, "-c", "print(1)")
    assert (ended.code, ended.out) == (2, "")
    assert path in ended.err
    assert why in ended.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "mcp.json"),
        ("{}", "mcpServers"),
        ('{"mcpServers": {"a": {}}}', "neither a `command` nor a `url`"),
        ('{"mcpServers": {"a": {"command": 1}}}', "command"),
        ('{"mcpServers": {"a-b": {"command": "x"}, "a.b": {"command": "x"}}}', 'both "a-b" and "a.b" would be'),
    ],
)
def test_wrong_mcp_config(program: Program, text: str, why: str) -> None:
    program.write("mcp.json", text)
    ended = program.run("--mcp-config", "mcp.json", "-c", "print(1)")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("ipybox: ")
    assert "mcp.json" in ended.err
    assert why in ended.err


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"command": "/no/such/server"}, "/no/such/server"),
        ({"command": PYTHON, "args": ["-c", "exit(7)"]}, "exit code 7"),
        ({"command": PYTHON, "args": ["-c", "print('no JSON')"]}, "'broken'"),
        ({"command": "x", "env": {"A": "${IPYBOX_NOT_SET}"}}, "IPYBOX_NOT_SET"),
        ({"command": "x", "env": {"A": "${input:key}"}}, "only the editor"),
        ({"command": PYTHON, "envFile": "/no/such.env"}, "/no/such.env"),
        ({"command": "~/no-such-program-of-ipybox"}, f"{Path.home()}/no-such-program-of-ipybox"),
        ({"command": "python3 server.py"}, "`args` follows it"),
    ],
)
def test_server_that_does_not_start(any_sandbox: Program, server: dict[str, Any], why: str) -> None:
    code = "try: import mcptools.broken\nexcept ImportError: print(1)"
    call = ("--mcp-config", config(any_sandbox, broken=server), "--yes", "-c", code)
    ended = any_sandbox.run(*call)
    assert (ended.code, ended.out) == (0, "1\n")
    assert ended.err.startswith("ipybox: ")
    assert why in ended.err
    assert "its tools are missing in this run" in ended.err
    strict = any_sandbox.run("--require-servers", *call)
    assert (strict.code, strict.out) == (3, "")
    assert why in strict.err


def test_file_as_an_editor_leaves_it(any_sandbox: Program) -> None:
    good = json.dumps(SERVER)
    text = f"""// mine
    {{"servers": {{"tools": {good}, "wrong": {{"args": []}}, "odd": {{"command": "x", "env": 7}}, /* last */
      "off": {{"command": "x", "enabled": false}}, }},}}"""
    options = ("--mcp-config", any_sandbox.write("mcp.json", text), "--yes", "-c", ECHO + "print(echo('a'))")
    ended = any_sandbox.run(*options)
    assert (ended.code, ended.out) == (0, "a\n")
    assert 'the server "wrong" is left out: there is neither a `command` nor a `url`' in ended.err
    assert 'the server "odd" is left out: `env` is not an object of texts' in ended.err
    assert '"off"' not in ended.err
    strict = any_sandbox.run("--require-servers", *options)
    assert (strict.code, strict.out) == (3, "")
    asked = any_sandbox.apigen("--server-name", "odd", "--mcp-config", "mcp.json", "--root-dir", "api")
    assert asked.code == 2
    assert "the server 'odd': `env` is not an object of texts" in asked.err


def test_server_that_is_not_ready_names_the_bound(program: Program) -> None:
    file = config(program, mute={"command": "sleep", "args": ["60"]})
    ended = program.run("--mcp-config", file, "--tool-timeout", "0.5", "--yes", "-c", "import mcptools.mute")
    assert ended.code == 1
    assert "ImportError: the MCP server 'mute' was not ready within 500 ms" in ended.err


def test_names_that_python_cannot_import(program: Program) -> None:
    file = config(program, **{"the-tools": SERVER})
    code = "from mcptools.the_tools import echo\nprint(echo.run(echo.Params(text='a')))"
    ended = program.run("--mcp-config", file, "--yes", "-c", code)
    assert (ended.code, ended.out) == (0, "a\n")
    (renamed,) = ended.err.splitlines()
    assert 'the server "the-tools" is registered as the_tools' in renamed


def test_what_is_not_generated_is_not_replaced(program: Program) -> None:
    (program.directory / "mcptools/tools").mkdir(parents=True)
    (program.directory / "mcptools/tools/mine.py").write_text("mine")
    ended = program.run("--mcp-config", config(program), "--yes", "-c", "import mcptools.tools")
    assert (ended.code, ended.out) == (1, "")
    assert "mcptools/tools is no package that was generated" in ended.err
    assert (program.directory / "mcptools/tools/mine.py").read_text() == "mine"


def test_ctrl_c_while_a_server_starts(any_sandbox: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("--mcp-config", config(any_sandbox, asleep=ASLEEP), "-c", "import mcptools.asleep")
    deadline = time.monotonic() + PATIENCE
    while not any("time.sleep" in p and "ipybox run" not in p for p in any_sandbox.processes()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    before = time.monotonic()
    terminal.press_ctrl_c()
    assert terminal.wait() == 130
    assert time.monotonic() - before < 20  # the server does not end by itself
    any_sandbox.assert_all_gone()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_while_a_tool_works(any_sandbox: Program, number: int) -> None:
    code = "from mcptools.tools import sleep\nprint('begun')\nsleep.run(sleep.Params(seconds=60))"
    process = any_sandbox.start("--mcp-config", config(any_sandbox), "--yes", "-c", code)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(number)
    assert process.wait(PATIENCE) == 128 + number
    process.communicate()
    any_sandbox.assert_all_gone()


def test_timeout_while_a_tool_works(program: Program) -> None:
    code = "from mcptools.tools import sleep\nsleep.run(sleep.Params(seconds=60))"
    file = program.write("a.py", f"kept = 7\n# %%\n{code}\n# %%\nprint(kept)")
    ended = program.run("--mcp-config", config(program), "--yes", "--timeout", "2", "--keep-going", file)
    assert (ended.code, ended.out) == (124, "7\n")
    assert "sleep.run(" in ended.err  # where it was
    assert "fresh one" not in ended.err


def test_failing_tool(program: Program) -> None:
    code = "from mcptools.tools import fail\nfail.run(fail.Params())"
    ended = program.run("--mcp-config", config(program), "--yes", "-c", code)
    assert ended.code == 1
    assert "it had to" in ended.err


def test_a_relative_program_of_a_server_is_looked_for_in_the_current_directory(program: Program) -> None:
    folder = program.directory / "configuration"
    folder.mkdir()
    named = config(program, tools={"command": "./bin/server"})
    elsewhere = program.write("configuration/mcp.json", Path(named).read_text())
    ended = program.run("--mcp-config", elsewhere, "--require-servers", "-c", "print(1)")
    assert (ended.code, ended.out) == (3, "")
    assert f"./bin/server: there is no such program in {program.directory}\n" in ended.err
