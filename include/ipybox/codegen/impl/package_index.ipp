#pragma once

#include <ipybox/codegen/impl/package_index.hpp>
#include <ipybox/codegen/python_literal.hpp>
#include <ipybox/codegen/python_name.hpp>
#include <ipybox/codegen/schema.hpp>
#include <ipybox/core/utf8.hpp>

#include <cstddef>

namespace ipybox::codegen::detail {

/// Up to the end of the first sentence, at most 100 characters; so does `search` (python/mcp_support/mcptools.py).
inline std::string first_sentence(std::string_view text) {
    static constexpr std::size_t longest = 100;
    auto line = one_line(text);
    for (std::size_t i = 0; i + 1 < line.size(); ++i)
        if (std::string_view(".!?").find(line[i]) != std::string_view::npos && line[i + 1] == ' ') {
            line.resize(i + 1);
            break;
        }
    std::size_t end = 0; // of the characters that are kept if there are too many
    std::size_t count = 0;
    for (std::size_t at = 0; at < line.size() && count <= longest; ++count) {
        if (count == longest - 1) end = at;
        at += first_character(std::string_view(line).substr(at)).bytes.size();
    }
    return count <= longest ? line : line.substr(0, end) + "…";
}

/// `issue_write(method, owner, repo, ...) - Create a new or update an existing issue.`
inline std::string index_line(mcp::tool const& tool, std::string const& module) {
    auto line = module + "(";
    schema_keywords const own(tool.input_schema, dialect_of(tool.input_schema));
    auto const required = own.required();
    for (std::size_t i = 0; i < required.size(); ++i) line += (i > 0 ? ", " : "") + one_line(required[i]);
    auto const* properties = own.find("properties");
    if (properties && properties->size() > required.size()) line += required.empty() ? "..." : ", ...";
    auto const sentence = first_sentence(tool.description ? *tool.description : tool.title.value_or(""));
    return line + ")" + (sentence.empty() ? "" : " - " + sentence);
}

/// The arguments of an example: `owner=..., repo=...`.
inline std::string example_arguments(mcp::tool const& tool) {
    schema_keywords const own(tool.input_schema, dialect_of(tool.input_schema));
    std::string text;
    for (auto const& name : field_names(own.required(), reserved_class_names()))
        text += (text.empty() ? "" : ", ") + name + "=...";
    return text;
}

/// The server's own words, as its words: set apart, and no more of them than a reader of the tools has patience for.
inline std::string quoted_instructions(std::string_view server, std::string_view instructions) {
    static constexpr std::size_t longest = 4'000; // bytes
    auto const text = dedented(valid_utf8(instructions));
    if (text.empty()) return {};
    auto const kept = text.substr(0, whole_characters(text, longest));
    std::string quoted = "\nInstructions of the server's author:\n\n    ";
    for (char const c : kept) {
        quoted += c;
        if (c == '\n') quoted += "    ";
    }
    if (kept.size() < text.size())
        quoted.append("\n    … not all of it: mcptools.describe(\"").append(server).append("\") shows the rest");
    return quoted + "\n";
}

IPYBOX_DECL std::string package_index(std::string_view server_name, std::vector<mcp::tool> const& tools,
                                      std::vector<std::string> const& modules, generate_options const& options) {
    auto const style = options.style;
    std::string const server(server_name);
    auto const first = modules.empty() ? std::string("TOOL") : modules.front();
    auto const fields = tools.empty() ? std::string("...") : example_arguments(tools.front());
    auto const waits = style == generate_options::call_style::awaitable ? "await " : "";
    auto text = (options.about.empty() ? "Tools of the MCP server " + server + "." : options.about) +
                "\n\n    from mcptools." + server + " import " + first + "\n    result = " + waits + first + ".run(" +
                fields + ")\n" +
                (style == generate_options::call_style::both
                     ? "    results = await asyncio.gather(" + first + ".arun(...), ...)  # beside each other\n"
                     : "") +
                quoted_instructions(server_name, options.instructions) + "\nTools, with the parameters they require:\n";
    for (std::size_t i = 0; i < tools.size(); ++i) text += "\n" + index_line(tools[i], modules[i]);
    return docstring(text, "") +
           "\n\nfrom ._client import package\n\nCLIENT, __getattr__, __dir__ = package(__name__, " +
           string_literal(server) + ")\n";
}

} // namespace ipybox::codegen::detail
