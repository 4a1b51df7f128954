"""An MCP server over stdio that does as its options say, good and bad: both eras of the protocol, no libraries."""

from __future__ import annotations

import argparse
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from typing import Any

STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"

Json = dict[str, Any]


class Refusal(Exception):
    """An error that JSON-RPC answers with."""

    def __init__(self, code: int, message: str, data: Any = None):
        super().__init__(message)
        self.code = code
        self.data = data


def with_length(text: str) -> bytes:
    return f"Content-Length: {len(text.encode())}\r\n\r\n{text}".encode()


FRAMINGS = {
    "lines": lambda text: f"{text}\n".encode(),
    "mark": lambda text: f"\ufeff{text}\r\n".encode(),
    "length": with_length,
    "several": lambda text: (json.dumps(json.loads(text), indent=2) + "\n").encode(),
    "prompt": lambda text: f"Ok to proceed? (y) {text}\n".encode(),
    "unended": lambda text: text.encode(),
    "utf-16": lambda text: f"{text}\n".encode("utf-16-le"),
}


class Server:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.writing = threading.Lock()
        self.waiting: dict[Any, threading.Event] = {}
        self.cancelled: list[Any] = []
        self.answers: dict[Any, Json] = {}
        self.answered = threading.Condition()
        self.subscription: Any = None
        self.extra_tools: list[str] = []

    # --- lines

    def write(self, message: Json) -> None:
        if self.options.noise:
            self.write_text("Server listening on stdio!")
            self.write_text('{"level": "info", "id": 1, "result": "a log line"}')
            self.write_text("")
        if self.options.nulls:  # as libraries write that know which members there are
            message = dict.fromkeys(("id", "method", "params", "result", "error")) | message
            if isinstance(message["result"], dict):
                message["result"] = dict.fromkeys(("_meta", "nextCursor", "isError")) | message["result"]
        self.write_text(json.dumps(message))

    def write_text(self, text: str) -> None:
        with self.writing:
            sys.stdout.buffer.write(FRAMINGS[self.options.framing](text))
            sys.stdout.flush()

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                with self.answered:
                    self.answers[message["id"]] = message
                    self.answered.notify_all()
            elif "id" not in message:
                self.on_notification(message)
            elif message["method"] == "tools/call" and message["params"]["name"] in SLOW:
                # before the thread runs, for it may be cancelled before
                self.waiting[message["id"]] = threading.Event()
                threading.Thread(target=self.answer, args=(message,), daemon=True).start()
            else:
                self.answer(message)

    def on_notification(self, message: Json) -> None:
        if message["method"] == "notifications/cancelled":
            request = message["params"]["requestId"]
            self.cancelled.append(request)
            if request in self.waiting:
                self.waiting[request].set()

    def answer(self, request: Json) -> None:
        method = request["method"]
        params = request.get("params", {})
        try:
            if self.options.silent:
                return
            result = self.handle(method, params, request["id"])
        except Refusal as why:
            error = {"code": why.code, "message": str(why)}
            if why.data is not None:
                error["data"] = why.data
            self.write({"jsonrpc": "2.0", "id": request["id"], "error": error})
            return
        if result is not None and request["id"] not in self.cancelled:
            # as the TypeScript library writes it: the id comes last
            self.write({"result": result, "jsonrpc": "2.0", "id": request["id"]})

    def ask(self, method: str) -> Json:
        identity = f"mine-{method}"
        self.write({"jsonrpc": "2.0", "id": identity, "method": method, "params": {}})
        with self.answered:
            self.answered.wait_for(lambda: identity in self.answers, timeout=20)
        return self.answers.get(identity, {})

    # --- methods

    def handle(self, method: str, params: Json, request: Any) -> Json | None:
        stateless = f"{META}protocolVersion" in params.get("_meta", {})
        if method == "initialize":
            return self.initialize(params)
        if method == "server/discover" and self.options.exit_on_discover:
            os._exit(3)
        if stateless:
            self.check(params["_meta"])
        elif self.options.era == "stateless":
            raise Refusal(-32602, "Invalid params: _meta is missing")
        if method == "server/discover":
            return self.discover()
        if method == "ping":
            return {}
        if method == "tools/list":
            return self.page(params) | self.complete(stateless)
        if method == "tools/call":
            result = self.call(params, request)
            return None if result is None else self.complete(stateless) | result
        if method == "subscriptions/listen" and stateless:
            self.subscription = request
            self.notify("notifications/subscriptions/acknowledged", {"notifications": params["notifications"]})
            return None
        raise Refusal(-32601, "Method not found")

    def initialize(self, params: Json) -> Json:
        if self.options.era == "stateless":
            raise Refusal(
                -32602, f"initialize is not supported: this server speaks {STATELESS}", {"supported": [STATELESS]}
            )
        time.sleep(self.options.slow_start)
        return {
            "protocolVersion": self.options.version or params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "wayward", "version": "1.2.3"},
            "instructions": "Be kind to it.",
        }

    def check(self, meta: Json) -> None:
        if self.options.era == "handshake":
            raise Refusal(-32601, "Method not found")
        asked = meta[f"{META}protocolVersion"]
        if asked != STATELESS or self.options.version:
            supported = [self.options.version or STATELESS]
            raise Refusal(-32022, "Unsupported protocol version", {"supported": supported, "requested": asked})
        if f"{META}clientCapabilities" not in meta:
            raise Refusal(-32602, "Invalid params: no client capabilities")

    def discover(self) -> Json:
        time.sleep(self.options.slow_start)
        return {
            "resultType": "complete",
            "supportedVersions": [STATELESS],
            "capabilities": {"tools": {"listChanged": True}},
            "instructions": "Be kind to it.",
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {f"{META}serverInfo": {"name": "wayward", "version": "1.2.3"}},
        }

    @staticmethod
    def complete(stateless: bool) -> Json:
        return {"resultType": "complete"} if stateless else {}

    def page(self, params: Json) -> Json:
        names = [*sorted(TOOLS), *self.extra_tools]
        size = self.options.page_size or len(names)
        if self.options.cursor is not None:
            page = [tool(f"tool{i}") for i in range(3)]
            return {"tools": page, "nextCursor": json.loads(self.options.cursor)}
        # the first page has no cursor, the second one the empty cursor
        cursor = params.get("cursor")
        number = 0 if cursor is None else 1 if cursor == "" else int(cursor)
        tools = [tool(name) for name in names[number * size : (number + 1) * size]]
        last = (number + 1) * size >= len(names)
        return {"tools": tools} if last else {"tools": tools, "nextCursor": "" if number == 0 else str(number + 1)}

    def notify(self, method: str, params: Json) -> None:
        if self.subscription is not None:
            params = params | {"_meta": {f"{META}subscriptionId": self.subscription}}
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def call(self, params: Json, request: Any) -> Json | None:
        name = params["name"]
        if name not in TOOLS:
            raise Refusal(-32602, f"Unknown tool: {name}")
        result = TOOLS[name](self, params.get("arguments", {}), params, request)
        return text(result) if isinstance(result, str) else result


def text(what: str) -> Json:
    return {"content": [{"type": "text", "text": what}]}


def tool(name: str) -> Json:
    schema = {"type": "object", "properties": {"zulu": {"type": "string"}, "alpha": {"type": "integer"}}}
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema}


# --- tools


def echo(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    return str(arguments["text"])


def sleep(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    interrupted = server.waiting[request].wait(arguments["seconds"])
    return "interrupted" if interrupted else "slept"


def die(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    print("about to die: a secret", file=sys.stderr, flush=True)
    if arguments.get("signal"):
        os.kill(os.getpid(), arguments["signal"])
    os._exit(arguments.get("code", 1))


def answer_and_die(server: Server, arguments: Json, params: Json, request: Any) -> Json | str | None:
    server.write({"jsonrpc": "2.0", "id": request, "result": text("last words" * 20000)})
    os._exit(0)


def big(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    return "x" * int(arguments["size"])


def size_of(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    return str(len(arguments["text"]))


def progress(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    token = params.get("_meta", {}).get("progressToken")
    if token is None:
        return "nobody asked"
    for step in range(1, arguments["steps"] + 1):
        report = {"progressToken": token, "progress": step, "total": arguments["steps"], "message": f"step {step}"}
        server.write({"jsonrpc": "2.0", "method": "notifications/progress", "params": report})
    return "done"


def content(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    blocks = [
        {"type": "text", "text": "first", "annotations": {"priority": 0.5}},
        {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///x.rs", "name": "x.rs", "mimeType": "text/x-rust"},
        {"type": "resource", "resource": {"uri": "test://a", "mimeType": "text/plain", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "test://b", "blob": "AAEC"}},
        {"type": "hologram", "depth": 3},
        {"type": "text", "text": "größe \U0001f600"},
    ]
    return {"content": blocks, "_meta": {"cost": 3}}


def structured(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    return {"content": [], "structuredContent": arguments["value"]}


def fail(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    return text("it did not work") | {"isError": True}


def environment(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    seen = {
        "env": dict(os.environ),
        "cwd": os.getcwd(),
        "argv": sys.argv[1:],
        "pgid": os.getpgid(0),
        "pid": os.getpid(),
    }
    return {"content": [], "structuredContent": seen}


def cancelled(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    return {"content": [], "structuredContent": len(server.cancelled)}


def add_tool(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    server.extra_tools.append("grown")
    server.notify("notifications/tools/list_changed", {})
    return "added"


def ask_client(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    asked = {method: server.ask(method) for method in ("ping", "roots/list", "sampling/createMessage")}
    return {"content": [], "structuredContent": asked}


def want_input(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    wanted = {"name": {"method": "elicitation/create", "params": {"message": "your name?"}}}
    return {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"}


def want_rounds(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    done = int(params.get("requestState", 'round 0 \u00e9 "').split()[1])
    if done == arguments["rounds"]:
        return f"after {done} rounds"
    return {"resultType": "input_required", "requestState": f'round {done + 1} \u00e9 "'}


def strange_result(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    return {"resultType": "hologram"}


def invalid_json(server: Server, arguments: Json, params: Json, request: Any) -> None:
    server.write_text(f'{{"jsonrpc": "2.0", "id": {request}, "result": {{"content": [nonsense]}}}}')


def endless_line(server: Server, arguments: Json, params: Json, request: Any) -> None:
    piece = "x" * (1 << 20)
    while True:
        sys.stdout.write(piece)


def close_output(server: Server, arguments: Json, params: Json, request: Any) -> None:
    os.close(1)


def open_terminal(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    master, slave = pty.openpty()
    terminal = os.open(os.ttyname(slave), os.O_RDWR)  # the controlling one of a leader of a session
    for descriptor in (terminal, slave, master):
        os.close(descriptor)  # which hangs up
    return "closed it"


def start_child(server: Server, arguments: Json, params: Json, request: Any) -> Json | str:
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)  # it keeps our standard output open
    return {"content": [], "structuredContent": child.pid}


TOOLS = {
    function.__name__: function
    for function in (
        echo, sleep, die, answer_and_die, big, size_of, progress, content, structured, fail, environment, cancelled,
        add_tool, ask_client, want_input, want_rounds, strange_result, invalid_json, endless_line, close_output,
        open_terminal, start_child,
    )
}  # fmt: skip
SLOW = {"sleep", "ask_client"}  # in threads of their own


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=["handshake", "stateless", "both"], default="handshake")
    parser.add_argument("--version", help="the version it answers with, or the only one it speaks")
    parser.add_argument("--noise", action="store_true", help="print what is no message between messages")
    parser.add_argument("--framing", choices=FRAMINGS, default="lines", help="how it writes messages")
    parser.add_argument("--nulls", action="store_true", help="write members that are left out as null")
    parser.add_argument("--cursor", help="JSON of the cursor that each of its pages has")
    parser.add_argument("--prompt", default="", help="print that, without an end of line, before all else")
    parser.add_argument("--silent", action="store_true", help="answer nothing")
    parser.add_argument("--exit", type=int, help="exit at once")
    parser.add_argument("--exit-on-discover", action="store_true", help="exit upon server/discover")
    parser.add_argument("--slow-start", type=float, default=0, help="seconds before it is ready")
    parser.add_argument("--page-size", type=int, default=0, help="tools on a page")
    parser.add_argument("--ignore-eof", action="store_true", help="stay when standard input ends")
    parser.add_argument("--ignore-term", action="store_true", help="stay upon SIGTERM")
    parser.add_argument("--farewell", help="a file that is written when it ends by itself")
    options = parser.parse_args()

    if options.exit is not None:
        print("cannot go on: a secret", file=sys.stderr)
        sys.exit(options.exit)
    print(options.prompt, end="", flush=True)
    if options.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Server(options).serve()
    while options.ignore_eof:
        signal.pause()
    if options.farewell:
        with open(options.farewell, "w", encoding="utf-8") as file:
            file.write("goodbye")
    # threads that still sleep keep nobody
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
