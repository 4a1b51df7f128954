"""Values as JSON: what `ipybox_kernel.values` makes of them."""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import pytest
from ipybox_kernel import values

import harness
from harness import Kernel


def text(value: object) -> str:
    return values.answer(value).text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "=null"),
        (True, "=true"),
        (-1, "=-1"),
        (10**30, "=1000000000000000000000000000000"),
        (0.1, "=0.1"),
        ("ä€😀\u2028\n", '="ä€😀\u2028\\n"'),
        ({"z": 1, "a": [1, (2,)]}, '={"z":1,"a":[1,[2]]}'),
        (OrderedDict(b=1, a=2), '={"b":1,"a":2}'),
        ({1: "int", None: "none", False: "bool"}, '={"1":"int","null":"none","false":"bool"}'),
    ],
)
def test_values(value: object, expected: str) -> None:
    assert text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({1}, "!not JSON: a value of type set"),
        ([b"x"], "!not JSON: a value of type bytes"),
        (2j, "!not JSON: a value of type complex"),
        ("\ud800", "!not JSON: a text that is not Unicode"),
        ({(1, 2): 3}, "!not JSON: keys must be str, int, float, bool or None, not tuple"),
    ],
)
def test_reasons(value: object, expected: str) -> None:
    assert text(value) == expected


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite(number: float) -> None:
    assert text([number]).startswith("!not JSON: Out of range float values are not JSON compliant")


def test_what_holds_itself_and_what_is_deep() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert text(circle) == "!not JSON: Circular reference detected"
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert text(deep) == "!not JSON: it is nested too deeply"
    while deep:  # without recursion
        deep = deep[0]


def test_the_bound() -> None:
    longest = values.LONGEST
    assert len(text("x" * (longest - 2))) == longest + 1
    for beyond in ("x" * (longest - 1), "ä" * (longest // 2), ["x"] * longest, "x" * (longest + 1)):
        assert text(beyond) == "!larger than 1 MiB as JSON"
    endless = Endless()
    assert text(endless) == "!larger than 1 MiB as JSON"
    assert endless.asked < values.LONGEST


class Endless(list):  # type: ignore[type-arg]
    """A list that has no end."""

    asked = 0

    def __iter__(self) -> Any:
        while True:
            self.asked += 1
            yield "x"

    def __bool__(self) -> bool:
        return True


class Loud:
    def __repr__(self) -> str:
        raise AssertionError("asked for its repr")

    __str__ = __repr__


class Raises(dict):  # type: ignore[type-arg]
    def __init__(self, error: BaseException) -> None:
        super().__init__(a=1)
        self.error = error

    def items(self) -> Any:
        raise self.error


def test_code_of_others() -> None:
    assert text(Loud()) == "!not JSON: a value of type Loud"
    assert text([Loud]) == "!not JSON: a value of type type"
    assert text(Raises(OSError("secret"))) == "!not JSON: OSError was raised"
    assert text(Raises(ValueError(Loud()))) == "!not JSON: ValueError was raised"
    assert text(Raises(type("Mine", (ValueError,), {"__str__": Loud.__repr__})("x"))) == "!not JSON: Mine was raised"
    with pytest.raises(KeyboardInterrupt):
        text(Raises(KeyboardInterrupt()))


def test_a_name_that_is_long() -> None:
    assert len(text(type("x" * 1000, (), {})())) < 200


def test_scalars_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    assert (
        text([numpy.int64(2**40), numpy.float32(0.5), numpy.bool_(True), numpy.float64(1.5)])
        == "=[1099511627776,0.5,true,1.5]"
    )
    assert text(numpy.float32("nan")).startswith("!not JSON: Out of range")
    for other in (numpy.zeros(3), numpy.datetime64("2020-01-01"), numpy.timedelta64(1, "ns"), numpy.complex64(1)):
        assert text(other) == f"!not JSON: a value of type {type(other).__name__}"


def test_without_a_shell_that_has_run_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = SimpleNamespace(last_execution_result=None)
    monkeypatch.setattr(values, "get_ipython", lambda: shell)
    assert values.last().text.startswith("!the code does not end with an expression")
    shell.last_execution_result = SimpleNamespace(result=[1])
    assert values.last().text == "=[1]"


def test_is_shown_as_it_is() -> None:
    from IPython.core.formatters import DisplayFormatter

    formatter = DisplayFormatter()
    for pretty in (True, False):
        formatter.formatters["text/plain"].pprint = pretty
        for value in ("a\u2028b\x85c", ["x" * 200] * 5000):
            shown, _ = formatter.format(values.answer(value))
            assert shown == {"text/plain": "=" + json.dumps(value, ensure_ascii=False, separators=(",", ":"))}


def test_needs_the_standard_library_alone() -> None:
    assert "ipybox_kernel" not in values.__dict__
    assert {name for name in ("json", "sys") if values.__dict__.get(name) is sys.modules[name]} == {"json", "sys"}


def ask(kernel: Kernel, call: str, code: str = "", **options: Any) -> dict[str, Any]:
    """What the host asks for: include/ipybox/session/impl/value_request.ipp."""
    source = (harness.PACKAGE / "values.py").read_text()
    module = (
        "(lambda m, n, s, i: m.get(n) or [m.setdefault(n, v) for v in [i('sys').__class__(n)] "
        "if not i('builtins').exec(s, v.__dict__)][0])"
        f"(__import__('sys').modules, '_ipybox_values', {source!r}, __import__)"
    )
    result = kernel.run(code, user_expressions={"v": f"{module}.{call}"}, **options)
    assert result.reply["status"] == "ok", result.reply
    told: dict[str, Any] = result.reply["user_expressions"]["v"]
    return told


def test_in_a_kernel(any_kernel: Kernel) -> None:
    def last(code: str) -> str:
        return str(ask(any_kernel, "last()", code)["data"]["text/plain"])

    assert last("[1, 'x']") == '=[1,"x"]'
    assert last("x = 2").startswith("!the code does not end")
    assert last("await __import__('asyncio').sleep(0, 3)") == "=3"
    assert ask(any_kernel, "get('x')", silent=True)["data"]["text/plain"] == "=2"
    assert ask(any_kernel, "get('y')", silent=True)["ename"] == "NameError"
    assert ask(any_kernel, "put('y', '{\"a\": 1}')", silent=True)["data"]["text/plain"] == "=null"
    assert any_kernel.run("y").value == "{'a': 1}"


def test_silent_requests_are_no_cells(kernel: Kernel) -> None:
    assert "Cell In[1]" in kernel.run("1/0").traceback
    ask(kernel, "put('x', '1')", silent=True)
    assert "Cell In[2]" in kernel.run("1/0").traceback
