"""``breakpoint()``: stops in code of cells, and not in what runs them."""

from __future__ import annotations

import os
import sys
from typing import Any

MACHINERY = ("IPython.*", "ipykernel.*", "ipybox_kernel.*", "asyncio.*")


def stop(*arguments: Any, **options: Any) -> Any:
    """Takes the place of ``sys.breakpointhook``; PYTHONBREAKPOINT counts as ever."""
    if "PYTHONBREAKPOINT" in os.environ:
        return sys.__breakpointhook__(*arguments, **options)
    import pdb

    # With a handler of its own for SIGINT it would take the host's interrupts.
    pdb.Pdb(skip=MACHINERY, nosigint=True).set_trace(sys._getframe(1))
    return None
