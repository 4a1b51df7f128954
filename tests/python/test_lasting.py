"""What lasts: contexts of cells behind an ``await``, what was printed before a crash, the kernel's own functions."""

from __future__ import annotations

import os
import signal
import time

import pytest

from harness import Closed, Host, Kernel

BEGIN = "import asyncio, contextvars; V = contextvars.ContextVar('V', default='default')"


def test_a_context_variable_set_behind_an_await_is_there_in_the_next_cell(kernel: Kernel) -> None:
    kernel.run(BEGIN)
    assert not kernel.run("await asyncio.sleep(0); token = V.set('late')").error
    assert kernel.run("V.get()").value == "'late'"
    assert kernel.run("await asyncio.sleep(0); V.get()").value == "'late'"
    assert kernel.run("async def peek(): return V.get()\nawait asyncio.gather(peek(), peek())").value == (
        "['late', 'late']"
    )
    if (
        kernel.run("import sys; sys.version_info >= (3, 11)").value == "True"
    ):  # else each cell has a copy of the context
        assert not kernel.run("V.reset(token)").error
    else:
        assert not kernel.run("V.set('default')").error
    assert kernel.run("V.get()").value == "'default'"
    kernel.run("import decimal; await asyncio.sleep(0); decimal.getcontext().prec = 5")
    assert kernel.run("decimal.Decimal(1) / 3").value == "Decimal('0.33333')"
    kernel.run("async def change(): V.set('of a task')\nawait asyncio.create_task(change())")
    assert kernel.run("V.get()").value == "'default'"


def test_before_python_3_11_too(kernel: Kernel) -> None:
    """There a task cannot share a context: the one of the cell is carried on."""
    kernel.run(f"import sys; sys.modules['ipybox_kernel.loop'].shares_context = False; {BEGIN}")
    kernel.run("V.set('early')")
    assert kernel.run("V.get()").value == "'early'"
    kernel.run("await asyncio.sleep(0); V.set('late')")
    assert kernel.run("V.get()").value == "'late'"
    assert kernel.run("await asyncio.sleep(0); V.get()").value == "'late'"


@pytest.mark.parametrize(
    "end",
    [
        "import ctypes; ctypes.string_at(0)",
        "import os; os._exit(3)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import os; os.abort()",
    ],
)
@pytest.mark.parametrize(
    ("printed", "left"),
    [
        ("print('before')", ["before\n", ""]),
        ("import sys; print('ä€', 5, file=sys.stderr)", ["", "ä€ 5\n"]),
        ("import os; os.write(1, b'c'); print('a'); os.write(1, b'b')", ["ba\n", ""]),
        ("print('x' * 100_000, end='')", ["x" * 100_000, ""]),
    ],
)
def test_what_was_printed_before_a_crash_is_kept(kernel: Kernel, end: str, printed: str, left: list[str]) -> None:
    kernel.start(f"import sys; sys.setswitchinterval(1e-6)\n{printed}\n{end}")
    sent = {"stdout": "", "stderr": ""}
    while True:
        try:
            message = kernel.receive()
        except (Closed, ConnectionError):
            break
        if message.type == "stream":
            sent[message.content["name"]] += message.content["text"]
    kernel.host.event("exit", pid=kernel.pid)
    found = [sent[name] + rest for name, rest in zip(sent, kernel.left(), strict=True)]
    assert list(map(sorted, found)) == list(map(sorted, ["c" * ("'c'" in printed) + left[0], left[1]]))


def test_another_kernel_has_no_part_in_what_one_prints(kernel: Kernel) -> None:
    """Memory that a kernel shares with the supervisor is not there in kernels that are forked later."""
    kernel.run("print('secret ' * 3)")
    other = kernel.host.fork()
    try:
        lines = "[line for line in open('/proc/self/maps') if '/dev/zero' in line and ' rw-s ' in line]"
        assert kernel.run(f"len({lines})").value == other.run(f"len({lines})").value
    finally:
        other.close()


def test_what_the_kernel_needs_is_put_back_and_told(kernel: Kernel) -> None:
    kernel.run("state = 1; import ast; ast.parse = ast.Interactive = None")
    result = kernel.run("print(state)")
    assert not result.error and "1\n" in result.text()
    assert "the kernel cannot work without what code has replaced or removed" in result.text()
    assert "ast.parse" in result.text()


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        ("import builtins; del builtins.exec", "builtins.exec"),
        ("import linecache; linecache.cache = None", "linecache.cache"),
        ("import IPython.core.compilerop as module; module.PyCF_ONLY_AST = 0", "IPython.core.compilerop.PyCF_ONLY_AST"),
    ],
)
def test_constants_and_functions_that_run_cells_are_put_back(kernel: Kernel, broken: str, named: str) -> None:
    kernel.run(broken)
    result = kernel.run("print('runs')")
    assert not result.error and result.text().endswith("runs\n")
    assert f"has put it back: {named}\n" in result.text()
    assert kernel.run("print('quiet')").text() == "quiet\n"


def test_what_cells_run_is_run_once_whatever_is_put_back(kernel: Kernel) -> None:
    kernel.run("n = 0; import builtins")
    result = kernel.run("n += 1\ndel builtins.exec\nn += 1\nn")
    assert result.value == "2" and "builtins.exec" in result.text()
    kernel.run("del builtins.SystemExit")
    result = kernel.run("n += 1\n1 / 0")
    assert result.error == "ZeroDivisionError" and "builtins.SystemExit" in result.text()
    assert kernel.run("n").value == "3"
    kernel.run("builtins.repr = None")
    assert kernel.run("n += 1; n").value == "4"


def test_what_code_replaces_stays_as_long_as_the_machinery_works(kernel: Kernel) -> None:
    code = """
        import builtins, os, tempfile, time, signal
        plain, run = print, exec
        builtins.print = lambda *words: plain('mine', *words)
        builtins.exec = lambda *code: run(*code)
        builtins.x, os.linesep, tempfile.tempdir, signal.SIGINT = 1, 'n', '/x', None
        time.sleep = lambda seconds: 'slept'
    """
    assert not kernel.run(code).error
    assert kernel.run("1 / 0").error == "ZeroDivisionError"
    assert kernel.run("print(x)").text() == "mine 1\n"
    values = "exec is not run, x, os.linesep, tempfile.tempdir, signal.SIGINT, time.sleep(1)"
    assert kernel.run(values).value == "(True, 1, 'n', '/x', None, 'slept')"


@pytest.mark.parametrize("actions", [False, True])
def test_there_is_nothing_to_put_back_in_a_kernel_that_works(host: Host, actions: bool) -> None:
    """Neither what it has replaced itself nor what modules keep for their own use."""
    kernel = host.fork(actions=actions)
    try:
        cells = ["1 / 0", "%time 1", "len?", "import asyncio; await asyncio.sleep(0)", "import uuid; uuid.uuid1()"]
        cells += [
            "import tempfile, logging, time; tempfile.gettempdir(); logging.basicConfig(); time.strptime('1', '%d')"
        ]
        for cell in cells:
            kernel.run(cell)
        assert kernel.run("get_ipython().kernel.originals.mend()").value == "[]"
    finally:
        kernel.close()


@pytest.mark.parametrize(
    ("limits", "opens", "said"),
    [
        ("(0, hard)", True, "with a limit of 0 open files nothing could be opened: the limit is "),
        ("(3, hard)", True, "with a limit of 3 open files nothing could be opened: the limit is "),
        (
            "(0, 0)",
            False,
            "code has lowered the limit of open files to 0, and the system does not let it be raised; reset",
        ),
        ("(min(64, hard), hard)", True, ""),
    ],
)
def test_a_limit_below_which_nothing_can_be_opened(kernel: Kernel, limits: str, opens: bool, said: str) -> None:
    if os.geteuid() == 0:
        kernel.run("import os; os.setuid(65534)")  # root may raise hard limits
    kernel.run("import resource; soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)")
    result = kernel.run(f"resource.setrlimit(resource.RLIMIT_NOFILE, {limits})")
    assert said in result.text() and bool(result.text()) == bool(said)
    result = kernel.run("open('/dev/null').close()")
    assert result.error == ("" if opens else "OSError") and not result.text()
    begun = time.monotonic()
    request = kernel.start("import time; print('at once'); time.sleep(5)")
    kernel.until("at once")
    assert time.monotonic() - begun < 4
    os.kill(kernel.pid, signal.SIGINT)
    assert kernel.finish(request).error == "KeyboardInterrupt"


def test_a_display_that_the_host_cannot_take_names_itself(kernel: Kernel) -> None:
    deep = "a = 1\nfor _ in range(600): a = [a]\n"
    result = kernel.run(deep + "display({'application/json': a, 'text/plain': 'p'}, raw=True)")
    assert result.error == "ValueError" and not result.of("display_data")
    assert "a display (application/json, text/plain) is nested more than 480 levels deep" in result.reply["evalue"]
    assert kernel.run("display({'application/json': 10**400}, raw=True)").of("display_data")
    wide = "display({'application/json': [[[]]] * 1000, 'text/plain': '[' * 1000}, raw=True)"
    assert kernel.run(wide).of("display_data")


def test_between_two_cells_the_loop_wakes_up_for_files_and_for_threads(kernel: Kernel) -> None:
    code = """
        import asyncio, os, threading, time
        loop, seen = asyncio.get_event_loop(), []
        reads, writes = os.pipe()
        loop.add_reader(reads, lambda: (os.read(reads, 9), seen.append(time.monotonic())))
        threading.Timer(0.1, os.write, (writes, b'x')).start()
        threading.Timer(0.2, loop.call_soon_threadsafe, (lambda: seen.append(time.monotonic()),)).start()
    """
    assert not kernel.run(code).error
    time.sleep(1)
    assert kernel.run("now = time.monotonic(); [now - at > 0.3 for at in seen]").value == "[True, True]"
    assert not kernel.run("loop.remove_reader(reads)").error


def test_nested_loops_of_cells_that_follow_each_other_at_once(kernel: Kernel) -> None:
    """What the loop has to do for the end of one cell comes up in the nested loop of the next one."""
    if kernel.run("import asyncio, nest_asyncio2; nest_asyncio2.apply()").error:
        pytest.skip("elsewhere: nest_asyncio2 is not installed")
    kernel.run("async def f(n): await asyncio.sleep(0.001); return n")
    for _ in range(10):
        cells = ["await f(1)", "asyncio.get_event_loop().run_until_complete(f(2))", "asyncio.run(f(3))"]
        requests = [kernel.start(cell) for cell in cells]
        assert [kernel.finish(request).value for request in requests] == ["1", "2", "3"]


def test_what_has_arrived_is_not_left_behind_too(host: Host) -> None:
    """However soon the kernel is killed behind its sending."""
    for _ in range(20):
        kernel = host.fork()
        kernel.start("print('last words', flush=True)\nimport time; time.sleep(60)")
        while kernel.receive().type != "stream":
            pass
        os.kill(kernel.pid, signal.SIGKILL)
        host.event("exit", pid=kernel.pid)
        assert kernel.left() == ["", ""]
        kernel.close()
