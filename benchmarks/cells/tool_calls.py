# What later cells measure calls of `echo` with. Samples go to a file, for printed text may get lost on its way.
import json
import pathlib
import time
from concurrent.futures import ThreadPoolExecutor

from mcptools.echo.echo import Params, run


def call(size):
    """Milliseconds of a call whose argument and result have so many characters."""
    text = "x" * size
    begin = time.perf_counter()
    answer = run(Params(text=text))
    elapsed = time.perf_counter() - begin
    assert len(answer) == size, f"{len(answer)} of {size} characters came back"
    return 1000 * elapsed


def burst(calls):
    """Calls per second of eight threads."""
    with ThreadPoolExecutor(8) as pool:
        begin = time.perf_counter()
        answers = list(pool.map(lambda _: run(Params(text="x" * 100)), range(calls)))
        elapsed = time.perf_counter() - begin
    assert all(len(answer) == 100 for answer in answers)
    return calls / elapsed


def keep(samples):
    pathlib.Path("samples").write_text(json.dumps(samples))


call(100)
