"""Measures servers that run Python code for MCP clients: `ipybox mcp`, and that of the Python package ipybox.

Both have the same tool, so both are measured by this client, which speaks as little of the protocol as it needs. It
writes `{metric: {"unit", "samples", "note"}}`, as the other measuring programs do.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

CELLS = 30  #: warm cells in each server
SETTLE = 0.3  #: seconds in which what a call has left behind comes to rest


@dataclass
class Metric:
    unit: str
    samples: list[float]
    note: str = ""


class Server:
    """A server process, and the time it was started."""

    def __init__(self, command: list[str], workspace: str) -> None:
        self.begin = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, "--workspace", workspace, "--log-level", "ERROR"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._last = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.request("initialize", hello)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self.process.stdout
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("the server has ended")
            message = json.loads(line)
            if message.get("id") == self._last:
                result: dict[str, Any] = message["result"]
                return result

    def add(self) -> bool:
        """Runs `1+1`. Whether the answer has its value: the original loses output."""
        result = self.request("tools/call", {"name": "execute_ipython_cell", "arguments": {"code": "1+1"}})
        text = result["content"][0]["text"]
        if result.get("isError") or text not in ("2", ""):
            raise RuntimeError(f"1+1 is not 2: {result}")
        return bool(text)

    def elapsed(self) -> float:
        return 1000 * (time.perf_counter() - self.begin)

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def started(command: list[str]) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(dir=Path.home()) as workspace:
        server = Server(command, workspace)
        try:
            yield server
        finally:
            server.close()


def tree_of(process: int) -> list[int]:
    """A process and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(") ", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found = [process]
    for each in found:
        found += parents.get(each, [])
    return found


def pss(process: int) -> float:
    """Proportional set size in MB."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1000


def tools_list(command: list[str], repeat: int) -> dict[str, Metric]:
    samples = []
    for _ in range(repeat):
        with started(command) as server:
            server.request("tools/list", {})
            samples.append(server.elapsed())
    return {"mcp_tools_list": Metric("ms", samples, "process start -> answer to tools/list")}


def cells(command: list[str], repeat: int) -> dict[str, Metric]:
    first, warm, memory = [], [], []
    kept = []
    for _ in range(repeat):
        with started(command) as server:
            kept.append(server.add())
            first.append(server.elapsed())
            for _ in range(CELLS):
                begin = time.perf_counter()
                kept.append(server.add())
                warm.append(1000 * (time.perf_counter() - begin))
            time.sleep(SETTLE)
            memory.append(sum(map(pss, tree_of(server.process.pid))))
    lost = f"; {kept.count(False)} of {len(kept)} answers without their output" if False in kept else ""
    return {
        "mcp_first_cell": Metric("ms", first, "process start -> result of 1+1" + lost),
        "mcp_cell": Metric("ms", warm, "1+1 through the server" + lost),
        "mcp_memory": Metric("MB", memory, "server, kernel and all that is between"),
    }


MEASUREMENTS: list[tuple[tuple[str, ...], Callable[[list[str], int], dict[str, Metric]]]] = [
    (("mcp_tools_list",), tools_list),
    (("mcp_first_cell", "mcp_cell", "mcp_memory"), cells),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", type=json.loads, required=True, metavar="JSON", help="its command: an array")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="starts of the server (default: 5)")
    parser.add_argument("--only", default="*", metavar="NAME,...", help="metrics to measure; wildcards allowed")
    options = parser.parse_args()
    wanted = options.only.split(",")
    metrics: dict[str, Metric] = {}
    for names, measurement in MEASUREMENTS:
        if not any(fnmatch.fnmatch(name, pattern) for name in names for pattern in wanted):
            continue
        try:
            metrics |= measurement(options.server, options.repeat)
        except (RuntimeError, OSError) as error:
            metrics |= {name: Metric("", [], f"failed: {error}"[:200]) for name in names}
    for name, metric in metrics.items():
        median = statistics.median(metric.samples) if metric.samples else float("nan")
        print(f"{name:20} {median:10.2f} {metric.unit} (n={len(metric.samples)}) {metric.note}")
    if options.json:
        options.json.write_text(json.dumps({name: asdict(metric) for name, metric in metrics.items()}) + "\n")


if __name__ == "__main__":
    main()
