"""The guard `no_exec`: what a guarded kernel cannot do, by whatever way, and what it can do all the same."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

from ipybox_kernel import landlock
from open_interpreter import ORDINARY_USER, open_interpreter
from ways_to_start_programs import PAST_PYTHON, STARTS, TOOLS

from harness import (
    PACKAGE,
    PYTHON,
    Action,
    Host,
    Kernel,
    Refusal,
    alive,
    default_env,
    sources,
    wait_until,
)

SENTENCE = "Start them with !"

X86 = platform.machine() == "x86_64"
only_x86 = pytest.mark.skipif(not X86, reason="an ABI of x86")


def missing_here() -> str:
    """What this Linux lacks that the guard is made of. The kernel is asked, not our code."""
    libc = ctypes.CDLL(None, use_errno=True)
    landlock_create_ruleset, version = 444, 1
    if platform.machine() not in ("x86_64", "aarch64"):
        return f"there is no guard for {platform.machine()}"
    if libc.syscall(landlock_create_ruleset, None, ctypes.c_size_t(0), version) < 1:
        return "this Linux has no Landlock"
    if "Seccomp_filters:" not in Path("/proc/self/status").read_text():
        return "this Linux has no seccomp filters"
    return ""


@pytest.fixture(scope="module", params=["root", "nobody"] if os.getuid() == 0 else ["user"])
def guard_host(request: pytest.FixtureRequest) -> Iterator[Host]:
    """A supervisor, as this user and as an ordinary one."""
    if missing := missing_here():
        pytest.skip(missing)
    if request.param == "nobody":
        with open_interpreter(PYTHON) as python, Host(python=python, user=ORDINARY_USER, cwd="/") as host:
            yield host
    else:
        with Host(cwd="/") as host:
            yield host


@pytest.fixture
def guarded(guard_host: Host, tmp_path: Path) -> Iterator[Kernel]:
    """A guarded kernel in an empty directory."""
    directory = tmp_path / "work"
    directory.mkdir()
    for path in (tmp_path.parent.parent, tmp_path.parent, tmp_path, directory):
        path.chmod(0o777)
    kernel = guard_host.fork(actions=True, guard="no_exec", cwd=directory, env={**default_env(), "HOME": "/tmp"})
    kernel.directory = directory
    yield kernel
    kernel.close()


class TestPrograms:
    """None is started, whatever is called."""

    @pytest.mark.parametrize("code", STARTS)
    def test_q4_q5_python_says_what_to_do(self, guarded: Kernel, code: str) -> None:
        result = guarded.run(code)
        assert result.error == "PermissionError" and SENTENCE in result.reply["evalue"], result.reply
        assert "ipybox_kernel" not in result.traceback
        assert not os.listdir(guarded.directory)
        assert guarded.run("print('here', end='')").text() == "here"

    def test_what_python_says_is_not_put_back(self, guarded: Kernel) -> None:
        """As if code had replaced it."""
        guarded.run("import builtins; del builtins.exec")
        assert "has put it back: builtins.exec\n" in guarded.run("1").text()
        assert SENTENCE in guarded.run("import os; os.system('true')").reply["evalue"]

    @pytest.mark.parametrize(("code", "outcome"), PAST_PYTHON.items())
    def test_what_goes_past_python(self, guarded: Kernel, code: str, outcome: object) -> None:
        assert not guarded.run(TOOLS).error
        assert guarded.run(code).value == repr(outcome)
        assert not os.listdir(guarded.directory)

    def test_q4_a_forked_child_that_cannot_become_a_program_is_no_second_kernel(self, guarded: Kernel) -> None:
        code = """
            import os
            pid = os.fork()
            if pid == 0:
                os.execv('/usr/bin/touch', ['touch', 'ran'])
            print('parent')
        """
        result = guarded.run(code)
        assert (result.reply["status"], result.text()) == ("ok", "parent\n")
        child = int(guarded.run("pid").value or 0)
        wait_until(lambda: not alive(child))
        assert guarded.run("os.getpid()").value == str(guarded.pid)
        assert guarded.run("print('here')").text() == "here\n" and not os.listdir(guarded.directory)

    @only_x86
    def test_x32(self, guarded: Kernel) -> None:
        guarded.run(TOOLS)
        code = "[call(0x40000000 | n, touch, argv, none) for n in (520, 59)] + [call(0x40000000 | n, -100, touch, argv, none, 0) for n in (545, 322)]"
        assert guarded.run(code).value == "['EPERM', 'EPERM', 'EPERM', 'EPERM']"

    @only_x86
    def test_interrupt_0x80(self, guarded: Kernel) -> None:
        guarded.run(TOOLS)
        getpid = "machine_code(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')"  # mov eax, 20; int 0x80; ret
        assert guarded.run(f"in_child({getpid})").value == str(-signal.SIGSYS)
        assert guarded.run("1 + 1").value == "2", "only the process that did it ended"

    def test_multiprocessing_by_fork(self, guarded: Kernel) -> None:
        code = "import multiprocessing as m\nwith m.get_context('fork').Pool(2) as pool: print(pool.map(abs, [-1, -2]))"
        assert guarded.run(code).text() == "[1, 2]\n"


class TestBypassesOfTheOriginal:
    """W11 and W12 of the list of its weaknesses; W10 is in test_programs.py."""

    @pytest.mark.parametrize(
        "step",
        [
            "get_ipython().system.__defaults__[0]('touch ran')",
            "get_ipython().system.__func__.__closure__[0].cell_contents('touch ran')",
            "os.execv.__kwdefaults__['_orig']('/usr/bin/touch', ['touch', 'ran'])",
            "os.execv.__closure__[0].cell_contents('/usr/bin/touch', ['touch', 'ran'])",
            "subprocess.Popen.__mro__[1](['touch', 'ran'])",
            "_ipybox_magic_allowed.set()",
            "_ipybox_shell_allowed.set(True)",
        ],
    )
    def test_w11_what_opened_the_original_is_not_there(self, guarded: Kernel, step: str) -> None:
        code = f"import os, subprocess\ntry: {step}\nexcept (NameError, TypeError): pass\n"
        result = guarded.run(code + "subprocess.run(['touch', 'ran'])")
        assert result.error == "PermissionError" and SENTENCE in result.reply["evalue"], result.reply
        assert not os.listdir(guarded.directory)

    @pytest.mark.parametrize(
        "code",
        [
            "import importlib, subprocess; importlib.reload(subprocess).run(['touch', 'ran'])",
            "import sys, importlib; del sys.modules['subprocess'], sys.modules['os']\nimport subprocess; subprocess.run(['touch', 'ran'])",
            "import ipybox_kernel.shell as s; s.run('touch ran', print, None)",
            "import ipybox_kernel.process as p, os; p.start(['touch', 'ran'], dict(os.environ), [0, 1, 2])",
            "get_ipython().kernel.commands.programs = None\nget_ipython().system('touch ran')",
        ],
    )
    def test_w11(self, guarded: Kernel, code: str) -> None:
        assert guarded.run(code).error == "PermissionError"
        assert not os.listdir(guarded.directory)

    @pytest.mark.parametrize(
        "code",
        [
            "%%script python3\nopen('ran', 'w')",
            "%%perl\nopen(my $f, '>', 'ran');",
            "%%bash -c 'touch ran'\necho harmless",
            "!touch ran",
        ],
    )
    def test_w11_commands_are_asked_for(self, guarded: Kernel, code: str) -> None:
        def refuse(action: Action) -> None:
            raise Refusal("rejected", "no")

        guarded.actions.approve = refuse
        assert guarded.run(code).error == "ApprovalRejectedError"
        assert len(guarded.actions.seen) == 1 and not os.listdir(guarded.directory)

    def test_w11_a_thread_while_a_magic_is_approved(self, guarded: Kernel) -> None:
        code = """
            import subprocess, threading, posix
            outcomes = []
            def work():
                for _ in range(20):
                    try: outcomes.append(subprocess.run(['touch', 'ran']))
                    except PermissionError: outcomes.append(posix.system('touch ran') >> 8)
            thread = threading.Thread(target=work); thread.start()
            get_ipython().run_cell_magic('bash', '', 'sleep 0.3')
            thread.join()
            set(outcomes)
        """
        assert guarded.run(code).value == "{127}" and not os.listdir(guarded.directory)

    def test_w11_nothing_of_the_guard_is_among_the_users_names(self, guarded: Kernel) -> None:
        assert guarded.run("[name for name in dir() if 'ipybox' in name]").value == "[]"

    def test_w12_the_kernel_after_one_that_died_is_guarded_too(self, guard_host: Host, guarded: Kernel) -> None:
        guarded.start("import os; os._exit(1)")
        guarded.wait_closed()
        again = guard_host.fork(guard="no_exec", cwd="/")
        assert again.run("import posix; posix.system('true') >> 8").value == "127"
        again.close()


class TestOtherProcesses:
    """Those that are not the kernel's own cannot be read, written, stopped or changed."""

    LOOK = """
        def look(pid):
            results = {}
            for name, flags in (('mem', os.O_RDONLY), ('mem', os.O_RDWR), ('environ', os.O_RDONLY), ('maps', os.O_RDONLY), ('auxv', os.O_RDONLY), ('fd/0', os.O_RDONLY), ('root/etc/passwd', os.O_RDONLY), ('cwd/.', os.O_RDONLY)):
                try:
                    fd = os.open(f'/proc/{pid}/{name}', flags)
                    os.read(fd, 1) if name != 'mem' else None
                    results[name] = 'open'
                except OSError as error:
                    results[name] = errno.errorcode[error.errno]
            buffer = ctypes.create_string_buffer(8)
            local, remote = struct.pack('PN', ctypes.addressof(buffer), 8), struct.pack('PN', id(0), 8)
            results['read'] = call(READV, pid, local, 1, remote, 1, 0)
            results['write'] = call(WRITEV, pid, local, 1, remote, 1, 0)
            results['attach'] = call(PTRACE, 16, pid, 0, 0)
            results['seize'] = call(PTRACE, 0x4206, pid, 0, 0)
            handle = os.pidfd_open(pid)
            results['descriptor'] = call(438, handle, 0, 0)
            results['limits'] = call(PRLIMIT, pid, 0, struct.pack('QQ', 1, 1), None)
            return results
    """
    SIGNAL = """
        def stop(pid):
            results = [call(KILL, pid, number) for number in (0, 2, 15, 19, 9)]
            return [*results, call(TGKILL, pid, pid, 9), call(424, os.pidfd_open(pid), 9, None, 0), call(QUEUE, pid, 9, bytes(128))]
    """
    NUMBERS = "KILL, READV, WRITEV, PTRACE, PRLIMIT, TGKILL, QUEUE = " + (
        "62, 310, 311, 101, 302, 234, 129" if X86 else "129, 270, 271, 117, 261, 131, 138"
    )

    @pytest.fixture
    def targets(self, guard_host: Host, guarded: Kernel) -> Iterator[dict[str, int]]:
        sibling = guard_host.fork(guard="no_exec", cwd="/")
        free = guard_host.fork(cwd="/")
        guarded.run(
            "import threading\nthreading.Thread(target=get_ipython().getoutput, args=('sleep 1000',), daemon=True).start()"
        )
        command = guarded.actions.program()
        yield {
            "supervisor": guard_host.supervisor,
            "guarded sibling": sibling.pid,
            "free sibling": free.pid,
            "approved command": command,
        }
        assert sibling.run("1 + 1").value == free.run("1 + 1").value == "2"
        sibling.close()
        free.close()
        assert guard_host.signal(command, 0)

    def test_they_cannot_be_looked_into(self, guarded: Kernel, targets: dict[str, int]) -> None:
        for code in (TOOLS + self.NUMBERS, self.LOOK):
            assert not guarded.run(code).error
        for name, pid in targets.items():
            outcomes = guarded.run(f"print(look({pid}))").text()
            assert set(eval(outcomes).values()) <= {"EACCES", "EPERM"}, (name, outcomes)

    def test_they_cannot_be_signalled(self, guarded: Kernel, targets: dict[str, int]) -> None:
        if landlock.version() < landlock.ABI_WITH_SCOPES:
            pytest.skip("elsewhere: this Linux's Landlock knows no signals")
        for code in (TOOLS + self.NUMBERS, self.SIGNAL):
            assert not guarded.run(code).error
        for name, pid in targets.items():
            outcomes = guarded.run(f"print(stop({pid}))").text()
            assert set(eval(outcomes)) == {"EPERM"}, (name, outcomes)

    def test_its_own_are_within(self, guarded: Kernel) -> None:
        code = """
            import os, signal, time
            pid = os.fork()
            if pid == 0:
                time.sleep(1000)
            with open(f'/proc/{pid}/environ', 'rb') as file: file.read()
            with open('/proc/self/environ', 'rb') as file: file.read()
            os.kill(pid, signal.SIGTERM)
            os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        """
        assert guarded.run(code).value == "-15"

    def test_descriptors(self, guarded: Kernel) -> None:
        code = "import os\nfor name in os.listdir('/proc/self/fd'):\n  try: print(os.readlink(f'/proc/self/fd/{name}').split(':')[0])\n  except OSError: pass"
        kinds = guarded.run(code).text().split()
        assert set(kinds) <= {"/dev/null", "pipe", "socket", "anon_inode", f"/proc/{guarded.pid}/fd"}
        assert kinds.count("socket") == 4, "to the host, for actions, and the two by which its loop wakes itself"

    def test_privileges(self, guarded: Kernel) -> None:
        lines = guarded.run("print(open('/proc/self/status').read())").text().splitlines()
        status = dict(line.split(":\t") for line in lines if ":\t" in line)
        assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
        if os.getuid() == 0 and status["Uid"].split()[0] == "0":
            assert status["CapBnd"] == "0" * 16

    def test_it_dies_with_a_killed_supervisor(self) -> None:
        host = Host()
        kernel = host.fork(guard="no_exec")
        host.process.kill()
        wait_until(lambda: not os.path.exists(f"/proc/{kernel.pid}"))
        host.close()


class TestWhatWorks:
    def test_approved_commands(self, guarded: Kernel) -> None:
        result = guarded.run("!ls -la / | head -2; echo err >&2; exit 3")
        assert len(result.text().splitlines()) == 2 and result.text("stderr") == "err\n"
        assert guarded.run("_exit_code").value == "3"
        assert guarded.run("x = !echo hello; echo there\nx").value == "['hello', 'there']"
        assert guarded.run("%%bash\nread x; echo got $x\n").text() == "got\n"
        assert guarded.run("%%bash\nsh -c 'touch ran; grep Seccomp: /proc/self/status'").text() == "Seccomp:\t0\n"
        assert os.listdir(guarded.directory) == ["ran"]

    def test_rejected_commands(self, guarded: Kernel) -> None:
        def refuse(action: Action) -> None:
            raise Refusal("rejected", "shell command rejected")

        guarded.actions.approve = refuse
        result = guarded.run("try:\n  !touch ran\nexcept PermissionError as error: print(error)")
        assert result.text() == "shell command rejected\n" and not os.listdir(guarded.directory)

    def test_interrupts_and_errors(self, guarded: Kernel) -> None:
        assert (
            guarded.interrupt_when_started("print('started', flush=True)\nwhile True: pass").error
            == "KeyboardInterrupt"
        )
        assert guarded.interrupt_when_started("!echo started; sleep 1000").error == "KeyboardInterrupt"
        assert guarded.run("1/0").error == "ZeroDivisionError"

    def test_files_move_between_directories(self, guarded: Kernel) -> None:
        code = """
            import os, shutil
            os.makedirs('a'); os.makedirs('b')
            open('a/x', 'w').close(); os.rename('a/x', 'b/x'); os.link('b/x', 'a/y'); os.replace('a/y', 'b/z')
            os.makedirs('a/d'); shutil.move('a/d', 'b/d')
            sorted(os.listdir('b'))
        """
        assert guarded.run(code).value == "['d', 'x', 'z']"

    def test_threads_sockets_and_files(self, guarded: Kernel) -> None:
        code = """
            import asyncio, os, socket, sqlite3, tempfile, threading, platform, resource
            a, b = socket.socketpair(); a.send(b'x'); b.recv(1)
            server = socket.create_server(('127.0.0.1', 0)); client = socket.create_connection(server.getsockname())
            client.send(b'x'); server.accept()[0].recv(1)
            t = threading.Thread(target=int); t.start(); t.join()
            sqlite3.connect('db').execute('create table t (x)')
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with tempfile.TemporaryFile() as f: f.write(b'x')
            await asyncio.to_thread(int)
            platform.platform() != '', open(f'/proc/{os.getpid()}/stat').read() != ''
        """
        assert guarded.run(code).value == "(True, True)"

    def test_numpy(self, guarded: Kernel) -> None:
        pytest.importorskip("numpy")
        code = "import numpy as np; float((np.random.rand(400, 400) @ np.random.rand(400, 400)).sum()) > 0"
        assert guarded.run(code).value == "True"

    def test_pandas(self, guarded: Kernel) -> None:
        pytest.importorskip("pandas")
        code = "import pandas as pd; pd.DataFrame({'a': [1, 2]}).to_csv('x.csv'); int(pd.read_csv('x.csv')['a'].sum())"
        assert guarded.run(code, timeout=60).value == "3"

    def test_matplotlib(self, guarded: Kernel) -> None:
        pytest.importorskip("matplotlib")
        result = guarded.run("import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()", timeout=60)
        assert "image/png" in result.of("display_data")[0].content["data"]

    def test_kernels_without_a_guard_are_free(self, guard_host: Host) -> None:
        kernel = guard_host.fork(cwd="/")
        assert kernel.run("import subprocess; subprocess.run(['true']).returncode").value == "0"
        kernel.close()


class TestSupervisor:
    def test_it_cannot_be_looked_into(self, guard_host: Host, guarded: Kernel) -> None:
        """By other processes of its user: by those it runs, for example."""
        command = (
            f"cat /proc/{guard_host.supervisor}/environ; echo $?; cat /proc/{guarded.pid}/environ > /dev/null; echo $?"
        )
        codes = guarded.run("!" + command).text().split()
        assert codes[-1] == "0"
        if guarded.run("import os; os.getuid()").value != "0":
            assert codes[-2] != "0"

    @pytest.mark.parametrize(
        ("module", "change", "missing"),
        [
            ("landlock", ("RESTRICT_SELF = 444, 445, 446", "RESTRICT_SELF = 9444, 9445, 9446"), "no Landlock"),
            ("filters", ('"seccomp": 317', '"seccomp": 9317'), "no seccomp filter"),
            ("filters", ('"x86_64": Machine', '"x86": Machine'), "there is no filter for x86_64"),
        ],
    )
    @only_x86
    def test_what_is_missing_is_said(self, module: str, change: tuple[str, str], missing: str) -> None:
        texts = sources()
        assert change[0] in texts[module]
        texts[module] = texts[module].replace(*change)
        with Host(texts=texts) as host:
            for _ in range(2):
                with pytest.raises(AssertionError) as refused:
                    host.fork(guard="no_exec")
                assert "'kind': 'guard'" in str(refused.value) and missing in str(refused.value)
            assert host.fork().run("1 + 1").value == "2"

    def test_unknown_guards_are_refused(self, host: Host) -> None:
        with pytest.raises(AssertionError) as refused:
            host.fork(guard="no_network")
        assert "'kind': 'request'" in str(refused.value)


@pytest.mark.parametrize("version", [1, 2, 5, 6])
def test_landlock_of_other_kernels(version: int, tmp_path: Path) -> None:
    """Their rulesets, on this one."""
    code = f"""
import errno, os, sys
sys.path.insert(0, {str(PACKAGE.parent)!r})
from ipybox_kernel import landlock
if landlock.version() < {version}: sys.exit(5)
landlock.give_up_new_privileges()
landlock.isolate({version})
os.mkdir("a"); os.mkdir("b"); open("a/x", "w").close(); os.rename("a/x", "a/y")
try: os.rename("a/y", "b/y"); print("renamed")
except OSError as error: print(errno.errorcode[error.errno])
try: open(f"/proc/{{os.getppid()}}/mem", "rb"); print("open")
except OSError as error: print(errno.errorcode[error.errno])
try: os.kill(os.getppid(), 0); print("sent")
except OSError as error: print(errno.errorcode[error.errno])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode == 5:
        pytest.skip("elsewhere: this Linux has an older Landlock")
    renamed = "EXDEV" if version == 1 else "renamed"
    assert done.stdout.split() == [renamed, "EACCES", "EPERM" if version >= 6 else "sent"], done.stderr
