"""How a kernel ends that is asked to, or that leaves by itself."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from harness import CHATTER, CONTROL, STDIN, Closed, Host, Kernel


def shut_down(kernel: Kernel) -> tuple[dict[str, Any], str]:
    """Asks a kernel to end; returns its exit event and what it printed until then."""
    kernel.send("shutdown_request", {"restart": False}, channel=CONTROL)
    printed = ""
    try:
        while True:
            printed += kernel.receive().content.get("text", "")
    except Closed:
        return kernel.wait_closed(), printed


WAYS = {
    "a text file": "f = open('x', 'w'); _ = f.write('data')",
    "a binary file": "f = open('x', 'wb'); _ = f.write(b'data')",
    "a file in a cycle": "class C: pass\nc = C(); c.me = c; c.f = open('x', 'w'); _ = c.f.write('data'); del c",
    "a file that a thread holds": (
        "import threading\nready = threading.Event()\n"
        "def hold(f):\n    f.write('data'); ready.set(); threading.Event().wait()\n"
        "threading.Thread(target=hold, args=(open('x', 'w'),), daemon=True).start(); _ = ready.wait()"
    ),
    "atexit": "import atexit; _ = atexit.register(lambda: open('x', 'w').write('data'))",
    "a finalizer": (
        "import weakref\nclass C: pass\nc = C(); _ = weakref.finalize(c, lambda: open('x', 'w').write('data'))"
    ),
    "__del__": "class C:\n    def __del__(self, open=open): open('x', 'w').write('data')\nc = C()",
    "logging": (
        "import logging, logging.handlers\nh = logging.handlers.MemoryHandler(99, target=logging.FileHandler('x'))\n"
        "l = logging.getLogger('l'); l.addHandler(h); l.propagate = False; l.warning('data')"
    ),
    "an archive": ("import zipfile\nz = zipfile.ZipFile('z', 'w'); z.writestr('member', 'data')\nimport atexit\n"),
    "a thread": (
        "import threading, time\ndef late():\n    time.sleep(0.2); open('x', 'w').write('data')\n"
        "threading.Thread(target=late).start()"
    ),
    "a pool": (
        "import time\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "_ = ThreadPoolExecutor(1).submit(lambda: (time.sleep(0.2), open('x', 'w').write('data')))"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_unfinished_is_finished(any_kernel: Kernel, way: str, tmp_path: Path) -> None:
    any_kernel.run(f"import os; os.chdir({str(tmp_path)!r})")
    assert any_kernel.run(WAYS[way]).error == ""
    event, printed = shut_down(any_kernel)
    assert (event["code"], event["signal"], printed) == (0, None, "")
    if way == "an archive":
        with zipfile.ZipFile(tmp_path / "z") as archive:
            assert archive.read("member") == b"data"
    else:
        assert (tmp_path / "x").read_text().strip() == "data"


def test_what_is_printed_at_the_end_arrives(any_kernel: Kernel) -> None:
    any_kernel.run(
        "import atexit, sys, threading, time, os\n"
        "atexit.register(print, 'at exit')\natexit.register(lambda: 1 / 0)\n"
        "def late():\n    time.sleep(0.1); print('from a thread'); os.write(1, b'past Python\\n')\n"
        "threading.Thread(target=late).start()"
    )
    event, printed = shut_down(any_kernel)
    assert event["code"] == 0
    assert printed.startswith("from a thread\npast Python\n") and printed.endswith("at exit\n")
    assert "ZeroDivisionError" in printed


def test_a_thread_that_prints_without_end(host: Host) -> None:
    for _ in range(5):
        kernel = host.fork()
        kernel.run(CHATTER)
        assert shut_down(kernel)[0]["code"] == 0


def test_objects_are_visited_only_if_something_is_open_for_writing(any_kernel: Kernel, host: Host) -> None:
    """With many imported modules the visit takes longer than the rest of the end."""
    visits = "import sys, os; sys.modules['ipybox_kernel.shutdown'].gc.get_objects = lambda leave=os._exit: leave(9)"
    any_kernel.run(f"{visits}; f = open('/dev/null'); print('x'); import asyncio; asyncio.new_event_loop().close()")
    assert shut_down(any_kernel)[0]["code"] == 0
    for opening in ("os.open('/dev/null', os.O_WRONLY)", "os.pipe()", "os.dup(1)"):
        kernel = host.fork()
        kernel.run(f"{visits}; {opening}")
        assert shut_down(kernel)[0]["code"] == 9


def test_a_file_that_cannot_be_written_keeps_no_other(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run(
        "full = open('/dev/full', 'w'); full.write('x')\n"
        "class Bad:\n    def __del__(self): raise RuntimeError\nbad = Bad()\n"
        f"f = open('{tmp_path}/x', 'w'); f.write('data')"
    )
    assert shut_down(kernel)[0]["code"] == 0
    assert (tmp_path / "x").read_text() == "data"


@pytest.mark.parametrize(
    ("call", "code"),
    [("exit()", 0), ("quit(None)", 0), ("exit(3)", 3), ("exit(259)", 3), ("exit(False)", 0), ("exit('text')", 1)],
)
def test_exit_ends_the_cell_with_a_code(any_kernel: Kernel, call: str, code: int) -> None:
    result = any_kernel.run(f"print('before')\n{call}\nprint('behind')")
    assert result.reply["status"] == "ok" and result.reply["exit_code"] == code
    assert result.text() == "before\n" and result.text("stderr") == ("text\n" if "text" in call else "")
    assert any_kernel.wait_closed()["code"] == code


def test_exit_that_keeps_the_kernel(any_kernel: Kernel) -> None:
    for call in ("exit(True)", "exit(keep_kernel=True)"):
        result = any_kernel.run(f"{call}\nprint('behind')")
        assert result.text() == "behind\n" and "exit_code" not in result.reply


@pytest.mark.parametrize(
    ("argument", "code"), [("", 0), ("None", 0), ("0", 0), ("3", 3), ("-1", 255), ("'3'", 1), ("[1]", 1)]
)
def test_sys_exit_tells_its_code(any_kernel: Kernel, argument: str, code: int) -> None:
    result = any_kernel.run(f"import sys; sys.exit({argument})")
    assert result.error == "SystemExit" and result.reply["exit_code"] == code
    assert "exit_code" not in any_kernel.run("1 / 0").reply


def test_breakpoint_stops_in_the_cell(any_kernel: Kernel) -> None:
    request = any_kernel.start("x = 1\nbreakpoint()", allow_stdin=True)
    shown = ""
    while (message := any_kernel.receive()).type != "input_request":
        shown += message.content.get("text", "")
    assert "<module>" in shown and "displayhook" not in shown
    any_kernel.send("input_reply", {"value": "c"}, STDIN, parent=message.header)
    assert any_kernel.finish(request).error == ""
