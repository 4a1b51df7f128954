"""From the greeting to ``ready``, or to a failure that says what is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import PACKAGE, PYTHON, TIMEOUT, Closed, Host, Kernel, sources, wait_until


def test_ready_names_the_interpreter_and_the_versions(host: Host) -> None:
    ready = host.ready
    assert ready["protocol"] == 1 and ready["pid"] == host.supervisor and ready["level"] == "lean"
    assert ready["ipykernel"][0] in "67" and ready["ipython"][0] in "89" and ready["python"].startswith("3.")
    assert Path(ready["executable"]).name.startswith("python")


@pytest.mark.parametrize("level", ["lean", "handlers"])
def test_level_can_be_forced(level: str) -> None:
    with Host(level=level) as host:
        assert host.ready["level"] == level
        assert host.fork().run("print(6 * 7)").text() == "42\n"


def test_auto_falls_back_to_handlers() -> None:
    texts = sources()
    texts["lean"] = texts["lean"].replace("shell.run_cell_async(", "shell.renamed_by_a_later_ipython(")
    with Host(texts=texts) as host:
        assert host.ready["level"] == "handlers"
        assert host.fork().run("print(6 * 7)").text() == "42\n"


@pytest.mark.parametrize("level", ["auto", "lean"])
def test_unsupported_versions_are_named(level: str) -> None:
    texts = sources()
    texts["shell"] = texts["shell"].replace("class ShellCommands:", "class RenamedCommands:")
    texts["kernel"] = texts["kernel"].replace("from ipybox_kernel.shell import ShellCommands\n", "")
    with Host(texts=texts, level=level, wait=False) as host:
        failed = host.event("failed")
        assert failed["kind"] == "unsupported"
        assert "ipykernel" in failed["text"] and "ipykernel >= 6.29, < 8" in failed["text"]
        assert host.process.wait(TIMEOUT) == 1


def test_missing_ipykernel_says_how_to_install_it(tmp_path: Path) -> None:
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    with Host(python=python, wait=False) as host:
        failed = host.event("failed")
    assert failed["kind"] == "ipykernel_missing" and failed["executable"] == python
    assert f"{python} -m pip install ipykernel" in failed["text"]


def test_any_other_failure_comes_with_its_traceback() -> None:
    texts = sources()
    texts["session"] = "raise OSError('disk on fire')"
    with Host(texts=texts, wait=False) as host:
        failed = host.event("failed")
    assert failed["kind"] == "error" and "OSError: disk on fire" in failed["text"]
    assert "raise OSError('disk on fire')" in failed["text"], "source lines come through linecache"


def test_another_protocol_is_refused() -> None:
    with Host(protocol=2, wait=False) as host:
        assert "protocol 2" in host.event("failed")["text"]


def test_a_directory_that_was_exchanged_since_the_host_looked_ends_the_start(tmp_path: Path) -> None:
    for name in ("kept", "data", "secret"):
        (tmp_path / name).mkdir()
    known = {path: os.stat(path) for path in (tmp_path / "kept", tmp_path / "data")}
    places = [[str(path), about.st_dev, about.st_ino] for path, about in known.items()]
    with Host(texts=sources() | {"places.json": json.dumps(places)}) as host:
        assert host.fork().run("print(1)").text() == "1\n"
    (tmp_path / "data").rmdir()
    (tmp_path / "data").symlink_to("secret")
    for _ in range(2):
        with Host(texts=sources() | {"places.json": json.dumps(places)}, wait=False) as host:
            failed = host.event("failed")
            assert failed["kind"] == "places"
            assert failed["text"].startswith(f"{tmp_path}/data was exchanged for something else")
            assert host.process.wait(TIMEOUT) == 1
        (tmp_path / "data").unlink(missing_ok=True)


def test_nothing_is_imported_from_the_working_directory(tmp_path: Path) -> None:
    for name in ("__future__", "linecache", "json", "socket", "fcntl", "IPython", "ipykernel", "ipybox_kernel"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the working directory')")
    with Host(cwd=str(tmp_path)) as host:
        assert host.fork(cwd="/").run("print(1)").text() == "1\n"
        assert not host.stderr()
        looked = f"import sys; print({str(tmp_path)!r} in sys.path_importer_cache)"
        assert host.fork(cwd="/").run(looked).text() == "False\n"
        assert host.fork(cwd="/").run("import os; print(os.listdir('.') != [])").text() == "True\n"


def test_start_writes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    before = sorted(os.listdir("/tmp"))
    with Host(cwd=str(tmp_path)) as host:
        kernel = host.fork(env={"PATH": "/bin:/usr/bin", "HOME": str(home)}, cwd=tmp_path)
        kernel.run("%cd /\n1+1", store_history=True)
        assert not [name for name in set(os.listdir("/tmp")) - set(before) if "ipython" in name]
    assert sorted(os.listdir(tmp_path)) == ["home"] and not os.listdir(home)


def test_control_socket_on_stdout() -> None:
    with Host(control_fd=1) as host:
        kernel = host.fork()
        assert kernel.run("import os; os.system('echo hi'); print(1)").text() == "hi\n1\n"


def test_a_control_descriptor_that_is_closed_is_said() -> None:
    boot = (PACKAGE / "boot.py").read_text()
    ended = subprocess.run([PYTHON, "-I", "-c", boot, "99"], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == (
        "the control descriptor 99 is not open: the command that starts this interpreter has closed it\n"
    )


def test_preloaded_modules_are_there_in_every_kernel() -> None:
    with Host(modules=["colorsys"]) as host:
        kernel = host.fork()
        assert (
            kernel.run("import sys; print('colorsys' in sys.modules, 'colorsys' in globals())").text() == "True False\n"
        )


def test_a_module_that_cannot_be_preloaded_is_said() -> None:
    with Host(modules=["colorsys", "no_such_module"], wait=False) as host:
        failed = host.event("failed")
    assert failed["kind"] == "error" and "leave it out of `preload`" in failed["text"]
    assert "cannot import 'no_such_module'" in failed["text"] and "ModuleNotFoundError" in failed["text"]


def test_a_module_that_opens_a_device_is_not_preloaded() -> None:
    devices = ("/dev/fuse", "/dev/loop-control", "/dev/net/tun", "/dev/kmsg")
    device = next((path for path in devices if os.access(path, os.R_OK)), None)
    if device is None:
        pytest.skip("this machine has no device that can be opened")
    texts = sources()
    texts["opens"] = f"device = open({device!r}, 'rb', buffering=0)"
    with Host(texts=texts, modules=["ipybox_kernel.opens"], wait=False) as host:
        failed = host.event("failed")
    assert failed["kind"] == "error" and f"which is to be preloaded, has opened {device}\n" in failed["text"]
    assert "let it open the device later" in failed["text"]


def test_preloaded_matplotlib_draws_inline() -> None:
    with Host(modules=["matplotlib.pyplot"]) as host:
        result = host.fork().run("import matplotlib; print(matplotlib.get_backend())")
        if "ModuleNotFoundError" in result.error:
            pytest.skip("matplotlib is not installed")
        assert "inline" in result.text()


def test_what_was_kept_out_while_preloading_can_be_imported(kernel: Kernel) -> None:
    assert kernel.run("import debugpy, jedi").reply["status"] == "ok"


def test_without_preload_it_only_spawns() -> None:
    with Host(preload=False) as host:
        assert host.ready["level"] == "none" and host.ready["ipykernel"] is None
        answer = host.request("fork", env={}, cwd=None, restore_cwd=False)
        assert answer["error"]["kind"] == "request"
        pid = host.request("spawn", argv=["/bin/sh", "-c", "exit 7"], env={}, cwd=None)["pid"]
        assert host.event("exit", pid=pid)["code"] == 7


def test_a_fork_that_waits_already_is_served_before_the_warm_up() -> None:
    with Host(wait=False) as host:
        kernel = host.fork()  # sent before ready
        assert host.event("ready")
        assert kernel.run("1+1", store_history=True).reply["execution_count"] == 1


def is_asleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("S")


def test_the_supervisor_warms_up_once_there_was_a_second_kernel() -> None:
    texts = sources()
    texts["supervisor"] = texts["supervisor"].replace("IDLE = 100", "IDLE = 0")
    texts["preload"] = texts["preload"].replace('"1/0"', '"import tabnanny"')

    def is_warm(host: Host) -> bool:
        kernel = host.fork()
        found = kernel.run("import sys; 'tabnanny' in sys.modules").value
        kernel.close()
        return found == "True"

    with Host(texts=texts) as host:
        host.fork()
        wait_until(lambda: is_asleep(host.supervisor))  # it has nothing more to do
        assert not is_warm(host)
        wait_until(lambda: is_warm(host))


def test_kernels_alone_import_from_the_layer_of_packages(tmp_path: Path) -> None:
    """Rendering a traceback, as the warm-up does, looks for a module that can be missing."""
    imported = tmp_path / "imported"
    spy = f"import os; open({str(imported)!r}, 'a').write(f'{{os.getpid()}} ')"
    (tmp_path / "astroid.py").write_text(spy)
    (tmp_path / "ipybox_layer.py").write_text("x = 42")
    texts = sources()
    texts["supervisor"] = texts["supervisor"].replace("IDLE = 100", "IDLE = 0")
    with Host(texts=texts, packages=str(tmp_path)) as host:
        host.fork()
        kernel = host.fork()
        assert kernel.run("import ipybox_layer; ipybox_layer.x").value == "42"
        wait_until(lambda: is_asleep(host.supervisor))
        assert not imported.exists() or str(host.supervisor) not in imported.read_text().split()


def test_hang_up_before_ready_ends_the_supervisor() -> None:
    host = Host(wait=False)
    assert host.close() in (0, 1)


def test_the_supervisor_ignores_the_terminal(host: Host) -> None:
    os.kill(host.supervisor, signal.SIGINT)
    assert host.fork().run("print(1)").text() == "1\n"


def under(limits: str, folder: Path) -> str:
    """An interpreter that runs with these limits of the shell's ``ulimit``."""
    wrapper = folder / "python"
    wrapper.write_text(f'#!/bin/sh\nulimit {limits}\nexec {PYTHON} "$@"\n')
    wrapper.chmod(0o755)
    return str(wrapper)


def test_modules_are_compiled_by_another_process_that_leaves_nothing() -> None:
    with Host() as host:
        supervisor = Path(f"/proc/{host.supervisor}")
        assert (supervisor / "task" / supervisor.name / "children").read_text() == ""
        opened = [os.readlink(entry) for entry in (supervisor / "fd").iterdir()]
        assert not [path for path in opened if "memfd" in path and "stderr" not in path]
        left = "import ipybox_kernel; sorted(ipybox_kernel.__loader__.compiled)"  # modules that are not imported yet
        assert "ipybox_kernel.guards" in host.fork().run(left).value


def test_a_start_where_nothing_can_be_compiled_beside_it(tmp_path: Path) -> None:
    with Host(python=under("-f 8", tmp_path)) as host:  # the other process cannot write what it has compiled
        assert host.ready["level"] == "lean"
        assert host.fork().run("print(6 * 7)").text() == "42\n"


def test_malformed_requests_are_answered(host: Host) -> None:
    assert host.request("dance")["error"]["kind"] == "request"
    assert host.request("signal")["error"]["kind"] == "request"
    assert host.request("spawn", argv=[], env={}, cwd=None)["error"]["kind"] == "request"
    assert host.request("spawn", argv=["true"], env={"A": 1}, cwd=None)["error"]["kind"] == "request"
    assert host.request("spawn", argv=["true"], env={}, cwd=None, cgroup=True)["error"]["kind"] == "request"
    assert host.request("fork", env={}, cwd=None)["error"]["kind"] == "request"
    host.control.send(b"not json")
    answer = host.wait(lambda: host.answers.pop(None, None), TIMEOUT)
    assert answer["error"]["kind"] == "request"


def test_a_supervisor_that_cannot_even_start_says_so_on_stderr() -> None:
    with Host(texts={}, wait=False) as host:
        with pytest.raises((Closed, ConnectionError)):
            host.event("ready")
        assert "ModuleNotFoundError" in host.stderr()
