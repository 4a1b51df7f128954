"""Results can be awaited, as those of asynchronous functions: a tool that has run is not run again for it."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from packages import Packages

ITEM = {"type": "object", "properties": {"n": {"type": "integer"}, "close": {"type": "number"}, "get": {}}}
#: By the kind of the result: the schema, and what the server answers.
KINDS: dict[str, tuple[Any, Any]] = {
    "text": (None, "some text"),
    "empty": (None, ""),
    "object": (ITEM, {"n": 1, "close": 2.5}),
    "record": (ITEM, {"n": "one", "close": 2.5}),
    "map": ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}),
    "list": ({"type": "array", "items": {"type": "integer"}}, [1, 2]),
    "objects": ({"type": "array", "items": ITEM}, [{"n": 1}]),
    "string": ({"type": "string"}, "x"),
    "integer": ({"type": "integer"}, 7),
    "number": ({"type": "number"}, 2.5),
}

WAYS: dict[str, Callable[[Callable[[], Any]], Awaitable[Any]]] = {}


def way(function: Callable[[Callable[[], Any]], Awaitable[Any]]) -> Callable[[Callable[[], Any]], Awaitable[Any]]:
    WAYS[function.__name__] = function
    return function


@way
async def awaited(run: Callable[[], Any]) -> Any:
    return await run()


@way
async def gathered(run: Callable[[], Any]) -> Any:
    one, two = await asyncio.gather(run(), asyncio.sleep(0, "other"))
    assert two == "other"
    return one


@way
async def waited_for(run: Callable[[], Any]) -> Any:
    return await asyncio.wait_for(run(), 10)


@way
async def as_a_task(run: Callable[[], Any]) -> Any:
    return await asyncio.create_task(run())


@way
async def as_completed(run: Callable[[], Any]) -> Any:
    (only,) = asyncio.as_completed([run()])
    return await only


@way
async def with_the_other_function(run: Callable[[], Any]) -> Any:
    return await run.arun()  # type: ignore[attr-defined]


@pytest.fixture
def module(packages: Packages, request: pytest.FixtureRequest) -> Any:
    schema, answer = KINDS[request.param]
    made = packages.tool({"type": "object"}, **({} if schema is None else {"outputSchema": schema}))
    made.CLIENT.answer = answer
    return made


def as_json(result: Any) -> Any:
    if hasattr(result, "to_arguments"):
        return result.to_arguments()
    return [as_json(item) for item in result] if isinstance(result, list) else result


def plain(module: Any) -> Any:
    """The tool's function, without the warning about a record."""

    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return module.run()

    async def arun() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return await module.arun()

    run.arun = arun  # type: ignore[attr-defined]
    return run


@pytest.mark.parametrize("ways", WAYS)
@pytest.mark.parametrize("module", KINDS, indirect=True)
def test_every_way_to_wait_gives_the_result(module: Any, ways: str) -> None:
    result = asyncio.run(WAYS[ways](plain(module)))
    assert len(module.CLIENT.calls) == 1
    assert as_json(result) == module.CLIENT.answer


@pytest.mark.parametrize("module", KINDS, indirect=True)
def test_results_that_are_equal_do_not_get_in_each_others_way(module: Any) -> None:
    run = plain(module)

    async def both() -> list[Any]:
        return list(await asyncio.gather(run(), run(), run()))

    assert asyncio.run(both()) == [run()] * 3
    assert len(module.CLIENT.calls) == 4


@pytest.mark.parametrize("module", KINDS, indirect=True)
def test_a_result_is_run_where_no_loop_runs(module: Any) -> None:
    assert asyncio.run(plain(module)()) == plain(module)()


@pytest.mark.parametrize("module", KINDS, indirect=True)
def test_asyncio_run_in_a_kernel_whose_loop_runs(module: Any) -> None:
    async def cell() -> Any:
        return asyncio.run(plain(module)())

    assert asyncio.run(cell()) == plain(module)()
    with pytest.raises(RuntimeError, match="running event loop"):
        asyncio.run(_refused())


async def _refused() -> None:
    unfinished = asyncio.sleep(0)
    try:
        asyncio.run(unfinished)
    finally:
        unfinished.close()


@pytest.mark.parametrize("module", KINDS, indirect=True)
def test_a_result_is_what_it_was(module: Any) -> None:
    result, answer = plain(module)(), module.CLIENT.answer
    assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result
    assert as_json(result) == answer
    if as_json(result) != result or hasattr(result, "to_arguments"):
        return  # models
    assert repr(result) == repr(answer)
    assert isinstance(result, type(answer))
    assert json.dumps(result) == json.dumps(answer)
    if isinstance(answer, (str, int, float)):
        assert hash(result) == hash(answer)


@pytest.mark.parametrize("value", [True, False, None])
def test_true_false_and_null_cannot_be_awaited(packages: Packages, value: Any) -> None:
    module = packages.tool({"type": "object"}, outputSchema={"type": ["boolean", "null"]})
    module.CLIENT.answer = value
    assert module.run() is value
    assert asyncio.run(module.arun()) is value


def test_a_task_that_is_cancelled_before_it_starts(packages: Packages) -> None:
    module = packages.tool({"type": "object"}, outputSchema=ITEM)
    module.CLIENT.answer = {"n": 1}

    async def cancel() -> None:
        task = asyncio.create_task(module.run())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())


# --- As a dict.


def test_a_result_can_be_used_like_a_dict(packages: Packages) -> None:
    module = packages.tool(
        {"type": "object"},
        outputSchema={"type": "object", "properties": {"rows": {"type": "array"}, "from": {}, "items": {}}},
    )
    module.CLIENT.answer = {"rows": [1], "from": "x", "items": 3, "more": 4}
    result = module.run()
    assert (result["rows"], result["from"], result["from_"], result["items"], result["more"]) == ([1], "x", "x", 3, 4)
    assert (result.get("rows"), result.get("gone"), result.get("gone", 5)) == ([1], None, 5)
    assert result.items == 3  # a field of the name comes first
    assert list(result.keys()) == ["rows", "from", "items", "more"]
    assert list(result.values()) == [[1], "x", 3, 4]
    assert "rows" in result
    assert "gone" not in result
    with pytest.raises(KeyError, match="Result has no field 'gone', only rows, from, items, more"):
        result["gone"]
    with pytest.raises(AttributeError, match="Result has no field 'target_time', only rows, from, items, more"):
        result.target_time  # noqa: B018
    assert not hasattr(result, "gone")


# --- What a server has wrapped.


def wrapped(inner: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"result": inner},
        "required": ["result"],
        "x-fastmcp-wrap-result": True,
        **more,
    }


@pytest.mark.parametrize(
    ("inner", "annotation", "answer"),
    [
        ({"type": "string"}, "str", '{"rows": [1]}'),
        ({"type": "integer"}, "int", 5),
        ({"type": "number"}, "int | float", 2.5),
        ({"type": "boolean"}, "bool", True),
        ({"type": "array", "items": {"type": "string"}}, "Result", ["a"]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "Result", None),
    ],
)
def test_a_wrapped_result_is_what_is_in_it(packages: Packages, inner: Any, annotation: str, answer: Any) -> None:
    module = packages.tool({"type": "object"}, outputSchema=wrapped(inner))
    assert f"def run(params: Params = Params()) -> {annotation}:\n" in packages.text()
    for given in ({"result": answer}, answer):  # and where the server has only text, or does as it should
        module.CLIENT.answer = given
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert module.run() == answer
            assert asyncio.run(module.arun()) == answer


def test_a_wrapped_object_is_typed(packages: Packages) -> None:
    inner = {"$ref": "#/$defs/Item"}
    defs = {"Item": {"type": "object", "properties": {"n": {"type": "integer"}, "id": {"pattern": "^a"}}}}
    module = packages.tool(
        {"type": "object"}, outputSchema=wrapped({"type": "array", "items": inner}, **{"$defs": defs})
    )
    module.CLIENT.answer = {"result": [{"n": 1}]}
    assert module.run()[0].n == 1
    module.CLIENT.answer = {"result": [{"n": "x"}]}
    with pytest.warns(UserWarning, match=r"result\[0\]\['n'\]"):
        assert module.run() == [{"n": "x"}]


def test_what_only_looks_wrapped_is_not(packages: Packages) -> None:
    schema = wrapped({"type": "string"})
    del schema["x-fastmcp-wrap-result"]
    module = packages.tool({"type": "object"}, outputSchema=schema)
    module.CLIENT.answer = {"result": "x"}
    assert module.run().result == "x"
