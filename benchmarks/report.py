"""The table, the verdicts and the plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plan import EXACT, LIMITS, PEERS, SANDBOX_COST, TARGETS
from pool import BUBBLEWRAP, OURS, SANDBOXES, SRT, Pool

HEADINGS = {
    OURS: "ours",
    BUBBLEWRAP: "bubblewrap",
    SRT: "srt",
    "original": "original",
    "original_nodelay": "nodelay",
    "jupyter_client": "jupyter",
}


def number(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 10_000:
        return f"{value:.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.1f}"


def figure(pool: Pool, name: str, measurer: str) -> str:
    """`>` where calls hang, `!` where output is lost."""
    text = number(pool.value(name, measurer))
    if text == "-":
        return text
    lost = not pool.is_amount(name) and not pool.is_complete(name, measurer)
    return ">" * pool.hangs(name, measurer) + text + "!" * lost


def table(pool: Pool) -> str:
    others = (*SANDBOXES, *PEERS)
    head = [f"{'metric':30}{'unit':8}"] + [f"{heading:>12}" for heading in HEADINGS.values()] + [f"{'n':>7}  "]
    lines = ["".join(head) + "".join(f"{'/' + HEADINGS[who]:>12}" for who in others)]
    for name in pool.metrics:
        figures = [f"{figure(pool, name, who):>12}" for who in HEADINGS]
        ratios = [f"{number(pool.ratio(name, who)):>12}" for who in others]
        lines.append(f"{name:30}{pool.unit(name):8}{''.join(figures)}{pool.samples(name, OURS):7}  {''.join(ratios)}")
    legend = "/peer: the peer's median over ours. > hangs, stopped after 15 s. ! output lost: nothing to compare."
    return "\n".join([*lines, legend])


def verdicts(pool: Pool) -> list[tuple[bool, str]]:
    """Each target that was measured: whether it is met, and a sentence."""
    found = []
    for (name, peer), least in TARGETS.items():
        ratio = pool.ratio(name, peer) if name in pool.metrics else None
        if ratio is not None:
            found.append((ratio >= least, f"{name}: {number(ratio)}x {HEADINGS[peer]}, asked for {number(least)}x"))
    for name, most in LIMITS.items():
        for measurer in (OURS, *SANDBOXES):
            value = pool.value(name, measurer)
            if value is not None:
                sentence = f"{name}, {HEADINGS[measurer]}: {number(value)} {pool.unit(name)}, at most {number(most)}"
                found.append((value <= most, sentence))
    for name, asked in EXACT.items():
        for measurer in (OURS, *SANDBOXES):
            value = pool.value(name, measurer)
            if value is not None:
                count = pool.samples(name, measurer)
                found.append((value == asked, f"{name}, {HEADINGS[measurer]}: {number(value)} in {count} samples"))
    return found


def sandbox_costs(pool: Pool, sandbox: str) -> list[str]:
    """Where a sandbox costs more than bubblewrap may."""
    ratios = {name: pool.ratio(name, sandbox) for name in pool.metrics}
    return [f"{name} {number(ratio)}x" for name, ratio in ratios.items() if ratio is not None and ratio > SANDBOX_COST]


def summary(pool: Pool) -> str:
    lines = [f"{'met   ' if met else 'MISSED'}  {sentence}" for met, sentence in verdicts(pool)]
    for sandbox in SANDBOXES:
        beyond = ", ".join(sandbox_costs(pool, sandbox)) or "none"
        lines.append(f"{sandbox} costs more than {SANDBOX_COST - 1:.0%}: {beyond}")
    return "\n".join(lines)


def plot(pool: Pool, file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [name for name in pool.metrics if any(pool.ratio(name, peer) for peer in PEERS)][::-1]
    height = 1.5 + 0.45 * len(names)
    picture, axes = pyplot.subplots(figsize=(10, height), layout="constrained")
    for lane, peer in enumerate(PEERS):
        draw_peer(axes, pool, names, peer, lane)
    axes.plot([], [], "k|", markersize=9, markeredgewidth=2, label="target")
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlabel("median of the peer / median of ipybox for C++ (log scale, more is better)")
    axes.grid(axis="x", alpha=0.3)
    picture.legend(loc="outside upper center", ncols=4, frameon=False)
    picture.savefig(file, dpi=110)
    pyplot.close(picture)


def draw_peer(axes: Any, pool: Pool, names: list[str], peer: str, lane: int) -> None:
    """The bars of one peer, and marks where its targets are."""
    thickness = 0.8 / len(PEERS)
    places, ratios = [], []
    for row, name in enumerate(names):
        ratio = pool.ratio(name, peer)
        if ratio is None:
            continue
        places.append(row + 0.4 - (lane + 0.5) * thickness)
        ratios.append(ratio)
        if (name, peer) in TARGETS:
            axes.plot(TARGETS[name, peer], places[-1], "k|", markersize=9, markeredgewidth=2)
    bars = axes.barh(places, ratios, thickness, label=peer.replace("_", " "))
    axes.bar_label(bars, [f" {number(ratio)}" for ratio in ratios], fontsize=7)
