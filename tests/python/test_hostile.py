"""A cell can fail, a session cannot: cells that break what they can, beside the same in ipykernel's own kernel."""

from __future__ import annotations

import queue
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from harness import PYTHON, Closed, Host, Result
from hostile import CELLS, PROBES

WANTED = ("kept\n", "awaited\n", "42", "ZeroDivisionError", "kept\n")
SETUP = "state = 'kept'"
PATIENCE = 20.0  # for one answer of our kernel

#: The probes that fail behind these cells: what they ask for is what the cell took away from itself.
GONE = {
    "print": {0, 1, 4},
    "shadowed": {0, 1, 4},
    "streams": {0, 1, 2, 4},
    "no_namespace": {0, 2, 4},
    "callbacks": {0, 1, 2, 3, 4},
    "failing_callback": {0, 1, 2, 3, 4},
    "transformers": {0, 1, 2, 3, 4},
    "no_display_hook": {0, 1, 2, 3, 4},
    "no_run_cell": {0, 1, 2, 3, 4},
    "sys_functions": {3},
}


def good(found: list[str]) -> set[int]:
    """The probes that brought what they were to bring."""
    return {i for i, (got, wanted) in enumerate(zip(found, WANTED, strict=False)) if got.endswith(wanted)}


def shown(result: Result) -> str:
    return result.error or result.value or result.text()


@pytest.mark.parametrize("name", CELLS)
def test_a_session_goes_on(host: Host, name: str) -> None:
    """Every cell behind it is answered, and gets what it asks for."""
    kernel = host.fork()
    try:
        for code in (SETUP, CELLS[name]):
            kernel.run(code, timeout=PATIENCE)
        found = [shown(kernel.run(code, timeout=PATIENCE)) for code in PROBES]
    finally:
        kernel.close()
    assert good(found) >= set(range(len(PROBES))) - GONE.get(name, set()), found


# --- a stock kernel ------------------------------------------------------------------------------------------------


class Stock:
    """Kernels of ipykernel, forked from one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        script = Path(__file__).with_name("stock_kernels.py")
        self.process = subprocess.Popen(
            [PYTHON, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout and self.process.stdout.readline() == "ready\n"

    def probe(self, name: str) -> list[str]:
        """What the probes bring behind a cell; fewer of them where the kernel answers no more."""
        file, _ = write_connection_file(str(self.folder / f"{name}.json"), transport="ipc", ip=str(self.folder / name))
        assert self.process.stdin
        self.process.stdin.write(f"{file}\n")
        self.process.stdin.flush()
        client = BlockingKernelClient(connection_file=file)
        client.load_connection_file()
        client.start_channels(hb=False)
        try:
            found: list[str] = []
            for number, code in enumerate((SETUP, CELLS[name], *PROBES)):
                answer = run(client, code, PATIENCE if number == 0 else 3.0)
                if answer is None:
                    break
                found.append(answer)
            return found[2:]
        finally:
            client.shutdown()
            client.stop_channels()


def run(client: BlockingKernelClient, code: str, patience: float) -> str | None:
    """What a cell brings in a stock kernel; none if it does not answer."""
    request = client.execute(code, allow_stdin=False)
    shown, until = "", time.monotonic() + patience
    while time.monotonic() < until:
        try:
            message = client.get_iopub_msg(timeout=0.5)
        except queue.Empty:
            continue
        except Exception:
            return None  # it sends what is no message any more
        if message["parent_header"].get("msg_id") != request:
            continue
        content = message["content"]
        if message["msg_type"] == "stream" and content["name"] == "stdout":
            shown += content["text"]
        elif message["msg_type"] == "execute_result":
            shown = content["data"]["text/plain"]
        elif message["msg_type"] == "error":
            shown = content["ename"]
        elif message["msg_type"] == "status" and content["execution_state"] == "idle":
            return shown
    return None


@pytest.fixture
def stock(tmp_path: Path) -> Iterator[Stock]:
    stock = Stock(tmp_path)
    yield stock
    stock.process.kill()
    stock.process.wait()


@pytest.mark.timeout(600)
def test_no_cell_costs_more_than_in_a_stock_kernel(host: Host, stock: Stock) -> None:
    """What works behind a hostile cell in ipykernel's own kernel works here, too."""

    def ours(name: str) -> list[str]:
        kernel = host.fork()
        try:
            for code in (SETUP, CELLS[name]):
                kernel.run(code, timeout=PATIENCE)
            return [shown(kernel.run(code, timeout=PATIENCE)) for code in PROBES]
        except (Closed, ConnectionError):
            return []
        finally:
            kernel.close()

    names = list(CELLS)
    with ThreadPoolExecutor(12) as pool:
        theirs = list(pool.map(stock.probe, names))
    worse, better = {}, 0
    for name, their in zip(names, theirs, strict=True):
        mine = ours(name)
        if not good(mine) >= good(their):
            worse[name] = (mine, their)
        better += len(good(mine)) > len(good(their))
    print(f"of {len(names)} cells, {better} cost less than in a stock kernel", file=sys.stderr)
    assert not worse
