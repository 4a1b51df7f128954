"""A client of `ipybox mcp` that sends and takes exactly what a test says, in both eras of the protocol."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from program import PATIENCE, PYTHON, Program

Json = dict[str, Any]

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
ERAS = [LEGACY, MODERN]

#: What a client says that shows forms.
FORMS: Json = {"elicitation": {"form": {}}}


def accept(decision: str = "accept", **content: Any) -> Json:
    """What a form comes back as."""
    return {"action": "accept", "content": {"decision": decision, **content}}


class CallFailed(Exception):
    """A request was answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


@dataclass
class Answer:
    """What a tool returned."""

    result: Json

    @property
    def text(self) -> str:
        return "\n".join(block["text"] for block in self.result["content"] if block["type"] == "text")

    @property
    def images(self) -> list[Json]:
        return [block for block in self.result["content"] if block["type"] == "image"]

    @property
    def failed(self) -> bool:
        return bool(self.result.get("isError"))

    @property
    def value(self) -> Json:
        value = self.result["structuredContent"]
        assert isinstance(value, dict)
        return value


@dataclass
class Pending:
    """A request that was sent."""

    id: int
    answers: queue.Queue[Json] = field(default_factory=queue.Queue)

    def wait(self, patience: float = PATIENCE) -> Json:
        message = self.answers.get(timeout=patience)
        if "error" in message:
            raise CallFailed(message["error"])
        result = message["result"]
        assert isinstance(result, dict)
        return result


class Client:
    """Starts the server, and shakes hands where the version does."""

    def __init__(
        self,
        program: Program,
        *arguments: str,
        version: str = LEGACY,
        capabilities: Json | None = None,
        on_question: Callable[[Json], Json | None] | None = None,
        python: bool = True,
        handshake: bool = True,
        stderr: int = -1,
    ) -> None:
        self.version = version
        self.capabilities = {} if capabilities is None else capabilities
        self.questions: list[Json] = []
        self.notifications: queue.Queue[Json] = queue.Queue()
        self.withdrawn: list[Any] = []  # ids of questions that were taken back
        self.refused: list[Json] = []  # errors about lines that were no request
        self._on_question = on_question
        self._pending: dict[int, Pending] = {}
        self._last = 0
        self._writing = threading.Lock()
        command = program.mcp(*arguments, *(["--python", PYTHON] if python else []))
        self.process = program.start_command(command, stdin=-1, stderr=stderr)
        assert self.process.stdin
        assert self.process.stdout
        self._in, self._out = self.process.stdin, self.process.stdout
        self.errors: list[str] = []
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()
        if version != MODERN and handshake:
            self.initialized = self.request("initialize", self.hello())
            self.notify("notifications/initialized")

    def hello(self) -> Json:
        return {
            "protocolVersion": self.version,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        }

    # --- messages

    def send(self, message: Json | str) -> None:
        line = message if isinstance(message, str) else json.dumps(message)
        with self._writing:
            self._in.write(line.encode() + b"\n")
            self._in.flush()

    def notify(self, method: str, params: Json | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def begin(self, method: str, params: Json | None = None, progress: bool = False) -> Pending:
        self._last += 1
        pending = self._pending[self._last] = Pending(self._last)
        params = dict(params or {})
        meta: Json = {}
        if self.version == MODERN:
            prefix = "io.modelcontextprotocol/"
            meta = {
                f"{prefix}protocolVersion": MODERN,
                f"{prefix}clientCapabilities": self.capabilities,
                f"{prefix}clientInfo": {"name": "test", "version": "1"},
            }
        if progress:
            meta["progressToken"] = self._last
        if meta:
            params["_meta"] = meta
        self.send({"jsonrpc": "2.0", "id": pending.id, "method": method, "params": params})
        return pending

    def request(self, method: str, params: Json | None = None) -> Json:
        return self.begin(method, params).wait()

    def cancel(self, pending: Pending) -> None:
        self.notify("notifications/cancelled", {"requestId": pending.id, "reason": "the user pressed stop"})

    def begin_call(self, tool: str, arguments: Json | None = None, progress: bool = False) -> Pending:
        return self.begin("tools/call", {"name": tool, "arguments": arguments or {}}, progress)

    def finish_call(self, pending: Pending, tool: str, arguments: Json | None = None) -> Answer:
        """Answers questions of the newer era until there is a result."""
        while (result := pending.wait()).get("resultType") == "input_required":
            responses = {}
            for key, request in result["inputRequests"].items():
                self.questions.append(request["params"])
                assert self._on_question
                responses[key] = self._on_question(request["params"])
            params: Json = {"name": tool, "arguments": arguments or {}, "inputResponses": responses}
            if "requestState" in result:
                params["requestState"] = result["requestState"]
            pending = self.begin("tools/call", params)
        return Answer(result)

    def call(self, tool: str, **arguments: Any) -> Answer:
        return self.finish_call(self.begin_call(tool, arguments), tool, arguments)

    def run(self, code: str, **arguments: Any) -> Answer:
        return self.call("execute_ipython_cell", code=code, **arguments)

    def close(self) -> int:
        self._in.close()
        return self.ended()

    def ended(self) -> int:
        code = self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        return code

    # --- what comes

    def _read_errors(self) -> None:
        for line in self.process.stderr or []:
            self.errors.append(line.decode())

    def _read(self) -> None:
        for line in self._out:
            message = json.loads(line)
            if "method" not in message:
                if message.get("id") is not None:
                    if message["id"] in self._pending:
                        self._pending[message["id"]].answers.put(message)
                else:
                    self.refused.append(message["error"])
            elif "id" not in message:
                if message["method"] == "notifications/cancelled":
                    self.withdrawn.append(message["params"]["requestId"])
                self.notifications.put(message)
            else:
                self._answer(message)

    def _answer(self, message: Json) -> None:
        if message["method"] != "elicitation/create" or self._on_question is None:
            self.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "not here"}})
            return
        self.questions.append(message["params"])
        answer = self._on_question(message["params"])
        if answer is not None:
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": answer})


#: Starts a client of a server with these arguments and options.
Clients = Callable[..., Client]
