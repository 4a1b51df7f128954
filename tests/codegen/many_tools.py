"""Many tools of the shapes that servers publish; the same number makes the same tools.

Flat arguments with choices, defaults and bounds; nested objects; arrays of objects; references into `$defs`, also to
themselves; unions; maps, nulls and names that are none of Python. Every third tool also promises a result.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

VERBS = ["list", "get", "create", "update", "delete", "search", "export", "import", "archive", "merge"]
NOUNS = [
    "issue",
    "project",
    "invoice",
    "customer",
    "message",
    "channel",
    "document",
    "folder",
    "event",
    "calendar",
    "order",
    "product",
]
STATES = ["open", "in_progress", "blocked", "closed"]


def text(**keywords: Any) -> Schema:
    return {"type": "string", **keywords}


def record(properties: Schema, *required: str, **keywords: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), **keywords}


def flat(noun: str, number: int) -> Schema:
    properties = {
        f"{noun}_id": text(description=f"Identifier of the {noun}.", minLength=1),
        "state": text(enum=STATES, default="open", description="State to filter by."),
        "page": {"type": "integer", "minimum": 1, "default": 1},
        "per_page": {"type": "integer", "minimum": 1, "maximum": 100 + number, "default": 30},
        "verbose": {"type": "boolean", "default": False},
    }
    return record(properties, f"{noun}_id", additionalProperties=False)


def nested(noun: str, number: int) -> Schema:
    owner = record({"name": text(), "email": text(format="email")}, "email")
    inner = {
        "owner": owner,
        "due": text(format="date-time"),
        "weight": {"type": "number", "exclusiveMinimum": 0, "default": 1.0 + number},
    }
    return record(
        {"title": text(maxLength=200), noun: record(inner, "owner", description=f"The {noun}.")}, "title", noun
    )


def arrays(noun: str, number: int) -> Schema:
    item = record(
        {
            "sku": text(pattern="^[A-Z]{3}-[0-9]+$"),
            "quantity": {"type": "integer", "minimum": 0},
            "tags": {"type": "array", "items": text(), "uniqueItems": True},
        },
        "sku",
        "quantity",
    )
    properties = {
        "items": {"type": "array", "minItems": 1, "maxItems": 50 + number, "items": item},
        "matrix": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        "notify": {"type": "array", "items": text(enum=["mail", "chat", "sms"]), "default": []},
    }
    return record(properties, "items")


def references(noun: str, number: int) -> Schema:
    name = noun.capitalize()
    entity = record(
        {
            "name": text(),
            "priority": {"$ref": "#/$defs/Priority", "default": "medium"},
            "labels": {"type": "array", "items": {"$ref": "#/$defs/Label"}},
            "children": {"type": "array", "items": {"$ref": f"#/$defs/{name}"}},
        },
        "name",
        description=f"A {noun}, which may hold further ones.",
    )
    definitions = {
        "Priority": text(enum=["low", "medium", "high"], title="Priority"),
        "Label": record({"name": text(), "color": text(default=f"#{number:06x}")}, "name"),
        name: entity,
    }
    properties = {"root": {"$ref": f"#/$defs/{name}"}, "dry_run": {"type": "boolean", "default": True}}
    return {"$defs": definitions, **record(properties, "root")}


def unions(noun: str, number: int) -> Schema:
    by_date = record({"kind": {"const": "date"}, "since": text(format="date")}, "kind", "since", title="ByDate")
    by_author = record({"kind": {"const": "author"}, "login": text()}, "kind", "login", title="ByAuthor")
    properties = {
        "target": {
            "anyOf": [text(), {"type": "integer"}, record({"slug": text()}, "slug")],
            "description": f"The {noun}: by name, by number or by slug.",
        },
        "filter": {"oneOf": [by_date, by_author]},
        "limit": {"anyOf": [{"type": "integer", "maximum": 1000 + number}, {"type": "null"}], "default": None},
    }
    return record(properties, "target")


def maps(noun: str, number: int) -> Schema:
    mean = record({"mean": {"type": "number"}, "count": {"type": "integer"}}, "mean")
    properties = {
        "metadata": {"type": "object", "additionalProperties": text()},
        "weights": {"type": "object", "additionalProperties": mean},
        "comment": {"type": ["string", "null"], "description": f'Says "why" in one line;\na \\ is kept. No. {number}.'},
        "content-type": text(default="text/plain"),
        "class": text(enum=[noun, f"{noun}-draft", "1st", ""]),
        "options": {"type": "object"},
        "anything": {},
    }
    return record(properties, "metadata", "class")


def result(noun: str) -> Schema:
    answer = {
        "id": text(),
        "state": text(enum=STATES),
        "created_at": text(format="date-time"),
        "score": {"type": ["number", "null"]},
    }
    properties = {
        noun: record(answer, "id", "state"),
        "warnings": {"type": "array", "items": text()},
        "total": {"type": "integer"},
    }
    return record(properties, noun, "total")


SHAPES = [flat, nested, arrays, references, unions, maps]


def many_tools(count: int) -> list[dict[str, Any]]:
    tools = []
    for number in range(count):
        verb, noun = VERBS[number % len(VERBS)], NOUNS[number // len(VERBS) % len(NOUNS)]
        round_ = number // (len(VERBS) * len(NOUNS))
        name = f"{verb}_{noun}" + (f"_v{round_ + 1}" if round_ else "")
        made = {
            "name": name.replace("_", "-") if number % 7 == 3 else name,
            "description": f"{verb.capitalize()} one or more {noun}s.\n\nUse this when the task is about a {noun}.",
            "inputSchema": SHAPES[number % len(SHAPES)](noun, number),
        }
        if number % 3 == 0:
            made["outputSchema"] = result(noun)
        tools.append(made)
    return tools
