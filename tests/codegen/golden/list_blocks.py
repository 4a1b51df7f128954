from __future__ import annotations

from . import CLIENT
from ._mcp import Model, UNSET, to_result, tool


class Params(Model):
    page_id: str
    archived: bool = UNSET
    """Deprecated."""


class Item(Model):
    id: str
    next: str | None = None


Result = list[Item]


@tool
def run(params: Params) -> Result:
    """Call the tool list_blocks."""
    return to_result(Result, CLIENT.run_sync("list_blocks", params.to_arguments()))


@tool
async def arun(params: Params) -> Result:
    """run() for await: calls run beside each other."""
    return to_result(Result, await CLIENT.run("list_blocks", params.to_arguments()))
