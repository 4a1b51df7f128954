from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from . import CLIENT
from ._mcp import Model, UNSET, to_text, tool
from ._schema import Schema, rule


class Filter(Model, more=True):
    vectorSearch: Any = Field(UNSET, alias="$vectorSearch")


class Weights(Model):
    default: int | float = UNSET
    __pydantic_extra__: dict[str, int | float]


@rule(Schema(anyOf=[{"required": ["filter"]}, {"required": ["weights"]}]))
class Params(Model):
    keys: dict[str, Annotated[Literal[1, -1], Schema(enum=[1, -1])] | Literal["text"]] = Field(min_length=1)
    filter: Filter = UNSET
    weights: Weights = UNSET
    unique: bool | None = None


@tool
def run(params: Params) -> str:
    """Create an index for a collection."""
    return to_text(CLIENT.run_sync("create-index", params.to_arguments()))


@tool
async def arun(params: Params) -> str:
    """run() for await: calls run beside each other."""
    return to_text(await CLIENT.run("create-index", params.to_arguments()))
