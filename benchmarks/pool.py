"""Samples of all rounds, by metric and by who measured them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

OURS = "ours"
BUBBLEWRAP = "bubblewrap"
SRT = "srt"
SANDBOXES = (BUBBLEWRAP, SRT)  #: ours in one of them
AMOUNTS = ("lines", "bytes", "tools")
RATES = ("calls/s",)


@dataclass
class Series:
    unit: str = ""
    samples: list[float] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)

    def add(self, report: dict[str, Any]) -> None:
        self.unit = report["unit"] or self.unit
        self.samples += report["samples"]
        self.notes |= {report["note"]} - {""}

    @property
    def value(self) -> float | None:
        """The median; of zeros and ones, and of amounts that must not vary, what tells more."""
        if not self.samples:
            return None
        if self.unit == "share":
            return statistics.mean(self.samples)
        if self.unit in AMOUNTS:
            return min(self.samples)
        return statistics.median(self.samples)

    @property
    def hangs(self) -> bool:
        return any("hangs" in note for note in self.notes)


class Pool:
    """Measurers are `ours`, `bubblewrap` and `srt` (ours in that sandbox) and the peers."""

    def __init__(self) -> None:
        self.metrics: dict[str, dict[str, Series]] = {}

    def add(self, measurer: str, report: dict[str, dict[str, Any]]) -> None:
        for name, figures in report.items():
            if name != "environment":
                self.metrics.setdefault(name, {}).setdefault(measurer, Series()).add(figures)

    def value(self, name: str, measurer: str) -> float | None:
        series = self.metrics.get(name, {}).get(measurer)
        return series.value if series else None

    def samples(self, name: str, measurer: str) -> int:
        series = self.metrics.get(name, {}).get(measurer)
        return len(series.samples) if series else 0

    def unit(self, name: str) -> str:
        return next((series.unit for series in self.metrics[name].values() if series.unit), "")

    def is_amount(self, name: str) -> bool:
        return self.unit(name) in ("share", *AMOUNTS)

    def is_complete(self, name: str, measurer: str) -> bool:
        """Whether all output arrived that ours received; a time for lost output compares with nothing."""
        ours, theirs = (self.value(f"{name}_received", who) for who in (OURS, measurer))
        return ours is None or (theirs is not None and theirs >= ours)

    def hangs(self, name: str, measurer: str) -> bool:
        series = self.metrics.get(name, {}).get(measurer)
        return series is not None and series.hangs

    def ratio(self, name: str, measurer: str) -> float | None:
        """The other's value over ours, or ours over the other's rate, where that says how much better ours is."""
        ours, theirs = self.value(name, OURS), self.value(name, measurer)
        if not ours or not theirs or self.is_amount(name) or not self.is_complete(name, measurer):
            return None
        return ours / theirs if self.unit(name) in RATES else theirs / ours

    def to_json(self) -> dict[str, Any]:
        """Ours in a sandbox are metrics of their own, NAME_bubblewrap and NAME_srt."""
        document: dict[str, Any] = {}
        for name, measurers in self.metrics.items():
            values = {who: self.value(name, who) for who in (OURS, "original", "original_nodelay", "jupyter_client")}
            document[name] = {"unit": self.unit(name), **values, "n": self.samples(name, OURS)}
            for sandbox in SANDBOXES:
                if sandbox in measurers:
                    document[f"{name}_{sandbox}"] = {
                        "unit": self.unit(name),
                        **dict.fromkeys(values),
                        OURS: self.value(name, sandbox),
                        "n": self.samples(name, sandbox),
                    }
        return document

    def details(self) -> dict[str, Any]:
        return {
            name: {who: {"samples": series.samples, "notes": sorted(series.notes)} for who, series in measurers.items()}
            for name, measurers in self.metrics.items()
        }
