"""The kernel's own way to run a cell, in place of ipykernel's handlers and of IPython's ``run_cell``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Coroutine
from typing import Any

from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.kernel import HandlersKernel
from ipybox_kernel.tracebacks import as_interrupt, describe


class LeanKernel(HandlersKernel):
    """Our own way to run a cell: it is transformed once, driven directly, and can be stopped wherever it is."""

    level = "lean"

    def main_thread(self) -> None:
        """No channel threads, no subshells."""

    async def execute_request(self, stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        """Runs a cell and replies."""
        content = parent["content"]
        silent = content.get("silent", False)
        store_history = content.get("store_history", not silent)
        reply = await self.do_execute(content["code"], silent, store_history, content.get("user_expressions"))
        self.session.send(stream, "execute_reply", reply, parent)

    async def run_cell(
        self, code: str, silent: bool, store_history: bool, user_expressions: dict[str, str]
    ) -> dict[str, Any]:
        """Runs a cell and returns the content of its reply."""
        result = await self.run_code(code, silent, store_history)
        error = result.error_in_exec if result.error_before_exec is None else result.error_before_exec
        if error is None:
            return self.reply(self.shell.user_expressions(user_expressions))
        return {**self.reply({}), **describe(as_interrupt(error)), "status": "error"}

    async def run_code(self, code: str, silent: bool, store_history: bool) -> Any:
        """Runs a cell and returns IPython's result, as ``shell.run_cell`` does without the detours."""
        shell = self.shell
        if shell.loop_runner is not self.loop_runner:
            return shell.run_cell(code, store_history=store_history, silent=silent)  # %autoawait trio
        try:
            transformed, failure = shell.transform_cell(code), None
        except Exception:
            transformed, failure = code, sys.exc_info()
        cell = result = None
        try:
            cell = shell.run_cell_async(
                code,
                store_history=store_history,
                silent=silent,
                transformed_cell=transformed,
                preprocessing_exc_tuple=failure,
            )
            if shell.should_run_async(code, transformed_cell=transformed, preprocessing_exc_tuple=failure):
                result = await self.run_task(cell)
            else:
                result = complete(cell)
        finally:
            if cell and inspect.getcoroutinestate(cell) == inspect.CORO_CREATED:
                cell.close()  # an interrupt struck before
            shell.events.trigger("post_execute")
            if not silent:
                shell.events.trigger("post_run_cell", result)
        return result

    async def run_task(self, cell: Coroutine[Any, Any, Any]) -> Any:
        """Runs an ``await`` cell as a task of its own, which an interrupt can cancel."""
        task = None
        try:
            with interrupts:  # a task without an owner would run beside the next cells, and take their interrupts
                task = interrupts.task = self.io_loop.task(cell)
            return await task
        finally:
            interrupts.task = None
            if task:
                task.cancel()  # if an interrupt struck here, and not in it


def complete(cell: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits."""
    try:
        cell.send(None)
    except StopIteration as stop:
        return stop.value
    cell.close()
    raise RuntimeError("a cell without await waits for something")
