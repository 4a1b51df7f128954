from __future__ import annotations

from typing import Literal

from pydantic import Field

from . import CLIENT
from ._mcp import Model, UNSET, to_text, tool


class Params(Model):
    query: str
    """What to look for."""
    order: Literal["asc", "desc"] = UNSET
    """Sort order"""
    page: int | float = Field(UNSET, ge=1)


@tool
def run(params: Params) -> str:
    """Find repositories.

    Read-only.
    """
    return to_text(CLIENT.run_sync("search_repositories", params.to_arguments()))


@tool
async def arun(params: Params) -> str:
    """run() for await: calls run beside each other."""
    return to_text(await CLIENT.run("search_repositories", params.to_arguments()))
