"""The first process in the sandbox: forks kernels, starts programs, and leaves nothing behind."""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import struct
import sys
from collections import deque
from contextlib import contextmanager

from ipybox_kernel import hosts, landlock, packages, process
from ipybox_kernel.broker import Broker

TYPE_CHECKING = False  # typing, dataclasses and traceback would double what a start without preloading takes
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, NoReturn

    from ipybox_kernel.kernel import HandlersKernel
    from ipybox_kernel.walls import Environment, Room, Walls, Words
    from ipybox_kernel.watchdog import Excess, Watchdog

    Chore = Callable[[], object]
    Own = Callable[[], dict[str, Any]]  # what belongs to a kernel or a program alone

PROTOCOL = 1
MAX_DATAGRAM = 128 * 1024
MAX_DESCRIPTORS = 8
SHARE = "if they may see each other's files and processes, set runtime_options::walls to false"
MOST_SECONDS = 1 << 33  # of processor time: the system counts nanoseconds, and more of them than it can count are few
SHORTLY = 5  # milliseconds without a request, before namespaces for the next kernel are made: half of a start
IDLE = 100  # milliseconds without a request, before a chore begins: the longest take a third of that


class Refused(Exception):
    """A request that cannot be done, and the kind of the error that answers it."""

    def __init__(self, kind: str, text: str, **details: object) -> None:
        super().__init__(text)
        self.error = {"kind": kind, "text": text, **details}


class Birth:
    """What a kernel gets to know when it is forked."""

    def __init__(
        self,
        supervisor: int,
        stream: socket.socket,
        actions: socket.socket | None,
        env: dict[str, str],
        restore_cwd: bool,
        guard: bool,
        allow: list[str],
        cpu_time: int | None,
        first: bool,
    ) -> None:
        self.supervisor = supervisor
        self.stream = stream
        self.actions = actions
        self.env = env
        self.restore_cwd = restore_cwd
        self.guard = guard
        self.allow = allow
        self.cpu_time = cpu_time
        self.first = first


class Supervisor:
    """One control socket, the children started through it, and whatever these leave behind."""

    def __init__(
        self,
        control: socket.socket,
        lifeline: list[int],
        limits: dict[str, int],
        variables: list[str],
        walls: Walls | None,
    ) -> None:
        self.pid = os.getpid()
        self.control = control
        self.lifeline = lifeline
        self.limits = limits
        self.cpu_time: int | None = None  # of each process, but not of this one
        if "cpu_time" in limits:
            self.cpu_time = min(limits["cpu_time"], MOST_SECONDS)
        self.watchdog: Watchdog | None = None  # from the first code on that runs for long
        self.excesses: dict[int, Excess] = {}  # for which kernels were ended
        self.variables = variables  # of which the sandbox decides
        self.walls = walls  # between kernels, or none
        self.living: set[int] = set()
        self.ended: dict[int, int] = {}  # pid -> wait status, until what it left behind is gone
        self.broker = Broker()
        self.missing: str | None = None  # what the guard lacks here; None: not known yet
        process.set_dumpable(False)
        self.forks = 0
        self.warm_up: list[Chore] = []  # what makes the kernels after a second one faster
        self.chores: deque[Chore] = deque()  # done while nobody asks for anything
        self.home = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        process.adopt_orphans()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        if self.pid != 1:  # which no signal reaches that it does not handle
            signal.signal(signal.SIGTERM, self.terminated)
        self.wakeup, self.wakeup_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self.wakeup_end, warn_on_full_buffer=False)

    def serve(self) -> Birth:
        """Answers requests for ever. Returns only in a forked child, which is to become a kernel."""
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        poller.register(self.wakeup, select.POLLIN)
        while True:
            ready = dict(poller.poll(self.patience()))
            if self.watchdog and self.watchdog.is_due():
                self.look(self.watchdog)
            if not ready and self.walls and self.walls.wants_room():
                self.walls.prepare(self.living)
            elif not ready and self.chores:
                self.do_chore()
            if self.wakeup in ready:
                os.read(self.wakeup, 4096)
                self.reap()
            if self.control.fileno() in ready:
                birth = self.receive()
                if birth:
                    return birth

    def patience(self) -> int | None:
        """Milliseconds to wait for something to happen; None: for ever."""
        look = self.watchdog.patience() if self.watchdog else None
        wants_room = self.walls is not None and self.walls.wants_room()
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
        """Takes and answers one request; ends everything at the end of file."""
        room = socket.CMSG_SPACE(4 * MAX_DESCRIPTORS)
        flags = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
        try:
            data, ancillary, _, _ = self.control.recvmsg(MAX_DATAGRAM, room, flags)
        except BlockingIOError:
            return None
        except ConnectionError:
            self.end()
        if not data:
            self.end()
        descriptors = [fd for _, _, packed in ancillary for fd in struct.unpack(f"{len(packed) // 4}i", packed)]
        birth = None
        number = None
        try:
            request = json.loads(data)
            number = request["id"]
            answer = self.answer(request, descriptors)
            if isinstance(answer, Birth):
                birth, descriptors = answer, descriptors[2:]
            else:
                self.reply(number, answer)
        except Refused as refusal:
            self.send({"id": number, "error": refusal.error})
        except (ValueError, KeyError, TypeError) as error:
            self.send({"id": number, "error": {"kind": "request", "text": f"malformed request: {error!r}"}})
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return birth

    def answer(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any] | Birth:
        operation = request["op"]
        if operation in ("fork", "run"):
            with self.own_part(request, descriptors) as own:
                return (self.fork if operation == "fork" else self.run)(request, own, descriptors)
        if operation == "spawn":
            return self.spawn(request)
        if operation == "signal":
            return self.signal(request)
        if operation == "watch":
            return self.watch(request)
        raise Refused("request", f"unknown operation {operation!r}")

    @contextmanager
    def own_part(self, request: dict[str, Any], descriptors: list[int]) -> Iterator[Own]:
        """What a kernel or program gets to know alone, for the process that becomes it.

        With walls it is in a file, for kernels inherit the memory of this process with all that it has ever read.
        """
        if not self.walls:
            yield lambda: request
        elif not descriptors:
            raise Refused("request", "the environment has to come in a file")
        else:
            with open(descriptors.pop(), "rb") as file:
                yield lambda: json.load(file)

    def fork(self, request: dict[str, Any], own: Own, descriptors: list[int]) -> dict[str, Any] | Birth:
        """Forks a kernel; returns the answer in the parent and a Birth in the child."""
        if not descriptors or "ipybox_kernel.kernel" not in sys.modules:
            raise Refused("request", "a fork needs a stream socket and a supervisor that preloaded")
        from ipybox_kernel import child

        restore_cwd = bool(request.get("restore_cwd"))
        guard = self.checked_guard(request.get("guard"))
        allow = self.checked_allow(request.get("allow", []))
        self.enter(request.get("cwd"))
        env: dict[str, str] = {}  # within walls filled in the child alone

        def environment(listener: socket.socket | None) -> dict[str, str]:
            given = self.sandboxed(checked_env(own()["env"]))
            env.update(child.environment(given))
            env.update(hosts.environment(listener) if listener else {})
            return env

        try:
            pid, room, listener = self.fork_now(bool(request.get("network")), environment)
        except OSError as error:
            self.leave()
            raise Refused("fork", str(error)) from None
        except landlock.Missing as lack:
            self.leave()
            text = f"the kernels of a runtime cannot be kept apart here: {lack}; {SHARE}"
            raise Refused("walls", text) from None
        if pid == 0:
            self.close()
            if listener:
                listener.close()
            sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors[:2]]
            actions = sockets[1] if len(sockets) == 2 else None
            return Birth(
                0 if self.walls else self.pid,
                sockets[0],
                actions,
                env,
                restore_cwd,
                guard,
                allow,
                self.cpu_time,
                self.forks == 0,
            )
        self.leave()
        self.living.add(pid)
        self.broker.environments[pid] = env
        if self.walls and room:
            self.walls.add(pid, room)
            self.broker.owners[room.init] = pid  # and what the programs of the kernel leave behind is below that
        self.forks += 1
        if self.forks == 2:
            # Most hosts have one kernel, and would pay with memory: what is written in this process is shared no more.
            self.chores.extend(self.warm_up)
        return {"pid": pid, "listener": listener} if listener else {"pid": pid}

    def fork_now(self, network: bool, environment: Environment) -> tuple[int, Room | None, socket.socket | None]:
        """Forks, into walls around the current directory if there are any; the pid, the room, the listening socket."""
        if self.walls:
            return self.walls.fork(os.getcwd(), network, environment, self.living)
        listener = hosts.listen() if network else None
        environment(listener)
        return os.fork(), None, listener

    def sandboxed(self, env: dict[str, str]) -> dict[str, str]:
        """An environment with what the sandbox has set for this process, and without what it has taken away."""
        ours = {name: os.environ[name] for name in self.variables if name in os.environ}
        return {name: value for name, value in env.items() if name not in self.variables} | ours

    def checked_guard(self, name: str | None) -> bool:
        """Whether a kernel is to be guarded; a refusal if that is impossible here."""
        if name is None:
            return False
        if name != "no_exec":
            raise Refused("request", f"unknown guard {name!r}")
        if self.missing is None:
            from ipybox_kernel import guards

            self.missing = guards.unavailable()
        if self.missing:
            raise Refused("guard", f"the guard no_exec cannot be had: {self.missing}")
        return True

    def checked_allow(self, names: Any) -> list[str]:
        """The names of what the guard leaves open; a refusal if one means nothing."""
        if not names:
            return []
        from ipybox_kernel import filters

        if not isinstance(names, list) or not set(names) <= set(filters.CHOICES):
            raise Refused("request", f"cannot allow {names!r}, only of {', '.join(filters.CHOICES)}")
        return names

    def spawn(self, request: dict[str, Any]) -> dict[str, Any]:
        """Starts a program with nothing to read and nowhere to write: a foreign kernel."""
        if self.walls:
            raise Refused("walls", f"kernels of other programs cannot be kept apart; {SHARE}")
        argv, env = checked_argv(request["argv"]), self.sandboxed(checked_env(request["env"]))
        return self.start(argv, request.get("cwd"), lambda: process.run(argv, env, self.pid, self.cpu_time))

    def run(self, request: dict[str, Any], own: Own, descriptors: list[int]) -> dict[str, Any]:
        """Starts a program that a kernel has asked for."""
        kernel = request["kernel"]
        if len(descriptors) != 3:
            raise Refused("request", "a program needs three descriptors")
        if kernel not in self.broker.environments:
            raise Refused("kernel", f"kernel {kernel} has ended")

        def words(environment: dict[str, str]) -> tuple[list[str], dict[str, str], str | None]:
            asked = own()
            argv, env = checked_argv(asked["argv"]), checked_env(changed(environment, asked["env"]))
            if self.cpu_time is not None:
                argv = process.with_cpu_time(argv, self.cpu_time)
            return argv, env, asked.get("cwd")

        if self.walls:
            started = self.start_within(self.walls, kernel, words, descriptors)
        else:
            argv, env, cwd = words(self.broker.environments[kernel])
            started = self.start(argv, cwd, lambda: process.start(argv, env, descriptors))
        self.broker.owners[started["pid"]] = kernel
        return started

    def start_within(self, walls: Walls, kernel: int, words: Words, descriptors: list[int]) -> dict[str, Any]:
        """Starts a program within the walls of a kernel; its directory is one there, and need not exist here."""
        try:
            pid = walls.start(kernel, words, descriptors)
        except OSError as error:
            raise Refused("exec", error.strerror or str(error), errno=error.errno) from None
        except landlock.Missing as lack:  # the kernel's first process has just ended, and so does the kernel
            raise Refused("kernel", f"kernel {kernel} has ended: {lack}") from None
        self.living.add(pid)
        return {"pid": pid}

    def start(self, argv: list[str], cwd: str | None, program: Callable[[], int]) -> dict[str, Any]:
        self.enter(cwd)
        try:
            pid = program()
        except OSError as error:
            raise Refused("exec", f"{argv[0]}: {error.strerror}", errno=error.errno) from None
        finally:
            self.leave()
        self.living.add(pid)
        return {"pid": pid}

    def signal(self, request: dict[str, Any]) -> dict[str, Any]:
        """Signals a child or its group."""
        pid, number, group = request["pid"], int(request["signal"]), bool(request.get("group"))
        self.reap()
        if pid not in self.living:
            return {"sent": group and self.has_group(pid) and process.kill(pid, number, group=True)}
        # A child that was forked just now may not have its group yet; then it is alone.
        sent = group and process.kill(pid, number, group=True)
        return {"sent": sent or process.kill(pid, number)}

    def has_group(self, program: int) -> bool:
        """Whether a program that has ended left anything in its process group."""
        return self.walls.has_group(program) if self.walls else self.broker.has_group(program)

    def watch(self, request: dict[str, Any]) -> dict[str, Any]:
        """Looks from time to time at what a kernel takes while it runs code."""
        pid, runs = request["pid"], bool(request["runs"])
        if self.watchdog is None:
            from ipybox_kernel.watchdog import Watchdog

            self.watchdog = Watchdog(self.limits)
        if not runs:
            self.watchdog.rest(pid)
        elif pid in self.living:
            self.watchdog.begin(pid)
        return {}

    def look(self, watchdog: Watchdog) -> None:
        """Ends the kernels that take more than they may, and processes that may be of several kernels."""
        numbers = process.numbered_children()
        strangers = self.broker.claim(numbers.keys() - self.living - self.broker.owners.keys(), alone=not self.ended)

        def roots(kernel: int) -> list[str]:
            pids = self.broker.processes_of(kernel) if kernel else strangers
            return [numbers[pid] for pid in pids if pid in numbers]

        for kernel, excess in watchdog.look(roots).items():
            watchdog.forget(kernel)
            if kernel in self.living:
                self.excesses[kernel] = excess
            # No kernel has to answer for what another one may have started.
            for pid in {kernel} & self.living if kernel else strangers:
                process.kill(pid, signal.SIGKILL, group=True)
                process.kill(pid, signal.SIGKILL)

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

    # Children

    def reap(self) -> None:
        """Collects dead children; reports programs of kernels at once, others when nothing of theirs is left."""
        programs: dict[int, int] = {}
        while dead := peek():
            kernel = self.broker.forget(dead)
            if dead not in self.living:
                os.waitpid(dead, 0)
            elif kernel is not None:
                if self.walls:
                    self.walls.end_program(kernel, dead)
                self.report(dead, os.waitpid(dead, 0)[1])
            else:
                if self.watchdog:
                    self.watchdog.forget(dead)
                if self.walls:
                    self.walls.forget(dead)
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
        self.send(event)

    def terminated(self, *_: object) -> NoReturn:
        """The keeper has ended, or this process is told to."""
        if os.getpid() == self.pid:
            self.end()
        os._exit(128 + signal.SIGTERM)  # a child that has not yet become what it will be

    def end(self) -> NoReturn:
        """Kills everything below this process, until nothing is left, and exits."""
        for pid in self.living:
            process.kill(pid, signal.SIGKILL, group=True)
        while remaining := {*self.living, *process.children()}:
            for pid in remaining:
                process.kill(pid, signal.SIGKILL)
            self.living.discard(os.waitpid(-1, 0)[0])
        os._exit(0)

    # The control socket

    def reply(self, number: int, answer: dict[str, Any]) -> None:
        """Answers a request. A listening socket goes to the host as a descriptor, and is let go of here."""
        listener = answer.pop("listener", None)
        if not listener:
            return self.send({"id": number, **answer})
        with listener:
            self.send({"id": number, **answer}, [listener.fileno()])

    def send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        try:
            # What is said of names that are not UTF-8 is for reading: the host takes no lone surrogates.
            data = json.dumps(message, ensure_ascii=False).encode(errors="replace")
            if descriptors:
                socket.send_fds(self.control, [data], list(descriptors))
            else:
                self.control.send(data)
        except OSError:
            self.end()

    def fail(self, kind: str, text: str) -> NoReturn:
        """Says why there will be no kernels, and ends."""
        self.send({"event": "failed", "kind": kind, "executable": sys.executable, "text": text})
        os._exit(1)

    def close(self) -> None:
        """Lets go of everything that is the supervisor's; for its forked children."""
        self.control.close()
        for descriptor in (self.home, self.wakeup, self.wakeup_end, *self.lifeline):
            os.close(descriptor)


def walls_of(plan: dict[str, Any] | None) -> Walls | None:
    """Walls between kernels, if there are to be any."""
    if plan is None:
        return None
    from ipybox_kernel.walls import Walls

    return Walls(plan)


def peek() -> int | None:
    """The pid of a dead child that still has to be waited for."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return found.si_pid if found else None


def checked_argv(argv: Any) -> list[str]:
    """The words of a program's command line, or a refusal."""
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) and "\0" not in word for word in argv):
        raise Refused("request", "argv must be a list of strings")
    return argv


def checked_env(env: Any) -> dict[str, str]:
    """The environment of a request, or a refusal: a child could only fail on it."""
    for name, value in env.items():
        if not isinstance(value, str) or not name or "=" in name or "\0" in name + value:
            raise Refused("request", f"not an environment variable: {name!r}")
    return dict(env)


def changed(environment: dict[str, str], changes: dict[str, str | None]) -> dict[str, str]:
    """An environment with other variables, and without those that are None."""
    return {name: value for name, value in {**environment, **changes}.items() if value is not None}


def taken(limits: dict[str, int], control: socket.socket) -> Callable[[], None]:
    """Takes limits; the result looks whether they leave room for a kernel."""
    if not limits:
        return lambda: None
    from ipybox_kernel.limits import take_with_room

    return take_with_room(limits, control)


def preloaded(supervisor: Supervisor, hello: dict[str, Any], check_room: Callable[[], None]) -> HandlersKernel:
    """A kernel that works, ready to be forked. Ends everything where there is none."""
    gc.disable()  # nothing of what is imported now will ever be garbage
    from ipybox_kernel import preload

    try:
        return preload.kernel(hello.get("level", "auto"), hello.get("modules", []))
    except preload.Failure as failure:
        check_room()
        supervisor.fail(failure.kind, str(failure))


def main(control: socket.socket, hello: dict[str, Any], lifeline: list[int]) -> None:
    """Runs the supervisor, and in its forked children the kernel."""
    if lifeline:
        process.die_with_other_end(lifeline[0])
        process.die_with_keeper()
    allowed, between = hello.get("limits", {}), hello.get("walls")
    if between:
        # Of each kernel alone: the system counts what is in a namespace among what is in the one around it as well.
        between["processes"] = allowed.pop("processes", None)
    if hello.get("domain"):
        landlock.is_within_files()
    check_room = taken(allowed, control)
    try:
        supervisor = Supervisor(control, lifeline, allowed, hello.get("variables", []), walls_of(between))
        if hello.get("protocol") != PROTOCOL:
            supervisor.fail("error", f"the host speaks protocol {hello.get('protocol')}, this supervisor {PROTOCOL}")
        kernel = preloaded(supervisor, hello, check_room) if hello.get("preload", True) else None
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
        supervisor.send(ready)
        supervisor.serve()
        return

    from ipybox_kernel import preload

    supervisor.send({**ready, **preload.versions(), "level": kernel.level})
    supervisor.warm_up = preload.warm_up(kernel)
    birth = supervisor.serve()

    from ipybox_kernel import child

    child.become_kernel(kernel, birth)
