"""What is measured, how often, and which ratios are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch

PEERS = ("original", "original_nodelay", "jupyter_client")
AS_INSTALLED = ("original", "jupyter_client")
CELLS = ("execute_pass", "execute_expr", "execute_print", "execute_error")


@dataclass(frozen=True)
class Group:
    """Metrics that are measured in a row, by one peer after the other."""

    metrics: tuple[str, ...]
    peers: tuple[str, ...] = PEERS  #: who measures them besides ours
    quick: bool = False  #: a part of `--quick`
    once: bool = False  #: in the first round only: too slow, or the same each time

    def only(self, patterns: list[str]) -> Group:
        metrics = tuple(name for name in self.metrics if any(fnmatch(name, pattern) for pattern in patterns))
        return Group(metrics, self.peers, self.quick, self.once)


# Nagle's algorithm slows the original's cells; without it, its start, interrupts and memory are the same.
GROUPS = [
    Group(("process_first_result",), ("original",), quick=True),
    Group(("start", "start_first_result", "stop", "reset", "reset_first_result"), AS_INSTALLED, quick=True),
    Group(("pss_host", "pss_supervisor", "pss_gateway", "pss_kernel", "pss_tree"), AS_INSTALLED, quick=True),
    Group((*CELLS, "first_chunk"), quick=True),
    Group(("cancel_sleep", "timeout_excess"), AS_INSTALLED, quick=True),
    Group(("print_10mb", "print_10mb_received"), AS_INSTALLED, quick=True),
    Group(("print_1mb", "print_1mb_received", "print_10k", "print_10k_received", "shell", "shell_capture")),
    Group(("print_flushed", "print_flushed_received", "image_1mb")),
    Group(("print_20mb", "print_20mb_received", "output_kept"), AS_INSTALLED),
    Group(("print_100mb", "print_100mb_received"), ("jupyter_client",)),
    Group(("cancel_loop", "cancel_await_stops", "cancel_after_execute"), AS_INSTALLED),
    Group(("cancel_await", "cancel_stubborn", "kernel_death"), AS_INSTALLED, once=True),
    Group(("pss_per_kernel_1", "pss_per_kernel_10", "pss_per_kernel_50"), (), once=True),
]


@dataclass(frozen=True)
class Scale:
    rounds: int
    repeat: int  #: what the measuring programs get as `--repeat`


FULL = Scale(rounds=3, repeat=2)
QUICK = Scale(rounds=2, repeat=1)

#: Median of the peer over median of ours, at least.
TARGETS: dict[tuple[str, str], float] = {
    ("process_first_result", "original"): 20,
    ("start_first_result", "original"): 10,
    ("start_first_result", "jupyter_client"): 1.8,
    ("reset_first_result", "original"): 40,
    ("reset_first_result", "jupyter_client"): 30,
    ("execute_expr", "original"): 80,
    ("execute_expr", "original_nodelay"): 10,
    ("execute_expr", "jupyter_client"): 5,
    ("first_chunk", "original"): 40,
    ("print_10mb", "jupyter_client"): 3,
    ("cancel_sleep", "original"): 40,
    ("timeout_excess", "original"): 40,
    ("pss_tree", "original"): 4,
}

#: What ours has to reach exactly.
EXACT: dict[str, float] = {
    "output_kept": 1,
    "print_10mb_received": 10_000_000,
    "print_100mb_received": 100_000_000,
    "cancel_after_execute": 1,
}

#: Ours under bubblewrap over ours without, at most.
SANDBOX_COST = 1.10
