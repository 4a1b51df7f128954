from __future__ import annotations

from . import CLIENT
from ._mcp import Model, to_text, tool


class Params(Model):
    pass


@tool
def run(params: Params = Params()) -> str:
    """Is it there?"""
    return to_text(CLIENT.run_sync("ping", params.to_arguments()))
