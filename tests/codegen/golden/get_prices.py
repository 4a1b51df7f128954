from __future__ import annotations

from . import CLIENT
from ._mcp import Model, to_result, tool, unwrapped


class Params(Model):
    symbol: str


@tool
def run(params: Params) -> str:
    """Prices as JSON."""
    return to_result(str, unwrapped(CLIENT.run_sync("get_prices", params.to_arguments())))


@tool
async def arun(params: Params) -> str:
    """run() for await: calls run beside each other."""
    return to_result(str, unwrapped(await CLIENT.run("get_prices", params.to_arguments())))
