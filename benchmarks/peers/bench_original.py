"""Measures the Python package ipybox through its public API, as the baseline of other implementations.

Run it with the interpreter of an environment that has `../requirements-original.txt` installed. It prints a table and,
with `--json`, writes `{metric: {"unit", "samples", "note"}}`. See ../README.md for what each metric means.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import original_stopping  # noqa: F401  (its measures register themselves)
import original_tools
from measurement import MEASUREMENTS, Context, Metric, capped, measures, milliseconds

HERE = Path(__file__).resolve().parent
CALM = 4.0  # seconds; longer than the window of the gateway's output limits
ENVIRONMENT = ["ipybox", "mcpygen", "mcp", "ipykernel", "ipython", "jupyter_client", "jupyter_kernel_gateway"]

# Runs in the gateway and in the kernel: accepted connections send small messages at once. Tornado turns Nagle's
# algorithm back on after each HTTP response, the one that opens a WebSocket included, so that must be refused too.
NODELAY = """\
import socket

_accept = socket.socket.accept
_setsockopt = socket.socket.setsockopt


def accept(self):
    connection, address = _accept(self)
    if connection.family in (socket.AF_INET, socket.AF_INET6):
        _setsockopt(connection, socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection, address


def setsockopt(self, level, option, value, *rest):
    if (level, option) == (socket.IPPROTO_TCP, socket.TCP_NODELAY):
        value = 1
    return _setsockopt(self, level, option, value, *rest)


socket.socket.accept = accept
socket.socket.setsockopt = setsockopt
"""


def child(context: Context, probe: str) -> dict[str, float]:
    """Runs a probe of this script in a process of its own: its report, and the milliseconds until it came."""
    command = [sys.executable, str(HERE / Path(__file__).name), "--probe", probe] + ["--nodelay"] * context.nodelay
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        report = json.loads(process.stdout.readline())
        return report | {"elapsed": 1000 * (time.perf_counter() - begin)}


# --- life cycle ----------------------------------------------------------------------------------------------------


@measures("host_import", "process_first_result")
async def host_process(context: Context) -> None:
    runs = [child(context, "first_result") for _ in range(context.repeat)]
    context.record("host_import", "ms", [run["import"] for run in runs], "import ipybox in a fresh process")
    context.record("process_first_result", "ms", [run["elapsed"] for run in runs], "process start -> first 1+1")


@measures("start", "start_first_result", "stop")
async def life_cycle(context: Context) -> None:
    start, first, stop = [], [], []
    for _ in range(context.repeat):
        executor = context.new_executor()
        start.append(await milliseconds(executor.start))
        first.append(start[-1] + await milliseconds(executor.execute, "1+1"))
        stop.append(await milliseconds(executor.stop))
    context.record("start", "ms", start)
    context.record("start_first_result", "ms", first, "start + first 1+1")
    context.record("stop", "ms", stop)


@measures("reset", "reset_first_result")
async def reset(context: Context) -> None:
    async with context.executor() as executor:
        resets, firsts = [], []
        for _ in range(context.repeat):
            resets.append(await milliseconds(executor.reset))
            firsts.append(resets[-1] + await milliseconds(executor.execute, "1+1"))
        context.record("reset", "ms", resets)
        context.record("reset_first_result", "ms", firsts, "reset + first 1+1")


@measures("process_first_tool_call", "pss_tool_host", "pss_tool_gateway", "pss_tool_kernel", "pss_tool_tree")
async def memory_after_tool_call(context: Context) -> None:
    runs = [child(context, "tool_call") for _ in range(max(1, context.repeat // 2))]
    note = "process start -> package generated, imported and called"
    context.record("process_first_tool_call", "ms", [run["elapsed"] - run["sizing"] for run in runs], note)
    for name in ["host", "gateway", "kernel", "tree"]:
        context.record(f"pss_tool_{name}", "MB", [run[name] for run in runs], "without the MCP server")


@measures("pss_host", "pss_gateway", "pss_kernel", "pss_tree")
async def memory(context: Context) -> None:
    runs = [child(context, "memory") for _ in range(max(1, context.repeat // 3))]
    for name in ["host", "gateway", "kernel", "tree"]:
        context.record(f"pss_{name}", "MB", [run[name] for run in runs])


# --- cells ---------------------------------------------------------------------------------------------------------


@measures("execute_pass", "execute_expr", "execute_print", "execute_error")
async def small_cells(context: Context) -> None:
    from ipybox import CodeExecutionError

    async def attempt(cell: str) -> None:
        with suppress(CodeExecutionError):
            await executor.execute(cell)

    cells = {"execute_pass": "pass", "execute_expr": "1+1", "execute_print": "print(1)", "execute_error": "1/0"}
    samples: dict[str, list[float]] = {name: [] for name in cells}
    async with context.executor() as executor:
        for cell in [*cells.values()] * 5:
            await attempt(cell)
        for _ in range(10 * context.repeat):
            for name, cell in cells.items():
                samples[name].append(await milliseconds(attempt, cell))
    for name, cell in cells.items():
        context.record(name, "ms", samples[name], cell)


@measures("output_kept")
async def output_kept(context: Context) -> None:
    kept = []
    async with context.executor() as executor:
        for number in range(50 * context.repeat):
            kept.append(float((await executor.execute(f"print({number})")).text == str(number)))
    note = f"{kept.count(0.0)} of {len(kept)} calls of print(i) returned without their output"
    context.record("output_kept", "share", kept, note)


@measures("first_chunk")
async def first_chunk(context: Context) -> None:
    async def first(executor: Any) -> float:
        begin = time.perf_counter()
        elapsed = 0.0
        async for _ in executor.stream("import time\nprint('x')\ntime.sleep(1)", chunks=True):
            elapsed = elapsed or 1000 * (time.perf_counter() - begin)
        return elapsed

    async with context.executor() as executor:
        await first(executor)
        samples = [await first(executor) for _ in range(context.repeat)]
    context.record("first_chunk", "ms", samples, "print, then one second of sleep")


async def lines_of(executor: Any, code: str) -> tuple[float, float]:
    """Milliseconds until code that prints has ended, and the number of lines that have come."""
    begin = time.perf_counter()
    result = await executor.execute(code)
    return 1000 * (time.perf_counter() - begin), float(len((result.text or "").splitlines()))


@measures("print_10k", "print_10k_received")
async def many_prints(context: Context) -> None:
    async with context.executor() as executor:
        printed = [await lines_of(executor, "for i in range(10_000): print('line', i)") for _ in range(context.repeat)]
    times, lines = map(list, zip(*printed, strict=True))
    context.record("print_10k", "ms", times)
    context.record("print_10k_received", "lines", lines, "sent: 10000")


@measures("print_flushed", "print_flushed_received")
async def flushed_prints(context: Context) -> None:
    printed = []
    async with context.executor() as executor:
        for _ in range(max(1, context.repeat // 3)):
            await asyncio.sleep(CALM)
            printed.append(await lines_of(executor, "for i in range(5_000): print('line', i, flush=True)"))
    times, lines = map(list, zip(*printed, strict=True))
    context.record("print_flushed", "ms", times)
    context.record("print_flushed_received", "lines", lines, "sent: 5000")


@measures("image_1mb")
async def image(context: Context) -> None:
    cell = "display({'image/png': data}, raw=True)"
    async with context.executor() as executor:
        png = r"b'\x89PNG\r\n\x1a\n' + os.urandom(1_000_000)"
        await executor.execute(f"import base64, os\ndata = base64.b64encode({png}).decode()")
        samples, images = [], 0
        for _ in range(max(1, context.repeat // 3)):
            await asyncio.sleep(CALM)
            begin = time.perf_counter()
            images += len((await executor.execute(cell)).images)
            samples.append(1000 * (time.perf_counter() - begin))
    context.record("image_1mb", "ms", samples, f"{images} of {len(samples)} images arrived")


async def large_print(context: Context, name: str, size: int) -> None:
    """One print of `size` characters, each in a calm moment so that no earlier output counts against it."""
    times, received, notes = [], [], set()
    for _ in range(max(1, context.repeat // 2)):
        async with context.executor() as executor:
            await executor.execute("pass")
            task = asyncio.create_task(executor.execute(f"print('x' * {size})"))
            elapsed, outcome = await capped(task)
            times.append(elapsed)
            text = (task.result().text or "") if outcome == "ok" else ""
            received.append(float(text.count("x")) if set(text) == {"x"} else 0.0)
            if received[-1] != size:
                notes.add(outcome if outcome != "ok" else f"lost; returns {' '.join(text.split())[:60]!r}")
            if outcome != "ok":
                _, after = await capped(executor.execute("1+1"))
                notes.add(f"next cell: {after}")
    note = "; ".join(sorted(notes))
    context.record(name, "ms", times, note)
    context.record(f"{name}_received", "bytes", received, f"sent: {size}")


@measures("print_1mb", "print_1mb_received")
async def print_1mb(context: Context) -> None:
    await large_print(context, "print_1mb", 1_000_000)


@measures("print_10mb", "print_10mb_received")
async def print_10mb(context: Context) -> None:
    await large_print(context, "print_10mb", 10_000_000)


@measures("print_20mb", "print_20mb_received")
async def print_20mb(context: Context) -> None:
    await large_print(context, "print_20mb", 20_000_000)


@measures("shell", "shell_capture")
async def shell(context: Context) -> None:
    await shell_cells(context, "", approve_shell_cmds=False)


@measures("shell_approval_first", "shell_approval", "shell_capture_approval")
async def shell_with_approval(context: Context) -> None:
    await shell_cells(context, "_approval", approve_shell_cmds=True)


async def shell_cells(context: Context, suffix: str, **options: Any) -> None:
    async with context.executor(**options) as executor:
        first = await milliseconds(executor.execute, "!true")
        for name, cell in {"shell": "!true", "shell_capture": "x = !echo hi"}.items():
            await executor.execute(cell)
            samples = [await milliseconds(executor.execute, cell) for _ in range(5 * context.repeat)]
            context.record(name + suffix, "ms", samples, cell)
    if suffix:
        context.record("shell_approval_first", "ms", [first], "the first one of a kernel")


# --- probes, each in a process of its own --------------------------------------------------------------------------


async def probe_first_result(context: Context) -> None:
    begin = time.perf_counter()
    import ipybox  # noqa: F401

    imported = 1000 * (time.perf_counter() - begin)
    async with context.executor() as executor:
        await executor.execute("1+1")
        print(json.dumps({"import": imported}), flush=True)


async def probe_memory(context: Context) -> None:
    async with context.executor() as executor:
        await executor.execute("1+1")
        print(json.dumps(sizes()), flush=True)


async def probe_tool_call(context: Context) -> None:
    async with context.executor() as executor:
        await original_tools.generate("echo", original_tools.python_server("plain_echo_server.py"))
        await executor.execute("from mcptools.echo import echo\necho.run(echo.Params(text='hi'))")
        called = time.perf_counter()
        report = sizes()
        print(json.dumps(report | {"sizing": 1000 * (time.perf_counter() - called)}), flush=True)


def sizes() -> dict[str, float]:
    """Proportional set sizes of this process and those below it, in MB. MCP servers do not count."""
    import psutil

    host = psutil.Process()
    found = {"host": pss(host), "gateway": 0.0, "kernel": 0.0}
    for process in host.children(recursive=True):
        command = " ".join(process.cmdline())
        if "_server.py" not in command:
            found["kernel" if "ipykernel_launcher" in command else "gateway"] += pss(process)
    return found | {"tree": sum(found.values())}


def pss(process: Any) -> float:
    return process.memory_full_info().pss / 1e6


PROBES = {"first_result": probe_first_result, "memory": probe_memory, "tool_call": probe_tool_call}


# --- command line --------------------------------------------------------------------------------------------------


def nodelay_environment(folder: Path) -> dict[str, str]:
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(NODELAY)
    return {"PYTHONPATH": str(folder)}


def show(name: str, metric: Metric) -> None:
    known = metric.samples
    figures = [f"{f(known):12.2f}" if known else f"{'-':>12}" for f in (statistics.median, min, max)]
    print(f"{name:26} {metric.unit:8}", *figures, f"{len(known):5}  {metric.note}", flush=True)


async def measure(context: Context) -> None:
    print(f"{'metric':26} {'unit':8} {'median':>12} {'min':>12} {'max':>12} {'n':>5}  note", flush=True)
    for names, measurement in MEASUREMENTS:
        if not any(map(context.wants, names)):
            continue
        before = set(context.metrics)
        try:
            await measurement(context)
        except Exception as error:
            for name in [name for name in names if name not in context.metrics]:
                context.record(name, "", [], f"failed: {type(error).__name__}: {error}"[:200])
        for name in context.metrics:
            if name not in before:
                show(name, context.metrics[name])


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument(
        "--repeat", type=int, default=10, metavar="N", help="repetitions of slow operations (default: 10)"
    )
    parser.add_argument("--only", default="*", metavar="NAME,...", help="metrics to measure; wildcards allowed")
    parser.add_argument("--nodelay", action="store_true", help="force TCP_NODELAY on the gateway's connections")
    parser.add_argument("--filesystem-server", type=Path, metavar="FILE", help="script of that MCP server")
    parser.add_argument("--list", action="store_true", help="list the metrics and stop")
    parser.add_argument("--probe", choices=PROBES, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = parse_arguments()
    if options.list:
        print(*itertools.chain.from_iterable(names for names, _ in MEASUREMENTS), sep="\n")
        return

    warnings.simplefilter("ignore")
    output = options.json.resolve() if options.json else None
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        kernel_env = nodelay_environment(Path(folder, "nodelay")) if options.nodelay else {}
        context = Context(
            options.repeat, options.nodelay, kernel_env, options.filesystem_server, options.only.split(",")
        )
        if options.probe:
            asyncio.run(PROBES[options.probe](context))
            return

        versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ENVIRONMENT)
        note = f"Python {platform.python_version()}, {versions}{', nodelay' * options.nodelay}"
        print(note)
        context.record("environment", "", [], note)
        asyncio.run(measure(context))
        if output:
            output.write_text(json.dumps({name: asdict(metric) for name, metric in context.metrics.items()}) + "\n")


if __name__ == "__main__":
    main()
