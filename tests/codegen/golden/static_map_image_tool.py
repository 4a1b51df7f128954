from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from . import CLIENT
from ._mcp import Model, UNSET, to_text, tool
from ._schema import Schema


class Size(Model):
    width: int | float = 600
    height: int | float = 400


class MarkerOverlay(Model, extra="forbid"):
    type: Literal["marker"]
    position: Annotated[tuple[Annotated[int | float, Field(ge=-180, le=180)], int | float], Field(strict=False)]
    color: Annotated[str, Schema(pattern="^[0-9a-fA-F]{6}$")] = UNSET


class GeojsonOverlay(Model):
    type: Literal["geojson"]
    data: Any
    """The GeoJSON data"""
    fill_opacity: int | float = Field(UNSET, alias="fill-opacity", ge=0, le=1)


class Params(Model):
    center: Annotated[tuple[Annotated[int | float, Field(ge=-180, le=180)], int | float], Field(strict=False)]
    zoom: int | float = Field(ge=0, le=22)
    size: Size = UNSET
    """Default: {"width": 600, "height": 400}."""
    overlays: list[MarkerOverlay | GeojsonOverlay] = UNSET


@tool
def run(params: Params) -> str:
    """Generate a static map image."""
    return to_text(CLIENT.run_sync("static_map_image_tool", params.to_arguments()))


@tool
async def arun(params: Params) -> str:
    """run() for await: calls run beside each other."""
    return to_text(await CLIENT.run("static_map_image_tool", params.to_arguments()))
