"""Ctrl-C, SIGTERM, SIGHUP, and questions of the code: with a terminal and without."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest
from program import PATIENCE, PYTHON, Program, Terminals, wait_for
from servers import DEAF, config

SLEEP = "import time\nprint('begun')\ntime.sleep(60)\n"
STUBBORN = """
import time
print('begun')
while True:
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        print('never mind')
"""


def test_ctrl_c_interrupts_the_cell_and_ends_the_run(any_sandbox: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal(any_sandbox.write("a.py", SLEEP + "# %%\nprint('next')"))
    terminal.expect("begun")
    before = time.monotonic()
    terminal.press_ctrl_c()
    assert terminal.wait() == 130
    assert time.monotonic() - before < 20
    assert "KeyboardInterrupt" in terminal.seen
    assert "next" not in terminal.seen


def test_ctrl_c_with_keep_going(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal(program.write("a.py", SLEEP + "# %%\nprint('next')"), "--keep-going")
    terminal.expect("begun")
    terminal.press_ctrl_c()
    terminal.expect("next")
    assert terminal.wait() == 130


def test_ctrl_c_that_the_code_survives_ends_the_run(program: Program, on_terminal: Terminals) -> None:
    code = "import time\ntry:\n    print('begun')\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('saved')\n"
    terminal = on_terminal(program.write("a.py", code + "# %%\nprint('next')"))
    terminal.expect("begun")
    terminal.press_ctrl_c()
    assert terminal.wait() == 130
    assert "saved" in terminal.seen
    assert "next" not in terminal.seen


def test_ctrl_c_twice_ends_the_run_at_once(any_sandbox: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("-c", STUBBORN)
    terminal.expect("begun")
    terminal.press_ctrl_c()
    terminal.expect("never mind")
    before = time.monotonic()
    terminal.press_ctrl_c()
    assert terminal.wait() == 130
    assert time.monotonic() - before < 20
    any_sandbox.assert_all_gone()


def test_ctrl_c_is_counted_for_each_cell(program: Program, on_terminal: Terminals) -> None:
    file = program.write("a.py", SLEEP + "# %%\n" + SLEEP.replace("begun", "second") + "# %%\nprint('third')")
    terminal = on_terminal(file, "--keep-going")
    for word in ("begun", "second"):
        terminal.expect(word)
        terminal.press_ctrl_c()
    terminal.expect("third")
    assert terminal.wait() == 130


def test_ctrl_c_while_the_kernel_ends(any_sandbox: Program, on_terminal: Terminals) -> None:
    code = (
        "import threading, time\ndef work():\n    time.sleep(1)\n    print('still here')\n    time.sleep(60)\n"
        "threading.Thread(target=work).start()"
    )
    terminal = on_terminal("--end-grace", "60", "-c", code)
    terminal.expect("still here")
    before = time.monotonic()
    terminal.press_ctrl_c()
    assert terminal.wait() == 130
    assert time.monotonic() - before < 3  # when the program gives up
    any_sandbox.assert_all_gone()


def slow_python(program: Program) -> str:
    """An interpreter that takes its time, and leaves a sign when it is started."""
    venv = program.directory / "venv"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(venv)], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    sign = program.directory / "started"
    (packages / "sitecustomize.py").write_text(f"import time\nopen({str(sign)!r}, 'w').close()\ntime.sleep(60)\n")
    return str(venv / "bin/python")


def wait_for_start(program: Program) -> None:
    deadline = time.monotonic() + PATIENCE
    while not (program.directory / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def test_ctrl_c_while_the_kernel_starts(any_sandbox: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("-c", "print(1)", "--python", slow_python(any_sandbox))
    wait_for_start(any_sandbox)
    before = time.monotonic()
    terminal.press_ctrl_c()
    assert terminal.wait() == 130
    assert time.monotonic() - before < 20
    any_sandbox.assert_all_gone()


def test_sigterm_while_the_kernel_starts(any_sandbox: Program) -> None:
    process = any_sandbox.start("-c", "print(1)", "--python", slow_python(any_sandbox))
    wait_for_start(any_sandbox)
    process.terminate()
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (143, b"", b"")
    any_sandbox.assert_all_gone()


def test_ctrl_c_at_any_moment_of_a_short_run(program: Program, on_terminal: Terminals) -> None:
    for delay in (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3):
        terminal = on_terminal("-c", "import time; time.sleep(20)")
        time.sleep(delay)
        terminal.press_ctrl_c()
        assert terminal.wait() in (130, -signal.SIGINT)
        program.assert_all_gone()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_signals_from_elsewhere(any_sandbox: Program, number: int, code: int) -> None:
    process = any_sandbox.start("-c", SLEEP)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    before = time.monotonic()
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert time.monotonic() - before < 20
    any_sandbox.assert_all_gone()


def test_sigterm_while_code_is_stubborn(any_sandbox: Program) -> None:
    process = any_sandbox.start("-c", STUBBORN)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    process.terminate()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    any_sandbox.assert_all_gone()


def test_sigterm_while_nobody_reads_the_output(program: Program) -> None:
    process = program.start("-c", "while True: print('x' * 1000)")
    assert process.stdout is not None
    assert process.stdout.read(10) == b"x" * 10
    time.sleep(0.3)  # until the pipe is full
    process.terminate()
    assert process.wait(PATIENCE) == 143
    process.communicate()
    program.assert_all_gone()


def test_sigkill_leaves_no_process(any_sandbox: Program) -> None:
    process = any_sandbox.start("-c", "import os\n" + SLEEP)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    process.kill()
    process.communicate(timeout=PATIENCE)
    any_sandbox.assert_all_gone()


def test_death_of_the_supervisor_is_told(program: Program) -> None:
    process = program.start("-c", "import os\nprint(os.getppid())\n" + SLEEP)
    assert process.stdout is not None
    os.kill(int(process.stdout.readline()), signal.SIGKILL)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert err == b"ipybox: cell 1: the kernel died with its supervisor, which has ended\n"
    program.assert_all_gone()


def test_children_of_the_code_are_gone_too(any_sandbox: Program) -> None:
    code = "import subprocess\nsubprocess.Popen(['sleep', '60'], start_new_session=True)\nprint('done')"
    assert any_sandbox.run("-c", code).code == 0
    any_sandbox.assert_all_gone()


def test_signals_that_were_ignored_stay_ignored(program: Program) -> None:
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    process = program.start("-c", SLEEP.replace("60", "1"), preexec_fn=ignore)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_interrupted_cell_in_json(program: Program) -> None:
    process = program.start("-c", SLEEP, "--json")
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert first["text"] == "begun\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    result = json.loads(out.splitlines()[-1])
    assert process.returncode == 130
    assert (result["status"], result["error"]["ename"]) == ("error", "KeyboardInterrupt")


def test_ended_run_in_json(program: Program) -> None:
    process = program.start("-c", SLEEP, "--json")
    assert process.stdout is not None
    process.stdout.readline()
    process.terminate()
    out, _ = process.communicate(timeout=PATIENCE)
    result = json.loads(out.splitlines()[-1])
    assert (result["status"], result["text"], result["error"]["ename"]) == ("cancelled", "begun", "CancelledError")


def test_input_asks_on_the_terminal(any_sandbox: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("-c", "name = input('name? ')\nprint('hello', name)\nprint(input())")
    terminal.expect(r"name\? ")
    terminal.type("Ada\n")
    terminal.expect("hello Ada")
    terminal.type("again\n")
    assert terminal.wait() == 0
    assert terminal.seen.count("again") == 2  # as typed, and as printed


def test_password_is_not_shown(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("-c", "from getpass import getpass\nprint(len(getpass('secret: ')))")
    terminal.expect("secret: ")
    assert not terminal.echoes()
    terminal.type("hush\n")
    terminal.expect("4")
    assert terminal.wait() == 0
    assert terminal.echoes()
    assert "hush" not in terminal.seen


def test_ctrl_d_is_the_end_of_input(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("-c", "input('? ')")
    terminal.expect(r"\? ")
    terminal.type("\x04")
    assert terminal.wait() == 1
    assert "EOFError" in terminal.seen


def test_ctrl_c_instead_of_an_answer(program: Program, on_terminal: Terminals) -> None:
    file = program.write("a.py", "input('first? ')\n# %%\nprint('got', input('second? '))")
    terminal = on_terminal(file, "--keep-going")
    terminal.expect(r"first\? ")
    terminal.press_ctrl_c()
    terminal.expect("KeyboardInterrupt")
    terminal.expect(r"second\? ")
    terminal.type("yes\n")
    terminal.expect("got yes")
    assert terminal.wait() == 130


def test_ctrl_c_instead_of_a_password_shows_typing_again(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("-c", "from getpass import getpass\ngetpass('secret: ')")
    terminal.expect("secret: ")
    terminal.press_ctrl_c()
    assert terminal.wait() == 130
    assert terminal.echoes()


def test_question_that_is_asked_again_after_ctrl_c(program: Program, on_terminal: Terminals) -> None:
    code = "try:\n    input('first? ')\nexcept KeyboardInterrupt:\n    print('got', input('second? '))"
    terminal = on_terminal("-c", code)
    terminal.expect(r"first\? ")
    terminal.press_ctrl_c()
    terminal.expect(r"second\? ")
    terminal.type("yes\n")
    terminal.expect("got yes")
    assert terminal.wait() == 130


def test_json_on_a_terminal_asks_too(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("-c", "print(input('? '))", "--json")
    terminal.expect(r"\? ")
    terminal.type("yes\n")
    terminal.expect(r'"event":"chunk","cell":0,"stream":"stdout","text":"yes\\n"')
    assert terminal.wait() == 0


def test_questions_come_after_what_was_printed(program: Program, on_terminal: Terminals) -> None:
    terminal = on_terminal("-c", "for i in range(50):\n    print('printed', i, end=' ')\n    input(f'asked {i} ')")
    for i in range(50):
        terminal.expect(f"^(\r\n)*printed {i} asked {i} ")
        terminal.type("\n")
    assert terminal.wait() == 0


def test_a_server_that_nothing_ends_is_ended_with_the_program(program: Program) -> None:
    with program.start("--mcp-config", config(program, deaf=DEAF), "-c", "import mcptools.deaf") as running:
        wait_for((program.directory / "started").exists)
        running.send_signal(signal.SIGTERM)
        assert running.wait(PATIENCE) == 143
    program.assert_all_gone()


def test_sigkill_of_the_program_ends_a_server_that_reads_its_input(program: Program) -> None:
    server = {"command": "sh", "args": ["-c", "echo > started; cat > /dev/null"]}
    process = program.start("--mcp-config", config(program, tools=server), "-c", "import mcptools.tools")
    wait_for((program.directory / "started").exists)
    process.kill()
    process.communicate(timeout=PATIENCE)
    program.assert_all_gone()


def test_sigkill_of_the_program_ends_every_server_in_a_sandbox(program: Program) -> None:
    process = program.start(
        "--mcp-config", config(program, deaf={**DEAF, "sandbox": True}), "-c", "import mcptools.deaf"
    )
    wait_for((program.directory / "started").exists)
    process.kill()
    process.communicate(timeout=PATIENCE)
    program.assert_all_gone()
