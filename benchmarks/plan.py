"""What is measured, how often, and which ratios are asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatch

PEERS = ("original", "original_nodelay", "jupyter_client")
AS_INSTALLED = ("original", "jupyter_client")
CELLS = ("execute_pass", "execute_expr", "execute_print", "execute_error")
SDK_TOOL = ("tool_100b", "tool_1mb", "tool_8_threads")
HOST_TOOL = ("host_tool_100b", "host_tool_100b_thread", "host_tool_1mb", "host_tool_8_threads")
PLAIN_TOOL = ("tool_100b_plain", "tool_1mb_plain", "tool_8_threads_plain")
CODEGEN_MANY = ("codegen_many", "codegen_many_alone", "codegen_many_bytes", "codegen_many_tools")
CODEGEN_FILESYSTEM = tuple(name.replace("many", "filesystem") for name in CODEGEN_MANY)
PSS_TOOL = ("pss_tool_host", "pss_tool_supervisor", "pss_tool_gateway", "pss_tool_kernel", "pss_tool_tree")


@dataclass(frozen=True)
class Group:
    """Metrics that are measured in a row, by one peer after the other."""

    metrics: tuple[str, ...]
    peers: tuple[str, ...] = PEERS  #: who measures them besides ours
    srt: bool = False  #: ours under srt measures them too
    quick: int = 0  #: in how many rounds of `--quick`
    once: bool = False  #: otherwise in the first round only: too slow, or the same each time
    mcp: bool = False  #: measured from outside, through the MCP servers of ours and of the original

    def rounds(self, quick: bool) -> int:
        if quick:
            return self.quick
        return 1 if self.once else FULL.rounds

    def only(self, patterns: list[str]) -> Group:
        metrics = tuple(name for name in self.metrics if any(fnmatch(name, pattern) for pattern in patterns))
        return replace(self, metrics=metrics)


# Under srt: starts and cells. Tools, generated packages and requests have nothing to do with it.
# Nagle's algorithm slows the original's cells; without it, its start, interrupts, memory and tools are the same.
GROUPS = [
    Group(("process_first_result",), ("original",), quick=2, srt=True),
    Group(("start", "start_first_result", "stop", "reset", "reset_first_result"), AS_INSTALLED, quick=2, srt=True),
    Group(("mcp_tools_list", "mcp_first_cell", "mcp_cell", "mcp_memory"), ("original",), quick=1, mcp=True),
    Group(("pss_host", "pss_supervisor", "pss_gateway", "pss_kernel", "pss_tree"), AS_INSTALLED, quick=1, srt=True),
    Group((*CELLS, "first_chunk"), quick=2, srt=True),
    Group(("cancel_sleep", "timeout_excess"), AS_INSTALLED, quick=2, srt=True),
    Group(("print_10mb", "print_10mb_received"), AS_INSTALLED, quick=1, srt=True),
    Group((*PLAIN_TOOL, *(f"{name}_approval" for name in PLAIN_TOOL)), ("original",), quick=1),
    Group(("tool_http_100b", "tool_http_100b_approval"), ("original",), quick=1),
    Group((*HOST_TOOL, *(f"{name}_approval" for name in HOST_TOOL), "host_tool_100b_coroutine"), (), quick=1),
    Group(("approval_decision", "approval_request"), (), quick=1),
    Group(("tool_import", "tool_first_call"), ("original",), quick=1, once=True),
    Group((*CODEGEN_MANY, "codegen_many_importable"), ("original",), quick=1, once=True),
    Group((*SDK_TOOL, *(f"{name}_approval" for name in SDK_TOOL)), ("original",), once=True),
    Group(("tool_above_server",), ("original",), once=True),
    Group(("server_100b", "server_1mb", "server_100b_plain", "server_1mb_plain"), (), once=True),
    Group(("tool_60mb", "tool_60mb_received"), ("original",), once=True),
    Group(CODEGEN_FILESYSTEM, ("original",), once=True),
    Group(("process_first_tool_call", *PSS_TOOL), ("original",), once=True),
    Group(("print_1mb", "print_1mb_received", "print_10k", "print_10k_received"), srt=True),
    Group(("shell", "shell_capture"), srt=True),
    Group(("shell_approval_first", "shell_approval", "shell_capture_approval"), ("original",), once=True, srt=True),
    Group(("print_flushed", "print_flushed_received", "image_1mb"), srt=True),
    Group(("print_20mb", "print_20mb_received", "output_kept"), AS_INSTALLED, srt=True),
    Group(("print_100mb", "print_100mb_received"), ("jupyter_client",), srt=True),
    Group(("cancel_loop", "cancel_await_stops", "cancel_after_execute"), AS_INSTALLED, srt=True),
    Group(("cancel_await", "cancel_stubborn", "kernel_death"), AS_INSTALLED, once=True, srt=True),
    Group(("https_direct", "https_proxied", "https_proxied_ratio"), ()),
    Group(("fork_first_output", "walled_fork_first_output", "walled_fork_ratio"), ()),
    Group(("pss_per_walled_kernel_10", "pss_per_walled_kernel_10_ratio"), (), once=True),
    Group(("pss_per_kernel_1", "pss_per_kernel_10", "pss_per_kernel_50"), (), once=True),
]


@dataclass(frozen=True)
class Scale:
    rounds: int
    repeat: int  #: what the peers' programs get as `--repeat`; how often ours are started


FULL = Scale(rounds=2, repeat=3)
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
    ("mcp_tools_list", "original"): 50,
    ("mcp_first_cell", "original"): 12,
    ("mcp_cell", "original"): 20,
    ("tool_100b_plain", "original"): 12,
    ("tool_100b_plain_approval", "original"): 10,
    ("tool_1mb_plain", "original"): 1.5,
    ("tool_8_threads_plain", "original"): 5,
    ("tool_http_100b", "original"): 5,
    ("tool_http_100b_approval", "original"): 5,
    ("tool_import", "original"): 10,
    ("codegen_many_alone", "original"): 50,
    ("shell", "original"): 30,
    ("shell_approval", "original"): 30,
}

#: What ours may take itself, at most.
LIMITS: dict[str, float] = {
    "tool_above_server": 0.2,
    "approval_decision": 0.01,
    "https_proxied_ratio": 2,
    "walled_fork_ratio": 1.5,
    "pss_per_walled_kernel_10_ratio": 1.1,
    "compile_first_call_compiled_of_json": 1.1,
    "compile_first_call_compiled_memory": 300,
    "compile_umbrella_compiled_of_json": 1.6,
    "compile_first_call_header_only_of_json": 16,
    "compile_first_call_header_only_memory": 1800,
    "compile_everything_header_only_of_json": 26,
    "compile_library_of_json": 38,
}

#: What ours has to reach exactly.
EXACT: dict[str, float] = {
    "output_kept": 1,
    "print_10mb_received": 10_000_000,
    "print_100mb_received": 100_000_000,
    "cancel_after_execute": 1,
    "tool_60mb_received": 60_000_000,
    "codegen_many_importable": 200,
}

#: Ours under bubblewrap over ours without, at most.
SANDBOX_COST = 1.10
