"""Sessions that outlast their cells, and output as a terminal shows it."""

from __future__ import annotations

NESTED = """
# %%
import asyncio, nest_asyncio2
nest_asyncio2.apply()
state = "kept"
async def f(n):
    await asyncio.sleep(0.01); return n
# %%
print(asyncio.get_event_loop().run_until_complete(f(1)))
# %%
print(await f(2))
# %%
print(asyncio.run(f(3)))
# %%
print(state)
"""
