"""Programs that cells ask the host for: what it is asked, what becomes of them and of their output."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import Action, Host, Kernel, Refusal, alive, default_env, wait_until


class TestRequest:
    """What the host is asked is what is executed: weaknesses W10, Q3 and M13 of the original."""

    def test_command(self, acting: Kernel, tmp_path: Path) -> None:
        acting.run(f"import os; os.chdir({str(tmp_path)!r})")
        request = acting.start("!ls | wc -l")
        assert acting.finish(request).text().strip() == "0"
        (action,) = acting.actions.seen
        assert action.head == {
            "op": "run",
            "id": action["id"],
            "cell": request,
            "after": action["after"],
            "kind": "shell",
            "argv": ["/bin/sh", "-c", "ls | wc -l"],
            "cwd": str(tmp_path),
            "env": {},
            "merge": False,
        }
        assert action.body == b""

    def test_between_cells_there_is_no_cell(self, acting: Kernel) -> None:
        acting.run("import threading, time\nshell = get_ipython()\ngo = threading.Event()")
        acting.run(
            "t = threading.Thread(target=lambda: (go.wait(), time.sleep(0.2), shell.getoutput('true'))); t.start()"
        )
        acting.run("go.set()")
        wait_until(lambda: acting.actions.seen)
        assert acting.actions.seen[0]["cell"] == ""

    @pytest.mark.parametrize(
        ("code", "command"),
        [
            ("!echo {f()} $x $$HOME {{y}}", "echo 1 value $HOME {y}"),
            ("!!echo {f()} $x", "echo 1 value"),
            ("v = !echo {f()}", "echo 1"),
            ("v = %sx echo {f()} $x", "echo 1 value"),
            ("%system echo {f()}", "echo 1"),
            ("%%sx\necho {f()} $x", "echo 1 value\n"),
            ("%%!\necho {f()}", "echo 1\n"),
            ("!find . -name nothing -exec echo {} \\;", "find . -name nothing -exec echo {} \\;"),
            ("!echo 1 2 | awk '{print $1}'", "echo 1 2 | awk '{print $1}'"),
            ("!echo '{\"a\": 1}'", "echo '{\"a\": 1}'"),
            ("!echo {nested}", "echo {f()} $x"),
        ],
    )
    def test_w10_q3_variables_are_expanded_once(self, acting: Kernel, code: str, command: str) -> None:
        acting.run("calls = []\ndef f():\n  calls.append(1)\n  return len(calls)\nx = 'value'\nnested = '{f()} $x'")
        assert acting.run(code).reply["status"] == "ok"
        assert acting.actions.argvs() == [["/bin/sh", "-c", command]]

    def test_w10_what_formats_differently_each_time_is_run_as_it_was_shown(self, acting: Kernel) -> None:
        code = """
            class Changing:
                texts = iter(['echo shown', 'echo another'])
                def __format__(self, spec): return next(self.texts)
            c = Changing()
            !{c}
        """
        assert acting.run(code).text() == "shown\n" and acting.actions.argvs()[0][2] == "echo shown"

    def test_environment_is_told_as_a_difference(self, host: Host) -> None:
        kernel = host.fork(env={**default_env(), "KEPT": "1", "GONE": "2", "OTHER": "3"}, actions=True)
        kernel.run("import os; os.environ.update(OTHER='x', NEW='n'); del os.environ['GONE']")
        text = kernel.run("!env").text()
        assert kernel.actions.seen[0]["env"] == {"GONE": None, "OTHER": "x", "NEW": "n"}
        lines = set(text.splitlines())
        assert {"KEPT=1", "OTHER=x", "NEW=n", "TERM=dumb", "NO_COLOR=1"} <= lines and "GONE=2" not in lines
        kernel.close()

    def test_path_is_that_of_the_program(self, acting: Kernel, tmp_path: Path) -> None:
        (tmp_path / "mine").write_text("#!/bin/sh\necho found\n")
        (tmp_path / "mine").chmod(0o755)
        code = f"import os; os.environ['PATH'] += ':{tmp_path}'"
        acting.run(code)
        assert acting.run("%%script mine\n\n").text() == "found\n"

    def test_packages(self, acting: Kernel) -> None:
        acting.actions.approve = refuse
        for magic in ("pip install {'a'}{1 + 1}", "uv pip install $name"):
            acting.run("name = 'a2'")
            assert acting.run("%" + magic).error == "ApprovalRejectedError"
            action = acting.actions.seen[-1]
            assert action["kind"] == "package"
            assert action["argv"][:2] == ["/bin/sh", "-c"] and action["argv"][2].endswith("install a2")
            assert sys.executable.rsplit("/", 1)[0].split("/")[-1] in action["argv"][2]

    def test_pip_runs(self, acting: Kernel) -> None:
        assert "pip" in acting.run("%pip --version").text()

    def test_aliases(self, acting: Kernel) -> None:
        acting.run("%ls -d /")
        assert "ls" in acting.actions.argvs()[0][2]


def refuse(action: Action) -> None:
    raise Refusal("rejected", "not today")


class TestRejection:
    @pytest.mark.parametrize(
        "code", ["!touch x", "x = !touch x", "%sx touch x", "%%bash\ntouch x", "%%script perl\n1;", "%pip install x"]
    )
    def test_nothing_runs(self, acting: Kernel, tmp_path: Path, code: str) -> None:
        acting.run(f"import os; os.chdir({str(tmp_path)!r})")
        acting.actions.approve = refuse
        result = acting.run(code)
        assert result.error == "ApprovalRejectedError" and result.reply["evalue"] == "not today"
        assert "ipybox_kernel" not in result.traceback and not os.listdir(tmp_path)
        acting.actions.approve = lambda action: None
        assert acting.run("!echo on").text() == "on\n"

    def test_it_can_be_caught(self, acting: Kernel) -> None:
        acting.actions.approve = refuse
        for name in ("PermissionError", "ToolRunnerError", "ApprovalRejectedError"):
            code = f"""
                from mcpygen.tool_exec.client import ApprovalRejectedError, ToolRunnerError
                try:
                    !true
                except {name} as error:
                    print(error)
            """
            assert acting.run(code).text() == "not today\n"

    def test_time_out(self, acting: Kernel) -> None:
        def wait(action: Action) -> None:
            raise Refusal("approval_timeout", "nobody answered")

        acting.actions.approve = wait
        assert acting.run("!true").error == "ApprovalTimeoutError"


class TestFailure:
    def test_missing_program(self, acting: Kernel) -> None:
        result = acting.run("%%script no-such-program\nx")
        assert result.error == "FileNotFoundError" and "no-such-program" in result.reply["evalue"]

    def test_a_program_that_is_none(self, acting: Kernel) -> None:
        assert acting.run("%%script /etc/passwd\nx").error == "PermissionError"

    def test_missing_directory(self, acting: Kernel, tmp_path: Path) -> None:
        acting.run(f"import os; os.mkdir('{tmp_path}/d'); os.chdir('{tmp_path}/d'); os.rmdir('{tmp_path}/d')")
        assert acting.run("!true").error == "FileNotFoundError"
        acting.run("os.chdir('/')")

        def remove(action: Action) -> None:
            action.head["cwd"] = f"{tmp_path}/d"

        acting.actions.approve = remove
        result = acting.run("!true")
        assert result.error == "FileNotFoundError" and f"{tmp_path}/d" in result.reply["evalue"]

    def test_raising_on_error(self, acting: Kernel) -> None:
        acting.run("get_ipython().system_raise_on_error = True")
        assert acting.run("!exit 3").error == "CalledProcessError"
        assert acting.run("x = !exit 3").error == "CalledProcessError"

    def test_end_of_the_host(self, acting: Kernel) -> None:
        acting.actions.approve = lambda action: acting.actions.close()
        for _ in range(2):
            result = acting.run("!true")
            assert result.error == "ToolRunnerError" and "host has closed" in result.reply["evalue"]
        assert acting.run("1 + 1").value == "2"


class TestScripts:
    def test_m13_one_request_and_one_program(self, acting: Kernel) -> None:
        body = "for i in 1 2; do echo $i {x} $x; done\n"
        assert acting.run("x = 'python'\n").reply["status"] == "ok"
        assert acting.run("%%bash -e\n" + body).text() == "1 {x}\n2 {x}\n"
        (action,) = acting.actions.seen
        assert (action["kind"], action["argv"], action.body.decode()) == ("shell_magic", ["bash", "-e"], body)

    def test_w10_the_line_is_shown_too(self, acting: Kernel) -> None:
        assert acting.run("%%bash -c 'echo evil'\necho harmless").text() == "evil\n"
        assert acting.actions.argvs() == [["bash", "-c", "echo evil"]]

    def test_line_is_expanded_and_split(self, acting: Kernel) -> None:
        acting.run("x = 'a b'")
        assert acting.run("%%bash -s '{x}' \"c d\" $x\nprintf '%s\\n' \"$@\"").text() == "a b\nc d\na\nb\n"
        assert acting.actions.argvs() == [["bash", "-s", "a b", "c d", "a", "b"]]

    @pytest.mark.parametrize("cell", ["%%perl\nprint 6 * 7;", "%%script python3 -\nprint(6 * 7, end='')"])
    def test_other_interpreters(self, acting: Kernel, cell: str) -> None:
        assert acting.run(cell).text() == "42"

    def test_streams_and_exit_code(self, acting: Kernel) -> None:
        result = acting.run("%%sh\necho out\necho err >&2\nexit 3")
        assert (result.text(), result.text("stderr"), result.error) == ("out\n", "err\n", "CalledProcessError")
        assert acting.run("_exit_code").value == "3"
        assert acting.run("%%sh --no-raise-error\nexit 4").error == ""
        assert acting.run("_exit_code").value == "4"

    def test_output_to_variables(self, acting: Kernel) -> None:
        result = acting.run("%%bash --out o --err e --no-raise-error\necho out; echo err >&2; false")
        assert not result.messages and acting.run("o, e").value == "('out\\n', 'err\\n')"

    def test_what_reads_its_input(self, acting: Kernel) -> None:
        assert acting.run("%%bash\nread line\nx\necho $line").text() == "x\n"
        assert acting.run("%%script cat\na\nb").text() == "a\nb\n"

    def test_here_document(self, acting: Kernel) -> None:
        assert acting.run("%%bash\ncat <<'END'\n$x {y} \"ü\"\nEND").text() == '$x {y} "ü"\n'

    def test_in_the_background(self, acting: Kernel) -> None:
        assert not acting.run("%%bash --bg --out o --err e --proc p\nread; echo out; echo err >&2; exit 3\n").messages
        assert acting.run("o.read(), e.read(), p.wait(), p.returncode").value == "(b'out\\n', b'err\\n', 3, 3)"

    def test_in_the_background_with_output_that_nobody_reads(self, acting: Kernel) -> None:
        acting.run("%%bash --bg --proc p\nseq 1000000; exit 5")
        assert acting.run("p.wait(timeout=20)").value == "5"

    def test_ending_those_in_the_background(self, acting: Kernel) -> None:
        acting.run("%%bash --bg --proc p\nsleep 1000")
        assert acting.run("p.poll()").value is None
        assert "killed" in acting.run("%killbgscripts").text()
        assert acting.run("p.wait()").value in ("-2", "-9")

    def test_a_program_is_needed(self, acting: Kernel) -> None:
        assert "program" in acting.run("%%script\nx").text("stderr")

    def test_help(self, acting: Kernel) -> None:
        assert "bash" in str(acting.run("%%bash?").reply["payload"])


class TestOutput:
    def test_streams_are_told_apart_while_it_runs(self, acting: Kernel) -> None:
        request = acting.start("!echo out; echo err >&2; sleep 1000")
        seen = {m.content["name"]: m.content["text"] for m in acting.until("out\nerr\n")}
        assert seen == {"stdout": "out\n", "stderr": "err\n"}
        acting.interrupt()
        acting.finish(request)

    def test_much(self, acting: Kernel) -> None:
        code = "!head -c 20000000 /dev/zero | tr '\\0' x"
        assert len(acting.run(code).text()) == 20_000_000
        assert acting.run("x = " + code + "\nlen(x[0])").value == "20000000"

    def test_junk(self, acting: Kernel) -> None:
        text = acting.run("!head -c 300000 /dev/urandom; printf '\\n\\303'").text()
        assert "\ufffd" in text and text.endswith("\n\ufffd")

    def test_unicode(self, acting: Kernel) -> None:
        assert acting.run("x = 'ü€😀'\n!echo {x} ñ").text() == "ü€😀 ñ\n"

    def test_order(self, acting: Kernel) -> None:
        code = "for i in range(3):\n  print('a', i)\n  !echo b {i}\n  print('c', i)"
        assert acting.run(code).text() == "".join(f"a {i}\nb {i}\nc {i}\n" for i in range(3))

    def test_many_short_ones(self, acting: Kernel) -> None:
        assert acting.run("for i in range(50):\n  !echo {i}").text() == "".join(f"{i}\n" for i in range(50))
        assert (
            acting.run("import os; len(os.listdir('/proc/self/fd'))").value
            == acting.run("len(os.listdir('/proc/self/fd'))").value
        )

    def test_no_descriptor_is_left_open(self, acting: Kernel) -> None:
        count = "import os; len(os.listdir('/proc/self/fd'))"
        before = acting.run(count).value
        acting.run("!true\nx = !true")
        acting.run("%%bash\ntrue")
        acting.run("%%script nothing\ntrue")
        acting.interrupt_when_started("!echo started; sleep 1000")
        assert acting.run(count).value == before


class TestEnd:
    @pytest.mark.parametrize(
        "code",
        [
            "!echo started; sleep 1000",
            "!trap '' INT; echo started; while :; do sleep 1; done",
            "!trap '' INT; echo started; while :; do echo y; done",
            "%%bash\necho started; sleep 1000 & sleep 1000",
        ],
    )
    def test_interrupt_ends_the_group(self, acting: Kernel, code: str) -> None:
        started = time.monotonic()
        assert acting.interrupt_when_started(code).error == "KeyboardInterrupt"
        assert time.monotonic() - started < 20
        pid = acting.actions.program()
        wait_until(lambda: not group(pid))
        assert acting.run("!echo on").text() == "on\n"

    def test_interrupt_while_nobody_has_decided(self, acting: Kernel, tmp_path: Path) -> None:
        def wait(action: Action) -> None:
            assert action.cancelled.wait(10)
            raise Refusal("cancelled", "")

        acting.actions.approve = wait
        request = acting.start(f"!touch {tmp_path}/x")
        wait_until(lambda: acting.actions.seen)
        acting.interrupt()
        assert acting.finish(request).error == "KeyboardInterrupt" and not os.listdir(tmp_path)

    def test_background_processes_live_on(self, host: Host) -> None:
        kernel = host.fork(actions=True)
        daemon = "sh -c 'echo $$; exec sleep 1000' & sleep 0.1"
        commands = (daemon, f"({daemon})", f"setsid {daemon}", f"(setsid {daemon})", f"(setsid setsid {daemon})")
        pids = [int(kernel.run(f"!{command}").text()) for command in commands]
        pids += [int(kernel.run(f"%%bash\n{command}").text()) for command in commands]
        other = host.fork(actions=True)
        other.run("!true")
        other.start("import os; os._exit(0)")
        other.wait_closed()
        assert all(map(alive, pids)), "they belong to another kernel"
        kernel.start("import os; os._exit(0)")
        kernel.wait_closed()
        assert not any(map(alive, pids))

    def test_programs_end_with_the_kernel(self, host: Host) -> None:
        kernel = host.fork(actions=True)
        kernel.start("!echo started; sleep 1000 & trap '' INT TERM HUP; sleep 1000")
        kernel.until("started\n")
        pid = kernel.actions.program()
        assert host.signal(kernel.pid, 9)
        assert kernel.wait_closed()["signal"] == 9
        assert not group(pid)

    def test_programs_end_with_the_supervisor(self) -> None:
        host = Host()
        kernel = host.fork(actions=True)
        kernel.start("!echo started; sleep 1000 & sleep 1000")
        kernel.until("started\n")
        pid = kernel.actions.program()
        host.close()
        assert not group(pid)


def group(leader: int) -> list[int]:
    """The living processes of a process group."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getpgid(int(name)) == leader and alive(int(name)):
                found.append(int(name))
        except ProcessLookupError:
            continue
    return found


class TestBroker:
    """The supervisor's `run`."""

    @pytest.fixture
    def kernel(self, host: Host) -> Iterator[Kernel]:
        kernel = host.fork(env={**default_env(), "A": "1", "B": "2"})
        yield kernel
        kernel.close()

    def test_what_a_program_is(self, host: Host, kernel: Kernel, tmp_path: Path) -> None:
        script = "pwd; echo $A-$B-$C; ps -o pid=,pgid=,sid= -p $$ | xargs echo; grep Sig /proc/self/status; ls /proc/$$/fd; echo $$"
        out, log = run(host, kernel, ["sh", "-c", script], env={"A": None, "C": "3"}, cwd=str(tmp_path))
        lines = out.splitlines()
        pid = lines[-1]
        assert lines[:3] == [str(tmp_path), "-2-3", f"{pid} {pid} {pid}"]
        masks = dict(line.split(":\t") for line in lines if line.startswith("Sig"))
        # what these tests were started with stays: nohup ignores SIGHUP, a shell's background SIGQUIT
        inherited = sum(1 << number - 1 for number in (1, 3) if signal.getsignal(number) == signal.SIG_IGN)
        assert int(masks["SigIgn"], 16) & 0x7FFFFFFF == inherited, "32 and 33 are libc's own"
        assert int(masks["SigBlk"], 16) == 0
        assert set(lines[-4:-1]) == {"0", "1", "2"}
        assert log["code"] == 0

    @pytest.mark.parametrize(
        ("fields", "kind", "number"),
        [
            ({"argv": ["no-such-program"]}, "exec", 2),
            ({"argv": ["/etc/passwd"]}, "exec", 13),
            ({"cwd": "/no/such/place"}, "cwd", 2),
            ({"argv": []}, "request", None),
            ({"argv": "ls"}, "request", None),
            ({"argv": ["a\0b"]}, "request", None),
            ({"env": {"a=b": "c"}}, "request", None),
            ({"env": {"a": 1}}, "request", None),
            ({"env": None}, "request", None),
            ({"kernel": 1}, "kernel", None),
            ({"kernel": [1]}, "request", None),
        ],
    )
    def test_refusals(
        self, host: Host, kernel: Kernel, fields: dict[str, object], kind: str, number: int | None
    ) -> None:
        null = os.open(os.devnull, os.O_RDWR)
        fields = {"kernel": kernel.pid, "argv": ["true"], "env": {}, "cwd": None, **fields}
        error = host.request("run", [null] * 3, **fields)["error"]
        assert (error["kind"], error.get("errno")) == (kind, number)
        assert host.request("run", [null] * 2, **fields)["error"]["kind"] == "request"
        os.close(null)

    def test_a_kernel_that_has_ended(self, host: Host) -> None:
        kernel = host.fork()
        kernel.start("import os; os._exit(0)")
        kernel.wait_closed()
        null = os.open(os.devnull, os.O_RDWR)
        answer = host.request("run", [null] * 3, kernel=kernel.pid, argv=["true"], env={}, cwd=None)
        assert answer["error"]["kind"] == "kernel"
        os.close(null)

    def test_signals(self, host: Host, kernel: Kernel) -> None:
        null = os.open(os.devnull, os.O_RDWR)
        answer = host.request("run", [null] * 3, kernel=kernel.pid, argv=["sleep", "1000"], env={}, cwd=None)
        assert host.signal(answer["pid"], 2) and host.event("exit", pid=answer["pid"])["signal"] == 2
        assert not host.signal(answer["pid"], 2)
        os.close(null)


def run(host: Host, kernel: Kernel, argv: list[str], **fields: object) -> tuple[str, dict[str, object]]:
    """Runs a program; returns what it wrote and its exit event."""
    null, (reading, writing) = os.open(os.devnull, os.O_RDONLY), os.pipe()
    answer = host.request("run", [null, writing, writing], kernel=kernel.pid, argv=argv, **fields)
    os.close(null)
    os.close(writing)
    with open(reading) as pipe:
        text = pipe.read()
    return text, host.event("exit", pid=answer["pid"])
