#pragma once

#include <ipybox/app/code_tools.hpp>
#include <ipybox/app/session_directory.hpp>
#include <ipybox/core/json_text.hpp>

#include <nlohmann/json.hpp>

namespace ipybox {
namespace detail {

inline constexpr auto code_tools_json = R"json([
{"name": "register_mcp_server",
 "title": "Register MCP server",
 "description": "Starts an MCP server and generates its Python API: from mcptools.SERVER_NAME import TOOL; result = TOOL.run(field=...). Replaces a server of the same name; call reset() to import changed tools. ${NAME} in server_params is taken from the user's environment. Returns the names of the tools.",
 "inputSchema": {"type": "object", "required": ["server_name", "server_params"], "additionalProperties": false, "properties": {
  "server_name": {"type": "string", "description": "Python identifier"},
  "server_params": {"type": "object", "description": "{\"command\": \"npx\", \"args\": [...], \"env\": {...}}"}}},
 "outputSchema": {"type": "object", "required": ["tools"], "properties": {"tools": {"type": "array", "items": {"type": "string"}}}},
 "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true}},

{"name": "install_package",
 "title": "Install Python package",
 "description": "Installs a Python package with pip; it can be imported at once and stays after reset().",
 "inputSchema": {"type": "object", "required": ["package_name"], "additionalProperties": false, "properties": {
  "package_name": {"type": "string", "description": "name, name==1.2 or name[extra]>=1.2"},
  "version": {"type": "string", "description": "1.2 or >=1.2"}}},
 "outputSchema": {"type": "object", "required": ["installed", "output"], "properties": {
  "installed": {"type": "array", "items": {"type": "object", "required": ["name", "version"], "properties": {"name": {"type": "string"}, "version": {"type": "string"}}}},
  "output": {"type": "string"}}},
 "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true}},

{"name": "execute_ipython_cell",
 "title": "Execute Python code",
 "description": "Runs Python code in a stateful IPython kernel: variables stay for later cells. Cells run one after the other; await works at top level. Returns what was printed and the last expression, images as files and content, or the traceback.",
 "inputSchema": {"type": "object", "required": ["code"], "additionalProperties": false, "properties": {
  "code": {"type": "string"},
  "timeout": {"type": "number", "exclusiveMinimum": 0, "default": 120, "description": "seconds until the cell is interrupted"},
  "max_output_chars": {"type": "integer", "minimum": 0, "default": 5000, "description": "more output has its middle left out"},
  "wait_seconds": {"type": "number", "minimum": 0, "description": "answer after so long while the cell goes on; for wait_for_cell, cell_output"}}},
 "outputSchema": {"$defs": {}, "type": "object"},
 "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}},

{"name": "reset",
 "title": "Reset kernel",
 "description": "Starts a fresh kernel: variables and imports are gone; files, packages and mcptools/ stay.",
 "inputSchema": {"type": "object", "additionalProperties": false, "properties": {}},
 "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false}},

{"name": "cell_output",
 "title": "Read output of a cell",
 "description": "What a cell has printed so far, from a byte position on.",
 "inputSchema": {"type": "object", "additionalProperties": false, "properties": {
  "id": {"type": "string", "description": "default: the latest cell"},
  "from": {"type": "integer", "minimum": 0, "default": 0},
  "max_output_chars": {"type": "integer", "minimum": 0, "default": 5000}}},
 "outputSchema": {"$defs": {}, "type": "object"},
 "annotations": {"readOnlyHint": true, "openWorldHint": false}},

{"name": "wait_for_cell",
 "title": "Wait for a cell",
 "description": "Waits until a cell has ended, at most wait_seconds, and returns its output.",
 "inputSchema": {"type": "object", "additionalProperties": false, "properties": {
  "id": {"type": "string", "description": "default: the latest cell"},
  "wait_seconds": {"type": "number", "minimum": 0, "default": 20},
  "max_output_chars": {"type": "integer", "minimum": 0, "default": 5000}}},
 "outputSchema": {"$defs": {}, "type": "object"},
 "annotations": {"readOnlyHint": true, "openWorldHint": false}},

{"name": "interrupt_cell",
 "title": "Interrupt a cell",
 "description": "Raises KeyboardInterrupt in a cell, or takes a waiting one out of the queue, and returns its output.",
 "inputSchema": {"type": "object", "additionalProperties": false, "properties": {
  "id": {"type": "string", "description": "default: the latest cell"}}},
 "outputSchema": {"$defs": {}, "type": "object"},
 "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false}}
])json";

/// The results of the four tools about cells.
inline constexpr auto cell_schema_json =
    R"json({"type": "object", "required": ["id", "status", "output", "to"], "properties": {
 "id": {"type": "string"},
 "status": {"enum": ["waiting", "running", "ok", "error", "timed_out", "cancelled", "kernel_died"]},
 "output": {"type": "string"},
 "to": {"type": "integer"},
 "images": {"type": "array", "items": {"type": "string"}}}})json";

/// The parameter `session`, which one of the tools explains.
inline nlohmann::ordered_json session_schema(std::string_view tool) {
    if (tool != code_tool_name::execute_ipython_cell) return {{"type", "string"}};
    return {{"type", "string"}, {"description", "a kernel of its own by this name; default: \"default\""}};
}

} // namespace detail

IPYBOX_DECL bool takes_session(std::string_view tool) noexcept {
    return tool != code_tool_name::register_mcp_server && tool != code_tool_name::install_package;
}

IPYBOX_DECL std::vector<mcp::tool> code_tools(offered_sessions sessions) {
    auto const cell_schema = detail::parse_ordered_json(detail::cell_schema_json);
    std::vector<mcp::tool> tools;
    for (auto const& entry : detail::parse_ordered_json(detail::code_tools_json)) {
        mcp::tool tool;
        tool.name = entry["name"].get<std::string>();
        tool.title = entry["title"].get<std::string>();
        tool.description = entry["description"].get<std::string>();
        tool.input_schema = entry["inputSchema"];
        if (sessions == offered_sessions::named && takes_session(tool.name))
            tool.input_schema["properties"]["session"] = detail::session_schema(tool.name);
        if (entry.contains("outputSchema")) {
            bool const is_about_cell = entry["outputSchema"].contains("$defs");
            tool.output_schema = is_about_cell ? cell_schema : entry["outputSchema"];
        }
        tool.annotations = nlohmann::json(entry["annotations"]);
        tools.push_back(std::move(tool));
    }
    return tools;
}

IPYBOX_DECL std::string code_instructions(std::filesystem::path const& workspace, offered_sessions sessions) {
    auto const place =
        sessions == offered_sessions::one
            ? "Python in a sandbox, in " + workspace.string() + ", where code may write. "
            : "Python in a sandbox. A session has its own kernel and directory, " +
                  (sessions_directory(workspace) / "NAME").string() + ", where alone its code may write; it reads " +
                  workspace.string() +
                  ", but no other session's directory. Cells of one session run one after the other, those of several "
                  "at the same time. ";
    return place + R"(Keep results there, not in the chat.
Tools of registered MCP servers are Python functions: mcptools.search("words") finds them (import mcptools), mcptools.describe("server.tool") shows one, from mcptools.SERVER import TOOL; TOOL.run(field=...) calls it. Call several in one cell, and print only what you need.
Calls of tools, shell commands, packages and network hosts may need the user's approval; ApprovalRejectedError says why one was refused.
For a cell that takes longer than 20 s pass wait_seconds=20, then call wait_for_cell until its status is neither waiting nor running.)";
}

} // namespace ipybox
