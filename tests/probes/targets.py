"""What probes aim at. It is all made for one run, and goes with it: no probe touches anything else of the machine."""

from __future__ import annotations

import ctypes
import json
import os
import pty
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import services
from inside import files, later
from inside.catalogue import all_probes
from inside.frame import SECRET, beginning
from open_interpreter import open_base

REPOSITORY = Path(__file__).resolve().parents[2]
TEXT = f"{SECRET} of the test\n"

#: Has a secret in its memory, in its environment, on its command line and in a file that only it has open.
BYSTANDER = """
import ctypes, os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
secret = ctypes.create_string_buffer(os.environ["SECRET"].encode())
file = os.memfd_create("secret")
os.write(file, secret.raw)
print(ctypes.addressof(secret), file, flush=True)
signal.pause()
"""


@dataclass
class Place:
    """A home directory with a project in it, in which the code works, and things beside it."""

    root: Path
    user: int
    python: str
    script: str
    facts: dict[str, Any] = field(default_factory=lambda: {"why_not": {}})

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def work(self) -> Path:
        return self.home / "project"

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    def options(self) -> list[str]:
        """Those that name files which must stay as they are."""
        facts = self.facts
        servers = ["--mcp-config", facts["server_configuration"]]
        return ["--approve", facts["rules"], "--audit-log", facts["audit_log"], *servers]

    def snapshot(self) -> dict[str, object]:
        """All that no probe may change: everything but what the host writes, and what the code may write."""
        own = ("scratch", "mcptools", "inside/__pycache__")
        left_out = [*(self.work / name for name in own), self.home / "state", Path(self.facts["audit_log"])]
        paths = [path for path in self.root.rglob("*") if not any(path.is_relative_to(part) for part in left_out)]
        return {str(path): look_of(path) for path in paths}

    def changes_since(self, before: dict[str, object]) -> list[str]:
        after = self.snapshot()
        return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))

    def write(self, path: Path, text: str = TEXT) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def hand_over(self) -> None:
        """Everything belongs to the user whose code runs, except for programs of another user."""
        for path in [self.root, *self.root.rglob("*")]:
            if not path.is_symlink() and not path.stat().st_mode & stat.S_ISUID:
                os.chown(path, self.user, -1)


def look_of(path: Path) -> object:
    """What is seen of a file or directory from outside."""
    known = path.lstat()
    if path.is_symlink():
        return os.readlink(path)
    look = (known.st_mode, known.st_uid, *os.listxattr(path))
    return (*look, known.st_nlink, known.st_mtime_ns, path.read_bytes()) if path.is_file() else look


def hidden(path: Path) -> bool:
    """Whether bubblewrap has a directory of its own there, which would hide all targets in any case."""
    return any(path.is_relative_to(private) for private in ("/tmp", "/var/tmp", "/run", "/dev/shm"))


def base() -> Path:
    """Where other users can enter, and nothing is hidden by itself."""
    (REPOSITORY / "build").mkdir(exist_ok=True)
    # Landlock opens /opt as a whole.
    candidates = [REPOSITORY / "build", Path.home(), Path("/srv"), Path("/var/lib"), Path("/opt")]
    return open_base([directory for directory in candidates if not hidden(directory)])


#: Seconds within which a kernel that exceeds its limits is ended, and more.
TIME_TO_BE_ENDED = 20


@contextmanager
def place(user: int, python: str, script: str, with_env: bool, with_limits: bool) -> Iterator[Place]:
    """A project with targets around it."""
    with tempfile.TemporaryDirectory(prefix="probes-", dir=base()) as name, ExitStack() as until_end:
        made = Place(Path(name), user, python, script)
        made.root.chmod(0o755)
        write_secrets(made, with_env)
        write_project(made)
        write_home(made)
        write_outside(made)
        made.facts["time_to_be_ended"] = TIME_TO_BE_ENDED if with_limits else 0
        made.facts |= {"home": str(made.home), "work": str(made.work), "outside": str(made.outside)}
        made.facts |= {**facts_of_system(made), **facts_of_processes(made, until_end), **program_of_another_user(made)}
        made.facts |= until_end.enter_context(services.of_network(TEXT))
        made.facts |= until_end.enter_context(services.of_unix(TEXT, made.root, made.work))
        made.facts |= until_end.enter_context(services.of_ipc(TEXT))
        made.facts |= until_end.enter_context(temporary_files(user))
        made.write(made.work / "facts.json", json.dumps(made.facts))
        made.hand_over()
        yield made


def write_secrets(made: Place, with_env: bool) -> None:
    for path in files.KEYS.values():
        made.write(made.home / path)
    names = ("env", "env_below", "env_to_change", "link_to_env", "settings_of_env_link")
    if not with_env:
        made.facts |= dict.fromkeys(names)
        made.facts["why_not"] |= dict.fromkeys(names, "with a .env in the working directory it does not start")
        return
    made.facts["env"] = made.write(made.work / ".env")
    made.facts["env_below"] = made.write(made.work / "deep" / "er" / ".env")
    made.facts["env_to_change"] = made.write(made.work / "other" / ".env")
    made.facts["settings_of_env_link"] = made.write(made.work / "linked" / "settings")
    (made.work / "linked" / ".env").symlink_to("settings")
    made.facts["link_to_env"] = str(made.work / "older-link")
    (made.work / "older-link").symlink_to(".env")


def write_project(made: Place) -> None:
    ours = Path(__file__).parent / "inside"
    shutil.copytree(ours, made.work / "inside", ignore=shutil.ignore_patterns("__pycache__"))
    made.facts["script"] = made.write(made.work / "script.py", made.script)
    heads = (".git/HEAD", ".git/modules/part/HEAD", "part/repository/.git/HEAD")
    further = (*heads, ".git/hooks/sample", ".git/hooks/to-remove")
    for name in (*later.PRESENT.values(), *further):
        made.write(made.work / name, "")


def write_home(made: Place) -> None:
    for path in later.OF_HOME.values():
        (made.home / path).parent.mkdir(parents=True, exist_ok=True)
    made.facts["inodes_of_home"] = [(made.home / path).parent.stat().st_ino for path in later.OF_HOME.values()]
    made.facts["inode_of_ssh"] = (made.home / ".ssh").stat().st_ino
    made.facts["key_handle"] = handle_of(made.home / ".ssh/id_ed25519")
    made.write(made.home / "notes.txt")


def write_outside(made: Place) -> None:
    for probe in all_probes():
        made.write(made.outside / probe.name / "secret")
    conf = made.home / "conf"
    made.facts["rules"] = made.write(conf / "rules.json", "{}")
    made.facts["audit_log"] = made.write(conf / "log.jsonl", "")
    made.facts["server_program"] = made.write(conf / "server.py", "")
    servers = {"mcpServers": {"server": {"command": "python3", "args": [made.facts["server_program"]]}}}
    made.facts["server_configuration"] = made.write(conf / "mcp.json", json.dumps(servers))
    packages = {"filesystem": {"allowRead": [packages_of(os.environ["IPYBOX_PYTHON"])]}}
    made.facts["sandbox_configuration"] = made.write(conf / "sandbox.json", json.dumps(packages))
    made.facts["journal"] = made.write(made.home / "state" / "ipybox" / "placeholders", "")


def packages_of(python: str) -> str:
    where = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()


def facts_of_system(made: Place) -> dict[str, Any]:
    paths = [*files.DIRECTORIES.values(), *files.SETTINGS.values(), *files.DEVICES.values()]
    return {
        "present": [*filter(os.path.exists, paths), *services.protocols()],
        "block_device": next((str(path) for path in sorted(Path("/dev").iterdir()) if path.is_block_device()), None),
        "program": os.environ["IPYBOX_BINARY"],
        "packages": packages_of(made.python),
        "programs_of_interpreter": os.path.dirname(made.python),
        "runs_32_bits": runs_32_bits(),
    }


def runs_32_bits() -> bool:
    """Whether the system has system calls of 32 bits: this one ends a process well, or it is killed."""
    code = "b'\\xb8\\x01\\0\\0\\0\\x31\\xdb\\xcd\\x80'"  # mov eax, 1 (exit); xor ebx, ebx; int 0x80
    call = "ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()"
    program = f"import ctypes, mmap; m = mmap.mmap(-1, 4096, prot=7); m.write({code}); {call}"
    return (
        os.uname().machine == "x86_64" and subprocess.run([os.environ["IPYBOX_PYTHON"], "-c", program]).returncode == 0
    )


def facts_of_processes(made: Place, until_end: ExitStack) -> dict[str, Any]:
    """Processes of the user whose code runs."""
    bystander, victim, second = (until_end.enter_context(process(made, TEXT.strip())) for _ in range(3))
    assert bystander.stdout
    address, descriptor = map(int, bystander.stdout.readline().split())
    all_of_them = [bystander.pid, victim.pid, second.pid, os.getpid()]
    return {
        "bystander": bystander.pid,
        "address": address,
        "descriptor": descriptor,
        "victim": victim.pid,
        "second_victim": second.pid,
        "test": os.getpid(),
        "beginnings": {str(number): beginning(number) for number in all_of_them},
    }


@contextmanager
def process(made: Place, secret: str) -> Iterator[subprocess.Popen[str]]:
    command = [made.python, "-c", BYSTANDER, secret]
    user = None if made.user == os.geteuid() else made.user
    running = subprocess.Popen(
        command,
        env={"SECRET": secret},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        user=user,
        group=user,
        start_new_session=True,
    )
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


@contextmanager
def temporary_files(user: int) -> Iterator[dict[str, str]]:
    with ExitStack() as until_end:
        yield {
            "file_in_tmp": until_end.enter_context(temporary_file("/tmp", user)),
            "file_in_var_tmp": until_end.enter_context(temporary_file("/var/tmp", user)),
            "shared_file": until_end.enter_context(temporary_file("/dev/shm", user)),
            "terminal": until_end.enter_context(terminal(user)),
        }


@contextmanager
def temporary_file(directory: str, user: int) -> Iterator[str]:
    with tempfile.NamedTemporaryFile("w", prefix="ipybox-probe-", dir=directory) as file:
        file.write(TEXT)
        file.flush()
        os.chown(file.name, user, -1)
        yield file.name


@contextmanager
def terminal(user: int) -> Iterator[str]:
    master, slave = pty.openpty()
    name = os.ttyname(slave)
    try:
        os.chown(name, user, -1)
        yield name
    finally:
        os.close(master)
        os.close(slave)


def handle_of(path: Path) -> str | None:
    """struct file_handle of a file, in hexadecimal digits; None where file systems have none."""
    handle = ctypes.create_string_buffer((128).to_bytes(4, "little") + bytes(132), 136)
    libc = ctypes.CDLL(None)
    if libc.name_to_handle_at(-100, str(path).encode(), handle, ctypes.byref(ctypes.c_int()), 0):
        return None
    return handle.raw.hex()


def program_of_another_user(made: Place) -> dict[str, Any]:
    """`id`, as a set-user-ID program in the working directory. Only root can make one."""
    another = 65533 if made.user else 65534
    if os.geteuid():
        return {"another_user": another, "set_user_id_program": None}
    program = made.work / "whoami"
    shutil.copy("/usr/bin/id", program)
    os.chown(program, another, another)
    program.chmod(0o4755)
    return {"another_user": another, "set_user_id_program": str(program)}
