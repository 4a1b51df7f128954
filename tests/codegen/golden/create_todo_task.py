from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from . import CLIENT
from ._mcp import Model, UNSET, to_text, tool
from ._schema import Schema, schema_of

_params = schema_of("create-todo-task", "inputSchema")


class Params(Model, extra="forbid"):
    id: int = Field(ge=-9007199254740991, le=9007199254740991)
    email: Annotated[str, _params("#/properties/email")] = UNSET
    """Format: email."""
    labels: dict[str, str] = UNSET
    pair: Annotated[tuple[str, int], Field(strict=False)] = UNSET
    priority: Annotated[Literal[0], Schema(enum=[0])] | Annotated[Literal[1], Schema(enum=[1])] = UNSET
    never: Annotated[Any, Schema(False)] = UNSET


@tool
def run(params: Params) -> str:
    """Call the tool create-todo-task."""
    return to_text(CLIENT.run_sync("create-todo-task", params.to_arguments()))


@tool
async def arun(params: Params) -> str:
    """run() for await: calls run beside each other."""
    return to_text(await CLIENT.run("create-todo-task", params.to_arguments()))
