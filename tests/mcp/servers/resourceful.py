"""An MCP server over stdio with resources, prompts and tools that run as tasks: in both eras, without libraries."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"
TASKS = f"{META}tasks"

Json = dict[str, Any]

DOCUMENTS: dict[str, Json] = {
    "doc://hello": {"mimeType": "text/plain", "text": "größe"},
    "doc://bytes": {"mimeType": "application/x-three", "blob": "AAEC"},
    **{f"doc://{i}": {"text": f"text {i}"} for i in range(5)},
}
PROMPTS: list[Json] = [
    {"name": "weather", "description": "Asks for it", "arguments": [{"name": "city", "required": True}]},
    {"name": "bare"},
]


class Refusal(Exception):
    """An error that JSON-RPC answers with."""

    def __init__(self, code: int, message: str, data: Any = None):
        super().__init__(message)
        self.code = code
        self.data = data


class Task:
    def __init__(self, number: int, steps: int, ends: str):
        self.identity = f"task {number}"
        self.left = steps  # requests until it has ended
        self.ends = ends

    @property
    def status(self) -> str:
        return self.ends if self.left <= 0 else "working"


class Server:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.tasks: dict[str, Task] = {}
        self.asked: list[str] = []

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message or "id" not in message:
                self.asked.append(message.get("method", "an answer"))
                continue
            self.asked.append(message["method"])
            answer: Json = {"jsonrpc": "2.0", "id": message["id"]}
            try:
                answer["result"] = self.handle(message["method"], message.get("params", {}))
            except Refusal as why:
                answer["error"] = {"code": why.code, "message": str(why), "data": why.data}
            print(json.dumps(answer), flush=True)

    def handle(self, method: str, params: Json) -> Json:
        about = {"serverInfo": {"name": "resourceful", "version": "1"}, "instructions": "Read doc://hello first."}
        own_tasks = {"requests": {"tools": {"call": {}}}, "cancel": {}}
        capabilities: Json = {"tools": {}, "resources": {}, "prompts": {}}
        if self.options.era == "handshake" and method == "initialize":
            return {"protocolVersion": "2025-11-25", "capabilities": {**capabilities, "tasks": own_tasks}, **about}
        meta = params.get("_meta", {})
        if self.options.era == "stateless" and meta.get(f"{META}protocolVersion") != STATELESS:
            raise Refusal(-32022, "Unsupported protocol version", {"supported": [STATELESS]})
        if self.options.era == "stateless" and method == "server/discover":
            return {"resultType": "complete", "supportedVersions": [STATELESS], "capabilities": capabilities, **about}
        if method not in METHODS:
            raise Refusal(-32601, "Method not found")
        result = METHODS[method](self, params)
        return {"resultType": "complete", **result} if self.options.era == "stateless" else result

    def page(self, params: Json, member: str, items: list[Json]) -> Json:
        """Pages of two items, each with a cursor: behind the last one nothing new comes."""
        begin = int(params.get("cursor") or 0)
        return {member: items[begin : begin + 2], "nextCursor": str(min(begin + 2, len(items)))}

    # --- resources and prompts

    def list_resources(self, params: Json) -> Json:
        items = [{"uri": uri, "name": uri.removeprefix("doc://"), "title": None} for uri in DOCUMENTS]
        return self.page(params, "resources", items)

    def list_templates(self, params: Json) -> Json:
        return self.page(params, "resourceTemplates", [{"uriTemplate": "doc://{number}", "name": "by number"}])

    def read_resource(self, params: Json) -> Json:
        uri = params["uri"]
        if uri == "doc://rounds" and params.get("requestState") != "second":
            return {"resultType": "input_required", "requestState": "second"}
        if uri == "doc://slow":
            time.sleep(30)
        found = DOCUMENTS.get(uri, {"text": "after rounds"} if uri == "doc://rounds" else None)
        if found is None:
            raise Refusal(-32602 if self.options.era == "stateless" else -32002, "Resource not found", {"uri": uri})
        return {"contents": [{"uri": uri, **found}], "_meta": None}

    def list_prompts(self, params: Json) -> Json:
        return self.page(params, "prompts", PROMPTS)

    def get_prompt(self, params: Json) -> Json:
        if params["name"] != "weather":
            raise Refusal(-32602, "Unknown prompt")
        text = f"Weather in {params['arguments']['city']}?"
        return {"description": "Asks for it", "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    # --- tools, of which some run as tasks

    def list_tools(self, params: Json) -> Json:
        schema = {"type": "object", "properties": {"steps": {"type": "integer"}, "ends": {"type": "string"}}}
        return {
            "tools": [
                {"name": "work", "inputSchema": schema, "execution": {"taskSupport": "required"}},
                {"name": "asked", "inputSchema": {"type": "object"}},
                {"name": "find", "inputSchema": {"type": "object"}},
            ]
        }

    def call(self, params: Json) -> Json:
        name, arguments = params["name"], params.get("arguments", {})
        if name == "asked":
            return text("\n".join(self.asked))
        if name == "find":
            return {"content": [{"type": "resource_link", "uri": "doc://hello", "name": "hello"}]}
        if name != "work":
            raise Refusal(-32602, f"Unknown tool: {name}")
        capabilities = params.get("_meta", {}).get(f"{META}clientCapabilities", {})
        if self.options.era == "handshake" and "task" not in params:
            raise Refusal(-32601, "this tool is a task")
        if self.options.era == "stateless" and TASKS not in capabilities.get("extensions", {}):
            raise Refusal(-32021, "tasks are missing", {"requiredCapabilities": {"extensions": {TASKS: {}}}})
        task = Task(len(self.tasks), arguments.get("steps", 2), arguments.get("ends", "completed"))
        self.tasks[task.identity] = task
        if self.options.era == "handshake":
            return {"task": self.state(task)}
        return {"resultType": "task", **self.state(task)}

    def state(self, task: Task) -> Json:
        interval = {"pollIntervalMs": 10} if self.options.era == "stateless" else {"pollInterval": 10}
        state = {"taskId": task.identity, "status": task.status, "createdAt": "2026-11-27T10:00:00Z"}
        return {**state, "statusMessage": f"{task.left} left", **interval}

    def find_task(self, params: Json) -> Task:
        if params["taskId"] not in self.tasks:
            raise Refusal(-32602, "there is no such task")
        return self.tasks[params["taskId"]]

    def result_of(self, task: Task) -> Json:
        failed = {"isError": True} if task.ends == "failed" else {}
        return {**text("it failed" if failed else "worked"), **failed}

    def get_task(self, params: Json) -> Json:
        task = self.find_task(params)
        task.left -= 1
        state = self.state(task)
        if self.options.era == "stateless" and task.status == "completed":
            state["result"] = {"resultType": "complete", **self.result_of(task)}
        if self.options.era == "stateless" and task.status == "failed":
            state["error"] = {"code": -32603, "message": "it failed"}
        return state

    def task_result(self, params: Json) -> Json:
        return self.result_of(self.find_task(params))

    def cancel_task(self, params: Json) -> Json:
        task = self.find_task(params)
        task.left, task.ends = 0, "cancelled"
        return self.state(task) if self.options.era == "handshake" else {}


def text(what: str) -> Json:
    return {"content": [{"type": "text", "text": what}]}


METHODS = {
    "ping": lambda server, params: {},
    "resources/list": Server.list_resources,
    "resources/templates/list": Server.list_templates,
    "resources/read": Server.read_resource,
    "prompts/list": Server.list_prompts,
    "prompts/get": Server.get_prompt,
    "tools/list": Server.list_tools,
    "tools/call": Server.call,
    "tasks/get": Server.get_task,
    "tasks/result": Server.task_result,
    "tasks/cancel": Server.cancel_task,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=["handshake", "stateless"], default="handshake")
    parser.add_argument("--lacks", nargs="*", default=[], metavar="METHOD", help="does not know it")
    said = parser.parse_args()
    for method in said.lacks:
        del METHODS[method]
    Server(said).serve()


if __name__ == "__main__":
    main()
