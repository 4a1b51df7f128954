"""Paths as texts, without a look at the files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def lies_in(path: str, places: Iterable[str]) -> bool:
    """Whether a path is one of these places, or lies in one."""
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)
