"""The events of --json, each against its schema."""

from __future__ import annotations

from typing import Any

from program import ONE_PIXEL, Program

TEXT_OR_NONE = (str, type(None))
SCHEMA: dict[str, dict[str, Any]] = {
    "chunk": {"event": str, "cell": int, "stream": str, "text": str},
    "display": {
        "event": str,
        "cell": int,
        "kind": str,
        "data": dict,
        "metadata": dict,
        "display_id": TEXT_OR_NONE,
        "image": TEXT_OR_NONE,
        "spill_file": TEXT_OR_NONE,
    },
    "approval": {
        "event": str,
        "cell": int,
        "id": int,
        "kind": str,
        "server": str,
        "tool": str,
        "arguments": (dict, type(None)),
        "argv": list,
        "cwd": str,
        "env_difference": dict,
        "stdin": str,
        "code": str,
    },
    "clear": {"event": str, "cell": int},
    "result": {
        "event": str,
        "cell": int,
        "status": str,
        "exit_code": (int, type(None)),
        "text": str,
        "images": list,
        "seconds": float,
        "error": (dict, type(None)),
        "kernel_restarted": bool,
        "spill_file": TEXT_OR_NONE,
    },
}
ERROR = {"ename": str, "evalue": str, "traceback": list}


def check(value: dict[str, Any], schema: dict[str, Any]) -> None:
    assert list(value) == list(schema)
    for name, kind in schema.items():
        assert isinstance(value[name], kind), (name, value[name])


def events_of(program: Program, *arguments: str) -> list[dict[str, Any]]:
    events = program.run(*arguments, "--json").events
    for event in events:
        check(event, SCHEMA[event["event"]])
        if event["event"] == "result" and event["error"] is not None:
            check(event["error"], ERROR)
    return events


def test_text_and_result(any_sandbox: Program) -> None:
    events = events_of(any_sandbox, "-c", "import sys\nprint('a')\nprint('b', file=sys.stderr)\n1 + 1")
    chunks = [(e["stream"], e["text"]) for e in events if e["event"] == "chunk"]
    assert chunks == [("stdout", "a\n"), ("stderr", "b\n")]
    assert events[-2]["kind"] == "execute_result"
    assert events[-2]["data"] == {"text/plain": "2"}
    result = events[-1]
    assert (result["cell"], result["status"], result["error"], result["images"]) == (0, "ok", None, [])
    assert result["text"] == "a\nb\n2"
    assert 0 < result["seconds"] < 5


def test_displays(program: Program) -> None:
    events = events_of(program, "-c", "h = display('one', display_id='x', metadata={'m': 1})\nh.update('two')")
    first, second = (e for e in events if e["event"] == "display")
    assert (first["kind"], first["display_id"], first["metadata"]) == ("display_data", "x", {"m": 1})
    assert (second["kind"], second["display_id"]) == ("update_display_data", "x")
    assert second["data"] == {"text/plain": "'two'"}


def test_pictures(program: Program) -> None:
    events = events_of(program, "-c", ONE_PIXEL)
    shown = next(e for e in events if e["event"] == "display")
    assert shown["data"]["image/png"].startswith("iVBORw0KGgo")
    assert events[-1]["images"] == [shown["image"]]


def test_clear(program: Program) -> None:
    code = "from IPython.display import clear_output\nprint(1)\nclear_output()\nprint(2)"
    events = events_of(program, "-c", code)
    assert [e["event"] for e in events] == ["chunk", "clear", "chunk", "result"]
    assert events[-1]["text"] == "2"


def test_exception(program: Program) -> None:
    events = events_of(program, "-c", "print('before')\nraise ValueError('bad')")
    result = events[-1]
    assert (result["status"], result["text"]) == ("error", "before")
    assert (result["error"]["ename"], result["error"]["evalue"]) == ("ValueError", "bad")
    assert "ValueError: bad" in "\n".join(result["error"]["traceback"])


def test_timeout(program: Program) -> None:
    result = events_of(program, "-c", "print(1)\nimport time\ntime.sleep(60)", "--timeout", "0.3")[-1]
    assert (result["status"], result["text"]) == ("timeout", "1")
    assert result["error"]["ename"] == "TimeoutError"
    assert "----> 3 time.sleep(60)" in "\n".join(result["error"]["traceback"])
    assert 0.25 < result["seconds"] < 5


def test_death_and_restart(program: Program) -> None:
    file = program.write("a.py", "print(1)\nimport os\nos._exit(7)\n# %%\nprint(2)")
    results = [e for e in events_of(program, file, "--keep-going") if e["event"] == "result"]
    assert (results[0]["status"], results[0]["error"]["ename"]) == ("kernel_died", "KernelDied")
    assert "7" in results[0]["error"]["evalue"]
    assert (results[1]["status"], results[1]["text"], results[1]["kernel_restarted"]) == ("ok", "2", True)


def test_text_that_is_not_utf8_does_no_harm(program: Program) -> None:
    code = r"import os, sys; os.write(1, b'a\xffz\n'); print('\N{GRINNING FACE}'); sys.stdout.write('\udcff\n')"
    events = events_of(program, "-c", code)
    text = "".join(e["text"] for e in events if e["event"] == "chunk")
    assert "\N{GRINNING FACE}" in text
    assert events[-1]["event"] == "result"


def test_display_that_is_not_utf8_does_no_harm(program: Program) -> None:
    events = events_of(program, "-c", r"display({'text/plain': '\udcff', 'text/html': 'fine'}, raw=True)")
    assert events[-1]["event"] == "result"


def test_times_stay_on_standard_error(program: Program) -> None:
    ended = program.run("-c", "1", "--json", "--times")
    assert ended.err.startswith("[1] ")
    assert len(ended.events) == 2


def test_cells_are_counted_from_0(program: Program) -> None:
    events = events_of(program, program.write("a.py", "print(0)\n# %%\nprint(1)"))
    assert [(e["event"], e["cell"]) for e in events] == [("chunk", 0), ("result", 0), ("chunk", 1), ("result", 1)]


def test_approval_comes_before_what_it_leads_to(program: Program) -> None:
    for kind in ("shell", "shell_magic"):
        code = "%%bash\necho hi" if kind == "shell_magic" else "!echo hi"
        events = events_of(program, "--approve-shell-cmds", "--yes", "-c", code)
        assert [event["event"] for event in events] == ["approval", "chunk", "result"]
        assert events[0]["kind"] == kind
