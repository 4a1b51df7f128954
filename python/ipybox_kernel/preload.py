"""Imports and builds everything a kernel needs, once, before the first fork."""

from __future__ import annotations

import fnmatch
import gc
import importlib
import inspect
import json
import logging
import os
import stat
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ipybox_kernel.kernel import HandlersKernel

SUPPORTED = "ipykernel >= 6.29, < 8"
HARMLESS = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "console", "ptmx")}
NOT_NEEDED = ("debugpy", "jedi", "pickleshare")  # imported by IPython if they are there; 45 ms
CHECK = "print('ready')"
FOR_ACTIONS = (
    "ipybox_kernel.actions",
    "ipybox_kernel.aliases",
    "ipybox_kernel.magics",
    "ipybox_kernel.programs",
    "ipybox_kernel.tools",
    "IPython.core.magics.script",
    "IPython.core.magics.packaging",
)
WARM_UP = ("1/0", "await __import__('asyncio').sleep(0)", "'ready'", "print('ready')")


class Failure(Exception):
    """There will be no kernels; the kind of the ``failed`` event and its text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def kernel(level: str, modules: list[str]) -> HandlersKernel:
    """A kernel that works, ready to be forked; raises Failure if there is none."""
    with without(NOT_NEEDED):
        classes = import_kernel()
        built = build([classes[level]] if level in classes else list(classes.values()))
    from ipybox_kernel.child import DEFAULTS  # needs what import_kernel has found
    from ipybox_kernel.originals import Originals

    machinery = list(sys.modules)
    os.environ.update(DEFAULTS)  # matplotlib takes its backend from there when it is imported
    for module in FOR_ACTIONS:
        importlib.import_module(module)
    importlib.import_module("ipybox_kernel.watchdog")  # or the kernels before the first look do not share it
    for module in modules:
        preload_module(module)
    know_modules()
    built.originals = Originals(machinery)
    settle()
    return built


def how_to_install() -> str:
    """Distributions do not let pip write to the system's Python."""
    if sys.prefix != sys.base_prefix:
        return f"To install it: {sys.executable} -m pip install ipykernel"
    return (
        f"An environment with it: {sys.executable} -m venv .venv && .venv/bin/pip install ipykernel\n"
        "An option that names this interpreter (--python, kernel.python) has to name .venv/bin/python instead."
    )


def import_kernel() -> dict[str, Any]:
    """The kernel classes by level, the best one first."""
    try:
        import ipykernel  # noqa: F401, before anything else can be missed

        from ipybox_kernel.kernel import HandlersKernel
        from ipybox_kernel.lean import LeanKernel
    except ModuleNotFoundError as error:
        if error.name == "ipykernel":
            raise Failure("ipykernel_missing", f"{sys.executable} has no ipykernel. {how_to_install()}") from None
        raise failure(error) from None
    except Exception as error:
        raise failure(error) from None
    return {"lean": LeanKernel, "handlers": HandlersKernel}


def build(candidates: list[Any]) -> HandlersKernel:
    """The first kernel that runs a cell."""
    for candidate in candidates:
        try:
            built = make(candidate)
            check(built)
            return built
        except Exception as error:
            reason = error
            candidate.clear_instance()
            candidate.shell_class.klass.clear_instance()
    raise failure(reason, "unsupported")


def make(candidate: Any) -> HandlersKernel:
    """Builds a kernel and its shell. Nothing is read from or written to a profile directory."""
    from IPython.core.profiledir import ProfileDir
    from traitlets.config import Config

    from ipybox_kernel.session import LeanSession

    config = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}})
    os.environ["IPYTHONDIR"] = os.path.join(tempfile.gettempdir(), "ipython")  # never made, but it could be
    made: HandlersKernel = candidate.instance(
        session=LeanSession(),
        profile_dir=ProfileDir(),
        config=config,
        user_ns=None,
        log=logging.getLogger("ipykernel"),
    )
    made.shell.db = Store()
    made.shell.magics_manager.register_lazy("store", "IPython.extensions.storemagic")
    warnings.filterwarnings("ignore", message="To exit: use")
    return made


class Store(dict[str, Any]):
    """The memory of ``%store`` and ``%cd``, for as long as the kernel lives."""

    def keys(self, glob: str = "*") -> Any:
        return fnmatch.filter(super().keys(), glob)


def check(built: HandlersKernel) -> None:
    """Runs a cell and looks at what comes out; raises if the hooks do not fit."""
    messages = rehearse(built, CHECK)
    texts = [message["content"].get("text") for message in messages if message["msg_type"] == "stream"]
    states = [message["content"]["status"] for message in messages if message["msg_type"] == "execute_reply"]
    if texts != ["ready\n"] or states != ["ok"]:
        raise RuntimeError(f"a cell that prints and ends sent {messages}")


def warm_up(built: HandlersKernel) -> list[Callable[[], object]]:
    """The pieces of work that make the first cells of every fork faster."""
    return [partial(rehearse_twice, built, code) for code in WARM_UP]


def rehearse_twice(built: HandlersKernel, code: str) -> None:
    """The interpreter notes in code what it saw there, and a fork that is the first to do so copies those pages."""
    rehearse(built, code)
    rehearse(built, code)
    settle()


def settle() -> None:
    """Keeps forks from writing to what they share. Collecting garbage does, and replacing what the type cache has."""
    gc.freeze()
    sys._clear_type_cache()


def rehearse(built: HandlersKernel, code: str) -> list[dict[str, Any]]:
    """Runs a cell without a host and without a trace; returns the messages."""
    recorder = Recorder()
    from ipybox_kernel.loop import MainLoop

    built.session.connect(recorder)
    with pristine(built.shell), stage(built):
        built.io_loop = MainLoop()
        built.take(0, cell(code))
        built.io_loop.end()  # with the coroutines that are left in it: IPython remembers how they end
    return recorder.messages


class Recorder:
    """A link to nowhere."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.messages: list[dict[str, Any]] = []

    def send(self, channel: int, frames: list[Any]) -> None:
        self.messages.append({**json.loads(frames[0]), "content": json.loads(frames[3])})


def cell(code: str) -> list[memoryview]:
    """The frames of a request to run a cell."""
    header = {"msg_id": "rehearsal", "msg_type": "execute_request"}
    content = {"code": code, "silent": False, "store_history": False}
    return [memoryview(json.dumps(part).encode()) for part in (header, {}, {}, content)]


@contextmanager
def stage(built: HandlersKernel) -> Iterator[None]:
    """Lets a kernel print that has no descriptors yet."""
    saved = sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__
    built.streams.install()
    try:
        yield
    finally:
        sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__ = saved  # type: ignore[misc]


@contextmanager
def pristine(shell: Any) -> Iterator[None]:
    """Afterwards the shell is as if nothing had been run in it."""
    names, hidden = dict(shell.user_ns), dict(shell.user_ns_hidden)
    try:
        yield
    finally:
        shell.user_ns["_oh"].clear()
        for namespace, saved in ((shell.user_ns, names), (shell.user_ns_hidden, hidden)):
            namespace.clear()
            namespace.update(saved)
        for name in ("_", "__", "___"):
            setattr(shell.displayhook, name, "")
        shell.history_manager.output_hist_reprs.clear()
        getattr(shell.history_manager, "outputs", {}).clear()
        shell.last_execution_result = None
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)


def preload_module(name: str) -> None:
    """Imports what every kernel is to have; raises Failure if that cannot be imported."""
    try:
        importlib.import_module(name)
    except Exception as error:
        what = "".join(traceback.format_exception_only(type(error), error)).strip()
        text = f"{sys.executable} cannot import {name!r}, which is to be preloaded: {what}\n"
        raise Failure("error", text + "Install it for this interpreter, or leave it out of `preload`.") from None
    if device := opened_device():
        text = f"importing {name!r}, which is to be preloaded, has opened {device}\n"
        text += "Devices that are open before kernels are forked work in none of them (CUDA says so at its first use). "
        raise Failure("error", text + "Leave it out of `preload`, or let it open the device later.")


def opened_device() -> str:
    """A device that this process has open, but for those that every program may have; empty if there is none."""
    for entry in os.scandir("/proc/self/fd"):
        try:
            path, mode = os.readlink(entry.path), os.stat(entry.path).st_mode
        except OSError:
            continue  # the one that lists them
        if stat.S_ISCHR(mode) and path not in HARMLESS and not path.startswith("/dev/pts/"):
            return path
    return ""


def know_modules() -> None:
    """Tells ``inspect`` which module has which file: for the first traceback it would look at the files of all."""
    by_name = getattr(inspect, "_filesbymodname", {})
    for name, module in list(sys.modules.items()):
        file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
        if isinstance(file, str):
            by_name[name] = file
            inspect.modulesbyfile[file] = name  # type: ignore[attr-defined]


@contextmanager
def without(names: tuple[str, ...]) -> Iterator[None]:
    """Makes imports of these modules fail, for a while."""
    blocked = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(blocked))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in blocked:
            del sys.modules[name]


def failure(error: Exception, kind: str = "error") -> Failure:
    """The failure of all kernels: the versions found, those that work, and the end of the traceback."""
    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines()[-8:]
    try:
        found = ", ".join(f"{name} {version}" for name, version in versions().items())
    except Exception:
        found = "an ipykernel that cannot be imported"
    text = f"{sys.executable} has {found}; kernels work with {SUPPORTED}.\n" + "\n".join(lines)
    return Failure(kind, text)


def versions() -> dict[str, str]:
    """The versions of ipykernel and IPython."""
    import ipykernel
    import IPython

    return {"ipykernel": ipykernel.__version__, "ipython": IPython.__version__}
