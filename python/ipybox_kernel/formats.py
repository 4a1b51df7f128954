"""Representations of plain values, found without asking every formatter."""

from __future__ import annotations

from functools import partial
from typing import Any

from ipybox_kernel.tracebacks import Tracebacks

PLAIN = frozenset({int, float, complex, bool, str, bytes})


class PlainFormats:
    """Goes before the display formatter's ``format``.

    It asks a dozen formatters about each value. The built-in scalars have no ``_repr_*_`` methods and cannot get any:
    as long as nothing is registered with one of these formatters, ``text/plain`` is all there will be.
    """

    def __init__(self, formatter: Any, tracebacks: Tracebacks) -> None:
        self.formatter = formatter
        self.tracebacks = tracebacks
        self.ask = formatter.format
        self.plain = formatter.formatters["text/plain"]
        self.others = [kind for kind in formatter.formatters.values() if kind is not self.plain]
        self.others += [formatter.ipython_display_formatter, formatter.mimebundle_formatter]
        self.kinds = len(formatter.formatters)
        self.registered = self._registered()
        formatter.format = self.format

    def format(self, value: Any, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """As ``DisplayFormatter.format``."""
        return self.tracebacks.repeated(partial(self.representations, value, include, exclude))

    def representations(self, value: Any, include: Any, exclude: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if type(value) not in PLAIN or include or exclude or not self._untouched():
            return self.ask(value, include=include, exclude=exclude)  # type: ignore[no-any-return]
        text = self.plain(value)
        return ({} if text is None else {"text/plain": text}), {}

    def _untouched(self) -> bool:
        formatters = self.formatter.formatters
        return (
            len(formatters) == self.kinds
            and formatters.get("text/plain") is self.plain
            and self._registered() == self.registered
        )

    def _registered(self) -> int:
        return sum(
            len(kind.type_printers) + len(kind.deferred_printers) + len(kind.singleton_printers) for kind in self.others
        )
