"""Makes a stock Python kernel behave as a forked one.

The host runs this text, silently, in a kernel that it has started from a kernelspec, and appends
`_ipybox_prelude(restore_cwd=...)` and `del _ipybox_prelude`: no name stays with the user.
"""


def _ipybox_prelude(restore_cwd: bool) -> None:
    import os
    import sys

    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        return  # a Python kernel that is not IPython

    # What colours and pages is made for terminals. Tracebacks without colours are also ten times faster.
    os.environ.update(TERM="dumb", NO_COLOR="1")
    for name in ("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"):
        os.environ.pop(name, None)
    shell.run_line_magic("colors", "nocolor")

    # ipykernel collects output for 200 ms before it sends it.
    stream = type(sys.stdout)
    if hasattr(stream, "flush_interval"):
        stream.flush_interval = 0.01

    # libzmq drops what a subscriber does not take fast enough. The socket belongs to its thread.
    thread = getattr(getattr(shell, "kernel", None), "iopub_thread", None)
    if thread is not None:
        thread.schedule(lambda: setattr(thread.socket, "sndhwm", 0))

    if restore_cwd:
        home = os.getcwd()

        def restore(result: object) -> None:
            try:
                if os.getcwd() == home:
                    return
            except OSError:
                pass  # it was deleted
            try:
                os.chdir(home)
                print(f"[ipybox] cwd reset to {home}")
            except OSError as error:
                print(f"[ipybox] cwd cannot be reset to {home}: {error.strerror}")

        shell.events.register("post_run_cell", restore)
