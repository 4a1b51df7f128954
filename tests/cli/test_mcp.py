"""`ipybox mcp`: the tools as models use them, in both eras of the protocol."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_client import ERAS, FORMS, LEGACY, MODERN, CallFailed, Client, Clients, accept
from program import BINARY, ONE_PIXEL, Program
from servers import filesystem

NAMES = [
    "register_mcp_server",
    "install_package",
    "execute_ipython_cell",
    "reset",
    "cell_output",
    "wait_for_cell",
    "interrupt_cell",
]


def test_tools_are_listed_without_a_kernel(connect: Clients, program: Program, era: str) -> None:
    client = connect(version=era)
    tools = client.request("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == NAMES
    for tool in tools:
        assert tool["title"]
        assert tool["description"]
        assert tool["annotations"]
    assert len(program.processes()) == 1  # the server itself


def test_names_parameters_and_defaults_are_those_of_the_original(connect: Clients) -> None:
    tools = {tool["name"]: tool["inputSchema"] for tool in connect().request("tools/list")["tools"]}
    cell = tools["execute_ipython_cell"]["properties"]
    assert tools["execute_ipython_cell"]["required"] == ["code"]
    assert (cell["timeout"]["default"], cell["max_output_chars"]["default"]) == (120, 5000)
    assert set(tools["register_mcp_server"]["required"]) == {"server_name", "server_params"}
    assert list(tools["install_package"]["properties"]) == ["package_name", "version"]
    assert tools["reset"]["properties"] == {}


def test_instructions_name_the_workspace(connect: Clients, program: Program) -> None:
    client = connect()
    assert client.initialized["serverInfo"]["name"] == "ipybox"
    assert str(program.directory) in client.initialized["instructions"]


def test_instructions_name_the_short_form_of_a_call(connect: Clients) -> None:
    client = connect()
    (register,) = [t for t in client.request("tools/list")["tools"] if t["name"] == "register_mcp_server"]
    for text in (client.initialized["instructions"], register["description"]):
        assert "TOOL.run(field=...)" in text
        assert "Params(" not in text


def test_cells_keep_their_state(connect: Clients, era: str) -> None:
    client = connect(version=era)
    assert client.run("x = 20").text == "[no output]"
    answer = client.run("print('printed')\nx + 1")
    assert answer.text == "printed\n21"
    assert not answer.failed
    assert answer.value["status"] == "ok"
    assert answer.value["output"] == "printed\n21"


def test_output_before_an_error_is_kept(connect: Clients, era: str) -> None:
    answer = connect(version=era).run("print('before')\n1 / 0")
    assert answer.failed
    assert answer.text.startswith("before\n")
    assert "ZeroDivisionError: division by zero" in answer.text
    assert answer.value["status"] == "error"


def test_output_before_a_timeout_is_kept_and_the_state_too(connect: Clients) -> None:
    client = connect()
    answer = client.run("x = 1\nprint('before')\nimport time\ntime.sleep(60)", timeout=0.5)
    assert answer.failed
    assert answer.text.startswith("before")
    assert "the cell was interrupted" in answer.text
    assert "variables are still there" in answer.text
    assert answer.value["status"] == "timed_out"
    assert client.run("x").text == "1"


def test_long_output_has_its_middle_left_out_and_can_be_read(connect: Clients) -> None:
    client = connect()
    answer = client.run("for i in range(10_000): print(i)", max_output_chars=100)
    assert answer.text.startswith("0\n1\n2\n")
    assert answer.text.endswith("9998\n9999")
    assert len(answer.text) < 300
    assert 'cell_output(id="1", from=50) reads on from there' in answer.text
    # The rest is read piece by piece.
    printed, position = answer.text[:50], 50
    while position < sum(len(f"{i}\n") for i in range(10_000)):
        more = client.call("cell_output", id="1", **{"from": position}, max_output_chars=20_000)
        printed += more.text.split("\n\n[")[0]
        position = more.value["to"]
    assert printed.split() == [str(i) for i in range(10_000)]


def test_output_that_is_very_large_is_in_a_file_that_is_named(connect: Clients, program: Program) -> None:
    client = connect()
    answer = client.run("for i in range(11): print('x' * 1_000_000)")
    (file,) = (program.directory / "output").iterdir()
    assert f"all of it is in {file}" in answer.text
    assert file.stat().st_size == 11 * 1_000_001


def test_an_answer_is_bounded_whatever_is_asked_for(connect: Clients) -> None:
    answer = connect().run("print('\\x01' * 5_000_000)", max_output_chars=10**12)
    assert not answer.failed
    assert 200_000 < len(answer.text) < 260_000


def test_images_are_content_and_links(connect: Clients, program: Program, era: str) -> None:
    answer = connect(version=era).run(ONE_PIXEL)
    (image,) = answer.images
    assert image["mimeType"] == "image/png"
    (file,) = (program.directory / "images").iterdir()
    assert base64.b64decode(image["data"]) == file.read_bytes()
    assert f"Generated images:\n\n- [{file.stem}]({file})" in answer.text
    assert answer.value["images"] == [str(file)]


def test_an_image_that_is_too_large_is_only_linked(connect: Clients) -> None:
    code = (
        "import os\nfrom IPython.display import display, Image\n"
        r"display(Image(b'\x89PNG\r\n\x1a\n' + os.urandom(4_000_000), format='png', width=1, height=1))"
    )
    answer = connect().run(code)
    assert not answer.failed
    assert answer.images == []
    assert "Generated images:" in answer.text


def test_reset_clears_variables_and_keeps_files(connect: Clients, program: Program) -> None:
    client = connect()
    client.run("x = 1\nopen('kept', 'w').close()")
    assert client.call("reset").text == "The kernel was reset."
    assert "NameError" in client.run("x").text
    assert (program.directory / "kept").exists()


def test_a_kernel_that_ended_is_replaced_and_that_is_told(connect: Clients) -> None:
    client = connect()
    client.run("x = 1")
    died = client.run("import os; os._exit(3)")
    assert died.failed
    assert died.value["status"] == "kernel_died"
    after = client.run("1 + 1")
    assert after.text.startswith("2\n")
    assert "fresh kernel" in after.text


def test_arguments_that_do_not_fit_are_an_error_that_the_model_sees(connect: Clients) -> None:
    client = connect()
    for arguments in (
        {},
        {"code": "1", "timeout": 0},
        {"code": "1", "timeout": "x"},
        {"code": "1", "no": 1},
    ):
        assert client.call("execute_ipython_cell", **arguments).failed
    assert client.run("1").text == "1"
    with pytest.raises(CallFailed):
        client.call("no_such_tool")


def test_variables_of_the_environment_and_of_the_file_reach_the_code(connect: Clients, program: Program) -> None:
    program.env = {"KERNEL_ENV_A": "process", "OTHER": "no"}
    program.write(".env", "KERNEL_ENV_A=file\nKERNEL_ENV_B=file\nSECRET=no\n")
    code = (
        "import os\nprint(os.environ.get('A'), os.environ.get('B'), os.environ.get('OTHER'), os.environ.get('SECRET'))"
    )
    assert connect().run(code).text == "process file None None"


def wheels(program: Program) -> str:
    directory = program.directory.parent / f"{program.directory.name}-wheels"
    script = Path(__file__).parents[1] / "support/write_wheels.py"
    subprocess.run([sys.executable, str(script), str(directory)], check=True)
    return str(directory)


def test_a_package_is_installed_and_imported_at_once(connect: Clients, program: Program) -> None:
    program.sandbox = "bubblewrap"
    client = connect("--package-index", "none", "--package-wheels", wheels(program), "--approve", "auto")
    answer = client.call("install_package", package_name="ipybox-tiny", version="1.0")
    assert not answer.failed, answer.text
    assert answer.value["installed"] == [{"name": "ipybox_tiny", "version": "1.0"}]
    assert client.run("import ipybox_tiny; ipybox_tiny.version").text == "'1.0'"
    client.call("reset")
    assert client.run("import ipybox_tiny; ipybox_tiny.version").text == "'1.0'"
    failed = client.call("install_package", package_name="ipybox-no-such-package")
    assert failed.failed
    assert "pip said" in failed.text


@pytest.mark.parametrize("version", ERAS)
def test_a_server_is_registered_and_its_tools_called(connect: Clients, program: Program, version: str) -> None:
    (program.directory / "data").mkdir()
    program.write("data/hello.txt", "hello from the file")
    client = connect(version=version, capabilities=FORMS, on_question=lambda _: accept("accept_always"))
    answer = client.call("register_mcp_server", server_name="fs", server_params=filesystem(program.directory / "data"))
    assert not answer.failed, answer.text
    assert "read_text_file" in answer.value["tools"]
    assert answer.text.split("\n") == answer.value["tools"]
    code = (
        "from mcptools.fs import read_text_file\n"
        f"print(read_text_file.run(read_text_file.Params(path={str(program.directory / 'data/hello.txt')!r})))"
    )
    assert "hello from the file" in client.run(code).text
    assert [
        kind in question["message"]
        for kind, question in zip(("MCP server", "call a tool"), client.questions, strict=False)
    ] == [
        True,
        True,
    ]
    # What was accepted for the session is not asked again.
    assert "hello from the file" in client.run(code).text
    assert len(client.questions) == 2


def test_a_server_that_does_not_start_is_told(connect: Clients) -> None:
    client = connect("--approve", "auto")
    answer = client.call("register_mcp_server", server_name="gone", server_params={"command": "/no/such/program"})
    assert answer.failed
    assert "there is no such program" in answer.text
    for name in ("not a name", "", "a.b", "../x"):
        assert client.call("register_mcp_server", server_name=name, server_params={"command": "true"}).failed
    assert client.call("register_mcp_server", server_name="a", server_params={"url": "http://localhost/mcp"}).failed
    assert client.call("register_mcp_server", server_name="a", server_params={"command": 1}).failed


def test_configured_servers_are_there_from_the_first_cell(connect: Clients, program: Program) -> None:
    import servers

    config = servers.config(program, tools=servers.TOOLS, broken={"command": "/no/such/program"})
    client = connect("--mcp-config", config, "--approve", "auto")
    answer = client.run(servers.ECHO + "print(echo('a'))")
    assert "a" in answer.text
    assert not answer.failed
    failed = client.run("import mcptools.broken")
    assert "ImportError: the MCP server 'broken' cannot be started: /no/such/program: there is no such" in failed.text
    assert "the tools of the MCP server broken are missing" in failed.text
    assert "missing" not in client.run("1").text


def test_without_a_verb_the_options_are_those_of_the_server(program: Program) -> None:
    command = [
        BINARY,
        "--workspace",
        str(program.directory / "made"),
        "--sandbox",
        "--tool-server-port",
        "1",
        "--log-level",
        "ERROR",
    ]
    line = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    ended = subprocess.run(command, input=line, capture_output=True, text=True, env=program.environment(), timeout=60)
    assert ended.returncode == 0
    assert '"id":1' in ended.stdout
    assert (program.directory / "made").is_dir()


def test_wrong_options_are_explained(program: Program) -> None:
    def refused(*arguments: str) -> str:
        ended = subprocess.run(
            [BINARY, "mcp", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
        )
        assert ended.returncode == 2
        assert ended.stdout == ""
        return ended.stderr

    assert "does not exist" in refused("--approve", "/no/such/rules.json")
    assert "is none of DEBUG" in refused("--log-level", "loud")
    assert "--sandbox-config has no effect" in refused(
        "--sandbox", "none", "--sandbox-config", program.write("s.json", "{}")
    )
    assert "is no directory" in refused("--workspace", program.write("file", ""))
    assert "rules.json" in refused("--approve", program.write("rules.json", '{"allow": 1}'))
    assert "mcp.json" in refused("--mcp-config", program.write("mcp.json", "nonsense"))


def test_help_is_printed() -> None:
    shown = subprocess.run([BINARY, "mcp", "--help"], capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0
    for option in (
        "--workspace",
        "--approve",
        "--sandbox",
        "--mcp-config",
        "--packages",
        "--wait-seconds",
        "--log-level",
    ):
        assert option in shown.stdout
    assert "--tool-server-port" not in shown.stdout


def test_the_first_cell_says_what_to_do_without_bubblewrap(program: Program, tmp_path: Path) -> None:
    program.sandbox = "bubblewrap"
    empty = tmp_path / "bin"
    empty.mkdir()
    program.env = {"PATH": str(empty)}
    client = Client(program)
    assert len(client.request("tools/list")["tools"]) == len(NAMES)
    answer = client.run("1")
    assert answer.failed
    assert "bubblewrap" in answer.text
    assert "install" in answer.text
    assert client.close() == 0


@pytest.mark.parametrize("sandbox", ["landlock", "best"])
def test_code_runs_without_bubblewrap_in_other_sandboxes(program: Program, tmp_path: Path, sandbox: str) -> None:
    program.sandbox = sandbox
    empty = tmp_path / "bin"
    empty.mkdir()
    program.env = {"PATH": str(empty)}
    client = Client(program)
    assert client.run("40 + 2").text == "42"
    assert client.run("import urllib.request; urllib.request.urlopen('http://127.0.0.1:9', timeout=5)").failed
    assert client.run("open('/usr/new', 'w')").failed
    assert client.close() == 0


def test_an_unusable_env_file_is_told_and_left_out(connect: Clients, program: Program) -> None:
    (program.directory / ".env").symlink_to("/etc/passwd")
    client = connect()
    assert client.run("1").text == "1"
    client.close()
    assert any("is a symbolic link; the file is left out" in line for line in client.errors)


def test_code_cannot_read_the_env_file_in_the_sandbox(connect: Clients, program: Program) -> None:
    program.sandbox = "bubblewrap"
    program.write(".env", "TOKEN=hush\n")
    assert "hush" not in connect().run("try: print(open('.env').read())\nexcept OSError as e: print(type(e))").text


def test_what_the_code_writes_to_descriptor_one_is_no_message(connect: Clients) -> None:
    client = connect()
    assert client.run("import os; _ = os.write(1, b'{}\\n')").text == "{}"
    assert client.run("1").text == "1"


def test_both_eras_on_one_connection(connect: Clients) -> None:
    client = connect(version=LEGACY)
    client.run("x = 5")
    client.version = MODERN
    assert client.run("x").text == "5"
