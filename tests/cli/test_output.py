"""Where output goes, how a run ends, and the options that change it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from open_interpreter import ORDINARY_USER, open_directory
from program import ONE_PIXEL, PATIENCE, PYTHON, Program


def test_streams_stay_apart(program: Program) -> None:
    ended = program.run("-c", "import sys\nprint('out')\nprint('err', file=sys.stderr)")
    assert (ended.code, ended.out, ended.err) == (0, "out\n", "err\n")


def test_output_comes_as_it_is_printed(program: Program) -> None:
    process = program.start("-c", "import time\nprint('first')\ntime.sleep(20)")
    assert process.stdout is not None
    before = time.monotonic()
    assert process.stdout.readline() == b"first\n"
    assert time.monotonic() - before < 10
    process.terminate()
    process.communicate(timeout=PATIENCE)


def test_values_and_displays_are_lines(program: Program) -> None:
    ended = program.run("-c", "print('a', end='')\ndisplay([1])\n{'b': 2}")
    assert ended.out == "a\n[1]\n{'b': 2}\n"


def test_pictures_are_named_by_path(any_sandbox: Program) -> None:
    ended = any_sandbox.run("-c", ONE_PIXEL)
    assert ended.code == 0
    assert ended.out.startswith("image: ")
    picture = Path(ended.out.removeprefix("image: ").strip())
    assert picture.parent == any_sandbox.directory / "images"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_directories_are_made_when_something_is_put_into_them(program: Program) -> None:
    assert program.run("-c", "print(1); 2").code == 0
    assert list(program.directory.iterdir()) == []
    assert program.run("-c", ONE_PIXEL).code == 0
    assert [path.name for path in program.directory.iterdir()] == ["images"]


def test_images_dir(program: Program) -> None:
    ended = program.run("-c", ONE_PIXEL, "--images-dir", "pictures/new")
    picture = Path(ended.out.removeprefix("image: ").strip())
    assert picture.parent == program.directory / "pictures/new"
    assert picture.exists()


def test_images_dir_that_cannot_be_made(program: Program) -> None:
    program.write("file", "")
    ended = program.run("-c", "print(1)", "--images-dir", "file/images")
    assert (ended.code, ended.out) == (2, "")
    assert "/file is not a directory" in ended.err


def test_images_dir_that_an_ordinary_user_cannot_write_to(program: Program) -> None:
    with open_directory() as directory:
        program.directory = directory
        closed = directory / "closed"
        closed.mkdir(mode=0o555)
        if os.getuid() == 0:
            program.user, program.env = ORDINARY_USER, {"HOME": str(directory)}
        ended = program.run("-c", "print(1)", "--images-dir", str(closed / "images"))
    assert (ended.code, ended.out) == (2, "")
    assert "cannot be written to: Permission denied" in ended.err


def test_images_dir_that_becomes_a_file(program: Program) -> None:
    ended = program.run("-c", f"open('images', 'w').close()\n{ONE_PIXEL}")
    assert ended.code == 1
    assert "/images: Not a directory" in ended.err


def test_text_beyond_the_bound_is_in_a_file_where_it_was_asked_for(program: Program) -> None:
    size = (128 << 20) + 1  # one beyond max_memory
    ended = program.run("-c", f"print('x' * {size}, end='')", "--spill-dir", "spilled")
    (spilled,) = (program.directory / "spilled").rglob("*.txt")
    assert (ended.code, len(ended.out.rstrip()), spilled.stat().st_size) == (0, size, size)


def test_working_dir(any_sandbox: Program) -> None:
    (any_sandbox.directory / "work").mkdir()
    file = any_sandbox.write("a.py", "import os\nopen('made', 'w').close()\n# %%\nprint(os.getcwd())")
    ended = any_sandbox.run(file, "--working-dir", "work")
    assert ended.out.endswith(f"{any_sandbox.directory}/work\n")
    assert (any_sandbox.directory / "work/made").exists()


def test_code_runs_in_the_current_directory(program: Program) -> None:
    assert program.run("-c", "import os; print(os.getcwd())").out == f"{program.directory}\n"


@pytest.mark.parametrize("options", [[], ["--working-dir", "."]])
def test_a_cell_that_goes_elsewhere_leaves_the_next_one_there(any_sandbox: Program, options: list[str]) -> None:
    file = any_sandbox.write("a.py", "import os\nos.chdir('/')\n# %%\nprint(os.getcwd())\n# %%\n%cd /usr\n# %%\n%pwd")
    assert any_sandbox.run(file, *options).out.splitlines() == ["/", "/usr", "'/usr'"]


def test_traceback_goes_to_standard_error_and_ends_the_run(any_sandbox: Program) -> None:
    ended = any_sandbox.run(any_sandbox.write("a.py", "print(1)\n1/0\n# %%\nprint(2)"))
    assert (ended.code, ended.out) == (1, "1\n")
    assert ended.err.rstrip().endswith("ZeroDivisionError: division by zero")
    assert "\x1b" not in ended.err


def test_keep_going(program: Program) -> None:
    ended = program.run(program.write("a.py", "1/0\n# %%\nprint(2)\n# %%\nnope"), "--keep-going")
    assert (ended.code, ended.out) == (1, "2\n")
    assert "ZeroDivisionError" in ended.err
    assert "NameError" in ended.err


def test_syntax_error(program: Program) -> None:
    ended = program.run("-c", "def")
    assert ended.code == 1
    assert "SyntaxError" in ended.err


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        ("import sys; sys.exit(7)", 7, ""),
        ("exit(3)", 3, ""),
        ("import sys; sys.exit()", 0, ""),
        ("exit()", 0, ""),
        ("raise SystemExit(124)", 124, ""),
        ("import sys; sys.exit('no such table')", 1, "no such table\n"),
    ],
)
def test_an_exit_ends_the_run_with_its_code(any_sandbox: Program, code: str, expected: int, said: str) -> None:
    before, after = "import atexit; _ = atexit.register(print, 'last')\n# %%\n", "\n# %%\nprint('not run')"
    file = any_sandbox.write("a.py", before + code + after)
    ended = any_sandbox.run(file)
    assert (ended.code, ended.out, ended.err) == (expected, "last\n", said)


def test_a_script_is_started_as_python_starts_it(any_sandbox: Program) -> None:
    (any_sandbox.directory / "folder").mkdir()
    any_sandbox.write("folder/beside.py", "here = 1")
    code = "import sys, beside\nprint(sys.argv, __file__, __name__)"
    file = any_sandbox.write("folder/a.py", code)
    ended = any_sandbox.run(file, "--", "one", "--two", "-3")
    assert ended.out.split() == f"['{file}', 'one', '--two', '-3'] {file} __main__".split(), ended.err


def test_timeout(any_sandbox: Program) -> None:
    before = time.monotonic()
    file = any_sandbox.write("a.py", "import time\nprint('start')\ntime.sleep(60)\n# %%\nprint('next')")
    ended = any_sandbox.run(file, "--timeout", "0.3")
    assert (ended.code, ended.out) == (124, "start\n")
    assert "cell 1" in ended.err
    assert time.monotonic() - before < 10


def test_tracebacks_and_warnings_tell_cells_apart(program: Program) -> None:
    cells = [
        "# %% setup\ndef f(): return 1/0",
        "# %%\nimport time\ntime.sleep(60)",
        "# %% failing\nimport warnings; warnings.warn('careful')\nf()",
    ]
    ended = program.run(program.write("a.py", "\n".join(cells)), "--timeout", "0.5", "--keep-going")
    for part in (
        "Cell In[2], line 2\n----> 2 time.sleep(60)",
        "cell 2: the code did not end within 500 ms",
        "Cell In[3] (failing):1: UserWarning: careful",
        "Cell In[3] (failing), line 2",
        "Cell In[1] (setup), line 1, in f()",
    ):
        assert part in ended.err


STUBBORN = "while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass"


def test_cells_are_counted_on_in_a_fresh_kernel(program: Program) -> None:
    cells = ["1", "import os; os._exit(1)", "2", "1 / 0", STUBBORN, "1 / 0"]
    file = program.write("a.py", "\n".join(f"# %%\n{cell}" for cell in cells))
    ended = program.run(file, "--timeout", "0.5", "--keep-going")
    assert re.findall(r"Cell In\[(\d)\], line 1\n", ended.err) == ["4", "6"]


def test_a_usage_error_is_said_once(program: Program) -> None:
    ended = program.run("-c", "%nosuchmagic")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "UsageError: Line magic function `%nosuchmagic` not found.\n"


def test_timeout_is_for_each_cell_and_the_session_lives_on(program: Program) -> None:
    file = program.write("a.py", "import time\na = 1\ntime.sleep(60)\n# %%\ntime.sleep(0.2)\nprint(a)")
    ended = program.run(file, "--timeout", "0.4", "--keep-going")
    assert (ended.code, ended.out) == (124, "1\n")


def test_death_of_the_kernel(any_sandbox: Program) -> None:
    ended = any_sandbox.run(any_sandbox.write("a.py", "print(1)\nimport os\nos._exit(7)\n# %%\nprint(2)"))
    assert ended.code == 1
    assert "cell 1: " in ended.err
    assert "7" in ended.err
    assert "2" not in ended.out


def test_after_a_death_the_next_cell_gets_a_fresh_kernel(any_sandbox: Program) -> None:
    file = any_sandbox.write("a.py", "a = 1\nimport os\nos._exit(7)\n# %%\nprint('a' in globals())\n# %%\nprint(3)")
    ended = any_sandbox.run(file, "--keep-going")
    assert (ended.code, ended.out) == (1, "False\n3\n")
    assert "cell 2: the kernel is a fresh one" in ended.err
    assert "cell 3" not in ended.err


def test_exit_code_is_that_of_the_first_cell_that_failed(program: Program) -> None:
    file = program.write("a.py", "import time\ntime.sleep(60)\n# %%\n1/0")
    assert program.run(file, "--timeout", "0.3", "--keep-going").code == 124


def test_times_and_titles(program: Program) -> None:
    file = program.write("a.py", "# %% Load data\n1\n# %%\nimport time\ntime.sleep(1.1)\n# %% last\n1/0")
    lines = program.run(file, "--times").err.splitlines()
    times = [line for line in lines if line.startswith("[")]
    assert times[0].startswith("[1] ")
    assert times[0].endswith(" ms Load data")
    assert times[1].startswith("[2] 1.1")
    assert times[1].endswith(" s")
    assert times[2].startswith("[3] ")
    assert times[2].endswith("last")


def test_no_input_without_a_terminal(program: Program) -> None:
    ended = program.run("-c", "input('?')", stdin="answer\n")
    assert ended.code == 1
    assert "StdinNotImplementedError" in ended.err
    assert program.run("-", stdin="input('?')").code == 1


def test_closed_output_ends_the_run_quietly(any_sandbox: Program) -> None:
    process = any_sandbox.start("-c", "import itertools\nfor i in itertools.count(): print(i)")
    assert process.stdout is not None
    assert process.stdout.readline() == b"0\n"
    process.stdout.close()
    assert process.wait(PATIENCE) == 141
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    any_sandbox.assert_all_gone()


def test_output_that_cannot_be_written(program: Program) -> None:
    with open("/dev/full", "w") as full:
        process = program.start("-c", "print(1)", stdout=full)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert b"No space left on device" in err


def test_descriptors_that_are_closed_from_the_start(program: Program) -> None:
    command = " ".join(map(repr, program.arguments("-c", "import sys; print(1); print(2, file=sys.stderr)")))
    shell = subprocess.run(
        ["/bin/sh", "-c", command + " <&- >&- 2>&-"], cwd=program.directory, env=program.environment()
    )
    assert shell.returncode == 0


def test_output_into_a_pipe_that_does_not_block(program: Program) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    process = program.start("-c", "print('x' * 1_000_000)", stdout=writer)
    os.close(writer)
    time.sleep(0.5)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b"x" * 1_000_000 + b"\n"
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_much_output(program: Program) -> None:
    ended = program.run("-c", "for i in range(200_000): print(i)")
    assert ended.out.splitlines() == [str(i) for i in range(200_000)]


def test_bytes_that_are_not_utf8(program: Program) -> None:
    code = r"import os, sys; os.write(1, b'\xff\n'); sys.stdout.write('\ud800ok\n')"
    process = program.start("-c", code)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 1)  # Python itself may refuse the lone surrogate
    assert out.isascii() or out.decode(errors="replace")


def test_another_kernel(any_sandbox: Program) -> None:
    spec = any_sandbox.directory / "jupyter/kernels/another"
    spec.mkdir(parents=True)
    argv = [PYTHON, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Test", "language": "python"}))
    any_sandbox.env["JUPYTER_PATH"] = str(any_sandbox.directory / "jupyter")
    file = any_sandbox.write("a.py", "a = 6\n# %%\nprint('text')\na * 7\n# %%\n1/0")
    ended = any_sandbox.run(file, "--kernel", "another")
    assert (ended.code, ended.out) == (1, "text\n42\n")
    assert "ZeroDivisionError" in ended.err


def test_unknown_kernel(program: Program) -> None:
    ended = program.run("-c", "1", "--kernel", "no-such-kernel")
    assert (ended.code, ended.out) == (3, "")
    assert "no-such-kernel" in ended.err


def test_files_that_were_left_out_are_told(program: Program) -> None:
    many = "for _ in range(999): display(picture, raw=True)\n"
    code = (
        "import base64\nfrom IPython.display import display\n"
        "picture = {'image/png': base64.b64encode(b'\\x89PNG\\r\\n\\x1a\\n').decode()}\n"
    )
    full = program.run("-c", code + many + "display(picture, raw=True)")
    assert "not written" not in full.err, full.err
    ended = program.run("-c", code + many + "for _ in range(3): display(picture, raw=True)")
    assert "cell 1: 2 files of images and displays were not written" in ended.err, ended.err
