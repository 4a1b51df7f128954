// Written by cmake/EmbedPython.cmake from python/ipybox_kernel: change it there, then build the target runtime_source.
// clang-format off
#pragma once

#include <string_view>

namespace ipybox::detail {

/// A module of the Python package that the supervisor runs; `name` is without ".py".
struct runtime_module {
    std::string_view name;
    std::string_view text;
};

/// What the interpreter is started with: makes the modules importable and hands over to the supervisor.
inline constexpr std::string_view runtime_boot{R"py("""The text that starts the supervisor, ``PYTHON -I -c BOOT N``: gets the package from the host and hands over."""

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
)py", 7049};

/// The script that the system's shell runs as the supervisor's parent, unless the supervisor is the first process of a pid namespace.
inline constexpr std::string_view runtime_keeper{R"py(# A small parent of the supervisor, `sh -c THIS keeper N PROGRAM ARG…`: when the supervisor has ended, it kills what that has left behind.
# The host has made this process a subreaper, so orphans come to it. N is the number of the control descriptor, which only the program keeps.
control=$1
shift
case $control in
0) { "$@" <&9 9<&- & } 9<&0 ;; # else the program's standard input would be /dev/null
*) "$@" & ;;
esac
exec 2>/dev/null
case $control in
[0-9]) eval "exec $control>&-" ;;
esac
wait $!
status=$?

kill_children() {
    children= killed=
    read -r children <"/proc/$$/task/$$/children"
    for child in $children; do
        kill -9 "$child" && killed=yes
    done
    [ "$killed" ]
}
while kill_children; do
    (:) # the shell waits for its end, and reaps all others that have ended
done

[ "$status" -le 128 ] || kill -"$((status - 128))" $$
exit "$status"
)py", 877};

/// The program that installs packages, in a sandbox of its own.
inline constexpr std::string_view runtime_installer{R"py("""Installs packages into a layer. The host runs this text in a sandbox of its own: ``PYTHON -I -c INSTALLER N``.

The number is that of a socket to the host, which says what is wanted and serves the connections. Its end is the end of
everything here.
"""

from __future__ import annotations

import fcntl
import filecmp
import importlib.machinery
import json
import os
import queue
import re
import resource
import socket
import subprocess
import sys
import threading
import time
from importlib import metadata

TYPE_CHECKING = False  # typing is dear
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: The first one that reports what it would install.
OLDEST_PIP = (22, 2)

#: The first one that trusts the authorities that the system trusts; older ones have a list of their own.
SYSTEMS_PIP = (24, 2)

#: The authorities that a system trusts, where distributions have the file.
SYSTEMS_CERTIFICATES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")

#: What is looked at of what pip says of a failure.
TAIL = 1 << 16

#: What may be written into a line for pip, which would take options and variables from there (PEP 508, PEP 440).
NAME = re.compile(r"[A-Z0-9]|[A-Z0-9][A-Z0-9._-]*[A-Z0-9]", re.ASCII | re.IGNORECASE)
VERSION = re.compile(
    r"(\d+!)?\d+(\.\d+)*([-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?\d*)?(-\d+|[-_.]?(post|rev|r)[-_.]?\d*)?"
    r"([-_.]?dev[-_.]?\d*)?(\+[a-z0-9]+([-_.][a-z0-9]+)*)?",
    re.ASCII | re.IGNORECASE,
)

MAX_DATAGRAM = 128 * 1024
LOOK = 0.1  # seconds between two looks at what a layer takes of the disk
LONGEST_LOOK = 1.0
SHARE = 5  # looks take no more than this part of the time, as long as the longest interval allows it
LEAST = 4096  # bytes that a file or a directory counts for at least: there is no end of empty ones
STAGING = ".staging"
LOCK = ".lock"
COMPILED = "__pycache__"

#: Starts pip, which sees what the layer has installed and imports nothing from there: that is code of others, and pip
#: tries modules that it can do without. A package may need another one by the path or the URL of its source, which pip
#: would build whatever it is told of wheels; for that it has to start a program.
RUN_PIP = """
import runpy, sys
from importlib.machinery import FileFinder

class OnlyMetadata(FileFinder):
    def find_spec(self, name, target=None):
        return None

def refuse_programs(event, arguments):
    alone = event == "subprocess.Popen" and len(arguments[1]) == 1  # a loader of musl, which says its version
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn") and not alone:
        raise PermissionError("nothing is built, and no program is run")

sys.addaudithook(refuse_programs)
layer = sys.argv.pop(1)
sys.path_importer_cache[layer] = OnlyMetadata(layer)
sys.path.append(layer)
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""


class Failure(Exception):
    """Why nothing is installed: a kind that the host knows, and a text of our own."""

    def __init__(self, kind: str, text: str = "") -> None:
        super().__init__(text)
        self.kind = kind


class Host:
    """The other end of the socket. A thread listens to it, so that its end is heard while pip runs."""

    def __init__(self, number: int) -> None:
        self.socket = socket.socket(fileno=number)
        self.messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.moving = threading.Lock()  # held while files of the layer change
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        # Without this thread the end of the host would not be heard: whatever ends it ends the process.
        try:
            while data := self.socket.recv(MAX_DATAGRAM):
                self.messages.put(json.loads(data))
        finally:
            with self.moving:
                os._exit(1)

    def receive(self) -> dict[str, Any]:
        return self.messages.get()

    def send(self, message: dict[str, Any], *descriptors: int) -> None:
        try:
            socket.send_fds(self.socket, [json.dumps(message).encode()], descriptors)
        except OSError:
            os._exit(1)

    def reach_hosts(self) -> None:
        """Lets the host serve the connections of all programs here, also those to names like localhost."""
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
            proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"
            self.send({"op": "listen"}, listener.fileno())
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            os.environ[name] = proxy


class Layer:
    """The directory, locked as long as this process lives: sessions may share one."""

    def __init__(self, path: str, size: int | None) -> None:
        self.path = path
        self.size = size  # bytes of the disk that it may take
        # Code may open nothing of the layer for writing, and this not for reading: it could hold the lock.
        self.lock = os.open(os.path.join(path, LOCK), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o200)
        os.fchmod(self.lock, 0o200)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.staging = os.path.join(path, STAGING)
        self.clear()
        self.before = 0 if size is None else size_of(path)
        os.makedirs(self.within("tmp"))
        os.environ.update(HOME=self.staging, TMPDIR=self.within("tmp"), PIP_CACHE_DIR=self.within("cache"))
        os.chdir(self.within("tmp"))

    def within(self, name: str) -> str:
        """A path of what is thrown away afterwards."""
        return os.path.join(self.staging, name)

    def clear(self) -> None:
        """Removes what is not installed, also what one that was killed has left behind."""
        os.chdir(self.path)
        if os.path.lexists(self.staging):
            remove_tree(self.staging)

    def is_full(self) -> bool:
        """Whether it takes more of the disk than it may, with what pip has written meanwhile."""
        return self.size is not None and self.before + size_of(self.staging) > self.size

    def installed(self) -> Iterator[tuple[str, str]]:
        """Names and versions of what the kernel can import: what the interpreter has, then the layer."""
        seen = set()
        for distribution in metadata.distributions(path=[*sys.path, self.path]):
            try:
                name, version = distribution.metadata["Name"], distribution.version
            except (ValueError, LookupError):
                continue  # they cannot be read
            if not name or not version or not NAME.fullmatch(name) or not VERSION.fullmatch(version):
                continue
            if (key := same_name(name)) not in seen:
                seen.add(key)
                yield name, version

    def take(self, source: str, names: list[str]) -> None:
        """Moves packages of these names in: all, or none where a file of theirs is there and another one."""
        check_metadata(source, {same_name(name) for name in names})
        moves = list(self.moves(source, self.path))
        # Metadata come last: with them a package counts as installed.
        moves.sort(key=lambda move: move[0].endswith(".dist-info"))
        for path, target in moves:
            os.rename(path, target)

    def moves(self, source: str, target: str) -> Iterator[tuple[str, str]]:
        """The moves to be done; directories that are there already get what is new in them."""
        waiting = [(source, target)]
        while waiting:
            source, target = waiting.pop()
            compiled = os.path.basename(source) == COMPILED
            taken = {} if compiled else {module_of(entry): entry.path for entry in entries(target)}
            drop_compiled(source, target)
            for entry in entries(source):
                place = os.path.join(target, entry.name)
                if not os.path.lexists(place):
                    if (module := module_of(entry)) and module in taken:
                        raise Failure("conflict", f"{place} would take the place of {taken[module]}")
                    yield entry.path, place
                elif compiled:
                    yield entry.path, place  # left behind by a move that was not completed
                elif entry.is_dir(follow_symlinks=False) and os.path.isdir(place) and not os.path.islink(place):
                    waiting.append((entry.path, place))
                elif not filecmp.cmp(entry.path, place, shallow=False):
                    raise Failure("conflict", f"{place} belongs to another package")


def module_of(entry: os.DirEntry[str]) -> str | None:
    """The module that an entry of a directory is imported as: of several that have its name Python takes one."""
    name, _, rest = entry.name.partition(".")
    if entry.is_dir(follow_symlinks=False):
        return None if rest or name == COMPILED else name
    return name if entry.name.endswith(tuple(importlib.machinery.all_suffixes())) else None


def drop_compiled(source: str, target: str) -> None:
    """Removes compiled modules that would count for files of the target: a source brings those of its own alone."""
    compiled = os.path.join(source, COMPILED)
    if not os.path.isdir(compiled):
        return
    for entry in entries(compiled):
        module = f"{entry.name.partition('.')[0]}.py"
        if os.path.lexists(os.path.join(target, module)) or not os.path.lexists(os.path.join(source, module)):
            os.unlink(entry.path)


def entries(directory: str) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as found:
        return list(found)


def size_of(directory: str) -> int:
    """Bytes of the disk that a directory takes. Files that are removed meanwhile do not count."""
    size, waiting = 0, [directory]
    while waiting:
        try:
            for entry in entries(waiting.pop()):
                size += max(512 * entry.stat(follow_symlinks=False).st_blocks, LEAST)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
        except OSError:
            continue
    return size


def remove_tree(directory: str) -> None:
    """Removes a directory of any depth; `shutil.rmtree` needs a descriptor and, before 3.13, a frame for each level."""
    waiting, emptied = [directory], []
    while waiting:
        emptied.append(waiting.pop())
        for entry in entries(emptied[-1]):
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            else:
                os.unlink(entry.path)
    for path in reversed(emptied):
        os.rmdir(path)


def same_name(name: str) -> str:
    """A name as all ways to write it have it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def check_metadata(source: str, names: set[str]) -> None:
    """Raises a failure where files say that other packages are installed than those that pip has named."""
    for entry in os.listdir(source):
        package, kind = os.path.splitext(entry.lower())
        if kind in (".dist-info", ".egg-info") and same_name(package.partition("-")[0]) not in names:
            raise Failure("failed", f"{entry} is not of a package that was to be installed")


def check_pip() -> None:
    """Raises a failure that names the interpreter, unless it has a pip that can do this."""
    try:
        version = metadata.version("pip")
    except metadata.PackageNotFoundError:
        raise Failure("pip_missing", f"{sys.executable} has no pip: {sys.executable} -m ensurepip brings it") from None
    number = tuple(map(int, re.findall(r"\d+", version)[:2]))
    trusted = next(filter(os.path.exists, SYSTEMS_CERTIFICATES), None)
    if number < SYSTEMS_PIP and trusted:
        os.environ.setdefault("PIP_CERT", trusted)
    if number < OLDEST_PIP:
        cure = f"{sys.executable} -m pip install --upgrade pip"
        raise Failure("pip_missing", f"pip {version} of {sys.executable} is older than 22.2: {cure}")


class Watch(threading.Thread):
    """Ends pip when the layer takes more of the disk than it may."""

    def __init__(self, layer: Layer, process: subprocess.Popen[bytes]) -> None:
        super().__init__(daemon=True)
        self.layer = layer
        self.process = process
        self.over = threading.Event()

    def run(self) -> None:
        pause = LOOK
        while not self.over.wait(pause):
            begun = time.monotonic()
            if self.layer.is_full():
                return self.process.kill()
            pause = min(max(LOOK, SHARE * (time.monotonic() - begun)), LONGEST_LOOK)


def pip(layer: Layer, *arguments: str) -> None:
    """Runs pip; its output is ours."""
    command = [sys.executable, "-I", "-c", RUN_PIP, layer.path, "install", *arguments]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0) as process:
        assert process.stderr
        watch = Watch(layer, process)
        watch.start()
        tail = b""
        while piece := process.stderr.read(1 << 16):
            say(piece)
            tail = (tail + piece)[-TAIL:]
    watch.over.set()
    watch.join()
    if layer.is_full():
        raise Failure("full", f"the packages take more than the {layer.size} bytes that {layer.path} may take")
    if process.returncode:
        raise Failure("conflict" if b"ResolutionImpossible" in tail else "failed")


def say(text: bytes, stream: int = 2) -> None:
    """Writes to standard error or output, whose reader may have stopped."""
    try:
        with open(stream, "wb", buffering=0, closefd=False) as file:
            file.write(text)
    except BrokenPipeError:
        pass


def install(host: Host, layer: Layer, wanted: dict[str, Any]) -> list[dict[str, str]]:
    """Has pip find what is missing, fetch it, and moves it into the layer."""
    check_pip()
    with open(layer.within("constraints"), "w", encoding="utf-8") as constraints:
        constraints.writelines(f"{name}=={version}\n" for name, version in layer.installed())
    sources = [f"--find-links={directory}" for directory in wanted["wheels"]]
    if "PIP_INDEX_URL" not in os.environ:
        sources.append("--no-index")
    common = ["--only-binary=:all:", "--progress-bar=off", *sources, *wanted["options"]]
    report = layer.within("report")
    dry = ["--dry-run", f"--report={report}", f"--constraint={constraints.name}"]
    pip(layer, *common, *dry, "--", *wanted["requirements"])
    with open(report, "rb") as file:
        found = json.load(file)["install"]
    for entry in found:
        if entry["is_direct"]:
            raise Failure("failed", f"{entry['metadata']['name']} is needed by its URL, and only names are looked for")
    missing = [entry["metadata"] for entry in found]
    if not missing:
        return []
    exact = [f"{package['name']}=={package['version']}" for package in missing]
)py"
R"py(    fresh = layer.within("packages")
    pip(layer, *common, "--quiet", "--no-deps", f"--target={fresh}", "--", *exact)
    with host.moving:
        layer.take(fresh, [package["name"] for package in missing])
    return [{"name": package["name"], "version": package["version"]} for package in missing]


def outcome_of(host: Host, wanted: dict[str, Any]) -> dict[str, Any]:
    """The outcome of an installation, as the host is told."""
    try:
        layer = Layer(wanted["layer"], wanted["size"])
        try:
            installed = install(host, layer, wanted)
        finally:
            layer.clear()
    except Failure as failure:
        return {"op": "ended", "outcome": failure.kind, "text": str(failure)}
    except OSError as error:
        return {"op": "ended", "outcome": "failed", "text": str(error)}
    if installed:
        names = " ".join(f"{one['name']}-{one['version']}" for one in installed)
        say(f"Successfully installed {names}\n".encode(), 1)
    return {"op": "ended", "outcome": "installed", "installed": installed}


def limit_memory(size: int) -> None:
    """Limits this process and pip: what an index and its packages say has no bound."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bound = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))


def main(host: Host) -> int:
    wanted = host.receive()
    if wanted["memory"]:
        limit_memory(wanted["memory"])
    if wanted["network"]:
        host.reach_hosts()
    outcome = outcome_of(host, wanted)
    host.send(outcome)
    text = host.receive()["say"]
    if text:
        say(f"ERROR: {text}\n".encode())
    return 0 if outcome["outcome"] == "installed" else 1


sys.exit(main(Host(int(sys.argv[1]))))
)py", 16771};

inline constexpr runtime_module runtime_modules[] = {
{"actions", {R"py("""The action socket: what a kernel asks its host to do. Requests of any thread and any loop, answers in any order."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from threading import get_ident
from typing import Any

from ipybox_kernel.inbox import READ, Answer, Inbox
from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.service import Bell

MAX_REQUEST = 65 << 20  # bytes; what is larger the host does not read
MAX_HEAD = 256 << 10
FINAL = ("result", "exited", "error")  # no further answer follows
ABSENT = "No actions are possible here: the host takes none from this kernel."
ENDED = "No actions are possible any more: the host has closed their channel."
FORKED = "Actions are possible in the kernel itself only, not in a process that it has forked."

to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class ToolRunnerError(Exception):
    """An action could not be done, or failed."""


class ApprovalRejectedError(ToolRunnerError, PermissionError):
    """An action was rejected; the text is the reason."""

    #: Who decided: `rule`, `policy` (the application, or a person it asks), `no_policy`, `budget`, `cancellation`, …
    decided_by = ""


class ApprovalTimeoutError(ToolRunnerError):
    """No decision about an action came in time."""

    decided_by = "timeout"


current: ActionChannel | None = None


def channel() -> ActionChannel:
    """This kernel's way to its host."""
    if current is None:
        raise ToolRunnerError(ABSENT)
    return current


def failure(head: dict[str, Any]) -> Exception:
    """The exception that an error of the host is raised as."""
    kind, text = head.get("kind"), str(head.get("text"))
    if kind == "rejected":
        rejection = ApprovalRejectedError(text)
        rejection.decided_by = str(head.get("by", ""))
        return rejection
    if kind == "approval_timeout":
        return ApprovalTimeoutError(text)
    if kind == "exec":
        return OSError(head.get("errno"), text)
    return ToolRunnerError(text)


class Request:
    """A question to the host, and its answers so far."""

    def __init__(self, number: int, wake: Callable[[], object], thread: int) -> None:
        self.number = number
        self.answers: deque[Answer] = deque()
        self.wake = wake
        self.thread = thread  # which need not be woken by what it reads itself; 0: none

    def take_report(self) -> dict[str, Any] | None:
        """How far the work has come, if that is the next answer."""
        if self.answers and self.answers[0].head["op"] == "progress":
            return self.answers.popleft().head
        return None

    def take(self) -> Answer:
        """The next answer; raises what it says if it is an error."""
        if not self.answers:
            raise KeyboardInterrupt  # what else ends the waiting
        answer = self.answers.popleft()
        if answer.head["op"] == "error":
            raise failure(answer.head)
        return answer


#: How often who waits alone looks for its answer before it sleeps: for about 0.2 ms, if another processor works on it.
LOOKS = 400 if len(os.sched_getaffinity(0)) > 1 else 0


class ActionChannel:
    """Asks the host.

    Threads that wait read: one of them leads, reads the socket and wakes those whose answers have come; it
    passes the lead on when it has its own. Loops that wait watch the socket as well. Changes are made in the shield of
    `interrupts`: the main thread leaves none half done.
    """

    def __init__(self, stream: socket.socket, cell: Callable[[], str], output_before: Callable[[], int]) -> None:
        self.socket = stream
        self.cell = cell
        self.output_before = output_before
        self.closed = ""  # why nothing can be asked any more
        self._inbox = Inbox(stream)
        self._numbers = itertools.count(1)
        self._outstanding: dict[int, Request] = {}
        self._sending, self._reading, self._lock = threading.RLock(), threading.RLock(), threading.RLock()
        self._leader: Request | None = None
        self._followers: dict[Request, None] = {}  # in order
        self._loops: dict[asyncio.AbstractEventLoop, int] = {}  # how many tasks of each wait
        self._bells = threading.local()
        self._bells.own = Bell()
        interrupts.wake = self._bells.own.ring
        os.register_at_fork(after_in_child=self._in_child)

    # Asking

    def call(self, op: str, head: dict[str, Any], body: bytes) -> Answer:
        """Asks for what is answered once, and waits for it. An interrupt takes the request back."""
        with interrupts:
            request = self.ask(op, head, body)
            try:
                self.wait(request)
            finally:
                self.cancel(request)
                self._outstanding.pop(request.number, None)
        return request.take()

    def call_heard(
        self, op: str, head: dict[str, Any], body: bytes, heard: Callable[[dict[str, Any]], object]
    ) -> Answer:
        """As `call`, and calls `heard` with the reports that come before. An exception of `heard` ends the call."""
        request = None
        try:
            with interrupts:
                request = self.ask(op, head, body)
                self.wait(request)
            while report := request.take_report():
                heard(report)
                with interrupts:
                    self.wait(request)
            return request.take()
        finally:
            if request:
                self.cancel(request)
                self.forget(request)

    async def call_async(
        self, op: str, head: dict[str, Any], body: bytes, heard: Callable[[dict[str, Any]], object] | None = None
    ) -> Answer:
        """The same in a coroutine, which can be cancelled. Reports come only where `heard` takes them."""
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        request = None
        try:
            with interrupts:
                request = self.ask(op, head, body, partial(call_soon, loop, came.set))
                self._watch(loop)
            while not request.answers:
                await came.wait()
                came.clear()
                while heard and (report := request.take_report()):
                    heard(report)
            return request.take()
        finally:
            if request:
                self._unwatch(loop)
                self.cancel(request)
                self.forget(request)

    def ask(
        self, op: str, head: dict[str, Any], body: bytes = b"", wake: Callable[[], object] | None = None
    ) -> Request:
        """Sends a request. For callers that wait in threads, or are called (in any) when an answer has come."""
        if self.closed:
            raise ToolRunnerError(self.closed)
        after = self.output_before()
        request = Request(next(self._numbers), wake or self._bell().ring, 0 if wake else get_ident())
        try:
            text = to_json({"op": op, "id": request.number, "cell": self.cell(), "after": after, **head}).encode()
        except UnicodeEncodeError as error:
            what = "a word, a variable or the directory" if op == "run" else "a name"
            raise OSError(
                errno.EILSEQ,
                f"{what} is not UTF-8, and cannot be shown for approval: {error.object[error.start : error.end]!r}",
            ) from None
        if len(text) > MAX_HEAD:
            raise OSError(errno.E2BIG, f"{len(text)} bytes of words and variables are too much for one program")
        if 4 + len(text) + len(body) > MAX_REQUEST:
            raise ToolRunnerError(f"{len(body)} bytes are too much for one request: 64 MiB are possible.")
        with interrupts:
            self._outstanding[request.number] = request
            self._send(text, body)
        return request

    def cancel(self, request: Request) -> None:
        """Takes a request back that has no last answer yet; that may be waited for all the same."""
        if request.number not in self._outstanding:
            return  # as most times, and then without a shield
        with interrupts:
            if request.number in self._outstanding:
                self._send(to_json({"op": "cancel", "id": request.number}).encode(), b"")

    def forget(self, request: Request) -> None:
        """Drops the answers of a request that is not waited for any more."""
        with interrupts:
            self._outstanding.pop(request.number, None)
            for answer in request.answers:
                close(answer.descriptors)

    def _send(self, head: bytes, body: bytes) -> None:
        frame = struct.pack("<II", 4 + len(head) + len(body), len(head)) + head
        with self._sending:
            try:
                for data in (frame, body) if len(body) > READ else (frame + body,):
                    self._send_all(memoryview(data))
            except OSError:
                self._end(ENDED)

    def _send_all(self, left: memoryview) -> None:
        """Sends, and reads meanwhile: a host whose answers are not taken may read nothing either."""
        while left:
            try:
                left = left[self.socket.send(left, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                poller = select.poll()
                poller.register(self.socket, select.POLLIN | select.POLLOUT)
                poller.poll()
                # Who reads already may be a thread that a finalizer keeps from sending: not to be waited for.
                if self._reading.acquire(blocking=False):
                    try:
                        self.receive()
                    finally:
                        self._reading.release()

    # Waiting

    def wait(self, request: Request, descriptors: Sequence[int] = (), timeout: float | None = None) -> list[int]:
        """Waits for an answer, or for something to read: returns the descriptors that have it. An interrupt ends it."""
        bell = self._bell()
        with interrupts:
            request.thread, request.wake = get_ident(), bell.ring
            try:
                while not request.answers and not interrupts.waiting():
                    poller = select.poll()
                    for fd in (bell.fd, *descriptors, *([self.socket] if self._leads(request) else ())):
                        poller.register(fd, select.POLLIN)
                    # To sleep and to be woken takes as long as most answers.
                    looks = 0 if self._followers else LOOKS
                    events = next(filter(None, map(poller.poll, itertools.repeat(0, looks))), None)
                    ready = [fd for fd, _ in events or poller.poll(None if timeout is None else timeout * 1000)]
                    if bell.fd in ready:
                        bell.silence()
                    if self.socket.fileno() in ready:
                        self.receive()
                    if found := [fd for fd in descriptors if fd in ready]:
                        return found
                    if not ready:
                        break
            finally:
                self._leave(request)
        return []

    def receive(self) -> None:
        """Reads what is there, and tells those whose it is."""
        with interrupts, self._reading:
            try:
                self._inbox.read()
                while answer := self._inbox.next():
                    self._deliver(answer)
            except EOFError:
                self._end(ENDED)
            except (ValueError, KeyError, TypeError) as error:
                self._end(f"No actions are possible any more: the host has sent {error}.")

    def _deliver(self, answer: Answer) -> None:
        number = answer.head["id"]
        request = self._outstanding.get(number)
        if answer.head["op"] in FINAL:
            self._outstanding.pop(number, None)
        if request:
            request.answers.append(answer)
            if request.thread != get_ident():
                request.wake()
        else:
            close(answer.descriptors)

    def _leads(self, request: Request) -> bool:
        with self._lock:
            # A thread may wait within its own waiting: a finalizer asked.
            if self._leader is None or self._leader.thread == request.thread:
                self._leader = request
                self._followers.pop(request, None)
            elif self._leader is not request:
                self._followers[request] = None
            return self._leader is request

    def _leave(self, request: Request) -> None:
        with self._lock:
            self._followers.pop(request, None)
            if self._leader is request:
                self._leader = next(iter(self._followers), None)
                if self._leader:
                    del self._followers[self._leader]
                    self._leader.wake()

    def _bell(self) -> Bell:
        try:
            return self._bells.own  # type: ignore[no-any-return]
        except AttributeError:
            self._bells.own = Bell()
            return self._bells.own  # type: ignore[no-any-return]

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            self._loops[loop] = self._loops.get(loop, 0) + 1
            if self._loops[loop] == 1:
                loop.add_reader(self.socket, self.receive)

    def _unwatch(self, loop: asyncio.AbstractEventLoop) -> None:
        with interrupts, self._lock:
            self._loops[loop] -= 1
            if not self._loops[loop]:
                del self._loops[loop]
                if not loop.is_closed():
                    loop.remove_reader(self.socket)

    # The end

    def _end(self, reason: str) -> None:
        with self._lock:
            self.closed = self.closed or reason
            lost, self._outstanding = self._outstanding, {}
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is closed, on one side or the other
        for request in lost.values():
            request.answers.append(Answer({"op": "error", "text": self.closed}, memoryview(b""), []))
            request.wake()

    def _in_child(self) -> None:
        """A forked process has no part in the socket; threads that held the locks do not exist in it."""
        self.closed = FORKED
        self._sending, self._reading, self._lock = threading.RLock(), threading.RLock(), threading.RLock()
        self._outstanding.clear()
        self._loops.clear()
        self.socket.close()


def close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
)py"
R"py(    """Has a loop call something, from any thread."""
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:
        pass  # it was closed while a task of it waited
)py", 15134}},
{"aliases", {R"py("""The original's names of ``ipybox_kernel.tools``, for code that was written for it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, NoReturn

PACKAGES = ("mcpygen", "mcpygen.tool_exec", "mcpygen.tool_exec.approval")
MODULES = ("mcpygen.tool_exec.client", "mcpygen.tool_exec.approval.client")


class Aliases:
    """Importer of these names."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if name not in PACKAGES + MODULES:
            return None
        spec = ModuleSpec(name, self, is_package=name in PACKAGES)  # type: ignore[arg-type]
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations += installed(name, path)
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """An ordinary one."""

    def exec_module(self, module: ModuleType) -> None:
        from ipybox_kernel import tools

        vars(module).update({name: getattr(tools, name) for name in tools.__all__})
        if module.__name__ in MODULES:
            vars(module)["__getattr__"] = refuse


def installed(package: str, path: Sequence[str] | None) -> list[str]:
    """The places of the original's other modules, if it is installed. Its own packages would import its clients."""
    original = PathFinder.find_spec(package, path)
    return list(original.submodule_search_locations or []) if original else []


def refuse(name: str) -> Any:
    """Says what is to be done about a name of the original that has no counterpart."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise_missing(name)


def raise_missing(name: str) -> NoReturn:
    raise ImportError(
        f"mcpygen's {name} does not exist in this kernel: the host reaches the servers and asks by itself. "
        "ToolRunner(server_name).run_sync(tool_name, arguments) calls a tool."
    )


def install() -> None:
    """Makes them importable. Calls go through the host also where mcpygen is installed."""
    for name in PACKAGES + MODULES:
        sys.modules.pop(name, None)  # of a module that was preloaded
    sys.meta_path.insert(0, Aliases())  # type: ignore[arg-type]
)py", 2348}},
{"birth", {R"py("""The data that a forked child needs to become a kernel."""

from __future__ import annotations

import os

from ipybox_kernel.refused import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket

    from ipybox_kernel.journal import Leftovers


class Outputs:
    """The pipes for descriptors 1 and 2 of a kernel, and the journal of its streams.

    The host reads what a kernel that dies has left in the pipes.
    """

    def __init__(self) -> None:
        from ipybox_kernel.journal import Journal

        self.journal = Journal()
        self.pipes: list[tuple[int, int]] = []
        try:
            for _ in range(2):
                self.pipes.append(os.pipe2(os.O_CLOEXEC))
        except OSError as error:
            self.close()
            raise Refused("fork", f"a pipe for the output of the kernel: {error.strerror}") from None

    def reading_ends(self) -> list[int]:
        """Those of the host."""
        return [end for end, _ in self.pipes]

    def leftovers(self) -> Leftovers:
        """The parts that the supervisor keeps until the kernel has ended."""
        from ipybox_kernel.journal import Leftovers

        return Leftovers(self.journal, [end for _, end in self.pipes])

    def close(self) -> None:
        self.journal.close()
        for pipe in self.pipes:
            for end in pipe:
                os.close(end)


class Birth:
    """Of one kernel; made in the process that is to become it."""

    def __init__(
        self,
        *,
        supervisor: int,
        stream: socket,
        actions: socket | None,
        outputs: Outputs,
        env: dict[str, str],
        restore_cwd: bool,
        guard: bool,
        allow: list[str],
        cpu_time: int | None,
        first: bool,
    ) -> None:
        self.supervisor = supervisor  # with which it dies; 0: the system sees to that
        self.stream = stream
        self.actions = actions
        self.outputs = outputs
        self.env = env
        self.restore_cwd = restore_cwd
        self.guard = guard
        self.allow = allow
        self.cpu_time = cpu_time
        self.first = first
)py", 2143}},
{"broker", {R"py("""The owners of programs: each runs for a kernel, and ends with it."""

from __future__ import annotations

import os

from ipybox_kernel import process


class Broker:
    """The kernels that live, their programs, and the background processes that these left."""

    def __init__(self) -> None:
        self.environments: dict[int, dict[str, str]] = {}  # what each kernel was forked with; within walls nothing
        self.owners: dict[int, int] = {}  # program or background process -> kernel

    def processes_of(self, kernel: int) -> set[int]:
        """A kernel and what runs for it beside it; not what these have started themselves."""
        return {kernel, *(pid for pid, owner in self.owners.items() if owner == kernel)}

    def forget(self, pid: int) -> int | None:
        """A child has ended; returns the kernel that it ran for, if it ran for one."""
        self.environments.pop(pid, None)
        return self.owners.pop(pid, None)

    def adopt(self, ended: dict[int, int], living: set[int], *, alone: bool) -> None:
        """Finds out for which kernel the processes run whose parents are among those that ended just now.

        Their session tells it. Processes that set themselves apart run for the same kernel as those
        that ended, if they were alone.
        """
        sessions = {**ended, **{os.getsid(pid): kernel for pid, kernel in self.owners.items()}}
        kernels = set(ended.values())
        heir = kernels.pop() if alone and len(kernels) == 1 else None
        for pid in process.children():
            if pid not in living and pid not in self.owners:
                kernel = sessions.get(os.getsid(pid), heir)
                if kernel is not None:
                    self.owners[pid] = kernel

    def claim(self, strangers: set[int], *, alone: bool) -> set[int]:
        """Finds out for which kernel processes run that came here while the program that has started them lives.

        Returns those that set themselves apart, where several kernels may have started them.
        """
        sessions = {kernel: kernel for kernel in self.environments}
        sessions.update({session_of(pid): kernel for pid, kernel in self.owners.items()})
        heir = next(iter(self.environments)) if alone and len(self.environments) == 1 else None
        for pid in sorted(strangers):
            kernel = sessions.get(session_of(pid), heir)
            if kernel in self.environments:
                self.owners[pid] = kernel
        return strangers - self.owners.keys()

    def has_kernels_alone(self) -> bool:
        """Whether nothing runs below this process but kernels, which cannot signal its children."""
        try:
            return not self.owners and len(process.children_of_task("thread-self")) == len(self.environments)
        except OSError:
            return False  # /proc cannot tell

    def has_group(self, pid: int) -> bool:
        """Whether a program that has ended left processes in its process group."""
        return any(os.getpgid(background) == pid for background in self.owners)

    def left(self, living: set[int]) -> set[int]:
        """The children that are of no use any more."""
        children = {*process.children(), *self.owners}
        used = {pid for pid, kernel in self.owners.items() if kernel in self.environments}
        return children - used - (living - self.owners.keys())


def session_of(pid: int) -> int:
    """The session of a process; 0 where it has ended."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0
)py", 3564}},
{"caches", {R"py("""The places in which libraries keep what they have fetched or computed, where they cannot write at home."""

from __future__ import annotations

import os
import shutil
import tempfile

#: Below the place of a kernel's caches, what variables name (XDG Base Directory Specification, and libraries that do
#: not follow it). Those that are missing have their place in one of the first four.
VARIABLES = {
    "XDG_CACHE_HOME": "cache",  # huggingface, torch, seaborn, pooch, playwright, uv, fontconfig, matplotlib, …
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
    "NUMBA_CACHE_DIR": "cache/numba",
    "KERAS_HOME": "cache/keras",
    "KAGGLEHUB_CACHE": "cache/kagglehub",
    "npm_config_cache": "cache/npm",
    "NLTK_DATA": "data/nltk_data",
    "SCIKIT_LEARN_DATA": "data/scikit_learn_data",
    "EASYOCR_MODULE_PATH": "data/EasyOCR",
    "GENSIM_DATA_DIR": "data/gensim-data",
    "TFDS_DATA_DIR": "data/tensorflow_datasets",
}

#: Directories at home whose entries can be read under these names, too: what is there is not fetched again.
KNOWN = {
    ".config/matplotlib": "config/matplotlib",  # itself a place to write to, and so not one of those of the next
    ".config": "config",
    ".local/share": "data",
    ".cache/huggingface/hub": "cache/huggingface/hub",
    ".cache/torch/hub/checkpoints": "cache/torch/hub/checkpoints",
    ".cache/whisper": "cache/whisper",
    ".cache/seaborn": "cache/seaborn",
    ".keras/models": "cache/keras/models",
    ".keras/datasets": "cache/keras/datasets",
    "scikit_learn_data": "data/scikit_learn_data",
    ".EasyOCR/model": "data/EasyOCR/model",
}

#: A directory with more entries than these is left out: each takes time at every start.
MOST_ENTRIES = 256

#: Libraries write a list of fonts at their first import; that of the user is as good.
FONTS = ".cache/matplotlib", "cache/matplotlib"


class Caches:
    """The places of the kernels of one supervisor."""

    def __init__(self, private: str, confined: bool) -> None:
        self.private = private  # a directory that ends with the supervisor; empty: below the temporary directory
        self.confined = confined  # whether what can be written to cannot be told by asking
        self.made: dict[str, dict[str, str]] = {}

    def variables(self, env: dict[str, str]) -> dict[str, str]:
        """The variables of a kernel in this environment, whose directories are there. Takes ``IPYBOX_CACHE`` out."""
        named = env.pop("IPYBOX_CACHE", "")
        home = env.get("HOME", "/")
        if not named and not self.confined and is_writable(os.path.join(home, ".cache")):
            return {}
        place = named or self.private or os.path.join(tempfile.gettempdir(), f"ipybox-caches-{os.getuid()}")
        if place not in self.made:
            self.made[place] = make(place, home)
        return self.made[place]


def is_writable(path: str) -> bool:
    """Whether a directory can be written to, or made."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.access(path, os.W_OK)


def make(place: str, home: str) -> dict[str, str]:
    """Makes the directories; without room for them libraries are left to their own ways."""
    try:
        os.makedirs(place, 0o700, exist_ok=True)
        if os.lstat(place).st_uid != os.getuid():
            return {}
        for name in ("cache", "config/matplotlib", "data/nltk_data", "state"):
            os.makedirs(os.path.join(place, name), exist_ok=True)
        for source, target in KNOWN.items():
            link(os.path.join(home, source), os.path.join(place, target))
        copy_fonts(os.path.join(home, FONTS[0]), os.path.join(place, FONTS[1]))
    except OSError:
        return {}
    return {name: os.path.join(place, target) for name, target in VARIABLES.items()}


def entries(directory: str) -> list[str]:
    """The names in a directory; none where it is missing, or closed as a sandbox closes it."""
    try:
        return os.listdir(directory)
    except OSError:
        return []


def link(source: str, target: str) -> None:
    """Gives the entries of a directory a second name in another one, which can be written to."""
    names = entries(source)
    if not 0 < len(names) <= MOST_ENTRIES:
        return
    os.makedirs(target, exist_ok=True)
    there = set(os.listdir(target))
    for name in names:
        if name not in there:
            os.symlink(os.path.join(source, name), os.path.join(target, name))


def copy_fonts(source: str, target: str) -> None:
    """A list that could only be read would be made anew, with a warning, as soon as it is out of date."""
    lists = [name for name in entries(source) if name.startswith("fontlist-") and name.endswith(".json")]
    if not lists or os.path.lexists(target):
        return
    os.makedirs(target)
    for name in lists:
        shutil.copy(os.path.join(source, name), target)
)py", 4932}},
{"cells", {R"py("""Cells by name: what tracebacks and warnings call them, and their text as it was written."""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from IPython.core.compilerop import CachingCompiler

MAX_TITLE = 60
MAX_BODY = 4  # lines of a %%cell that are shown below its first one
DEFINES = re.compile(r"\b(def|lambda|class|for)\b")  # code that may run when its cell has ended
NUMBERED = re.compile(r"( *|-+> )(\d+)( |$)")  # a line of source in a traceback

Transform = Callable[[list[str]], list[str]]


class Cells(CachingCompiler):
    """Takes the place of ``shell.compile``: the cells of a session are numbered as they come, and may have titles.

    The name of a cell's code begins as IPython's do, which debuggers and caches look for, and has its number.
    """

    def __init__(self, cleanup: Sequence[Transform], mend: Callable[[], bool]) -> None:
        super().__init__()
        self.mend = mend  # puts back what code has replaced; whether there was anything
        self.cleanup = cleanup  # what IPython does to a cell before it looks for magics
        self.number = 0
        self.title = ""
        self.labels: dict[str, str] = {}  # of code names, for people
        self.written: dict[str, list[list[str]]] = {}  # for each line of code the lines that it was made from
        self.passing: list[str] = []  # names that nothing refers to when the next cell begins

    def begin(self, title: object, number: object = None) -> None:
        """The next cell. The host gives it a number where an earlier kernel has counted those before."""
        self.number = number if isinstance(number, int) else self.number + 1
        self.title = printable(title) if isinstance(title, str) else ""
        for name in self.passing:
            linecache.cache.pop(name, None)
            for known in (self._filename_map, self.labels, self.written):
                known.pop(name, None)
        self.passing.clear()

    def keep(self) -> None:
        """Something refers to the latest cell: an error that may be looked at again."""
        self.passing.clear()

    def forget(self) -> None:
        """Begins to count anew."""
        self.number = 0
        for known in (self._filename_map, self.labels, self.written, self.passing):
            known.clear()

    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
        """A name that no other code has: a cell may run parts of itself as cells, as ``%%capture`` does."""
        slug = "-".join(re.findall(r"\w+", self.title))
        stem = f"ipython-input-{self.number}" + (f"-{slug}" if slug else "")
        name, part = f"<{stem}>", 1
        while name in self.labels:
            part += 1
            name = f"<{stem}.{part}>"
        self.labels[name] = f"In[{self.number}]" + (f" ({self.title})" if self.title else "")
        return name

    def format_code_name(self, name: str) -> tuple[str, str] | None:
        """The label that takes the place of the file in a traceback."""
        return ("Cell", self.labels[name]) if name in self.labels else None

    def label(self, name: str) -> str | None:
        """The name that people use for this code, if it is a cell's."""
        return f"Cell {self.labels[name]}" if name in self.labels else None

    def cache(self, transformed_code: str, number: int = 0, raw_code: str | None = None) -> str:
        """Makes a name for a cell and keeps its source for tracebacks."""
        name: str = super().cache(transformed_code.replace("\0", "\\0"), number, raw_code)
        if raw_code is not None and raw_code.rstrip("\n") != transformed_code.rstrip("\n"):
            lines = raw_code.splitlines(keepends=True)
            for transform in self.cleanup:
                lines = transform(lines)
            self.written[name] = align([line.rstrip("\r\n") for line in lines], transformed_code.splitlines())
        if not DEFINES.search(transformed_code):
            self.passing.append(name)
        return name

    def ast_parse(self, source: str, filename: str = "<unknown>", symbol: str = "exec") -> Any:
        """The tree of a cell. Python does not say where a null byte is."""
        if "\0" in source:
            lines = source[: source.index("\0")].split("\n")
            line = source.split("\n")[len(lines) - 1].replace("\0", "\\0")
            message = "source code cannot contain null bytes"
            raise SyntaxError(message, (filename, len(lines), len(lines[-1]) + 1, line))
        try:
            return super().ast_parse(source, filename, symbol)
        except (TypeError, ValueError):  # which IPython shows as if they were the cell's
            if self.mend():
                return self.ast_parse(source, filename, symbol)
            raise

    def as_written(self, name: str, frame: str) -> str:
        """The text of a frame of this code, with its lines as they were written."""
        head, *lines = frame.split("\n")
        shown = [re.sub(r"(?<=, line )\d+", lambda number: str(self.line(name, int(number[0]))), head, count=1)]
        for line in lines:
            numbered = NUMBERED.match(line)
            code = int(numbered[2]) if numbered else 0
            if not numbered or not 0 < code <= len(self.written[name]):
                shown.append(line)
                continue
            at = self.line(name, code)
            first, *rest = self.written[name][code - 1]
            shown.append(f"{numbered[1]}{at} {first}")
            shown += [f"{at + below:>7} {text}" for below, text in enumerate(rest[:MAX_BODY], 1)]
        return "\n".join(shown)

    def line(self, name: str, code: int) -> int:
        """The number of the written line that a line of code was made from."""
        written = self.written.get(name, [])
        return 1 + sum(map(len, written[: code - 1])) if 0 < code <= len(written) else code

    def source_line(self, name: str, line: int) -> str:
        """A line of code, as it was written."""
        written = self.written.get(name, [])
        return written[line - 1][0] if 0 < line <= len(written) else str(linecache.getline(name, line))


def printable(title: str) -> str:
    """A title on one line."""
    text = " ".join("".join(c if c.isprintable() else " " for c in title[: 4 * MAX_TITLE]).split())
    return text if len(text) <= MAX_TITLE else text[: MAX_TITLE - 1] + "…"


def align(written: list[str], code: list[str]) -> list[list[str]]:
    """For each line of code the lines that it was made from: one, but for magics that go on over several."""
    aligned: list[list[str]] = []
    at = 0
    for number, line in enumerate(code):
        spare = (len(written) - at) - (len(code) - number)  # lines that belong together with others
        size = 1
        if at < len(written) and written[at] != line and spare > 0:
            size = 1 + spare if number + 1 == len(code) else continued(written, at, spare)
        aligned.append(written[at : at + size] or [line])
        at += size
    return aligned


def continued(written: list[str], at: int, spare: int) -> int:
    """How many lines the one at this place goes on over."""
    size = 1
    while size <= spare and written[at + size - 1].rstrip().endswith("\\"):
        size += 1
    return size


def name_cells_in_warnings(cells: Cells) -> None:
    """A warning of a cell names it as its tracebacks do."""
    plain = warnings.formatwarning

    def formatwarning(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        label = cells.label(filename)
        if label is not None:
            line = cells.source_line(filename, lineno) if line is None else line
        return plain(message, category, label or filename, cells.line(filename, lineno), line)

    warnings.formatwarning = formatwarning
)py", 7919}},
{"checked", {R"py("""Parts of requests, checked: a child could only fail on them."""

from __future__ import annotations

from ipybox_kernel.refused import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def argv(given: Any) -> list[str]:
    """The words of a program's command line, or a refusal."""
    words = given if isinstance(given, list) else []
    if not words or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise Refused("request", "argv must be a list of strings")
    return words


def env(variables: Any) -> dict[str, str]:
    """An environment, or a refusal."""
    for name, value in variables.items():
        if not isinstance(value, str) or not name or "=" in name or "\0" in name + value:
            raise Refused("request", f"not an environment variable: {name!r}")
    return dict(variables)


def changed_env(environment: dict[str, str], changes: dict[str, str | None]) -> dict[str, str]:
    """An environment with other variables, and without those that are None; or a refusal."""
    return env({name: value for name, value in {**environment, **changes}.items() if value is not None})


def guard(name: Any) -> bool:
    """Whether a kernel is to be guarded, or a refusal."""
    if name not in (None, "no_exec"):
        raise Refused("request", f"unknown guard {name!r}")
    return name is not None


def allow(names: Any) -> list[str]:
    """The names of what the guard leaves open, or a refusal if one means nothing."""
    if not names:
        return []
    from ipybox_kernel import filters

    if not isinstance(names, list) or not set(names) <= set(filters.CHOICES):
        raise Refused("request", f"cannot allow {names!r}, only of {', '.join(filters.CHOICES)}")
    return names
)py", 1771}},
{"child", {R"py("""The steps by which a forked child becomes a kernel."""

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
)py", 3395}},
{"children", {R"py("""The processes below the supervisor: kernels, the programs that run for them, and whatever these leave behind."""

from __future__ import annotations

import os
import signal

from ipybox_kernel import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from ipybox_kernel.broker import Broker
    from ipybox_kernel.isolation import Isolation
    from ipybox_kernel.journal import Leftovers
    from ipybox_kernel.watchdog import Excess, Watchdog


class Children:
    """Those that live, and those that have ended until nothing of theirs is left."""

    def __init__(
        self, isolation: Isolation, broker: Broker, limits: dict[str, int], tell: Callable[[dict[str, Any]], None]
    ) -> None:
        self.isolation = isolation
        self.broker = broker
        self.limits = limits
        self.tell = tell  # events to the host
        self.living: set[int] = set()
        self.ended: dict[int, int] = {}  # pid -> wait status, until what it left behind is gone
        self.entrances: dict[int, int] = {}  # kernel -> the file by which its programs enter its control group
        self.leftovers: dict[int, Leftovers] = {}  # of kernels, until their end has been reported
        self.watchdog: Watchdog | None = None  # from the first code on that runs for long
        self.excesses: dict[int, Excess] = {}  # for which kernels were ended

    def add_kernel(self, pid: int, env: dict[str, str], entrance: int | None, leftovers: Leftovers) -> None:
        """A kernel was forked."""
        self.living.add(pid)
        self.leftovers[pid] = leftovers
        self.broker.environments[pid] = env
        if entrance is not None:
            self.entrances[pid] = os.dup(entrance)

    def add_program(self, pid: int, kernel: int) -> None:
        """A program was started for a kernel."""
        self.living.add(pid)
        self.broker.owners[pid] = kernel

    def signal(self, pid: int, number: int, group: bool) -> bool:
        """Signals a child or its group; false if that is gone."""
        self.reap()
        if pid not in self.living:
            return group and self.isolation.has_group(pid) and process.kill(pid, number, group=True)
        # A child that was forked just now may not have its group yet; then it is alone.
        return (group and process.kill(pid, number, group=True)) or process.kill(pid, number)

    # Watching

    def watch(self, pid: int, runs: bool) -> None:
        """Looks from time to time at what a kernel takes while it runs code."""
        if self.watchdog is None:
            from ipybox_kernel.watchdog import Watchdog

            self.watchdog = Watchdog(self.limits)
        if not runs:
            self.watchdog.rest(pid)
        elif pid in self.living:
            self.watchdog.begin(pid)

    def patience(self) -> int | None:
        """Milliseconds until the next look; None: there will be none."""
        return self.watchdog.patience() if self.watchdog else None

    def look(self) -> None:
        """Ends the kernels that take more than they may, and processes that may be of several kernels."""
        if not self.watchdog or not self.watchdog.is_due():
            return
        numbers = process.numbered_children()
        strangers = self.broker.claim(numbers.keys() - self.living - self.broker.owners.keys(), alone=not self.ended)

        def roots(kernel: int) -> list[str]:
            pids = self.broker.processes_of(kernel) if kernel else strangers
            return [numbers[pid] for pid in pids if pid in numbers]

        for kernel, excess in self.watchdog.look(roots).items():
            self.watchdog.forget(kernel)
            if kernel in self.living:
                self.excesses[kernel] = excess
            # No kernel has to answer for what another one may have started.
            for pid in {kernel} & self.living if kernel else strangers:
                process.kill(pid, signal.SIGKILL, group=True)
                process.kill(pid, signal.SIGKILL)

    # Ends

    def reap(self) -> None:
        """Collects dead children; reports programs of kernels at once, others when nothing of theirs is left."""
        programs: dict[int, int] = {}
        while dead := peek():
            kernel = self.broker.forget(dead)
            if dead not in self.living:
                os.waitpid(dead, 0)
            elif kernel is not None:
                self.isolation.end_program(kernel, dead)
                self.report(dead, os.waitpid(dead, 0)[1])
            else:
                self.forget(dead)
                process.kill(dead, signal.SIGKILL, group=True)  # before its pid can be given to another
                self.ended[dead] = os.waitpid(dead, 0)[1]
            self.living.discard(dead)
            if kernel is not None:
                programs[dead] = kernel
        if programs or (self.ended and self.broker.owners):
            self.broker.adopt(programs, self.living, alone=not self.ended)
        if self.ended and not self.kill_orphans():
            for pid, status in self.ended.items():
                self.report(pid, status)
            self.ended.clear()

    def forget(self, kernel: int) -> None:
        """A kernel has ended."""
        if kernel in self.entrances:
            os.close(self.entrances.pop(kernel))
        if self.watchdog:
            self.watchdog.forget(kernel)
        self.isolation.forget(kernel)

    def kill_orphans(self) -> bool:
        """Kills what dead children left behind; true as long as something was there. Their deaths wake us again.

        No pid can be another's by now: it is kept until we have waited for the child.
        """
        orphans = self.broker.left(self.living)
        killed = [pid for pid in orphans if process.kill(pid, signal.SIGKILL, group=pid in self.living)]
        return bool(killed)

    def report(self, pid: int, status: int) -> None:
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        event: dict[str, Any] = {"event": "exit", "pid": pid, "code": code, "signal": number}
        excess = self.excesses.pop(pid, None)
        if excess and number == signal.SIGKILL:
            event["exceeded"] = excess.described()
        if pid in self.leftovers:
            self.leftovers.pop(pid).deliver()
        self.tell(event)

    def end(self) -> NoReturn:
        """Kills everything below this process, until nothing is left, and exits."""
        for pid in self.living:
            process.kill(pid, signal.SIGKILL, group=True)
        while remaining := {*self.living, *process.children()}:
            for pid in remaining:
                process.kill(pid, signal.SIGKILL)
            self.living.discard(os.waitpid(-1, 0)[0])
        os._exit(0)

    def close(self) -> None:
        """For forked children."""
        for entrance in self.entrances.values():
            os.close(entrance)
        for leftovers in self.leftovers.values():
            leftovers.close()


def peek() -> int | None:
    """The pid of a dead child that still has to be waited for."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return found.si_pid if found else None
)py", 7358}},
{"control", {R"py("""The control socket: requests of the host come in, answers and events go out."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

MAX_DATAGRAM = 128 * 1024
MAX_DESCRIPTORS = 8


class Control:
    """The supervisor's end. EOFError says that the host has closed its own."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end

    def fileno(self) -> int:
        return self.socket.fileno()

    def receive(self) -> tuple[bytes, list[int]] | None:
        """One request and the descriptors that came with it; None: there is none. Raises EOFError."""
        room = socket.CMSG_SPACE(4 * MAX_DESCRIPTORS)
        flags = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
        try:
            data, ancillary, _, _ = self.socket.recvmsg(MAX_DATAGRAM, room, flags)
        except BlockingIOError:
            return None
        except ConnectionError:
            raise EOFError from None
        if not data:
            raise EOFError
        return data, [fd for _, _, packed in ancillary for fd in struct.unpack(f"{len(packed) // 4}i", packed)]

    def reply(self, number: int, answer: dict[str, Any]) -> None:
        """Answers a request. Its descriptors go to the host, and are let go of here."""
        descriptors = answer.pop("descriptors", [])
        try:
            self.send({"id": number, **answer}, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Sends an answer or an event; raises EOFError."""
        # Names that are not UTF-8 become readable text: the host takes no lone surrogates.
        data = json.dumps(message, ensure_ascii=False).encode(errors="replace")
        try:
            if descriptors:
                socket.send_fds(self.socket, [data], list(descriptors))
            else:
                self.socket.send(data)
        except OSError:
            raise EOFError from None

    def fail(self, kind: str, text: str) -> NoReturn:
        """Says why there will be no kernels, and ends."""
        try:
            self.send({"event": "failed", "kind": kind, "executable": sys.executable, "text": text})
        finally:
            os._exit(1)

    def close(self) -> None:
        self.socket.close()
)py", 2503}},
{"debugging", {R"py("""``breakpoint()``: stops in code of cells, and not in what runs them."""

from __future__ import annotations

import os
import sys
from typing import Any

MACHINERY = ("IPython.*", "ipykernel.*", "ipybox_kernel.*", "asyncio.*")


def stop(*arguments: Any, **options: Any) -> Any:
    """Takes the place of ``sys.breakpointhook``; PYTHONBREAKPOINT counts as ever."""
    if "PYTHONBREAKPOINT" in os.environ:
        return sys.__breakpointhook__(*arguments, **options)
    import pdb

    # With a handler of its own for SIGINT it would take the host's interrupts.
    pdb.Pdb(skip=MACHINERY, nosigint=True).set_trace(sys._getframe(1))
    return None
)py", 653}},
{"filters", {R"py("""Programs of seccomp: the base filter of everything that is sandboxed, and the one of the guard.

A filter is put together of blocks, which can be left out one by one. In each, the accumulator holds the number of the
system call at the beginning and at the end. The host has the same blocks: ``include/ipybox/sandbox/filter_blocks.hpp``
is written from this file by ``./dev embed``.
"""

from __future__ import annotations

import errno
import struct
from typing import NamedTuple

RET_KILL_PROCESS = 0x80000000
RET_ERRNO = 0x00050000
RET_ALLOW = 0x7FFF0000

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF_LD|W|ABS, BPF_JMP|…|K, BPF_RET|K
KEEP_BITS = 0x54  # BPF_ALU|AND|K
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # places in struct seccomp_data, little-endian
X32 = 0x40000000  # this bit is in every number of the x32 ABI

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
NETLINK_ROUTE = 0
SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET = 1, 2, 5
IPPROTO_TCP, IPPROTO_UDP = 6, 17
SOCK_TYPES = 0xF  # the bits of a type; above them are flags, as SOCK_CLOEXEC
NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
NAMESPACES_OF_UNSHARE = NAMESPACES | 0x80  # CLONE_NEWTIME, which clone would take for a part of a signal's number
O_CREAT, O_TMPFILE = 0o100, 0o20000000  # a mode follows
S_ISUID = 0o4000
SET_GROUP_ID_PROGRAM = 0o2010  # S_ISGID and S_IXGRP
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # type into a terminal
TIOCSETD = 0x5423  # takes a module of the system for a terminal
F_SETLEASE, F_NOTIFY = 1024, 1026
FIRST_PROCESS = 1  # the supervisor where the sandbox has a pid namespace of its own, and nothing else has to do with it

Block = list["Step"]


class Step(NamedTuple):
    """One instruction."""

    code: int
    yes: int
    no: int
    value: int


class Machine(NamedTuple):
    """A processor: its number, and those of its system calls."""

    audit: int
    calls: dict[str, int]
    x32: bool = False


# Below 424 each processor has numbers of its own; from there on they are the same everywhere.
COMMON = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "openat2": 437,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "fchmodat2": 452,
    "open_tree_attr": 467,
}
NAMES_X86_64 = {
    "open": 2, "ioctl": 16, "socket": 41, "socketpair": 53, "clone": 56, "execve": 59, "fcntl": 72, "creat": 85,
    "chmod": 90, "fchmod": 91, "ptrace": 101, "syslog": 103, "mknod": 133, "uselib": 134, "setpriority": 141,
    "sched_setparam": 142, "sched_setscheduler": 144, "vhangup": 153, "modify_ldt": 154, "pivot_root": 155,
    "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167,
    "swapoff": 168, "reboot": 169, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176,
    "quotactl": 179, "sched_setaffinity": 203, "clock_settime": 227, "kexec_load": 246, "add_key": 248,
    "request_key": 249, "keyctl": 250, "ioprio_set": 251, "openat": 257, "mknodat": 259, "fchmodat": 268,
    "unshare": 272, "perf_event_open": 298, "fanotify_init": 300, "prlimit64": 302, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
    "kcmp": 312, "finit_module": 313, "sched_setattr": 314, "seccomp": 317, "kexec_file_load": 320, "bpf": 321,
    "execveat": 322, "userfaultfd": 323,
}  # fmt: skip
NAMES_AARCH64 = {
    "fcntl": 25, "ioctl": 29, "ioprio_set": 30, "mknodat": 33, "umount2": 39, "mount": 40, "pivot_root": 41,
    "chroot": 51, "fchmod": 52, "fchmodat": 53, "openat": 56, "vhangup": 58, "quotactl": 60, "acct": 89, "unshare": 97,
    "kexec_load": 104, "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117,
    "sched_setparam": 118, "sched_setscheduler": 119, "sched_setaffinity": 122, "setpriority": 140, "reboot": 142,
    "settimeofday": 170, "adjtimex": 171, "socket": 198, "socketpair": 199, "add_key": 217, "request_key": 218,
    "keyctl": 219, "clone": 220, "execve": 221, "swapon": 224, "swapoff": 225, "perf_event_open": 241, "prlimit64": 261,
    "fanotify_init": 262, "name_to_handle_at": 264, "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268,
    "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "sched_setattr": 274,
    "seccomp": 277, "bpf": 280, "execveat": 281, "userfaultfd": 282, "kexec_file_load": 294,
}  # fmt: skip

MACHINES = {
    "x86_64": Machine(audit=0xC000003E, calls={**NAMES_X86_64, **COMMON}, x32=True),
    "aarch64": Machine(audit=0xC00000B7, calls={**NAMES_AARCH64, **COMMON}),
}

#: What nothing in a sandbox has a use for, and what has been the way out of many.
ALWAYS = (
    "bpf userfaultfd add_key request_key keyctl fanotify_init init_module finit_module delete_module kexec_load "
    "kexec_file_load reboot swapon swapoff acct quotactl quotactl_fd open_by_handle_at name_to_handle_at settimeofday "
    "clock_settime clock_adjtime adjtimex syslog iopl ioperm modify_ldt uselib vhangup"
)
MOUNTS = (
    "mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr"
)

#: What can be left open, by name: a word for it in the options of the host.
CHOICES = ("unix-sockets", "user-namespaces", "ptrace", "io-uring", "perf-events")

#: The block for sandboxes without a network of their own; nothing else has it.
NO_INTERNET = "no-internet"


def base(machine: Machine, allow: tuple[str, ...] | list[str] = ()) -> bytes:
    """The base filter, without what is allowed; raises ValueError for a name that is not in CHOICES."""
    if strangers := set(allow) - set(CHOICES):
        raise ValueError(f"nothing is named {', '.join(sorted(strangers))}; there are {', '.join(CHOICES)}")
    closed = [block for name, block in base_blocks(machine).items() if name not in (*allow, NO_INTERNET)]
    return pack([step for block in closed for step in block])


def base_blocks(machine: Machine) -> dict[str, Block]:
    """The blocks of the base filter, in order. Those that are not in CHOICES are in every filter."""
    return {
        "begin": begin(machine),
        "always": [
            *deny(machine, *ALWAYS.split()),
            *families(machine),
            *control_of_terminals(machine),
            *leases(machine),
            *limits_of_others(machine),
            *scheduling_of_supervisor(machine),
            *set_user_id_programs(machine),
        ],
        "unix-sockets": argument(machine, "socket", 0, [Step(EQUAL, 0, 1, AF_UNIX), denial()])
        + connected_pairs(machine),
        "user-namespaces": namespaces(machine) + deny(machine, "setns", *MOUNTS.split()),
        "ptrace": deny(
            machine, "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd"
        ),
        "io-uring": deny(machine, "io_uring_setup", "io_uring_enter", "io_uring_register"),
        "perf-events": deny(machine, "perf_event_open"),
        NO_INTERNET: argument(
            machine, "socket", 0, [Step(EQUAL, 1, 0, AF_INET), Step(EQUAL, 0, 1, AF_INET6), denial()]
        ),
        "end": [Step(RETURN, 0, 0, RET_ALLOW)],
    }


def no_exec(machine: Machine) -> bytes:
    """The guard's filter: no program is started."""
    return pack([*begin(machine), *deny(machine, "execve", "execveat"), Step(RETURN, 0, 0, RET_ALLOW)])


def denial(number: int = errno.EPERM) -> Step:
    return Step(RETURN, 0, 0, RET_ERRNO | number)


def begin(machine: Machine) -> Block:
    """Only system calls of this very ABI go on, so that one number is one system call."""
    steps = [
        Step(LOAD, 0, 0, ARCHITECTURE),
        Step(EQUAL, 1, 0, machine.audit),
        Step(RETURN, 0, 0, RET_KILL_PROCESS),
        Step(LOAD, 0, 0, NUMBER),
    ]
    return steps + ([Step(AT_LEAST, 0, 1, X32), denial()] if machine.x32 else [])


def deny(machine: Machine, *names: str) -> Block:
    """No system call of these names; some exist on one processor only."""
    numbers = [machine.calls[name] for name in names if name in machine.calls]
    last = len(numbers) - 1
    tests = [Step(EQUAL, last - place, int(place == last), number) for place, number in enumerate(numbers)]
    return [*tests, denial()]


def argument(machine: Machine, name: str, place: int, steps: Block) -> Block:
    """Judges a system call by the low half of an argument: all that the kernel looks at where it is an int."""
    judgement = [Step(LOAD, 0, 0, ARGUMENTS + 8 * place), *steps, Step(LOAD, 0, 0, NUMBER)]
    return [Step(EQUAL, 0, len(judgement), machine.calls[name]), *judgement]


def families(machine: Machine) -> Block:
    """Sockets of TCP and UDP, Unix ones, and those that ask for network interfaces (libzmq aborts without)."""
    # The system would load a module for the others. Programs that ask for MPTCP first go on with TCP at this error.
    protocols = [
        Step(LOAD, 0, 0, ARGUMENTS + 16),
        Step(EQUAL, 3, 0, 0),
        Step(EQUAL, 2, 0, IPPROTO_TCP),
        Step(EQUAL, 1, 0, IPPROTO_UDP),
        denial(errno.EPROTONOSUPPORT),
    ]
    internet = [
        Step(LOAD, 0, 0, ARGUMENTS + 8),
        Step(KEEP_BITS, 0, 0, SOCK_TYPES),
        Step(EQUAL, 2, 0, SOCK_STREAM),
        Step(EQUAL, 1, 0, SOCK_DGRAM),
        denial(),
        *protocols,
    ]
    known = [
        Step(EQUAL, 7 + len(internet), 0, AF_UNIX),
        Step(EQUAL, 6, 0, AF_INET),
        Step(EQUAL, 5, 0, AF_INET6),
        Step(EQUAL, 1, 0, AF_NETLINK),
        denial(),
        Step(LOAD, 0, 0, ARGUMENTS + 16),
        Step(EQUAL, 1 + len(internet), 0, NETLINK_ROUTE),
        denial(),
        *internet,
    ]
    pairs = [Step(EQUAL, 1, 0, AF_UNIX), denial()]
    return argument(machine, "socket", 0, known) + argument(machine, "socketpair", 0, pairs)


def connected_pairs(machine: Machine) -> Block:
    """Pairs that are connected for good. Datagrams of a pair can be sent to any other socket that has a path."""
    connected = [
        Step(KEEP_BITS, 0, 0, SOCK_TYPES),
        Step(EQUAL, 2, 0, SOCK_STREAM),
        Step(EQUAL, 1, 0, SOCK_SEQPACKET),
        denial(),
    ]
    return argument(machine, "socketpair", 1, connected)


def namespaces(machine: Machine) -> Block:
    """No new namespace. The arguments of clone3 lie in memory: it is said not to exist, and glibc takes clone."""
    return [
        *argument(machine, "clone", 0, [Step(ANY_BIT, 0, 1, NAMESPACES), denial()]),
        *argument(machine, "unshare", 0, [Step(ANY_BIT, 0, 1, NAMESPACES_OF_UNSHARE), denial()]),
        Step(EQUAL, 0, 1, machine.calls["clone3"]),
        denial(errno.ENOSYS),
    ]


def control_of_terminals(machine: Machine) -> Block:
    """Nothing is typed into a terminal, and none gets another line discipline."""
    refused = [Step(EQUAL, 2, 0, TIOCSTI), Step(EQUAL, 1, 0, TIOCLINUX), Step(EQUAL, 0, 1, TIOCSETD), denial()]
    return argument(machine, "ioctl", 1, refused)


def leases(machine: Machine) -> Block:
    """No lease, which would make everyone else wait who opens the file; it takes no right but to read it."""
    return argument(machine, "fcntl", 1, [Step(EQUAL, 1, 0, F_SETLEASE), Step(EQUAL, 0, 1, F_NOTIFY), denial()])


def limits_of_others(machine: Machine) -> Block:
    """Limits are set for oneself alone: a supervisor that may open no file could not find what it has to end."""
    judgement = [
        Step(LOAD, 0, 0, ARGUMENTS),  # whose limits
        Step(EQUAL, 5, 0, 0),
        Step(LOAD, 0, 0, ARGUMENTS + 16),  # where the new ones are, in two halves
        Step(EQUAL, 0, 2, 0),
        Step(LOAD, 0, 0, ARGUMENTS + 20),
        Step(EQUAL, 1, 0, 0),
        denial(),
        Step(LOAD, 0, 0, NUMBER),
    ]
    return [Step(EQUAL, 0, len(judgement), machine.calls["prlimit64"]), *judgement]


#: Calls that set priorities of a process, a group, or all of a user, each with its number for users.
PRIORITIES = {"setpriority": 2, "ioprio_set": 3}  # PRIO_USER, IOPRIO_WHO_USER


def scheduling_of_supervisor(machine: Machine) -> Block:
    """Priority and processors of the first process stay: it enforces limits. So do those of all that the user has."""
    block: Block = []
    first = [Step(EQUAL, 0, 1, FIRST_PROCESS), denial()]
    for name in ("sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"):
        block += argument(machine, name, 0, first)
    for name, user in PRIORITIES.items():
        block += argument(machine, name, 0, [Step(EQUAL, 2, 0, user), Step(LOAD, 0, 0, ARGUMENTS + 8), *first])
    return block


#: Where each call has the mode of a file. In those that open files it stands behind the flags, and counts with some.
MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
MODES_OF_OPENED = {"open": 2, "openat": 3}


def set_user_id_programs(machine: Machine) -> Block:
    """None are made: with one that code left in the working directory, other users would have the rights of its owner.

    Nor set-group-ID programs. Directories of such modes look alike here; new ones take the bit of the one around them.

    The arguments of openat2 lie in memory: it is said not to exist, and programs take openat.
    """
    block: Block = []
    refused = [
        Step(ANY_BIT, 2, 0, S_ISUID),
        Step(KEEP_BITS, 0, 0, SET_GROUP_ID_PROGRAM),
        Step(EQUAL, 0, 1, SET_GROUP_ID_PROGRAM),
        denial(),
    ]
    for name, place in MODES.items():
        if name in machine.calls:
            block += argument(machine, name, place, refused)
    for name, place in MODES_OF_OPENED.items():
        if name in machine.calls:
            mode = [Step(LOAD, 0, 0, ARGUMENTS + 8 * place), *refused]
            block += argument(machine, name, place - 1, [Step(ANY_BIT, 0, len(mode), O_CREAT | O_TMPFILE), *mode])
    return [*block, Step(EQUAL, 0, 1, machine.calls["openat2"]), denial(errno.ENOSYS)]


def pack(steps: Block) -> bytes:
    """The instructions as the kernel takes them."""
    return b"".join(struct.pack("HBBI", *step) for step in steps)
)py", 14344}},
{"formats", {R"py("""Representations of plain values, found without asking every formatter."""

from __future__ import annotations

from functools import partial
from typing import Any

from ipybox_kernel.tracebacks import Tracebacks

PLAIN = frozenset({int, float, complex, bool, str, bytes})


class PlainFormats:
    """Goes before the display formatter's ``format``.

    It asks a dozen formatters about each value. The built-in scalars have no ``_repr_*_`` methods and cannot get any:
    as long as nothing is registered with one of these formatters, ``text/plain`` is all there will be.
    """

    def __init__(self, formatter: Any, tracebacks: Tracebacks) -> None:
        self.formatter = formatter
        self.tracebacks = tracebacks
        self.ask = formatter.format
        self.plain = formatter.formatters["text/plain"]
        self.others = [kind for kind in formatter.formatters.values() if kind is not self.plain]
        self.others += [formatter.ipython_display_formatter, formatter.mimebundle_formatter]
        self.kinds = len(formatter.formatters)
        self.registered = self._registered()
        formatter.format = self.format

    def format(self, value: Any, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """As ``DisplayFormatter.format``."""
        return self.tracebacks.repeated(partial(self.representations, value, include, exclude))

    def representations(self, value: Any, include: Any, exclude: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if type(value) not in PLAIN or include or exclude or not self._untouched():
            return self.ask(value, include=include, exclude=exclude)  # type: ignore[no-any-return]
        text = self.plain(value)
        return ({} if text is None else {"text/plain": text}), {}

    def _untouched(self) -> bool:
        formatters = self.formatter.formatters
        return (
            len(formatters) == self.kinds
            and formatters.get("text/plain") is self.plain
            and self._registered() == self.registered
        )

    def _registered(self) -> int:
        return sum(
            len(kind.type_printers) + len(kind.deferred_printers) + len(kind.singleton_printers) for kind in self.others
        )
)py", 2249}},
{"guards", {R"py("""The guard ``no_exec``: a kernel that can start no program and touch no process that is not its own.

The system enforces it: capabilities, Landlock and a seccomp filter, none of which can be undone. Python's own ways to
start programs say so in a sentence, for people.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

from ipybox_kernel import filters, landlock, privileges, process

SENTENCE = "Programs cannot be started from Python here. Start them with !, as in `!ls -l`, or in a %%bash cell."
OF_OS = ("system", "posix_spawn", "posix_spawnp", "execv", "execve", "spawnv", "spawnve", "spawnvp", "spawnvpe")
REPLACED = [
    *(("os", name) for name in OF_OS),  # the other ones call these
    ("pty", "spawn"),
    ("_posixsubprocess", "fork_exec"),
    ("subprocess", "_fork_exec"),
]


def confine(allow: list[str]) -> None:
    """Puts this process, for ever, under the guard, and all that it will fork; raises Missing if that is impossible.

    ``allow`` names what the base filter leaves open.
    """
    machine = privileges.machine()
    privileges.drop_capabilities()
    landlock.give_up_new_privileges()
    landlock.isolate(landlock.version())
    for program in (filters.base(machine, allow), filters.no_exec(machine)):
        privileges.filter_calls(program, machine)
    explain()


def unavailable() -> str:
    """The thing that is missing here, found out by trying it in a process of its own; empty if nothing is."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            confine([])
            os.write(writing, b"ok")
        except BaseException as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    process.wait_for_report(reading, pid)
    with open(reading, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(pid, 0)
    return "" if text == "ok" else text or "a process that was put under it died"


# Python


def explain() -> None:
    """Makes Python say what to do instead. The filter would only say that it is not permitted."""
    for module, name in REPLACED:
        replace(module, name)


def replace(owner: str, name: str) -> None:
    """Replaces a function by one that says why it does not do what it did."""
    module = importlib.import_module(owner)  # the one of code, which is not the one that is seen here
    original: Callable[..., Any] | None = getattr(module, name, None)
    if original is None:
        return

    def denied(*args: object, **options: object) -> None:
        raise PermissionError(SENTENCE)

    denied.__name__ = denied.__qualname__ = name
    denied.__doc__ = SENTENCE
    setattr(module, name, denied)
)py", 2791}},
{"hints", {R"py("""Sentences about failures whose reason lies in the sandbox: the programs that fail know nothing of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from ipybox_kernel import hosts, packages
from ipybox_kernel.paths import lies_in

Write = Callable[[str], Any]

MARK = "[ipybox] "

INSTALLS = re.compile(r"\b(?:pip[\d.]*|conda|mamba)\s+(?:-\S+\s+)*install\b|\buv\s+(?:pip\s+install|add)\b")
NO_NETWORK = "pip reaches no index here: the kernel has no network. "
NO_PASSAGE = "pip was not let through to an index, as it says above. "
BY_PROXY = "Tunnel connection failed: "
WITH_LAYER = "%pip install, without options, has the host fetch packages."
WITHOUT_LAYER = (
    "Packages come from outside: by the tool install_package of `ipybox mcp`; with `ipybox run --packages DIR`, where "
    "%pip install has the host fetch them; or into the environment of this kernel, by its pip, before it starts."
)

#: What git says, and the sentence about it.
OF_GIT = [
    (
        re.compile(r"could not (?:write|lock) config file [^\n]*: (?:Device or resource busy|Read-only file system)"),
        "The settings of a repository cannot be changed here, as git starts programs that they name: change them "
        "outside of the sandbox, or set allowGitConfig in the sandbox's configuration.",
    ),
    (
        re.compile(r"'([^'\n]*\.git)/[^'\n]*\.lock': Read-only file system"),
        "The repository lies in {0}, where code cannot write: name that path in allowWrite of the sandbox's "
        "configuration.",
    ),
    (
        re.compile(r"\.git\b[^\n]*: Read-only file system"),
        "No repository can be made here, as git starts programs that its settings name: make it outside of the "
        "sandbox, or in a directory below.",
    ),
]


#: Directories that are the sandbox's own, empty at its start, where the host has others of these names.
private: tuple[str, ...] = ()

OWN = (
    "{0} is the sandbox's own here, and was empty at the start. A file of the host's {0} can be read where it is put "
    "into the working directory."
)

#: What programs and Python say of a path that is not there: ``cat: PATH: …``, ``… '/tmp/x': …``, ``…: 'PATH'``.
MISSING = re.compile(
    r"(?P<before>/[^\s:'\"]+)['\"]?: (?:\[Errno 2\] )?No such file or directory"
    r"|No such file or directory: b?['\"](?P<behind>/[^\n'\"]+)"
)


class Output:
    """What a command writes: it is passed on, and its end is kept."""

    LONGEST = 4096

    def __init__(self) -> None:
        self.end = ""

    def to(self, write: Write) -> Write:
        """A function that passes text on to another one."""

        def written(text: str) -> Any:
            self.end = (self.end + text)[-self.LONGEST :]
            return write(text)

        return written


def of_command(command: str, code: int, output: Output) -> str:
    """Lines to show behind the output of a command that has ended; empty: nothing is to be said."""
    if code and INSTALLS.search(command):
        advice = WITH_LAYER if packages.layer else WITHOUT_LAYER
        if hosts.are_out_of_reach(os.environ):
            return line(NO_NETWORK + advice)
        if BY_PROXY in output.end:
            return line(NO_PASSAGE + advice)
    if "git" in command:
        for said, sentence in OF_GIT:
            if found := said.search(output.end):
                return line(sentence.format(*found.groups()))
    return of_missing(output.end) if code else ""


def of_missing(text: str) -> str:
    """A line about what an error says is not there; empty: nothing is to be said."""
    for found in MISSING.finditer(text[-Output.LONGEST :]) if private else ():
        path = found["before"] or found["behind"]
        place = next((place for place in private if lies_in(path, [place])), None)
        if place and not lies_in(path, [workplace()]):
            return line(OWN.format(place))
    return ""


def workplace() -> str:
    """The working directory, which may be gone."""
    try:
        return os.getcwd()
    except OSError:
        return "/"


def line(sentence: str) -> str:
    return f"{MARK}{sentence}\n"
)py", 4179}},
{"hooks", {R"py("""Functions of IPython's shell, with what a kernel adds to them."""

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
)py", 4386}},
{"hosts", {R"py("""How a kernel reaches hosts by name: over a listening socket that is made here, and served by the host."""

from __future__ import annotations

import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: So many connections wait in the system's queue.
BACKLOG = 128

#: What is inside is reached directly.
INSIDE = "localhost,127.0.0.1,::1"


def listen() -> socket.socket:
    """A listening socket on the loopback, on a port that the system chooses."""
    return socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)


def environment(listener: socket.socket) -> dict[str, str]:
    """The variables by which programs find the proxy behind a listening socket.

    The proxy speaks SOCKS5 as well, but with ``socks5h://`` in ALL_PROXY clients that lack a package for it fail before
    they look at the other variables.
    """
    proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"
    variables = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy, "NO_PROXY": INSIDE}
    return {**variables, **{name.lower(): value for name, value in variables.items()}}


def are_out_of_reach(env: Mapping[str, str]) -> bool:
    """Whether programs reach no host with this environment: there is no proxy, and no network but the loopback."""
    if any(name.lower().endswith("_proxy") and name.lower() != "no_proxy" for name in env):
        return False
    try:
        with open("/proc/net/dev") as devices:
            return all(line.lstrip().startswith("lo:") for line in devices if ":" in line)
    except OSError:
        return False
)py", 1594}},
{"inbox", {R"py("""The receiving side of the action socket: frames, and the descriptors that come with them."""

from __future__ import annotations

import json
import socket
import struct
from collections import deque
from typing import Any, NamedTuple

MAX_FRAME = 256 << 20
READ = 64 << 10  # what is larger is read into memory of its own
FLAGS = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
ROOM = socket.CMSG_SPACE(8 * 4)

# Written in C: code cannot change how it works. Its name is not documented.
scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


class Answer(NamedTuple):
    """One frame of the host."""

    head: dict[str, Any]
    body: memoryview
    descriptors: list[int]


def is_frame(data: bytes) -> bool:
    """Whether this is one frame, neither less nor more: so are most answers."""
    return len(data) >= 8 and 4 + int.from_bytes(data[:4], "little") == len(data)


class Inbox:
    """Takes frames out of a stream of bytes that never waits."""

    def __init__(self, stream: socket.socket) -> None:
        self.socket = stream
        self.received = bytearray()
        self.whole: bytes | None = None  # a frame that was read by itself
        self.large: memoryview | None = None  # a frame that is too large for `received`
        self.filled = 0  # how much of it is there
        self.descriptors: deque[int] = deque()

    def read(self) -> None:
        """Reads what is there, once; raises EOFError at the end."""
        try:
            if self.large is None:
                data, ancillary, _, _ = self.socket.recvmsg(READ, ROOM, FLAGS)
                size = len(data)
                if self.received or self.whole or not is_frame(data):
                    self.received += data
                else:
                    self.whole = data
            else:
                size, ancillary, _, _ = self.socket.recvmsg_into([self.large[self.filled :]], ROOM, FLAGS)
                self.filled += size
        except BlockingIOError:
            return  # another thread was faster
        except OSError:
            raise EOFError from None
        if not size:
            raise EOFError
        for _, _, packed in ancillary:
            self.descriptors.extend(struct.unpack(f"{len(packed) // 4}i", packed))

    def next(self) -> Answer | None:
        """The next frame, if it is there as a whole; raises ValueError if it is none."""
        if self.whole is not None:
            whole, self.whole = self.whole, None
            return self._parse(memoryview(whole))
        if self.large is not None:
            if self.filled < len(self.large):
                return None
            frame, self.large = self.large, None
            return self._parse(frame)
        if len(self.received) < 8:
            return None
        size = 4 + int.from_bytes(self.received[:4], "little")
        if not 8 <= size <= 4 + MAX_FRAME:
            raise ValueError(f"a frame of {size} bytes")
        if size <= len(self.received):
            frame = memoryview(bytes(self.received[:size]))
            del self.received[:size]
            return self._parse(frame)
        if size > READ:
            self.large, self.filled = memoryview(bytearray(size)), len(self.received)
            self.large[: self.filled] = self.received
            self.received.clear()
        return None

    def _parse(self, frame: memoryview) -> Answer:
        body = 8 + int.from_bytes(frame[4:8], "little")
        text = str(frame[8:body], "utf-8")
        try:
            head, end = scan(text, 0)  # a third of the time of `json.loads`
        except StopIteration:
            raise ValueError("a frame without a head") from None
        if not isinstance(head, dict) or end < len(text) or body > len(frame):
            raise ValueError("a frame without a head")
        if len(self.descriptors) < (count := head.get("descriptors", 0)):
            raise ValueError(f"{count} descriptors are missing")
        return Answer(head, frame[body:], [self.descriptors.popleft() for _ in range(count)])
)py", 4032}},
{"interrupt", {R"py("""SIGINT: when it may stop a cell, and when it has to wait."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_COROUTINE
from types import CodeType, FrameType, TracebackType
from typing import Any

STEP = asyncio.Handle._run.__code__  # of an event loop
WARNINGS = ("warnings", "_py_warnings")  # the modules that show a warning, the latter from Python 3.14 on
NUDGE = signal.SIGURG  # harmless wherever it strikes: a program that does not ask for it never sees it

TOLD = "interrupted"  # the interrupt has reached the code
ENDING = "ending"  # the code has ended; what is left to do is the kernel's own work


class Interrupts:
    """Turns SIGINT into the end of the running cell.

    ``with interrupts`` around a change that must not be left half done: an interrupt that comes meanwhile is
    raised at the end of it. (Blocking the signal would not do: Python runs the handler whichever thread took it.)
    The first one that comes before the code of a cell has begun strikes when that begins, and not the machinery that
    leads there. The host is told how far an interrupt has come: see `tell`.
    """

    def __init__(self) -> None:
        self.armed = False
        self.early = False  # came when nothing ran; perhaps for a cell that is still on its way
        self.depth = 0
        self.pending = False  # strikes at the end of the shield
        self.put_off = False  # strikes with the next nudge
        self.begun = False  # the cell's own code runs
        self.postponed = False  # strikes when the code begins
        self.taken = False  # the code was interrupted
        self.ended = False  # and the host knows that it has ended
        self.cancelled = False
        self.deaf = 0  # interrupts are dropped
        self.tell: Callable[[str], object] = lambda state: None  # says to the host what is true of the code now
        self.wake: Callable[[], object] = lambda: None  # called when an interrupt comes inside a shield
        self.remind: Callable[[], object] = lambda: None  # has the main thread nudged soon
        self.task: asyncio.Task[Any] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.main = threading.get_ident()
        self.starts_code: CodeType | None = None  # IPython's function: what it has made must not be lost
        self.handled = 0  # signals that Python's handler has got
        self.sending = 0  # the main thread sends: handlers that code has installed wait
        self.waiting_handlers: list[tuple[Callable[..., object], int, FrameType | None]] = []
        self.arrived = self.arrival = -1  # both ends of a pipe that the system's signal handler writes to

    def install(self) -> None:
        self.main = threading.get_ident()
        # A signal that came just before the main thread began to wait leaves no other trace.
        self.arrived, self.arrival = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self.arrival, warn_on_full_buffer=False)
        signal.signal(NUDGE, self.nudged)
        signal.signal(signal.SIGINT, self.received)
        sys.unraisablehook = self.show_unraisable
        shield_handlers()

    def has_arrived(self) -> bool:
        """Whether the system has taken an interrupt since this was last asked."""
        numbers = b""
        try:
            while arrived := os.read(self.arrived, 4096):
                numbers += arrived
        except BlockingIOError:
            pass
        return signal.SIGINT in numbers

    def nudge(self) -> None:
        """Ends the waiting of the main thread, if it waits in the system; then Python's handlers run."""
        signal.pthread_kill(self.main, NUDGE)

    def arm(self, cell: bool = False) -> None:
        """From here on SIGINT stops what runs. The code of a cell is still to `begin`."""
        self.pending = self.put_off = self.postponed = self.taken = self.ended = self.cancelled = False
        self.begun = not cell
        self.deaf = 0
        self.armed = True

    def begin(self) -> None:
        """The cell's own code begins. An interrupt that came before strikes now; also one that IPython's callbacks,
        which print what they raise, made nothing of.
        """
        self.begun = True
        if self.postponed:
            self.postponed = False
            raise KeyboardInterrupt

    def end(self) -> None:
        """The cell's own code has ended."""
        if self.taken and not self.ended:
            self.ended = True
            self.tell(ENDING)

    @contextmanager
    def dropped(self) -> Iterator[None]:
        """While an error is shown, which takes as long as it takes: an interrupt would only strike the machinery."""
        if threading.get_ident() != self.main:
            yield
            return
        self.deaf += 1
        try:
            self.end()
            yield
        finally:
            self.deaf -= 1

    def disarm(self) -> None:
        self.armed = False
        self.task = None

    def received(self, number: int, frame: FrameType | None) -> None:
        """Python's signal handler."""
        self.handled += 1
        self.handle(frame)

    def nudged(self, number: int, frame: FrameType | None) -> None:
        """Python's handler of a nudge. An interrupt that came in the middle of a fork strikes now."""
        if self.put_off and self.armed:
            self.put_off = False
            self.handled += 1
            self.handle(frame)

    def handle(self, frame: FrameType | None) -> None:
        """Does what an interrupt is to do now."""
        if not self.armed:
            self.early = True
        elif self.deaf:
            self.tell(ENDING)
        elif drops_what_is_raised(frame) or (frame is not None and frame.f_code is self.starts_code):
            self.put_off = True
            self.remind()
        elif self.depth:
            self.pending = True
            self.wake()
        elif not self.begun and not self.postponed:
            self.postpone()
        elif self.task is None or runs_a_callback(frame):
            self.strike()
        else:
            self.cancel()

    def take(self) -> None:
        """The code is about to get an interrupt."""
        self.pending = False
        self.taken = True
        self.tell(TOLD)

    def postpone(self) -> None:
        """Keeps the first interrupt for the beginning of the code; the next one strikes wherever it is."""
        self.take()
        self.postponed = True

    def strike(self) -> None:
        """Raises in the code that runs."""
        self.take()
        self.postponed = not self.begun
        raise KeyboardInterrupt

    def cancel(self) -> None:
        """Cancels the task of an ``await`` cell. Code that swallows that is cancelled again the next time."""
        if self.task is not None and self.loop is not None:
            self.take()
            self.cancelled = True
            self.loop.call_soon_threadsafe(self.task.cancel)

    def show_unraisable(self, lost: sys.UnraisableHookArgs) -> None:
        """Called by Python for an exception that it cannot raise, such as one in `__del__`: an interrupt that struck
        there strikes again a little later.
        """
        if self.armed and isinstance(lost.exc_value, KeyboardInterrupt) and struck_here(lost.exc_traceback):
            self.put_off = True
            self.remind()
        else:
            sys.__unraisablehook__(lost)

    def waiting(self) -> bool:
        """Whether one is waiting for the end of this thread's shield."""
        return self.pending and threading.get_ident() == self.main

    def __enter__(self) -> None:
        if threading.get_ident() == self.main:
            self.depth += 1

    def __exit__(self, *exception: type[BaseException] | BaseException | TracebackType | None) -> None:
        if threading.get_ident() == self.main:
            self.depth -= 1
            if self.pending and not self.depth and self.armed:
                if self.begun or self.postponed:
                    self.strike()
                else:
                    self.postpone()

    def begin_sending(self) -> None:
        """From here on handlers that code has installed wait: they may print, or raise."""
        if threading.get_ident() == self.main:
            self.sending += 1

    def end_sending(self) -> None:
        if threading.get_ident() == self.main:
            self.sending -= 1

    def run_waiting_handlers(self) -> None:
        if threading.get_ident() == self.main:
            while self.waiting_handlers and not self.sending:
                handler, number, frame = self.waiting_handlers.pop(0)
                handler(number, frame)

    def unshield(self) -> None:
        """Leaves the shield of a fork, where Python drops what is raised."""
        if threading.get_ident() == self.main:
            if self.pending and self.depth == 1:
                self.pending = False
                self.put_off = True
                self.remind()
            self.depth -= 1  # `handle` knows this frame

    def uninstall(self) -> None:
        """In a forked child of a cell: Ctrl-C is as in any Python program."""
        self.disarm()
        self.depth = self.deaf = self.sending = 0
        self.waiting_handlers.clear()
        self.tell = lambda state: None
        self.remind = lambda: None
        signal.set_wakeup_fd(-1)
        signal.signal(NUDGE, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = sys.__unraisablehook__


class Shielded:
    """A handler of a signal that code has installed."""

    def __init__(self, handler: Callable[..., object]) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if interrupts.sending:
            interrupts.waiting_handlers.append((self.handler, number, frame))
        else:
            self.handler(number, frame)


def shield_handlers() -> None:
    """Has the handlers that code installs wait while a message is sent."""
    shared: Any = sys.modules["signal"]  # of all code: this package has a copy
    install, installed = shared.signal, shared.getsignal

    def given(handler: Any) -> Any:
        return handler.handler if type(handler) is Shielded else handler

    @functools.wraps(install)
    def signal(signalnum: Any, handler: Any) -> Any:
        return given(install(signalnum, Shielded(handler) if callable(handler) else handler))

    @functools.wraps(installed)
    def getsignal(signalnum: Any) -> Any:
        return given(installed(signalnum))

    shared.signal, shared.getsignal = signal, getsignal


def struck_here(traceback: TracebackType | None) -> bool:
    """Whether an exception was raised by `Interrupts.strike`."""
    while traceback and traceback.tb_next:
        traceback = traceback.tb_next
    return traceback is not None and traceback.tb_frame.f_code is Interrupts.strike.__code__


def drops_what_is_raised(frame: FrameType | None) -> bool:
    """Whether what is raised in a frame may be lost: at the end of a fork, and in the warning of one (Python 3.12)."""
    while frame:
        if frame.f_code is Interrupts.unshield.__code__ or frame.f_globals.get("__name__") in WARNINGS:
            return True
        frame = frame.f_back
    return False


def runs_a_callback(frame: FrameType | None) -> bool:
    """Whether a task or a callback runs, and not the loop itself: that would lose what it is about to do."""
    inner = None
    while frame and frame.f_code is not STEP:
        inner, frame = frame, frame.f_back
    if frame is None or inner is None:
        return False
    return bool(inner.f_code.co_flags & CO_COROUTINE) or not inner.f_globals.get("__name__", "").startswith("asyncio.")


interrupts = Interrupts()
)py", 11958}},
{"isolation", {R"py("""How far the kernels of one supervisor are apart: they share its files and processes, or walls are between them."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager

from ipybox_kernel import hosts, landlock, process
from ipybox_kernel.refused import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from socket import socket
    from typing import Any, TypeAlias

    from ipybox_kernel.broker import Broker
    from ipybox_kernel.rooms import Room
    from ipybox_kernel.walls import Directory, Environment, Words

    #: What belongs to a kernel or a program alone.
    Own = Callable[[], dict[str, Any]]
    Isolation: TypeAlias = "Shared | Walled"

SHARE = "if they may see each other's files and processes, do without walls between them"


def of_kernels(plan: dict[str, Any] | None, broker: Broker) -> Isolation:
    """Walls, if there is a plan of them."""
    return Shared(broker) if plan is None else Walled(plan, broker)


def check_place(asked: str | None) -> None:
    """No way leads to a directory that was removed while a sandbox had it mounted: much fails there in a kernel."""
    try:
        os.getcwd()
    except OSError as error:
        raise Refused("cwd", f"{asked}: it was removed after the sandbox was made", errno=error.errno) from None


class Forked:
    """A kernel that has just been forked; the pid is 0 in the kernel itself."""

    def __init__(self, pid: int, listener: socket | None, room: Room | None = None) -> None:
        self.pid = pid
        self.listener = listener
        self.room = room


class Shared:
    """All kernels and programs live where the supervisor does."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.supervisor = os.getpid()  # with which kernels die
        self.home = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def wants_room(self) -> bool:
        """Whether there is something to `prepare` for the next kernel."""
        return False

    def prepare(self, living: set[int]) -> None:
        """There is nothing to be made ahead of time."""

    @contextmanager
    def own_part(self, request: dict[str, Any], descriptors: list[int]) -> Iterator[Own]:
        """The part of a request that only the kernel or the program itself reads."""
        yield lambda: request

    def fork(
        self, directory: Directory, network: bool, environment: Environment, living: set[int], entrance: int | None
    ) -> Forked:
        """Forks a kernel in a directory and with an environment; raises Refused."""
        pid = None
        asked, _ = directory()  # only walls close anything
        self.enter(asked)
        try:
            check_place(asked)
            listener = hosts.listen() if network else None
            environment(listener)
            pid = os.fork()
        except OSError as error:
            raise Refused("fork", str(error)) from None
        finally:
            if pid != 0:
                self.leave()
        if not pid:
            process.enter_cgroup_or_end(entrance)
        return Forked(pid, listener)

    def add(self, kernel: Forked) -> None:
        """Nothing but its pid is to be kept."""

    def spawn(
        self, argv: list[str], env: dict[str, str], cwd: str | None, cpu_time: int | None, entrance: int | None
    ) -> int:
        """Starts a program with nothing to read and nowhere to write; raises Refused."""
        return self.start(argv, cwd, lambda: process.run(argv, env, self.supervisor, cpu_time, entrance))

    def run(self, kernel: int, words: Words, descriptors: list[int], entrance: int | None) -> int:
        """Starts a program for a kernel; raises Refused."""
        argv, env, cwd = words(self.broker.environments[kernel])
        alone = self.broker.has_kernels_alone()
        return self.start(argv, cwd, lambda: process.start(argv, env, descriptors, entrance, alone=alone))

    def start(self, argv: list[str], cwd: str | None, program: Callable[[], int]) -> int:
        self.enter(cwd)
        try:
            return program()
        except OSError as error:
            raise Refused("exec", f"{argv[0]}: {error.strerror}", errno=error.errno) from None
        finally:
            self.leave()

    def enter(self, directory: str | None) -> None:
        """Goes where a child is to start, so that it fails here and not there."""
        if directory is None:
            return
        try:
            os.chdir(directory)
        except OSError as error:
            raise Refused("cwd", f"{directory}: {error.strerror}", errno=error.errno) from None

    def leave(self) -> None:
        os.fchdir(self.home)

    def has_group(self, program: int) -> bool:
        """Whether a program that has ended left anything in its process group."""
        return self.broker.has_group(program)

    def end_program(self, kernel: int, program: int) -> None:
        """A program has ended: the broker knows."""

    def forget(self, pid: int) -> None:
        """A kernel has ended: the broker knows."""

    def close(self) -> None:
        """For forked children."""
        os.close(self.home)


class Walled:
    """Each kernel lives in a room of its own, with its programs."""

    def __init__(self, plan: dict[str, Any], broker: Broker) -> None:
        from ipybox_kernel.walls import Walls

        self.walls = Walls(plan)
        self.broker = broker
        self.supervisor = 0  # kernels die with the first process of their room
        self.wants_room = self.walls.wants_room
        self.prepare = self.walls.prepare
        self.has_group = self.walls.has_group
        self.end_program = self.walls.end_program
        self.forget = self.walls.forget

    @contextmanager
    def own_part(self, request: dict[str, Any], descriptors: list[int]) -> Iterator[Own]:
        """It is in a file: kernels inherit the memory of this process with all that it has ever read."""
        if not descriptors:
            raise Refused("request", "the environment has to come in a file")
        with open(descriptors.pop(), "rb") as file:
            yield lambda: json.loads(os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0))

    def fork(
        self, directory: Directory, network: bool, environment: Environment, living: set[int], entrance: int | None
    ) -> Forked:
        """Forks a kernel into a room; raises Refused."""
        try:
            pid, room, listener = self.walls.fork(directory, network, environment, living, entrance)
        except OSError as error:
            raise Refused("fork", str(error)) from None
        except landlock.Missing as lack:
            text = f"the kernels of a runtime cannot be kept apart here: {lack}; {SHARE}"
            raise Refused("walls", text) from None
        return Forked(pid, listener, room)

    def add(self, kernel: Forked) -> None:
        """Keeps its room. Processes that its programs leave behind are below the first one there."""
        if kernel.room:
            self.walls.add(kernel.pid, kernel.room)
            self.broker.owners[kernel.room.init] = kernel.pid

    def spawn(self, *program: object) -> int:
        raise Refused("walls", f"kernels of other programs cannot be kept apart; {SHARE}")

    def run(self, kernel: int, words: Words, descriptors: list[int], entrance: int | None) -> int:
        """Starts a program in the room of a kernel; its directory is one there, and need not exist here."""
        try:
            return self.walls.start(kernel, words, descriptors, entrance)
        except OSError as error:  # there is no memory for a process, say
            raise Refused("exec", error.strerror or str(error), errno=error.errno) from None
        except landlock.Missing as lack:  # the kernel's first process has just ended, and so does the kernel
            raise Refused("kernel", f"kernel {kernel} has ended: {lack}") from None

    def close(self) -> None:
        """A forked child has no room but its own: see `Walls.fork`."""
)py", 8075}},
{"journal", {R"py("""The output that a kernel has not sent yet, in memory that outlives it: the supervisor finds it there."""

from __future__ import annotations

import ctypes
import mmap
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

locked_libc = ctypes.PyDLL(None)  # keeps the interpreter's lock

ROOM = 128 << 10  # characters of text
LONGEST = 4  # bytes of one in UTF-8


class Journal:
    """Text of one stream at a time, behind a byte that is the descriptor of the stream, or 0 while there is none.

    Behind the text there are zeros, so that NUL characters at its end are not kept. Text of one call of `put` is there
    as a whole.
    """

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, LONGEST * ROOM + mmap.PAGESIZE)
        self.put: Callable[[bytes], object] = self.memory.write

    def begin(self, number: int) -> None:
        """The text from now on is that of a stream; there is none yet."""
        self.memory[0] = number
        self.memory.seek(1)

    def read(self, fd: int, number: int) -> int:
        """Reads what is in a pipe now, as much as there is room for: it is here before another thread runs."""
        self.begin(number)
        place = ctypes.c_char.from_buffer(self.memory, 1)
        size = int(locked_libc.read(fd, ctypes.byref(place), ctypes.c_size_t(LONGEST * ROOM)))
        self.memory.seek(1 + max(0, size))
        return max(0, size)

    def pending(self) -> bytes:
        """The text."""
        return self.memory[1 : self.memory.tell()]

    def clear(self) -> None:
        """The text has been sent."""
        end = self.memory.tell()
        self.memory[:end] = bytes(end)
        self.memory.seek(1)

    def keep(self) -> None:
        """In the supervisor: no other kernel is to find it in its memory."""
        self.memory.madvise(mmap.MADV_DONTFORK)

    def left(self) -> tuple[int, bytes]:
        """The descriptor and the text that a process has left here."""
        number = self.memory[0]
        return number, self.memory[1:].rstrip(b"\0") if number else b""

    def close(self) -> None:
        """Lets go of the memory."""
        del self.put
        self.memory.close()


class Leftovers:
    """The supervisor's part of a kernel's outputs: what is left in the journal goes the way that the rest goes."""

    def __init__(self, journal: Journal, ends: list[int]) -> None:
        self.journal = journal
        self.ends = ends  # writing ends of the pipes for descriptors 1 and 2
        journal.keep()

    def deliver(self) -> None:
        """The kernel has ended, and all that wrote there: what does not fit into the pipe is left out."""
        number, text = self.journal.left()
        if number in (1, 2):
            end = self.ends[number - 1]
            os.set_blocking(end, False)
            try:
                while text:
                    text = text[os.write(end, text) :]
            except OSError:
                pass
        self.journal.close()
        self.close()

    def close(self) -> None:
        """Lets go of the pipes."""
        for end in self.ends:
            os.close(end)
)py", 3151}},
{"kernel", {R"py("""The kernel: ipykernel's, with everything between it and the host replaced."""

from __future__ import annotations

import asyncio
import builtins
import gc
import getpass
import os
import socket
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from ipykernel.ipkernel import IPythonKernel
from IPython.core.error import StdinNotImplementedError

from ipybox_kernel import debugging, hints, hooks, limits, magics, shutdown
from ipybox_kernel.cells import Cells, name_cells_in_warnings
from ipybox_kernel.formats import PlainFormats
from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.leaving import Exit, exit_code
from ipybox_kernel.loop import MainLoop
from ipybox_kernel.serving import Serving
from ipybox_kernel.session import Sink
from ipybox_kernel.shell import ShellCommands
from ipybox_kernel.streams import Streams
from ipybox_kernel.tracebacks import Mended, Tracebacks, as_interrupt, describe
from ipybox_kernel.warming import WarmUp
from ipybox_kernel.wire import IOPUB, SHELL, STDIN, Link

if TYPE_CHECKING:
    from ipybox_kernel.journal import Journal
    from ipybox_kernel.originals import Originals

#: What the kernel itself puts into modules of all code.
REPLACED = [
    ("builtins", "input"),
    ("getpass", "getpass"),
    *(("sys", name) for name in ("breakpointhook", "unraisablehook", "stdin", "stdout", "stderr")),
    *(("sys", name) for name in ("__stdin__", "__stdout__", "__stderr__")),
    ("signal", "signal"),
    ("signal", "getsignal"),
    ("warnings", "formatwarning"),
]
END_OF_INPUT = "\x04"


class HandlersKernel(Serving, IPythonKernel):
    """ipykernel's own handlers, over a Link."""

    level = "handlers"

    def __init__(self, **options: Any) -> None:
        super().__init__(iopub_socket=Sink(IOPUB), stdin_socket=Sink(STDIN), **options)
        # Python drops an interrupt that strikes there; what it cleans up is a number for each thread that has ended.
        gc.callbacks[:] = [call for call in gc.callbacks if getattr(call, "__self__", None) is not self]
        self.replies = Sink(SHELL)
        self.streams = Streams(self.session, self.iopub_socket)
        self.commands = ShellCommands(self.shell, self.streams)
        self.program_magics = magics.of_programs(self.shell)
        # ipykernel's compiler invents files, for its debugger; IPython trips over them
        self.cells = self.shell.compile = Cells(self.shell.input_transformer_manager.cleanup_transforms, self.mend)
        self.tracebacks = Tracebacks(self.shell, self.cells, self.publish_error, self.mend)
        self.warm_up = WarmUp(self.shell)
        self.shell.displayhook.quiet = self.quiet
        self.formats = PlainFormats(self.shell.display_formatter, self.tracebacks)
        hooks.wrap(self.shell, self.tracebacks)
        self.shell.exiter = Exit(self.shell)
        for namespace in (self.shell.user_ns, self.shell.user_ns_hidden):
            namespace.update(exit=self.shell.exiter, quit=self.shell.exiter)
        self.loop_runner = self.shell.loop_runner
        self.link: Link | None = None
        self.originals: Originals | None = None
        self.open_files = limits.OpenFiles()
        self.mended = 0  # times, for the request that is being handled
        self.backlog: deque[tuple[int, list[memoryview]]] = deque()  # requests that came while a cell read input
        self.home: str | None = None  # where a cell that went elsewhere is brought back to
        self.exit_status = 0  # of this process, when it ends by itself
        self._execute_sleep = 0.0

    # Life

    def run(
        self, link: Link, outputs: list[tuple[int, int]], journal: Journal, restore_cwd: bool, first: bool
    ) -> NoReturn:
        """Lives as a kernel, until ``exit()``, a request to shut down or the end of file.

        The first one of a supervisor prepares its first error. Later ones are forked from one that is warm; those that
        come before it is would each pay for it with 6 MB that they share with no other.
        """
        self.link = link
        self.cells.forget()
        name_cells_in_warnings(self.cells)
        self.home = os.getcwd() if restore_cwd else None
        self.session.connect(link)
        interrupts.install()
        self.streams.open(outputs, journal)
        builtins.input, getpass.getpass = self.raw_input, self.getpass
        sys.breakpointhook = debugging.stop
        if self.originals:
            self.originals.replaced(REPLACED)
        self.open_files = limits.OpenFiles()
        self.io_loop = MainLoop()
        self.io_loop.mend = self.mend_loop
        self.shell_channel_thread = self.main_thread()
        if first and not self.tracebacks.rendered:
            self.warm_up.plan()
        own = shutdown.open_for_writing()
        self.publish_status("starting")
        self.serve()
        shutdown.end(self.streams, self.shell, self.exit_status, own)

    def connect_actions(self, stream: socket.socket) -> None:
        """Lets cells ask the host for tools and programs."""
        from ipybox_kernel import actions, aliases

        actions.current = actions.ActionChannel(stream, self.cell, self.output_before_question)
        self.commands.ask(actions.current)
        magics.install(self.shell, self.commands, self.program_magics)
        aliases.install()

    def cell(self) -> str:
        """The id of the request that is being handled."""
        return self.session.request.get("msg_id", "") if interrupts.armed else ""

    def output_before_question(self) -> int:
        """Sends what was printed; returns the number of the last message, which the host has to see before it asks."""
        assert self.link
        self.streams.flush_before_question()
        return self.link.sent - 1  # the first one, a sign of life, has number 0

    def main_thread(self) -> Any:
        """ipykernel 7 asks it whether a cell runs in the main thread, ipykernel 6 does not."""
        return SimpleNamespace(parent_thread=threading.main_thread())

    def publish_status(self, state: str) -> None:
        self.session.send(self.iopub_socket, "status", {"execution_state": state}, self.get_parent("shell"))

    def publish_error(self, content: dict[str, Any]) -> None:
        self.streams.err.write(hints.of_missing(content["evalue"]))
        self.streams.flush()
        self.session.send(self.iopub_socket, "error", content, self.get_parent("shell"))

    # Cells

    async def execute_request(self, stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        """Runs a cell between busy and idle, as Jupyter has it."""
        content = parent["content"]
        content.update(code=content["code"], stop_on_error=False)  # without code ipykernel would not even reply
        self.publish_status("busy")
        await super().execute_request(stream, ident, parent)
        self.publish_status("idle")

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: dict[str, str] | None = None,
        allow_stdin: bool = False,
        **cell: Any,
    ) -> dict[str, Any]:
        """Runs a cell; returns the content of its reply when everything it put out has been sent."""
        self.tracebacks.begin()
        if not silent:
            metadata = self.get_parent("shell").get("metadata", {})
            self.cells.begin(metadata.get("title"), metadata.get("number"))
        self.shell.displayhook.do_full_cache = store_history  # else there are no numbers for `Out`
        try:
            try:
                reply = await self.run_mended(code, silent, store_history, user_expressions or {})
            finally:
                interrupts.disarm()
            error = self.tracebacks.display_error
        except BaseException as stopped:
            interrupts.disarm()
            self.mend()
            reply, error = self.reply({}), as_interrupt(stopped)
            self.tracebacks.show((type(error), error, error.__traceback__))
        if error is not None:
            reply.update(describe(error), status="error")
        if reply["status"] == "error":
            reply["traceback"] = (self.session.last_error or {}).get("traceback", [])
        self.tell_exit(reply)
        self.finish_cell()
        return reply

    async def run_mended(self, *cell: Any) -> dict[str, Any]:
        """Runs a cell; again if the machinery could not even begin it, for what earlier code has replaced."""
        while True:
            try:
                return await self.run_cell(*cell)
            except Mended:
                continue
            except Exception:
                if interrupts.begun or not self.mend():
                    raise

    def tell_exit(self, reply: dict[str, Any]) -> None:
        """Adds the exit code of a cell that wants to leave. ``exit()`` is no error: its cell has come to its end."""
        left = self.tracebacks.left
        if self.shell.exit_now and not self.shell.keepkernel_on_exit:
            self.exit_status = reply["exit_code"] = exit_code(self.shell.exiter.status)
            if reply.get("ename") == "SystemExit":
                reply["status"] = "ok"
        elif left is not None:
            reply["exit_code"] = exit_code(left.code)

    async def run_cell(
        self, code: str, silent: bool, store_history: bool, user_expressions: dict[str, str]
    ) -> dict[str, Any]:
        """Runs a cell and returns the content of its reply."""
        reply: dict[str, Any] = await super().do_execute(
            code, silent, store_history, user_expressions, self.stdin_allowed()
        )
        if interrupts.cancelled and reply.get("ename") == "CancelledError":
            reply.update(describe(KeyboardInterrupt()))
        return reply

    @contextmanager
    def _cancel_on_sigint(self, task: asyncio.Task[Any]) -> Iterator[None]:
        """While an ``await`` cell runs. ipykernel would handle the signal itself, and tell the host nothing."""
        interrupts.task = task
        try:
            yield
        finally:
            interrupts.task = None

    def reply(self, expressions: dict[str, Any]) -> dict[str, Any]:
        """The content of a reply to a cell that did not fail."""
        payload = self.shell.payload_manager.read_payload()
        self.shell.payload_manager.clear_payload()
        return {
            "status": "ok",
            "execution_count": self.shell.execution_count - 1,
            "user_expressions": expressions,
            "payload": payload,
        }

    def quiet(self) -> bool:
        """Whether the cell ends in a semicolon. (IPython looks at the end of its history: another cell, perhaps.)"""
        code = self.get_parent("shell").get("content", {}).get("code", "")
        return ";" in code and bool(self.shell.displayhook.semicolon_at_end_of_expression(code))

    def finish_cell(self) -> None:
        """Puts the working directory right and sends everything that was written."""
        if self.streams.forked:
            self.streams.flush()
            os._exit(0)  # a child that a cell forked and did not end
        self.restore_cwd()
        if self.link and (notice := self.open_files.raise_again(self.link.socket.fileno())):
            self.write_notice(notice)
        self.streams.flush()

    def restore_cwd(self) -> None:
        if self.home is None:
            return
        try:
            if os.getcwd() == self.home:
                return
        except FileNotFoundError:
            self.warm_up.plan()
        try:
            os.chdir(self.home)
            self.write_notice(f"cwd reset to {self.home}")
        except OSError as error:
            self.write_notice(f"cwd cannot be reset to {self.home}: {error.strerror}")

    def write_notice(self, text: str) -> None:
        """Says something behind the output of the cell, on a line of its own."""
        self.streams.flush()
        line_end = "\n" if self.session.in_line else ""
        self.streams.out.write(f"{line_end}[ipybox] {text}\n")

    # Input

    def stdin_allowed(self) -> bool:
        return bool(self.get_parent("shell").get("content", {}).get("allow_stdin"))

    def raw_input(self, prompt: object = "") -> str:
        """``input()``: asks the host."""
        return self.ask("input", str(prompt), password=False)

    def getpass(self, prompt: str = "Password: ", stream: object = None, *, echo_char: str | None = None) -> str:
        """``getpass.getpass()``: asks the host, which does not show the answer."""
        return self.ask("getpass", prompt, password=True)

    def ask(self, function: str, prompt: str, *, password: bool) -> str:
        if not self.stdin_allowed() or threading.current_thread() is not threading.main_thread():
            raise StdinNotImplementedError(f"{function}() was called, but the host answers no input here.")
        assert self.link
        self.streams.flush()
        while self.next_input():
            pass  # stale
        content = {"prompt": prompt, "password": password}
        self.session.send(self.stdin_socket, "input_request", content, self.get_parent("shell"))
        while not (frames := self.next_input()):
            self.link.wait()
        value = str(self.session.parse(frames)["content"].get("value", ""))
        if value == END_OF_INPUT:
            raise EOFError
        return value

    def next_input(self) -> list[memoryview] | None:
        """The answer of the host, if it is there. Requests that come before it must not be lost to an interrupt."""
        assert self.link
        with interrupts:
            while message := self.link.receive():
                if message[0] == STDIN:
                    return message[1]
                self.keep(*message)
        return None

    def keep(self, channel: int, frames: list[memoryview]) -> None:
        """Puts a request aside that came too early. Input that came too late is dropped."""
        if channel == SHELL:
            self.backlog.append((channel, frames))
)py", 14154}},
{"landlock", {R"py("""Landlock domains: what a kernel can signal and look into are its own processes alone."""

from __future__ import annotations

import ctypes
import os
import struct

PR_SET_NO_NEW_PRIVS = 38

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # on every machine
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1
ACCESS_FS_MAKE_BLOCK, ACCESS_FS_REFER = 1 << 11, 1 << 13
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1 << 0, 1 << 1
ABI_WITH_SCOPES = 6

libc = ctypes.CDLL(None, use_errno=True)

#: Rights to all files that domains within the sandbox's grant: else they would forbid renames across directories.
handed_on = 0


def is_within_files() -> None:
    """Tells that the sandbox of this process is a domain of Landlock that restricts files."""
    global handed_on
    handed_on = ACCESS_FS_REFER


class Missing(Exception):
    """Something is impossible here; the text says what this system lacks."""


def missing(what: str) -> Missing:
    """The exception to raise after a system call has failed."""
    number = ctypes.get_errno()
    return Missing(f"{what}: {os.strerror(number)} (errno {number})")


def version() -> int:
    """The ABI of Landlock; raises Missing without one."""
    abi = libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), CREATE_RULESET_VERSION)
    if abi < 1:
        raise missing("this Linux has no Landlock (it came with 5.13, and can be left out with `lsm=`)")
    return int(abi)


def give_up_new_privileges() -> None:
    """Set-user-ID programs run without the rights of their owners from now on. Domains and filters want it."""
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise missing("no_new_privs")


def keep_signals_in() -> None:
    """Enters a domain whose processes can signal each other, and look into each other, but nothing outside of it.

    Without it, code could stop the supervisor and outlive it. Older systems have no such domains: nothing happens.
    """
    try:
        if version() < ABI_WITH_SCOPES:
            return
        give_up_new_privileges()
        enter(struct.pack("QQQ", handed_on, 0, SCOPE_SIGNALS), handed_on)
    except Missing:
        return


def isolate(abi: int) -> None:
    """Enters a domain that restricts no file: memory and descriptors outside are closed; from ABI 6 on signals too.

    A domain wants something to restrict. No process could make block devices before, but a domain that handles any
    right to files forbids renames across directories unless these are granted, which was impossible with ABI 1.
    """
    if abi >= ABI_WITH_SCOPES:
        enter(struct.pack("QQQ", handed_on, 0, SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS), handed_on)
    elif abi >= 2:
        grants = ACCESS_FS_MAKE_BLOCK | ACCESS_FS_REFER
        enter(struct.pack("Q", grants), grants)
    else:
        enter(struct.pack("Q", ACCESS_FS_MAKE_BLOCK))


def enter(attributes: bytes, grants: int = 0) -> None:
    """Enters a domain with these attributes of a ruleset, and with these rights to all files."""
    ruleset = libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        raise missing("Landlock makes no ruleset")
    try:
        if grants:
            grant(ruleset, grants)
        if libc.syscall(RESTRICT_SELF, ruleset, 0):
            raise missing("Landlock does not restrict this process")
    finally:
        os.close(ruleset)


def grant(ruleset: int, rights: int) -> None:
    """Grants rights to all files."""
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        if libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", rights, root), 0):
            raise missing("Landlock takes no rule")
    finally:
        os.close(root)
)py", 3731}},
{"lean", {R"py("""The kernel's own way to run a cell, in place of ipykernel's handlers and of IPython's ``run_cell``."""

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
)py", 3859}},
{"leaving", {R"py("""``exit()`` and ``sys.exit()``: how a cell leaves, and with what exit code."""

from __future__ import annotations

import sys
from typing import Any

from ipykernel.zmqshell import ZMQExitAutocall


class Exit(ZMQExitAutocall):
    """``exit`` and ``quit``: the cell ends here, and the kernel behind its reply."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.status: object = None

    def __call__(self, code: object = None, keep_kernel: bool = False) -> None:  # type: ignore[override]
        """Leaves with a code, as Python's ``exit`` does; with a text, which is shown, it is 1.

        ``exit(True)`` and ``exit(keep_kernel=True)`` keep the kernel, as ipykernel has it.
        """
        if keep_kernel or code is True:
            super().__call__(keep_kernel=True)
            return
        self.status = code
        if exit_text(code):
            print(code, file=sys.stderr)
        super().__call__()
        raise SystemExit(code)


def exit_code(code: object) -> int:
    """The exit code for the argument of ``exit``."""
    if code is None:
        return 0
    return int(code) & 0xFF if isinstance(code, int) else 1


def exit_text(code: object) -> bool:
    """Whether an argument of ``exit`` is shown, and is no code."""
    return code is not None and not isinstance(code, int)
)py", 1352}},
{"limits", {R"py("""Limits of a process: setrlimit(2)."""

from __future__ import annotations

import json
import mmap
import os
import resource
import sys
from collections.abc import Callable
from socket import socket

SHARED = {
    "memory": resource.RLIMIT_DATA,  # what is written to; address space alone costs nothing
    "processes": resource.RLIMIT_NPROC,
    "file_size": resource.RLIMIT_FSIZE,
    "open_files": resource.RLIMIT_NOFILE,
}


#: Of all that the system holds for a user, also for programs outside: signals that wait, bytes of message queues.
OF_USER = {resource.RLIMIT_SIGPENDING: 1024, resource.RLIMIT_MSGQUEUE: 256 << 10}

FREE_MEMORY = 16 << 20  # bytes that a kernel needs besides what Python takes: the stack of a thread has half of them
FREE_FILES = 16  # descriptors, of which its streams take most


class OpenFiles:
    """The limit of open files of a kernel, which its code may lower so far that no cell can open anything."""

    def __init__(self) -> None:
        self.before = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.told = False  # that it cannot be raised

    def raise_again(self, descriptor: int) -> str:
        """Raises the limit where nothing can be opened; returns what there is to say, mostly nothing.

        The descriptor is one that is open.
        """
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft >= min(FREE_FILES, self.before[0]) or can_open(descriptor):
            return ""
        for limits in self.before, (hard, hard):
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            except (ValueError, OSError):  # the hard limit is lower now, and only root raises it
                continue
            if can_open(descriptor):
                return f"with a limit of {soft} open files nothing could be opened: the limit is {limits[0]} again"
        if self.told:
            return ""
        self.told = True
        return (
            f"nothing can be opened any more, modules included: code has lowered the limit of open files to {hard}, "
            "and the system does not let it be raised; reset the session for a kernel that can open files"
        )


def can_open(descriptor: int) -> bool:
    """Whether there may be one more descriptor."""
    try:
        os.close(os.dup(descriptor))
    except OSError:
        return False
    return True


def take(limits: dict[str, int]) -> None:
    """Limits this process and all that it will start; what they are limited to already is never raised."""
    leave_no_image()
    for kind, limit in OF_USER.items():
        lower(kind, limit)
    for name, kind in SHARED.items():
        if name in limits:
            lower(kind, limits[name])


def leave_no_image() -> None:
    """No image of a process that crashes: no file, and with this limit no program outside that takes it either.

    With a limit of 0 Linux starts the one that `core_pattern` names, as root. It has to be 1.
    """
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    except (ValueError, OSError):  # there is a hard limit of 0, and only root raises it
        lower(resource.RLIMIT_CORE, 0)


def take_with_room(limits: dict[str, int], control: socket) -> Callable[[], None]:
    """Takes limits. The result ends everything where they leave a kernel no room, and tells the host so."""
    refusals = [(has_room, refusal(name, limits[name])) for name, has_room in ROOM.items() if name in limits]
    take(limits)

    def check_room() -> None:
        for has_room, words in refusals:  # which were written while there was memory for them
            if not has_room():
                control.send(words)
                os._exit(1)

    return check_room


def refusal(name: str, limit: int) -> bytes:
    """The event that says which limit is too low."""
    what, unit, enough = {
        "memory": ("memory", " bytes", "256 MiB"),
        "open_files": ("open files", "", "64"),
        "file_size": ("bytes in a file", "", "4096"),
    }[name]
    text = f"a kernel needs more {what} than its limit, {limit}{unit}; raise the limit to {enough} or more"
    return json.dumps({"event": "failed", "kind": "limits", "text": text}).encode()


def has_memory() -> bool:
    """Whether a kernel finds the memory that it needs at least."""
    try:
        mmap.mmap(-1, FREE_MEMORY, mmap.MAP_PRIVATE).close()
    except (OSError, MemoryError):
        return False
    return True


def has_files() -> bool:
    """Whether a kernel finds the descriptors that it needs at least."""
    opened: list[int] = []
    try:
        while len(opened) < FREE_FILES:
            opened.append(os.dup(2))
    except OSError:
        return False
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return True


def has_bytes() -> bool:
    """Whether a file can have any: Python writes one to find out where temporary files can be."""
    try:
        with open(os.memfd_create("room"), "wb", buffering=0) as file:
            return file.write(b"1") == 1
    except OSError:
        return False


ROOM = {"memory": has_memory, "open_files": has_files, "file_size": has_bytes}


def take_cpu_time(seconds: int) -> None:
    """Limits the processor time of this process: `SIGXCPU` at the end of it, and `SIGKILL` a second later."""
    lower(resource.RLIMIT_CPU, seconds + 1, soft=seconds)


def lower(kind: int, limit: int, soft: int | None = None) -> None:
    """Sets both limits of a kind, the hard one included, so that nothing raises them again."""
    _, hard = resource.getrlimit(kind)
    limit = min(limit, sys.maxsize)  # which is more than there is of anything
    bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (bound if soft is None else min(soft, bound), bound))
)py", 5839}},
{"loop", {R"py("""The event loop of a kernel: waiting for requests, and running whatever cells do to it.

The kernel does not wait in the loop as a task: there code could cancel it, lose it or run it twice.
"""

from __future__ import annotations

import asyncio
import contextvars
import select
import sys
from asyncio import BaseEventLoop, Task
from collections.abc import Callable, Coroutine
from typing import Any

from ipybox_kernel.interrupt import interrupts

MOST_FAILURES = 100  # of a loop in a row, before it is given up

leave = BaseEventLoop.stop  # whatever code puts in its place
LOOP = asyncio.SelectorEventLoop
KEPT = {kind: dict(vars(kind)) for kind in (asyncio.Handle, asyncio.TimerHandle, *LOOP.__mro__[:-1])}
shares_context = sys.version_info >= (3, 11)  # whether a task can run in the context of others


class BrokenLoop(Exception):
    """The loop does not run any more, because of the code; there is another one now."""


class MainLoop:
    """Runs the kernel's coroutines, one at a time, all in one context: what a cell sets is there in the next one.

    `call_later`, `add_callback` and `stop` are the parts of a tornado loop that ipykernel and IPython use.
    """

    def __init__(self) -> None:
        self.context = contextvars.copy_context()
        self.begun = False  # what runs
        self.latest: Task[Any] | None = None  # which runs
        self.watched = -1  # the descriptor of the kernel that it waits for
        self.mend: Callable[[], object] = lambda: None  # called before there is another loop
        self.begin()

    def begin(self) -> None:
        """Makes the loop."""
        self.asyncio_loop = loop = LOOP()
        self.remove_reader = loop.remove_reader
        loop.remove_reader = self.remove_others_reader  # type: ignore[method-assign]
        asyncio.set_event_loop(loop)
        interrupts.loop = loop
        self.call_later = loop.call_later
        self.add_callback = loop.call_soon_threadsafe  # wakes the loop, also when a signal handler calls it

    def end(self) -> None:
        """Lets go of the loop."""
        self.asyncio_loop.close()
        del self.asyncio_loop, self.call_later, self.add_callback, self.remove_reader
        interrupts.loop = None

    def remove_others_reader(self, fd: Any) -> bool:
        """``loop.remove_reader``, as code has it: the kernel goes on listening to its host."""
        return fd != self.watched and self.remove_reader(fd)

    def stop(self) -> None:
        """Asked for by ``exit()``; the kernel leaves by itself when it has replied."""

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine to its end; raises BrokenLoop if that is impossible."""
        self.begun = False
        while not self.begun:  # else code has cancelled the task before its first step
            if self.asyncio_loop.is_closed():
                self.replace()
            loop = self.asyncio_loop
            whole = self.whole(coroutine)
            try:
                task = self.latest = self.task(whole)
                task.add_done_callback(self.leave_unbegun)
            except Exception as error:
                whole.close()
                coroutine.close()
                self.replace()
                raise BrokenLoop(f"the event loop takes no tasks any more: {error!r}") from error
            self.drive(loop, task.done)
        self.latest = None
        if not task.cancelled() and (failure := task.exception()):
            raise failure

    async def whole(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """The coroutine, which stays as it is where this one never begins."""
        self.begun = True
        try:
            await coroutine
        finally:
            leave(self.asyncio_loop)

    def leave_unbegun(self, task: Task[Any]) -> None:
        """Ends the running of the loop for a task that was cancelled before its first step.

        That of the cell before may be told of when this one runs already, in a nested loop which must not end then.
        """
        if task is self.latest and not self.begun:
            leave(self.asyncio_loop)

    def task(self, coroutine: Coroutine[Any, Any, Any]) -> Task[Any]:
        """A task in the kernel's context. Tasks of code have copies of it, as in any Python program."""
        if shares_context:
            return Task(coroutine, loop=self.asyncio_loop, context=self.context)
        task: Task[Any] = self.context.run(Task, self.keeping_context(coroutine), loop=self.asyncio_loop)
        return task

    async def keeping_context(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Before Python 3.11 a task has a copy of the context: the one that ended first is that of a cell."""
        before = self.context
        try:
            return await coroutine
        finally:
            if self.context is before:
                self.context = contextvars.copy_context()

    def rest(self, fd: int, seconds: float | None = None) -> bool:
        """Waits until there is something to read, or only for a while; returns whether there is. Runs tasks of code."""
        try:
            arrived = None if self.has_work() else self.wait(fd, seconds)
        except Exception:
            arrived = None  # code has changed the loop
        return self.run_tasks(fd, seconds) if arrived is None else arrived

    def has_work(self) -> bool:
        """Whether the loop has something to run by now or at some time, without anything that comes from outside."""
        loop: Any = self.asyncio_loop
        return bool(loop._ready or loop._scheduled)

    def wait(self, fd: int, seconds: float | None) -> bool | None:
        """Waits as `rest` does, without the loop, which takes longer; none when the loop has got something to run."""
        loop: Any = self.asyncio_loop
        ready = select.poll()
        ready.register(fd, select.POLLIN)
        ready.register(loop._selector.fileno(), select.POLLIN)
        try:
            found = ready.poll(None if seconds is None else seconds * 1000)
        except (KeyboardInterrupt, SystemExit):
            interrupts.cancel()  # it came when its cell had ended
            return None
        if not found:
            return False
        return True if found[0][0] == fd and found[0][1] & select.POLLIN else None

    def run_tasks(self, fd: int, seconds: float | None) -> bool:
        """Runs tasks of code until there is something to read, or only for a while; returns whether there is.

        Only then does the loop watch the descriptor: no cell is disturbed by it.
        """
        loop = self.asyncio_loop
        seen: list[bool] = []

        def settle(arrived: bool) -> None:
            seen.append(arrived)
            leave(loop)

        timer = None
        try:
            loop.add_reader(fd, settle, True)
            self.watched = fd
            timer = None if seconds is None else loop.call_later(seconds, settle, False)
            self.drive(loop, lambda: bool(seen))
        except BrokenLoop:
            return False
        except Exception:
            self.replace()
            return False
        finally:
            self.watched = -1
            try:
                self.remove_reader(fd)
                if timer:
                    timer.cancel()
            except Exception:
                pass  # the loop is broken
        return seen[0]

    def drive(self, loop: BaseEventLoop, done: Callable[[], bool]) -> None:
        """Runs the loop until something is done, whatever cells and their tasks do to the loop meanwhile.

        Nested loops take away what the outer one is about to run: it fails then, and nothing is lost.
        """
        failures = 0
        while not done():
            try:
                loop.run_forever()
                failures = 0
            except (KeyboardInterrupt, SystemExit):
                interrupts.cancel()  # it struck in another task than the cell's
            except BaseException as error:
                failures += 1
                if failures == MOST_FAILURES or loop.is_closed():
                    self.replace()
                    raise BrokenLoop(f"the event loop cannot run any more: {error!r}") from error

    def replace(self) -> None:
        """Begins anew, with another loop. Methods that code has replaced are taken back, those of nested loops too."""
        for kind, kept in KEPT.items():
            for name, value in kept.items():
                if callable(value) and vars(kind).get(name) is not value:
                    setattr(kind, name, value)
        self.mend()
        asyncio._set_running_loop(None)  # which the end of the old one may have failed to do
        self.begin()
)py", 8722}},
{"magics", {R"py("""Magics that start programs, through the host: ``%%bash`` and all other ``%%script``s, ``%pip`` and its like."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ipybox_kernel import hints, packages

if TYPE_CHECKING:
    from ipybox_kernel.programs import Program, Programs
    from ipybox_kernel.shell import ShellCommands


def of_programs(shell: Any) -> list[tuple[str, str, bool]]:
    """IPython's magics that start a program: kind, name, and whether they are the package managers'.

    This looks at all magics there are. A kernel that did so would have its own copy of half a megabyte of memory.
    """
    found = []
    for kind, table in shell.magics_manager.magics.items():
        for name, function in table.items():
            home = getattr(function, "spec", None) or function.__module__  # IPython has not imported all of them yet
            if home.startswith(("IPython.core.magics.script", "IPython.core.magics.packaging")):
                found.append((kind, name, home.startswith("IPython.core.magics.packaging")))
    return found


def install(shell: Any, commands: ShellCommands, names: list[tuple[str, str, bool]]) -> None:
    """Takes the place of IPython's own ones. Their imports happen when one is used."""
    scripts = Scripts(shell, commands)
    packages = Packages(shell, commands)
    for kind, name, is_package_manager in names:
        magic = packages.magic(name) if is_package_manager else scripts.magic(name)
        shell.register_magic_function(magic, kind, name)


class Scripts:
    """``%%script``, and the cell magics that are called like a program."""

    def __init__(self, shell: Any, commands: ShellCommands) -> None:
        self.shell = shell
        self.commands = commands
        self.background: list[Program] = []

    def magic(self, name: str) -> Callable[..., None]:
        """The magic of a name."""
        if name == "killbgscripts":
            return self.end_background
        if name == "script":
            return self.run

        def script(line: str, cell: str) -> None:
            self.run(f"{name} {line}", cell)

        script.__doc__ = f"Runs a cell with {name}. It takes the options of %%script, and then those of {name}."
        return script

    def run(self, line: str, cell: str) -> None:
        """Runs a cell with the program that the line names.

        ``--out VAR`` and ``--err VAR`` store its output, ``--no-raise-error`` lets it fail, ``--bg`` lets it run beside
        the cells: then ``VAR`` is a pipe, and ``--proc VAR`` stores the program.
        """
        from IPython.core.magics.script import ScriptMagics

        options, argv = ScriptMagics.shebang.parser.parse_known_args(line_words(line))
        if not argv:
            from IPython.core.error import UsageError

            raise UsageError("%%script needs the name of a program.")
        body = (cell if cell.endswith("\n") else cell + "\n").encode("utf-8", "replace")
        if options.bg:
            self.start(argv, body, options)
            return
        code = self.finish(argv, body, options)
        self.shell.user_ns["_exit_code"] = code
        if options.raise_error and code:
            raise subprocess.CalledProcessError(code, body)

    def finish(self, argv: list[str], body: bytes, options: Any) -> int:
        """Runs a program to its end and returns its exit code."""
        kept: dict[str, list[str]] = {name: [] for name in (options.out, options.err) if name}
        output = hints.Output()
        stdout = output.to(kept[options.out].append if options.out else sys.stdout.write)
        stderr = output.to(kept[options.err].append if options.err else sys.stderr.write)
        self.commands.streams.flush()
        try:
            code = self.programs.run(argv, "shell_magic", stdout, stderr, body)
            print(hints.of_command(body.decode(errors="replace"), code, output), end="", file=sys.stderr)
            return code
        finally:
            self.commands.streams.flush()
            self.shell.user_ns.update({name: "".join(texts) for name, texts in kept.items()})

    def start(self, argv: list[str], body: bytes, options: Any) -> None:
        """Starts a program that runs beside the cells."""
        program = self.programs.start(argv, "shell_magic", body)
        program.background(keep_stdout=bool(options.out), keep_stderr=bool(options.err))
        self.background = [*(other for other in self.background if other.returncode is None), program]
        names = {options.out: program.stdout, options.err: program.stderr, options.proc: program}
        self.shell.user_ns.update({name: value for name, value in names.items() if name})

    def end_background(self, line: str = "") -> None:
        """Ends all programs that were started with ``--bg``."""
        for program in self.background:
            program.terminate()
        for program in self.background:
            program.wait()
        self.background.clear()
        print("All background processes were killed.")

    @property
    def programs(self) -> Programs:
        assert self.commands.programs
        return self.commands.programs


class Packages:
    """``%pip`` and the other package managers, as IPython calls them."""

    def __init__(self, shell: Any, commands: ShellCommands) -> None:
        self.commands = commands
        # All that they want of a shell is that it runs a command. Their line has been expanded already.
        self.shell = SimpleNamespace(system=lambda command: commands.show(command, "package"), kernel=shell.kernel)

    def magic(self, name: str) -> Callable[[str], None]:
        """The magic of a name."""

        def package(line: str) -> None:
            if name == "pip" and packages.layer and (words := line_words(line))[:1] == ["install"]:
                return self.install(words)
            from IPython.core.magics.packaging import PackagingMagics

            getattr(PackagingMagics(self.shell), name)(line)

        package.__doc__ = f"Runs {name} for the environment of this kernel."
        return package

    def install(self, words: list[str]) -> None:
        """Has the host install packages into the layer, from which they can be imported at once."""
        self.commands.install(["pip", *words])
        importlib.invalidate_caches()


def line_words(line: str) -> list[str]:
    """The words of a line, as a shell would part them."""
    from IPython.utils.process import arg_split

    words: list[str] = arg_split(line, posix=True)
    return words
)py", 6671}},
{"mounts", {R"py("""The file system of a kernel within walls: without the directories of the other kernels."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct

from ipybox_kernel.landlock import libc, missing
from ipybox_kernel.paths import lies_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ipybox_kernel.rooms import Plan

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
OPEN_TREE, MOVE_MOUNT = 428, 429  # on every machine
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC, AT_RECURSIVE, AT_EMPTY_PATH = 1, os.O_CLOEXEC, 0x8000, 0x1000
MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH = 4, 0x40
MOUNT_SETATTR, MOUNT_ATTR_RDONLY = 442, 1
AT_FDCWD = -100
MNT_DETACH = 2

# Of all sandboxes the system has some 3000.
TERMINALS = "newinstance,ptmxmode=0666,mode=620,max=64"

BYTES_OF_FILE = 4096  # of a private directory, for each file that it can hold
LEAST_FILES = 4096


def rearrange_files(plan: Plan, directory: str, closed: list[str]) -> None:
    """Gives this process, which is in a directory, a file system without the directories of other kernels.

    Paths in that directory are closed: the kernel cannot write to them.
    """
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    inside = place_in(plan.workspace, directory)
    hidden = [] if lies_in(plan.workspace, [inside]) else [plan.workspace]
    own = [(path, copy_of(".")) for path in sorted({directory, inside})]  # another kernel may exchange it by now
    outside = [path for path in sorted(plan.kept) if not lies_in(path, [directory])]
    kept = [(path, copy_of(path)) for path in outside if lies_in(path, [*plan.private, *hidden])]
    cover_together(plan.private, plan.size)
    for path, tree in kept:
        if not lies_in(path, hidden):
            put_back(path, tree)
    for place in hidden:
        os.makedirs(place, exist_ok=True)
        cover(place, plan.size)
    for path, tree in kept:
        if lies_in(path, hidden):
            put_back(path, tree)
    for path, tree in own:
        if lies_in(path, [*plan.private, *hidden]):
            put_back(path, tree)
    for place in hidden:
        mount(None, place, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    for _, descriptor in (*own, *kept):
        if descriptor is not None:
            os.close(descriptor)
    for path, _ in own:
        os.chdir(path)
        close_files(path, closed)
    mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, TERMINALS)
    os.chdir(directory)  # its parents are no longer those of the directory that this process was in


def close_files(directory: str, closed: list[str]) -> None:
    """Makes paths in this directory read-only. Those on the way to them cannot be renamed, nor replaced by others.

    For that, these become mount points, and the directory is then mounted over them once more: it stays one file
    system, in which files can be moved around.
    """
    ways = sorted({way for path in closed for way in ways_to(path)})
    if ways:
        again = copy_of(".")
        for way in ways:
            mount_over(way, read_only=False)
        put_back(directory, again)
        if again is not None:
            os.close(again)
        os.chdir(directory)
    for path in closed:
        mount_over(path, read_only=True)


def ways_to(path: str) -> list[str]:
    """The directories above a relative path."""
    names = path.split("/")[:-1]
    return ["/".join(names[: count + 1]) for count in range(len(names))]


def mount_over(path: str, *, read_only: bool) -> None:
    """Mounts what lies at a path over itself, unless it is gone by now, or reached by a link: code made that."""
    try:
        place = open_by_names(path)
    except OSError:
        return
    try:
        flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE
        tree = libc.syscall(OPEN_TREE, place, b"", flags)
        if tree < 0:
            raise missing("a file of the kernel cannot be closed")
        try:
            attributes = struct.pack("QQQQ", MOUNT_ATTR_RDONLY if read_only else 0, 0, 0, 0)
            how = AT_EMPTY_PATH | AT_RECURSIVE
            if libc.syscall(MOUNT_SETATTR, tree, b"", how, attributes, ctypes.c_size_t(len(attributes))):
                raise missing("a file of the kernel cannot be made read-only")
            if libc.syscall(MOVE_MOUNT, tree, b"", place, b"", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH):
                raise missing("a file of the kernel cannot be closed")
        finally:
            os.close(tree)
    finally:
        os.close(place)


def open_by_names(path: str) -> int:
    """A descriptor of what lies at a relative path, by no link."""
    place = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in path.split("/"):
        try:
            following = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
        finally:
            os.close(place)
        if stat.S_ISLNK(os.fstat(following).st_mode):
            os.close(following)
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        place = following
    return place


def place_in(workspace: str, directory: str) -> str:
    """The name of a directory in the workspace, which is mounted a second time where a link to it was private."""
    above, rest = directory, ""
    while above != "/":
        if os.path.samefile(above, workspace):
            return os.path.join(workspace, rest) if rest else workspace
        above, name = os.path.split(above)
        rest = os.path.join(name, rest) if rest else name
    return directory


def mount_processes() -> None:
    """Its own ``/proc``. Root's files there are writable for user 0 without any capability, unless it is read-only."""
    read_only = MS_RDONLY if os.geteuid() == 0 else 0
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | read_only)


def copy_of(path: str) -> int | None:
    """A detached copy of the mounts at a path and below it; None where there is nothing."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    descriptor = libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(path), flags)
    if descriptor < 0 and ctypes.get_errno() not in (errno.ENOENT, errno.ENOTDIR):
        raise missing("a directory cannot be opened to the kernel alone")
    return None if descriptor < 0 else int(descriptor)


def put_back(path: str, tree: int | None) -> None:
    """Mounts a copy where it was, also if something else has been mounted there."""
    if tree is None:
        return
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.lexists(path):
            os.close(os.open(path, os.O_CREAT | os.O_CLOEXEC, 0o600))
    if libc.syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(path), MOVE_MOUNT_F_EMPTY_PATH):
        raise missing("a directory cannot be mounted for the kernel alone")


def cover_together(places: list[str], size: int) -> None:
    """Mounts empty directories over directories, which take so much memory together."""
    if not places:
        return
    cover(places[0], size)
    parts = []
    for number in range(len(places)):
        directory = f"{places[0]}/{number}"
        os.mkdir(directory, 0o755)
        parts.append(copy_of(directory))
    if libc.umount2(os.fsencode(places[0]), MNT_DETACH):
        raise missing(f"{places[0]} cannot be unmounted for the kernel alone")
    for place, part in zip(places, parts, strict=True):
        put_back(place, part)
        if part is not None:
            os.close(part)


def cover(place: str, size: int) -> None:
    """Mounts an empty directory of its own over a directory."""
    # Empty files take no bytes of its size, but memory of the system.
    bounds = f",size={size},nr_inodes={max(LEAST_FILES, size // BYTES_OF_FILE)}" if size else ""
    mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755" + bounds)


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [word if word is None else os.fsencode(word) for word in (source, target, kind)]
    if libc.mount(*words, ctypes.c_ulong(flags), data.encode() if data else None):
        raise missing(f"{target} cannot be mounted for the kernel alone")
)py", 8425}},
{"originals", {R"py("""The modules that the machinery of a kernel needs, as they were before any code ran.

The package itself has copies of its own (see `boot`). IPython and asyncio share theirs with the code of cells: where
they fail, what code has removed from these modules, or put in the place of what was there, is taken back. As long as
nothing fails, all that code replaces stays as it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

#: What code, IPython and the kernel replace on purpose, and what the machinery can do without.
THEIRS = {
    "builtins": {"input", "print", "help", "copyright", "credits", "license", "breakpoint"},
    "getpass": {"getpass"},
    "sys": {"displayhook", "excepthook", "breakpointhook", "unraisablehook", "exit", "stdin", "stdout", "stderr"},
    "warnings": {"formatwarning", "showwarning"},
    "signal": {"default_int_handler"},
}
#: What IPython puts in and out, and what the kernel fills in when it begins.
LATER = {"builtins": {"exit", "quit"}, "sys": {"argv", "path"}}
OF_CODE = {"__main__", "__mp_main__"}
CONSTANTS = (str, bytes, int, float, tuple, frozenset, re.Pattern)
MISSING = object()


class Originals:
    """All that the modules of the machinery had in them, by name; ``names`` are those modules."""

    def __init__(self, names: Iterable[str]) -> None:
        modules = {name: sys.modules.get(name) for name in ("sys", "builtins", *names) if name not in OF_CODE}
        self.modules = {name: module for name, module in modules.items() if type(module) is ModuleType}
        self.by_name = sys.modules
        self.finders = list(sys.meta_path)
        self.kept = {name: dict(vars(module)) for name, module in self.modules.items()}

    def replaced(self, names: Iterable[tuple[str, str]]) -> None:
        """Takes over what the kernel itself has put into modules."""
        for name, attribute in names:
            if name in self.kept and attribute in vars(self.modules[name]):
                self.kept[name][attribute] = vars(self.modules[name])[attribute]

    def mend(self) -> list[str]:
        """Puts back what is missing or no more what it was; returns the names.

        Values that can stand where they are go only if there is nothing else that keeps the machinery from working.
        """
        return self.put_back(is_broken) or self.put_back(is_another)

    def put_back(self, differs: Callable[[Any, Any], bool]) -> list[str]:
        """Puts back what differs, and modules and finders that are missing."""
        done = self.put_back_values("sys", differs)
        if sys.modules is not self.by_name:
            sys.modules = self.by_name
            done.append("sys.modules")
        for name, module in self.modules.items():
            if sys.modules.get(name) is not module:
                sys.modules[name] = module
                done.append(f"sys.modules[{name!r}]")
        for finder in self.finders:
            if finder not in sys.meta_path:
                sys.meta_path.append(finder)
                done.append("sys.meta_path")
        nested = "_nest_patched" in vars(self.modules["asyncio"])  # half of that would be worse
        for name in self.kept:
            if name != "sys" and not (nested and name.partition(".")[0] == "asyncio"):
                done += self.put_back_values(name, differs)
        return done

    def put_back_values(self, name: str, differs: Callable[[Any, Any], bool]) -> list[str]:
        now, theirs, later = vars(self.modules[name]), THEIRS.get(name, ()), LATER.get(name, ())
        done = []
        for attribute, value in self.kept[name].items():
            current = now.get(attribute, MISSING)
            if current is value or attribute in later or not differs(value, current):
                continue
            if (
                attribute in theirs
                and current is not None
                and current is not MISSING
                and callable(current) >= callable(value)
            ):
                continue
            now[attribute] = value
            done.append(f"{name}.{attribute}")
        return done


def is_broken(value: Any, current: Any) -> bool:
    """Whether what is there now cannot stand for what was there."""
    if current is MISSING or callable(value) or isinstance(value, ModuleType):
        return True
    return value is not None and type(current) is not type(value)


def is_another(value: Any, current: Any) -> bool:
    """Whether a constant has got another value."""
    return is_broken(value, current) or (isinstance(value, CONSTANTS) and bool(current != value))
)py", 4680}},
{"packages", {R"py("""The layer of packages that the host fills: a directory behind everything else that modules are imported from."""

from __future__ import annotations

import sys

#: None where there is none. The supervisor itself imports nothing from it: that is code of others.
layer: str | None = None


def add() -> None:
    """Lets this process, a kernel, import from the layer."""
    if layer:
        sys.path.append(layer)
)py", 418}},
{"paths", {R"py("""Paths as texts, without a look at the files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def lies_in(path: str, places: Iterable[str]) -> bool:
    """Whether a path is one of these places, or lies in one."""
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)
)py", 385}},
{"pipe", {R"py("""Reading and writing pipes."""

from __future__ import annotations

import codecs
import fcntl
import os
import struct
import termios
from collections.abc import Callable
from typing import Any

READ = 64 << 10
LARGE = 1 << 20
F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", 1031)


def available(fd: int) -> int:
    """How many bytes are in a pipe now."""
    return int(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0])


def text_decoder() -> codecs.IncrementalDecoder:
    """Turns bytes into text, wherever they are cut and whatever they are."""
    return codecs.getincrementaldecoder("utf-8")("replace")


class Pump:
    """Forwards what arrives in a pipe as text."""

    def __init__(self, fd: int, write: Callable[[str], Any]) -> None:
        self.fd = fd
        self.write = write
        self.decoder = text_decoder()
        self.size = READ

    def forward(self) -> int:
        """Forwards one piece, for which it waits, and returns its size; 0 is the end of file."""
        data = os.read(self.fd, self.size)
        self._put(data)
        if len(data) == READ == self.size:
            self._enlarge()
        return len(data)

    def finish(self) -> None:
        """Forwards what is there now, however much is written meanwhile, and half a character if that is the end."""
        remaining = available(self.fd)
        while remaining > 0 and (size := self.forward()):
            remaining -= size
        self._put(b"")

    def _put(self, data: bytes) -> None:
        text = self.decoder.decode(data, final=not data)
        if text:
            self.write(text)

    def _enlarge(self) -> None:
        """Makes room for a program that writes much."""
        self.size = LARGE
        try:
            fcntl.fcntl(self.fd, F_SETPIPE_SZ, LARGE)
        except OSError:
            pass  # over the user's limit


def write_all(fd: int, data: Any) -> None:
    """Writes everything to a blocking descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
)py", 2047}},
{"places", {R"py("""The files that the sandbox is meant to have: a directory may have been exchanged while it was being made."""

from __future__ import annotations

import json
import os
import sys
from socket import socket


def check(places: list[tuple[str, int, int]], control: socket) -> None:
    """Ends everything where the sandbox has other files by these paths than it was meant to have."""
    for path, device, number in places:
        if is_exchanged(path, device, number):
            text = f"{path} was exchanged for something else while the sandbox was being made; start again"
            event = {"event": "failed", "kind": "places", "executable": sys.executable, "text": text}
            control.send(json.dumps(event, ensure_ascii=False).encode(errors="replace"))
            os._exit(1)


def is_exchanged(path: str, device: int, number: int) -> bool:
    """Whether another file is there. Code may not look at anything that this process may not."""
    try:
        found = os.stat(path)
    except PermissionError:
        return False
    except OSError:
        return True
    return (found.st_dev, found.st_ino) != (device, number)
)py", 1145}},
{"plain_traceback", {R"py("""The traceback of an interrupt: small, and quick however deep the code was and however large its files are."""

from __future__ import annotations

import linecache
import os
import traceback
from types import TracebackType

from ipybox_kernel.cells import Cells

RULE = "-" * 75
MAX_FRAMES = 20  # of one exception: half of them from the beginning, half from the end
MAX_CHAIN = 4  # exceptions: the last ones
MAX_WIDTH = 300  # characters of a line
MAX_MESSAGE = 2000
MAX_FILE = 4 << 20  # larger ones are not read for a line
CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"


def plain_traceback(error: BaseException, cells: Cells) -> list[str]:
    """The lines of a traceback, much as IPython writes them, with the line of each frame that was being executed."""
    lines: list[str] = [RULE]
    for number, (current, link) in enumerate(chain(error)):
        if number:
            lines += [link, ""]
        name = type(current).__name__
        lines.append(f"{name:<42}Traceback (most recent call last)" if current.__traceback__ else name)
        lines += frames(current.__traceback__, cells)
        lines += [message(current), ""]
    return lines[:-1]


def chain(error: BaseException) -> list[tuple[BaseException, str]]:
    """The last exceptions of a chain, each with what links it to the one before it."""
    linked: list[tuple[BaseException, str]] = []
    current: BaseException | None = error
    while current is not None and len(linked) < MAX_CHAIN and all(current is not seen for seen, _ in linked):
        cause, context = current.__cause__, None if current.__suppress_context__ else current.__context__
        linked.append((current, CAUSE if cause else CONTEXT))
        current = cause or context
    return linked[::-1]


def frames(first: TracebackType | None, cells: Cells) -> list[str]:
    found = []
    while first:
        found.append(first)
        first = first.tb_next
    half = MAX_FRAMES // 2
    if len(found) <= MAX_FRAMES:
        return [frame(entry, cells) for entry in found]
    left_out = f"[... {len(found) - 2 * half} frames are left out]\n"
    return [
        *(frame(entry, cells) for entry in found[:half]),
        left_out,
        *(frame(entry, cells) for entry in found[-half:]),
    ]


def frame(entry: TracebackType, cells: Cells) -> str:
    """The place of a frame, and its line."""
    code, line = entry.tb_frame.f_code, entry.tb_lineno or 0
    label = cells.label(code.co_filename)
    place = f"{label}, line {cells.line(code.co_filename, line)}" if label else f"File {code.co_filename}:{line}"
    if code.co_name != "<module>":
        arguments = ", ".join(code.co_varnames[: code.co_argcount])
        place += f", in {getattr(code, 'co_qualname', code.co_name)}({arguments})"
    source = cells.source_line(code.co_filename, line) if readable(code.co_filename) else ""
    line = cells.line(code.co_filename, line)
    shown = f"\n{'-' * max(1, 5 - len(str(line)))}> {line} {cut(source.rstrip())}" if source.strip() else ""
    return cut(place) + shown + "\n"


def readable(path: str) -> bool:
    """Whether the text is known, or can be read in no time."""
    if path in linecache.cache:
        return True
    try:
        return os.path.isfile(path) and os.path.getsize(path) <= MAX_FILE
    except (OSError, ValueError):
        return False


def message(error: BaseException) -> str:
    try:
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
    except Exception:
        text = type(error).__name__
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "…"


def cut(text: str) -> str:
    return text if len(text) <= MAX_WIDTH else text[:MAX_WIDTH] + "…"
)py", 3815}},
{"preload", {R"py("""Imports and builds everything a kernel needs, once, before the first fork."""

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
)py", 11306}},
{"prelude", {R"py("""Makes a stock Python kernel behave as a forked one.

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
)py", 5311}},
{"privileges", {R"py("""Gives up, for ever, what a process may do: capabilities, and system calls by a filter."""

from __future__ import annotations

import ctypes
import platform
import struct

from ipybox_kernel import filters
from ipybox_kernel.landlock import Missing, libc, missing

PR_CAPBSET_READ, PR_CAPBSET_DROP = 23, 24
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522

SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_TSYNC = 1


def drop_capabilities() -> None:
    """Gives up all capabilities, in every set."""
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    capability = 0
    while libc.prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0:
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for ordinary users, who have none to be given
        capability += 1
    if libc.capset(struct.pack("Ii", CAPABILITY_VERSION_3, 0), bytes(24)):
        raise missing("the capabilities cannot be dropped")


def machine() -> filters.Machine:
    """The processor of this computer; raises Missing if there is no filter for it."""
    name = platform.machine()
    if name not in filters.MACHINES:
        raise Missing(f"there is no filter for {name}, only for {' and '.join(filters.MACHINES)}")
    return filters.MACHINES[name]


def filter_calls(program: bytes, machine: filters.Machine) -> None:
    """Filters the system calls of all threads of this process from now on."""
    memory = ctypes.create_string_buffer(program, len(program))
    description = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(memory))
    number = machine.calls["seccomp"]
    if libc.syscall(number, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, description):
        raise missing("this Linux takes no seccomp filter")
)py", 1774}},
{"process", {R"py("""System calls of the supervisor and its children."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import signal
import stat
import time

from ipybox_kernel import landlock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Result = TypeVar("Result")

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36

DEFAULT_SIGNALS = (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)  # which Python or the supervisor ignores

NULL = os.makedev(1, 3)  # the number of the null device

BEGINNING = 5.0  # seconds in which a child has to become a program
LOOK = 20  # milliseconds between two looks whether it is stopped

libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """Makes this process the new parent of every descendant that loses its own."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def set_dumpable(dumpable: bool) -> None:
    """Whether processes of the same user may look into this one, by ``/proc`` too; inherited by forks, not by execs."""
    libc.prctl(PR_SET_DUMPABLE, int(dumpable), 0, 0, 0)


def detach(supervisor: int) -> None:
    """Gives a child of the supervisor its own session and group, and makes it die with the supervisor.

    Within walls there is none (0), and the system ends all of them with it.
    """
    os.setsid()
    if supervisor:
        die_with_parent(supervisor, signal.SIGKILL)
    adopt_orphans()


def die_with_parent(parent: int, number: int) -> None:
    """Makes this process get a signal when its parent ends, or end at once if that has happened already."""
    libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def die_with_other_end(connection: int) -> None:
    """Makes the system kill this process when the other end of a socket is closed, also if it is stopped then.

    Nothing may ever be sent to that socket.
    """
    fcntl.fcntl(connection, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    try:
        os.read(connection, 1)
    except BlockingIOError:
        return
    os._exit(1)  # it was closed before


def die_with_keeper() -> None:
    """Ends this process (``SIGTERM``) with its keeper, which leads its group. A sandbox may stand between them."""
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # a shell ignores it for what runs beside it
    if os.getppid() == os.getpgrp():
        die_with_parent(os.getppid(), signal.SIGTERM)


def forget_signals() -> None:
    """Undoes what the supervisor does with signals, except that SIGINT stays ignored until it can be handled."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def default_signals() -> None:
    """Undoes what an exec would keep."""
    for number in DEFAULT_SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def children() -> list[int]:
    """The pids of this process's children; empty where ``/proc`` cannot tell."""
    return list(numbered_children())


def numbered_children() -> dict[int, str]:
    """The children of this process: their pids, and the numbers by which ``/proc`` knows them.

    ``/proc`` may belong to an outer pid namespace, so its numbers are translated into ours.
    """
    try:
        level = len(_namespace_pids("self")) - 1
        numbers = children_of_task("thread-self")
    except OSError:
        return {}
    found = {}
    for number in numbers:
        try:
            found[_namespace_pids(number)[level]] = number
        except (OSError, IndexError):
            continue  # gone meanwhile
    return found


def groups_below(child: int) -> set[int]:
    """The process groups of what a child of this process has adopted."""
    level = len(_namespace_pids("self")) - 1
    number = numbered_children().get(child)
    found = set()
    for adopted in children_of_task(f"{number}/task/{number}") if number else ():
        try:
            found.add(os.getpgid(_namespace_pids(adopted)[level]))
        except (OSError, IndexError):
            continue  # gone meanwhile
    return found


def children_of_task(task: str) -> list[str]:
    """The children of a thread, as numbers in ``/proc``."""
    file = os.open(f"/proc/{task}/children", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = b"".join(iter(lambda: os.read(file, 1 << 16), b""))
    finally:
        os.close(file)
    return text.decode().split()


def _namespace_pids(process: str) -> list[int]:
    with open(f"/proc/{process}/status") as file:
        for line in file:
            if line.startswith("NSpid:"):
                return [int(pid) for pid in line.split()[1:]]
    return []


def kill(pid: int, number: int, *, group: bool = False) -> bool:
    """Sends a signal; false if the process has ended, or runs for another user (``sudo``)."""
    try:
        (os.killpg if group else os.kill)(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def start(
    argv: list[str], env: dict[str, str], descriptors: list[int], entrance: int | None = None, *, alone: bool = True
) -> int:
    """Starts a program in a session of its own, with these as 0, 1 and 2, and returns its pid; raises OSError.

    With an entrance it is in that control group before it runs, and so is all that it starts. Without one posix_spawn
    does not copy this process: that takes a fifth of the time, but leaves no room for a death signal, and waits without
    a bound. Therefore it is taken only where nothing else runs that could stop the child.
    """
    if entrance is not None or not alone:
        return start_forked(entrance, argv, env, descriptors)
    actions = [(os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in enumerate(descriptors)]

    def spawn(path: str) -> int:
        return os.posix_spawn(
            path, argv, env, file_actions=actions, setsid=True, setsigmask=[], setsigdef=DEFAULT_SIGNALS
        )

    return found(argv[0], env, spawn)


def open_null_anew(descriptors: list[int]) -> None:
    """Puts the null device of this sandbox in the place of the host's, by which root's code could change its mode."""
    for descriptor in descriptors:
        about = os.fstat(descriptor)
        if stat.S_ISCHR(about.st_mode) and about.st_rdev == NULL:
            own = os.open(os.devnull, fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE)
            os.dup2(own, descriptor, inheritable=False)
            os.close(own)


def execute(argv: list[str], env: dict[str, str]) -> None:
    """Runs a program in place of this process; raises OSError."""
    found(argv[0], env, lambda path: os.execve(path, argv, env))


def found(program: str, env: dict[str, str], run: Callable[[str], Result]) -> Result:
    """Runs the first file that works of those that a program's name may mean; raises OSError."""
    error: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for path in candidates(program, env):
        try:
            return run(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as denied:
            error = denied  # said if nothing better is found
    raise error


def with_cpu_time(argv: list[str], seconds: int) -> list[str]:
    """The command that runs a program with so much processor time: a shell, which limits itself first."""
    return ["/bin/sh", "-c", f'ulimit -t {seconds} && exec "$@"', "sh", *argv]


def candidates(program: str, env: dict[str, str]) -> list[str]:
    """The files that a program's name may mean."""
    if "/" in program:
        return [program]
    return [os.path.join(directory, program) for directory in os.get_exec_path(env)]


def run(
    argv: list[str], env: dict[str, str], supervisor: int, cpu_time: int | None = None, entrance: int | None = None
) -> int:
    """Starts a program in a session of its own and returns its pid once it runs; raises OSError if it cannot."""

    def prepare() -> None:
        enter_cgroup(entrance)
        detach(supervisor)
        if cpu_time is not None:
            from ipybox_kernel import limits

            limits.take_cpu_time(cpu_time)
        landlock.keep_signals_in()

    return start_prepared(prepare, argv, env)


def start_forked(entrance: int | None, argv: list[str], env: dict[str, str], descriptors: list[int]) -> int:
    def prepare() -> None:
        enter_cgroup(entrance)
        os.setsid()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)

    return start_prepared(prepare, argv, env)


def start_prepared(prepare: Callable[[], None], argv: list[str], env: dict[str, str]) -> int:
    """Starts a program in a process that prepares itself first; raises OSError."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            prepare()
            default_signals()
            execute(argv, env)
        except OSError as error:
            os.write(writing, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(writing)
    wait_for_report(reading, pid)
    with open(reading, "rb") as failure:
        code = failure.read()
    if code:
        os.waitpid(pid, 0)
        raise OSError(int(code), os.strerror(int(code)), argv[0])
    return pid


def wait_for_report(reading: int, pid: int) -> None:
    """Waits until a descriptor can be read whose other end a child closes when it becomes a program, or ends.

    Programs that know its pid can stop it before that, and must not stop this process with it: it is killed then.
    """
    poller = select.poll()
    poller.register(reading, select.POLLIN)
    late = time.monotonic() + BEGINNING
    while not poller.poll(LOOK):
        if is_stopped(pid) or time.monotonic() > late:
            kill(pid, signal.SIGKILL)


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped a child."""
    return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None


def enter_cgroup(entrance: int | None, process: int = 0) -> None:
    """Moves a process, this one by default, to the control group that a file is the entrance of; raises OSError.

    The host has opened the file, and its rights count: this process could not, and code that it starts neither.
    """
    if entrance is not None:
        os.write(entrance, str(process).encode())


def enter_cgroup_or_end(entrance: int | None) -> None:
    """The same for a process that was forked to be a kernel: without its limits it must not run."""
    try:
        enter_cgroup(entrance)
    except OSError as error:
        os.write(2, f"a kernel cannot enter its control group: {error.strerror}\n".encode())
        os._exit(1)
)py", 10957}},
{"programs", {R"py("""Programs that the host is asked to run: they are no children of the kernel."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from ipybox_kernel.actions import ActionChannel, ToolRunnerError
from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.pipe import Pump

GRACE = 0.5  # for a program to end that was cancelled, so that it does not run on beside the next cell

Write = Callable[[str], Any]


class Programs:
    """Asks for programs. They get the environment of the kernel, with what cells have changed in it."""

    def __init__(self, channel: ActionChannel) -> None:
        self.channel = channel
        self.environment = dict(os.environ)  # the host knows this one

    def run(
        self,
        argv: list[str],
        kind: str,
        stdout: Write,
        stderr: Write | None,
        body: bytes = b"",
        *,
        inherits: bool = True,
    ) -> int:
        """Runs a program to its end, forwards its output and returns its exit code; without stderr both are one."""
        program = None
        try:
            with interrupts:
                program = self.start(argv, kind, body, merge=stderr is None, inherits=inherits)
            return program.forward(stdout, stderr or stdout)
        finally:
            if program:
                program.close()

    def start(
        self, argv: list[str], kind: str, body: bytes = b"", *, merge: bool = False, inherits: bool = True
    ) -> Program:
        """Asks for a program, which inherits the environment unless the host gives it one of its own."""
        env = self.changes() if inherits else {}
        head = {"kind": kind, "argv": argv, "cwd": os.getcwd(), "env": env, "merge": merge}
        return Program(self.channel, head, body)

    def changes(self) -> dict[str, str | None]:
        """How the environment differs from the one that the host knows."""
        now = dict(os.environ)
        if now == self.environment:
            return {}
        changed = {name: value for name, value in now.items() if self.environment.get(name) != value}
        return {**changed, **dict.fromkeys(self.environment.keys() - now.keys())}


class Program:
    """A program of the host, with what a `subprocess.Popen` has while it runs."""

    def __init__(self, channel: ActionChannel, head: dict[str, Any], body: bytes) -> None:
        self.args = head["argv"]
        self.pid = None  # of another process's children
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        self._code: int | None = None
        self._descriptors: list[int] = []  # read ends of its output
        self._channel = channel
        self._request = channel.ask("run", head, body)

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative if a signal ended it; None while it runs."""
        if self._code is None:
            self._channel.receive()
            if self._request.answers:
                self._take()
        return self._code

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end and returns its exit code."""
        while self._code is None:
            self._channel.wait(self._request, timeout=timeout)
            if timeout is not None and not self._request.answers:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self._take()
        return self._code

    def terminate(self) -> None:
        """Asks for its end: it is interrupted, and killed if that does not help."""
        self._channel.cancel(self._request)

    kill = terminate

    def send_signal(self, number: int) -> None:
        """The same, for the signals that end programs; others cannot be sent."""
        if number not in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            raise ValueError(f"A program can be made to end; signal {number} cannot be sent to it.")
        self.terminate()

    def forward(self, *targets: Write) -> int:
        """Forwards its output until it has ended. Background processes that hold the pipes open are not waited for."""
        pumps = {fd: Pump(fd, write) for fd, write in zip(self._started(), targets, strict=False)}
        while self._code is None:
            self._forward_once(pumps)
        for pump in pumps.values():
            pump.finish()
        return self._code

    def background(self, *, keep_stdout: bool, keep_stderr: bool) -> None:
        """Lets it run beside the cells, with ``stdout`` and ``stderr`` to be read; what is not kept is read away."""
        self._started()
        with interrupts:
            pipes = [os.fdopen(fd, "rb") for fd in self._descriptors]
            self._descriptors.clear()
        for name, keep, pipe in zip(("stdout", "stderr"), (keep_stdout, keep_stderr), pipes, strict=False):
            if keep:
                setattr(self, name, pipe)
            else:
                threading.Thread(target=read_away, args=(pipe,), daemon=True).start()

    def close(self) -> None:
        """Lets go of it; if it has not ended it is made to, for which there is a moment."""
        with interrupts:
            try:
                if self._code is None:
                    self.terminate()
                    self._linger()
            finally:
                self._channel.forget(self._request)
                for fd in self._descriptors:
                    os.close(fd)
                self._descriptors.clear()

    def _started(self) -> list[int]:
        """Waits until it runs; raises what keeps it from running. Returns the read ends of its output."""
        self._channel.wait(self._request)
        self._take()
        return self._descriptors

    def _forward_once(self, pumps: dict[int, Pump], timeout: float | None = None) -> None:
        ready = self._channel.wait(self._request, [*pumps], timeout)
        for fd in ready:
            if not pumps[fd].forward():
                del pumps[fd]
        if not ready:
            self._take()

    def _linger(self) -> None:
        pumps = {fd: Pump(fd, str) for fd in self._descriptors}
        end = time.monotonic() + GRACE
        try:
            while pumps and self._code is None and (left := end - time.monotonic()) > 0:
                self._forward_once(pumps, left)
        except (ToolRunnerError, KeyboardInterrupt):
            pass  # what ended the waiting before is more to the point

    def _take(self) -> None:
        with interrupts:
            answer = self._request.take()
            self._descriptors += answer.descriptors
            if answer.head["op"] == "exited":
                code, number = answer.head.get("code"), answer.head.get("signal")
                self._code = code if number is None else -number


def read_away(pipe: IO[bytes]) -> None:
    """Reads to the end, so that no writer waits for a reader."""
    with pipe:
        while pipe.read(1 << 16):
            pass
)py", 7108}},
{"refused", {R"py("""Requests that cannot be done."""

from __future__ import annotations


class Refused(Exception):
    """A request that cannot be done, and the kind of the error that answers it."""

    def __init__(self, kind: str, text: str, **details: object) -> None:
        super().__init__(text)
        self.error = {"kind": kind, "text": text, **details}
)py", 350}},
{"reports", {R"py("""Reports of the processes that enter walls, to the supervisor: how far they came, and why they could not go on."""

from __future__ import annotations

import errno
import os
import socket

from ipybox_kernel import process
from ipybox_kernel.landlock import Missing
from ipybox_kernel.refused import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

LONGEST_WORDS = 4096
LINK = "a link in the directory of the runtime, which a kernel may have made, is not followed"


def fail(report: socket.socket, error: BaseException, status: int) -> NoReturn:
    """Ends a child, and tells why. Names that are its own are left out: what is told is read in the supervisor."""
    if isinstance(error, Refused):
        tell(report, f"{error.error['kind']} {error.error.get('errno', 0)}")
    else:
        tell(report, f"failure {error.strerror if isinstance(error, OSError) else error}")
    os._exit(status)


def failure_in(words: dict[str, str]) -> Exception | None:
    """The failure that a child has told of, as the exception to raise here."""
    for kind in ("cwd", "exec"):
        if kind in words:
            number = int(words[kind])
            is_link = kind == "cwd" and number == errno.ELOOP
            return Refused(kind, LINK if is_link else os.strerror(number), errno=number)
    if "request" in words:
        return Refused("request", "malformed request")
    return Missing(words["failure"]) if "failure" in words else None


def tell(report: socket.socket, words: str) -> None:
    report.send(words.encode(errors="replace")[:LONGEST_WORDS])


def collect(report: socket.socket, pid: int) -> tuple[dict[str, str], list[int]]:
    """The reports of the processes that make walls, until the last one has closed its end: the child with this pid."""
    words: dict[str, str] = {}
    descriptors: list[int] = []
    while True:
        process.wait_for_report(report.fileno(), pid)
        data, received, _, _ = socket.recv_fds(report, LONGEST_WORDS, 1)
        descriptors += received
        if not data:
            return words, descriptors
        name, _, text = data.decode(errors="replace").partition(" ")
        words.setdefault(name, text)
)py", 2199}},
{"resources", {R"py("""Resources and prompts of MCP servers: the host asks for them, and asks before it does."""

from __future__ import annotations

import json
import warnings
from base64 import b64decode
from typing import Any, NamedTuple

from ipybox_kernel import actions
from ipybox_kernel.inbox import Answer
from ipybox_kernel.tools import Audio, Awaited, Blob, Content, Document, Image, Link, Part, Unreadable, encode

__all__ = [
    "Contents",
    "Items",
    "Message",
    "Messages",
    "Prompt",
    "PromptArgument",
    "ResourceTemplate",
    "aread",
    "prompt",
    "prompts",
    "read",
    "resource_templates",
    "resources",
]


class Items(Awaited, list[Any]):
    """A list that may be awaited as well: it is there."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # asyncio.gather keeps what it waits for in a dict


class Contents(Items):
    """The contents of a resource, mostly one: each is a `Document` (`text`), or a `Blob` (`data`)."""

    @property
    def text(self) -> str:
        """The text of all documents, one below the other."""
        for content in self:
            if not isinstance(content, Document):
                raise TypeError(f"{content!r} is not text: its bytes are `data`")
        return "\n".join(content.text for content in self)

    @property
    def data(self) -> bytes:
        """The bytes of the only content."""
        if len(self) != 1:
            raise TypeError(f"there are {len(self)} contents, each with its own `data`")
        return bytes(self[0].data)


class ResourceTemplate(NamedTuple):
    """Resources whose URIs have one form: `uri_template` has `{name}` where a URI has a value."""

    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime: str | None = None


class PromptArgument(NamedTuple):
    """An argument of a prompt, a text."""

    name: str
    description: str | None = None
    required: bool = False


class Prompt(NamedTuple):
    """A prompt that a server has, with the arguments that it is filled in with."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: tuple[PromptArgument, ...] = ()


class Message(NamedTuple):
    """A message of a prompt: who says it, `user` or `assistant`, and a text, or something beside text."""

    role: str
    content: str | Part


class Messages(Items):
    """The messages of a prompt that was filled in."""

    #: What the prompt is for, as the server says.
    description: str | None = None

    @property
    def text(self) -> str:
        """The texts of all messages, one below the other."""
        return "\n".join(message.content for message in self if isinstance(message.content, str))


def read(uri: str | Link, server: str | None = None) -> Contents:
    """The contents of a resource. A link that came with a result knows its server.

    Raises:
        ApprovalRejectedError: the request was rejected.
        ApprovalTimeoutError: no decision about it came in time.
        ToolRunnerError: the server has no such resource, or cannot be asked.
    """
    return _contents(actions.channel().call("ask", *_reading(uri, server)))


async def aread(uri: str | Link, server: str | None = None) -> Contents:
    """read() for await: requests run beside each other."""
    return _contents(await actions.channel().call_async("ask", *_reading(uri, server)))


def resources(server: str) -> Items:
    """The resources that a server lists, each a `Link`."""
    return Items(_link(item, server) for item in _listed("resources/list", server))


def resource_templates(server: str) -> Items:
    """The forms of the URIs of resources that a server does not list one by one."""
    return Items(
        ResourceTemplate(item["uriTemplate"], *_described(item), _text(item, "mimeType"))
        for item in _listed("resources/templates/list", server)
    )


def prompts(server: str) -> Items:
    """The prompts that a server lists."""
    found = Items()
    for item in _listed("prompts/list", server):
        name, title, description = _described(item)
        arguments = tuple(
            PromptArgument(_text(each, "name") or "", _text(each, "description"), each.get("required") is True)
            for each in _objects(item.get("arguments"))
        )
        found.append(Prompt(name, title, description, arguments))
    return found


def prompt(server: str, name: str, /, **arguments: str | float) -> Messages:
    """A prompt of a server, filled in with arguments, which are texts; numbers and truth values are written as JSON."""
    texts = {key: _argument(key, value) for key, value in arguments.items()}
    got = _asked("prompts/get", server, name, texts)
    messages = Messages(
        Message(_text(item, "role") or "user", _block(block, server))
        for item in _objects(got.get("messages"))
        for block in _objects(item.get("content"))
    )
    messages.description = _text(got, "description")
    return messages


def _argument(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise TypeError(f"arguments of a prompt are texts, and {name} is of type {type(value).__name__}")


def _request(method: str, server: str, name: str = "", arguments: dict[str, str] | None = None) -> tuple[Any, bytes]:
    head = {"server": server, "method": method, "name": name}
    return head, b"" if arguments is None else encode(arguments).encode(errors="replace")


def _reading(uri: str | Link, server: str | None) -> tuple[Any, bytes]:
    if isinstance(uri, Link):
        server = server or uri.server
        uri = uri.uri
    if not server:
        raise TypeError(f"which server has {uri}? write read(uri, server=...)")
    return _request("resources/read", server, str(uri))


def _asked(method: str, server: str, name: str = "", arguments: dict[str, str] | None = None) -> dict[str, Any]:
    return _value(actions.channel().call("ask", *_request(method, server, name, arguments)))


def _value(answer: Answer) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(str(answer.body, "utf-8"))
    return value


def _listed(method: str, server: str) -> list[dict[str, Any]]:
    listed = _asked(method, server)
    if listed["remark"]:
        warnings.warn(f"{server}: {listed['remark']}", stacklevel=3)
    return _objects(listed["items"])


# Servers send members of any type: one of a wrong type counts as missing.


def _objects(value: object) -> list[dict[str, Any]]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, dict)]


def _text(item: dict[str, Any], name: str) -> str | None:
    value = item.get(name)
    return value if isinstance(value, str) else None


def _described(item: dict[str, Any]) -> tuple[str, str | None, str | None]:
    return _text(item, "name") or "", _text(item, "title"), _text(item, "description")


def _contents(answer: Answer) -> Contents:
    return Contents(_content(item) for item in _objects(_value(answer).get("contents")))


def _content(item: dict[str, Any]) -> Content:
    uri, mime, text, blob = (_text(item, name) for name in ("uri", "mimeType", "text", "blob"))
    if text is not None or blob is None:
        return Document((text or "").encode(errors="replace"), mime or "text/plain", uri)
    return _decoded(Blob, blob, mime or "application/octet-stream", uri)


def _decoded(kind: type[Content], base64: str, mime: str, uri: str | None = None) -> Content:
    try:
        return kind(b64decode(base64, validate=True), mime, uri)
    except ValueError:
        return Unreadable(base64.encode(), mime, uri)


def _link(item: dict[str, Any], server: str) -> Link:
    name, title, description = _described(item)
    return Link(_text(item, "uri") or "", name, title, description, _text(item, "mimeType"), server)


def _block(block: dict[str, Any], server: str) -> str | Part:
    """A block of a message."""
    kind = block.get("type")
    if kind == "text":
        return _text(block, "text") or ""
    if kind in ("image", "audio"):
        mime = _text(block, "mimeType") or "application/octet-stream"
        return _decoded(Image if kind == "image" else Audio, _text(block, "data") or "", mime)
    if kind == "resource_link":
        return _link(block, server)
    if kind == "resource" and isinstance(block.get("resource"), dict):
        return _content(block["resource"])
    return json.dumps(block, ensure_ascii=False)
)py", 8561}},
{"rooms", {R"py("""Rooms: namespaces for one kernel and its programs, with a first process that the supervisor starts in them."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import struct
from contextlib import suppress

from ipybox_kernel import filters, landlock, limits, privileges, process
from ipybox_kernel.landlock import Missing, libc, missing
from ipybox_kernel.reports import collect, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
CLONE_NEWPID = 0x20000000

SIOCSIFFLAGS, IFF_UP = 0x8914, 1

CONNECTION = b"4096 65536 262144"  # bytes in each direction: at least, usually, at most

ENDED = "the first process of its namespace has ended"


class Plan:
    """The properties that the rooms of all kernels share."""

    def __init__(self, hello: dict[str, Any]) -> None:
        self.workspace: str = hello["workspace"]  # the directories of kernels lie in it
        self.private: list[str] = hello["private"]  # directories of which each kernel has an empty one
        self.kept: list[str] = hello["kept"]  # what lies in these, or in the workspace, and is for all kernels
        self.size: int = hello["size"]  # bytes of each private directory; 0: what the system allows
        self.processes: int | None = hello.get("processes")
        self.user: int = hello["user"]  # who is root for the supervisor, and has this number within walls as outside
        self.group: int = hello["group"]
        self.machine = privileges.machine()
        self.filter = filters.base(self.machine, hello["allow"])


class Room:
    """Namespaces for a kernel and its programs, with nothing in them yet but their first process."""

    def __init__(self, init: int) -> None:
        self.init = init  # with it the system ends everything else there
        self.programs: set[int] = set()  # those that run, and those that have ended and left processes
        self.descriptor = os.pidfd_open(init)
        self.memory = os.memfd_create("environment")  # of its kernel, which writes it before there is any other code

    def has_ended(self) -> bool:
        """Whether its first process has, so that nothing can be started in it any more."""
        poller = select.poll()
        poller.register(self.descriptor, select.POLLIN)
        return bool(poller.poll(0))

    def remember(self, environment: dict[str, str]) -> None:
        os.pwrite(self.memory, json.dumps(environment).encode(), 0)

    def environment(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(os.pread(self.memory, os.fstat(self.memory).st_size, 0))
        return found

    def close(self) -> None:
        os.close(self.descriptor)
        os.close(self.memory)


def prepare(plan: Plan) -> Room:
    """Makes namespaces. Raises Missing if there can be none."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    between = os.fork()  # enters the namespaces, but for that of pids, in which its child is the first process
    if not between:
        ours.close()
        build(plan, theirs)
    theirs.close()
    with ours:
        words, _ = collect(ours, between)
    os.waitpid(between, 0)
    if "failure" in words or "init" not in words:
        raise Missing(words.get("failure", "a process that was to make namespaces died"))
    return Room(int(words["init"]))


def build(plan: Plan, report: socket.socket) -> NoReturn:
    try:
        enter_new_namespaces(plan)
        raise_loopback()
        bound_connections()
        os.chdir("/")  # what is mounted over the current directory later would not be over that of the first process
        give_up_rights(plan)
        tell(report, f"init {start_init()}")
    except BaseException as error:
        tell(report, f"failure {error}")
    finally:
        os._exit(0)


def enter_new_namespaces(plan: Plan) -> None:
    user, group = f"{plan.user} {os.geteuid()} 1", f"{plan.group} {os.getegid()} 1"
    process.set_dumpable(True)  # or it could not say who it is in its namespace
    if libc.unshare(NAMESPACES):
        raise missing("namespaces for a kernel cannot be made")
    for name, text in ("setgroups", "deny"), ("uid_map", user), ("gid_map", group):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def start_init() -> int:
    """Starts the first process of a namespace, which does nothing: the system reaps what it adopts.

    It is a program: a fork of this process would take more time and memory. Code can look into it, and change it.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    silent, other = socket.socketpair()  # it waits for what is never written
    numbers = {0: silent, 2: silent, 3: other}  # of the supervisor it has nothing
    actions = [(os.POSIX_SPAWN_DUP2, end.fileno(), number) for number, end in numbers.items()]
    with silent, other:
        return os.posix_spawn("/bin/sh", ["sh", "-c", "read nothing"], {}, file_actions=actions, setsid=True)


def fork(room: Room) -> int:
    """Forks into the pid namespace of a room; the other ones are entered by the child. Raises Missing and OSError."""
    supervisor = os.getpid()
    back = os.pidfd_open(supervisor)
    try:
        enter(room.descriptor, CLONE_NEWPID)
        return os.fork()
    except OSError as error:
        if room.has_ended():  # what the system says then is that there is no memory
            raise Missing(ENDED) from error
        raise
    finally:
        if os.getpid() == supervisor and libc.setns(back, CLONE_NEWPID):
            os._exit(1)  # what is forked next would be in the room of another kernel
        os.close(back)


def enter(descriptor: int, namespaces: int) -> None:
    """Enters namespaces of the process behind a pidfd."""
    if libc.setns(descriptor, namespaces):
        raise missing("the namespaces for a kernel cannot be entered")


def raise_loopback() -> None:
    """The loopback of a new namespace is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def bound_connections() -> None:
    """Bounds what a connection can hold, as the machine has so much for those of all namespaces together."""
    for name in ("tcp_rmem", "tcp_wmem"):
        with suppress(OSError):  # older systems have one value for all of them
            file = os.open(f"/proc/sys/net/ipv4/{name}", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(file, CONNECTION)
            finally:
                os.close(file)


def give_up_rights(plan: Plan) -> None:
    """Gives up what the namespaces have granted, and what the supervisor may do to make them."""
    if plan.processes is not None:
        limits.take({"processes": plan.processes})
    privileges.drop_capabilities()
    landlock.give_up_new_privileges()
    privileges.filter_calls(plan.filter, plan.machine)
)py", 7050}},
{"search_path", {R"py("""The directories in which programs are looked for by their names."""

from __future__ import annotations

import os
from functools import lru_cache

from ipybox_kernel.paths import lies_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_LINKS = 40  # on one way, as for the system


def without_open(path: str, changeable: tuple[str, ...]) -> str:
    """Those of PATH in which code cannot put a program: one there would run under the name that was approved.

    ``changeable`` are the directories in which the sandbox lets code write, as far as they are not mounted read-only.
    """
    return os.pathsep.join(
        folder for folder in path.split(os.pathsep) if folder.startswith("/") and not is_open(folder, changeable)
    )


@lru_cache(maxsize=256)
def is_open(folder: str, changeable: tuple[str, ...]) -> bool:
    """The answer is kept: code cannot change what it depends on, unless it is true.

    A kernel within walls inherits those of the supervisor: what code can change there, it could change here.
    """
    try:
        return any(can_change(place, changeable) for place in deciding(folder))
    except OSError:
        return True  # it has just gone


def deciding(path: str) -> Iterator[str]:
    """The directories that decide where a path leads: each with a link on the way, and the one at its end."""
    here = "/"
    left = path.split("/")
    links = 0
    while left and links <= MOST_LINKS:
        name = left.pop(0)
        if name in ("", "."):
            continue
        if name == "..":
            here = os.path.dirname(here)
            continue
        entry = f"{here.rstrip('/')}/{name}"
        try:
            target = os.readlink(entry)
        except OSError:
            here = entry  # no link, or nothing at all
            continue
        links += 1
        yield here
        here = "/" if target.startswith("/") else here
        left[:0] = target.split("/")
    yield here


def can_change(folder: str, changeable: tuple[str, ...]) -> bool:
    """Whether code can write to a directory without links, make it, or put another one in its place.

    Its mode does not count, which its owner changes.
    """
    if not lies_in(folder, changeable):
        return False
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if is_read_only(folder):  # and held in its place, by mounts on what it lies in
        return False
    while True:
        if not is_read_only(folder) and (os.lstat(folder).st_uid == os.geteuid() or os.access(folder, os.W_OK)):
            return True
        if folder == "/":
            return False
        folder = os.path.dirname(folder)


def is_read_only(folder: str) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
)py", 2801}},
{"service", {R"py("""The one thread beside the main one: flushes what was printed, and forwards what children and C code write."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.session import LeanSession

LEADING = 0.001  # from the first write of a quiet stream to its flush
INTERVAL = 0.010  # between flushes of a busy one
REMINDERS = (0.005, 0.02, 0.1, 0.5, 2.0)  # from an interrupt, and from each other
GRACE = 1.0  # from the host's hang-up to the end of a kernel that does not notice it
CLOCK_MONOTONIC = 1

libc = ctypes.PyDLL(None, use_errno=True)  # keeps the interpreter's lock: these calls take a microsecond
timerfd_create, timerfd_settime = libc.timerfd_create, libc.timerfd_settime  # found now: later, code may be in the way


class Timer:
    """A timerfd. (``os`` has them from Python 3.13 on.)

    Setting it does not wake the thread that waits for it, which is what makes printing cheap.
    """

    def __init__(self) -> None:
        self.fd = timerfd_create(CLOCK_MONOTONIC, os.O_CLOEXEC | os.O_NONBLOCK)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._spec = (ctypes.c_long * 4)()

    def set(self, seconds: float) -> None:
        """Makes the descriptor readable after a while; 0: never."""
        self._spec[3] = int(seconds * 1e9)
        timerfd_settime(self.fd, 0, self._spec, None)

    def reset(self) -> None:
        """Makes the descriptor unreadable."""
        try:
            os.read(self.fd, 8)
        except BlockingIOError:
            pass  # set anew meanwhile


class Bell:
    """Wakes the thread that listens to it."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def ring(self) -> None:
        os.eventfd_write(self.fd, 1)

    def silence(self) -> None:
        try:
            os.eventfd_read(self.fd)
        except BlockingIOError:
            pass

    def __del__(self) -> None:
        os.close(self.fd)


class Reminders:
    """For the main thread, of an interrupt that came right before it began to wait in the system.

    The system's signal handler has run then, Python's has not, and nothing would end the waiting.
    """

    def __init__(self) -> None:
        self.timer = Timer()
        self.handled = 0
        self.left: list[float] = []

    def begin(self) -> None:
        """A signal has come."""
        handled = interrupts.handled
        if interrupts.has_arrived():
            self.expect(handled)

    def again(self) -> None:
        """An interrupt has been put off. This may be the main thread, in the middle of `begin` on the other one."""
        self.expect(interrupts.handled)

    def expect(self, handled: int) -> None:
        self.handled, self.left = handled, list(REMINDERS[1:])
        self.timer.set(REMINDERS[0])

    def remind(self) -> None:
        """The main thread has had its time."""
        self.timer.reset()
        if interrupts.put_off or interrupts.handled == self.handled:
            interrupts.nudge()
            self.timer.set(self.left.pop(0) if self.left else 0)


class Service:
    """Waits for work without ever waking up for nothing: it flushes text, and pumps what can be read of pipes."""

    def __init__(
        self, session: LeanSession, sink: Any, flush_text: Callable[[], None], pumps: Mapping[int, Callable[[], object]]
    ) -> None:
        self.session = session
        self.sink = sink
        self.flush_text = flush_text  # of the streams; for those who hold the lock
        self.pumps = pumps  # descriptor -> forwards what can be read there
        self.timer = Timer()
        self.due = False  # something waits for the timer
        self.bell = Bell()
        self.reminders = Reminders()
        self.news: deque[tuple[str, dict[str, Any]]] = deque()  # states for the host, with their request
        self.hangup = session.link.socket.fileno()
        self.flushed = 0.0
        self.poller = select.epoll()  # poll(2) fails when code has lowered the limit of open files
        for fd in (self.timer.fd, self.bell.fd, interrupts.arrived, self.reminders.timer.fd, *self.pumps):
            self.poller.register(fd, select.EPOLLIN)
        self.poller.register(self.hangup, 0)
        threading.Thread(target=self._run, name="ipybox-service", daemon=True).start()

    def expect(self) -> None:
        """Something was printed: it is sent soon. For those who hold the lock, as is `settle`."""
        if not self.due:
            self.due = True
            self.timer.set(max(LEADING, self.flushed + INTERVAL - time.monotonic()))

    def settle(self) -> None:
        """Everything has been sent."""
        if self.due:
            self.due = False
            self.timer.set(0)

    def tell(self, state: str) -> None:
        """Lets the host know what has become of the code that runs. It may be called by a signal handler."""
        self.news.append((state, self.session.request))
        self.bell.ring()

    def _run(self) -> None:
        # The main thread may not notice for long that another one took a signal.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        while True:
            for fd, event in self.poller.poll():
                if fd == self.timer.fd:
                    self.timer.reset()
                    self._flush()
                elif fd == self.bell.fd:
                    self._tell()
                elif fd == interrupts.arrived:
                    self.reminders.begin()
                elif fd == self.reminders.timer.fd:
                    self.reminders.remind()
                elif event & select.EPOLLIN:
                    self.pumps[fd]()
                elif fd in self.pumps:
                    self.poller.unregister(fd)  # it has no writer any more
                else:
                    time.sleep(GRACE)  # the main thread sees the end of file too, unless something keeps it
                    os._exit(0)

    def _tell(self) -> None:
        self.bell.silence()
        while self.news:
            state, request = self.news.popleft()
            self.session.send(self.sink, "status", {"execution_state": state}, request)

    def _flush(self) -> None:
        with self.session.link.lock:
            self.due = False
            self.flush_text()
            self.flushed = time.monotonic()
)py", 6573}},
{"serving", {R"py("""How a kernel serves its host: request by request, whatever code has done to it."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.loop import BrokenLoop, MainLoop
from ipybox_kernel.tracebacks import Tracebacks, describe
from ipybox_kernel.wire import CONTROL, SHELL, Link

if TYPE_CHECKING:
    from ipybox_kernel.originals import Originals
    from ipybox_kernel.session import LeanSession, Sink
    from ipybox_kernel.streams import Streams
    from ipybox_kernel.warming import WarmUp

MOST_NAMES = 5  # in a notice
MOST_FAILURES = 5  # of the machinery, in a row
MOST_MENDED = 5  # times for one request: a thread of code may break again and again what is put back

T = TypeVar("T")


class Serving:
    """The part of a kernel that takes requests and runs the loop. A cell can fail, this cannot."""

    if TYPE_CHECKING:
        shell: Any
        session: LeanSession
        link: Link | None
        backlog: deque[tuple[int, list[memoryview]]]
        originals: Originals | None
        mended: int
        io_loop: MainLoop
        streams: Streams
        tracebacks: Tracebacks
        warm_up: WarmUp
        replies: Sink
        execution_count: int
        shell_handlers: dict[str, Callable[..., Any]]
        set_parent: Callable[..., None]
        keep: Callable[[int, list[memoryview]], None]
        write_notice: Callable[[str], None]

    def serve(self) -> None:
        """Handles requests, one after the other. Returns between two of them."""
        failures = 0  # of the machinery, in a row
        while not self.shell.exit_now:
            try:
                self.serve_next()
                failures = 0
            except EOFError:
                return
            except Exception:
                failures += 1
                if failures == MOST_FAILURES:
                    raise
                self.mend()

    def serve_next(self) -> None:
        """Handles one request, or waits; raises EOFError when there will be no more."""
        assert self.link
        message = self.backlog.popleft() if self.backlog else self.link.receive()
        if message and self.is_shutdown(*message):
            raise EOFError
        if message:
            self.take(*message)
        else:
            self.rest(self.link.socket.fileno())

    def rest(self, fd: int) -> None:
        """Waits until there is something to read. If that takes a while, the first error is prepared meanwhile."""
        while not self.io_loop.rest(fd, self.warm_up.wait if self.warm_up.pieces else None):
            if self.tracebacks.rendered:
                self.warm_up.drop()
            else:
                self.warm_up.step()

    def is_shutdown(self, channel: int, frames: list[memoryview]) -> bool:
        """Whether the host wants this kernel to end. It does not ask while a cell runs."""
        return channel == CONTROL and self.session.parse(frames)["msg_type"] == "shutdown_request"

    def take(self, channel: int, frames: list[memoryview]) -> None:
        """Handles one message of the host. Whatever happens, a request is answered."""
        if channel != SHELL:
            return  # late: this input is not waited for, the cell to be interrupted has ended
        self.mended = 0
        request = self.insist(partial(self.session.parse, frames))
        self.session.begin(request, frames)
        while True:
            try:
                self.run_in_loop(request)
                return
            except Exception as error:
                interrupts.disarm()
                if not self.mend() or interrupts.begun:
                    self.insist(partial(self.refuse, request, error))
                    return

    def run_in_loop(self, request: dict[str, Any]) -> None:
        """Handles a request; once more in another loop if code has left one in which it cannot begin."""
        interrupts.begun = False
        try:
            self.io_loop.run(self.handle(request))
        except BrokenLoop:
            if interrupts.begun:
                raise
            self.io_loop.run(self.handle(request))

    async def handle(self, request: dict[str, Any]) -> None:
        """Handles one request, as ipykernel does; again if it could not begin, for what earlier code has replaced."""
        while True:
            try:
                await self.handle_once(request)
                return
            except BaseException as error:
                mended = self.mend()
                if not mended or interrupts.begun or not isinstance(error, Exception):
                    self.insist(partial(self.refuse, request, error))
                    return

    async def handle_once(self, request: dict[str, Any]) -> None:
        try:
            self.set_parent([], request)
            interrupts.arm(cell=request["msg_type"] == "execute_request")
            if interrupts.early:
                self.check_early_interrupt(request)
            handler = self.shell_handlers[request["msg_type"]]
            result = handler(self.replies, [], request)
            if inspect.isawaitable(result):
                await result
        finally:
            interrupts.disarm()

    def insist(self, step: Callable[[], T]) -> T:
        """Does a step that must not fail: if it does, what code has replaced is put back first."""
        while True:
            try:
                return step()
            except Exception:
                if not self.mend():
                    raise

    def mend(self) -> bool:
        """Puts back what code has put in the place of what the kernel lives on; whether there was anything."""
        if not self.originals or self.mended == MOST_MENDED or not (put_back := self.originals.mend()):
            return False
        self.mended += 1
        more = f" and {len(put_back) - MOST_NAMES} more" if len(put_back) > MOST_NAMES else ""
        self.write_notice(
            f"the kernel cannot work without what code has replaced or removed, and has put it back: "
            f"{', '.join(put_back[:MOST_NAMES])}{more}"
        )
        return True

    def check_early_interrupt(self, request: dict[str, Any]) -> None:
        """Stops a request whose interrupt came before it was read: its announcement is right behind it."""
        interrupts.early = False
        if not self.link:
            return
        with interrupts:
            while message := self.link.receive():
                if message[0] == CONTROL:
                    announced = self.session.parse(message[1])
                    if announced["content"].get("msg_id") == request["msg_id"]:
                        raise KeyboardInterrupt
                else:
                    self.keep(*message)

    def refuse(self, request: dict[str, Any], error: BaseException) -> None:
        """Answers a request that could not be handled."""
        kind, _, suffix = request["msg_type"].rpartition("_")
        self.streams.flush()
        if suffix == "request":
            content = {"status": "error", "execution_count": self.execution_count, **describe(error)}
            self.session.send(self.replies, f"{kind}_reply", content, request)

    def mend_loop(self) -> None:
        """There is about to be another event loop."""
        self.mend()
        self.write_notice("the event loop could not run any more: there is a fresh one, without the tasks of the old")
)py", 7571}},
{"session", {R"py("""The Jupyter session of a kernel: ipykernel's messages, sent over a Link."""

from __future__ import annotations

import itertools
import uuid
from typing import Any

from jupyter_client.session import Session

from ipybox_kernel import wire

PROTOCOL_VERSION = "5.4"
DISPLAYS = frozenset(("display_data", "execute_result"))


class Sink:
    """Stands where ipykernel expects the socket of a channel."""

    def __init__(self, channel: int) -> None:
        self.channel = channel


class LeanSession(Session):
    """Builds the messages of the kernel and gives them to whatever link it is connected to."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.link: Any = None
        self.numbers = itertools.count()
        self.request: dict[str, Any] = {}  # header of the request that is being handled
        self.request_json = b"{}"
        self.last_error: dict[str, Any] | None = None
        self.in_line = False  # whether what the request has put out so far ends within a line

    def connect(self, link: Any) -> None:
        """Starts a session of its own over a link."""
        self.link = link
        self.session = uuid.uuid4().hex
        self.numbers = itertools.count()

    def parse(self, frames: list[memoryview]) -> dict[str, Any]:
        """A message of the host as ipykernel's handlers want it."""
        header, parent, metadata, content = map(wire.from_json, frames[:4])
        return {
            "header": header,
            "msg_id": header["msg_id"],
            "msg_type": header["msg_type"],
            "parent_header": parent,
            "metadata": metadata,
            "content": content,
            "buffers": wire.join_raw(content, metadata, frames[4:]),
        }

    def begin(self, request: dict[str, Any], frames: list[memoryview]) -> None:
        """Begins a request, to which the output from now on belongs."""
        self.request, self.request_json = request["header"], bytes(frames[0])
        self.last_error = None
        self.in_line = False

    def msg(
        self,
        msg_type: str,
        content: dict[str, Any] | None = None,
        parent: dict[str, Any] | None = None,
        header: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """A message that can still be changed before it is sent."""
        if header is None:
            header = {
                "msg_id": f"{self.session}_{next(self.numbers)}",
                "msg_type": msg_type,
                "session": self.session,
                "username": "kernel",
                "version": PROTOCOL_VERSION,
            }
        return {
            "header": header,
            "msg_id": header["msg_id"],
            "msg_type": msg_type,
            "parent_header": parent.get("header", parent) if parent else {},
            "content": content or {},
            "metadata": metadata or {},
        }

    def send(
        self,
        stream: Any,
        msg_or_type: Any,
        content: dict[str, Any] | None = None,
        parent: dict[str, Any] | None = None,
        ident: Any = None,
        buffers: Any = None,
        track: bool = False,
        header: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> dict[str, Any] | None:
        """Sends a message through a Sink. Any other socket is the code's own and is sent to in the ordinary way."""
        if not isinstance(stream, Sink):
            return super().send(  # type: ignore[no-any-return]
                stream, msg_or_type, content, parent, ident, buffers, track, header, metadata
            )
        if isinstance(msg_or_type, str):
            message = self.msg(msg_or_type, content, parent, header, metadata)
        else:
            message = msg_or_type
            buffers = buffers or message.get("buffers")
        if message["msg_type"] == "error":
            self.last_error = message["content"]
        elif message["msg_type"] in DISPLAYS:
            self.in_line = False  # the host gives a display lines of its own
        parent_header = message["parent_header"]
        body, notes, frames = wire.split_raw(
            message["content"], message["metadata"], [memoryview(buffer).cast("B") for buffer in buffers or ()]
        )
        self.link.send(
            stream.channel,
            [
                wire.to_json(message["header"]),
                self.request_json if parent_header is self.request else wire.to_json(parent_header),
                wire.to_json(notes) if notes else b"{}",
                wire.fitting(message["msg_type"], body),
                *frames,
            ],
        )
        return message
)py", 4739}},
{"shell", {R"py("""``!command``, ``x = !command`` and their magics: runs shell commands for cells."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from IPython.utils.text import LSString, SList

from ipybox_kernel import hints, packages
from ipybox_kernel.pipe import Pump

if TYPE_CHECKING:
    from ipybox_kernel.actions import ActionChannel
    from ipybox_kernel.programs import Programs

SHELL = "/bin/sh"
INTERRUPT_GRACE = 0.25

Write = Callable[[str], Any]


class ShellCommands:
    """Takes the place of the shell's ``system`` and ``getoutput``, which need pexpect and a tenth of a second."""

    def __init__(self, shell: Any, streams: Any) -> None:
        self.shell = shell
        self.streams = streams
        self.programs: Programs | None = None  # the host's; the kernel starts its own where there are none
        shell.system = shell.system_piped = shell.system_raw = self.system
        shell.getoutput = self.getoutput

    def ask(self, channel: ActionChannel) -> None:
        """From now on the host is asked for programs; the kernel starts none itself."""
        from ipybox_kernel import programs

        self.programs = programs.Programs(channel)

    def system(self, cmd: str) -> None:
        """Runs a command; its output appears as the cell's."""
        self.show(self.shell.var_expand(cmd, depth=1), "shell")

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Runs a command and returns what it writes, to stdout and stderr."""
        command = self.shell.var_expand(cmd, depth=depth + 1)
        parts: list[str] = []
        output = hints.Output()
        write = output.to(parts.append)
        if self.programs:
            code = self.programs.run([SHELL, "-c", command], "shell", write, None)
        else:
            code = run(command, write, None)
        self.finish(command, code, output)
        text = "".join(parts)
        return SList(text.splitlines()) if split else LSString(text)

    def show(self, command: str, kind: str) -> None:
        """Runs a command that has no more variables in it; its output appears as the cell's."""
        if self.programs:
            self.run([SHELL, "-c", command], kind, command)
            return
        self.streams.flush()
        code = run(command, self._target(sys.stdout, self.streams.out), self._target(sys.stderr, self.streams.err))
        self.streams.flush()
        self.finish(command, code, hints.Output())

    def install(self, argv: list[str]) -> None:
        """Has the host run pip, which takes nothing from this kernel but its words."""
        self.run(argv, "package", " ".join(argv), inherits=False)

    def run(self, argv: list[str], kind: str, command: str, *, inherits: bool = True) -> None:
        """Has the host run a program; its output appears as the cell's."""
        assert self.programs
        output = hints.Output()
        self.streams.flush()
        to = output.to(sys.stdout.write), output.to(sys.stderr.write)
        code = self.programs.run(argv, kind, *to, inherits=inherits)
        self.streams.flush()
        self.finish(command, code, output, on_host=kind == "package" and packages.layer is not None)

    def finish(self, command: str, code: int, output: hints.Output, *, on_host: bool = False) -> None:
        """Keeps the exit code, and explains failures by the sandbox, in which programs of the host do not run."""
        self.shell.user_ns["_exit_code"] = code
        if not on_host:
            print(hints.of_command(command, code, output), end="", file=sys.stderr)
        if getattr(self.shell, "system_raise_on_error", False) and code:
            raise subprocess.CalledProcessError(code, command)

    @staticmethod
    def _target(stream: Any, own: Any) -> Any:
        """Our own stream as it is: the command inherits it. Any other (``%%capture``) has to be written to."""
        return own if stream is own else stream.write


def run(command: str, stdout: Write | IO[str], stderr: Write | IO[str] | None) -> int:
    """Runs a command in the kernel's process group and returns its exit code, negative if a signal ended it.

    A target is an open file, which the command inherits, or a function that gets its text; stderr may be None for
    "where stdout goes".
    """
    out, err = (subprocess.PIPE if callable(target) else target for target in (stdout, stderr or stdout))
    process = subprocess.Popen(
        [SHELL, "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT if stderr is None else err,
    )
    pipes = [(process.stdout, stdout), (process.stderr, stderr)]
    pumps = {pipe.fileno(): Pump(pipe.fileno(), write) for pipe, write in pipes if pipe and callable(write)}
    try:
        forward(process, pumps)
        return process.wait()
    finally:
        stop(process)
        for pipe, _ in pipes:
            if pipe:
                pipe.close()


def forward(process: subprocess.Popen[bytes], pumps: dict[int, Pump]) -> None:
    """Forwards until the process has ended. A background process may hold the pipes open: that is not waited for."""
    ended = os.pidfd_open(process.pid)
    poller = select.poll()
    for fd in (ended, *pumps):
        poller.register(fd, select.POLLIN)
    try:
        while True:
            ready = [fd for fd, _ in poller.poll()]
            if ended in ready:
                for pump in pumps.values():
                    pump.finish()
                return
            for fd in ready:
                if not pumps[fd].forward():
                    poller.unregister(fd)
    finally:
        os.close(ended)


def stop(process: subprocess.Popen[bytes]) -> None:
    """After an interrupt, which the command got as well: waits a moment for it, then kills it."""
    if process.poll() is not None:
        return
    try:
        process.wait(INTERRUPT_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
)py", 6084}},
{"shutdown", {R"py("""The end of a kernel: what a Python program does when it ends, without taking the interpreter apart."""

from __future__ import annotations

import atexit
import fcntl
import gc
import os
import threading
from _io import _IOBase  # type: ignore[attr-defined]  # of io.IOBase, which asks every class that it knows
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from ipybox_kernel.streams import Streams

Descriptors = set[tuple[str, str]]


def end(streams: Streams, shell: Any, status: int, own: Descriptors) -> NoReturn:
    """Ends the process: waits for threads, runs what is registered with ``atexit``, writes what files still hold.

    The interpreter itself would visit every object that it knows, which takes 20 ms, and ten times that with pandas.
    Here they are visited only if there is a descriptor to write to that is not among the kernel's own.
    """
    shell.reset = lambda *_, **__: None  # what IPython has registered collects garbage, with all that was imported
    for step in (threading._shutdown, atexit._run_exitfuncs, shell.user_ns.clear):  # type: ignore[attr-defined]
        attempt(step)
    if files_may_be_open(own):
        attempt(flush_files)
    attempt(streams.flush)
    os._exit(status)


def attempt(step: Callable[[], object]) -> None:
    """Nothing that goes wrong in one step keeps the next ones from being done."""
    try:
        step()
    except BaseException:
        pass


def files_may_be_open(own: Descriptors) -> bool:
    """Whether there is anything to write to that is not the kernel's own."""
    try:
        return not open_for_writing() <= own
    except OSError:
        return True  # there is no /proc any more


def open_for_writing() -> Descriptors:
    """The descriptors of this process that can be written to, by number, each with what it refers to."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            if fcntl.fcntl(int(number), fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
                found.add((number, os.readlink(f"/proc/self/fd/{number}")))
        except OSError:
            pass  # closed meanwhile
    return found


def flush_files() -> None:
    """Writes what open files have not written yet. Those that nothing refers to any more have done so themselves."""
    for file in open_files(gc.get_objects()):
        attempt(file.flush)


def open_files(objects: Iterable[Any]) -> list[Any]:
    """The files among these objects."""
    kinds = {kind for kind in set(map(type, objects)) if issubclass(kind, _IOBase)}
    return [file for file in objects if type(file) in kinds]
)py", 2677}},
{"streams", {R"py("""stdout and stderr of a kernel: Python's objects, and what is written to descriptors 1 and 2 below them."""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.journal import LONGEST, ROOM, Journal
from ipybox_kernel.pipe import available, text_decoder, write_all
from ipybox_kernel.service import Service
from ipybox_kernel.session import LeanSession

MAX_TEXT = 1 << 20  # bytes of text in one message
NEWLINE = ord("\n")
ERRORS = "backslashreplace"
RAW_TEXT = 512  # longer text travels as a buffer
PIPE_SIZE = 1 << 20

fflush = ctypes.CDLL(None).fflush  # found now: later, code may be in the way


class Channel(io.BufferedIOBase):
    """One of the two streams on its way to the host: UTF-8 in, messages out."""

    def __init__(self, name: str, number: int, streams: Streams) -> None:
        self.name = f"<{name}>"
        self.number = number
        self.streams = streams
        self.header = {"name": name}

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.number

    def write(self, data: Any) -> int:
        """Sends valid UTF-8. It must all be gone before anything is raised."""
        with interrupts:
            if self.streams.forked:
                write_all(self.number, data)
            else:
                for piece in pieces(data):
                    self.publish(piece)
        return len(data)

    def publish(self, text: bytes | memoryview) -> None:
        session = self.streams.session
        content, metadata, buffers = {**self.header, "text": ""}, None, None
        if len(text) > RAW_TEXT:
            metadata, buffers = {"raw": [[["text"], 0, "text"]]}, [text]
        else:
            content["text"] = str(text, "utf-8")
        session.send(self.streams.sink, "stream", content, session.request, buffers=buffers, metadata=metadata)
        session.in_line = text[-1] != NEWLINE


class Out(io.TextIOWrapper):
    """``sys.stdout`` or ``sys.stderr``.

    Pending text is in the journal of the streams, and leaves it under their lock. TextIOWrapper would keep it in
    memory that is gone when the process dies; in a forked child of a cell, it does so.
    """

    def __init__(self, name: str, number: int, streams: Streams) -> None:
        self.channel = Channel(name, number, streams)
        super().__init__(self.channel, "utf-8", ERRORS, newline="\n")
        self.streams = streams
        self.capture: Capture | None = None
        self.dirty = False
        self._binary = Binary(self)
        self._write, self._close_room = self._writer()
        self.write = self._write  # type: ignore[method-assign]

    def _writer(self) -> tuple[Callable[[str], int], Callable[[], None]]:
        """``write``, as a closure for speed, and what makes its next call a slow one.

        No call stands between the look at the room and `put`: no other thread runs between them from Python 3.11 on.
        Before, it may behind any jump, and each call holds the lock.
        """
        encode, exactly, put, room = str.encode, str.__str__, self.streams.journal.put, 0

        def write(text: str) -> int:
            nonlocal room
            if type(text) is not str:
                text = exactly(text)
            size = len(text)
            if size > room:
                return write_slowly(text)
            try:
                data = encode(text)
            except UnicodeEncodeError:
                return write_slowly(text)
            if size > room:
                return write_slowly(text)
            room -= size
            put(data)
            return size

        def write_slowly(text: str) -> int:
            nonlocal room, put
            size = len(text)
            with interrupts, self.streams.lock:
                # In parts: fresh memory for a copy of it all is slow. What may fail does so before anything is sent.
                part = ROOM if self.errors == ERRORS else max(1, size)
                data = self.encoded(text[:part])
                if self.dirty:
                    self.flush_text()
                else:
                    self.streams.switch_to(self)
                self.dirty = True
                if size > part or len(data) > LONGEST * ROOM:
                    self.channel.write(data)
                    for start in range(part, size, part):
                        self.channel.write(self.encoded(text[start : start + part]))
                    return size
                self.streams.journal.begin(self.channel.number)
                put = self.streams.journal.put
                room = max(0, ROOM - max(size, -(-len(data) // LONGEST)))
                put(data)
            return size

        def write_alone(text: str) -> int:
            with interrupts, self.streams.lock:
                return write(text)

        def close_room() -> None:
            nonlocal room
            room = 0

        return write if sys.version_info >= (3, 11) else write_alone, close_room

    def encoded(self, text: str) -> bytes:
        """The text in UTF-8, of bytes that are none the replacement character: surrogates may stand for such."""
        try:
            return text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-8", str(self.errors)).decode("utf-8", "replace").encode()

    def flush(self) -> None:
        """Sends what is pending here and in the pipe."""
        with interrupts, self.streams.lock:
            self.flush_text()
            if self.capture:
                self.capture.drain()

    def flush_text(self) -> None:
        """Sends what is pending here; for those who hold the lock."""
        self._close_room()
        dirty, self.dirty = self.dirty, False
        if self.streams.forked:
            super().flush()
        elif dirty and (text := self.streams.journal.pending()):
            self.streams.send_journal(self.channel, text)

    @property
    def buffer(self) -> Any:
        """For bytes; the real buffer wants valid UTF-8."""
        return self._binary

    def isatty(self) -> bool:
        return False

    def detach(self) -> Any:
        """Refused, as by other streams without a buffer of their own: the kernel needs it."""
        raise io.UnsupportedOperation("detach")

    def reconfigure(self, *, encoding: str | None = None, errors: str | None = None, **other: Any) -> None:
        """Keeps UTF-8, which the host wants, whatever the cell would like."""
        super().reconfigure(errors=errors or ("strict" if encoding else None), **other)
        end = other.get("newline", "\n")
        write = self._write if end not in ("\r", "\r\n") else lambda text: self._write(text.replace("\n", end))
        self.write = write  # type: ignore[method-assign]

    def close(self) -> None:
        """Only flushes: a cell that closes its stdout must not silence the next one."""
        self.flush()

    def become_plain(self) -> None:
        """An ordinary line-buffered stream on the descriptor, for a forked child."""
        if self.capture:
            os.close(self.capture.fd)
            self.capture = None
        super().reconfigure(line_buffering=True)
        self.write = super().write  # type: ignore[method-assign]


class Binary(io.BufferedIOBase):
    """``sys.stdout.buffer``: any bytes, in order with the text."""

    def __init__(self, out: Out) -> None:
        self.out = out
        self.decoder = text_decoder()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.out.fileno()

    def write(self, data: Any) -> int:
        with memoryview(data) as view:
            self.out.write(self.decoder.decode(view))
            return view.nbytes

    def flush(self) -> None:
        self.out.flush()


class Capture:
    """The pipe on descriptor 1 or 2, for what is written there past Python."""

    def __init__(self, out: Out, streams: Streams, pipe: tuple[int, int]) -> None:
        self.channel = out.channel
        self.streams = streams
        self.decoder = text_decoder()
        self.fd, end = pipe
        os.set_blocking(self.fd, False)
        try:
            fcntl.fcntl(self.fd, getattr(fcntl, "F_SETPIPE_SZ", 1031), PIPE_SIZE)
        except OSError:
            pass  # over the user's limit; a small pipe works as well
        os.dup2(end, self.channel.number)
        os.close(end)

    def drain(self) -> None:
        """Sends what is in the pipe now, however much is written to it meanwhile."""
        remaining = available(self.fd)
        while remaining > 0 and (size := self.pump()):
            remaining -= size

    def pump(self) -> int:
        """Sends one piece of what is in the pipe, after the text that was printed before; returns its size.

        It comes by way of the journal: wherever another thread ends the process, it is in the pipe, there, or sent.
        """
        with interrupts, self.streams.lock:
            if not available(self.fd):
                return 0  # the other thread was faster
            self.streams.flush_text()
            journal = self.streams.journal
            size = journal.read(self.fd, self.channel.number)
            self.streams.send_journal(self.channel, self.decoder.decode(journal.pending()).encode())
            return size


class Streams:
    """Both streams of a kernel, kept in order among themselves."""

    def __init__(self, session: LeanSession, sink: Any) -> None:
        self.session = session
        self.sink = sink
        self.forked = False
        self.service: Service | None = None
        self.journal = Journal()
        self.out = Out("stdout", 1, self)
        self.err = Out("stderr", 2, self)

    @property
    def lock(self) -> Any:
        """Held from taking output to sending it, so that no thread overtakes another."""
        return self.session.link.lock

    def open(self, pipes: list[tuple[int, int]], journal: Journal) -> None:
        """Takes descriptors 1 and 2 for these pipes and starts to send over the link of the session."""
        self.journal = journal
        for out, pipe in zip((self.out, self.err), pipes, strict=True):
            out.capture = Capture(out, self, pipe)
        pumps = {out.capture.fd: out.capture.pump for out in (self.out, self.err) if out.capture}
        self.service = Service(self.session, self.sink, self.flush_text, pumps)
        interrupts.tell = self.service.tell
        interrupts.remind = self.service.reminders.again
        self.install()
        atexit.register(self.lock.acquire)  # threads end with the interpreter, anywhere: not with the lock in hand
        os.register_at_fork(before=self._before_fork, after_in_parent=self.lock.release, after_in_child=self._in_child)
        os.register_at_fork(after_in_parent=interrupts.unshield)  # the last thing that a fork does

    def install(self) -> None:
        sys.stdout = sys.__stdout__ = self.out  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self.err  # type: ignore[misc]

    def send_journal(self, channel: Channel, text: bytes) -> None:
        """Sends the text that is in the journal; for those who hold the lock."""
        link = self.session.link
        with link.lock:
            link.journal = self.journal.memory
            try:
                channel.write(text)
            finally:
                link.journal = None
        self.journal.clear()

    def switch_to(self, out: Out) -> None:
        """Sends first the text that was written elsewhere before; the text that is written now is sent soon."""
        other = self.err if out is self.out else self.out
        if other.dirty:
            other.flush_text()
        for capture in (self.out.capture, self.err.capture):
            if capture:
                capture.drain()
        if self.service:
            self.service.expect()

    def flush_text(self) -> None:
        for out in (self.out, self.err):
            if out.dirty:
                out.flush_text()

    def flush_before_question(self) -> None:
        """Sends what Python wrote: it is seen before a decision about the action that follows."""
        if self.out.dirty or self.err.dirty:
            with interrupts, self.lock:
                self.flush_text()

    def flush(self) -> None:
        """Sends everything written so far, by Python, by C and by children."""
        fflush(None)
        self.out.flush()
        self.err.flush()
        if self.service:
            with interrupts, self.lock:
                self.service.settle()

    def _before_fork(self) -> None:
        interrupts.__enter__()
        self.lock.acquire()
        self.flush()

    def _in_child(self) -> None:
        """A child of a cell writes to the pipes as any other program would, and has no part in the kernel's sockets."""
        self.forked = True
        self.service = None
        self.session.link.close()
        for out in (self.out, self.err):
            out.become_plain()
        self.lock.release()
        interrupts.uninstall()


def pieces(data: Any) -> Iterator[memoryview]:
    """UTF-8 in parts of at most MAX_TEXT bytes, cut between characters."""
    start, size = 0, len(data)
    view = memoryview(data)
    while start < size:
        end = min(start + MAX_TEXT, size)
        while end < size and data[end] & 0xC0 == 0x80:
            end -= 1
        yield view[start:end]
        start = end
)py", 13561}},
{"supervisor", {R"py("""The first process in the sandbox: forks kernels, starts programs, and leaves nothing behind."""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
from collections import deque
from contextlib import contextmanager

from ipybox_kernel import checked, hosts, isolation, landlock, packages, places, process
from ipybox_kernel.birth import Birth, Outputs
from ipybox_kernel.broker import Broker
from ipybox_kernel.children import Children
from ipybox_kernel.control import Control
from ipybox_kernel.refused import Refused

TYPE_CHECKING = False  # typing, dataclasses and traceback would double what a start without preloading takes
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, NoReturn

    from ipybox_kernel.caches import Caches
    from ipybox_kernel.isolation import Own
    from ipybox_kernel.kernel import HandlersKernel

    Chore = Callable[[], object]

PROTOCOL = 1
MOST_SECONDS = 1 << 33  # of processor time: the system counts nanoseconds, and more of them than it can count are few
SHORTLY = 5  # milliseconds without a request, before namespaces for the next kernel are made: half of a start
IDLE = 100  # milliseconds without a request, before a chore begins: the longest take a third of that


class Supervisor:
    """One control socket, and what is done at its requests."""

    def __init__(
        self,
        control: Control,
        lifeline: list[int],
        limits: dict[str, int],
        variables: list[str],
        changeable: list[str],
        walls: dict[str, Any] | None,
    ) -> None:
        self.pid = os.getpid()
        self.control = control
        self.lifeline = lifeline
        self.cpu_time: int | None = None  # of each process, but not of this one
        if "cpu_time" in limits:
            self.cpu_time = min(limits["cpu_time"], MOST_SECONDS)
        self.variables = variables  # of which the sandbox decides
        # directories in which it lets code write, unless they are mounted read-only
        self.changeable = tuple(changeable)
        self.caches: Caches | None = None  # once there is a kernel
        self.cache = ""  # a directory for them that ends with this process; empty: there is none
        self.confined = False  # in a Landlock domain
        self.missing: str | None = None  # what the guard lacks here; None: not known yet
        self.forks = 0
        self.warm_up: list[Chore] = []  # what makes the kernels after a second one faster
        self.chores: deque[Chore] = deque()  # done while there is no request
        broker = Broker()
        self.isolation = isolation.of_kernels(walls, broker)
        self.children = Children(self.isolation, broker, limits, control.send)
        process.set_dumpable(False)
        process.adopt_orphans()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        if self.pid != 1:  # which no signal reaches that it does not handle
            signal.signal(signal.SIGTERM, self.terminated)
        self.wakeup, self.wakeup_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self.wakeup_end, warn_on_full_buffer=False)

    def serve(self, ready: dict[str, Any]) -> Birth:
        """Tells the host that it is ready, and answers requests until the host has gone, when everything ends.

        Returns only in a forked child, which is to become a kernel.
        """
        try:
            self.control.send(ready)
            return self.answer_requests()
        except EOFError:
            self.children.end()

    def answer_requests(self) -> Birth:
        """Raises EOFError when the host has gone."""
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        poller.register(self.wakeup, select.POLLIN)
        while True:
            ready = dict(poller.poll(self.patience()))
            self.children.look()
            if not ready and self.isolation.wants_room():
                self.isolation.prepare(self.children.living)
            elif not ready and self.chores:
                self.do_chore()
            if self.wakeup in ready:
                os.read(self.wakeup, 4096)
                self.children.reap()
            if self.control.fileno() in ready:
                birth = self.receive()
                if birth:
                    return birth

    def patience(self) -> int | None:
        """Milliseconds to wait for something to happen; None: for ever."""
        look = self.children.patience()
        wants_room = self.isolation.wants_room()
        if not self.chores and not wants_room:
            return look
        idle = SHORTLY if wants_room else IDLE
        return idle if look is None else min(idle, look)

    def do_chore(self) -> None:
        """Does the next piece of work that need not be done at all."""
        try:
            self.chores.popleft()()
        except Exception as error:
            sys.excepthook(type(error), error, error.__traceback__)

    # Requests

    def receive(self) -> Birth | None:
        """Takes and answers one request; raises EOFError."""
        received = self.control.receive()
        if not received:
            return None
        data, descriptors = received
        birth = None
        number = None
        try:
            request = json.loads(data)
            number = request["id"]
            answer = self.answer(request, descriptors)
            if isinstance(answer, Birth):
                birth, descriptors = answer, descriptors[2:]
            else:
                self.control.reply(number, answer)
        except Refused as refusal:
            self.control.send({"id": number, "error": refusal.error})
        except (ValueError, LookupError, TypeError) as error:
            self.control.send({"id": number, "error": {"kind": "request", "text": f"malformed request: {error!r}"}})
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return birth

    def answer(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any] | Birth:
        operation = request["op"]
        if operation == "run":
            with self.isolation.own_part(request, descriptors) as own:
                return self.run(request, own, descriptors)
        if operation in ("fork", "spawn"):
            with self.entrance_in(request, descriptors) as entrance:
                if operation == "spawn":
                    return self.spawn(request, entrance)
                with self.isolation.own_part(request, descriptors) as own:
                    return self.fork(request, own, descriptors, entrance)
        if operation == "signal":
            pid, number, group = request["pid"], int(request["signal"]), bool(request.get("group"))
            return {"sent": self.children.signal(pid, number, group)}
        if operation == "watch":
            self.children.watch(request["pid"], bool(request["runs"]))
            return {}
        raise Refused("request", f"unknown operation {operation!r}")

    @contextmanager
    def entrance_in(self, request: dict[str, Any], descriptors: list[int]) -> Iterator[int | None]:
        """The file by which a new process enters its control group, while it is started; None: it has no such group."""
        if not request.get("cgroup"):
            yield None
            return
        entrance = descriptors.pop(0)
        try:
            yield entrance
        finally:
            os.close(entrance)

    def fork(
        self, request: dict[str, Any], own: Own, descriptors: list[int], entrance: int | None
    ) -> dict[str, Any] | Birth:
        """Forks a kernel; returns the answer in the parent and a Birth in the child."""
        if not descriptors or "ipybox_kernel.kernel" not in sys.modules:
            raise Refused("request", "a fork needs a stream socket and a supervisor that preloaded")
        from ipybox_kernel import caches, child

        places = self.caches = self.caches or caches.Caches(self.cache, self.confined)
        restore_cwd = bool(request.get("restore_cwd"))
        guard = self.available_guard(request.get("guard"))
        allow = checked.allow(request.get("allow", []))
        env: dict[str, str] = {}  # within walls filled in the child alone

        def environment(listener: socket.socket | None) -> dict[str, str]:
            given = self.sandboxed(checked.env(own()["env"]))
            if self.changeable:
                given["PATH"] = self.closed_path(given)
            env.update(child.environment(given, places))
            env.update(hosts.environment(listener) if listener else {})
            if listener or hosts.are_out_of_reach(env):
                # It would wait for nine seconds. What a proxy refuses, it refuses again, but a connection may break.
                env.setdefault("PIP_RETRIES", "1" if listener else "0")
            return env

        def directory() -> tuple[str | None, list[str]]:
            asked = own()
            return asked.get("cwd"), asked.get("closed", [])

        living, network = self.children.living, bool(request.get("network"))
        outputs = Outputs()
        try:
            kernel = self.isolation.fork(directory, network, environment, living, entrance)
        except BaseException:
            outputs.close()
            raise
        if not kernel.pid:
            self.close()
            if kernel.listener:
                kernel.listener.close()
            stream, *actions = (socket.socket(fileno=descriptor) for descriptor in descriptors[:2])
            return Birth(
                supervisor=self.isolation.supervisor,
                stream=stream,
                actions=actions[0] if actions else None,
                outputs=outputs,
                env=env,
                restore_cwd=restore_cwd,
                guard=guard,
                allow=allow,
                cpu_time=self.cpu_time,
                first=self.forks == 0,
            )
        self.children.add_kernel(kernel.pid, env, entrance, outputs.leftovers())
        self.isolation.add(kernel)
        self.forks += 1
        if self.forks == 2:
            # Most hosts have one kernel, and would pay with memory: what is written in this process is shared no more.
            self.chores.extend(self.warm_up)
        listener = [kernel.listener.detach()] if kernel.listener else []
        return {"pid": kernel.pid, "descriptors": [*listener, *outputs.reading_ends()]}

    def judge_path(self) -> None:
        """Finds out what kernels are to leave out of the PATH that most of them have: this process's."""
        if self.changeable:
            self.closed_path(os.environ)

    def closed_path(self, env: Mapping[str, str]) -> str:
        """The PATH of an environment without what code can change."""
        from ipybox_kernel import search_path

        return search_path.without_open(env.get("PATH", os.defpath), self.changeable)

    def sandboxed(self, env: dict[str, str]) -> dict[str, str]:
        """An environment with what the sandbox has set for this process, and without what it has taken away."""
        ours = {name: os.environ[name] for name in self.variables if name in os.environ}
        return {name: value for name, value in env.items() if name not in self.variables} | ours

    def available_guard(self, name: str | None) -> bool:
        """Whether a kernel is to be guarded; a refusal if that is impossible here."""
        if not checked.guard(name):
            return False
        if self.missing is None:
            from ipybox_kernel import guards

            self.missing = guards.unavailable()
        if self.missing:
            raise Refused("guard", f"the guard no_exec cannot be had: {self.missing}")
        return True

    def spawn(self, request: dict[str, Any], entrance: int | None) -> dict[str, Any]:
        """Starts a foreign kernel."""
        argv, env = checked.argv(request["argv"]), self.sandboxed(checked.env(request["env"]))
        pid = self.isolation.spawn(argv, env, request.get("cwd"), self.cpu_time, entrance)
        self.children.living.add(pid)
        return {"pid": pid}

    def run(self, request: dict[str, Any], own: Own, descriptors: list[int]) -> dict[str, Any]:
        """Starts a program that a kernel has asked for."""
        kernel = request["kernel"]
        if len(descriptors) != 3:
            raise Refused("request", "a program needs three descriptors")
        process.open_null_anew(descriptors)
        if kernel not in self.children.broker.environments:
            raise Refused("kernel", f"kernel {kernel} has ended")

        def words(environment: dict[str, str]) -> tuple[list[str], dict[str, str], str | None]:
            asked = own()
            argv, env = checked.argv(asked["argv"]), checked.changed_env(environment, asked["env"])
            if self.cpu_time is not None:
                argv = process.with_cpu_time(argv, self.cpu_time)
            return argv, env, asked.get("cwd")

        pid = self.isolation.run(kernel, words, descriptors, self.children.entrances.get(kernel))
        self.children.add_program(pid, kernel)
        return {"pid": pid}

    # The end

    def terminated(self, *_: object) -> NoReturn:
        """The keeper has ended, or this process is told to."""
        if os.getpid() == self.pid:
            self.children.end()
        os._exit(128 + signal.SIGTERM)  # a child that has not yet become what it will be

    def close(self) -> None:
        """Lets go of everything that is the supervisor's; for its forked children."""
        self.control.close()
        self.isolation.close()
        self.children.close()
        for descriptor in (self.wakeup, self.wakeup_end, *self.lifeline):
            os.close(descriptor)


def taken(limits: dict[str, int], control: socket.socket) -> Callable[[], None]:
    """Takes limits; the result looks whether they leave room for a kernel."""
    if not limits:
        return lambda: None
    from ipybox_kernel.limits import take_with_room

    return take_with_room(limits, control)


def preloaded(control: Control, hello: dict[str, Any], check_room: Callable[[], None]) -> HandlersKernel:
    """A kernel that works, ready to be forked. Ends everything where there is none."""
    gc.disable()  # nothing of what is imported now will ever be garbage
    from ipybox_kernel import preload

    try:
        return preload.kernel(hello.get("level", "auto"), hello.get("modules", []))
    except preload.Failure as failure:
        check_room()
        control.fail(failure.kind, str(failure))


def main(end: socket.socket, hello: dict[str, Any], lifeline: list[int]) -> None:
    """Runs the supervisor, and in its forked children the kernel."""
    if lifeline:
        process.die_with_other_end(lifeline[0])
        process.die_with_keeper()
    places.check(hello.get("places", []), end)
)py"
R"py(    allowed, between = hello.get("limits", {}), hello.get("walls")
    if between:
        # Of each kernel alone: the system counts what is in a namespace among what is in the one around it as well.
        between["processes"] = allowed.pop("processes", None)
    if hello.get("domain"):
        landlock.is_within_files()
    check_room = taken(allowed, end)
    control = Control(end)
    try:
        variables, changeable = hello.get("variables", []), hello.get("changeable", [])
        supervisor = Supervisor(control, lifeline, allowed, variables, changeable, between)
        supervisor.cache, supervisor.confined = hello.get("cache", ""), bool(hello.get("domain"))
        if hello.get("protocol") != PROTOCOL:
            control.fail("error", f"the host speaks protocol {hello.get('protocol')}, this supervisor {PROTOCOL}")
        kernel = preloaded(control, hello, check_room) if hello.get("preload", True) else None
        packages.layer = hello.get("packages") or None
    finally:
        check_room()  # an error that comes from too little room would not say so
    ready = {
        "event": "ready",
        "protocol": PROTOCOL,
        "pid": supervisor.pid,
        "executable": sys.executable,
        "python": sys.version.split()[0],
        "ipykernel": None,
        "ipython": None,
        "level": "none",
    }
    if not kernel:
        supervisor.serve(ready)
        return

    from ipybox_kernel import child, hints, preload

    hints.private = tuple(hello.get("private", []))
    supervisor.warm_up = [supervisor.judge_path, *preload.warm_up(kernel)]
    birth = supervisor.serve({**ready, **preload.versions(), "level": kernel.level})
    child.become_kernel(kernel, birth)
)py", 16708}},
{"tools", {R"py("""Calls of MCP tools: ``ToolRunner``, its errors, and what tools answer beside text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from ipybox_kernel import actions
from ipybox_kernel.actions import ApprovalRejectedError, ApprovalTimeoutError, ToolRunnerError
from ipybox_kernel.inbox import Answer

__all__ = [
    "ApprovalRejectedError",
    "ApprovalTimeoutError",
    "Audio",
    "Blob",
    "Content",
    "Document",
    "Image",
    "Link",
    "Progress",
    "ToolRunner",
    "ToolRunnerError",
    "Unreadable",
    "packages",
    "progress",
]


class Progress(NamedTuple):
    """How far a tool has come."""

    done: float  #: grows with each report
    total: float | None = None  #: what it will be at the end, where that is known
    message: str | None = None  #: what the tool is doing

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:g}"
        return f"{self.done:g}{of}" + (f": {self.message}" if self.message else "")


_listener: ContextVar[Callable[[Progress], object] | None] = ContextVar("_listener", default=None)


@contextmanager
def progress(heard: Callable[[Progress], object] = print) -> Iterator[None]:
    """Within it, calls of tools tell `heard` how far they have come: those of this thread, and of its tasks.

    An exception of `heard` ends the call.
    """
    token = _listener.set(heard)
    try:
        yield
    finally:
        _listener.reset(token)


def _reported(heard: Callable[[Progress], object]) -> Callable[[dict[str, Any]], object]:
    return lambda head: heard(Progress(head["done"], head.get("total"), head.get("message")))


class ToolRunner:
    """Calls the tools of one MCP server. The host knows how to reach it, and asks before a tool runs.

    Parameters of a server, a host and a port are taken, since generated packages may have them, and have no effect.
    """

    def __init__(
        self,
        server_name: str,
        server_params: dict[str, Any] | None = None,
        host: str | None = None,
        port: int | None = None,
    ) -> None:
        self.server_name = server_name

    def run_sync(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        """Calls a tool and returns its result: text, or what its structured result holds.

        A result with images, audio, files or links is displayed with them, and has them as ``parts``.

        Raises:
            ApprovalRejectedError: the call was rejected.
            ApprovalTimeoutError: no decision about it came in time.
            ToolRunnerError: the tool failed, or could not be called.
        """
        head, body = self._request(tool_name, tool_args)
        if heard := _listener.get():
            heard_call = actions.channel().call_heard
            return self._result(heard_call("call", {**head, "progress": True}, body, _reported(heard)))
        return self._result(actions.channel().call("call", head, body))

    async def run(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        """The same for ``await``."""
        head, body = self._request(tool_name, tool_args)
        if heard := _listener.get():
            head["progress"] = True
            return self._result(await actions.channel().call_async("call", head, body, _reported(heard)))
        return self._result(await actions.channel().call_async("call", head, body))

    def _result(self, answer: Answer) -> Any:
        return result(answer, self.server_name)

    def _request(self, tool_name: str, tool_args: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        try:
            return {"server": self.server_name, "tool": tool_name}, encode(tool_args).encode()
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            reason = f"hold {half!r}, half of a surrogate pair, which no text in UTF-8 has: replace it"
        except RecursionError:
            reason = "are nested too deeply"
        raise ToolRunnerError(f"the arguments of {self.server_name}.{tool_name} {reason}")

    def __repr__(self) -> str:
        return f"ToolRunner(server_name={self.server_name!r})"


def packages(server: str = "", *, wait: bool = True) -> dict[str, str | None] | None:
    """Has the host generate the package of a server, or of all, and waits for it.

    Returns the servers that the host knows, each with None or why its package is not there; None where no host is.
    """
    try:
        answer = actions.channel().call("packages", {"server": server, "wait": wait}, b"")
    except ToolRunnerError:
        return None
    states: dict[str, str | None] = json.loads(str(answer.body, "utf-8"))
    return states


def _printable(text: str) -> str:
    """The text of a server, without what a terminal would obey."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class Content:
    """Something beside text that a tool answered: ``data``, its MIME type as ``mime``, and the ``uri`` of a file."""

    def __init__(self, data: bytes, mime: str, uri: str | None = None) -> None:
        self.data = data
        self.mime = mime
        self.uri = uri

    def __repr__(self) -> str:
        where = f" {self.uri}," if self.uri else ""
        return _printable(f"<{type(self).__name__}{where} {self.mime}, {len(self.data)} bytes>")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"text/plain": repr(self)}


class Shown(Content):
    """Content that can be looked at or listened to."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        # the type is the server's word: it does not choose how a front end shows what else there is
        mime = self.mime.partition(";")[0].strip().lower()
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        if mime == "image/svg+xml":
            bundle[mime] = self.data.decode(errors="replace")
        elif re.fullmatch(r"(image|audio)/[a-z0-9.+-]+", mime):
            bundle[mime] = self.data
        return bundle


class Image(Shown):
    """An image."""


class Audio(Shown):
    """A recording."""


class Blob(Content):
    """A file."""


class Document(Content):
    """A file of text. The text of a result has it too."""

    @property
    def text(self) -> str:
        return self.data.decode()


class Unreadable(Content):
    """An image, a recording or a file that is not valid base64: ``data`` is the text that came."""


class Link:
    """A resource that can be read at its server: ``mcptools.read(link)``. The text of a result has the ``uri`` too."""

    def __init__(
        self,
        uri: str,
        name: str,
        title: str | None = None,
        description: str | None = None,
        mime: str | None = None,
        server: str | None = None,
    ) -> None:
        self.uri = uri
        self.name = name
        self.title = title
        self.description = description
        self.mime = mime
        self.server = server

    def __repr__(self) -> str:
        about = "".join(f", {text}" for text in (self.title or self.name, self.description, self.mime) if text)
        return _printable(f"<Link {self.uri}{about}>")


Part = Content | Link


class Awaited:
    """A result that is there: awaited, it is itself, as all results of tools are."""

    _is_result = True

    def __await__(self) -> Generator[Any, None, Any]:
        return self
        yield

    def send(self, value: object) -> Any:
        raise StopIteration(self)

    def throw(self, error: Any, *more: Any) -> Any:
        raise error

    def close(self) -> None:
        pass


class Mixed(Awaited):
    """The second class of a result if more came with it: ``value`` is the result by itself, ``parts`` is the rest."""

    value: Any
    parts: list[Part]

    def carried_by(self, value: Any) -> Any:
        """The same parts with what was made of the value."""
        return with_parts(value, self.parts)

    def show(self, value: Any) -> None:
        """Displays what was made of the value, and the parts."""
        from IPython.display import display

        if value != "":
            display({"text/plain": repr(value)}, raw=True)
        for part in self.parts:
            display(part)

    def _ipython_display_(self) -> None:
        self.show(self.value)


class MixedText(Mixed, str):
    """Text, and ``parts``."""


class MixedObject(Mixed, dict[str, Any]):
    """A structured result, and ``parts``."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # asyncio.gather keeps what it waits for in a dict


class MixedList(Mixed, list[Any]):
    """A structured result, and ``parts``."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class MixedInteger(Mixed, int):
    """A structured result, and ``parts``."""


class MixedNumber(Mixed, float):
    """A structured result, and ``parts``."""


Coroutine.register(Awaited)

CONTENTS: dict[str, type[Content]] = {
    "image": Image,
    "audio": Audio,
    "blob": Blob,
    "document": Document,
    "unreadable": Unreadable,
}
MIXED: dict[type, Any] = {str: MixedText, dict: MixedObject, list: MixedList, int: MixedInteger, float: MixedNumber}


def with_parts(value: Any, parts: list[Part]) -> Any:
    """The value as one that has parts. True, False and None cannot have any: theirs are displayed at once."""
    if type(value) not in MIXED:
        from IPython.display import display

        for part in parts:
            display(part)
        return value
    mixed = MIXED[type(value)](value)
    mixed.value, mixed.parts = value, parts
    return mixed


def result(answer: Answer, server: str | None = None) -> Any:
    """The answer of a tool, as a value of Python."""
    head, body = answer.head, answer.body
    described = head.get("parts", [])
    end = len(body) - sum(part["size"] for part in described)
    value = str(body[:end], "utf-8") if head["text"] else json.loads(str(body[:end], "utf-8"))
    parts: list[Part] = []
    for part in described:
        kind, size = part.pop("type"), part.pop("size")
        data = bytes(body[end : end + size])
        parts.append(Link(**part, server=server) if kind == "link" else CONTENTS[kind](data, **part))
        end += size
    return with_parts(value, parts) if parts else value


def plain(value: Any) -> Any:
    """The JSON of models, dates, paths and their like."""
    try:
        from pydantic_core import to_jsonable_python
    except ImportError:
        raise TypeError(f"{type(value).__name__} is not JSON") from None
    return to_jsonable_python(value)


encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain).encode
)py", 10920}},
{"tracebacks", {R"py("""Errors of cells, shown without the machinery that ran them."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from IPython.core.error import InputRejected, UsageError

from ipybox_kernel.cells import Cells
from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.plain_traceback import plain_traceback

RENDERERS = {"stack_data", "executing", "asttokens", "pure_eval"}
EXPECTED = (SyntaxError, InputRejected, UsageError)  # of cells that do not begin
MAX_CHAIN = 100  # exceptions that are looked at
HIDDEN = {"IPython", "ipykernel", "ipybox_kernel", "decorator", *RENDERERS}
MACHINERY = {*HIDDEN, "traitlets", "jupyter_client", "pygments", *sys.stdlib_module_names}

T = TypeVar("T")


class Mended(Exception):
    """The machinery has failed, for what earlier code had replaced. That is put back: what it did is to be repeated."""


class Tracebacks:
    """Takes the place of ``shell.showtraceback``, and remembers what the reply to the cell has to say."""

    def __init__(
        self, shell: Any, cells: Cells, publish: Callable[[dict[str, Any]], None], mend: Callable[[], bool]
    ) -> None:
        self.shell = shell
        self.cells = cells
        self.publish = publish
        self.mend = mend  # puts back what code has replaced; whether there was anything
        self.display_error: BaseException | None = None
        self.repeats: Callable[[BaseException], bool] = never  # after `Mended`, what fails so while code runs
        self.left: SystemExit | None = None  # what the cell has raised to leave
        self.rendered = False  # whether IPython has formatted one
        shell.showtraceback = self.show

    def begin(self) -> None:
        """A new cell starts."""
        self.display_error = self.left = None

    def show(
        self,
        exc_tuple: Any = None,
        filename: str | None = None,
        tb_offset: int | None = None,
        exception_only: bool = False,
        running_compiled_code: bool = False,
    ) -> None:
        """Publishes the exception that just occurred, as IPython formats it."""
        with interrupts.dropped():
            self.show_undisturbed(exc_tuple, filename, exception_only, running_compiled_code)

    def show_undisturbed(
        self, exc_tuple: Any, filename: str | None, exception_only: bool, running_compiled_code: bool
    ) -> None:
        error = exc_tuple[1] if exc_tuple else (sys.exc_info()[1] or getattr(sys, "last_value", None))
        if error is None:
            print("No traceback available to show.", file=sys.stderr)
            return
        error = as_interrupt(error)
        if self.is_of_machinery(error) and self.mend():
            raise Mended
        if isinstance(error, SystemExit):
            self.left = error
            if self.shell.exit_now:
                return  # of exit(), which is no error
        clean(error)
        remember(error)
        self.cells.keep()
        if isinstance(error, UsageError):
            print(f"UsageError: {error}", file=sys.stderr)
            return
        if getattr(self.shell.displayhook, "msg", None) is not None:
            self.display_error = error  # the value of the cell could not be shown
        if isinstance(error, SyntaxError) and filename:
            error.filename = filename
        self.publish(describe(error, self.format(error, exception_only, running_compiled_code)))

    def is_of_machinery(self, error: BaseException) -> bool:
        """Whether code has no part in an error, and what has failed can be repeated."""
        if not interrupts.armed or isinstance(error, EXPECTED):
            return False
        return not interrupts.begun or (isinstance(error, Exception) and self.repeats(error))

    def repeated(self, step: Callable[[], T]) -> T:
        """Does a step of the machinery; again if it fails for what code has replaced."""
        outer = self.repeats
        self.repeats = is_alone
        try:
            while True:
                try:
                    return step()
                except Mended:
                    continue
                except Exception as failure:
                    if not is_alone(failure) or not self.mend():
                        raise
        finally:
            self.repeats = outer

    def format(self, error: BaseException, exception_only: bool, running_compiled_code: bool) -> list[str]:
        """The lines of a traceback: as IPython has them, or few and at once for code that was interrupted."""
        if interrupts.taken and is_interrupt(error):
            return plain_traceback(error, self.cells)
        lines = self.render(error, exception_only, running_compiled_code)
        return self.as_written(lines) if self.cells.written else lines

    def as_written(self, lines: list[str]) -> list[str]:
        """Puts what cells say in the place of what IPython made of it: ``!ls`` for ``get_ipython().system('ls')``."""
        names = {f"Cell {self.cells.labels[name]}, line ": name for name in self.cells.written}
        shown = []
        for text in lines:
            name = next((name for start, name in names.items() if text.lstrip().startswith(start)), None)
            shown.append(self.cells.as_written(name, text) if name else text)
        return shown

    def render(self, error: BaseException, exception_only: bool, running_compiled_code: bool) -> list[str]:
        kind, frames = type(error), error.__traceback__
        try:
            if isinstance(error, SyntaxError):
                entries = traceback.extract_tb(frames) if running_compiled_code else []
                return list(self.shell.SyntaxTB.structured_traceback(kind, error, entries))
            if exception_only:
                notice = "An exception has occurred, use %tb to see the full traceback.\n"
                return [notice, *self.shell.InteractiveTB.get_exception_only(kind, error)]
            if any(map(is_group, chain(error))):
                return traceback.format_exception(kind, error, frames)
            if hasattr(error, "_render_traceback_"):
                return list(error._render_traceback_())
            self.rendered = True
            with of_no_module(error, self.cells):
                return list(self.shell.InteractiveTB.structured_traceback(kind, error, frames, tb_offset=0))
        except Exception as failure:
            if is_alone(failure) and self.mend():
                return self.render(error, exception_only, running_compiled_code)
            return traceback.format_exception(kind, error, frames)


def never(error: BaseException) -> bool:
    """Of what cannot be repeated."""
    return False


def is_alone(error: BaseException) -> bool:
    """Whether an error comes from the machinery, with no code of others between its frames."""
    modules = (str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(error.__traceback__))
    return all(module.partition(".")[0] in MACHINERY for module in modules)


@contextmanager
def of_no_module(error: BaseException, cells: Cells) -> Iterator[None]:
    """Tells ``inspect`` that cells belong to no module: else it looks through all, three times for each frame."""
    frames = (frame for linked in chain(error) for frame, _ in traceback.walk_tb(linked.__traceback__))
    codes = {frame.f_code.co_filename for frame in frames}
    names = [name for code in codes if code in cells.labels for name in (code, absolute(code))]
    inspect.modulesbyfile.update(dict.fromkeys(names, ""))  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for name in names:
            inspect.modulesbyfile.pop(name, None)  # type: ignore[attr-defined]


def absolute(name: str) -> str:
    """The path that ``inspect`` takes a code's name for."""
    try:
        return os.path.abspath(name)
    except FileNotFoundError:  # the working directory is gone
        return name


def describe(error: BaseException, lines: list[str] | None = None) -> dict[str, Any]:
    """The content of an ``error`` message."""
    try:
        text = str(error)
    except Exception:
        text = f"<unprintable {type(error).__name__}>"
    return {"ename": type(error).__name__, "evalue": text, "traceback": lines or []}


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception is an interrupt, or was raised while one was handled."""
    return any(isinstance(linked, KeyboardInterrupt) for linked in chain(error))


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that it was raised from or while they were handled. Code can make a circle of them."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen and len(seen) < MAX_CHAIN:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def as_interrupt(error: BaseException) -> BaseException:
    """KeyboardInterrupt for the CancelledError that an interrupt became in an ``await`` cell."""
    if interrupts.cancelled and isinstance(error, asyncio.CancelledError):
        return KeyboardInterrupt().with_traceback(error.__traceback__)
    return error


def clean(error: BaseException) -> None:
    """Removes the frames of the machinery from an exception and from everything it is chained to."""
    waiting, seen = [error], set()
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        current.__traceback__ = user_frames(current.__traceback__)
        waiting += [linked for linked in (current.__cause__, current.__context__) if linked]
        waiting += getattr(current, "exceptions", ()) if is_group(current) else ()


def user_frames(frames: TracebackType | None) -> TracebackType | None:
    kept = []
    while frames:
        module = str(frames.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in HIDDEN:
            kept.append(frames)
        frames = frames.tb_next
    chain: TracebackType | None = None
    for entry in reversed(kept):
        chain = TracebackType(chain, entry.tb_frame, entry.tb_lasti, line_of(entry))
    return chain


def line_of(entry: TracebackType) -> int:
    """The line that raised an exception. An interrupt may strike at an instruction without a line: the one before."""
    if entry.tb_lineno is not None:
        return entry.tb_lineno
    code = entry.tb_frame.f_code  # type: ignore[unreachable]  # what typeshed does not know
    lines = [line for start, _, line in code.co_lines() if line is not None and start <= entry.tb_lasti]
    return lines[-1] if lines else code.co_firstlineno


def is_group(error: BaseException) -> bool:
    return any(kind.__name__ == "BaseExceptionGroup" for kind in type(error).__mro__)


def remember(error: BaseException) -> None:
    """Sets the exception that ``%tb``, ``%debug`` and ``pdb.pm`` look at."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
)py", 11256}},
{"values", {R"py("""Values of a session as JSON, for the host, which has this text executed in whatever IPython kernel there is.

An answer is ``=`` and JSON, or ``!`` and the reason why there is none.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from IPython import get_ipython

LONGEST = 1 << 20  # bytes of JSON
TOO_LONG = f"larger than {LONGEST >> 20} MiB as JSON"
MAX_NAME = 100  # characters of a type


class Answer:
    """A text that IPython shows as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text)


def last() -> Answer:
    """The value of the last expression of the cell that has run, unless it is None."""
    result = get_ipython().last_execution_result
    value = None if result is None else result.result
    return Answer("!the code does not end with an expression that has a value") if value is None else answer(value)


def get(name: str) -> Answer:
    """The value of a variable."""
    variables = get_ipython().user_ns
    if name not in variables:
        raise NameError(f"name {name!r} is not defined")
    return answer(variables[name])


def put(name: str, text: str) -> Answer:
    """Sets a variable."""
    get_ipython().push({name: json.loads(text)})
    return Answer("=null")


def answer(value: Any) -> Answer:
    """The JSON of a value. No ``repr`` is called, but a dictionary may be of a class of the code's own."""
    try:
        text = encode(value)
        if text is None or len(text.encode()) > LONGEST:
            return Answer(f"!{TOO_LONG}")
        return Answer(f"={text}")
    except UnicodeEncodeError:
        what = "a text that is not Unicode"
    except RecursionError:
        what = "it is nested too deeply"
    except Exception as error:
        said = error.args[0] if error.args and type(error) in (TypeError, ValueError) else None
        what = said if type(said) is str else f"{name_of(type(error))} was raised"
    return Answer(f"!not JSON: {what}")


def encode(value: Any) -> str | None:
    """The JSON of a value; none where that is too long, of which no more is made than is needed to know."""
    if isinstance(value, str) and len(value) > LONGEST:
        return None
    pieces, size = [], 0
    for piece in ENCODER.iterencode(value):
        size += len(piece)
        if size > LONGEST:
            return None
        pieces.append(piece)
    return "".join(pieces)


def scalar(value: Any) -> Any:
    """The number that a scalar of NumPy stands for."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.number, numpy.bool_)):
        number = value.item()
        if type(number) in (bool, int, float) and not isinstance(value, numpy.timedelta64):
            return number
    raise TypeError(f"a value of type {name_of(type(value))}")


def name_of(kind: type) -> str:
    return kind.__name__[:MAX_NAME]


ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=scalar)
)py", 3148}},
{"walls", {R"py("""Walls between the kernels of one supervisor: each lives in namespaces of its own, and so do its programs.

Within walls there is a file system in which the directories of the other kernels do not exist, and there are private
temporary directories, a loopback, terminals, shared memory and processes of its own.
"""

from __future__ import annotations

import os
import signal
import socket

from ipybox_kernel import hosts, process, workplace
from ipybox_kernel.landlock import Missing
from ipybox_kernel.mounts import mount_processes, rearrange_files
from ipybox_kernel.refused import Refused
from ipybox_kernel.reports import collect, fail, failure_in
from ipybox_kernel.rooms import CLONE_NEWPID, ENDED, NAMESPACES, Plan, Room, enter, fork, give_up_rights, prepare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    #: The working directory of a kernel (None: that of this process), and paths in it that it must not write to.
    Directory = Callable[[], tuple[str | None, list[str]]]
    #: The environment of a kernel with this listening socket, if it has one.
    Environment = Callable[[socket.socket | None], dict[str, str]]
    #: Of a kernel's environment: words, environment and directory of a program.
    Words = Callable[[dict[str, str]], tuple[list[str], dict[str, str], str | None]]


class Walls:
    """The rooms of the kernels that live, and one for the next: making it is most of what a walled start takes."""

    def __init__(self, hello: dict[str, Any]) -> None:
        self.plan = Plan(hello)
        self.rooms: dict[int, Room] = {}
        self.next: Room | None = None
        self.ahead = False  # whether it is made ahead of time: from the first kernel on, as long as that works

    def wants_room(self) -> bool:
        return self.ahead and self.next is None

    def prepare(self, living: set[int]) -> None:
        """Makes the room for the next kernel, after the first one."""
        try:
            self.next = prepare(self.plan)
            living.add(self.next.init)
        except (OSError, Missing):
            self.ahead = False  # the next kernel tries it again, and its start says why it fails

    def take_room(self, living: set[int]) -> Room:
        """The room that was made ahead of time, or another one where there is none or its first process has ended."""
        room, self.next = self.next, None
        if room:
            living.discard(room.init)
            if not room.has_ended():
                return room
            room.close()
        return prepare(self.plan)

    def fork(
        self,
        directory: Directory,
        network: bool,
        environment: Environment,
        living: set[int],
        entrance: int | None = None,
    ) -> tuple[int, Room, socket.socket | None]:
        """Forks a kernel; the pid is 0 in the child, where alone its directory and its environment are asked for.

        Kernels to come inherit the memory of this process. Raises Refused, Missing and OSError.
        """
        room = self.take_room(living)
        self.ahead = True
        try:
            process.enter_cgroup(entrance, room.init)  # code can look into it, and change it
            pid, listener = fork_kernel(self.plan, room, directory, network, environment, entrance)
        except BaseException:
            process.kill(room.init, signal.SIGKILL)
            room.close()
            raise
        if not pid:  # the rooms of others are none of its business
            for each in (room, *self.rooms.values()):
                each.close()
        return pid, room, listener

    def add(self, kernel: int, room: Room) -> None:
        self.rooms[kernel] = room

    def start(self, kernel: int, words: Words, descriptors: list[int], entrance: int | None = None) -> int:
        """Starts a program of a kernel, as `process.start` does; raises Refused, Missing and OSError.

        The words are asked for in the child alone: kernels to come inherit the memory of this process.
        """
        room = self.rooms[kernel]
        pid = start(Program(self.plan, room, words, descriptors, entrance))
        room.programs.add(pid)
        return pid

    def has_group(self, program: int) -> bool:
        """Whether a program that has ended left anything in its process group: the first process adopted that."""
        inits = [room.init for room in self.rooms.values() if program in room.programs]
        return any(program in process.groups_below(init) for init in inits)

    def end_program(self, kernel: int, program: int) -> None:
        """A program has ended. Its pid stays in use as long as its group has processes."""
        room = self.rooms.get(kernel)
        if room and program in room.programs and not self.has_group(program):
            room.programs.discard(program)

    def forget(self, pid: int) -> None:
        """A kernel has ended, or the first process of the next one's room."""
        if room := self.rooms.pop(pid, None):
            room.close()
        if self.next and self.next.init == pid:
            self.next.close()
            self.next = None


class Program:
    """A program that a kernel has asked for."""

    def __init__(self, plan: Plan, room: Room, words: Words, descriptors: list[int], entrance: int | None) -> None:
        self.plan = plan
        self.room = room
        self.words = words
        self.descriptors = descriptors
        self.entrance = entrance  # of the control group of its kernel, if that has one


def fork_kernel(
    plan: Plan, room: Room, directory: Directory, network: bool, environment: Environment, entrance: int | None
) -> tuple[int, socket.socket | None]:
    """Forks a kernel into a room, with a listening socket there if it has a network; the pid is 0 in the child."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        pid = fork(room)
        if not pid:
            process.enter_cgroup_or_end(entrance)
            return 0, settle(plan, room, directory, network, environment, theirs)
        theirs.close()
        words, descriptors = collect(ours, pid)
    listener = socket.socket(fileno=descriptors[0]) if descriptors else None
    failure = failure_in(words)
    if failure is None:
        return pid, listener
    if listener:
        listener.close()
    os.waitpid(pid, 0)
    raise failure


def settle(
    plan: Plan, room: Room, directory: Directory, network: bool, environment: Environment, report: socket.socket
) -> socket.socket | None:
    """Does the first steps of a kernel; returns its listening socket."""
    try:
        enter(room.descriptor, NAMESPACES & ~CLONE_NEWPID)
        place, closed = directory()
        go_to(place, plan.workspace)
        rearrange_files(plan, os.getcwd(), closed)
        mount_processes()
        give_up_rights(plan)
        listener = hosts.listen() if network else None
        if listener:
            socket.send_fds(report, [b"listener"], [listener.fileno()])
        room.remember(environment(listener))
    except BaseException as error:
        fail(report, error, 1)
    return listener


def go_to(directory: str | None, workspace: str) -> None:
    """Goes to the working directory of a kernel."""
    try:
        if directory is not None:
            workplace.enter(directory, workspace)
            os.getcwd()  # no way leads to one that was removed while it was mounted
    except OSError as error:
        raise Refused("cwd", "", errno=error.errno) from None


def start(program: Program) -> int:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        pid = fork(program.room)
        if not pid:
            become(program, theirs)
        theirs.close()
        words, _ = collect(ours, pid)
    failure = failure_in(words)
    if failure is None:
        return pid
    os.waitpid(pid, 0)
    raise Missing(ENDED) if program.room.has_ended() else failure


def become(program: Program, report: socket.socket) -> NoReturn:
    """Runs a program in place of this process."""
    try:
        process.enter_cgroup(program.entrance)
        os.setsid()
        argv, env, cwd = program.words(program.room.environment())
        enter(program.room.descriptor, NAMESPACES & ~CLONE_NEWPID)
        try:
            os.chdir(os.getcwd() if cwd is None else cwd)
        except OSError as error:
            raise Refused("cwd", "", errno=error.errno) from None
        give_up_rights(program.plan)
        process.default_signals()
        for number, descriptor in enumerate(program.descriptors):
            os.dup2(descriptor, number)
        try:
            process.execute(argv, env)
        except OSError as error:
            raise Refused("exec", "", errno=error.errno) from None
    except BaseException as error:
        fail(report, error, 127)
    os._exit(127)
)py", 8924}},
{"warming", {R"py("""Preparations that make the first error of a kernel as fast as the next ones, in small pieces while nothing runs."""

from __future__ import annotations

import importlib
import linecache
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.machinery import PathFinder
from typing import Any

QUIET = 0.1  # seconds without a request before the first piece
NEXT = 0.01  # and before each other piece, none of which takes longer than this
RENDERER = (  # what IPython imports for the first traceback, what others need first
    "fractions",
    "pure_eval",
    "asttokens.util",
    "asttokens.asttokens",
    "executing.executing",
    "pygments.formatters.terminal256",
    "pygments.styles",
    "stack_data",
)
CELL, FAILS = "<ipython-input-0>", "1/0\n"
INSTALLED = list(sys.path)  # of the interpreter alone, without the folders where cells work


class WarmUp:
    """The pieces that are left to do."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.pieces: deque[Callable[[], object]] = deque()
        self.wait = QUIET

    def plan(self) -> None:
        """For a kernel that was forked before its supervisor has shown an error."""
        self.pieces.extend(partial(import_installed, name) for name in RENDERER if name not in sys.modules)
        self.pieces.append(self.rehearse)

    def drop(self) -> None:
        """There is nothing left to do."""
        self.pieces.clear()

    def step(self) -> None:
        """Does the next piece. If one cannot be done, the others are left to the first error."""
        self.wait = NEXT
        try:
            self.pieces.popleft()()
        except Exception:
            self.drop()

    def rehearse(self) -> None:
        """Renders a traceback that is not shown, which compiles what the first one needs."""
        renderer = self.shell.InteractiveTB
        latest = getattr(renderer, "tb", None)  # what %debug looks at
        linecache.cache[CELL] = len(FAILS), None, [FAILS], CELL
        try:
            exec(compile(FAILS, CELL, "exec"))
        except ZeroDivisionError as error:
            renderer.structured_traceback(ZeroDivisionError, error, error.__traceback__, tb_offset=0)
        finally:
            del linecache.cache[CELL]
            renderer.tb = latest


def import_installed(name: str) -> None:
    """Imports a module, unless a folder of the user's has one of this name, which is not to be run or hidden."""
    folders = [entry for entry in sys.path if entry not in INSTALLED]
    if PathFinder.find_spec(name.partition(".")[0], folders):
        raise ImportError(name)
    with only_installed():
        importlib.import_module(name)


@contextmanager
def only_installed() -> Iterator[None]:
    """Finds modules of the interpreter only. The list itself stays as it is, for threads that use it meanwhile."""
    users = sys.path
    sys.path = list(INSTALLED)
    try:
        yield
    finally:
        sys.path = users
)py", 3073}},
{"watchdog", {R"py("""Looks at what kernels take of the machine while they run code: each with all that it has started."""

from __future__ import annotations

import os
import time

from ipybox_kernel import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

INTERVAL = 0.1  # seconds between two looks
LONGEST_INTERVAL = 1.0
SLICE = 0.02  # seconds that a look takes at once: what many processes share takes long to count, and requests wait
SHARE = 50  # looks take no more than this part of the time, as long as the longest interval allows it
KIB = 1024
IDLE_LOOKS = 3
STRANGERS = 0  # no pid: processes that may be of several kernels


class Excess:
    """A limit that a kernel has exceeded."""

    def __init__(self, limit: str, used: int, allowed: int) -> None:
        self.limit = limit
        self.used = used
        self.allowed = allowed

    def described(self) -> dict[str, object]:
        return {"limit": self.limit, "used": self.used, "allowed": self.allowed}


class Rest:
    """Processes that a kernel has left at work: their processor time, and how many looks have found no more of it."""

    def __init__(self) -> None:
        self.used = -1
        self.idle = 0


class Watchdog:
    """Which kernels are looked at, and when. While none is, nothing happens."""

    def __init__(self, limits: dict[str, int]) -> None:
        self.memory = limits.get("kernel_memory")
        self.tasks = limits.get("kernel_processes")
        self.running: set[int] = set()
        self.resting: dict[int, Rest] = {}  # what kernels have left at work
        self.next = 0.0
        self.steps: Iterator[dict[int, Excess] | None] | None = None  # of the look that is under way
        self.spent = 0.0  # seconds on it

    def begin(self, kernel: int) -> None:
        """A kernel runs code."""
        if not self.watched():
            self.next = time.monotonic()
        self.resting.pop(kernel, None)
        self.running.add(kernel)

    def rest(self, kernel: int) -> None:
        """The code has ended. Processes that it has left at work are looked at until they do nothing any more."""
        if kernel in self.running:
            self.running.discard(kernel)
            self.resting[kernel] = Rest()

    def forget(self, kernel: int) -> None:
        self.running.discard(kernel)
        self.resting.pop(kernel, None)

    def watched(self) -> set[int]:
        return {*self.running, *self.resting}

    def patience(self) -> int | None:
        """Milliseconds until the next look; None: there will be none."""
        if not self.watched():
            return None
        return max(0, round(1000 * (self.next - time.monotonic())))

    def is_due(self) -> bool:
        return bool(self.watched()) and time.monotonic() >= self.next

    def look(self, roots: Callable[[int], list[str]]) -> dict[int, Excess]:
        """The kernels that exceed a limit. Their processes are below the roots, which are numbers in ``/proc``.

        Nothing as long as the look is not done: then the next slice of it is due at once.
        """
        begun = now = time.monotonic()
        if self.steps is None:
            self.steps, self.spent = self.look_in_steps(roots), 0.0
        found = None
        while found is None and now - begun < SLICE:
            found = next(self.steps)
            now = time.monotonic()
        self.spent += now - begun
        if found is None:
            self.next = now
            return {}
        self.steps = None
        self.next = now + min(max(INTERVAL, SHARE * self.spent), LONGEST_INTERVAL)
        return found

    def look_in_steps(self, roots: Callable[[int], list[str]]) -> Iterator[dict[int, Excess] | None]:
        """Short steps, and at last what they have come to."""
        excesses = {}
        for kernel in [*self.watched(), STRANGERS]:
            numbers = list(descendants(roots(kernel)))
            excess = yield from self.excess(numbers)
            if excess:
                excesses[kernel] = excess
            elif kernel in self.resting:
                self.look_at_rest(kernel, numbers)
        yield excesses

    def look_at_rest(self, kernel: int, numbers: list[str]) -> None:
        """It is at rest when it has used no processor time for a few looks: a busy machine may have had none for it."""
        rest = self.resting[kernel]
        used = sum(map(processor_time, numbers))
        rest.idle = rest.idle + 1 if used == rest.used else 0
        rest.used = used
        if rest.idle == IDLE_LOOKS:
            del self.resting[kernel]

    def excess(self, numbers: list[str]) -> Generator[None, None, Excess | None]:
        """The limit that these processes exceed together."""
        states = []
        for number in numbers:
            states.append(State(number))
            yield
        tasks = sum(state.tasks for state in states)
        if self.tasks is not None and tasks > self.tasks:
            return Excess("processes", tasks, self.tasks)
        # This counts shared memory once for each process: they take no more than that.
        if self.memory is None or sum(state.memory for state in states) <= self.memory:
            return None
        memory = 0
        for state in states:
            memory += own_memory(state)
            yield
        return Excess("memory", memory, self.memory) if memory > self.memory else None


class State:
    """The figures of a process that ``/proc`` has at hand; none where it has ended."""

    def __init__(self, number: str) -> None:
        self.number = number
        fields = read_fields(f"/proc/{number}/status")
        self.tasks = fields.get("Threads", 0)
        if self.tasks > 1 and "VmPTE" not in fields:  # its first thread has ended, and the others have its memory
            self.number, fields = living_thread(number)
        self.tables = KIB * fields.get("VmPTE", 0)  # no part of them is shared
        self.memory = self.tables + KIB * sum(fields.get(name, 0) for name in ("RssAnon", "RssShmem", "VmSwap"))


def living_thread(number: str) -> tuple[str, dict[str, int]]:
    """A thread that has memory, with what ``/proc`` says of it; the process itself where it has none."""
    try:
        threads = os.listdir(f"/proc/{number}/task")
    except OSError:
        threads = []
    for thread in threads:
        fields = read_fields(f"/proc/{thread}/status")
        if "VmPTE" in fields:
            return thread, fields
    return number, {}


def own_memory(state: State) -> int:
    """Bytes that a process takes, of those that it shares its part. Files that are mapped do not count."""
    fields = read_fields(f"/proc/{state.number}/smaps_rollup")
    if "Pss_Anon" not in fields:  # it has ended, runs for another user, or the system is older than Linux 5.4
        return State(state.number).memory
    return state.tables + KIB * sum(fields.get(name, 0) for name in ("Pss_Anon", "Pss_Shmem", "SwapPss"))


def read_fields(path: str) -> dict[str, int]:
    """The numbers of a file of lines like ``VmRSS:    1024 kB``; empty where it cannot be read."""
    fields = {}
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return {}
    for line in lines:
        name, _, value = line.partition(b":")
        words = value.split()
        if words and words[0].isdigit():
            fields[name.decode()] = int(words[0])
    return fields


def processor_time(number: str) -> int:
    """Ticks that a process has used, with the children that it has waited for."""
    try:
        with open(f"/proc/{number}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))


def descendants(roots: Iterable[str]) -> Iterator[str]:
    """Processes and all below them, as numbers in ``/proc``."""
    waiting = list(roots)
    while waiting:
        number = waiting.pop()
        yield number
        waiting += children_of(number)


def children_of(number: str) -> list[str]:
    found: list[str] = []
    try:
        for task in os.listdir(f"/proc/{number}/task"):
            found += process.children_of_task(f"{number}/task/{task}")
    except OSError:
        pass  # gone meanwhile
    return found
)py", 8339}},
{"wire", {R"py("""The stream socket: framing, and long values as buffers beside the JSON."""

from __future__ import annotations

import ctypes
import json
import json.encoder
import re
import select
import socket
import struct
import threading
from binascii import b2a_base64
from collections.abc import Sequence
from typing import Any, TypeAlias

from jupyter_client.jsonutil import json_clean, json_default

from ipybox_kernel.interrupt import interrupts
from ipybox_kernel.journal import locked_libc

SHELL, IOPUB, STDIN, CONTROL = range(4)
MAX_MESSAGE = 256 << 20  # of the host
MAX_SENT = 64 << 20  # what the host takes: docs/kernel-protocol.md section 3
MAX_CONTENT = 8 << 20
MAX_METADATA = 1 << 20
MAX_HEADER = 64 << 10
MAX_VALUES = 100_000
MAX_DISPLAYED_VALUES = 1_000_000
MAX_FRAMES = 255
MAX_DEPTH = 480  # of arrays and objects, in any JSON: the host takes 500
DISPLAYS = ("display_data", "execute_result", "update_display_data")
MARKS = (b"[", b"{", b",", b":")
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
RAW_VALUE = 4096  # MIME values above this many characters travel as buffers

Frame: TypeAlias = "bytes | memoryview"
Content = dict[str, Any]

AT_ONCE = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL

send_now = locked_libc.send
send_now.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
send_now.restype = ctypes.c_ssize_t

# Written in C: code cannot change how they work. Their names are not documented.
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_encoder = json.encoder.c_make_encoder or json.encoder._make_iterencode  # type: ignore[attr-defined]
_quote = json.encoder.encode_basestring


def from_json(text: Frame) -> Any:
    """The value of JSON in UTF-8 that begins with the value."""
    return _scan(str(text, "utf-8"), 0)[0]


def _encode(value: Any) -> str:
    return "".join(_encoder({}, json_default, _quote, None, ":", ",", False, False, False)(value, 0))


def to_json(value: Any) -> bytes:
    """JSON in UTF-8, valid whatever is in the value: lone surrogates become ``?``, NaN its text."""
    try:
        text = _encode(value)
    except (TypeError, ValueError):
        text = _encode(json_clean(value))
    return text.encode("utf-8", "replace")


def fitting(kind: str, content: Content) -> bytes:
    """The JSON of a content that the host takes. Beyond its bounds it would end the kernel."""
    text = to_json(content)
    shown = kind in DISPLAYS
    most = MAX_DISPLAYED_VALUES if shown else MAX_VALUES
    deep = is_deep(text)
    if fits(text, MAX_CONTENT, most) and not deep:
        return text
    if kind.startswith("comm_"):
        return b"{}"  # the host has no use for it
    if shown and deep:
        types = ", ".join(map(str, content.get("data", ())))
        raise ValueError(
            f"a display ({types}) is nested more than {MAX_DEPTH} levels deep: the host takes no more; display less"
        )
    if shown:
        raise ValueError(
            f"a display has {len(text)} bytes of JSON, in more than {most} values or {MAX_CONTENT >> 20} MiB: "
            "the host takes no more; display less, or as text (text/html, text/plain), which may have 64 MiB"
        )
    for longest, items in (1 << 18, 1 << 12), (1 << 12, 1 << 8), (1 << 8, 1 << 6):
        text = to_json(shortened(content, longest, items))
        if fits(text, MAX_CONTENT, most) and not is_deep(text):
            return text
    return to_json({name: value for name, value in content.items() if name in ("status", "ename")})


def fits(text: bytes, size: int, values: int) -> bool:
    """Whether JSON is within bounds. The host counts brackets, commas and colons outside of strings."""
    if len(text) > size:
        return False
    if len(text) < values or sum(map(text.count, MARKS)) < values:
        return True
    bare = STRING.sub(b"", text)
    return sum(map(bare.count, MARKS)) < values


def is_deep(text: bytes) -> bool:
    """Whether arrays and objects stand inside each other more often than the host takes."""
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return False
    brackets = STRING.sub(b"", text).translate(None, NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not brackets:
            return False
    return True


def shortened(value: Any, longest: int, items: int) -> Any:
    """A value whose strings and lists have their middle left out where they are too long."""
    if isinstance(value, str) and len(value) > longest:
        half = longest // 2
        return f"{value[:half]}\n[… {len(value) - 2 * half} characters left out …]\n{value[-half:]}"
    if isinstance(value, (list, tuple)):
        half = items // 2
        kept = list(value) if len(value) <= items else [*value[:half], *value[-half:]]
        return [shortened(item, longest, items) for item in kept]
    if isinstance(value, dict):
        return {name: shortened(item, longest, items) for name, item in list(value.items())[:items]}
    return value


def split_raw(content: Content, metadata: Content, buffers: Sequence[Frame]) -> tuple[Content, Content, list[Frame]]:
    """Moves the long MIME values of a display message out of its content into buffers."""
    data = content.get("data")
    if not isinstance(data, dict):
        return content, metadata, list(buffers)
    long = {kind: value for kind, value in data.items() if is_long(value)}
    if not long:
        return content, metadata, list(buffers)
    frames, places = list(buffers), []
    for kind, value in long.items():
        text = isinstance(value, str)
        places.append([["data", kind], len(frames), "text" if text else "base64"])
        frames.append(value.encode("utf-8", "replace") if text else memoryview(value).cast("B"))
    content = {**content, "data": {**data, **dict.fromkeys(long, "")}}
    return content, {**metadata, "raw": places}, frames


def is_long(value: Any) -> bool:
    return isinstance(value, (str, bytes, bytearray, memoryview)) and len(value) > RAW_VALUE


def join_raw(content: Content, metadata: Content, buffers: list[memoryview]) -> list[memoryview]:
    """Puts the values that came as buffers back into the content; returns the other buffers."""
    places = metadata.pop("raw", [])
    for path, index, kind in places:
        target = content
        for key in path[:-1]:
            target = target[key]
        value = buffers[index]
        target[path[-1]] = str(value, "utf-8") if kind == "text" else b2a_base64(value, newline=False).decode()
    used = {index for _, index, _ in places}
    return [buffer for index, buffer in enumerate(buffers) if index not in used]


class OutputLock:
    """Held by a thread that sends, again and again if it likes. Until it lets go, handlers of signals wait."""

    def __init__(self) -> None:
        lock = threading.RLock()
        self.acquire, self.release = lock.acquire, lock.release

    def __enter__(self) -> None:
        self.acquire()
        interrupts.begin_sending()

    def __exit__(self, *_: object) -> None:
        interrupts.end_sending()
        self.release()
        interrupts.run_waiting_handlers()


class Link:
    """Whole messages over one connected socket: sent from any thread, received in the main one."""

    def __init__(self, stream: socket.socket) -> None:
        self.socket = stream
        self.lock = OutputLock()
        self.open = True
        self.sent = 0  # messages
        self.journal: Any = None  # memory whose text is in the message that the holder of the lock sends
        self._received = bytearray()
        self._writing = False
        self._behind: list[tuple[list[Frame], int]] = []  # sent by a finalizer in the midst of another message

    def send(self, channel: int, frames: Sequence[Frame]) -> None:
        """Sends one message, whole, blocking as long as the host does not read."""
        sizes = list(map(len, frames))
        length = 2 + 4 * len(sizes) + sum(sizes)
        if length > MAX_SENT or len(sizes) > MAX_FRAMES:
            raise ValueError(f"message of {length} bytes in {len(sizes)} frames is too large for the host")
        prefix = struct.pack(f"<IBB{len(sizes)}I", length, channel, len(sizes), *sizes)
        with interrupts, self.lock:
            self._write([prefix, *frames], 4 + length)
            self.sent += 1

    def _write(self, parts: list[Frame], size: int) -> None:
        if self._writing:
            self._behind.append((parts, size))
            return
        self._writing = True
        try:
            self._write_whole(parts, size)
            while self._behind:
                self._write_whole(*self._behind.pop(0))
        finally:
            self._writing = False

    def _write_whole(self, parts: list[Frame], size: int) -> None:
        if not self.open:
            return
        try:
            if self.journal and (sent := self._take_from_journal(parts)):
                size -= sent
                parts = _unsent(parts, sent)
            while size > 0 and (sent := self.socket.sendmsg(parts)) < size:
                size -= sent
                parts = _unsent(parts, sent)
        except OSError:
            self.open = False  # the host is gone, and soon so are we

    def _take_from_journal(self, parts: list[Frame]) -> int:
        """Sends as much as there is room for, and returns its size: the text is sent then, and not in the journal.

        Another thread could end the process. None runs between the two statements, so that the text comes once, from
        here or from there, unless the link is full.
        """
        journal, data, descriptor = self.journal, b"".join(parts), self.socket.fileno()
        size = len(data)
        journal[0] = 0
        sent = send_now(descriptor, data, size, AT_ONCE)
        return max(0, int(sent))

    def receive(self) -> tuple[int, list[memoryview]] | None:
        """The next message if it is there as a whole; raises EOFError at the end of file."""
        with interrupts:
            return self._next() or (self._read() and self._next()) or None

    def wait(self) -> None:
        """Blocks until there is something to read; can be interrupted."""
        poller = select.poll()
        poller.register(self.socket, select.POLLIN)
        poller.poll()

    def _read(self) -> bool:
        try:
            data = self.socket.recv(max(65536, self._missing()), socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            raise EOFError
        self._received += data
        return True

    def _missing(self) -> int:
        if len(self._received) < 4:
            return 0
        return min(int.from_bytes(self._received[:4], "little") - len(self._received), 4 << 20)

    def _next(self) -> tuple[int, list[memoryview]] | None:
        received = self._received
        if len(received) < 6:
            return None
        length, channel, count = struct.unpack_from("<IBB", received)
        if length > MAX_MESSAGE:
            raise EOFError(f"the host announced a message of {length} bytes")
        if len(received) < 4 + length:
            return None
        message = memoryview(bytes(received[: 4 + length]))
        del received[: 4 + length]
        frames, start = [], 6 + 4 * count
        for size in struct.unpack_from(f"<{count}I", message, 6):
            frames.append(message[start : start + size])
            start += size
        return channel, frames

    def close(self) -> None:
        """Lets go of the socket; nothing is sent from now on."""
        self.open = False
        self.socket.close()


def _unsent(parts: list[Frame], sent: int) -> list[Frame]:
    rest: list[Frame] = []
    for part in parts:
        if sent < len(part):
            rest.append(memoryview(part)[sent:])
        sent = max(0, sent - len(part))
    return rest
)py", 11997}},
{"workplace", {R"py("""The way to the working directory of a kernel, which other kernels may have changed."""

from __future__ import annotations

import errno
import os
import stat

MOST_LINKS = 40  # as the system follows


def enter(path: str, workspace: str) -> None:
    """Goes to a directory, by no link within the workspace: another kernel may have made it. Raises OSError."""
    place = walk(path, os.stat(workspace))
    try:
        os.fchdir(place)
    finally:
        os.close(place)


def walk(path: str, workspace: os.stat_result) -> int:
    """A descriptor of what a path leads to."""
    place = top()
    names, links = parts(path), 0
    try:
        while names:
            following = os.open(names.pop(), os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
            if not stat.S_ISLNK(os.fstat(following).st_mode):
                os.close(place)
                place = following
                continue
            target = os.readlink("", dir_fd=following)
            os.close(following)
            links += 1
            if links > MOST_LINKS or lies_in(place, workspace):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            names += parts(target)
            if target.startswith("/"):
                os.close(place)
                place = top()
    except BaseException:
        os.close(place)
        raise
    return place


def top() -> int:
    return os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def parts(path: str) -> list[str]:
    """The names of a path, the last one first."""
    return [name for name in reversed(path.split("/")) if name]


def lies_in(directory: int, around: os.stat_result) -> bool:
    """Whether a directory is the one around it, or lies in that."""
    place = os.dup(directory)
    try:
        while not os.path.samestat(here := os.fstat(place), around):
            above = os.open("..", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place)
            os.close(place)
            place = above
            if os.path.samestat(os.fstat(place), here):
                return False  # the root directory
        return True
    finally:
        os.close(place)
)py", 2168}},
};

} // namespace ipybox::detail
// clang-format on
