"""System calls of the supervisor and its children."""

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
