from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import CLIENT
from ._mcp import Model, to_result, tool, unwrapped


class Params(Model):
    conditions: list[str] | None = None
    """What is treated."""
    phase: Literal["EARLY_PHASE1", "PHASE1"] | None = None
    """Phase of a trial."""
    min_age: Annotated[int | float, Field(ge=0)] | None = None
    page_size: int = Field(40, ge=1, le=1000)
    sort: str = ""
    """By what. Examples: "EnrollmentCount:desc"."""


@tool
def run(params: Params = Params()) -> str:
    """Search for clinical trials."""
    return to_result(str, unwrapped(CLIENT.run_sync("trial_searcher", params.to_arguments())))


@tool
async def arun(params: Params = Params()) -> str:
    """run() for await: calls run beside each other."""
    return to_result(str, unwrapped(await CLIENT.run("trial_searcher", params.to_arguments())))
