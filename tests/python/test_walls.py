"""Rooms whose first process has ended: nothing is started outside of them instead."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ipybox_kernel import workplace

from harness import PACKAGE, PYTHON

#: Makes rooms as the supervisor does. What a program of a kernel prints are the namespaces that it is in.
PRELUDE = """
import atexit, os, signal, sys, threading, time
sys.path.insert(0, sys.argv[1])
from ipybox_kernel import process, walls
from ipybox_kernel.landlock import Missing
from ipybox_kernel.refused import Refused

directory = sys.argv[2]
hello = {"workspace": directory, "private": [], "kept": [], "size": 0, "allow": []}
process.adopt_orphans()
atexit.register(lambda: [process.kill(pid, signal.SIGKILL) for pid in process.children()])
between = walls.Walls({**hello, "user": os.geteuid(), "group": os.getegid()})
living = set()

def kernel(place=directory, closed=()):
    pid, room, _ = between.fork(lambda: (place, list(closed)), False, lambda listener: {"PATH": "/usr/bin:/bin"}, living)
    if not pid:
        time.sleep(600)
        os._exit(0)
    between.add(pid, room)
    return pid, room

def run(pid, *argv, cwd=None):
    reading, writing = os.pipe()
    try:
        program = between.start(pid, lambda env: (list(argv), env, cwd), [writing] * 3)
    finally:
        os.close(writing)
    with open(reading) as output:
        said = output.read()
    os.waitpid(program, 0)
    return said

NAMESPACES = "/bin/sh", "-c", "readlink /proc/self/ns/pid /proc/self/ns/mnt"
outside = {os.readlink(f"/proc/self/ns/{kind}") for kind in ("pid", "mnt")}

def outcome(pid, *argv, **options):
    try:
        return run(pid, *argv, **options)
    except (Missing, Refused, OSError) as error:
        return f"{type(error).__name__}: {error}"

def end(room):
    os.kill(room.init, signal.SIGKILL)
"""


def said_by(code: str, directory: Path) -> list[str]:
    """What a script says that may make namespaces."""
    command = [PYTHON, "-c", PRELUDE + code, str(PACKAGE.parent), str(directory)]
    if os.geteuid() != 0:
        command = ["unshare", "--user", "--map-root-user", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(autouse=True)
def namespaces() -> None:
    trial = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--fork", "true"]
    if not shutil.which("unshare") or subprocess.run(trial, capture_output=True).returncode:
        if os.environ.get("IPYBOX_TEST_STRICT"):
            pytest.fail("there are no user namespaces")
        pytest.skip("there are no user namespaces")


def test_a_program_of_a_room_whose_first_process_has_just_ended(tmp_path: Path) -> None:
    lines = said_by(
        """
pid, room = kernel()
print(not outside & set(run(pid, *NAMESPACES).split()))
end(room)
print(outcome(pid, "touch", f"{directory}/early"))
for each in pid, room.init:  # as the supervisor does; the room is still known
    os.waitpid(each, 0)
print(outcome(pid, "touch", f"{directory}/made"))
print(outside == {os.readlink(f"/proc/self/ns/{kind}") for kind in ("pid", "mnt")})
""",
        tmp_path,
    )
    ended = "Missing: the first process of its namespace has ended"
    gone = "Missing: the namespaces for a kernel cannot be entered: No such process (errno 3)"
    assert lines[0] == lines[3] == "True"
    # While it is ending a program still runs in the room, is killed there, or the system has no process for it.
    assert lines[1] in ("", ended, gone, "OSError: [Errno 12] Cannot allocate memory")
    assert lines[2] in (ended, gone)
    assert not (tmp_path / "made").exists()


def test_closed_files_cannot_be_written_to_nor_their_directories_moved(tmp_path: Path) -> None:
    """Of files that are gone by then, or reached by a link, nothing is closed, and the kernel starts."""
    for name in (".vscode/x", "sub/repo/.git/config", "sub/plain"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    (tmp_path / "link").symlink_to("sub")
    lines = said_by(
        """
pid, room = kernel(closed=[".vscode", "sub/repo/.git/config", "gone/x", "link/plain"])
for attempt in (
    "echo x > .vscode/x", "echo x > .vscode/new", "mv .vscode v", "echo x >> sub/repo/.git/config",
    "mv sub s", "rm -rf sub/repo", "mv sub/plain sub/repo/plain", "echo x > new", "mkdir gone",
):
    shown = run(pid, "/bin/sh", "-c", f"({attempt}) 2>/dev/null && echo done || echo refused", cwd=directory)
    print(shown.strip())
""",
        tmp_path,
    )
    assert lines == ["refused"] * 6 + ["done"] * 3
    assert (tmp_path / ".vscode/x").read_text() == (tmp_path / "sub/repo/.git/config").read_text() == "text"


def test_a_room_that_ends_while_a_program_is_started(tmp_path: Path) -> None:
    """Wherever the start is when the room ends, nothing runs outside of it."""
    lines = said_by(
        """
pid, room = kernel()
begun = time.monotonic()
run(pid, *NAMESPACES)
usual = time.monotonic() - begun
for i in range(100):
    pid, room = kernel()
    ends = threading.Timer(i * usual / 40, end, [room])
    ends.start()
    said = outcome(pid, *NAMESPACES)
    ends.join()
    print("ESCAPED" if outside & set(said.split()) else "ran" if said.startswith("pid:") else "ended")
    os.waitpid(pid, 0)  # the first process ends last
    os.waitpid(room.init, 0)
    between.forget(pid)
""",
        tmp_path,
    )
    assert len(lines) == 100
    assert set(lines) == {"ran", "ended"}


def test_a_program_that_is_stopped_before_it_is_one(tmp_path: Path) -> None:
    """As another program of the kernel can: the supervisor of all kernels waits no longer than to see that."""
    lines = said_by(
        """
def stops(env):
    os.kill(os.getpid(), signal.SIGSTOP)
    return ["true"], env, None

pid, _ = kernel()
begun = time.monotonic()
program = between.start(pid, stops, [0, 1, 2])
print(time.monotonic() - begun < process.BEGINNING, os.waitpid(program, 0)[1] == signal.SIGKILL)
print(outcome(pid, "echo", "next"))
""",
        tmp_path,
    )
    assert lines == ["True True", "next", ""]


def test_a_room_that_was_made_ahead_and_has_ended_is_made_anew(tmp_path: Path) -> None:
    lines = said_by(
        """
kernel()
between.prepare(living)
ahead = between.next
print(ahead.init in living)
end(ahead)
while not ahead.has_ended():
    time.sleep(0.001)
pid, room = kernel()
print(room.init != ahead.init, ahead.init in living, not outside & set(run(pid, *NAMESPACES).split()))
""",
        tmp_path,
    )
    assert lines == ["True", "True False True"]


def test_the_way_to_a_working_directory_follows_no_link_of_the_workspace(tmp_path: Path) -> None:
    space = tmp_path / "space"
    for name in ("a/inner", "c", "elsewhere"):
        (space / name).mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    links = {
        "outside/link": "../space/a",
        "outside/again": "link/inner",
        "outside/round": "round",
        "space/a/link": "../c",
        "space/a/far": str(space / "c"),
        "space/a/inner/up": "..",
        "space/file": "a",
        "outside/through": "../space/a/link",
    }
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)

    def where(name: str) -> str:
        try:
            place = workplace.walk(f"{tmp_path}/{name}", os.stat(space))
        except OSError as error:
            return os.strerror(error.errno or 0)
        path = os.readlink(f"/proc/self/fd/{place}")
        os.close(place)
        return os.path.relpath(path, tmp_path)

    before = len(os.listdir("/proc/self/fd"))
    ways = {"space/a": "space/a", "space/a//inner/.": "space/a/inner", "outside/link": "space/a", "space": "space"}
    ways |= {"outside/again": "space/a/inner", "space/a/inner/../..": "space", "outside": "outside"}
    for way, place in ways.items():
        assert where(way) == place, way
    links_of_kernels = ("space/a/link", "space/a/far", "space/a/inner/up", "space/file/inner", "outside/through")
    for way in (*links_of_kernels, "outside/round", "outside/link/link"):
        assert where(way) == "Too many levels of symbolic links", way
    assert where("space/none") == "No such file or directory"
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_private_directory_holds_so_many_files(tmp_path: Path) -> None:
    """Empty ones take nothing of its size."""
    lines = said_by(
        """
from ipybox_kernel import landlock, mounts
landlock.libc.unshare(0x20000)  # CLONE_NEWNS
mounts.mount(None, "/", None, mounts.MS_REC | mounts.MS_PRIVATE)
for size in 1 << 20, 64 << 20:
    mounts.cover(directory, size)
    about = os.statvfs(directory)
    print(about.f_files, about.f_blocks * about.f_frsize == size)
""",
        tmp_path,
    )
    assert lines == ["4096 True", "16384 True"]


def test_private_directories_take_their_size_together(tmp_path: Path) -> None:
    lines = said_by(
        """
from ipybox_kernel import landlock, mounts
landlock.libc.unshare(0x20000)  # CLONE_NEWNS
mounts.mount(None, "/", None, mounts.MS_REC | mounts.MS_PRIVATE)
places = [os.path.join(directory, name) for name in ("a", "b")]
for place in places:
    os.mkdir(place)
mounts.cover_together(places, 1 << 20)
for place in places:
    print(os.listdir(place), oct(os.stat(place).st_mode), os.path.ismount(place))
with open(places[0] + "/file", "wb") as file:
    file.write(bytes(700 << 10))
try:
    with open(places[1] + "/file", "wb") as file:
        file.write(bytes(700 << 10))
except OSError as error:
    print(error.strerror)
""",
        tmp_path,
    )
    assert lines == ["[] 0o40755 True", "[] 0o40755 True", "No space left on device"]


def test_a_connection_holds_so_much(tmp_path: Path) -> None:
    lines = said_by(
        """
pid, _ = kernel()
for name in "tcp_rmem", "tcp_wmem":
    print(run(pid, "cat", f"/proc/sys/net/ipv4/{name}").split())
""",
        tmp_path,
    )
    assert lines == ["['4096', '65536', '262144']"] * 2


def test_a_kernel_has_so_many_terminals(tmp_path: Path) -> None:
    """The others have theirs."""
    lines = said_by(
        """
from ipybox_kernel import landlock, mounts
landlock.libc.unshare(0x20000)  # CLONE_NEWNS
mounts.mount(None, "/", None, mounts.MS_REC | mounts.MS_PRIVATE)
mounts.mount("devpts", "/dev/pts", "devpts", 0, mounts.TERMINALS)
opened = 0
try:
    while True:
        os.open("/dev/pts/ptmx", os.O_RDWR | os.O_NOCTTY)
        opened += 1
except OSError as error:
    print(opened, error.strerror)
""",
        tmp_path,
    )
    assert lines == ["64 No space left on device"]


def test_a_directory_or_a_program_that_is_missing(tmp_path: Path) -> None:
    """What is told in the supervisor does not name it: kernels inherit the memory of that."""
    lines = said_by(
        """
def attempt(place):
    try:
        kernel(place)
    except Refused as refusal:
        print(refusal.error)

attempt("/no/such/place")
attempt("/etc/passwd")
pid, _ = kernel()
for refused in (["no-such-program"], "/no/such/place"), (["no-such-program"], None), (["/etc/passwd"], None):
    try:
        run(pid, *refused[0], cwd=refused[1])
    except Refused as refusal:
        print(refusal.error)
""",
        tmp_path,
    )
    missing = {"text": "No such file or directory", "errno": 2}
    assert [eval(line) for line in lines] == [
        {"kind": "cwd", **missing},
        {"kind": "cwd", "text": "Not a directory", "errno": 20},
        {"kind": "cwd", **missing},
        {"kind": "exec", **missing},
        {"kind": "exec", "text": "Permission denied", "errno": 13},
    ]
