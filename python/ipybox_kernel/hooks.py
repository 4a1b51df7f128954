"""Functions of IPython's shell, with what a kernel adds to them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from traceback import walk_tb
from types import CodeType, TracebackType
from typing import Any, TypeVar

from IPython.core.error import UsageError

from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.tracebacks import Mended, Tracebacks

T = TypeVar("T")


def wrap(shell: Any, tracebacks: Tracebacks) -> None:
    """Takes the place of the functions of a shell."""
    shell.enable_gui = enable_gui
    shell.run_code = beginning(shell.run_code, tracebacks)
    shell.displayhook.write_format_data = repeating(shell.displayhook.write_format_data, tracebacks)
    shell.run_ast_nodes = ending(shell.run_ast_nodes)
    shell.should_run_async = tolerating_null_bytes(shell.should_run_async)


def enable_gui(gui: str | None = None) -> None:
    """For ``%matplotlib`` and ``%gui``: inline figures need no event loop, and there is no other."""
    from ipykernel.eventloops import loop_map

    if loop_map.get(gui, "unknown") is not None:
        raise UsageError(f"There is no event loop for {gui!r} here.")


def beginning(
    run_code: Callable[..., Coroutine[Any, Any, bool]], tracebacks: Tracebacks
) -> Callable[..., Coroutine[Any, Any, bool]]:
    """``shell.run_code``, which IPython calls when it is done with its callbacks, for each statement of a cell."""
    interrupts.starts_code = run_code.__code__

    async def run(code: CodeType, result: Any = None, **options: Any) -> bool:
        def repeats(error: BaseException) -> bool:
            return starts_code(error.__traceback__) and not has_begun(code, error)

        outer = tracebacks.repeats
        while True:
            with interrupts:
                running = run_code(code, result, **options)
            try:
                tracebacks.repeats = repeats
                interrupts.begin()
                return await running
            except Mended:
                if result is not None:
                    result.error_in_exec = None
            except Exception as failure:
                frames, error = failure.__traceback__, failure.__context__
                if not frames or not starts_code(frames.tb_next) or has_begun(code, failure) or not tracebacks.mend():
                    raise
                if error and has_begun(code, error):  # the one of the cell, which IPython could not show
                    if result is not None:
                        result.error_in_exec = error
                    tracebacks.show((type(error), error, error.__traceback__))
                    return True
            finally:
                tracebacks.repeats = outer
                running.close()  # if an interrupt struck before it began

    return run


def starts_code(frames: TracebackType | None) -> bool:
    """Whether these are frames of IPython's function that runs code, and of what it calls."""
    return frames is not None and frames.tb_frame.f_code is interrupts.starts_code


def has_begun(code: CodeType, error: BaseException) -> bool:
    """Whether an error comes from code. IPython may fail to run it: it takes ``exec`` where that of code is."""
    return any(frame.f_code is code for frame, _ in walk_tb(error.__traceback__))


def repeating(step: Callable[..., T], tracebacks: Tracebacks) -> Callable[..., T]:
    """A step of the machinery that can be done again."""

    def done(*arguments: Any, **options: Any) -> T:
        return tracebacks.repeated(partial(step, *arguments, **options))

    return done


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
