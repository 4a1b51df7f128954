"""Makes a stock Python kernel behave as a forked one.

The host runs this text, silently, in a kernel that it has started from a kernelspec, and appends
`_ipybox_prelude(restore_cwd=...)` and `del _ipybox_prelude`: no name stays with the user.
"""


def _ipybox_prelude(restore_cwd: bool) -> None:
    import os
    import signal
    import sys
    import threading
    from typing import Any

    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        return  # a Python kernel that is not IPython

    # Colours and pagers are made for terminals. Tracebacks without colours are also ten times faster.
    os.environ.update(TERM="dumb", NO_COLOR="1")
    for name in ("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"):
        os.environ.pop(name, None)
    shell.run_line_magic("colors", "nocolor")

    # ipykernel collects output for 200 ms before it sends it.
    stream = type(sys.stdout)
    if hasattr(stream, "flush_interval"):
        stream.flush_interval = 0.01

    # libzmq drops what a subscriber does not take fast enough. The socket belongs to its thread.
    kernel = getattr(shell, "kernel", None)
    thread = getattr(kernel, "iopub_thread", None)
    if thread is not None:
        thread.schedule(lambda: setattr(thread.socket, "sndhwm", 0))

    # ipykernel lets an interrupt strike in its own code too, which then forgets the reply, or never answers again.
    # So it strikes in the code of cells alone; one that comes earlier in a request waits for it.
    depth, early = 0, False
    run_code, show_traceback = shell.run_code, shell.showtraceback

    def interrupt(*_: object) -> None:
        nonlocal early
        if depth:
            raise KeyboardInterrupt
        early = True

    def begin_request() -> None:
        nonlocal depth, early
        signal.signal(signal.SIGINT, interrupt)  # raises in a subshell's thread, which no interrupt reaches
        depth, early = 0, False

    async def run(*code: object, **how: object) -> object:
        nonlocal depth, early
        if threading.current_thread() is not threading.main_thread():
            return await run_code(*code, **how)
        try:
            depth += 1
            if early:
                early = False
                raise KeyboardInterrupt
            return await run_code(*code, **how)
        finally:
            depth -= 1

    def show(*error: object, **how: object) -> None:
        nonlocal depth
        outer, depth = depth, 0
        try:
            show_traceback(*error, **how)
        finally:
            depth = outer

    if kernel is not None and hasattr(kernel, "pre_handler_hook"):
        kernel.pre_handler_hook, kernel.post_handler_hook = begin_request, lambda: None
        shell.run_code, shell.showtraceback = run, show
        begin_request()  # this request is one too, and nothing is put back at its end

    # IPython analyses the frames that it leaves out too: of its own code, that takes a quarter of a second.
    style = shell.InteractiveTB
    format_error = style.structured_traceback

    def structured_traceback(
        kind: object, error: object, frames: Any = None, tb_offset: int | None = None, *how: object, **more: object
    ) -> object:
        for _ in range(style.tb_offset if tb_offset is None else tb_offset):
            frames = frames and frames.tb_next
        return format_error(kind, error, frames, 0, *how, **more)

    style.structured_traceback = structured_traceback

    if restore_cwd:
        home, in_line = os.getcwd(), False
        followed: list[tuple[Any, Any, Any]] = []  # a stream, its `write`, and what stands in its place during a cell

        def following(write: Any) -> Any:
            def write_and_follow(text: str) -> object:
                nonlocal in_line
                if text:
                    in_line = not text.endswith("\n")
                return write(text)

            return write_and_follow

        def begin_cell(info: object) -> None:
            nonlocal in_line
            in_line = False
            streams = [out for out in (sys.stdout, sys.stderr) if hasattr(out, "flush_interval")]  # ipykernel's
            followed[:] = [(out, out.write, following(out.write)) for out in streams]
            for out, _, instead in followed:
                out.write = instead

        def end_cell() -> None:
            for out, write, instead in followed:
                if out.write is instead:  # IPython exchanges it in each cell, too
                    out.write = write

        def notice(text: str) -> None:
            print(("\n" if in_line else "") + "[ipybox] " + text)

        def restore(result: Any) -> None:
            nonlocal in_line
            end_cell()
            try:
                if os.getcwd() == home:
                    return
            except OSError:
                pass  # it was deleted
            if result.result is not None:
                in_line = False  # it was shown, on lines of its own
            try:
                os.chdir(home)
                notice(f"cwd reset to {home}")
            except OSError as error:
                notice(f"cwd cannot be reset to {home}: {error.strerror}")

        shell.events.register("pre_run_cell", begin_cell)
        shell.events.register("post_run_cell", restore)
