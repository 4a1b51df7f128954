"""Functions of IPython's shell, with what a kernel adds to them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from IPython.core.error import UsageError

from ipybox_kernel.interrupt import interrupts

T = TypeVar("T")


def wrap(shell: Any) -> None:
    """Takes the place of the functions of a shell."""
    shell.enable_gui = enable_gui
    shell.run_code = beginning(shell.run_code)
    shell.run_ast_nodes = ending(shell.run_ast_nodes)
    shell.should_run_async = tolerating_null_bytes(shell.should_run_async)


def enable_gui(gui: str | None = None) -> None:
    """For ``%matplotlib`` and ``%gui``: inline figures need no event loop, and there is no other."""
    from ipykernel.eventloops import loop_map

    if loop_map.get(gui, "unknown") is not None:
        raise UsageError(f"There is no event loop for {gui!r} here.")


def beginning(run_code: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., Coroutine[Any, Any, T]]:
    """``shell.run_code``, which IPython calls when it is done with its callbacks."""
    interrupts.starts_code = run_code.__code__

    async def run(*code: Any, **options: Any) -> T:
        with interrupts:
            running = run_code(*code, **options)
        try:
            interrupts.begin()
            return await running
        finally:
            running.close()  # if an interrupt struck before it began

    return run


def ending(run_ast_nodes: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., Coroutine[Any, Any, T]]:
    """``shell.run_ast_nodes``, which runs the code of a cell; IPython's callbacks come behind it."""

    async def run(*nodes: Any, **options: Any) -> T:
        try:
            return await run_ast_nodes(*nodes, **options)
        finally:
            interrupts.end()

    return run


def tolerating_null_bytes(should_run_async: Callable[..., bool]) -> Callable[..., bool]:
    """``shell.should_run_async``, which compiles the cell; Python 3.10 has an error of its own for null bytes."""

    def tolerant(raw_cell: str, **options: Any) -> bool:
        return "\0" not in raw_cell and should_run_async(raw_cell, **options)

    return tolerant
