"""Measures ipybox for C++ and its peers in turns. `./dev bench` makes what this needs and starts it."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import compile_cost
import report
from plan import FULL, GROUPS, QUICK, Group, Scale
from pool import BUBBLEWRAP, OURS, SRT, Pool

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BENCH_OURS = ROOT / "build/release/bench/bench_ours"
IPYBOX = ROOT / "build/release/bin/ipybox"
ORIGINAL = ROOT / ".venvs/bench-original/bin/python"
JUPYTER_CLIENT = ROOT / ".venvs/bench-jupyter-client/bin/python"
SRT_PROGRAMS = ROOT / ".node/srt/node_modules/.bin"
FILESYSTEM_SERVER = ROOT / ".node/mcp/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
LIMIT = 600  # seconds that one measuring program may take
VERSIONS = ("ipybox", "jupyter_client", "ipykernel", "ipython", "pyzmq", "tornado")

T = TypeVar("T")


def measuring_environment() -> dict[str, str]:
    """All kernels, ours and the bare one, have the same packages; srt is the one that tests run."""
    return os.environ | {"IPYBOX_PYTHON": str(JUPYTER_CLIENT), "PATH": f"{SRT_PROGRAMS}:{os.environ['PATH']}"}


@dataclass(frozen=True)
class Measurer:
    """A program that measures some metrics and writes `{name: {"unit", "samples", "note"}}`."""

    name: str
    command: list[str]
    prefix: str = ""  #: in front of its metrics' names

    def measure(self, metrics: tuple[str, ...], repeat: int) -> dict[str, dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder, "samples.json")
            names = ",".join(self.prefix + name for name in metrics)
            command = [*self.command, "--repeat", str(repeat), "--only", names, "--json", str(output)]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LIMIT, env=measuring_environment(), check=False
            )
            if not output.exists():
                raise RuntimeError(f"{self.name} failed: {done.stdout}{done.stderr}")
            return {name.removeprefix(self.prefix): figures for name, figures in json.loads(output.read_text()).items()}


THEIRS = [str(ORIGINAL), str(HERE / "peers/bench_original.py"), "--filesystem-server", str(FILESYSTEM_SERVER)]
MINE = [
    *(str(BENCH_OURS), "--benchmarks", str(HERE)),
    *("--server-python", str(ORIGINAL), "--filesystem-server", str(FILESYSTEM_SERVER)),
]
OUR_MEASURERS = [
    Measurer(OURS, MINE),
    Measurer(BUBBLEWRAP, [*MINE, "--sandbox", "bubblewrap"]),
    Measurer(SRT, [*MINE, "--sandbox", "srt"]),
]
PEER_MEASURERS = [
    Measurer("original", THEIRS),
    Measurer("original_nodelay", [*THEIRS, "--nodelay"]),
    Measurer(
        "jupyter_client",
        [str(JUPYTER_CLIENT), str(HERE / "peers/bench_jupyter_client.py"), "--transport", "ipc"],
        prefix="ipc_",
    ),
]


MCP = [sys.executable, str(HERE / "peers/bench_mcp.py"), "--server"]
MCP_MEASURERS = [
    *(
        Measurer(name, [*MCP, json.dumps([str(IPYBOX), "mcp", "--sandbox", sandbox])])
        for name, sandbox in ((OURS, "none"), (BUBBLEWRAP, "bubblewrap"))
    ),
    Measurer("original", [*MCP, json.dumps([str(ORIGINAL.parent / "ipybox")])]),
]


def say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def rotated(items: list[T], turns: int) -> list[T]:
    first = turns % len(items)
    return items[first:] + items[:first]


def measure_group(group: Group, turn: int, scale: Scale, pool: Pool) -> None:
    """Lets everybody measure a group; who begins changes from round to round.

    The cost of a sandbox is less than a machine's moods: ours take turns with each and without.
    """
    all_peers, all_ours = (MCP_MEASURERS[2:], MCP_MEASURERS[:2]) if group.mcp else (PEER_MEASURERS, OUR_MEASURERS)
    peers = [[measurer] for measurer in all_peers if measurer.name in group.peers]
    ours = [measurer for measurer in all_ours if measurer.name != SRT or group.srt]
    parties = [rotated(ours, turn) * scale.repeat, *peers]
    for measurer in chain(*rotated(parties, turn)):
        begin = time.perf_counter()
        repeat = 1 if group.once or measurer in ours else scale.repeat
        pool.add(measurer.name, measurer.measure(group.metrics, repeat))
        say(f"  {measurer.name} {time.perf_counter() - begin:.1f} s", end="")


def measure(groups: list[Group], quick: bool, pool: Pool) -> None:
    scale = QUICK if quick else FULL
    for turn in range(scale.rounds):
        for group in groups:
            if turn >= group.rounds(quick):
                continue
            say(f"round {turn + 1} of {scale.rounds}, {group.metrics[0]} …", end="")
            measure_group(group, turn, scale, pool)
            say("")


def chosen_groups(quick: bool, patterns: list[str]) -> list[Group]:
    groups = [group.only(patterns) for group in GROUPS if group.quick or not quick]
    return [group for group in groups if group.metrics]


def versions(python: Path) -> dict[str, str]:
    """Of the packages in an environment, by name."""
    query = (
        "import importlib.metadata as m, json, sys\n"
        "found = {d.metadata['Name']: d.version for d in m.distributions()}\n"
        "print(json.dumps({name: found[name] for name in sys.argv[1:] if name in found}))"
    )
    run = subprocess.run([python, "-c", query, *VERSIONS], check=True, capture_output=True, text=True)
    found: dict[str, str] = json.loads(run.stdout)
    return found


def environment() -> dict[str, Any]:
    compiler = subprocess.run(["g++", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
    return {
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.release()}",
        "compiler": compiler,
        "python": platform.python_version(),
        "original": versions(ORIGINAL),
        "jupyter_client": versions(JUPYTER_CLIENT),
    }


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    parser.add_argument("--only", default="*", metavar="NAME,…", help="metrics to measure; wildcards allowed")
    parser.add_argument("--quick", action="store_true", help="the most important metrics, in 5 minutes")
    return parser.parse_args()


def main() -> None:
    options = parse_arguments()
    patterns = options.only.split(",")
    pool = Pool()
    before = environment()
    measure(chosen_groups(options.quick, patterns), options.quick, pool)
    if not options.quick and Group(compile_cost.METRICS).only(patterns).metrics:
        pool.add(OURS, compile_cost.measure(FULL.rounds))

    print(report.table(pool), report.summary(pool), sep="\n\n")
    is_full = not options.quick and options.only == "*"
    results = HERE / "results" if is_full else ROOT / "build/bench"
    results.mkdir(parents=True, exist_ok=True)
    document = {"metrics": pool.to_json(), "environment": before, "details": pool.details()}
    for file in [results / "benchmark.json", *([options.json] if options.json else [])]:
        file.write_text(json.dumps(document, indent=1) + "\n")
    report.plot(pool, results / "benchmark.png")
    say(f"{results}: benchmark.json, benchmark.png")


if __name__ == "__main__":
    main()
