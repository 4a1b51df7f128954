"""Shell commands from cells."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import Host, Kernel


@pytest.fixture(params=["lean", "handlers", "lean with actions", "handlers with actions"])
def any_kernel(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    """The same test with programs of the kernel's own and with programs that the host runs."""
    level, _, actions = request.param.partition(" with ")
    kernel = request.getfixturevalue("host" if level == "lean" else "handlers_host").fork(actions=bool(actions))
    yield kernel
    kernel.close()


def test_output_and_exit_code(any_kernel: Kernel) -> None:
    result = any_kernel.run("print('a')\n!echo out; echo err >&2; exit 3\nprint('b')")
    assert result.text() == "a\nout\nb\n" and result.text("stderr") == "err\n"
    assert any_kernel.run("_exit_code").value == "3"
    any_kernel.run("!kill -9 $$")
    assert any_kernel.run("_exit_code").value == "-9"


def test_there_is_no_terminal(any_kernel: Kernel) -> None:
    any_kernel.run("![ -t 0 ] || [ -t 1 ] || [ -t 2 ]")
    assert any_kernel.run("_exit_code").value == "1"


@pytest.mark.parametrize(
    "code",
    [
        "x = !echo a; echo b",
        "x = get_ipython().getoutput('echo a; echo b')",
        "x = %sx echo a; echo b",
        "x = %system echo a; echo b",
    ],
)
def test_output_as_a_value(any_kernel: Kernel, code: str) -> None:
    result = any_kernel.run(code + "\nprint(list(x), x.n == 'a\\nb', x.s == 'a b', type(x).__name__)")
    assert result.text() == "['a', 'b'] True True SList\n"


def test_stderr_belongs_to_the_value(any_kernel: Kernel) -> None:
    assert any_kernel.run("x = !echo e >&2\nprint(x)").text() == "['e']\n"


def test_variables_are_expanded(any_kernel: Kernel) -> None:
    code = (
        "def f():\n  local = 'world'\n  !echo hello {local} $local $$HOME\n  x = !echo {local.upper()}\n  print(x)\nf()"
    )
    lines = any_kernel.run(code).text().splitlines()
    assert lines[0].startswith("hello world world /") and lines[1] == "['WORLD']"


@pytest.mark.parametrize(
    "code", ["!find . -maxdepth 0 -exec echo {} \\;", "!echo '{\"a\": 1}'", "!echo a | xargs -I{} echo {}"]
)
def test_braces_are_left_alone(any_kernel: Kernel, code: str) -> None:
    result = any_kernel.run(code)
    assert result.reply["status"] == "ok" and result.text().strip() in (".", '{"a": 1}', "a")


def test_output_streams_while_it_runs(any_kernel: Kernel) -> None:
    request = any_kernel.start("!echo now; sleep 1000")
    any_kernel.until("now")
    any_kernel.interrupt()
    assert any_kernel.finish(request).error == "KeyboardInterrupt"


def test_characters_in_pieces(any_kernel: Kernel) -> None:
    code = "!printf '\\303'; sleep 0.05; printf '\\251\\n'"
    assert any_kernel.run(code).text() == "\xe9\n"
    assert any_kernel.run("%%capture c\n" + code).text() == ""
    assert any_kernel.run("c.stdout").value == "'\xe9\\n'"


def test_it_goes_where_stdout_goes(any_kernel: Kernel) -> None:
    any_kernel.run("%%capture c\n!echo out; echo err >&2")
    assert any_kernel.run("c.stdout, c.stderr").value == "('out\\n', 'err\\n')"
    code = "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as s:\n  !echo inside\ns.getvalue()"
    assert any_kernel.run(code).value == "'inside\\n'"


def test_a_background_process_does_not_hold_the_reply(any_kernel: Kernel) -> None:
    started = time.monotonic()
    any_kernel.run("!sleep 1000 & echo started")
    any_kernel.run("x = !sleep 1000 & echo started")
    any_kernel.run("%%capture\n!sleep 1000 & echo started")
    assert time.monotonic() - started < 20


def test_much_output(any_kernel: Kernel) -> None:
    assert any_kernel.run("!seq 200000").text() == "".join(f"{n}\n" for n in range(1, 200001))
    assert any_kernel.run("x = !seq 200000\nlen(x)").value == "200000"


def test_stdin_is_empty(any_kernel: Kernel) -> None:
    assert any_kernel.run("!cat; echo done").text() == "done\n"


def test_it_ignores_nothing_it_should_not(any_kernel: Kernel) -> None:
    any_kernel.run("x = !grep SigIgn /proc/self/status")
    assert any_kernel.run("int(x[0].split()[1], 16) & 0b10").value == "0", "SIGINT"


def test_interrupting_what_ignores_it(any_kernel: Kernel) -> None:
    request = any_kernel.start("!trap '' INT; echo started; while :; do sleep 1; done")
    any_kernel.until("started\n")
    any_kernel.interrupt()
    assert any_kernel.finish(request).error == "KeyboardInterrupt"


def test_bash_magics(any_kernel: Kernel) -> None:
    assert any_kernel.run("%%bash\nfor i in 1 2; do echo $i; done").text() == "1\n2\n"
    assert any_kernel.run("%%sh\necho sh").text() == "sh\n"


FROM_THE_HOST = {
    "cell": "open('/tmp/of the host/data.csv')",
    "bytes": "open(b'/var/tmp/data.csv')",
    "shell": "!cat /tmp/data.csv",
    "program": "!{__import__('sys').executable} /tmp/program.py",
    "value": "x = !ls -l '/tmp/data.csv'",
    "bash": "%%bash\nsed -n 1p /tmp/data.csv",
    "traceback of a program": "!{__import__('sys').executable} -c \"open('/tmp/data.csv')\"",
}


@pytest.fixture(scope="module")
def own_places() -> Iterator[Host]:
    """A supervisor whose sandbox has directories of its own."""
    with Host(private=["/tmp", "/var/tmp"]) as host:
        yield host


@pytest.mark.parametrize("code", FROM_THE_HOST.values(), ids=FROM_THE_HOST)
def test_a_file_that_only_the_host_has(own_places: Host, code: str) -> None:
    kernel = own_places.fork(actions=True)
    place = "/var/tmp" if "/var" in code else "/tmp"
    assert (
        kernel.run(code)
        .text("stderr")
        .endswith(
            f"[ipybox] {place} is the sandbox's own here, and was empty at the start. A file of the host's {place} can be read "
            "where it is put into the working directory.\n"
        )
    )
    kernel.close()


@pytest.mark.parametrize(
    "code",
    [
        "open('/nowhere/data.csv')",
        "!cat /nowhere/tmp/x",
        "open('data.csv')",
        "!echo '/tmp/x: No such file or directory'",
    ],
)
def test_a_file_that_nobody_has(own_places: Host, code: str) -> None:
    kernel = own_places.fork(actions=True)
    assert "[ipybox]" not in kernel.run(code).text("stderr")
    kernel.close()


def test_a_file_that_is_not_in_a_working_directory_below(own_places: Host, tmp_path: Path) -> None:
    kernel = own_places.fork(actions=True)
    kernel.run(f"import os; os.chdir({str(tmp_path)!r})")
    assert "[ipybox]" not in kernel.run(f"open({str(tmp_path / 'x')!r})").text("stderr")
    kernel.close()


@pytest.mark.parametrize("said", ["403 the connection is rejected", "502 there is no such host"])
def test_pip_that_is_let_through_to_no_index(host: Host, said: str) -> None:
    kernel = host.fork(actions=True)
    pip = f"sh -c 'echo \"OSError(Tunnel connection failed: {said})\" >&2; exit 1' pip install x"
    told = kernel.run(f"!{pip}").text("stderr")
    assert "[ipybox] pip was not let through to an index, as it says above. Packages come from outside" in told
    assert "[ipybox]" not in kernel.run(f"!{pip.replace('exit 1', 'exit 0')}").text("stderr")
    kernel.close()
