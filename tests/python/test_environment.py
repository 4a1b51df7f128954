"""Where and as what a kernel runs: directory, environment, import path, random numbers, figures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import PYTHON, Host, Kernel, default_env


def test_environment_is_exactly_what_the_host_gave(host: Host) -> None:
    kernel = host.fork(env={"A": "1", "TERM": "xterm"})
    code = "import os, subprocess\nprint(dict(sorted(os.environ.items())))\nprint(subprocess.run(['/usr/bin/env'], capture_output=True, text=True).stdout)"
    first, *rest = kernel.run(code).text().splitlines()
    backend = "module://matplotlib_inline.backend_inline"
    path = f"{os.path.dirname(PYTHON)}:{os.defpath}"
    assert first == str({"A": "1", "MPLBACKEND": backend, "NO_COLOR": "1", "PATH": path, "TERM": "xterm"})
    assert sorted(filter(None, rest)) == [
        "A=1",
        f"MPLBACKEND={backend}",
        "NO_COLOR=1",
        f"PATH={path}",
        "TERM=xterm",
    ]
    kernel.close()


def test_what_the_sandbox_decides_is_the_same_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SET_INSIDE", "by the sandbox")
    monkeypatch.delenv("TAKEN_AWAY", raising=False)
    host = Host(variables=["SET_INSIDE", "TAKEN_AWAY"])
    kernel = host.fork(env={**default_env(), "SET_INSIDE": "by the host", "TAKEN_AWAY": "secret", "OWN": "1"})
    shown = "[os.environ.get(name) for name in ('SET_INSIDE', 'TAKEN_AWAY', 'OWN')]"
    assert kernel.run(f"import os; {shown}").value == "['by the sandbox', None, '1']"
    assert kernel.run("!echo $SET_INSIDE ${TAKEN_AWAY-none} $OWN").text().strip() == "by the sandbox none 1"
    kernel.close()
    host.close()


def test_programs_of_the_interpreter_come_first(host: Host) -> None:
    folder = os.path.dirname(PYTHON)
    kernel = host.fork(env={"PATH": f"/usr/bin:/bin:{folder}"})
    assert kernel.run("import os; print(os.environ['PATH'])").text() == (f"{folder}:/usr/bin:/bin\n")
    for shell in ("!command -v python", "%%bash\ncommand -v python"):
        assert kernel.run(shell).text().strip() == f"{folder}/python"
    kernel.close()


def test_time_zone(host: Host) -> None:
    kernel = host.fork(env={**default_env(), "TZ": "XYZ-5"})
    assert kernel.run("import time; time.localtime(0).tm_hour, time.tzname[0]").value == "(5, 'XYZ')"
    kernel.close()


def test_import_path(host: Host, tmp_path: Path) -> None:
    for name in ("cwd", "extra"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"in_{name}.py").write_text(f"where = '{name}'")
    (tmp_path / "extra" / "mailbox.py").write_text("mine = True")
    env = {**default_env(), "PYTHONPATH": f"{tmp_path}/extra::relative"}
    kernel = host.fork(env=env, cwd=tmp_path / "cwd")
    assert (
        kernel.run("import sys; print(sys.path[:3])").text()
        == str(["", f"{tmp_path}/extra", f"{tmp_path}/cwd/relative"]) + "\n"
    )
    assert (
        kernel.run("import in_cwd, in_extra, mailbox; print(in_cwd.where, in_extra.where, mailbox.mine)").text()
        == "cwd extra True\n"
    )
    (tmp_path / "cwd" / "written_later.py").write_text("x = 1")
    assert kernel.run("import written_later; print(written_later.x)").text() == "1\n"
    assert (
        host.fork(cwd=tmp_path / "cwd")
        .run("import sys; print(sys.path[0] == '', len(sys.path) == len(set(sys.path)))")
        .text()
        == "True True\n"
    )
    kernel.close()


def test_interpreter_looks_as_usual(kernel: Kernel) -> None:
    code = "import sys; print(sys.executable, sys.argv, sys.flags.dev_mode, sys.stdin.read(), 'ipybox_kernel' in str(sys.path))"
    assert kernel.run(code).text().split()[0] == PYTHON


def test_directory(host: Host, tmp_path: Path) -> None:
    kernel = host.fork(cwd=tmp_path)
    assert kernel.run("import os; os.getcwd()").value == repr(str(tmp_path))
    kernel.run("os.chdir('/')")
    assert kernel.run("os.getcwd()").value == "'/'", "without restore_cwd it stays"
    kernel.close()


@pytest.mark.parametrize("level", ["lean", "handlers"])
def test_directory_is_restored(request: pytest.FixtureRequest, level: str, tmp_path: Path) -> None:
    host: Host = request.getfixturevalue("host" if level == "lean" else "handlers_host")
    kernel = host.fork(cwd=tmp_path, restore_cwd=True)
    message = f"[ipybox] cwd reset to {tmp_path}\n"
    assert kernel.run("import os; os.chdir('/')").text() == message
    assert kernel.run("os.getcwd()").value == repr(str(tmp_path))
    assert kernel.run("os.mkdir('sub'); os.chdir('sub'); os.rmdir('../sub')").text() == message, "deleted"
    failed = kernel.run("os.chdir('/'); 1/0")
    assert failed.error == "ZeroDivisionError" and failed.text() == message
    assert kernel.run("os.chdir('/'); os.chdir(%r)" % str(tmp_path)).text() == ""
    assert kernel.run("%cd -q /").text() == message
    assert kernel.run("print('a', end=''); os.chdir('/')").text() == "a\n" + message, "on a line of its own"
    below = kernel.run("import sys; os.write(2, b'b'); os.chdir('/')")
    assert below.text("stderr") + below.text() == "b\n" + message, "also behind what was written below Python"
    assert kernel.run("print('c', end=''); os.chdir('/'); 7").text() == "c" + message, (
        "behind a display no line is open"
    )
    kernel.run(f"import shutil; shutil.rmtree({str(tmp_path)!r})")
    lost = kernel.run("print('x')")
    assert lost.reply["status"] == "ok"
    assert lost.text() == f"x\n[ipybox] cwd cannot be reset to {tmp_path}: No such file or directory\n"
    kernel.close()


def test_random_numbers_differ_between_kernels(host: Host) -> None:
    code = "import random, uuid, tempfile, os; print(random.random(), uuid.uuid4(), os.urandom(4), next(tempfile._get_candidate_names()))"
    kernels = [host.fork() for _ in range(3)]
    numbers = [kernel.run(code).text().split() for kernel in kernels]
    for column in zip(*numbers):
        assert len(set(column)) == 3
    for kernel in kernels:
        kernel.close()


def test_numpy_random_numbers_differ_between_kernels() -> None:
    with Host(modules=["numpy", "numpy.random"]) as host:
        kernels = [host.fork() for _ in range(3)]
        if kernels[0].run("import numpy").error:
            pytest.skip("numpy is not installed")
        assert kernels[0].run("import sys; 'numpy.random' in sys.modules").value == "True"
        code = "import numpy as np; print(np.random.rand(), np.random.default_rng().random())"
        numbers = [kernel.run(code).text().split() for kernel in kernels]
        assert len({number for pair in numbers for number in pair}) == 6
        assert kernels[1].run("(np.ones((200, 200)) @ np.ones((200, 200))).sum()").value == "np.float64(8000000.0)"


class TestFigures:
    """matplotlib, inline."""

    @pytest.fixture
    def plots(self, kernel: Kernel) -> Kernel:
        if kernel.run("import matplotlib.pyplot as plt").error:
            pytest.skip("matplotlib is not installed")
        return kernel

    @pytest.mark.parametrize(
        "code",
        ["plt.plot([1, 2])\nplt.show()", "plt.plot([1, 2]);", "%matplotlib inline\nplt.plot([1, 2])\nplt.show()"],
    )
    def test_one_figure(self, plots: Kernel, code: str) -> None:
        result = plots.run(code)
        assert not result.of("execute_result")
        (figure,) = result.of("display_data")
        assert figure.content["data"]["image/png"].startswith("iVBORw0KG")
        assert result.reply["status"] == "ok" and not result.text("stderr")
        assert not plots.run("pass").of("display_data"), "a figure is shown once"

    def test_a_figure_at_the_end_of_a_failing_cell(self, plots: Kernel) -> None:
        assert len(plots.run("plt.plot([1, 2]); 1/0").of("display_data")) == 1

    def test_there_are_no_windows(self, plots: Kernel) -> None:
        assert "no event loop" in plots.run("%gui qt").text("stderr")

    def test_nothing_is_left_by_the_import(self, plots: Kernel) -> None:
        assert plots.run("%who").text().split() == ["plt"]


def test_nothing_outside_is_needed(host: Host, tmp_path: Path) -> None:
    kernel = host.fork(env={}, cwd=tmp_path)
    assert kernel.run("1+1").value == "2"
    assert kernel.run("!/bin/echo hi").text() == "hi\n"
    assert os.listdir(tmp_path) == []
    kernel.close()


def test_what_code_can_change_is_not_on_the_path(tmp_path: Path) -> None:
    open_folder, closed = tmp_path / "open", tmp_path / "closed"
    for folder in (open_folder / "bin", open_folder / "own", closed / "bin"):
        folder.mkdir(parents=True)
    (open_folder / "own").chmod(0o555)  # whose owner changes that
    (closed / "through").symlink_to(open_folder / "bin")
    (open_folder / "link").symlink_to(closed / "bin")  # which code can replace
    (closed / "link").symlink_to("bin")
    given = [
        "",
        ".",
        "node_modules/.bin",
        f"{open_folder}/bin",
        f"{open_folder}/own",
        f"{open_folder}/missing/bin",
        f"{open_folder}/link",
        f"{closed}/through",
        f"{closed}/../open/bin",
        f"{closed}/bin",
        f"{closed}/link",
        f"{closed}/missing",
        "/usr/bin",
    ]
    kept = [f"{closed}/bin", f"{closed}/link", f"{closed}/missing", "/usr/bin"]
    assert path_of_a_kernel(given, changeable=[str(open_folder)]) == kept
    assert path_of_a_kernel(given) == given
    assert path_of_a_kernel([""], changeable=[str(open_folder)]) == []


def path_of_a_kernel(given: list[str], **hello: object) -> list[str]:
    """PATH without the interpreter's own directory."""
    host = Host(**hello)
    kernel = host.fork(env={**default_env(), "PATH": os.pathsep.join(given)})
    first, *others = kernel.run("import os; print(os.environ['PATH'])").text().strip().split(os.pathsep)
    assert first == os.path.dirname(PYTHON)
    kernel.close()
    host.close()
    return others
