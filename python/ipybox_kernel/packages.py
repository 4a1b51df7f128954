"""The layer of packages that the host fills: a directory behind everything else that modules are imported from."""

from __future__ import annotations

import sys

#: None where there is none.
layer: str | None = None


def add(directory: str | None) -> None:
    """Lets this process, and what it forks, import from the layer."""
    global layer
    if directory:
        layer = directory
        sys.path.append(directory)
