from __future__ import annotations

from typing import Literal

from pydantic import Field

from . import CLIENT
from ._mcp import Model, UNSET, to_text, tool


class Params(Model):
    method: Literal["create", "update"]
    """Write operation to perform. Options are: - 'create' - 'update'"""
    owner: str
    """Repository owner"""
    assignees: list[str] = UNSET
    """Usernames to assign to this issue"""
    issue_number: int | float = UNSET
    """Issue number to update"""
    labels: list[str] = UNSET
    milestone: int = Field(UNSET, ge=1)
    """Milestone number"""
    state: Literal["open", "closed"] = UNSET
    """"open": Open. "closed": Done or not wanted."""
    type: str | None = UNSET
    """Type of this issue. Pass null to remove it."""


@tool
def run(params: Params) -> str:
    """Create a new or update an existing issue in a repository.

    Destructive.
    """
    return to_text(CLIENT.run_sync("issue_write", params.to_arguments()))


@tool
async def arun(params: Params) -> str:
    """run() for await: calls run beside each other."""
    return to_text(await CLIENT.run("issue_write", params.to_arguments()))
