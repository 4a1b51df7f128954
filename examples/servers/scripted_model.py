"""Stands for a server with the OpenAI API, and starts the program in its arguments with OPENAI_BASE_URL set to itself.

Its model plays one dialogue: code that works, code that raises beside a call whose arguments are no JSON, code that is
corrected, and an answer. It reads what the tool has answered before it goes on, and ends with 1 where that is not what
the code would have brought.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Message = dict[str, Any]

#: A program that asks for longer than this hangs.
PATIENCE = 90


def call(number: int, arguments: str, name: str = "execute_python") -> Message:
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def code(text: str) -> str:
    return json.dumps({"code": text})


#: What the model says, and what each of the answers to it has to contain.
DIALOGUE: list[tuple[Message, dict[str, str]]] = [
    (
        {"content": None, "tool_calls": [call(1, code("ledger = [12.5, 7.25, 30.0]\nlen(ledger)"))]},
        {"call_1": "3"},
    ),
    (
        {
            "content": "The sum.",
            "tool_calls": [
                call(2, code("total = sum(ledger) * vat")),
                call(3, "total = sum(ledger)"),
                call(4, code("1"), name="search_web"),
            ],
        },
        {
            "call_2": "NameError: name 'vat' is not defined",
            "call_3": "not valid JSON",
            "call_4": "There is no tool search_web",
        },
    ),
    (
        {"content": None, "tool_calls": [call(5, code("total = sum(ledger) * 1.2\nprint(round(total, 2))"))]},
        {"call_5": "59.7"},
    ),
    ({"content": "The total with tax is 59.7."}, {}),
]


class Model:
    """Where the dialogue is, and what was wrong with a request."""

    def __init__(self) -> None:
        self.turn = 0
        self.problems: list[str] = []

    def reply(self, request: Message) -> Message:
        if self.turn == 0:
            self.look_at_tools(request)
        else:
            self.look_at_answers(request["messages"], *DIALOGUE[self.turn - 1])
        said, _ = DIALOGUE[min(self.turn, len(DIALOGUE) - 1)]
        self.turn += 1
        reason = "tool_calls" if said.get("tool_calls") else "stop"
        message = {"role": "assistant", **said}
        return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}

    def look_at_tools(self, request: Message) -> None:
        (tool,) = request["tools"]
        parameters = tool["function"]["parameters"]
        if tool["type"] != "function" or parameters["required"] != ["code"] or parameters["type"] != "object":
            self.problems.append(f"not a function tool: {tool}")

    def look_at_answers(self, messages: list[Message], said: Message, wanted: dict[str, str]) -> None:
        calls = len(said.get("tool_calls", []))
        asked, *answers = messages[-calls - 1 :]
        if asked.get("tool_calls") != said.get("tool_calls"):
            self.problems.append(f"the model's message did not come back, but {asked}")
        for answer in answers:
            text = wanted.get(answer.get("tool_call_id", ""), "\0")
            if answer["role"] != "tool" or text not in answer["content"]:
                self.problems.append(f"wanted {text!r}, got {answer}")


def handler_of(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path != "/v1/chat/completions":
                self.send_error(404)
                return
            answer = json.dumps(model.reply(json.loads(body))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def main() -> int:
    model = Model()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler_of(model)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env = {**os.environ, "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1"}
        ended = subprocess.run(sys.argv[1:], env=env, timeout=PATIENCE)
        server.shutdown()
    if model.turn != len(DIALOGUE):
        model.problems.append(f"{model.turn} requests in place of {len(DIALOGUE)}")
    print(*model.problems, sep="\n", file=sys.stderr)
    return ended.returncode or bool(model.problems)


if __name__ == "__main__":
    sys.exit(main())
