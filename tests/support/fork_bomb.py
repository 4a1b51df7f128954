"""Code that starts processes until the system allows no more, and says how many it has started."""

from __future__ import annotations


def fork_bomb(most: int = 1000) -> str:
    """So many processes at most, each of which lives on. It prints their number."""
    return f"""
import os, time
count = 0
try:
    while count < {most}:
        if not os.fork():
            time.sleep(1000)
        count += 1
except BlockingIOError:
    pass
print(count)
"""
