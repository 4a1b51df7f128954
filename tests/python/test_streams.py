"""Output: complete, in order, soon, bounded."""

from __future__ import annotations

import os
import random
import select
import time

import pytest

from harness import Host, Kernel, Message

MIB = 1 << 20


def texts(messages: list[Message]) -> list[tuple[str, str]]:
    """The order of the streams, neighbours joined."""
    joined: list[tuple[str, str]] = []
    for message in messages:
        if message.type != "stream":
            continue
        name, text = message.content["name"], message.content["text"]
        if joined and joined[-1][0] == name:
            text = joined.pop()[1] + text
        joined.append((name, text))
    return joined


def test_stdout_and_stderr_keep_their_order(kernel: Kernel) -> None:
    result = kernel.run("import sys\nfor i in range(3):\n  print('o', i)\n  print('e', i, file=sys.stderr)")
    assert texts(result.messages) == [(n, f"{n[3]} {i}\n") for i in range(3) for n in ("stdout", "stderr")]


def test_descriptor_level_output_keeps_its_order(kernel: Kernel) -> None:
    """Exactly when Python's own output is flushed, else as far as a millisecond can tell."""
    code = """
        import os, ctypes, subprocess
        print('a', flush=True)
        os.write(1, b'b ')
        print('c', flush=True)
        os.system('echo d')
        print('e', flush=True)
        subprocess.run(['echo', 'f'])
        print('g', flush=True)
        ctypes.CDLL(None).puts(b'h')
    """
    assert kernel.run(code).text().split() == list("abcdefgh")


def test_descriptor_level_stderr(kernel: Kernel) -> None:
    result = kernel.run("import os, faulthandler\nos.write(2, b'x ')\nfaulthandler.dump_traceback()")
    assert result.text("stderr").startswith("x ") and "File" in result.text("stderr") and not result.text()


def test_ten_megabytes_through_a_descriptor(kernel: Kernel) -> None:
    result = kernel.run("import os\nfor _ in range(10): os.write(1, b'x' * 1_000_000)")
    assert result.text() == "x" * 10_000_000


def test_characters_are_never_split(kernel: Kernel) -> None:
    text = "a\xe9\u20ac\U0001f600"
    code = f"""
        text = {text!a}
        print(text * 700_000, end='')
        import os
        for byte in text.encode(): os.write(1, bytes([byte]))
    """
    result = kernel.run(code)
    assert result.text() == text * 700_001
    assert all(len(message.content["text"].encode()) <= MIB for message in result.of("stream"))
    assert len(result.of("stream")) >= 7


@pytest.mark.parametrize(
    "code, text",
    [
        ("import os; os.write(1, b'a\\xff\\xfeb')", "a\ufffd\ufffdb"),
        ("import sys; o = sys.stdout.buffer; o.write(b'a\\xffb\\xc3'); o.write(b'\\xa9')", "a\ufffdb\xe9"),
        ("print(chr(0xdc80))", r"\udc80" + "\n"),
    ],
)
def test_what_is_not_utf8(kernel: Kernel, code: str, text: str) -> None:
    assert kernel.run(code + ";").text() == text


def test_lone_surrogates_everywhere(kernel: Kernel) -> None:
    assert kernel.run("raise ValueError(chr(0xd800))").reply["evalue"] == "?"
    result = kernel.run("display({'text/plain': chr(0xd800) * 5000}, raw=True)")
    assert result.of("display_data")[0].content["data"] == {"text/plain": "?" * 5000}


def test_buffer_and_text_mix(kernel: Kernel) -> None:
    code = "import sys\nprint('a')\nsys.stdout.buffer.write(b'b ')\nprint('c')"
    assert kernel.run(code).text() == "a\nb c\n"


def test_stream_objects_look_like_streams(kernel: Kernel) -> None:
    code = """
        import sys
        o = sys.stdout
        print(o.encoding, o.isatty(), o.fileno(), sys.stderr.fileno(), o.name, o.writable(), o is sys.__stdout__)
    """
    assert kernel.run(code).text() == "utf-8 False 1 2 <stdout> True True\n"


def test_redirected_output_is_not_ours(kernel: Kernel) -> None:
    code = """
        import contextlib, io
        with contextlib.redirect_stdout(io.StringIO()) as s: print('inside', end='')
        print('outside', s.getvalue())
    """
    assert kernel.run(code).text() == "outside inside\n"


def test_one_hundred_megabytes(kernel: Kernel) -> None:
    result = kernel.run("print('x' * 100_000_000)")
    assert sum(len(message.content["text"]) for message in result.of("stream")) == 100_000_001
    assert max(kernel.sizes) < MIB + 4096


def test_one_hundred_thousand_prints(kernel: Kernel) -> None:
    result = kernel.run("for i in range(100_000): print('line', i)")
    assert result.text() == "".join(f"line {number}\n" for number in range(100_000))


def test_threads_lose_nothing(kernel: Kernel) -> None:
    code = """
        import threading
        def work(n):
            for i in range(5000): print(f'{n}-{i} ', end='')
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
    """
    words = kernel.run(code).text().split()
    assert sorted(words) == sorted(f"{n}-{i}" for n in range(4) for i in range(5000))
    for n in range(4):
        assert [word for word in words if word.startswith(f"{n}-")] == [f"{n}-{i}" for i in range(5000)]


@pytest.mark.parametrize(
    "code", ["print('x')", "import sys; print('x', file=sys.stderr)", "import os; os.write(1, b'x')"]
)
def test_first_output_comes_at_once(kernel: Kernel, code: str) -> None:
    request = kernel.start(f"import time\n{code}\ntime.sleep(1000)")
    started = time.monotonic()
    kernel.receive()
    assert time.monotonic() - started < 20
    kernel.interrupt()
    kernel.finish(request)


def test_output_during_a_busy_loop(kernel: Kernel) -> None:
    request = kernel.start("print('x')\nwhile True: pass")
    kernel.until("x")
    kernel.interrupt()
    assert kernel.finish(request).error == "KeyboardInterrupt"


def test_a_host_that_does_not_read_stops_the_writer(kernel: Kernel) -> None:
    def resident() -> int:
        with open(f"/proc/{kernel.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = resident()
    request = kernel.start("for i in range(1000): print('x' * 100_000)")
    select.select([kernel.stream], [], [], 5)
    for _ in range(20):
        select.select([], [], [], 0.01)
        assert resident() < before + 30 * MIB
    assert sum(len(m.content["text"]) for m in kernel.finish(request).of("stream")) == 100_001_000


def test_big_cell(kernel: Kernel) -> None:
    assert kernel.run("x = '" + "a" * 10_000_000 + "'\nlen(x)").value == "10000000"


def test_code_may_come_as_a_raw_value(kernel: Kernel) -> None:
    request = kernel.send(
        "execute_request",
        {"code": "", "silent": False},
        buffers=[b"print('raw \xc3\xa9')"],
        metadata={"raw": [[["code"], 0, "text"]]},
    )
    assert kernel.finish(request).text() == "raw \xe9\n"


def test_short_text_travels_as_json_and_long_text_raw(kernel: Kernel) -> None:
    short, long = kernel.run("print('x' * 511)"), kernel.run("print('x' * 512)")
    assert not short.of("stream")[0].raw and long.of("stream")[0].raw == [[["text"], 0, "text"]]


@pytest.mark.parametrize(
    "code",
    [
        "display({'image/png': data, 'text/plain': 'x' * 5000}, raw=True)",
        "class P:\n  def _repr_png_(self): return data\nP()",
    ],
)
def test_image_bytes_travel_as_they_are(kernel: Kernel, code: str) -> None:
    data = random.Random(1).randbytes(100_000)
    kernel.run("import random\ndata = random.Random(1).randbytes(100_000)")
    message = next(m for m in kernel.run(code).messages if m.type in ("display_data", "execute_result"))
    assert [["data", "image/png"], 0, "base64"] in message.raw and message.buffers[0] == data
    assert len(message.content["data"]["image/png"]) > 130_000


def test_image_that_ipython_encoded_travels_as_text(kernel: Kernel) -> None:
    code = "from IPython.display import Image\nImage(data=b'\\x89PNG\\r\\n\\x1a\\n' + bytes(10_000))"
    assert kernel.run(code).of("execute_result")[0].raw == [[["data", "image/png"], 0, "text"]]


def test_fifty_megabyte_image(kernel: Kernel) -> None:
    result = kernel.run("display({'image/png': b'x' * 50_000_000}, raw=True)")
    assert result.of("display_data")[0].buffers == [b"x" * 50_000_000]


def test_too_large_a_message_is_an_error(kernel: Kernel) -> None:
    result = kernel.run("display({'image/png': bytes(257 << 20)}, raw=True)")
    assert result.error == "ValueError" and "too large" in result.reply["evalue"]
    assert kernel.run("1").value == "1"


@pytest.mark.parametrize(("values", "error"), [(999_980, ""), (1_000_001, "ValueError")])
def test_a_display_has_so_many_values_and_no_more(kernel: Kernel, values: int, error: str) -> None:
    # as short as it can be: longer JSON has fewer values within the bound of its bytes
    result = kernel.run(f"display({{'application/json': [0] * {values}}}, raw=True)")
    assert result.error == error
    assert not error or "display less" in result.reply["evalue"]
    assert kernel.run("1").value == "1"


def test_an_error_that_is_too_long_has_its_middle_left_out(kernel: Kernel) -> None:
    error = kernel.run("raise ValueError('a' + 'x' * (17 << 20) + 'z')").of("error")[0].content
    assert error["ename"] == "ValueError" and "characters left out" in error["evalue"]
    assert error["evalue"][0] == "a" and error["evalue"][-1] == "z"
    assert kernel.run("1").value == "1"


def test_a_comm_message_that_is_too_long_is_sent_without_its_content(kernel: Kernel) -> None:
    result = kernel.run(
        "from comm import create_comm\nc = create_comm(target_name='t', data={'x': ['y' * 1000] * 17_000})"
    )
    assert (result.error, result.of("comm_open")[0].content) == ("", {})


def test_json_that_is_not_json(kernel: Kernel) -> None:
    result = kernel.run("display({'application/json': {'a': float('nan'), 'b': b'x', 'c': (1,)}}, raw=True)")
    assert result.of("display_data")[0].content["data"]["application/json"] == {"a": "nan", "b": "eA==", "c": [1]}


def test_idle_processes_sleep(host: Host, kernel: Kernel) -> None:
    kernel.run("print(1)")

    def switches() -> list[str]:
        found = []
        for pid in (kernel.pid, host.supervisor):
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/status") as file:
                    found += [line for line in file if "ctxt_switches" in line]
        return found

    select.select([], [], [], 0.1)  # the flush after the last print
    before = switches()
    select.select([], [], [], 0.6)
    assert switches() == before


def test_threads_and_descriptors_do_not_grow(kernel: Kernel) -> None:
    def count() -> tuple[int, int]:
        return len(os.listdir(f"/proc/{kernel.pid}/task")), len(os.listdir(f"/proc/{kernel.pid}/fd"))

    cells = [
        "print(1)",
        "1/0",
        "await __import__('asyncio').sleep(0)",
        "!true",
        "x = !true",
        "import os; os.system('x')",
    ]
    for code in cells:
        kernel.run(code)
    before = count()
    assert before[0] == 2
    for code in cells * 5:
        kernel.run(code)
    assert count() == before


def test_a_stream_cannot_be_taken_apart(kernel: Kernel) -> None:
    code = """
        import io, sys
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.detach()
            except io.UnsupportedOperation as error:
                print(error)
    """
    assert kernel.run(code).text() == "detach\ndetach\n"
    assert kernel.run("print('goes on')").text() == "goes on\n"


def test_a_stream_stays_utf_8(kernel: Kernel) -> None:
    assert kernel.run("import sys\nsys.stdout.reconfigure(encoding='latin-1')\nprint('ä€')").text() == "ä€\n"
    assert kernel.run("sys.stdout.reconfigure(errors='replace')\nprint('\\ud800')").text() == "?\n"


def test_a_cell_after_the_loss_of_sys_stdout_gets_it_back(kernel: Kernel) -> None:
    is_old = kernel.run("import IPython; IPython.version_info[0] < 9").value == "True"
    kernel.run("import sys\nkept = sys.stdout\ndel sys.stdout")
    result = kernel.run("1")
    if is_old:  # it fails to show the value while code runs
        assert result.error == "AttributeError"
        return
    assert result.value == "1" and "has put it back: sys.stdout\n" in result.text()
    assert kernel.run("sys.stdout is kept").value == "True"


def test_text_is_kept_where_another_thread_sends_in_the_midst_of_a_write(kernel: Kernel) -> None:
    """Before Python 3.11 threads may take turns within a function that calls none."""
    code = """
        import sys, threading
        sys.setswitchinterval(1e-6)
        over = False
        def send():
            while not over: sys.stdout.flush()
        threads = [threading.Thread(target=send) for _ in range(2)]
        for thread in threads: thread.start()
        for i in range(20_000): print('line', i)
        over = True
        for thread in threads: thread.join()
        sys.setswitchinterval(0.005)
    """
    assert kernel.run(code, timeout=120).text() == "".join(f"line {number}\n" for number in range(20_000))


@pytest.mark.parametrize("errors", ["surrogateescape", "surrogatepass"])
@pytest.mark.parametrize("size", [1, 200_000])
def test_bytes_that_surrogates_stand_for_lose_no_text(kernel: Kernel, errors: str, size: int) -> None:
    code = f"import sys\nsys.stdout.reconfigure(errors={errors!r})\nprint('before')\nprint('a\\udcff' * {size})\nprint('behind')"
    result = kernel.run(code)
    assert not result.error
    first, text, last = result.text().splitlines()
    assert (first, last) == ("before", "behind")
    assert text.count("a") == size
    assert set(text) == {"a", "\ufffd"}


def test_a_string_that_counts_otherwise_is_printed_as_it_is(kernel: Kernel) -> None:
    code = """
        import sys
        class Visible(str):
            def __len__(self): return 1
            def __getitem__(self, at): return "other"
        for size in 10, 700_000:
            print(sys.stdout.write(Visible("A" * size)))
    """
    assert kernel.run(code).text() == "A" * 10 + "10\n" + "A" * 700_000 + "700000\n"


@pytest.mark.parametrize("character", ["a", "ä", "€", "😀", "\udc80"])
def test_texts_around_the_bounds(kernel: Kernel, character: str) -> None:
    bounds = (32 << 10, 128 << 10, 256 << 10, MIB)
    sizes = [bound + more for bound in bounds for more in (-1, 0, 1)]
    result = kernel.run(f"for size in {sizes}: print({character!a} * size)")
    shown = character.encode("utf-8", "backslashreplace").decode()
    assert [len(line) for line in result.text().splitlines()] == [size * len(shown) for size in sizes]
    assert set(result.text()) == {*shown, "\n"}


def test_handlers_of_signals_print_between_messages(kernel: Kernel) -> None:
    """In the midst of one, what they send would be a part of it."""
    code = """
        import signal, sys
        def handler(*_):
            sys.stdout.write("[H]\\n")
            sys.stderr.write("e\\n")
        before = signal.signal(signal.SIGALRM, handler)
        assert before == signal.SIG_DFL and signal.getsignal(signal.SIGALRM) is handler
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        for number in range(1500): sys.stdout.write("<%d:%s>\\n" % (number, "€" * (number * 977 % 9000)))
        signal.setitimer(signal.ITIMER_REAL, 0)
    """
    result = kernel.run(code)
    assert not result.error
    lines = result.text().splitlines()
    assert [line for line in lines if line != "[H]"] == [f"<{n}:{'€' * (n * 977 % 9000)}>" for n in range(1500)]
    assert set(result.text("stderr").splitlines()) == {"e"}
    assert lines.count("[H]") == result.text("stderr").count("e")


def test_a_handler_that_raises_leaves_no_part_of_a_message(kernel: Kernel) -> None:
    code = """
        import signal
        class Late(Exception): pass
        def handler(*_): raise Late
        signal.signal(signal.SIGALRM, handler)
        late = 0
        for _ in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.003)
                while True: print("x" * 300_000)
            except Late: late += 1
        print()
        print("late:", late)
    """
    result = kernel.run(code)
    assert not result.error
    assert result.text().splitlines()[-1] == "late: 60"
    assert set(result.text()) <= set("x\nlate: 60")
    assert kernel.run("print(6 * 7)").text() == "42\n"
