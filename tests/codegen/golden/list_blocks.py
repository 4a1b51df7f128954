from __future__ import annotations

from . import CLIENT
from ._mcp import Model, UNSET, to_result


class Params(Model):
    page_id: str
    archived: bool = UNSET
    """Deprecated."""


class Item(Model):
    id: str
    next: str | None = None


Result = list[Item]


def run(params: Params) -> Result:
    """Call the tool list_blocks."""
    return to_result(Result, CLIENT.run_sync(tool_name="list_blocks", tool_args=params.to_arguments()))
