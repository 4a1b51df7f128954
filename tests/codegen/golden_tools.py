"""Tools as servers of different makers publish them, in miniature. Their modules are in golden/."""

from __future__ import annotations

from typing import Any

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def tool(name: str, schema: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", **schema}, **members}


def nullable(schema: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}], **keywords}


TEXT = {"type": "string"}

#: Sorted keys, null clears a field, alternatives with texts: as from a server in Go.
WRITE_ISSUE = tool(
    "issue_write",
    {
        "properties": {
            "assignees": {"description": "Usernames to assign to this issue", "items": TEXT, "type": "array"},
            "issue_number": {"description": "Issue number to update", "type": "number"},
            "labels": {"items": TEXT, "type": "array"},
            "method": {
                "description": "Write operation to perform.\nOptions are:\n- 'create'\n- 'update'",
                "enum": ["create", "update"],
                "type": "string",
            },
            "milestone": {"description": "Milestone number", "minimum": 1, "type": "integer"},
            "owner": {"description": "Repository owner", "type": "string"},
            "state": {
                "oneOf": [{"const": "open", "title": "Open"}, {"const": "closed", "description": "Done or not wanted"}]
            },
            "type": {"anyOf": [TEXT, {"type": "null"}], "description": "Type of this issue. Pass null to remove it."},
        },
        "required": ["method", "owner"],
    },
    title="Create or update issue",
    description="Create a new or update an existing issue in a repository.",
    annotations={"readOnlyHint": False, "destructiveHint": True},
)

#: The example of docs/codegen.md.
SEARCH_REPOSITORIES = tool(
    "search_repositories",
    {
        "properties": {
            "order": {"type": "string", "enum": ["asc", "desc"], "description": "Sort order"},
            "page": {"type": "number", "minimum": 1},
            "query": {"type": "string", "description": "What to look for."},
        },
        "required": ["query"],
    },
    description="Find repositories.",
    annotations={"readOnlyHint": True},
)

RELATION = {
    "type": "object",
    "properties": {
        "from": {"type": "string", "description": "The entity where the relation starts"},
        "to": {"type": "string", "description": "The entity where it ends"},
        "relationType": TEXT,
    },
    "required": ["from", "to", "relationType"],
    "additionalProperties": False,
}

#: Keywords of Python as names; the same object goes in and comes out.
CREATE_RELATIONS = tool(
    "create_relations",
    {
        "properties": {"relations": {"type": "array", "items": RELATION}},
        "required": ["relations"],
        "additionalProperties": False,
        "$schema": DRAFT_7,
    },
    description="Create relations between entities. Relations should be in active voice",
    outputSchema={
        "type": "object",
        "properties": {"relations": {"type": "array", "items": RELATION}},
        "required": ["relations"],
    },
)

#: Every parameter has a hyphen.
REGISTRY_LIST = tool(
    "acr-registry-list",
    {
        "properties": {
            "tenant": {"type": "string", "description": "Tenant ID or name"},
            "auth-method": {"type": "string", "description": "How to sign in", "default": "0"},
            "retry-max-retries": {"type": "integer", "minimum": 0, "default": 3},
            "resource-group": TEXT,
        },
        "additionalProperties": False,
    },
    description='List registries\n\n    in a subscription.\n    Says "how many" at the end.',
    annotations={"readOnlyHint": True, "idempotentHint": True},
)

POINT = {
    "type": "array",
    "items": [{"type": "number", "minimum": -180, "maximum": 180}, {"type": "number"}],
    "additionalItems": False,
    "minItems": 2,
}

#: Tuples of draft 7 and members of a union that a constant tells apart: as from Zod 3.
STATIC_MAP = tool(
    "static_map_image_tool",
    {
        "properties": {
            "center": POINT,
            "zoom": {"type": "number", "minimum": 0, "maximum": 22},
            "size": {
                "type": "object",
                "properties": {
                    "width": {"type": "number", "default": 600},
                    "height": {"type": "number", "default": 400},
                },
                "default": {"width": 600, "height": 400},
            },
            "overlays": {
                "type": "array",
                "items": {
                    "anyOf": [
                        {
                            "type": "object",
                            "properties": {
                                "type": {"type": "string", "const": "marker"},
                                "color": {"type": "string", "pattern": "^[0-9a-fA-F]{6}$"},
                                "position": {"$ref": "#/properties/center"},
                            },
                            "required": ["type", "position"],
                            "additionalProperties": False,
                        },
                        {
                            "type": "object",
                            "properties": {
                                "type": {"type": "string", "const": "geojson"},
                                "data": {"description": "The GeoJSON data"},
                                "fill-opacity": {"type": "number", "minimum": 0, "maximum": 1},
                            },
                            "required": ["type", "data"],
                        },
                    ]
                },
            },
        },
        "required": ["center", "zoom"],
        "$schema": DRAFT_7,
    },
    description="Generate a static map image.",
)

#: Maps, and names that mean something to other programs.
CREATE_INDEX = tool(
    "create-index",
    {
        "properties": {
            "keys": {
                "type": "object",
                "additionalProperties": {"anyOf": [{"type": "integer", "enum": [1, -1]}, {"const": "text"}]},
                "minProperties": 1,
            },
            "filter": {
                "type": "object",
                "propertyNames": TEXT,
                "additionalProperties": {},
                "properties": {"$vectorSearch": {}},
            },
            "weights": {
                "type": "object",
                "properties": {"default": {"type": "number"}},
                "additionalProperties": {"type": "number"},
            },
            "unique": {"type": ["boolean", "null"], "default": None},
        },
        "required": ["keys"],
        "anyOf": [{"required": ["filter"]}, {"required": ["weights"]}],
    },
    description="Create an index for a collection.",
)

#: Definitions that refer to each other: as made from an OpenAPI document.
POST_PAGE = tool(
    "API-post-page",
    {
        "$defs": {
            "richText": {
                "type": "object",
                "properties": {
                    "content": {"type": "string", "maxLength": 2000},
                    "link": {"type": ["string", "null"], "format": "uri"},
                },
                "required": ["content"],
            },
            "block": {
                "type": "object",
                "description": "A block of a page.",
                "properties": {
                    "text": {"type": "array", "items": {"$ref": "#/$defs/richText"}},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/block"}},
                    "parent": {"$ref": "#/$defs/page"},
                },
            },
            "page": {
                "allOf": [
                    {"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}}, "required": ["id"]},
                    {"properties": {"blocks": {"type": "array", "items": {"$ref": "#/$defs/block"}}}},
                ]
            },
        },
        "properties": {
            "parent": {"$ref": "#/$defs/page"},
            "children": {"type": "array", "maxItems": 100, "items": {"$ref": "#/$defs/block"}},
        },
        "required": ["parent"],
    },
    description="Create a page",
)

#: What a service promises about its answers.
BLOCKS = tool(
    "list_blocks",
    {"properties": {"page_id": TEXT, "archived": {"type": "boolean", "deprecated": True}}, "required": ["page_id"]},
    outputSchema={
        "type": "array",
        "items": {"type": "object", "properties": {"id": TEXT, "next": nullable(TEXT)}, "required": ["id"]},
    },
)

#: Titles on everything, and nulls for what is not there: as from Pydantic.
SEARCH_TRIALS = tool(
    "trial_searcher",
    {
        "$defs": {
            "Phase": {
                "enum": ["EARLY_PHASE1", "PHASE1"],
                "title": "Phase",
                "type": "string",
                "description": "Phase of a trial.",
            }
        },
        "properties": {
            "conditions": nullable(
                {"items": TEXT, "type": "array"}, default=None, title="Conditions", description="What is treated."
            ),
            "phase": nullable({"$ref": "#/$defs/Phase"}, default=None),
            "min_age": nullable({"type": "number", "minimum": 0}, default=None, title="Min Age"),
            "page_size": {"type": "integer", "default": 40, "minimum": 1, "maximum": 1000, "title": "Page Size"},
            "sort": {"default": "", "title": "By what", "type": "string", "examples": ["EnrollmentCount:desc"]},
        },
        "title": "trial_searcherArguments",
    },
    description="Search for clinical trials.",
    outputSchema={
        "properties": {"result": {"title": "Result", "type": "string"}},
        "required": ["result"],
        "type": "object",
        "x-fastmcp-wrap-result": True,
    },
)

#: A whole number that is large, records, formats with patterns: as from Zod 4.
CREATE_TASK = tool(
    "create-todo-task",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {
            "id": {"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991},
            "email": {
                "type": "string",
                "format": "email",
                "pattern": "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
            },
            "labels": {"type": "object", "propertyNames": TEXT, "additionalProperties": TEXT},
            "pair": {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "items": False, "minItems": 2},
            "priority": {"anyOf": [{"type": "number", "const": 0}, {"type": "number", "const": 1}]},
            "never": {"not": {}},
        },
        "required": ["id"],
        "additionalProperties": False,
    },
)

#: Nothing to say.
PING = tool("ping", {"properties": {}}, title="Is it there?")

#: A text that its server wraps, as libraries of Python do.
PRICES = tool(
    "get_prices",
    {"properties": {"symbol": TEXT}, "required": ["symbol"]},
    description="Prices as JSON.",
    outputSchema={
        "type": "object",
        "properties": {"result": {"title": "Result", "type": "string"}},
        "required": ["result"],
        "x-fastmcp-wrap-result": True,
    },
)

TOOLS = [
    WRITE_ISSUE, SEARCH_REPOSITORIES, CREATE_RELATIONS, REGISTRY_LIST, STATIC_MAP, CREATE_INDEX, POST_PAGE, BLOCKS,
    SEARCH_TRIALS, CREATE_TASK, PING, PRICES,
]  # fmt: skip
