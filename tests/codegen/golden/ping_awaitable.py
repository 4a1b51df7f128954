from __future__ import annotations

from . import CLIENT
from ._mcp import Model, to_text


class Params(Model):
    pass


async def run(params: Params = Params()) -> str:
    """Is it there?"""
    return to_text(await CLIENT.run(tool_name="ping", tool_args=params.to_arguments()))
