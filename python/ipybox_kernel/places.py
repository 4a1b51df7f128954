"""The files that the sandbox is meant to have: a directory may have been exchanged while it was being made."""

from __future__ import annotations

import json
import os
import sys
from socket import socket


def check(places: list[tuple[str, int, int]], control: socket) -> None:
    """Ends everything where the sandbox has other files by these paths than it was meant to have."""
    for path, device, number in places:
        if is_exchanged(path, device, number):
            text = f"{path} was exchanged for something else while the sandbox was being made; start again"
            event = {"event": "failed", "kind": "places", "executable": sys.executable, "text": text}
            control.send(json.dumps(event, ensure_ascii=False).encode(errors="replace"))
            os._exit(1)


def is_exchanged(path: str, device: int, number: int) -> bool:
    """Whether another file is there. Code may not look at anything that this process may not."""
    try:
        found = os.stat(path)
    except PermissionError:
        return False
    except OSError:
        return True
    return (found.st_dev, found.st_ino) != (device, number)
