"""The text that starts the supervisor, ``PYTHON -I -c BOOT N``: gets the package from the host and hands over."""

from __future__ import annotations

import builtins
import fcntl
import json
import marshal
import os
import socket
import struct
import sys
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

TYPE_CHECKING = False  # typing is dear
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO, NoReturn

FIRST = (
    "birth",
    "broker",
    "checked",
    "children",
    "control",
    "hosts",
    "isolation",
    "landlock",
    "limits",
    "packages",
    "places",
    "preload",
    "process",
    "refused",
    "supervisor",
)  # what a start imports at once


SHARED = ("sys", "warnings", "getpass", "builtins")  # modules that the package changes for all code


class Sources:
    """Importer of ``ipybox_kernel``, a package that exists only as texts. ``linecache`` asks it for source lines.

    Its modules use copies of those of Python: whatever code of a cell puts into `json`, `os` or `builtins` is not seen
    here.
    """

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts
        self.builtins = dict(vars(builtins))
        self.own: dict[str, ModuleType] = {}  # copies of modules, by their names
        self.helper: Helper | None = None
        self.compiled: dict[str, bytes] = {}

    def compile_beside(self, unused: Sequence[int]) -> None:
        """Has another process compile what is not imported first; it closes the descriptors that it has no use for."""
        try:
            self.helper = Helper(self, [f"ipybox_kernel.{name}" for name in self.texts if name not in FIRST], unused)
        except OSError:
            pass  # the system allows no further process: each module is compiled when it is imported

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, module = name.partition(".")
        if package != "ipybox_kernel" or (module and module not in self.texts):
            return None
        spec = ModuleSpec(name, self, is_package=not module)  # type: ignore[arg-type]  # importlib.abc is dear
        spec.origin, spec.has_location = self.filename(name), bool(module)
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """An ordinary one."""

    def exec_module(self, module: ModuleType) -> None:
        names = vars(module)
        names["__builtins__"] = self.builtins
        exec(self.get_code(module.__name__), names)
        for name, value in names.items():
            if type(value) is ModuleType and value.__name__.partition(".")[0] in sys.stdlib_module_names:
                names[name] = self.copy(value)

    def copy(self, module: ModuleType) -> ModuleType:
        """A module of the standard library for the package alone. One that is changed here is shared."""
        name = module.__name__
        if name in SHARED:
            return module
        if name not in self.own:
            self.own[name] = ModuleType(name)
            vars(self.own[name]).update(vars(module))
        return self.own[name]

    def get_code(self, name: str) -> CodeType:
        if self.helper and name in self.helper.names:
            self.compiled, self.helper = self.helper.results(), None
        code = self.compiled.pop(name, None)
        return marshal.loads(code) if code else self.compile(name)

    def compile(self, name: str) -> CodeType:
        return compile(self.get_source(name), self.filename(name), "exec")

    def get_source(self, name: str) -> str:
        return self.texts.get(name.partition(".")[2], "")

    def filename(self, name: str) -> str:
        return f"<ipybox_kernel>/{name.partition('.')[2] or '__init__'}.py"


class Helper:
    """A process that compiles while this one imports what is installed, which takes longer."""

    def __init__(self, sources: Sources, names: Sequence[str], unused: Sequence[int]) -> None:
        self.names = names
        self.memory = os.fdopen(os.memfd_create("ipybox_kernel"), "w+b")
        self.pid = os.fork()
        if not self.pid:
            self.work(sources, unused)

    def work(self, sources: Sources, unused: Sequence[int]) -> NoReturn:
        """The work of the process, and its end."""
        try:
            for descriptor in unused:
                os.close(descriptor)
            with self.memory:
                marshal.dump({name: marshal.dumps(sources.compile(name)) for name in self.names}, self.memory)
        finally:
            os._exit(0)

    def results(self) -> dict[str, bytes]:
        """Waits for its end. Nothing is in them if it could not do its work."""
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:
            pass  # SIGCHLD is ignored, so the system has forgotten it
        with self.memory:
            self.memory.seek(0)
            try:
                return marshal.load(self.memory)
            except (EOFError, ValueError, TypeError):
                return {}


def control_socket(number: int) -> socket.socket:
    """Moves the control descriptor out of the way of 0 to 2, and gives these something harmless."""
    try:
        duplicate = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)
    except OSError:
        raise SystemExit(
            f"the control descriptor {number} is not open: the command that starts this interpreter has closed it"
        ) from None
    control = socket.socket(fileno=duplicate)
    null = os.open(os.devnull, os.O_RDWR)
    os.close(number)
    for standard in {0, number} & {0, 1, 2}:
        os.dup2(null, standard)
    if null > 2:
        os.close(null)
    return control


def greeting(control: socket.socket) -> tuple[dict[str, object], dict[str, str], list[int]]:
    """The host's first message, the texts it came with, and the lifeline if there is one."""
    data, ancillary, _, _ = control.recvmsg(131072, socket.CMSG_SPACE(8), socket.MSG_CMSG_CLOEXEC)
    if not data:
        raise SystemExit("the host closed the control socket")
    sources, *lifeline = struct.unpack(f"{len(ancillary[0][2]) // 4}i", ancillary[0][2])
    with open(sources, "rb") as memory:
        memory.seek(0)
        return json.loads(data), dict(modules(memory)), lifeline


def modules(memory: BinaryIO) -> Iterator[tuple[str, str]]:
    """The names and texts of the package: each text is behind a line with its name and size."""
    for head in iter(memory.readline, b""):
        name, size = head.split()
        yield name.decode(), memory.read(int(size)).decode()


control = control_socket(int(sys.argv[1]))
hello, texts, lifeline = greeting(control)
hello["places"] = json.loads(texts.pop("places.json", "[]"))
sys.argv[1:] = []
sys.meta_path.insert(0, sources := Sources(texts))
if hello.get("preload", True):
    sources.compile_beside([control.fileno(), *lifeline])

import ipybox_kernel.supervisor

ipybox_kernel.supervisor.main(control, hello, lifeline)
