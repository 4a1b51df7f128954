"""``exit()`` and ``sys.exit()``: how a cell leaves, and with what exit code."""

from __future__ import annotations

import sys
from typing import Any

from ipykernel.zmqshell import ZMQExitAutocall


class Exit(ZMQExitAutocall):
    """``exit`` and ``quit``: the cell ends here, and the kernel behind its reply."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.status: object = None

    def __call__(self, code: object = None, keep_kernel: bool = False) -> None:  # type: ignore[override]
        """Leaves with a code, as Python's ``exit`` does; with a text, which is shown, it is 1.

        ``exit(True)`` and ``exit(keep_kernel=True)`` keep the kernel, as ipykernel has it.
        """
        if keep_kernel or code is True:
            super().__call__(keep_kernel=True)
            return
        self.status = code
        if exit_text(code):
            print(code, file=sys.stderr)
        super().__call__()
        raise SystemExit(code)


def exit_code(code: object) -> int:
    """The exit code for the argument of ``exit``."""
    if code is None:
        return 0
    return int(code) & 0xFF if isinstance(code, int) else 1


def exit_text(code: object) -> bool:
    """Whether an argument of ``exit`` is shown, and is no code."""
    return code is not None and not isinstance(code, int)
