"""SIGINT: stops whatever runs, and never harms what is being sent."""

from __future__ import annotations

import select
import time

import pytest

from harness import Host, Kernel, Result

BLOCKED = {
    "busy loop": "while True: pass",
    "sleep": "import time; time.sleep(1000)",
    "lock": "import threading; l = threading.Lock(); l.acquire(); l.acquire()",
    "queue": "import queue; queue.Queue().get()",
    "await": "import asyncio; await asyncio.sleep(1000)",
    "await nested": "import asyncio\nasync def f(): await asyncio.sleep(1000)\nawait asyncio.gather(f(), f())",
    "busy await": "import asyncio\nawait asyncio.sleep(0)\nwhile True: pass",
    "subprocess": "import subprocess; subprocess.run(['sleep', '1000'])",
    "shell": "!sleep 1000",
    "shell output": "x = !sleep 1000",
    "socket": "import socket; a, b = socket.socketpair(); a.recv(1)",
    "magic": "get_ipython().run_line_magic('timeit', 'while True: pass')",
}


def pause(seconds: float) -> None:
    """Lets the interrupt come at another moment. Nothing depends on it."""
    select.select([], [], [], seconds)


def interrupted(kernel: Kernel, code: str) -> Result:
    """Runs a cell and interrupts it once it has started."""
    request = kernel.start("print('started')\n" + code)
    kernel.until("started\n")
    pause(0.02)
    started = time.monotonic()
    kernel.interrupt()
    result = kernel.finish(request)
    assert time.monotonic() - started < 20
    return result


@pytest.mark.parametrize("name", BLOCKED)
def test_interrupt_stops(any_kernel: Kernel, name: str) -> None:
    result = interrupted(any_kernel, BLOCKED[name])
    assert result.error == "KeyboardInterrupt" and "Cell In[1], line" in result.traceback
    assert [message.content["ename"] for message in result.of("error")] == ["KeyboardInterrupt"]
    assert any_kernel.run("print('next')").text() == "next\n"


def test_os_system_returns(any_kernel: Kernel) -> None:
    """The C library ignores SIGINT meanwhile: only the command ends."""
    assert interrupted(any_kernel, "import os; status = os.system('sleep 1000')").reply["status"] == "ok"
    assert any_kernel.run("status").value == "2"


def test_a_cell_that_has_not_begun(any_kernel: Kernel) -> None:
    """Right behind the one before, and right after it was sent: neither lost nor for somebody else."""
    for turn in range(40):
        any_kernel.run("pass")
        request = any_kernel.start("print('started')\nwhile True: pass")
        pause(turn * 0.0001 if turn % 2 else 0)
        any_kernel.interrupt(request)
        assert any_kernel.finish(request).error == "KeyboardInterrupt"
        assert any_kernel.run("print('next')").text() == "next\n"


def test_what_is_swallowed_on_the_way_to_the_cell(any_kernel: Kernel) -> None:
    """IPython prints what its callbacks raise, KeyboardInterrupt too, and goes on to the cell."""
    code = """
        import os, signal
        turns = []
        def interrupt(_):
            turns.append(1)
            if len(turns) == 2: os.kill(os.getpid(), signal.SIGINT)
        get_ipython().events.register('pre_run_cell', interrupt)
    """
    any_kernel.run(code)
    any_kernel.run("pass")
    result = any_kernel.run("print('cell')")
    assert result.error == "KeyboardInterrupt" and "\ncell\n" not in result.text()
    assert any_kernel.run("try: pass\nfinally: print(len(turns))").text() == "3\n"


def test_an_interrupt_that_comes_too_late(any_kernel: Kernel) -> None:
    for turn in range(40):
        request = any_kernel.start("pass")
        pause(turn * 0.00005)
        any_kernel.interrupt(request)
        later = any_kernel.start("print('later')")
        assert any_kernel.finish(request).error in ("", "KeyboardInterrupt")
        assert any_kernel.finish(later).text() == "later\n"


def test_idle_kernels_ignore_it(any_kernel: Kernel) -> None:
    for _ in range(3):
        assert any_kernel.interrupt()
    assert any_kernel.run("print(1)").text() == "1\n"


def test_it_cannot_hit_the_next_cell(any_kernel: Kernel) -> None:
    for number in range(30):
        any_kernel.run("pass")
        any_kernel.interrupt()
        assert any_kernel.run(f"print({number})").text() == f"{number}\n"


def test_waiting_input(any_kernel: Kernel) -> None:
    request = any_kernel.start("input('?')", allow_stdin=True)
    while any_kernel.receive().type != "input_request":
        pass
    any_kernel.interrupt()
    assert any_kernel.finish(request).error == "KeyboardInterrupt"
    assert any_kernel.run("print(1)").text() == "1\n"


WAITS = {
    "sleep": "at_once(interrupt, partial(time.sleep, 1000))",
    "lock": "lock = threading.Lock(); lock.acquire(); at_once(interrupt, lock.acquire)",
    "poll": "ends = os.pipe(); poller = select.poll(); poller.register(ends[0]); at_once(interrupt, poller.poll)",
    "read": "ends = os.pipe(); at_once(interrupt, partial(os.read, ends[0], 1))",
    "input": "wire.select = types.SimpleNamespace(poll=Poller, POLLIN=select.POLLIN)\ninput('?')",
    "await": "asyncio.get_running_loop()._selector._selector = Epoll()\nawait asyncio.sleep(1000)",
}


@pytest.mark.parametrize("wait", WAITS)
def test_an_interrupt_right_before_the_code_waits(any_kernel: Kernel, wait: str) -> None:
    """The system's handler has run, Python's has not, and nothing else would wake what waits then."""
    code = """
        import asyncio, collections, ctypes, os, select, signal, threading, time, types
        from functools import partial
        from ipybox_kernel import wire
        interrupt = partial(ctypes.PyDLL(None)['raise'], signal.SIGINT)
        def at_once(*calls):  # without a bytecode in between
            return collections.deque(map(partial.__call__, map(partial, calls)), 1)[0]
        class Poller:
            def __init__(self): self.poller = select.poll()
            def register(self, *what): self.poller.register(*what)
            def poll(self): at_once(interrupt, self.poller.poll)
        class Epoll:
            def __init__(self):
                self.selector = asyncio.get_running_loop()._selector
                self.epoll = self.selector._selector
            def poll(self, timeout, events):
                self.selector._selector = self.epoll
                return at_once(interrupt, partial(self.epoll.poll, timeout, events))
    """
    any_kernel.run(code)
    assert any_kernel.run(WAITS[wait], allow_stdin=True).error == "KeyboardInterrupt"
    assert any_kernel.run("print(1)").text() == "1\n"


#: `flush`, which sends the interrupt, is called before a fork.
INTERRUPTED_FORK = "streams.flush = flush\nif not os.fork(): os._exit(0)\ndel streams.flush\ntime.sleep(1000)"


def test_an_interrupt_in_the_middle_of_a_fork(any_kernel: Kernel) -> None:
    """Where nothing can be raised."""
    code = """
        import os, signal, time
        streams = get_ipython().kernel.streams  # flushed before a fork
        def flush(original=streams.flush):
            original()
            os.kill(os.getpid(), signal.SIGINT)
    """
    any_kernel.run(code)
    assert any_kernel.run(INTERRUPTED_FORK).error == "KeyboardInterrupt"
    assert any_kernel.run("print(1)").text() == "1\n"


@pytest.mark.parametrize(
    "called", ["class Closed:\n    def __del__(self): close()\nClosed()", "weakref.finalize(Box(), close)"]
)
def test_an_interrupt_where_python_can_raise_nothing(any_kernel: Kernel, called: str) -> None:
    code = """
        import os, signal, time, weakref
        class Box: pass
        def close():
            os.kill(os.getpid(), signal.SIGINT)
    """
    any_kernel.run(code)
    result = any_kernel.run(f"{called}\ntime.sleep(1000)")
    assert result.error == "KeyboardInterrupt" and result.text("stderr") == ""
    assert any_kernel.run("print(1)").text() == "1\n"


def test_an_interrupt_that_strikes_while_it_is_put_off(any_kernel: Kernel) -> None:
    """The shield of a fork asks for a nudge, which comes at once."""
    code = """
        import os, signal, time
        from ipybox_kernel.interrupt import NUDGE, interrupts
        streams = get_ipython().kernel.streams  # flushed before a fork
        def flush(original=streams.flush):
            original()
            os.kill(os.getpid(), signal.SIGINT)
        def remind(original=interrupts.remind):
            interrupts.remind = original
            original()
            os.kill(os.getpid(), NUDGE)
        interrupts.remind = remind
    """
    any_kernel.run(code)
    assert any_kernel.run(INTERRUPTED_FORK).error == "KeyboardInterrupt"
    assert any_kernel.run("print(1)").text() == "1\n"


def test_an_interrupt_while_a_warning_is_shown(any_kernel: Kernel) -> None:
    """It may be that of a fork, out of which nothing is raised."""
    code = """
        import os, signal, time, warnings
        shown = []
        def show(*what):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0)  # a handler has run
            shown.append(what)
    """
    any_kernel.run(code)
    assert (
        any_kernel.run("warnings.showwarning = show\nwarnings.warn('!')\ntime.sleep(1000)").error == "KeyboardInterrupt"
    )
    assert any_kernel.run("len(shown)").value == "1"


def test_what_else_cannot_be_raised_is_shown(any_kernel: Kernel) -> None:
    for error in ("KeyboardInterrupt", "ValueError"):
        result = any_kernel.run(f"class Closed:\n    def __del__(self): raise {error}\nclosed = Closed(); del closed")
        assert not result.error and error in result.text("stderr")


def test_an_interrupt_that_is_put_off_while_the_service_looks(any_kernel: Kernel) -> None:
    """The service has read how many signals were handled, and looks at the number after the main thread has put the interrupt off."""
    code = """
        import os, signal, time
        from ipybox_kernel.interrupt import interrupts
        streams = get_ipython().kernel.streams  # flushed before a fork
        reminders = streams.service.reminders
        def flush(original=streams.flush):
            original()
            os.kill(os.getpid(), signal.SIGINT)
        def again(original=reminders.again):
            before = interrupts.handled - 1
            original()
            reminders.expect(before)
        interrupts.remind = again
        interrupts.has_arrived = lambda original=interrupts.has_arrived: original() and False
    """
    any_kernel.run(code)
    assert any_kernel.run(INTERRUPTED_FORK).error == "KeyboardInterrupt"
    assert any_kernel.run("print(1)").text() == "1\n"


def test_tight_print_loop(kernel: Kernel) -> None:
    """At shifting moments: nothing is torn, doubled or lost."""
    for turn in range(30):
        request = kernel.start("i = 0\nwhile True:\n  print(i); i += 1")
        pause(turn * 0.0007)
        kernel.interrupt(request)
        result = kernel.finish(request)
        assert result.error == "KeyboardInterrupt"
        lines = result.text().removesuffix("\n").split("\n") if result.text() else []
        assert lines == [str(number) for number in range(len(lines))]
        printed = kernel.run("i").value
        if lines:
            assert int(printed or 0) <= len(lines) <= int(printed or 0) + 1


def test_big_writes_are_whole(kernel: Kernel) -> None:
    for turn in range(10):
        request = kernel.start("while True: print('x' * 3_000_000)")
        pause(turn * 0.002)
        kernel.interrupt(request)
        result = kernel.finish(request)
        assert result.error == "KeyboardInterrupt"
        assert all(len(line) == 3_000_000 for line in result.text().split("\n") if line)


def test_while_the_host_does_not_read(kernel: Kernel) -> None:
    request = kernel.start("for i in range(500): print('x' * 100_000)")
    select.select([kernel.stream], [], [], 5)
    pause(0.1)
    kernel.interrupt()
    result = kernel.finish(request)
    assert result.error == "KeyboardInterrupt"
    assert all(len(line) == 100_000 for line in result.text().split("\n") if line)


def test_what_swallows_the_first_gets_the_second(kernel: Kernel) -> None:
    code = """
        import asyncio
        print('started')
        try: await asyncio.sleep(1000)
        except BaseException: print('swallowed')
        await asyncio.sleep(1000)
    """
    request = kernel.start(code)
    kernel.until("started\n")
    pause(0.02)
    kernel.interrupt()
    kernel.until("swallowed\n")
    pause(0.02)
    kernel.interrupt()
    assert kernel.finish(request).error == "KeyboardInterrupt"
    assert kernel.run("print(1)").text() == "1\n"


def test_busy_background_task(kernel: Kernel) -> None:
    code = """
        import asyncio
        async def busy():
            print('busy', flush=True)
            while True: pass
        task = asyncio.create_task(busy())
        await asyncio.sleep(1000)
    """
    request = kernel.start(code)
    kernel.until("busy\n")
    kernel.interrupt()
    assert kernel.finish(request).error == "KeyboardInterrupt"
    assert kernel.run("await asyncio.sleep(0)\nprint(task.done())").text() == "True\n"


def test_the_event_loop_loses_nothing(kernel: Kernel) -> None:
    """An interrupt may strike while the loop has taken a task's next step and not begun it."""
    for turn in range(100):
        request = kernel.start("import asyncio\nwhile True: await asyncio.sleep(0)")
        pause(turn * 0.00003)
        kernel.interrupt(request)
        assert kernel.finish(request).error == "KeyboardInterrupt"


def test_an_interrupt_while_the_task_of_a_cell_is_made_leaves_no_task(kernel: Kernel) -> None:
    code = """
        import os, signal, sys
        loops = sys.modules['ipybox_kernel.loop']
        plain = loops.Task
        def interrupted(coroutine, **options):
            task = plain(coroutine, **options)
            inner = coroutine.cr_frame.f_locals.get('coroutine', coroutine)  # before Python 3.11 there is one around it
            if 'run_cell_async' in repr(inner):
                loops.Task = plain
                os.kill(os.getpid(), signal.SIGINT)
            return task
        loops.Task = interrupted
    """
    kernel.run("import asyncio")
    kernel.run(code)
    interrupted, next_one = (
        kernel.start(cell) for cell in ("while True: await asyncio.sleep(0)", "await asyncio.sleep(0.1)")
    )
    assert kernel.finish(interrupted).error == "KeyboardInterrupt"
    assert not kernel.finish(next_one).error
    assert kernel.run("len(asyncio.all_tasks())").value == "1"  # the kernel's own


def test_the_main_thread_takes_the_signal(kernel: Kernel) -> None:
    code = """
        import glob, signal
        for path in glob.glob('/proc/self/task/*/status'):
            blocked = dict(line.split(':', 1) for line in open(path))['SigBlk']
            print(int(blocked, 16) >> signal.SIGINT - 1 & 1)
    """
    assert sorted(kernel.run(code).text().split()) == ["0", "1"]


def test_cells_may_handle_it(any_kernel: Kernel) -> None:
    result = interrupted(any_kernel, "import time\ntry: time.sleep(1000)\nexcept KeyboardInterrupt: print('caught')")
    assert result.reply["status"] == "ok" and result.text() == "caught\n"


def test_siblings_are_not_hit(host: Host) -> None:
    first, second = host.fork(), host.fork()
    request = second.start("import time; print('started'); time.sleep(0.2); print('done')")
    second.until("started\n")
    first.interrupt()
    assert second.finish(request).text() == "done\n"
    first.close()
    second.close()


def test_completion_can_be_interrupted(kernel: Kernel) -> None:
    code = """
        class Slow:
            def __dir__(self):
                print('started', flush=True)
                while True: pass
        slow = Slow()
    """
    kernel.run(code)
    request = kernel.send("complete_request", {"code": "slow.", "cursor_pos": 5})
    kernel.until("started\n")
    kernel.interrupt()
    assert "status" in kernel.finish(request).reply
    assert kernel.run("print(1)").text() == "1\n"


def states(result: Result) -> list[str]:
    """What the host was told of an interrupt."""
    told = [message.content["execution_state"] for message in result.of("status")]
    return [state for state in told if state not in ("busy", "idle")]


@pytest.mark.parametrize("sleep", ["time.sleep", "await asyncio.sleep"])
def test_the_host_is_told_when_code_was_and_when_it_has_ended(any_kernel: Kernel, sleep: str) -> None:
    code = f"""
        import asyncio, time
        try:
            print('started', flush=True)
            {sleep}(1000)
        finally:
            {sleep}(0.2)
            print('cleaned up', flush=True)
            {sleep}(0.2)
    """
    result = any_kernel.interrupt_when_started(code)
    order = [
        m.content.get("execution_state") or m.content["text"] for m in result.messages if m.type in ("status", "stream")
    ]
    order = [what for what in order if what not in ("busy", "idle")]
    assert order[:2] == ["interrupted", "cleaned up\n"]
    assert result.error == "KeyboardInterrupt" and set(order[2:]) <= {"ending"}


def test_the_end_of_code_is_told_while_callbacks_run(any_kernel: Kernel) -> None:
    code = """
        import time
        get_ipython().events.register('post_execute', lambda: print('callback', flush=True) or time.sleep(0.3))
    """
    any_kernel.run(code)
    code = "import time\ntry: print('started'); time.sleep(1000)\nexcept KeyboardInterrupt: pass"
    assert states(any_kernel.interrupt_when_started(code)) == ["interrupted", "ending"]


def test_nothing_is_told_without_an_interrupt(any_kernel: Kernel) -> None:
    assert not states(any_kernel.run("1/0")) and not states(any_kernel.run("pass"))


def test_interrupts_are_dropped_while_an_error_is_rendered(any_kernel: Kernel) -> None:
    """Whatever raises them: the error that is shown is the code's own, and no frame of the renderer is in it."""
    code = """
        import time
        class Slow(Exception):
            def _render_traceback_(self):
                print('started', flush=True)
                deadline = time.monotonic() + 0.5
                while time.monotonic() < deadline: pass
                return ['rendered']
        raise Slow
    """
    request = any_kernel.start(code)
    any_kernel.until("started\n")
    for _ in range(5):
        any_kernel.interrupt()
        pause(0.02)
    result = any_kernel.finish(request)
    assert (result.error, result.traceback) == ("Slow", "rendered")
    assert set(states(result)) == {"ending"}
    assert any_kernel.run("print('next')").text() == "next\n"


DEEP = """
import time
def descend(n):
    if n: return descend(n - 1)
    try:
        print('started', flush=True)
        time.sleep(1000)
    except KeyboardInterrupt: raise ValueError('x' * 100_000)
"""


def test_the_traceback_of_an_interrupt_is_small(any_kernel: Kernel) -> None:
    result = any_kernel.interrupt_when_started(DEEP + "descend(500)")
    assert result.error == "ValueError"
    text = result.traceback
    assert len(text) < 20_000 and "frames are left out" in text
    assert "During handling" in text and "in descend(n)\n" in text
    assert "KeyboardInterrupt" in text and "ValueError: xxx" in text


def test_the_renderer_is_not_needed_for_it(any_kernel: Kernel) -> None:
    """It parses the files of all frames as a whole."""
    any_kernel.run("get_ipython().InteractiveTB.structured_traceback = lambda *error, **options: ['by IPython']")
    # In one statement: before the next one IPython compiles, and that is no frame of the cell.
    result = any_kernel.interrupt_when_started("import time\nprint('started', flush=True), time.sleep(1000)")
    assert "Cell In[2], line" in result.traceback and "by IPython" not in result.traceback
    assert any_kernel.run("1/0").traceback == "by IPython"


@pytest.mark.parametrize("after", [0.0005 * turn for turn in range(16)])
def test_an_early_interrupt_prints_nothing(any_kernel: Kernel, after: float) -> None:
    """No coroutine of the machinery is left behind that was never awaited. Until Python 3.10 one of the cell itself may be."""
    own = "coroutine 'sleep' was never awaited"
    for number in range(8):
        code = "await __import__('asyncio').sleep(1000)" if number % 2 else "while True: pass"
        request = any_kernel.start(code)
        pause(after * (1 + number / 8))
        any_kernel.interrupt(request)
        result = any_kernel.finish(request)
        assert result.error in ("KeyboardInterrupt", "CancelledError")
        assert not result.of("stream") or own in result.text("stderr")
    assert not any_kernel.run("import gc; gc.collect()").of("stream")
