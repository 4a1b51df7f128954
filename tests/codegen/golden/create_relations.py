from __future__ import annotations

from pydantic import Field

from . import CLIENT
from ._mcp import Model, to_result, tool


class Relation(Model, extra="forbid"):
    from_: str = Field(alias="from")
    """The entity where the relation starts"""
    to: str
    """The entity where it ends"""
    relationType: str


class Params(Model, extra="forbid"):
    relations: list[Relation]


class ResultRelation(Model, extra="forbid"):
    from_: str = Field(alias="from")
    """The entity where the relation starts"""
    to: str
    """The entity where it ends"""
    relationType: str


class Result(Model):
    relations: list[ResultRelation]


@tool
def run(params: Params) -> Result:
    """Create relations between entities. Relations should be in active voice"""
    return to_result(Result, CLIENT.run_sync("create_relations", params.to_arguments()))


@tool
async def arun(params: Params) -> Result:
    """run() for await: calls run beside each other."""
    return to_result(Result, await CLIENT.run("create_relations", params.to_arguments()))
