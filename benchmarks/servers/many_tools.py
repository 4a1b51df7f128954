"""Tools of the shapes that servers publish; the same number makes the same tools.

Six shapes take turns: flat arguments with choices, defaults and bounds; objects in objects; arrays of objects; `$ref`
into `$defs`, one of them to itself; unions; maps, nullable properties and names that Python cannot use. Every third
tool has an output schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

VERBS = ["list", "get", "create", "update", "delete", "search", "export", "import", "archive", "merge"]
NOUNS = [
    *("issue", "project", "invoice", "customer", "message", "channel", "document", "folder", "event", "calendar"),
    *("order", "product", "ticket", "user", "team", "release", "pipeline", "dashboard", "alert", "contract"),
]
STATES = ["open", "in_progress", "blocked", "closed"]


def string(**more: Any) -> Schema:
    return {"type": "string", **more}


def integer(**more: Any) -> Schema:
    return {"type": "integer", **more}


def number(**more: Any) -> Schema:
    return {"type": "number", **more}


def boolean(**more: Any) -> Schema:
    return {"type": "boolean", **more}


def array(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def mapping(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def structure(properties: dict[str, Schema], *required: str, **more: Any) -> Schema:
    schema = {"type": "object", "properties": properties, **more}
    return {**schema, "required": list(required)} if required else schema


def reference(name: str, **more: Any) -> Schema:
    return {"$ref": f"#/$defs/{name}", **more}


def flat(noun: str, n: int) -> Schema:
    identifier = f"{noun}_id"
    properties = {
        identifier: string(description=f"Identifier of the {noun}.", minLength=1),
        "state": string(enum=STATES, default="open", description="State to filter by."),
        "page": integer(minimum=1, default=1),
        "per_page": integer(minimum=1, maximum=100 + n, default=30),
        "verbose": boolean(default=False),
    }
    return structure(properties, identifier, additionalProperties=False)


def nested(noun: str, n: int) -> Schema:
    owner = structure({"name": string(), "email": string(format="email")}, "email")
    inner = {
        "owner": owner,
        "due": string(format="date-time"),
        "weight": number(exclusiveMinimum=0, default=1.0 + n),
    }
    written = structure(inner, "owner", description=f"The {noun} to write.")
    return structure({"title": string(maxLength=200), noun: written}, "title", noun)


def arrays(noun: str, n: int) -> Schema:
    item = {
        "sku": string(pattern="^[A-Z]{3}-[0-9]+$"),
        "quantity": integer(minimum=0),
        "tags": array(string(), uniqueItems=True),
    }
    properties = {
        "items": array(structure(item, "sku", "quantity"), minItems=1, maxItems=50 + n),
        "matrix": array(array(number())),
        "notify": array(string(enum=["mail", "chat", "sms"]), default=[]),
    }
    return structure(properties, "items")


def references(noun: str, n: int) -> Schema:
    entity = noun.capitalize()
    properties = {
        "name": string(),
        "priority": reference("Priority", default="medium"),
        "labels": array(reference("Label")),
        "children": array(reference(entity)),
    }
    definitions = {
        "Priority": string(enum=["low", "medium", "high"], title="Priority"),
        "Label": structure({"name": string(), "color": string(default=f"#{n:06x}")}, "name"),
        entity: structure(properties, "name", description=f"A {noun}, which may hold further ones."),
    }
    arguments = {"root": reference(entity), "dry_run": boolean(default=True)}
    return {"$defs": definitions, **structure(arguments, "root")}


def unions(noun: str, n: int) -> Schema:
    def variant(title: str, kind: str, **more: Schema) -> Schema:
        return structure({"kind": {"const": kind}, **more}, "kind", *more, title=title)

    by_date = variant("ByDate", "date", since=string(format="date"))
    by_author = variant("ByAuthor", "author", login=string())
    target = [string(), integer(), structure({"slug": string()}, "slug")]
    properties = {
        "target": {"anyOf": target, "description": f"The {noun}: by name, by number or by slug."},
        "filter": {"oneOf": [by_date, by_author]},
        "limit": {"anyOf": [integer(maximum=1000 + n), {"type": "null"}], "default": None},
    }
    return structure(properties, "target")


def maps(noun: str, n: int) -> Schema:
    comment = f'Says "why" in one line;\na \\ is kept. No. {n}.'
    properties = {
        "metadata": mapping(string()),
        "weights": mapping(structure({"mean": number(), "count": integer()}, "mean")),
        "comment": {"type": ["string", "null"], "description": comment},
        "content-type": string(default="text/plain"),
        "class": string(enum=[noun, f"{noun}-draft", "1st", ""]),
        "options": {"type": "object"},
        "anything": {},
    }
    return structure(properties, "metadata", "class")


SHAPES: list[Callable[[str, int], Schema]] = [flat, nested, arrays, references, unions, maps]


def output(noun: str) -> Schema:
    found = {
        "id": string(),
        "state": string(enum=STATES),
        "created_at": string(format="date-time"),
        "score": {"type": ["number", "null"]},
    }
    properties = {noun: structure(found, "id", "state"), "warnings": array(string()), "total": integer()}
    return structure(properties, noun, "total")


def tool(n: int) -> dict[str, Any]:
    verb, number = VERBS[n % len(VERBS)], n // len(VERBS)
    noun = NOUNS[number] if number < len(NOUNS) else f"{NOUNS[number % len(NOUNS)]}_{number}"
    separator = "-" if n % 7 == 3 else "_"
    described = {
        "name": f"{verb}{separator}{noun}",
        "description": f"{verb.capitalize()} one or more {noun}s.\n\nUse this when the task is about a {noun}.",
        "inputSchema": SHAPES[n % len(SHAPES)](noun, n),
    }
    return described if n % 3 else {**described, "outputSchema": output(noun)}


def many_tools(count: int) -> list[dict[str, Any]]:
    """The first of them: 200 with nouns of their own, then such with numbers behind them."""
    return [tool(n) for n in range(count)]
