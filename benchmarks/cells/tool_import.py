# A kernel's first import of a generated module, and its first call, which starts the server.
import json
import pathlib
import time

begin = time.perf_counter()
from mcptools.echo.echo import Params, run

imported = time.perf_counter()
run(Params(text="x" * 100))
called = time.perf_counter()
pathlib.Path("samples").write_text(json.dumps([1000 * (imported - begin), 1000 * (called - imported)]))
