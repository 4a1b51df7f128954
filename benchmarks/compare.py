"""Measures this revision beside an earlier one, in turns. `./dev bench --before REVISION` builds both and starts it."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plan import GROUPS, Group
from pool import AMOUNTS, BUBBLEWRAP, OURS, RATES, SANDBOXES, SRT, Series
from run import MINE, Measurer, say

WORSE = 1.05  # times the earlier revision's value: more is pointed out
MISSING = {"unit": "", "samples": [], "note": ""}


@dataclass
class Side:
    """One revision's samples, by metric."""

    measurer: Measurer
    series: dict[str, Series] = field(default_factory=dict)

    def measure(self, metrics: tuple[str, ...]) -> None:
        report = self.measurer.measure(metrics, 1)
        for name in metrics:
            self.series.setdefault(name, Series()).add(report.get(name, MISSING))


def sides(before: Path, sandbox: str) -> tuple[Side, Side]:
    inside = ["--sandbox", sandbox] if sandbox in SANDBOXES else []
    now = Measurer("now", [*MINE, *inside])
    then = Measurer("before", [str(before), *MINE[1:], *inside])
    return Side(now), Side(then)


def worse(now: Series, then: Series) -> float | None:
    """How many times as much this revision takes; above 1 is worse."""
    if not now.value or not then.value:
        return None
    if now.unit in RATES or now.unit in ("share", *AMOUNTS):
        return then.value / now.value
    return now.value / then.value


def spread(series: Series) -> str:
    """Half of the samples are within this."""
    if len(series.samples) < 4:
        return ""
    low, _, high = statistics.quantiles(series.samples, n=4)
    return f"{low:.3g}..{high:.3g}"


def figures(now: Series, then: Series) -> dict[str, Any]:
    return {
        "unit": now.unit or then.unit,
        "before": then.value,
        "now": now.value,
        "ratio": worse(now, then),
        "n": len(now.samples),
    }


def row(name: str, figure: dict[str, Any], now: Series, then: Series) -> tuple[str, bool]:
    ratio = figure["ratio"]
    values = [f"{value:.4g}" if value is not None else "-" for value in (figure["before"], figure["now"])]
    is_worse = ratio is not None and ratio > WORSE
    text = f"{name:36}{figure['unit']:8}{values[0]:>10}{values[1]:>10}"
    text += f"{f'{ratio:.3f}' if ratio else '-':>8}{' WORSE' if is_worse else '':7}"
    return f"{text}{figure['n']:4}  {spread(then):20} {spread(now)}", is_worse


@dataclass
class Findings:
    """Metrics of which something is to be said."""

    worse: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)  #: of each sandbox, by metric


def compare(before: Path, groups: list[Group], rounds: int, sandbox: str, findings: Findings) -> None:
    now, then = sides(before, sandbox)
    for turn in range(rounds):
        for group in groups:
            if sandbox == SRT and not group.srt:
                continue
            say(f"{sandbox}, round {turn + 1} of {rounds}, {group.metrics[0]} …")
            for side in (now, then, then, now) if turn % 2 else (then, now, now, then):
                side.measure(group.metrics)
    head = f"{f'[{sandbox}] metric':36}{'unit':8}{'before':>10}{'now':>10}{'ratio':>8}{'':7}{'n':>4}  quartiles"
    print(head)
    for name in now.series:
        figure = figures(now.series[name], then.series[name])
        text, is_worse = row(name, figure, now.series[name], then.series[name])
        print(text, flush=True)
        findings.figures.setdefault(sandbox, {})[name] = figure
        if is_worse:
            findings.worse.append(f"{name} ({sandbox})")
        if not now.series[name].samples or not then.series[name].samples:
            findings.missing.append(f"{name} ({sandbox})")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench --before REVISION", description=__doc__)
    parser.add_argument("before", type=Path, metavar="BENCH_OURS", help="the earlier revision's program")
    parser.add_argument("--only", default="*", metavar="NAME,…", help="metrics to measure; wildcards allowed")
    parser.add_argument("--rounds", type=int, default=2, help="of four runs each")
    parser.add_argument(
        "--sandbox",
        choices=[OURS, *SANDBOXES],
        action="append",
        help="ours: without one; default: ours and bubblewrap",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    return parser.parse_args()


def main() -> Any:
    options = parse_arguments()
    groups = [group.only(options.only.split(",")) for group in GROUPS]
    groups = [group for group in groups if group.metrics]
    findings = Findings()
    for sandbox in options.sandbox or [OURS, BUBBLEWRAP]:
        compare(options.before, groups, options.rounds, sandbox, findings)
    if options.json:
        options.json.write_text(json.dumps(findings.figures, indent=1) + "\n")
    print(f"worse by more than {WORSE - 1:.0%}: {', '.join(findings.worse) or 'none'}")
    print(f"not measured: {', '.join(findings.missing) or 'none'}")
    return 1 if findings.missing else 0


if __name__ == "__main__":
    sys.exit(main())
