from __future__ import annotations

from pydantic import Field

from . import CLIENT
from ._mcp import Model, UNSET, to_text, tool


class RichText(Model):
    content: str = Field(max_length=2000)
    link: str | None = UNSET
    """Format: uri."""


class Block(Model):
    """A block of a page."""

    text: list[RichText] = UNSET
    children: list[Block] = UNSET
    parent: Page = UNSET


class Page(Model):
    id: str
    """Format: uuid."""
    blocks: list[Block] = UNSET


Block.model_rebuild()
Page.model_rebuild()


class Params(Model):
    parent: Page
    children: list[Block] = Field(UNSET, max_length=100)


@tool
def run(params: Params) -> str:
    """Create a page"""
    return to_text(CLIENT.run_sync("API-post-page", params.to_arguments()))


@tool
async def arun(params: Params) -> str:
    """run() for await: calls run beside each other."""
    return to_text(await CLIENT.run("API-post-page", params.to_arguments()))
