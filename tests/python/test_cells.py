"""What a cell answers, displays and leaves behind, at both levels."""

from __future__ import annotations

import json
import subprocess

import pytest

from harness import CHATTER, PYTHON, STDIN, Host, Kernel


def test_output_result_and_reply(any_kernel: Kernel) -> None:
    result = any_kernel.run("print('out')\nimport sys; print('err', file=sys.stderr)\n6 * 7")
    assert (result.text(), result.text("stderr"), result.value) == ("out\n", "err\n", "42")
    assert result.reply["status"] == "ok" and result.reply["payload"] == []


def test_everything_belongs_to_its_request(any_kernel: Kernel) -> None:
    for code in ("print(1)", "1+1", "1/0", "import os; os.system('echo 1')"):
        request = any_kernel.start(code)
        seen = [m for m in any_kernel.finish(request).messages if m.content.get("execution_state") != "idle"]
        assert seen and all(message.parent["msg_id"] == request for message in seen)


def test_lean_sends_nothing_superfluous(kernel: Kernel) -> None:
    result = kernel.run("print(1)")
    assert [message.type for message in result.messages] == ["stream"]


def test_handlers_send_status_and_input(handlers_host: Host) -> None:
    kernel = handlers_host.fork()
    result = kernel.run("pass")
    assert [message.type for message in result.messages] == ["status", "execute_input"]
    assert kernel.receive().content == {"execution_state": "idle"}
    kernel.close()


def test_message_ids_differ(kernel: Kernel) -> None:
    ids = [m.header["msg_id"] for _ in range(3) for m in kernel.run("print(1)\n1").messages]
    assert len(set(ids)) == len(ids) == 6


def test_history_is_counted_on_request(any_kernel: Kernel) -> None:
    counted = any_kernel.run("1/0", store_history=True)
    assert counted.reply["execution_count"] == 1 and "Cell In[1], line 1" in counted.traceback
    result = any_kernel.run("'x'", store_history=True)
    assert result.reply["execution_count"] == 2 and result.of("execute_result")[0].content["execution_count"] == 2
    assert any_kernel.run("Out[2], _2, In[1], _i1", store_history=True).value == "('x', 'x', '1/0', '1/0')"
    any_kernel.run("'not counted'")
    assert any_kernel.run("pass", store_history=True).reply["execution_count"] == 4
    history = any_kernel.ask(
        "history_request", hist_access_type="range", output=False, raw=True, session=0, start=1, stop=3
    )
    assert [line for _, _, line in history["history"]] == ["1/0", "'x'"]


@pytest.mark.parametrize("store_history", [False, True])
def test_a_semicolon_hides_the_value_of_its_own_cell(any_kernel: Kernel, store_history: bool) -> None:
    assert any_kernel.run("1;", store_history=True).value is None
    assert any_kernel.run("2", store_history=store_history).value == "2"
    assert any_kernel.run("3;  # comment", store_history=store_history).value is None


def test_silent(any_kernel: Kernel) -> None:
    result = any_kernel.run("x = 1\nx", silent=True)
    assert result.reply["status"] == "ok" and not result.of("execute_result")


def test_user_expressions(any_kernel: Kernel) -> None:
    expressions = any_kernel.run("x = 2", user_expressions={"a": "x * 21", "b": "nope"}).reply["user_expressions"]
    assert expressions["a"]["data"]["text/plain"] == "42" and expressions["b"]["ename"] == "NameError"


@pytest.mark.parametrize("code", ["", "   \n", "# only a comment"])
def test_nothing_to_run(any_kernel: Kernel, code: str) -> None:
    assert any_kernel.run(code).reply["status"] == "ok"


def test_await(any_kernel: Kernel) -> None:
    code = "import asyncio\nawait asyncio.sleep(0)\nprint('a')\nawait asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2))"
    result = any_kernel.run(code)
    assert result.text() == "a\n" and result.value == "[1, 2]"


def test_background_tasks_go_on_between_cells(any_kernel: Kernel) -> None:
    any_kernel.run(
        "import asyncio\nasync def later():\n  await asyncio.sleep(0.01)\n  print('later')\n"
        "task = asyncio.create_task(later())"
    )
    any_kernel.until("later")
    assert any_kernel.run("task.done()").value == "True"


def test_threads_print_after_their_cell(any_kernel: Kernel) -> None:
    any_kernel.run(
        "import threading, time\ngo = threading.Event()\n"
        "threading.Thread(target=lambda: (go.wait(), time.sleep(0.02), print('thread'))).start()"
    )
    any_kernel.run("go.set()")
    any_kernel.until("thread")


def test_a_thread_with_a_copied_context_prints_into_the_cell_that_runs(any_kernel: Kernel) -> None:
    any_kernel.run(
        """
import contextvars, threading
go = threading.Event()
def work():
    go.wait()
    print("thread")
    display(7)
def in_a_thread():
    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,))
    thread.start()
    return thread
thread = in_a_thread()
"""
    )
    for code in ("go.set(); thread.join()", "in_a_thread().join()"):
        result = any_kernel.run(code)
        assert result.text() == "thread\n"
        assert [shown.content["data"]["text/plain"] for shown in result.of("display_data")] == ["7"]


def test_sys_exit_is_an_error(any_kernel: Kernel) -> None:
    result = any_kernel.run("import sys; x = 1; sys.exit(3)")
    assert result.error == "SystemExit" and result.reply["evalue"] == "3" and not result.text("stderr")
    assert any_kernel.run("print(x)").text() == "1\n"


@pytest.mark.parametrize("code", ["exit()", "quit()", "exit"])
def test_exit(any_kernel: Kernel, code: str) -> None:
    result = any_kernel.run(code)
    assert result.reply["status"] == "ok" and [p["source"] for p in result.reply["payload"]] == ["ask_exit"]
    assert any_kernel.wait_closed()["code"] == 0


def test_exit_while_a_thread_prints(host: Host) -> None:
    for _ in range(5):
        kernel = host.fork()
        kernel.run(CHATTER + "exit()")
        assert kernel.wait_closed()["code"] == 0


def test_exit_runs_what_was_registered(kernel: Kernel, tmp_path: object) -> None:
    kernel.run(
        f"import atexit; f = open('{tmp_path}/f', 'w'); f.write('buffered'); g = open('{tmp_path}/g', 'w')\n"
        "atexit.register(lambda: g.write('at exit'))\nexit()"
    )
    assert kernel.wait_closed()["code"] == 0
    assert (tmp_path / "f").read_text() == "buffered" and (tmp_path / "g").read_text() == "at exit"  # type: ignore[operator]


def test_display(any_kernel: Kernel) -> None:
    result = any_kernel.run(
        "h = display('one', display_id=True)\nh.update('two')\nfrom IPython.display import clear_output\n"
        "clear_output(wait=True)\nprint('after')"
    )
    assert [m.type for m in result.messages if m.type not in ("status", "execute_input")] == [
        "display_data",
        "update_display_data",
        "clear_output",
        "stream",
    ]
    first, second = result.of("display_data")[0].content, result.of("update_display_data")[0].content
    assert first["transient"] == second["transient"] and second["data"]["text/plain"] == "'two'"
    assert result.of("clear_output")[0].content == {"wait": True}


def test_output_comes_before_what_is_displayed_after_it(any_kernel: Kernel) -> None:
    result = any_kernel.run("import os\nfor i in range(3):\n  print(i)\n  os.write(1, b'fd')\n  display(i)")
    kinds = [message.type for message in result.messages if message.type in ("stream", "display_data")]
    assert "".join(kind[0] for kind in kinds).replace("ss", "s") == "sdsdsd"


@pytest.mark.parametrize("value", ["42", "2.5", "1j", "True", "'text'", "b'bytes'"])
def test_plain_values_are_shown_as_ipython_shows_them(kernel: Kernel, value: str) -> None:
    """They are formatted in a shorter way, until somebody registers something for them."""
    assert kernel.run(value).of("execute_result")[0].content["data"] == {"text/plain": value}
    ask = "get_ipython().display_formatter.formatters['text/html'].for_type(%s, lambda v: '<b>')"
    kernel.run(ask % f"type({value})")
    assert kernel.run(value).of("execute_result")[0].content["data"] == {"text/plain": value, "text/html": "<b>"}


def test_formatters_for_text(kernel: Kernel) -> None:
    kernel.run("%precision 3")
    assert kernel.run("2 / 3").value == "0.667"
    kernel.run("get_ipython().display_formatter.formatters['text/plain'].for_type(int, lambda v, p, c: p.text('int'))")
    assert kernel.run("42").value == "int"
    assert (
        kernel.run("class Number(int):\n    def _repr_html_(self): return '<i>'\nNumber()")
        .of("execute_result")[0]
        .content["data"]["text/html"]
        == "<i>"
    )


def test_pager(any_kernel: Kernel) -> None:
    payload = any_kernel.run("print?").reply["payload"]
    assert payload[0]["source"] == "page" and "Prints the values" in payload[0]["data"]["text/plain"]
    assert "\x1b" not in json.dumps(payload)


def test_set_next_input(any_kernel: Kernel, tmp_path: object) -> None:
    payload = any_kernel.run("get_ipython().set_next_input('x')").reply["payload"]
    assert payload == [{"source": "set_next_input", "text": "x", "replace": False}]


def test_failing_repr_fails_the_cell(any_kernel: Kernel) -> None:
    result = any_kernel.run("class Bad:\n  def __repr__(self): raise ValueError('no repr')\nBad()")
    assert result.reply["status"] == "error" and result.error == "ValueError" and "__repr__" in result.traceback
    assert any_kernel.run("1").value == "1"


def test_magics(any_kernel: Kernel) -> None:
    assert "loop" in any_kernel.run("%timeit -n1 -r1 pass").text()
    assert any_kernel.run("%%capture c\nprint('x')\nimport os; os.system('echo y')\ndisplay(1)").reply["status"] == "ok"
    assert any_kernel.run("c.stdout, len(c.outputs)").value == "('x\\n', 1)"
    assert any_kernel.run("%%bash\necho from bash").text() == "from bash\n"
    assert any_kernel.run("x = 1\n%store x\ndel x\n%store -r x\nprint(x)").text().endswith("1\n")


def test_requests_that_are_not_cells(any_kernel: Kernel) -> None:
    any_kernel.run("abcdef = 'text'")
    assert any_kernel.ask("complete_request", code="abcd", cursor_pos=4)["matches"] == ["abcdef"]
    inspected = any_kernel.ask("inspect_request", code="abcdef", cursor_pos=3, detail_level=0)
    assert (
        inspected["found"]
        and "str" in inspected["data"]["text/plain"]
        and "\x1b" not in inspected["data"]["text/plain"]
    )
    assert any_kernel.ask("is_complete_request", code="if x:")["status"] == "incomplete"
    assert any_kernel.ask("comm_info_request")["comms"] == {}
    info = any_kernel.ask("kernel_info_request")
    assert info["status"] == "ok" and info["language_info"]["name"] == "python" and info["implementation"] == "ipython"


def test_every_request_is_answered(any_kernel: Kernel) -> None:
    assert any_kernel.ask("complete_request")["ename"] == "KeyError"
    assert any_kernel.ask("unheard_of_request")["status"] == "error"
    assert any_kernel.ask("execute_request")["status"] == "error"
    assert any_kernel.run("1").value == "1"


def test_late_input_is_ignored(any_kernel: Kernel) -> None:
    any_kernel.send("input_reply", {"value": "late"}, channel=STDIN)
    assert any_kernel.run("1").value == "1"


def test_requests_that_wait_are_handled_in_order(kernel: Kernel) -> None:
    requests = [kernel.start(f"print({number})") for number in range(5)]
    assert [kernel.finish(request).text() for request in requests] == [f"{number}\n" for number in range(5)]


def test_what_cells_do_to_the_loop_does_no_harm(any_kernel: Kernel) -> None:
    any_kernel.run("import asyncio\nasync def stop(): asyncio.get_running_loop().stop()\nawait stop()")
    any_kernel.run("async def leave(): raise SystemExit(3)\nt = asyncio.create_task(leave())")
    assert any_kernel.run("print('alive')").text() == "alive\n"


def test_closing_stdout_does_no_harm(any_kernel: Kernel) -> None:
    any_kernel.run("import sys; print('a'); sys.stdout.close(); sys.stderr.close()")
    assert any_kernel.run("print('b')").text() == "b\n"


def test_nothing_of_ours_is_in_the_namespace(any_kernel: Kernel) -> None:
    stock = "from IPython.core.interactiveshell import InteractiveShell as S\ns = S.instance()\n"
    show = "print(sorted(get_ipython().user_ns), sorted(get_ipython().user_ns_hidden))"
    names = subprocess.run([PYTHON, "-c", f"{stock}s.run_cell({show!r})"], capture_output=True, text=True).stdout
    assert any_kernel.run(show).text() == names
    assert any_kernel.run("%who").text() == "Interactive namespace is empty.\n"
    assert (
        any_kernel.run("import sys; print([n for n in vars(sys) if n.startswith('last_')], Out, In)").text()
        == "[] {} ['']\n"
    )


def test_main_module(kernel: Kernel) -> None:
    assert (
        kernel.run("import __main__; x = 1; print(__main__.x, __name__, __main__.__dict__ is globals())").text()
        == "1 __main__ True\n"
    )


def test_the_loop_can_be_left_between_two_cells(kernel: Kernel) -> None:
    assert (
        kernel.run("import inspect; print([f.function for f in inspect.stack() if f.function == 'serve'])").text()
        == "['serve']\n"
    )
