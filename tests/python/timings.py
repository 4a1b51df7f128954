"""Prints how long things take: ``python tests/python/timings.py [LEVEL]``. Median and minimum, in milliseconds."""

from __future__ import annotations

import socket
import statistics
import sys
import time
from collections.abc import Callable

from harness import SHELL, Host, Kernel, parse


def clock(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def show(name: str, times: list[float]) -> None:
    print(f"{name:32} {statistics.median(times):9.2f} [{min(times):.2f}]  n={len(times)}", flush=True)


def starts(level: str, count: int) -> None:
    ready, first, later, end = [], [], [], []
    for _ in range(count):
        hosts: list[Host] = []
        ready.append(clock(lambda: hosts.append(Host(level=level))))
        first.append(clock(hosts[0].fork))
        later.append(clock(hosts[0].fork))
        end.append(clock(hosts[0].close))
    for name, times in (("ready", ready), ("first fork -> starting", first), ("second fork", later), ("end", end)):
        show(name, times)


def drain(kernel: Kernel, code: str) -> None:
    """Runs a cell and throws its output away, so that the kernel is measured and not this host."""
    request = kernel.start(code)
    kernel.stream.settimeout(None)
    space = memoryview(bytearray(4 << 20))
    while True:
        kernel.stream.recv_into(space[:4], 4, socket.MSG_WAITALL)
        length = int.from_bytes(space[:4], "little")
        kernel.stream.recv_into(space[:length], length, socket.MSG_WAITALL)
        if space[0] == SHELL and parse(bytes(space[:length])).parent["msg_id"] == request:
            return


def cells(kernel: Kernel) -> None:
    for code, count in (
        ("pass", 300),
        ("1+1", 300),
        ("print(1)", 300),
        ("1/0", 60),
        ("!true", 40),
        ("x = !echo hi", 40),
        ("await __import__('asyncio').sleep(0)", 100),
    ):
        kernel.run(code)
        show(code, [clock(lambda: drain(kernel, code)) for _ in range(count)])
    for name, code in (
        ("100 x 1 MB", "for _ in range(100): print('x' * 1_000_000)"),
        ("100 000 prints", "for i in range(100_000): print('line', i)"),
        ("10 MB", "print('x' * 10_000_000)"),
        ("10 MB through fd 1", "import os\nfor _ in range(10): os.write(1, b'x' * 1_000_000)"),
    ):
        show(name, [clock(lambda: drain(kernel, code)) for _ in range(9)])


def first_output(kernel: Kernel) -> None:
    times = []
    for _ in range(20):
        request = kernel.start("import time; print('x'); time.sleep(0.05)")
        times.append(clock(kernel.receive))
        kernel.finish(request)
    show("first output of a long cell", times)


def memory(host: Host) -> None:
    kernels = [host.fork() for _ in range(8)]
    for kernel in kernels:
        for code in ("1+1", "print(1)", "1/0"):
            kernel.run(code)
    sizes, threads = [], []
    for kernel in kernels:
        with open(f"/proc/{kernel.pid}/smaps_rollup") as file:
            sizes.append(next(int(line.split()[1]) / 1024 for line in file if line.startswith("Pss:")))
        with open(f"/proc/{kernel.pid}/status") as file:
            threads.append(next(int(line.split()[1]) for line in file if line.startswith("Threads:")))
    print(f"{'PSS of 8 kernels, MB':32} {statistics.median(sizes):9.2f}, threads {max(threads)}")


def main() -> None:
    level = sys.argv[1] if len(sys.argv) > 1 else "auto"
    starts(level, 10)
    with Host(level=level) as host:
        kernels = [host.fork() for _ in range(2)]
        time.sleep(2)  # the warm-up has its time
        show("warm fork -> starting", [clock(lambda: kernels.append(host.fork())) for _ in range(20)])
        show("warm fork -> print", [clock(lambda: host.fork().run("print(1)")) for _ in range(20)])
        for kernel in kernels:
            kernel.close()
        kernel = host.fork()
        first_output(kernel)
        cells(kernel)
        memory(host)


if __name__ == "__main__":
    main()
