"""What generated classes do with values of Python: constructors, arguments that are sent, results that come back."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import enum
import inspect
import json
import pathlib
import pickle
import pydoc
import uuid
import warnings
from typing import Any

import pytest
from packages import Packages, Refused, Runner, same
from pydantic import BaseModel


def schema_of(properties: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **keywords}


STRING = {"type": "string"}
ITEM = schema_of({"name": STRING, "size": {"type": "integer"}}, required=["name"])


# --- What is sent.


def test_only_what_is_set_is_sent(packages: Packages) -> None:
    Params = packages.tool(
        schema_of({"a": {"type": "integer", "default": 5}, "b": STRING, "c": {"const": "y"}, "d": {"default": None}})
    ).Params
    assert Params().to_arguments() == {}
    assert Params().a == 5
    assert Params().b is None
    assert Params(a=5, d=None).to_arguments() == {"a": 5, "d": None}


@pytest.mark.parametrize(
    ("schema", "required", "sent"),
    [
        (STRING, False, {}),
        ({"type": ["string", "null"]}, False, {"a": None}),
        ({"type": ["string", "null"]}, True, {"a": None}),
        ({"anyOf": [STRING, {"type": "null"}], "default": None}, False, {"a": None}),
        ({}, False, {"a": None}),
        ({"enum": ["x", None]}, False, {"a": None}),
        ({"type": ["array", "string"]}, False, {}),
        ({"type": "object", "properties": {"x": {}}}, False, {}),
        ({"not": {"type": "string"}}, False, {"a": None}),
        ({"not": {"type": "null"}}, False, {}),
        ({"type": "string", "minLength": 2}, False, {}),
    ],
)
def test_none_leaves_out_what_must_not_be_null(packages: Packages, schema: Any, required: bool, sent: Any) -> None:
    Params = packages.tool(schema_of({"a": schema}, required=["a"] if required else [])).Params
    assert Params(a=None).to_arguments() == sent


def test_none_for_what_is_required_and_not_nullable_is_refused(packages: Packages) -> None:
    Params = packages.tool(schema_of({"a": STRING}, required=["a"])).Params
    with pytest.raises(Refused):
        Params(a=None)


def test_none_is_only_left_out_by_the_constructor(packages: Packages) -> None:
    Params = packages.tool(schema_of({"a": STRING})).Params
    with pytest.raises(Refused):
        Params.model_validate({"a": None})


def test_names_that_are_none_of_python(packages: Packages) -> None:
    Params = packages.tool(
        schema_of({"from": STRING, "auth-method": STRING, "schema": STRING, "": STRING, "str": STRING})
    ).Params
    given = {"from": "a", "auth-method": "b", "schema": "c", "": "d", "str": "e"}
    assert Params(**given).to_arguments() == given
    assert Params(from_="a", auth_method="b", schema_="c", field="d", str_="e").to_arguments() == given
    assert Params(schema="c").schema_ == "c"
    assert Params.model_validate(given).to_arguments() == given
    with pytest.raises(TypeError, match="the same field"):
        Params(**{"from": "a", "from_": "b"})


def test_a_python_name_in_json_is_another_member(packages: Packages) -> None:
    Params = packages.tool(schema_of({"from": STRING})).Params
    value = {"from": "a", "from_": 5}
    assert Params.model_validate(value).to_arguments() == value
    assert Params.model_validate(value).from_ == "a"


def test_extras_are_kept_and_sent(packages: Packages) -> None:
    Params = packages.tool(schema_of({"a": STRING})).Params
    value = {"a": "x", "other": [1, {"deep": None}], "model_dump": 1, "__class__": 2}
    assert Params.model_validate(value).to_arguments() == value
    assert Params(**value).to_arguments() == value
    Closed = packages_module(packages, schema_of({"a": STRING}, additionalProperties=False)).Params
    with pytest.raises(Refused):
        Closed(a="x", other=1)


def packages_module(packages: Packages, schema: Any) -> Any:
    packages.generate({"server": "second", "tools": [{"name": "tool", "inputSchema": schema}]})
    return packages.module("second.tool")


def test_a_misspelt_field_is_sent_with_a_warning(packages: Packages) -> None:
    Params = packages.tool(schema_of({"repository": STRING})).Params
    with pytest.warns(UserWarning, match="did you mean 'repository'") as caught:
        assert Params(repositry="x").to_arguments() == {"repositry": "x"}
    assert caught[0].filename == __file__


def test_a_member_that_no_schema_declares_is_told_wherever_it_is(packages: Packages) -> None:
    task = schema_of({"content": STRING, "dueString": STRING}, required=["content"])
    free = schema_of({"a": STRING}, additionalProperties=True)
    typed = schema_of({"a": STRING}, additionalProperties={"type": "integer"})
    patterned = schema_of({"a": STRING}, patternProperties={"^x": STRING})
    tasks = {"type": "array", "items": task}
    module = packages.tool(
        schema_of({"symbol": STRING, "tasks": tasks, "free": free, "typed": typed, "patterned": patterned, "any": {}})
    )
    for given, told in [
        (
            {"start": "2024"},
            "Params has no field 'start' and sends it as it is, which its server may ignore: its fields",
        ),
        (
            {"tasks": [{"content": "a", "due_string": "b"}]},
            "Task has no field 'due_string' .* did you mean 'dueString'",
        ),
        ({"tasks": [{"content": "a", "date": "b"}]}, "Task has no field 'date' .* its fields are content, dueString"),
        ({"free": {"b": 1, "aa": 2}}, None),
        ({"typed": {"b": 1}}, None),
        ({"patterned": {"b": 1}}, None),
        ({"any": {"b": 1}}, None),
    ]:
        if told is None:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                module.Params(**given)
        else:
            with pytest.warns(UserWarning, match=told) as caught:
                module.run(**given)
            assert [one.filename for one in caught] == [__file__]
        assert module.Params.model_validate(given).to_arguments() == given
    with pytest.warns(UserWarning, match="no field 'date'"):
        item = module.Task(content="a", date="b")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.Params(tasks=[item])  # it was told when the item was made


def test_a_misspelt_field_that_is_required_is_named(packages: Packages) -> None:
    Params = packages.tool(
        schema_of({"path": STRING, "from": STRING, "depth": STRING}, required=["path", "from"])
    ).Params
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is sent
        with pytest.raises(Refused) as caught:
            Params(pth="x", form="y", other=1)
        assert {error["loc"]: error["msg"] for error in caught.value.errors()} == {
            ("pth",): "There is no such field: did you mean 'path'?",
            ("form",): "There is no such field: did you mean 'from'?",
        }
        with pytest.raises(Refused) as caught:
            Params(pth="x", from_="y", other=1, depth=2)
        assert {error["loc"]: error["msg"] for error in caught.value.errors()} == {
            ("pth",): "There is no such field: did you mean 'path'?",
            ("depth",): "Input should be a valid string",
        }
        with pytest.raises(
            ValueError, match=r"^tool\.run\(\) needs path: write tool\.run\(path=\.\.\., from_=\.\.\., \.\.\.\)$"
        ):
            Params(from_="y", other=1)


def test_values_of_python_that_mean_nothing_in_json(packages: Packages) -> None:
    class Color(enum.Enum):
        RED = "red"

    class Number(enum.IntEnum):
        ONE = 1

    class Word(str):
        pass

    Params = packages.tool(
        schema_of(
            {
                "text": STRING,
                "texts": {"type": "array", "items": STRING},
                "number": {"type": "number"},
                "whole": {"type": "integer"},
                "any": {},
                "pair": {
                    "type": "array",
                    "prefixItems": [STRING, {"type": "integer"}],
                    "items": False,
                    "minItems": 2,
                },
            }
        )
    ).Params
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    identity = uuid.UUID(int=1)
    for value, sent in [
        (moment, "2026-01-02T03:04:05+00:00"),
        (moment.date(), "2026-01-02"),
        (moment.time(), "03:04:05"),
        (identity, str(identity)),
        (pathlib.PurePosixPath("/a/b"), "/a/b"),
        (Color.RED, "red"),
        (Word("w"), "w"),
    ]:
        assert Params(text=value).to_arguments() == {"text": sent}
        assert Params(any={"deep": [value]}).to_arguments() == {"any": {"deep": [sent]}}
    assert Params(texts=("a", "b")).to_arguments() == {"texts": ["a", "b"]}
    assert Params(texts={"a"}).to_arguments() == {"texts": ["a"]}
    assert Params(pair=("a", 1)).to_arguments() == {"pair": ["a", 1]}
    assert Params(number=decimal.Decimal("1.5")).to_arguments() == {"number": 1.5}
    assert Params(whole=decimal.Decimal(3), number=Number.ONE).to_arguments() == {"number": 1, "whole": 3}
    assert json.dumps(Params(whole=2.0, number=4.0).to_arguments()) == '{"number": 4.0, "whole": 2}'
    for bad in (b"x", object(), {1: 2}, 3 + 4j):
        with pytest.raises(TypeError):
            Params(any=bad)


def test_numbers_of_numpy(packages: Packages) -> None:
    numpy = pytest.importorskip("numpy")
    Params = packages.tool(
        schema_of({"n": {"type": "integer"}, "x": {"type": "array", "items": {"type": "number"}}})
    ).Params
    assert Params(n=numpy.int64(3), x=numpy.array([1.0, 2.5])).to_arguments() == {"n": 3, "x": [1, 2.5]}
    assert Params(x=[numpy.float64(0.5)]).to_arguments() == {"x": [0.5]}


@pytest.mark.parametrize(
    ("schema", "bad"),
    [
        ({"type": "integer"}, "5"),
        ({"type": "integer"}, True),
        ({"type": "integer"}, 1.5),
        ({"type": "number"}, "5"),
        ({"type": "number"}, True),
        ({"type": "boolean"}, 1),
        ({"type": "boolean"}, "true"),
        (STRING, 5),
        ({"enum": [1]}, True),
        ({"const": False}, 0),
        ({"type": "array"}, "abc"),
        ({"type": "object"}, []),
    ],
)
def test_nothing_else_is_converted(packages: Packages, schema: Any, bad: Any) -> None:
    Params = packages.tool(schema_of({"a": schema})).Params
    with pytest.raises(Refused):
        Params(a=bad)
    with pytest.raises(Refused):
        Params.model_validate({"a": bad})


def test_numbers(packages: Packages) -> None:
    Params = packages.tool(schema_of({"whole": {"type": "integer"}, "number": {"type": "number"}, "any": {}})).Params
    for value in (1234567890123456789, 10**40, -(2**70), 0):
        assert Params(whole=value, number=value, any=value).to_arguments() == {
            "whole": value, "number": value, "any": value,
        }  # fmt: skip
    assert same(
        Params.model_validate_json('{"number": 1e3, "whole": 5.0}').to_arguments(), {"number": 1000, "whole": 5}
    )
    for bad in (float("nan"), float("inf"), -float("inf")):
        for name in ("whole", "number", "any"):
            with pytest.raises((Refused, TypeError)):
                Params(**{name: bad})
            with pytest.raises(Refused):
                Params.model_validate({name: bad})
    with pytest.raises(Refused):
        Params.model_validate_json('{"any": [NaN]}')


def test_a_whole_float_is_an_integer_where_one_is_wanted_and_nowhere_else(packages: Packages) -> None:
    whole = {"type": "integer"}
    Params = packages.tool(
        schema_of(
            {
                "whole": whole,
                "choice": {"enum": [1, 2, "x"]},
                "list": {"type": "array", "items": whole},
                "item": ITEM,
                "union": {"anyOf": [whole, {"type": "array", "items": whole}, STRING]},
                "either": {"type": ["integer", "number", "string"]},
                "any": {},
            }
        )
    ).Params
    for make in (lambda given: Params(**given), Params.model_validate):
        sent = make(
            {
                "whole": 3.0,
                "choice": 2.0,
                "list": [1, 2.0, 1e3],
                "item": {"name": "a", "size": 4.0, "more": 4.0},
                "union": [5.0],
                "either": 6.0,
                "any": {"a": [7.0, -0.0, 1e308, 1e22]},
                "more": 8.0,
            }
        ).to_arguments()
        assert json.dumps(sent) == (
            '{"whole": 3, "choice": 2, "list": [1, 2, 1000], "item": {"name": "a", "size": 4, "more": 4.0}, '
            '"union": [5], "either": 6.0, "any": {"a": [7.0, -0.0, 1e+308, 1e+22]}, "more": 8.0}'
        )
    with pytest.raises(Refused, match=r"list\[1\] should be a valid integer, not 1\.5"):
        Params(list=[1.0, 1.5])


# --- Objects within objects.


def test_a_nested_object_is_a_dict_or_a_model(packages: Packages) -> None:
    module = packages.tool(schema_of({"items": {"type": "array", "items": ITEM}, "any": {}, "map": {"type": "object"}}))
    Params, Item = module.Params, module.Item
    expected = {"items": [{"name": "a"}, {"name": "b", "size": 2}]}
    params = Params(items=[{"name": "a"}, Item(name="b", size=2)])
    assert params.to_arguments() == expected
    assert isinstance(params.items[0], Item)
    item = Item(name="c")
    assert Params(items=[item]).items[0] is item
    assert Params(any={"x": item}, map=item).to_arguments() == {"any": {"x": {"name": "c"}}, "map": {"name": "c"}}
    with pytest.raises(Refused):
        Params(items=[{"size": 2}])


def test_a_model_of_another_tool_stands_for_its_object(packages: Packages) -> None:
    packages.generate(
        {"server": "server", "tools": [{"name": n, "inputSchema": schema_of({"item": ITEM})} for n in ("one", "two")]}
    )
    one, two = packages.module("server.one"), packages.module("server.two")
    assert two.Params(item=one.Item(name="x")).to_arguments() == {"item": {"name": "x"}}


def test_changes_in_place_and_assignments_are_sent(packages: Packages) -> None:
    module = packages.tool(
        schema_of(
            {
                "tags": {"type": "array", "items": STRING, "default": []},
                "page": {"type": "integer"},
                "from": STRING,
                "item": ITEM,
            }
        )
    )
    params = module.Params()
    assert params.to_arguments() == {}
    params.tags.append("x")
    assert params.to_arguments() == {"tags": ["x"]}
    assert module.Params().tags == []
    params.page, params.from_ = 2, "a"
    params.item = module.Item(name="i")
    params.item.size = 3
    assert params.to_arguments() == {"tags": ["x"], "page": 2, "from": "a", "item": {"name": "i", "size": 3}}
    params.page = None
    assert "page" not in params.to_arguments()


def test_copies_and_pickles(packages: Packages) -> None:
    module = packages.tool(schema_of({"item": ITEM, "from": STRING}))
    params = module.Params(item={"name": "a"}, from_="b", other=1)
    expected = {"item": {"name": "a"}, "from": "b", "other": 1}
    assert pickle.loads(pickle.dumps(params)).to_arguments() == expected
    assert params.model_copy(deep=True).to_arguments() == expected
    assert params.model_copy(update={"from_": "c"}).to_arguments() == {**expected, "from": "c"}
    assert params == module.Params(item={"name": "a"}, from_="b", other=1)


def test_no_field_hides_what_pydantic_needs(packages: Packages) -> None:
    """Every public name of BaseModel can be a property."""
    taken = sorted({name for name in [*dir(BaseModel), *dir(type(BaseModel))] if not name.startswith("_")})
    words = ["CLIENT", "Field", "Model", "Params", "Result", "UNSET", "annotations", "dict", "run", "to_arguments"]
    names = taken + words
    assert len(taken) > 25
    Params = packages.tool(schema_of({name: {"type": "integer"} for name in names})).Params
    given = {name: number for number, name in enumerate(names)}
    assert Params.model_validate(given).to_arguments() == given
    assert Params(**given).to_arguments() == given


# --- Checks.


def test_a_check_says_what_is_wrong(packages: Packages) -> None:
    Params = packages.tool(
        schema_of({"id": {"type": "string", "pattern": r"^AS\d+$"}, "x": {}, "y": {}}, not_=1) | {"maxProperties": 2}
    ).Params
    assert Params(id="AS1").to_arguments() == {"id": "AS1"}
    with pytest.raises(Refused, match=r"value must match \^AS\\d\+\$"):
        Params(id="XS1")
    with pytest.raises(Refused, match="value must have at most 2 members"):
        Params(id="AS1", x=1, y=2)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (r"^\d+$", "12", "12\n"),
        (r"^\w+$", "ab_1", "é"),
        (r"^\S+$", "ab", "a b"),
        (r"^[\s\S]$", "\u3000", ""),
        (r"^.$", "x", "\u2028"),
        (r"(?<n>a)\k<n>", "aa", "ab"),
        (r"^\cA$", "\x01", "A"),
        (r"^[^]$", "\n", ""),
        (r"^\u{1F432}$", "\U0001f432", "x"),
        (r"^\uD83D\uDC32+$", "\U0001f432\U0001f432", "x"),
        (r"^\p{Lu}\p{Letter}*\p{Nd}$", "Éa1", "éa1"),
        (r"^[\p{L}-]+$", "ä-b", "1"),
        (r"^[a\-z]+$", "a-z", "b"),
        (r"^[[a&&~~|]+$", "[a&~|", "b"),
        (r"^a{,2}$", "a{,2}", "aa"),
        (r"^\/x\_$", "/x_", "x"),
        (r"^(?!x)(?:y|z)+$", "yz", "xy"),
    ],
)
def test_patterns_are_those_of_ecma_262(packages: Packages, pattern: str, matching: str, other: str) -> None:
    Params = packages.tool(schema_of({"a": {"type": "string", "pattern": pattern}})).Params
    assert Params(a=matching).to_arguments() == {"a": matching}
    with pytest.raises(Refused):
        Params(a=other)


@pytest.mark.parametrize(
    "pattern", ["(", "a++", r"\p{Script=Greek}", "(?<=a+)b", "(?>a)", "(?#x)", "[z-a]", "a{2}{3}", "\\"]
)
def test_patterns_that_python_does_not_have_check_nothing(packages: Packages, pattern: str) -> None:
    Params = packages.tool(schema_of({"a": {"type": "string", "pattern": pattern}})).Params
    assert Params(a="anything").to_arguments() == {"a": "anything"}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 5000 + "!"),
        ("^(a|aa)+$", "a" * 5000 + "!"),
        (r"^[a-z]+(-[a-z]+)*$", "ab-" * 5000 + "!"),
        (r"\s*$", " " * 200_000 + "x"),
        ("^(?:[a-z]+ ?)+$", "a" * 5000 + "!"),
    ],
)
def test_no_text_makes_a_pattern_slow(packages: Packages, pattern: str, text: str) -> None:
    Params = packages.tool(schema_of({"a": {"type": "string", "pattern": pattern}})).Params
    if pattern == r"\s*$":
        assert Params(a=text).to_arguments()
    else:
        with pytest.raises(Refused, match="must match"):
            Params(a=text)


@pytest.mark.parametrize("pattern", [r"^(?!x)(a+)+$", r"^(?!x)(a|a)*$", r"(?=a)(a?){30}a{30}b", r"^(a+)+\1$"])
def test_a_pattern_that_may_be_slow_is_left_to_the_server(packages: Packages, pattern: str) -> None:
    Params = packages.tool(schema_of({"a": {"type": "string", "pattern": pattern}})).Params
    assert Params(a="a" * 40 + "!").to_arguments() == {"a": "a" * 40 + "!"}


def test_patterns_that_look_around_are_checked_where_that_is_quick(packages: Packages) -> None:
    pattern = r"^(?=.*[A-Z])(?=.*\d)[A-Za-z\d]{8,}$"
    Params = packages.tool(schema_of({"a": {"type": "string", "pattern": pattern}})).Params
    assert Params(a="aB3" * 10_000).to_arguments()
    with pytest.raises(Refused, match="must match"):
        Params(a="ab3" * 10_000)


@pytest.mark.parametrize("keyword", ["anyOf", "allOf"])
def test_alternatives_of_alternatives_are_judged_within_a_bound(packages: Packages, keyword: str) -> None:
    levels: dict[str, Any] = {
        f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]} for i in range(60)
    }
    levels["d60"] = {"type": "string"} if keyword == "anyOf" else {"not": {"const": 1}}
    check = {"not": {"not": {"$ref": "#/$defs/d0"}}}
    Params = packages.tool(schema_of({"a": check}) | {"$defs": levels}).Params
    assert Params(a=7).to_arguments() == {"a": 7}  # 2**60 judgements would say more


def test_references_that_lead_nowhere_or_in_circles_end(packages: Packages) -> None:
    Params = packages.tool(
        schema_of(
            {
                "circle": {"$ref": "#/$defs/a"},
                "double": {"anyOf": [{"$ref": "#/$defs/c"}, {"$ref": "#/$defs/c"}], "not": {"const": 1}},
                "self": {"$ref": "#/properties/self"},
                "tree": {"$ref": "#/$defs/tree"},
            }
        )
        | {
            "$defs": {
                "a": {"$ref": "#/$defs/b"},
                "b": {"$ref": "#/$defs/a"},
                "c": {"allOf": [{"$ref": "#/$defs/c"}, {"$ref": "#/properties/double"}]},
                "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            }
        }
    ).Params
    value: Any = {"circle": 1, "self": 2, "double": 3, "tree": [[], [[]]]}
    assert Params.model_validate(value).to_arguments() == value
    with pytest.raises(Refused):
        Params.model_validate({"tree": [[1]]})
    with pytest.raises(Refused):
        Params.model_validate({"double": 1})


# --- Results.

RESULT = schema_of({"id": STRING, "item": ITEM, "from": STRING, "score": {"type": ["number", "null"]}}, required=["id"])


@pytest.fixture
def module(packages: Packages) -> Any:
    return packages.tool(schema_of({}), outputSchema=RESULT)


def answered(module: Any, answer: Any) -> Any:
    module.CLIENT.answer = answer
    return module.run()


def test_a_result_is_typed(module: Any) -> None:
    result = answered(module, {"id": "x", "item": {"name": "n"}, "from": "f", "more": 1})
    assert isinstance(result, module.Result)
    assert (result.id, result.item.name, result.from_, result.score, result.more) == ("x", "n", "f", None, 1)
    assert answered(module, '{"id": "text"}').id == "text"
    assert answered(module, {"id": "x", "item": None, "score": 2.5}).score == 2.5


@pytest.mark.parametrize("answer", [{"id": 5, "item": {"deep": [{"x": 1}]}}, '{"item": {"deep": [{"x": 1}]}}'])
def test_a_result_that_breaks_its_promise_comes_as_it_is(module: Any, answer: Any) -> None:
    with pytest.warns(UserWarning, match="not what the tool's schema promises") as caught:
        result = answered(module, answer)
    assert caught[0].filename == __file__
    assert result.item.deep[0].x == 1
    assert result["item"]["deep"] == [{"x": 1}]
    with pytest.raises(AttributeError, match="no member 'gone', only "):
        _ = result.gone
    with pytest.raises(KeyError, match="no member 'gone', only "):
        _ = result["gone"]


def test_a_null_in_a_result_is_there_is_none(packages: Packages) -> None:
    module = packages.tool({"type": "object"}, outputSchema=schema_of({"a": STRING, "b": STRING}, required=["b"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = answered(module, {"a": None, "b": "x"})
    assert (result.a, result.b) == (None, "x")
    with pytest.warns(UserWarning, match=r"result\['b'\]"):
        assert answered(module, {"a": "x", "b": None})["b"] is None


@pytest.mark.parametrize("answer", [None, "plain text", [1, 2], ""])
def test_a_result_of_another_kind_comes_as_it_is(module: Any, answer: Any) -> None:
    with pytest.warns(UserWarning, match="not what the tool's schema promises"):
        assert answered(module, answer) == answer


def test_a_result_that_nests_too_deeply_is_returned(module: Any) -> None:
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    text = '{"id": "x", "item": ' + "[" * 5000 + "]" * 5000 + "}"
    for answer in ({"id": "x", "item": deep}, text):
        with pytest.warns(UserWarning, match="nested too deeply to be checked, and returned as it came"):
            assert answered(module, answer) == answer


def test_a_broken_promise_is_told_by_its_place(packages: Packages) -> None:
    module = packages.tool(schema_of({}), outputSchema=schema_of({"a": {"type": ["integer", "null"]}}))
    with pytest.warns(UserWarning, match=r"result\['a'\]: "):
        answered(module, {"a": "x"})


def test_numbers_of_a_result_keep_their_kind(packages: Packages) -> None:
    properties = {"mean": {"type": "number"}, "count": {"type": "integer"}, "any": {}}
    module = packages.tool(schema_of({}), outputSchema=schema_of(properties))
    result = answered(module, {"mean": 3.0, "count": 4.0, "any": -0.0})
    assert repr([result.mean, result.count, result.any]) == "[3.0, 4, -0.0]"


def test_a_result_that_is_no_object(packages: Packages) -> None:
    module = packages.tool(schema_of({}), outputSchema={"type": "array", "items": ITEM})
    assert [item.name for item in answered(module, [{"name": "a"}, {"name": "b", "size": 2.0}])] == ["a", "b"]
    assert answered(module, '[{"name": "a"}]')[0].name == "a"
    with pytest.warns(UserWarning):
        assert answered(module, [{}]) == [{}]
    text = packages_module(packages, schema_of({}))
    assert text is not None


@pytest.mark.parametrize(
    ("answer", "text"), [("x", "x"), (None, ""), ({"a": "ä"}, '{"a": "ä"}'), ([1], "[1]"), ("", "")]
)
def test_a_result_without_a_schema_is_text(packages: Packages, answer: Any, text: str) -> None:
    module = packages.tool(schema_of({}))
    assert answered(module, answer) == text


# --- Functions.


def test_a_call(packages: Packages) -> None:
    packages.generate(
        {"server": "server", "tools": [{"name": "do-it", "description": "Does it.", "inputSchema": schema_of({"from": STRING}, required=["from"])}]}
    )  # fmt: skip
    module = packages.module("server.do_it")
    assert isinstance(module.CLIENT, Runner)
    assert module.CLIENT.server_name == "server"
    module.run(module.Params(from_="x"))
    assert module.CLIENT.calls == [("do-it", {"from": "x"})]
    assert inspect.signature(module.run).parameters["params"].default is inspect.Parameter.empty
    assert "Does it." in pydoc.render_doc(module.run)


def test_calls_that_are_awaited(packages: Packages) -> None:
    tool = {"name": "tool", "inputSchema": schema_of({"a": STRING})}
    packages.generate(
        {"server": "one", "tools": [tool], "style": "awaitable"}, {"server": "two", "tools": [tool], "style": "both"}
    )
    one, two = packages.module("one.tool"), packages.module("two.tool")
    one.CLIENT.answer = two.CLIENT.answer = {"x": 1}
    assert asyncio.run(one.run(one.Params(a="x"))) == '{"x": 1}'
    assert asyncio.run(two.arun(two.Params(a="x"))) == two.run() == '{"x": 1}'
    assert two.CLIENT.calls == [("tool", {"a": "x"}), ("tool", {})]


def test_signatures_name_the_fields(packages: Packages) -> None:
    module = packages.tool(schema_of({"query": STRING, "page": {"type": "integer", "default": 1}, "from": STRING}))
    assert {"query", "page", "from_"} <= set(inspect.signature(module.Params).parameters)
    assert "Params" in pydoc.render_doc(module.Params)
