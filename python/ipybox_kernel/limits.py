"""What a process may take of the machine: setrlimit(2)."""

from __future__ import annotations

import resource

SHARED = {
    "memory": resource.RLIMIT_DATA,  # what is written to; address space alone costs nothing
    "processes": resource.RLIMIT_NPROC,
    "file_size": resource.RLIMIT_FSIZE,
    "open_files": resource.RLIMIT_NOFILE,
}


def take(limits: dict[str, int]) -> None:
    """Limits this process and all that it will start; what they are limited to already is never raised."""
    lower(resource.RLIMIT_CORE, 0)
    for name, kind in SHARED.items():
        if name in limits:
            lower(kind, limits[name])


def take_cpu_time(seconds: int) -> None:
    """Limits the processor time of this process: `SIGXCPU` at the end of it, and `SIGKILL` a second later."""
    lower(resource.RLIMIT_CPU, seconds + 1, soft=seconds)


def lower(kind: int, limit: int, soft: int | None = None) -> None:
    """Sets both limits of a kind, the hard one included, so that nothing raises them again."""
    _, hard = resource.getrlimit(kind)
    bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (bound if soft is None else min(soft, bound), bound))
