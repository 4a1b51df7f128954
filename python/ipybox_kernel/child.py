"""The steps by which a forked child becomes a kernel."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from ipybox_kernel import landlock, packages, process
from ipybox_kernel.wire import Link

if TYPE_CHECKING:
    from ipybox_kernel.birth import Birth
    from ipybox_kernel.caches import Caches
    from ipybox_kernel.kernel import HandlersKernel

DEFAULTS = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}


def become_kernel(kernel: HandlersKernel, birth: Birth) -> None:
    """Runs a kernel in this process, which was forked for it, one step after the other."""
    gc.freeze()  # none of what the supervisor has made until now is garbage here: looking for it would unshare it
    gc.enable()
    process.forget_signals()
    process.detach(birth.supervisor)
    process.set_dumpable(True)  # or this kernel could not look into itself
    os.environ.clear()
    os.environ.update(birth.env)
    time.tzset()
    set_import_path(birth.env)
    packages.add()
    become_script(kernel.shell)
    reseed()
    if birth.actions:
        kernel.connect_actions(birth.actions)
    if birth.cpu_time is not None:
        from ipybox_kernel import limits

        limits.take_cpu_time(birth.cpu_time)
    if birth.guard:
        from ipybox_kernel import guards

        guards.confine(birth.allow)
        if kernel.originals:
            kernel.originals.replaced(guards.REPLACED)
    else:
        landlock.keep_signals_in()
    kernel.run(Link(birth.stream), birth.outputs.pipes, birth.outputs.journal, birth.restore_cwd, birth.first)


def environment(env: dict[str, str], caches: Caches) -> dict[str, str]:
    """The variables that the host gave, others for output and caches, and a search path."""
    places = caches.variables(env)
    return {**DEFAULTS, **places, **env, "PATH": program_path(env.get("PATH", os.defpath))}


def program_path(path: str) -> str:
    """The folder of this interpreter comes first: ``!pip`` and ``!python`` are this kernel's."""
    folders = [os.path.dirname(sys.executable), *(path.split(os.pathsep) if path else [])]
    return os.pathsep.join(dict.fromkeys(folders))


def set_import_path(env: dict[str, str]) -> None:
    """The working directory and PYTHONPATH come first, as if the interpreter had been started here."""
    extra = [os.path.abspath(entry) for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[:] = ["", *dict.fromkeys(extra), *(entry for entry in sys.path if entry not in extra)]


def become_script(shell: Any) -> None:
    """Takes the arguments of the code out of the environment; a file of Python counts as the script that runs."""
    given = os.environ.pop("IPYBOX_ARGV", None)
    if given is None:
        return
    sys.argv[:] = json.loads(given)
    file = sys.argv[0]
    if file in ("", "-", "-c") or file.lower().endswith(".ipynb"):
        return
    path = os.path.abspath(file)
    sys.path.insert(0, os.path.dirname(path))
    for namespace in (shell.user_ns, shell.user_ns_hidden):
        namespace["__file__"] = path


def reseed() -> None:
    """Makes this kernel's random numbers its own. (``random`` does so after every fork.)"""
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random:
        numpy_random.seed()
