"""How the Python package ipybox stops code: cancellation, timeouts, and the death of its kernel."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from measurement import Context, capped, measures

SETTLE = 0.05  # seconds; execute() leaves work behind that would make the cancel() of the next call a no-op

STUBBORN = """\
import time
while True:
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        pass
"""


@measures("cancel_sleep", "cancel_loop", "cancel_await")
async def cancel(context: Context) -> None:
    cells = {
        "cancel_sleep": "import time; time.sleep(60)",
        "cancel_loop": "while True: pass",
        "cancel_await": "import asyncio; await asyncio.sleep(60)",
    }
    async with context.executor() as executor:
        for name, cell in cells.items():
            samples = []
            for _ in range(context.repeat if context.wants(name) else 0):
                task = asyncio.create_task(executor.execute(cell))
                await asyncio.sleep(0.3)
                executor.cancel()
                samples.append((await capped(task))[0])
                await executor.execute("pass")
                await asyncio.sleep(SETTLE)
            if samples:
                context.record(name, "ms", samples, "cancel() -> execute() returns")


@measures("cancel_after_execute")
async def cancel_after_execute(context: Context) -> None:
    """Cancels a call that began as soon as the one before it had returned."""
    obeyed = []
    async with context.executor() as executor:
        for _ in range(max(1, context.repeat // 2)):
            await executor.execute("pass")
            task = asyncio.create_task(executor.execute("import time; time.sleep(3)"))
            await asyncio.sleep(0.3)
            begin = time.perf_counter()
            executor.cancel()
            await asyncio.wait({task})
            obeyed.append(float(time.perf_counter() - begin < 2))
    context.record("cancel_after_execute", "share", obeyed, "cancel() calls obeyed when one execute() follows another")


@measures("cancel_await_stops")
async def cancel_await(context: Context) -> None:
    """When a cancelled `await` cell really stops, whatever its call reports."""
    cell = """\
import asyncio, pathlib, time
try:
    await asyncio.sleep(8)
finally:
    pathlib.Path("stopped").write_text(str(time.time()))
"""
    stopped = Path("stopped")
    samples = []
    async with context.executor() as executor:
        for _ in range(max(1, context.repeat // 3)):
            stopped.unlink(missing_ok=True)
            task = asyncio.create_task(executor.execute(cell))
            await asyncio.sleep(0.3)
            begin = time.time()
            executor.cancel()
            await capped(task)
            while not stopped.exists():
                await asyncio.sleep(0.05)
            await asyncio.sleep(SETTLE)
            samples.append(1000 * (float(stopped.read_text()) - begin))
            await executor.execute("pass")
            await asyncio.sleep(SETTLE)
    context.record("cancel_await_stops", "ms", samples, "cancel() -> cell, in a sleep of 8 s, ends")


@measures("cancel_stubborn")
async def cancel_stubborn(context: Context) -> None:
    """A cell that swallows KeyboardInterrupt: how long until the executor runs the next cell."""
    samples, outcomes = [], set()
    for _ in range(max(1, context.repeat // 5)):
        async with context.executor() as executor:
            task = asyncio.create_task(executor.execute(STUBBORN))
            await asyncio.sleep(0.3)
            executor.cancel()
            elapsed, outcome = await capped(task)
            after, outcome_after = await capped(executor.execute("1+1"))
            samples.append(elapsed + after)
            outcomes.add(f"cancelled call: {outcome}; next cell: {outcome_after}")
    context.record("cancel_stubborn", "ms", samples, "; ".join(sorted(outcomes)))


@measures("timeout_excess")
async def timeout(context: Context) -> None:
    budget = 0.5
    samples = []
    async with context.executor() as executor:
        for _ in range(context.repeat):
            elapsed, outcome = await capped(executor.execute("import time; time.sleep(60)", timeout=budget))
            assert outcome.startswith("TimeoutError"), outcome
            samples.append(elapsed - 1000 * budget)
    context.record("timeout_excess", "ms", samples, f"beyond a budget of {budget} s")


@measures("kernel_death")
async def kernel_death(context: Context) -> None:
    samples, outcomes = [], set()
    for _ in range(max(1, context.repeat // 5)):
        async with context.executor() as executor:
            elapsed, outcome = await capped(executor.execute("import os; os._exit(1)"))
            samples.append(elapsed)
            outcomes.add(outcome)
    context.record("kernel_death", "ms", samples, "; ".join(sorted(outcomes)))
