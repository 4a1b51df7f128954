"""Processes that cells fork: their output arrives, and they have no part in the kernel."""

from __future__ import annotations

import os

import pytest

from harness import Kernel, wait_until


def test_process(any_kernel: Kernel) -> None:
    code = """
        import multiprocessing as mp, sys, os
        mp = mp.get_context('fork')
        def work(n):
            print('child', n)
            print('error', n, file=sys.stderr)
            os.write(1, b'raw ')
        print('before')
        ps = [mp.Process(target=work, args=(i,)) for i in range(3)]
        for p in ps: p.start()
        for p in ps: p.join()
        print('after', [p.exitcode for p in ps])
    """
    result = any_kernel.run(code)
    text = result.text()
    assert text.startswith("before\n") and text.endswith("after [0, 0, 0]\n")
    assert all(text.count(f"child {n}\n") == 1 for n in range(3)) and text.count("raw ") == 3
    assert sorted(line for line in result.text("stderr").splitlines() if "error" in line) == [
        "error 0",
        "error 1",
        "error 2",
    ]


def test_pools(any_kernel: Kernel) -> None:
    code = """
        import multiprocessing, concurrent.futures as cf
        def square(n):
            print('square', n)
            return n * n
        fork = multiprocessing.get_context('fork')
        with fork.Pool(2) as pool: a = pool.map(square, range(4))
        with cf.ProcessPoolExecutor(2, mp_context=fork) as pool: b = list(pool.map(square, range(4)))
        a, b
    """
    result = any_kernel.run(code)
    assert result.value == "([0, 1, 4, 9], [0, 1, 4, 9])"
    assert sorted(result.text().splitlines()) == sorted(f"square {n}" for n in range(4) for _ in range(2))


def test_errors_of_children(any_kernel: Kernel) -> None:
    code = "import multiprocessing as m\np = m.get_context('fork').Process(target=lambda: 1/0); p.start(); p.join(); p.exitcode"
    result = any_kernel.run(code)
    assert result.value == "1" and "ZeroDivisionError" in result.text("stderr")


def test_pending_output_is_not_doubled(any_kernel: Kernel) -> None:
    code = "import os, ctypes\nctypes.CDLL(None).printf(b'c ')\nprint('p', end=' ')\npid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)"
    text = any_kernel.run(code).text()
    assert text.count("p ") == 1 and text.count("c ") == 1


def test_a_child_that_the_cell_does_not_end(any_kernel: Kernel) -> None:
    code = "import os\npid = os.fork()\nprint('child' if pid == 0 else 'parent')\nif pid: print(os.waitpid(pid, 0)[1])"
    lines = any_kernel.run(code).text().split()
    assert sorted(lines) == ["0", "child", "parent"]
    assert any_kernel.run("print(1)").text() == "1\n"


@pytest.mark.parametrize("pool", ["Pool", "Process"])
def test_children_do_not_hide_the_kernels_death(any_kernel: Kernel, pool: str) -> None:
    code = """
        import multiprocessing, os, time
        fork = multiprocessing.get_context('fork')
        def stay():
            os.setsid()
            time.sleep(1000)
        p = fork.Process(target=stay, daemon=False); p.start()
        print(p.pid)
    """
    child = int(any_kernel.run(code).text())
    any_kernel.start("import os; os._exit(1)")
    assert any_kernel.wait_closed()["code"] == 1
    wait_until(lambda: not os.path.exists(f"/proc/{child}"))


def test_interrupting_children(any_kernel: Kernel) -> None:
    code = """
        import multiprocessing, os, time
        fork = multiprocessing.get_context('fork')
        reading, writing = os.pipe()  # an interrupt inside a lock that processes share would block the others
        def work():
            os.write(writing, b'.')
            while True: time.sleep(0.01)  # an interrupt right before one sleep shows behind it
        ps = [fork.Process(target=work) for _ in range(2)]
        for p in ps: p.start()
        for p in ps: os.read(reading, 1)
        print('started')
        for p in ps: p.join()
    """
    request = any_kernel.start(code)
    any_kernel.until("started\n")
    any_kernel.interrupt()
    assert any_kernel.finish(request).error == "KeyboardInterrupt"
    assert any_kernel.run("for p in ps: p.join()\nprint('joined')").text() == "joined\n"


def test_fork_from_a_thread(any_kernel: Kernel) -> None:
    code = """
        import threading, multiprocessing
        def run():
            p = multiprocessing.get_context('fork').Process(target=print, args=('from the child',)); p.start(); p.join()
        t = threading.Thread(target=run); t.start(); t.join()
    """
    assert any_kernel.run(code).text() == "from the child\n"


def test_spawned_programs_inherit_no_descriptor(any_kernel: Kernel) -> None:
    code = "import subprocess, sys\nprint(subprocess.run(['ls', '/proc/self/fd'], close_fds=False, capture_output=True, text=True).stdout.split())"
    assert any_kernel.run(code).text() == "['0', '1', '2', '3']\n"
