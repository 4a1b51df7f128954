"""A small host: starts a supervisor, forks kernels and talks to them as docs/kernel-protocol.md says."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import uuid
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

from ipybox_kernel import process

PYTHON = os.environ.get("IPYBOX_TEST_PYTHON", sys.executable)
PACKAGE = Path(__file__).parents[2] / "python" / "ipybox_kernel"
TIMEOUT = 20.0
MAX_OUTPUT = 1 << 30  # of one cell: one that nothing stops must not take all memory
SHELL, IOPUB, STDIN, CONTROL = range(4)

#: Starts threads that print without end.
CHATTER = """
import threading
def chatter():
    while True: print('x', flush=True)
for _ in range(4): threading.Thread(target=chatter, daemon=True).start()
"""


def sources() -> dict[str, str]:
    """The texts of the package, as the host embeds them."""
    return {path.stem: path.read_text() for path in sorted(PACKAGE.glob("*.py")) if path.stem != "boot"}


class Closed(Exception):
    """End of file."""


class Host:
    """A supervisor and the control socket to it."""

    def __init__(
        self,
        *,
        python: str = PYTHON,
        texts: dict[str, str] | None = None,
        cwd: str | None = None,
        control_fd: int | None = None,
        user: int | None = None,
        wait: bool = True,
        **hello: Any,
    ) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        boot = (PACKAGE / "boot.py").read_text()
        number = theirs.fileno() if control_fd is None else control_fd
        self.stderr_file = os.memfd_create("stderr")
        keeper = (PACKAGE / "keeper.sh").read_text()
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", keeper, "keeper", str(number), python, "-I", "-c", boot, str(number)],
            stdin=subprocess.DEVNULL,
            stdout=theirs if control_fd == 1 else subprocess.DEVNULL,
            stderr=self.stderr_file,
            pass_fds=() if control_fd == 1 else (theirs.fileno(),),
            cwd=cwd,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            start_new_session=True,
            preexec_fn=process.adopt_orphans,
        )
        theirs.close()
        self.lifeline, theirs_of_lifeline = socket.socketpair()
        self.events: list[dict[str, Any]] = []
        self.answers: dict[int | None, dict[str, Any]] = {}  # None: of a request that has no number
        self.requests = itertools.count(1)
        self.changed = threading.Condition()
        self.reading = False
        memory = os.memfd_create("sources")
        for name, text in (sources() if texts is None else texts).items():
            os.write(memory, f"{name} {len(text.encode())}\n{text}".encode())
        greeting = {"op": "hello", "protocol": 1, "preload": True, "level": "auto", "modules": [], **hello}
        self.send(greeting, [memory, theirs_of_lifeline.fileno()])
        os.close(memory)
        theirs_of_lifeline.close()
        self.ready: dict[str, Any] = {}
        if wait:
            self.ready = self.event("ready")

    @property
    def supervisor(self) -> int:
        """Its pid. The process that was started is its keeper."""
        return int(self.ready["pid"])

    def send(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        socket.send_fds(self.control, [json.dumps(message).encode()], descriptors or [])

    def receive(self, timeout: float = TIMEOUT) -> dict[str, Any]:
        """The next datagram."""
        self.control.settimeout(timeout)
        data, descriptors, _, _ = socket.recv_fds(self.control, 131072, 8)
        if not data:
            raise Closed(self.stderr())
        message: dict[str, Any] = json.loads(data)
        if descriptors:
            message["received"] = [os.fdopen(descriptor, "rb") for descriptor in descriptors]
        return message

    def event(self, kind: str, timeout: float = TIMEOUT, **match: Any) -> dict[str, Any]:
        """Waits for an event, also one that has come already."""

        def find() -> dict[str, Any] | None:
            for event in self.events:
                if event["event"] == kind and all(event[key] == value for key, value in match.items()):
                    self.events.remove(event)
                    return event
                assert event["event"] != "failed", event
            return None

        return self.wait(find, timeout)

    def request(self, op: str, descriptors: list[int] | None = None, **fields: Any) -> dict[str, Any]:
        """Sends a request and waits for its answer."""
        number = next(self.requests)
        self.send({"op": op, "id": number, **fields}, descriptors)
        return self.wait(lambda: self.answers.pop(number, None), TIMEOUT)

    def wait(self, find: Callable[[], dict[str, Any] | None], timeout: float) -> dict[str, Any]:
        """Waits, in any thread, until something has come. One of the threads that wait reads for all."""
        while True:
            with self.changed:
                if (found := find()) is not None:
                    return found
                if self.reading:
                    assert self.changed.wait(timeout), "timeout"
                    continue
                self.reading = True
            try:
                message = self.receive(timeout)
                with self.changed:
                    if "event" in message:
                        self.events.append(message)
                    else:
                        self.answers[message["id"]] = message
                        # Numbers of processes are used again: what was told of this one's before was of another.
                        if (pid := message.get("pid")) is not None:
                            self.events = [event for event in self.events if event.get("pid") != pid]
            finally:
                with self.changed:
                    self.reading = False
                    self.changed.notify_all()

    def fork(
        self,
        env: dict[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        restore_cwd: bool = False,
        actions: bool = False,
        entrance: int | None = None,
        **options: Any,
    ) -> Kernel:
        """A new kernel that has said that it is up. The entrance is the file by which it enters its control group."""
        ours, theirs = socket.socketpair()
        action_end, action_end_of_kernel = socket.socketpair()
        for end in (ours, theirs):
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                end.setsockopt(socket.SOL_SOCKET, option, 4 << 20)
        if entrance is not None:
            options["cgroup"] = True
        answer = self.request(
            "fork",
            [
                *([] if entrance is None else [entrance]),
                theirs.fileno(),
                *([action_end_of_kernel.fileno()] if actions else []),
            ],
            env=default_env() if env is None else env,
            cwd=None if cwd is None else os.fspath(cwd),
            restore_cwd=restore_cwd,
            **options,
        )
        theirs.close()
        action_end_of_kernel.close()
        if "error" in answer:
            ours.close()
            action_end.close()
            raise AssertionError(answer["error"])
        kernel = Kernel(self, answer["pid"], ours)
        kernel.outputs = answer["received"][-2:]
        kernel.actions = Actions(self, answer["pid"], action_end)
        return kernel

    def signal(self, pid: int | None, number: int, group: bool = True) -> bool:
        return bool(self.request("signal", pid=pid, signal=int(number), group=group)["sent"])

    def stderr(self) -> str:
        return os.pread(self.stderr_file, 1 << 20, 0).decode(errors="replace")

    def close(self) -> int:
        """Closes the control socket; returns the exit status of the supervisor."""
        try:
            self.control.shutdown(socket.SHUT_RDWR)  # which ends the waiting of other threads too
        except OSError:
            pass  # the supervisor has ended
        self.control.close()
        status = self.process.wait(TIMEOUT)
        self.lifeline.close()
        os.close(self.stderr_file)
        return status

    def vanish(self) -> None:
        """Closes what the end of a host closes."""
        self.control.close()
        self.lifeline.close()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def default_env() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}


@dataclass
class Message:
    """One message of a kernel, raw values put back."""

    channel: int
    type: str
    header: dict[str, Any]
    parent: dict[str, Any]
    metadata: dict[str, Any]
    content: dict[str, Any]
    buffers: list[bytes]
    raw: list[Any]


@dataclass
class Result:
    """Everything that belongs to one cell."""

    reply: dict[str, Any]
    messages: list[Message] = field(default_factory=list)

    def text(self, name: str = "stdout") -> str:
        parts = [m.content["text"] for m in self.of("stream") if m.content["name"] == name]
        return "".join(parts)

    def of(self, kind: str) -> list[Message]:
        return [message for message in self.messages if message.type == kind]

    @property
    def value(self) -> str | None:
        results = self.of("execute_result")
        return results[-1].content["data"]["text/plain"] if results else None

    @property
    def error(self) -> str:
        return str(self.reply.get("ename", ""))

    @property
    def traceback(self) -> str:
        return "\n".join(self.reply.get("traceback", []))


class Kernel:
    """A forked kernel and the stream to it."""

    def __init__(self, host: Host, pid: int, stream: socket.socket) -> None:
        self.host = host
        self.pid = pid
        self.stream = stream
        self.buffer = bytearray()
        self.sizes: list[int] = []
        self.actions: Actions
        self.outputs: list[Any] = []  # files: what is left in the pipes of stdout and stderr
        self.directory = Path()  # where it works, for tests that look there
        self.output = 0  # what the messages since the last reply take, about
        first = self.receive()
        assert first.type == "status" and first.content["execution_state"] == "starting", first

    def send(
        self,
        kind: str,
        content: dict[str, Any],
        channel: int = SHELL,
        buffers: list[bytes] | None = None,
        metadata: dict[str, Any] | None = None,
        parent: dict[str, Any] | None = None,
    ) -> str:
        """Sends a message and returns its id."""
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": "test", "username": "", "version": "5.4"}
        frames = [json.dumps(part).encode() for part in (header, parent or {}, metadata or {}, content)]
        frames += buffers or []
        sizes = [len(frame) for frame in frames]
        prefix = struct.pack(f"<IBB{len(sizes)}I", 2 + 4 * len(sizes) + sum(sizes), channel, len(sizes), *sizes)
        self.stream.settimeout(TIMEOUT)
        self.stream.sendall(b"".join([prefix, *frames]))
        return str(header["msg_id"])

    def receive(self, timeout: float = TIMEOUT) -> Message:
        """The next message."""
        self.stream.settimeout(timeout)
        while len(self.buffer) < 4 or len(self.buffer) < 4 + int.from_bytes(self.buffer[:4], "little"):
            data = self.stream.recv(1 << 20)
            if not data:
                raise Closed
            self.buffer += data
        length = int.from_bytes(self.buffer[:4], "little")
        packet = bytes(self.buffer[4 : 4 + length])
        del self.buffer[: 4 + length]
        self.sizes.append(length)
        message = parse(packet)
        self.output = 0 if message.type.endswith("_reply") else self.output + length + 2048
        assert self.output < MAX_OUTPUT, "the cell does not end"
        return message

    def start(self, code: str, **options: Any) -> str:
        """Sends a cell and returns the id of the request."""
        content = {
            "code": code,
            "silent": False,
            "store_history": False,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
            **options,
        }
        return self.send("execute_request", content)

    def finish(self, request: str, timeout: float = TIMEOUT) -> Result:
        """Collects everything up to the reply to a request."""
        messages: list[Message] = []
        while True:
            message = self.receive(timeout)
            if message.type.endswith("_reply") and message.parent["msg_id"] == request:
                return Result(message.content, messages)
            messages.append(message)

    def run(self, code: str, *, timeout: float = TIMEOUT, **options: Any) -> Result:
        """Runs a cell."""
        return self.finish(self.start(code, **options), timeout)

    def ask(self, kind: str, **content: Any) -> dict[str, Any]:
        """Sends a request that is not a cell and returns the content of its reply."""
        return self.finish(self.send(kind, content)).reply

    def until(self, text: str) -> list[Message]:
        """Reads until a stream has shown a text."""
        messages, seen = [], ""
        while text not in seen:
            messages.append(self.receive())
            assert not messages[-1].type.endswith("_reply"), messages
            if messages[-1].type == "stream":
                seen += messages[-1].content["text"]
        return messages

    def interrupt(self, request: str | None = None) -> bool:
        """Interrupts what runs, or a certain request, which may not have begun yet."""
        if request:
            self.send("interrupt_request", {"msg_id": request}, CONTROL)
        return self.host.signal(self.pid, signal.SIGINT)

    def interrupt_when_started(self, code: str) -> Result:
        """Runs a cell that says when it has started, and interrupts it then."""
        request = self.start(code)
        self.until("started\n")
        self.interrupt()
        return self.finish(request)

    def wait_closed(self) -> dict[str, Any]:
        """Waits for the end of file and the exit event."""
        while True:
            try:
                self.receive()
            except (Closed, ConnectionError):
                return self.host.event("exit", pid=self.pid)

    def left(self) -> list[str]:
        """What a kernel that has ended has left in the pipes of stdout and stderr."""
        for pipe in self.outputs:
            os.set_blocking(pipe.fileno(), False)
        return [(pipe.read() or b"").decode() for pipe in self.outputs]

    def close(self) -> None:
        for pipe in self.outputs:
            pipe.close()
        if self.stream.fileno() >= 0:
            self.host.signal(self.pid, signal.SIGKILL)
            self.stream.close()
            self.actions.close()


class Refusal(Exception):
    """An error that answers an action."""

    def __init__(self, kind: str, text: str, **fields: Any) -> None:
        super().__init__(text)
        self.error = {"op": "error", "kind": kind, "text": text, **fields}


@dataclass
class Action:
    """One request of a kernel."""

    head: dict[str, Any]
    body: bytes
    cancelled: threading.Event = field(default_factory=threading.Event)
    pid: int | None = None  # of the program

    def __getitem__(self, name: str) -> Any:
        return self.head[name]


class Actions:
    """The host's end of an action socket: tools are functions here, programs run as `approve` lets them."""

    def __init__(self, host: Host, kernel: int, stream: socket.socket) -> None:
        self.host = host
        self.kernel = kernel
        self.stream = stream
        self.sending = threading.Lock()
        self.seen: list[Action] = []
        self.outstanding: dict[int, Action] = {}
        self.tools: dict[str, Callable[..., Any]] = {}
        self.in_turn = False  # whether an answer is written before the next request is read
        self.approve: Callable[[Action], object] = lambda action: None  # or it raises a Refusal
        threading.Thread(target=self._serve_to_the_end, daemon=True).start()

    def send(self, head: dict[str, Any], body: bytes = b"", descriptors: list[int] | None = None) -> None:
        text = json.dumps(head).encode()
        frame = struct.pack("<II", 4 + len(text) + len(body), len(text)) + text + body
        with self.sending:
            sent = socket.send_fds(self.stream, [frame[:65536]], descriptors or [])
            self.stream.sendall(memoryview(frame)[sent:])

    def argvs(self) -> list[list[str]]:
        """What was asked for, in order."""
        return [action["argv"] for action in self.seen if action["op"] == "run"]

    def program(self) -> int:
        """The pid of the program that was asked for last, which may print before the supervisor's answer is read."""
        wait_until(lambda: self.seen and self.seen[-1].pid)
        pid = self.seen[-1].pid
        assert pid
        return pid

    def close(self) -> None:
        try:
            self.stream.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _serve_to_the_end(self) -> None:
        try:
            self._serve()
        except OSError:
            pass  # the kernel is gone

    def _serve(self) -> None:
        stream = self.stream.makefile("rb")
        while prefix := stream.read(8):
            size, head = struct.unpack("<II", prefix)
            action = Action(json.loads(stream.read(head)), stream.read(size - 4 - head))
            if action["op"] == "cancel":
                if cancelled := self.outstanding.get(action["id"]):
                    cancelled.cancelled.set()
                    self._stop(cancelled)
                continue
            self.seen.append(action)
            self.outstanding[action["id"]] = action
            if self.in_turn:
                self._answer(action)
            else:
                threading.Thread(target=self._answer, args=(action,), daemon=True).start()

    def _answer(self, action: Action) -> None:
        try:
            self.approve(action)
            answer = self._run(action) if action["op"] == "run" else self._call(action)
        except Refusal as refusal:
            answer = refusal.error, b""
        except OSError:
            return  # the kernel is gone
        del self.outstanding[action["id"]]
        try:
            self.send({**answer[0], "id": action["id"]}, answer[1])
        except OSError:
            pass

    def _call(self, action: Action) -> tuple[dict[str, Any], bytes]:
        name = action["tool" if action["op"] == "call" else "method"]
        if name not in self.tools:
            raise Refusal("server", f"no tool {name}")
        value = self.tools[name](action)
        if isinstance(value, tuple):
            return value
        if isinstance(value, str):
            return {"op": "result", "text": True, "parts": []}, value.encode()
        return {"op": "result", "text": False, "parts": []}, json.dumps(value).encode()

    def _run(self, action: Action) -> tuple[dict[str, Any], bytes]:
        stdin = os.memfd_create("stdin") if action.body else os.open(os.devnull, os.O_RDONLY)
        if action.body:
            os.write(stdin, action.body)
            os.lseek(stdin, 0, os.SEEK_SET)
        out, err = os.pipe(), os.pipe()
        try:
            if action["merge"]:
                os.dup2(out[1], err[1])
            ends = [stdin, out[1], err[1]]
            fields = {name: action[name] for name in ("argv", "env", "cwd")}
            answer = self.host.request("run", ends, kernel=self.kernel, **fields)
            if "error" in answer:
                raise Refusal(**{**answer["error"], "kind": "exec"})
            reads = [out[0]] if action["merge"] else [out[0], err[0]]
            self.send({"op": "started", "id": action["id"], "descriptors": len(reads)}, b"", reads)
        finally:
            for fd in (stdin, *out, *err):
                os.close(fd)
        action.pid = answer["pid"]
        if action.cancelled.is_set():
            self._stop(action)
        try:
            ended = self.host.event("exit", pid=action.pid, timeout=10 * TIMEOUT)
            if action.cancelled.is_set():
                self.host.signal(action.pid, signal.SIGKILL)  # what it left in its group
        except (Closed, OSError):
            raise Refusal("server", "the supervisor has ended") from None
        return {"op": "exited", "code": ended["code"], "signal": ended["signal"]}, b""

    def _stop(self, action: Action) -> None:
        """Interrupts a program that runs, and kills it if that does not help."""

        def kill() -> None:
            try:
                self.host.signal(action.pid, signal.SIGKILL)
            except (Closed, OSError):
                pass  # everything is gone

        if action.pid:
            self.host.signal(action.pid, signal.SIGINT)
            threading.Timer(0.25, kill).start()


def parse(packet: bytes) -> Message:
    channel, count = packet[0], packet[1]
    start, frames = 2 + 4 * count, []
    for size in struct.unpack_from(f"<{count}I", packet, 2):
        frames.append(packet[start : start + size])
        start += size
    header, parent, metadata, content = (json.loads(frame.decode("utf-8")) for frame in frames[:4])
    raw = metadata.pop("raw", [])
    for path, index, kind in raw:
        target = content
        for key in path[:-1]:
            target = target[key]
        assert target[path[-1]] == ""
        value = frames[4 + index]
        target[path[-1]] = value.decode("utf-8") if kind == "text" else b64encode(value).decode()
    return Message(channel, header["msg_type"], header, parent, metadata, content, frames[4:], raw)


def wait_until(condition: Any, timeout: float = TIMEOUT) -> None:
    """Waits for something outside that sends no event."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "condition never came true"
        select.select([], [], [], 0.005)


def alive(pid: int) -> bool:
    """Whether a process runs: it exists, and is not one that waits to be waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # the latter where it ends while it is read
        return False
