"""Texts that want to be code, or files, or something else than what is seen, and where in a tool they can stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

TEXTS = [
    '"""', "'''", '"', "'", "\\", '\\"""', '"""\\', '""" + __import__("os").system("id") + """', "\\\\\"\"\"",
    '"""\nimport os\nos.system("id")\n"""', "\n\nimport os\n", "\r\nimport os\r\n", "\rimport os", "x\n    pass\n",
    "'; import os; '", '"; import os; "', "{__import__('os')}", "{0.__class__}", "%s%n", "${HOME}", "$(id)", "`id`",
    "\x00", "a\x00b", "\x1b[2J", "\x7f", "\x85import os", "\u2028import os", "\u2029import os", "\ufeff", "\u202eso tropmi",
    "\u2066x\u2069", "\u200b", "\u00ad", "\U000e0041", "\ufffe", "\U0010ffff", "\\N{BULLET}", "\\x41", "\\u0041", "\\",
    "__init__", "__main__", "_mcp", "../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:1/x", "..",
    ".", "", " ", "import", "None", "Params", "run", "CLIENT", "Model", "__class__", "__pydantic_validator__",
    "model_config", "self", "\ufb01", "x" * 3000, "# type: ignore\nimport os",
]  # fmt: skip

Place = Callable[[str], dict[str, Any]]


def with_schema(schema: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"name": "tool", "inputSchema": {"type": "object", **schema}, **members}


def with_property(schema: Any) -> dict[str, Any]:
    return with_schema({"properties": {"p": schema}})


PLACES: dict[str, Place] = {
    "name of a tool": lambda text: {"name": text, "inputSchema": {"type": "object"}},
    "description of a tool": lambda text: with_schema({}, description=text),
    "title of a tool": lambda text: with_schema({}, title=text),
    "name of a property": lambda text: with_schema({"properties": {text: {"type": "string", "minLength": 1}}}),
    "description of a property": lambda text: with_property({"type": "string", "description": text}),
    "title": lambda text: with_property({"type": "object", "title": text, "properties": {"x": {"title": text}}}),
    "enum": lambda text: with_property({"enum": [text, 1]}),
    "const": lambda text: with_property({"const": text, "title": text}),
    "default": lambda text: with_property({"type": "string", "default": text}),
    "examples": lambda text: with_property({"examples": [text, {text: text}]}),
    "format": lambda text: with_property({"type": "string", "format": text}),
    "pattern": lambda text: with_property({"type": "string", "pattern": text}),
    "name in $defs": lambda text: with_schema(
        {
            "$defs": {text: {"type": "object", "description": text, "properties": {"x": {}}}},
            "properties": {"p": {"$ref": "#/$defs/" + text.replace("~", "~0").replace("/", "~1")}},
        }
    ),
    "$ref": lambda text: with_property({"$ref": text, "minLength": 1}),
    "type": lambda text: with_property({"type": [text, "string"], "items": {"type": text}}),
    "required": lambda text: with_schema({"required": [text]}),
    "keyword": lambda text: with_property({text: text, "anyOf": [{text: [text]}, {"not": {text: text}}]}),
    "keywords of other generators": lambda text: with_schema(
        {
            "customBasePath": text,
            "properties": {
                "p": {"type": "string", "customTypePath": text, "x-python-type": text, "x-python-import": text}
            },
        }
    ),
    "result": lambda text: with_schema(
        {},
        outputSchema={
            "type": "object",
            "title": text,
            "properties": {text: {"type": "object", "properties": {text: {"enum": [text]}}}},
            "additionalProperties": {"const": text},
        },
    ),
}
