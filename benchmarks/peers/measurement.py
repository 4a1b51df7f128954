"""What measurements of the Python package ipybox need to know, and where they leave their figures."""

from __future__ import annotations

import asyncio
import fnmatch
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CAP = 15.0  # seconds after which a call counts as hanging


@dataclass
class Metric:
    unit: str
    samples: list[float]
    note: str = ""


@dataclass
class Context:
    """What a measurement needs to know, and where it leaves its figures."""

    repeat: int
    nodelay: bool
    kernel_env: dict[str, str]
    filesystem_server: Path | None  # its script
    patterns: list[str]
    metrics: dict[str, Metric] = field(default_factory=dict)

    def record(self, name: str, unit: str, samples: list[float], note: str = "") -> None:
        self.metrics[name] = Metric(unit, samples, note)

    def wants(self, name: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for pattern in self.patterns)

    def new_executor(self, **options: Any):
        from ipybox import CodeExecutor

        return CodeExecutor(kernel_env=self.kernel_env, **options)

    @asynccontextmanager
    async def executor(self, **options: Any) -> AsyncIterator[Any]:
        executor = self.new_executor(**options)
        await executor.start()
        try:
            yield executor
        finally:
            await asyncio.wait({asyncio.create_task(executor.stop())}, timeout=CAP)


Measurement = Callable[[Context], Awaitable[None]]
MEASUREMENTS: list[tuple[tuple[str, ...], Measurement]] = []


def measures(*names: str) -> Callable[[Measurement], Measurement]:
    def register(measurement: Measurement) -> Measurement:
        MEASUREMENTS.append((names, measurement))
        return measurement

    return register


async def milliseconds(action: Callable[..., Awaitable[Any]], *arguments: Any) -> float:
    begin = time.perf_counter()
    await action(*arguments)
    return 1000 * (time.perf_counter() - begin)


async def capped(awaitable: Awaitable[Any]) -> tuple[float, str]:
    """Waits for an outcome: milliseconds, and `ok`, `hangs` or the error. What hangs is cancelled."""
    task = asyncio.ensure_future(awaitable)
    begin = time.perf_counter()
    await asyncio.wait({task}, timeout=CAP)
    elapsed = 1000 * (time.perf_counter() - begin)
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=CAP)
        return elapsed, "hangs"
    error = task.exception()
    return elapsed, "ok" if error is None else f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
