"""The first process in the sandbox: forks kernels, starts programs, and leaves nothing behind."""

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
    allowed, between = hello.get("limits", {}), hello.get("walls")
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
