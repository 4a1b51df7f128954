"""The layer of packages that the host fills: a directory behind everything else that modules are imported from."""

from __future__ import annotations

import sys

#: None where there is none. The supervisor itself imports nothing from it: that is code of others.
layer: str | None = None


def add() -> None:
    """Lets this process, a kernel, import from the layer."""
    if layer:
        sys.path.append(layer)
