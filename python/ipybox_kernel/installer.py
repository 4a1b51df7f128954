"""Installs packages into a layer. The host runs this text in a sandbox of its own: ``PYTHON -I -c INSTALLER N``.

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
    fresh = layer.within("packages")
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
