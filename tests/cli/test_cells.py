"""What is run: files, notebooks, standard input, -c."""

from __future__ import annotations

import json

import pytest
from program import Program


def test_hello_in_each_sandbox(any_sandbox: Program) -> None:
    ended = any_sandbox.run("-c", "print('hello')")
    assert (ended.code, ended.out, ended.err) == (0, "hello\n", "")


def test_cells_share_one_session(any_sandbox: Program) -> None:
    file = any_sandbox.write("a.py", "a = 20\n# %% second\na += 22\n# %%\nprint(a)\n")
    ended = any_sandbox.run(file, "--json")
    assert ended.code == 0
    assert [r["cell"] for r in ended.results] == [0, 1, 2]
    assert ended.results[2]["text"] == "42"


def test_file_relative_to_the_current_directory(program: Program) -> None:
    program.write("a.py", "print(1)")
    assert program.run("a.py").out == "1\n"


def test_markdown_and_blank_cells_are_skipped(program: Program) -> None:
    file = program.write("a.py", "# Licence\n# %% [markdown]\n1/0\n# %% \n\n# %% one\nprint(1)\n# %%\nprint(2)\n")
    ended = program.run(file, "--times")
    assert (ended.code, ended.out) == (0, "1\n2\n")
    first, second = ended.err.splitlines()
    assert first.startswith("[1] ")
    assert first.endswith(" ms one")
    assert second.startswith("[2] ")


def test_code_before_the_first_marker_is_a_cell(program: Program) -> None:
    ended = program.run(program.write("a.py", "# comment\na = 1\n# %%\nprint(a)\n"), "--json")
    assert len(ended.results) == 2
    assert ended.results[1]["text"] == "1"


def test_standard_input(program: Program) -> None:
    assert program.run("-", stdin="print(1)\n# %%\nprint('é')").out == "1\né\n"


def test_empty_input_is_nothing_to_do(program: Program) -> None:
    for ended in (program.run("-", stdin=""), program.run("-c", ""), program.run(program.write("e.py", "\n\n"))):
        assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_code_that_looks_like_an_option(program: Program) -> None:
    assert program.run("-c", "-1").out == "-1\n"
    assert program.run("-c", "--x").code == 1  # a NameError, not a usage error


def test_code_is_taken_as_it_is(program: Program) -> None:
    assert program.run("-c", "print('[1,2]', \"a,b\")").out == "[1,2] a,b\n"


def notebook(language: str | None = None) -> str:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "1/0"},
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": "a = 'x'"},
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": ["b = a * 2\n", "b"]},
    ]
    metadata = {"kernelspec": {"name": "k", "language": language}} if language else {}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells})


def test_notebook(any_sandbox: Program) -> None:
    ended = any_sandbox.run(any_sandbox.write("n.ipynb", notebook()))
    assert (ended.code, ended.out) == (0, "'xx'\n")


def test_notebook_is_known_by_its_name_in_capitals_and_on_standard_input_by_its_content(program: Program) -> None:
    for ended in (program.run(program.write("N.IPYNB", notebook("python"))), program.run("-", stdin=notebook())):
        assert (ended.code, ended.out, ended.err) == (0, "'xx'\n", "")


def test_dictionary_on_standard_input_is_code(program: Program) -> None:
    assert program.run("-", stdin='{"cells": 1, "more": None}').out == "{'cells': 1, 'more': None}\n"


def test_tags_of_cells(any_sandbox: Program) -> None:
    def cell(source: str, *tags: str) -> dict[str, object]:
        return {"cell_type": "code", "metadata": {"tags": tags}, "outputs": [{"data": float("nan")}], "source": source}

    cells = [cell("1/0", "raises-exception"), cell("exit(3)", "skip-execution"), cell("print('two')")]
    book = any_sandbox.write("n.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    script = any_sandbox.write(
        "n.py", '# %% tags=["raises-exception"]\n1/0\n# %% no tags=["skip-execution"]\nexit(3)\n# %%\nprint("two")\n'
    )
    for file in (book, script):
        ended = any_sandbox.run(file)
        assert (ended.code, ended.out) == (0, "two\n")
        assert "ZeroDivisionError" in ended.err


def test_only_exceptions_are_expected(program: Program) -> None:
    tagged = '# %% tags=["raises-exception"]\n'
    for code, status in (("import os; os._exit(5)", 1), ("import time; time.sleep(30)", 124)):
        ended = program.run(program.write("n.py", f"{tagged}{code}\n# %%\nprint('two')\n"), "--timeout", "1")
        assert (ended.code, ended.out) == (status, "")


def test_notebook_in_another_language(program: Program) -> None:
    for ended in (program.run(program.write("n.ipynb", notebook("bash"))), program.run("-", stdin=notebook("bash"))):
        assert (ended.code, ended.out) == (2, "")
        assert "a notebook in bash, and the kernel runs Python; choose its own with --kernel" in ended.err


def test_file_of_another_system(program: Program) -> None:
    file = program.write("dos.py", b"\xef\xbb\xbfx = '''a\r\nb'''\r\n# %%\r\n%who\r\nprint(len(x))\r\n")
    ended = program.run(file)
    assert ended.code == 0
    assert ended.out.endswith("3\n")


def test_ipython_syntax(program: Program) -> None:
    assert program.run("-c", "%%capture caught\nprint('x')\n# %%\nprint(caught.stdout)").out == "x\n\n"


@pytest.mark.parametrize(
    "pool",
    [
        "from joblib import Parallel, delayed\nprint(Parallel(n_jobs=2)(delayed(sqrt)(i) for i in (0, 4)))",
        "from joblib import Parallel, delayed\n"
        "print(Parallel(n_jobs=2, backend='multiprocessing')(delayed(sqrt)(i) for i in (0, 4)))",
        "import multiprocessing\npool = multiprocessing.Pool(2)\nprint(pool.map(sqrt, (0, 4)))",
        "from concurrent.futures import ProcessPoolExecutor\n"
        "pool = ProcessPoolExecutor(2)\nprint(list(pool.map(sqrt, (0, 4))))",
    ],
    ids=["loky", "joblib on multiprocessing", "multiprocessing", "concurrent.futures"],
)
def test_pools_of_processes_end_with_their_run(any_sandbox: Program, pool: str) -> None:
    """Their workers still wait for work when the code ends; the kernel ends all the same, without a word about it."""
    ended = any_sandbox.run("-c", f"from math import sqrt\n{pool}")
    if "No module named 'joblib'" in ended.err:
        pytest.skip("joblib is not installed")
    assert (ended.code, ended.out, ended.err) == (0, "[0.0, 2.0]\n", "")
