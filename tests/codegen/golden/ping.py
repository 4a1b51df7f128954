from __future__ import annotations

from . import CLIENT
from ._mcp import Model, to_text, tool


class Params(Model):
    pass


@tool
def run(params: Params = Params()) -> str:
    """Is it there?"""
    return to_text(CLIENT.run_sync("ping", params.to_arguments()))


@tool
async def arun(params: Params = Params()) -> str:
    """run() for await: calls run beside each other."""
    return to_text(await CLIENT.run("ping", params.to_arguments()))
