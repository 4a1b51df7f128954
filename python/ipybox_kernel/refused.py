"""Requests that cannot be done."""

from __future__ import annotations


class Refused(Exception):
    """A request that cannot be done, and the kind of the error that answers it."""

    def __init__(self, kind: str, text: str, **details: object) -> None:
        super().__init__(text)
        self.error = {"kind": kind, "text": text, **details}
