"""Errors: complete for the user, without the machinery."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from harness import Host, Kernel, Result

MACHINERY = ("ipybox_kernel", "ipykernel/", "/IPython/", "IPython/core", "interactiveshell", "async_helpers")

CELLS = {
    "plain": ("def f(): return 1/0\nf()", ["f()", "return 1/0"]),
    "nested": (
        "def f(): raise KeyError('x')\ndef g():\n  try: f()\n  except KeyError as e: raise ValueError('y') from e\ng()",
        ["KeyError", "ValueError: y", "direct cause"],
    ),
    "context": ("try: 1/0\nexcept ZeroDivisionError: undefined", ["ZeroDivisionError", "During handling", "NameError"]),
    "await": ("import asyncio\nasync def f():\n  await asyncio.sleep(0)\n  1/0\nawait f()", ["await f()", "1/0"]),
    "gather": ("import asyncio\nasync def f(): 1/0\nawait asyncio.gather(f())", ["gather", "1/0"]),
    "timeit": ("%%timeit\n1/0", ["ZeroDivisionError"]),
    "time": ("%%time\ndef f(): 1/0\nf()", ["in f()", "ZeroDivisionError"]),
    "line magic": ("%time 1/0", ["ZeroDivisionError"]),
    "prun": ("%prun 1/0", ["ZeroDivisionError"]),
    "run_cell": ("get_ipython().run_cell_magic('time', '', 'def f(): 1/0\\nf()')", ["in f()"]),
    "library": ("import json\njson.loads('{')", ["json.loads", "JSONDecodeError", "decoder.py"]),
    "callback": ("sorted([2, 1], key=lambda x: 1/0)", ["sorted", "<lambda>"]),
    "without lines": ("exec(compile('1/0', 'file', 'exec').replace(co_linetable=b'\\xff' * 9))", ["ZeroDivisionError"]),
    "exec": ("exec('1/0')", ["exec", "ZeroDivisionError"]),
    "exec syntax": ("exec('x = = 1')", ["exec", "SyntaxError"]),
    "syntax": ("x = = 1", ["Cell In[1], line 1", "SyntaxError: invalid syntax"]),
    "indentation": ("if True:\nx = 1", ["IndentationError"]),
    "unknown magic": ("%no_such_magic", []),
    "failing magic": ("%cd /no/such/place", []),
    "usage": ("%timeit -n x pass", []),
    "comprehension": ("[1/0 for _ in [1]]", ["1/0"]),
    "recursion": ("def f(n): return f(n + 1)\nf(0)", ["RecursionError", "skipping similar frames"]),
    "input": ("input()", ["StdinNotImplementedError", "input()"]),
    "shell": ("get_ipython().system_raise_on_error = True\n!exit 3", ["CalledProcessError"]),
    "display": ("class A:\n  def _repr_html_(self): 1/0\nA()", ["_repr_html_", "1/0"]),
    "bad str": ("class E(Exception):\n  def __str__(self): 1/0\nraise E", ["E"]),
    "exit": ("import sys; sys.exit(2)", ["SystemExit: 2"]),
    "preprocessing": ("get_ipython().input_transformers_cleanup.append(lambda lines: 1/0)\n", []),
}


def shown(result: Result) -> str:
    errors = "\n".join("\n".join(message.content["traceback"]) for message in result.of("error"))
    return f"{result.traceback}\n{errors}\n{result.text('stderr')}"


@pytest.mark.parametrize("name", CELLS)
def test_user_frames_and_nothing_else(any_kernel: Kernel, name: str) -> None:
    code, expected = CELLS[name]
    text = shown(any_kernel.run(code))
    for part in expected:
        assert part in text
    for part in (*MACHINERY, "\x1b"):
        assert part not in text


def test_errors_of_the_machinery_itself(any_kernel: Kernel) -> None:
    any_kernel.run("get_ipython().input_transformers_cleanup.append(lambda lines: 1/0)")
    result = any_kernel.run("print(1)")
    assert result.error == "ZeroDivisionError" and "lambda" in result.traceback
    assert not any(part in shown(result) for part in MACHINERY)


def test_exception_groups(any_kernel: Kernel) -> None:
    if any_kernel.run("ExceptionGroup").error:
        pytest.skip("elsewhere: exception groups came with 3.11")
    code = """
        def f(): 1/0
        def g():
            try: f()
            except Exception as e: raise ExceptionGroup('several', [e, ValueError('v')])
        g()
    """
    result = any_kernel.run(code)
    assert result.error == "ExceptionGroup" and len(result.of("error")) == 1
    assert "ValueError: v" in result.traceback and "in f" in result.traceback and "in g" in result.traceback
    assert not any(part in shown(result) for part in MACHINERY)


def test_errors_that_are_each_the_cause_of_the_other(any_kernel: Kernel) -> None:
    result = any_kernel.run("a, b = ValueError('a'), KeyError('b')\na.__cause__, b.__cause__ = b, a\nraise a")
    assert result.reply["ename"] == "ValueError" and "raise a" in result.traceback
    assert any_kernel.run("print(1)").text() == "1\n"


def test_an_error_where_the_working_directory_is_gone(any_kernel: Kernel, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    result = any_kernel.run(f"import os\nos.chdir({str(gone)!r})\nos.rmdir({str(gone)!r})\n1/0")
    assert result.error == "ZeroDivisionError" and "----> 4 1/0" in result.traceback
    any_kernel.run("os.chdir('/')")


def test_reply_and_message_say_the_same(any_kernel: Kernel) -> None:
    result = any_kernel.run("1/0", store_history=True)
    message = result.of("error")[0].content
    assert {key: result.reply[key] for key in message} == message
    assert message["ename"] == "ZeroDivisionError" and message["evalue"] == "division by zero"
    assert message["traceback"][0] == "-" * 75


def test_lines_are_those_of_the_cell(any_kernel: Kernel) -> None:
    any_kernel.run("def f(x):\n  return 1 / x", store_history=True)
    text = any_kernel.run("# a comment\nf(0)", store_history=True).traceback
    assert "Cell In[2], line 2" in text and "Cell In[1], line 2, in f(x)" in text and "----> 2 f(0)" in text


def test_scripts_and_modules(any_kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("def f():\n    1/0\nf()\n")
    (tmp_path / "broken.py").write_text("x = = 1\n")
    result = any_kernel.run(f"%cd -q {tmp_path}\n%run script.py")
    assert "script.py" in shown(result) and "in f()" in shown(result)  # as in IPython, the cell itself goes on
    imported = any_kernel.run("import broken")
    assert "broken.py" in imported.traceback and "import broken" in imported.traceback
    assert not any(part in shown(result) + shown(imported) for part in MACHINERY)


def test_tb_and_post_mortem(any_kernel: Kernel) -> None:
    any_kernel.run("def f(): 1/0\nf()")
    assert "1/0" in shown(any_kernel.run("%tb"))
    assert (
        any_kernel.run("import sys; sys.last_value, sys.last_traceback.tb_frame.f_code.co_name").value
        == "(ZeroDivisionError('division by zero'), '<module>')"
    )


def test_a_users_module_may_have_any_name(any_kernel: Kernel) -> None:
    any_kernel.run("ns = {'__name__': None}\nexec('def f(): 1/0', ns)")
    assert "ns['f']()" in any_kernel.run("ns['f']()").traceback


def test_caught_errors_keep_nothing_alive(kernel: Kernel) -> None:
    code = """
        import gc, weakref
        class Big: pass
        def f():
            big = Big()
            refs.append(weakref.ref(big))
            1/0
        refs = []
    """
    kernel.run(code)
    kernel.run("f()")
    assert kernel.run("try: undefined\nexcept NameError: pass\nlen(refs)").value == "1"
    kernel.run("1/0")
    assert kernel.run("gc.collect(); refs[0]()").value is None


WRITTEN = {
    "shell": ("!exit 3", ["----> 1 !exit 3"]),
    "assigned": ("x = !exit 3", ["----> 1 x = !exit 3"]),
    "script": ("%%bash\nexit 3\ntrue", ["----> 1 %%bash", "      2 exit 3", "      3 true"]),
    "in a function": ("def f():\n    !exit 3\nf()", ["----> 3 f()", "----> 2     !exit 3"]),
    "below continued lines": ("!echo a \\\n  b\n\n!exit 3", ["----> 4 !exit 3"]),
    "line magic": ("a = 1\n%run /no/such/file", []),
    "time": ("%%time\n1/0", ["ZeroDivisionError"]),
    "prompts": (">>> !exit 3", ["----> 1 !exit 3"]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_magics_are_shown_as_they_were_written(any_kernel: Kernel, name: str) -> None:
    code, expected = WRITTEN[name]
    any_kernel.run("get_ipython().system_raise_on_error = True")
    text = shown(any_kernel.run(code))
    for part in expected:
        assert part in text
    assert "get_ipython" not in text and "run_cell_magic" not in text


def run_titled(kernel: Kernel, code: str, title: object) -> Result:
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    return kernel.finish(kernel.send("execute_request", content, metadata={"title": title}))


def test_cells_are_told_apart(any_kernel: Kernel) -> None:
    any_kernel.run("def f(x):\n    return 1 / x")
    run_titled(any_kernel, "def g():\n    f(0)", "load the <data>")
    text = any_kernel.run("g()").traceback
    for part in (
        "Cell In[3], line 1\n----> 1 g()",
        "Cell In[2] (load the <data>), line 2, in g()",
        "Cell In[1], line 2, in f(x)",
        "----> 2     return 1 / x",
    ):
        assert part in text
    assert "Cell In[4], line 2" in any_kernel.run("a = 1\nx = = 1").traceback


def test_equal_cells_are_told_apart(any_kernel: Kernel) -> None:
    for _ in range(3):
        text = any_kernel.run("1/0").traceback
    assert "Cell In[3], line 1" in text and "In[1]" not in text


def test_a_warning_names_its_cell(any_kernel: Kernel) -> None:
    any_kernel.run("import warnings\ndef f(): warnings.warn('careful')")
    assert (
        run_titled(any_kernel, "f()", "calls")
        .text("stderr")
        .startswith("Cell In[1]:2: UserWarning: careful\n  def f(): warnings.warn('careful')\n")
    )


@pytest.mark.parametrize("title", [7, None, {"a": 1}, "", " \n ", "x" * 100_000, "a\nb\x1b[31m\u202e"])
def test_a_title_cannot_harm(any_kernel: Kernel, title: object) -> None:
    first = run_titled(any_kernel, "1/0", title).traceback.split("\n")[2]
    assert first.startswith("Cell In[1]") and first.endswith(", line 1") and len(first) < 90 and first.isprintable()


def test_source_of_what_a_cell_defines(any_kernel: Kernel) -> None:
    any_kernel.run("def f():\n    return 7")
    for _ in range(3):
        any_kernel.run("pass")
    assert any_kernel.run("import inspect; print(inspect.getsource(f))").text() == "def f():\n    return 7\n\n"


def test_sources_of_cells_that_define_nothing_are_not_kept(any_kernel: Kernel) -> None:
    count = "sum(name.startswith('<ipython-input') for name in linecache.cache)"
    any_kernel.run("import linecache")
    before = int(any_kernel.run(count).value or 0)
    for _ in range(20):
        any_kernel.run("x = 1")
    assert int(any_kernel.run(count).value or 0) <= before + 1


def test_a_null_byte_has_a_place(any_kernel: Kernel) -> None:
    result = any_kernel.run("a = 1\nb = '\0'")
    assert result.error == "SyntaxError" and "Cell In[1], line 2\n    b = '\\0'\n" in result.traceback
    assert "cannot contain null bytes" in result.traceback


def test_out_is_empty_without_a_history(any_kernel: Kernel) -> None:
    any_kernel.run("5")
    assert any_kernel.run("_, Out").value == "(5, {})"


def imported_by_an_error(kernel: Kernel) -> set[str]:
    """What a kernel imports to show an error."""
    before = set(kernel.run("import sys; print(*sys.modules)").text().split())
    assert kernel.run("1/0").error == "ZeroDivisionError"
    return set(kernel.run("print(*sys.modules)").text().split()) - before


def wait_for_the_warm_up(kernel: Kernel) -> None:
    """It does something only while nothing is asked."""
    deadline = time.monotonic() + 30
    while kernel.run("len(get_ipython().kernel.warm_up.pieces)").value != "0":
        assert time.monotonic() < deadline, "never done"
        time.sleep(0.5)


@pytest.mark.parametrize("level", ["lean", "handlers"])
def test_the_first_error_is_prepared_while_nothing_runs(level: str, tmp_path: Path) -> None:
    """Of the first kernel of a supervisor; later ones are forked from one that is warm."""
    with Host(level=level) as host:
        kernel = host.fork(cwd=tmp_path)
        kernel.run("first = 1")
        wait_for_the_warm_up(kernel)
        result = kernel.run("%tb")
        assert "No traceback available" in result.text("stderr") and not result.error
        result = kernel.run("%debug")
        assert "No traceback has been produced" in result.text("stderr")
        assert kernel.run("import sys; [name for name in vars(sys) if name.startswith('last_')]").value == "[]"
        assert imported_by_an_error(kernel) == set()
        assert "1/0" in kernel.run("1/0").traceback


def test_kernels_that_come_at_once_share_what_errors_need() -> None:
    """With each other and their supervisor, which prepares it when there is time."""
    with Host() as host:
        kernels = [host.fork() for _ in range(4)]
        assert [kernel.run("len(get_ipython().kernel.warm_up.pieces) > 0").value for kernel in kernels[1:]] == [
            "False"
        ] * 3
        for kernel in kernels:
            assert kernel.run("1/0").error == "ZeroDivisionError"


def test_files_of_the_user_are_not_run_for_it(tmp_path: Path) -> None:
    (tmp_path / "fractions.py").write_text("print('run'); mine = True")
    with Host() as host:
        kernel = host.fork(cwd=tmp_path)
        if kernel.run("import sys; 'fractions' in sys.modules").value == "True":
            pytest.skip("this IPython imports what shows errors when it is imported itself")
        wait_for_the_warm_up(kernel)
        result = kernel.run("import fractions; fractions.mine")
        assert (result.value, result.text()) == ("True", "run\n")
