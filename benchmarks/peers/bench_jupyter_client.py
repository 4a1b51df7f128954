"""Measures a bare IPython kernel behind jupyter_client, as the baseline below every server and tool layer.

Uses `KernelManager` and `BlockingKernelClient` over TCP and over ipc. Each metric is named `<transport>_<metric>`; the
metrics and the JSON are those of bench_original.py, where they make sense here. See ../README.md.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.metadata
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from typing import Any

import psutil
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

CAP = 15.0  # seconds after which a call counts as hanging
ENVIRONMENT = ["jupyter_client", "ipykernel", "ipython", "pyzmq", "tornado"]

OUTPUTS = {  # the cell, and how much of what it sends
    "print_10k": ("for i in range(10_000): print('line', i)", "lines", 10_000),
    "print_flushed": ("for i in range(5_000): print('line', i, flush=True)", "lines", 5_000),
    "print_1mb": ("print('x' * 1_000_000)", "bytes", 1_000_000),
    "print_10mb": ("print('x' * 10_000_000)", "bytes", 10_000_000),
    "print_20mb": ("print('x' * 20_000_000)", "bytes", 20_000_000),
    "print_100mb": ("print('x' * 100_000_000)", "bytes", 100_000_000),
}

Metrics = dict[str, dict[str, Any]]


class Kernel:
    """A kernel and a client connected to it."""

    def __init__(self, transport: str):
        self.manager = KernelManager(transport=transport)
        self.manager.start_kernel()
        self.client: BlockingKernelClient = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def execute(self, code: str, on_output: Callable[[dict[str, Any]], None] = lambda content: None) -> str:
        """Runs a cell until its reply and its `idle` status; returns its text, or raises TimeoutError."""
        chunks: list[str] = []

        def collect(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                chunks.append(content["text"])
            elif message["msg_type"] == "execute_result":
                chunks.append(content["data"]["text/plain"])
            else:
                return
            on_output(content)

        self.client.execute_interactive(code, store_history=False, allow_stdin=False, timeout=CAP, output_hook=collect)
        return "".join(chunks)

    def interrupt(self, code: str) -> float:
        """Interrupts a running cell: the milliseconds until its reply."""
        identifier = self.client.execute(code, store_history=False, allow_stdin=False)
        time.sleep(0.3)
        begin = time.perf_counter()
        self.manager.interrupt_kernel()
        while True:
            try:
                reply = self.client.get_shell_msg(timeout=CAP)
            except Empty:
                raise TimeoutError from None
            if reply["parent_header"].get("msg_id") == identifier:
                return 1000 * (time.perf_counter() - begin)

    def close(self, now: bool = True) -> None:
        self.manager.shutdown_kernel(now=now)
        self.client.stop_channels()


@contextmanager
def kernel(transport: str) -> Iterator[Kernel]:
    instance = Kernel(transport)
    try:
        yield instance
    finally:
        instance.close()


def milliseconds(action: Callable[..., Any], *arguments: Any) -> float:
    begin = time.perf_counter()
    action(*arguments)
    return 1000 * (time.perf_counter() - begin)


class Bench:
    def __init__(self, transport: str, repeat: int, patterns: list[str], metrics: Metrics):
        self.transport = transport
        self.repeat = repeat
        self.patterns = patterns
        self.metrics = metrics

    def wants(self, *names: str) -> bool:
        full = [f"{self.transport}_{name}" for name in names]
        return any(fnmatch.fnmatch(name, pattern) for name in full for pattern in self.patterns)

    def record(self, name: str, unit: str, samples: list[float], note: str = "") -> None:
        record(self.metrics, f"{self.transport}_{name}", unit, samples, note)

    def life_cycle(self) -> None:
        start, first, shutdown, kill = [], [], [], []
        for number in range(2 * self.repeat):
            begin = time.perf_counter()
            instance = Kernel(self.transport)
            start.append(1000 * (time.perf_counter() - begin))
            instance.execute("1+1")
            first.append(1000 * (time.perf_counter() - begin))
            now = bool(number % 2)
            (kill if now else shutdown).append(milliseconds(instance.close, now))
        self.record("start", "ms", start, "start_kernel + wait_for_ready")
        self.record("start_first_result", "ms", first, "start + first 1+1")
        self.record("stop", "ms", shutdown, "shutdown request")
        self.record("stop_now", "ms", kill, "SIGKILL")

    def restart(self) -> None:
        def restart() -> None:
            instance.manager.restart_kernel(now=True)
            instance.client.wait_for_ready(timeout=60)

        reset, first = [], []
        with kernel(self.transport) as instance:
            for _ in range(self.repeat):
                reset.append(milliseconds(restart))
                first.append(reset[-1] + milliseconds(instance.execute, "1+1"))
        self.record("reset", "ms", reset, "restart_kernel(now=True)")
        self.record("reset_first_result", "ms", first, "reset + first 1+1")

    def small_cells(self) -> None:
        cells = {"execute_pass": "pass", "execute_expr": "1+1", "execute_print": "print(1)", "execute_error": "1/0"}
        samples: dict[str, list[float]] = {name: [] for name in cells}
        with kernel(self.transport) as instance:
            for cell in list(cells.values()) * 5:
                instance.execute(cell)
            for _ in range(10 * self.repeat):
                for name, cell in cells.items():
                    samples[name].append(milliseconds(instance.execute, cell))
        for name, cell in cells.items():
            self.record(name, "ms", samples[name], cell)

    def first_chunk(self) -> None:
        with kernel(self.transport) as instance:
            first = [self.first_output(instance) for _ in range(self.repeat)]
        self.record("first_chunk", "ms", first, "print, then one second of sleep")

    def outputs(self) -> None:
        with kernel(self.transport) as instance:
            for name, (cell, unit, sent) in OUTPUTS.items():
                if self.wants(name):
                    self.received(instance, name, cell, unit, sent)

    def first_output(self, instance: Kernel) -> float:
        arrivals: list[float] = []
        begin = time.perf_counter()
        cell = "import time\nprint('x')\ntime.sleep(1)"
        instance.execute(cell, lambda content: arrivals.append(time.perf_counter()))
        return 1000 * (arrivals[0] - begin)

    def received(self, instance: Kernel, name: str, cell: str, unit: str, sent: int) -> None:
        times, amounts, note = [], [], ""
        for _ in range(self.repeat):
            begin = time.perf_counter()
            try:
                text = instance.execute(cell)
            except TimeoutError:
                text, note = "", "hangs"
            times.append(1000 * (time.perf_counter() - begin))
            amounts.append(float(len(text.splitlines()) if unit == "lines" else len(text.strip())))
        self.record(name, "ms", times, note)
        self.record(f"{name}_received", unit, amounts, f"sent: {sent}")

    def shell(self) -> None:
        with kernel(self.transport) as instance:
            for name, cell in {"shell": "!true", "shell_capture": "x = !echo hi"}.items():
                instance.execute(cell)
                samples = [milliseconds(instance.execute, cell) for _ in range(3 * self.repeat)]
                self.record(name, "ms", samples, cell)

    def interrupts(self) -> None:
        cells = {
            "cancel_sleep": "import time; time.sleep(60)",
            "cancel_loop": "while True: pass",
            "cancel_await": "import asyncio; await asyncio.sleep(60)",
        }
        for name, cell in cells.items():
            if not self.wants(name):
                continue
            samples, note = [], "interrupt -> reply"
            for _ in range(self.repeat):
                with kernel(self.transport) as instance:
                    instance.execute("pass")
                    try:
                        samples.append(instance.interrupt(cell))
                    except TimeoutError:
                        samples, note = [1000 * CAP], "hangs"
                        break
            self.record(name, "ms", samples, note)

    def death(self) -> None:
        with kernel(self.transport) as instance:
            begin = time.perf_counter()
            try:
                instance.execute("import os; os._exit(1)")
                note = "returned"
            except TimeoutError:
                note = "hangs"
            self.record("kernel_death", "ms", [1000 * (time.perf_counter() - begin)], note)

    def memory(self) -> None:
        sizes = []
        for _ in range(max(1, self.repeat // 3)):
            with kernel(self.transport) as instance:
                instance.execute("1+1")
                children = psutil.Process().children(recursive=True)
                sizes.append(sum(process.memory_full_info().pss for process in children) / 1e6)
        self.record("pss_kernel", "MB", sizes)

    def run(self) -> None:
        plans = [
            (self.life_cycle, ["start", "start_first_result", "stop", "stop_now"]),
            (self.restart, ["reset", "reset_first_result"]),
            (self.memory, ["pss_kernel"]),
            (self.small_cells, ["execute_pass", "execute_expr", "execute_print", "execute_error"]),
            (self.first_chunk, ["first_chunk"]),
            (self.outputs, list(OUTPUTS)),
            (self.shell, ["shell", "shell_capture"]),
            (self.interrupts, ["cancel_sleep", "cancel_loop", "cancel_await"]),
            (self.death, ["kernel_death"]),
        ]
        for measurement, names in plans:
            if self.wants(*names):
                measurement()


def record(metrics: Metrics, name: str, unit: str, samples: list[float], note: str) -> None:
    metrics[name] = {"unit": unit, "samples": samples, "note": note}
    if samples:
        figures = [f"{f(samples):12.2f}" for f in (statistics.median, min, max)]
        print(f"{name:26} {unit:8}", *figures, f"{len(samples):5}  {note}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument(
        "--repeat", type=int, default=10, metavar="N", help="repetitions of slow operations (default: 10)"
    )
    parser.add_argument("--only", default="*", metavar="NAME,...", help="metrics to measure; wildcards allowed")
    parser.add_argument("--transport", choices=["tcp", "ipc"], help="measure one transport only (default: both)")
    options = parser.parse_args()

    output = options.json.resolve() if options.json else None
    metrics: Metrics = {}
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ENVIRONMENT)
    note = f"Python {platform.python_version()}, {versions}"
    print(note)
    record(metrics, "environment", "", [], note)
    print(f"{'metric':26} {'unit':8} {'median':>12} {'min':>12} {'max':>12} {'n':>5}  note")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for transport in [options.transport] if options.transport else ["tcp", "ipc"]:
            Bench(transport, options.repeat, options.only.split(","), metrics).run()
    if output:
        output.write_text(json.dumps(metrics) + "\n")


if __name__ == "__main__":
    main()
