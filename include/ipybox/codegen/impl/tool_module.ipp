#pragma once

#include <ipybox/codegen/impl/class_writer.hpp>
#include <ipybox/codegen/python_literal.hpp>
#include <ipybox/codegen/python_name.hpp>
#include <ipybox/codegen/schema_to_pydantic.hpp>
#include <ipybox/codegen/tool_module.hpp>
#include <ipybox/core/json_text.hpp>

#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace ipybox::codegen {
namespace detail {

inline std::string import_line(std::string_view module, std::set<std::string> const& names) {
    std::string out;
    for (auto const& name : names) out += (out.empty() ? "" : ", ") + name;
    return names.empty() ? out : "from " + std::string(module) + " import " + out + "\n";
}

inline std::string imports(used_names const& used) {
    auto out = std::string("from __future__ import annotations\n\n");
    for (auto const& group : {import_line("typing", used.typing), import_line("pydantic", used.pydantic)})
        if (!group.empty()) out += group + "\n";
    return out + "from . import CLIENT\n" + import_line("._mcp", used.model) + import_line("._schema", used.schema);
}

inline bool says(mcp::tool const& tool, char const* hint) {
    return tool.annotations && tool.annotations->is_object() && tool.annotations->contains(hint) &&
           tool.annotations->at(hint) == true;
}

inline std::string about(mcp::tool const& tool) {
    auto text = dedented(tool.description.value_or(""));
    if (text.empty()) text = one_line(tool.title.value_or(""));
    if (text.empty()) text = "Call the tool " + one_line(tool.name) + ".";
    std::string hints;
    for (auto const& [hint, word] :
         {std::pair{"readOnlyHint", "Read-only."}, std::pair{"destructiveHint", "Destructive."},
          std::pair{"idempotentHint", "Idempotent."}})
        if (says(tool, hint)) hints += (hints.empty() ? "" : " ") + std::string(word);
    if (!hints.empty()) text += "\n\n" + hints;
    return text;
}

/// The differences between the functions that call a tool.
struct function_form {
    std::string_view define, name, call, doc = {};
};
inline constexpr function_form synchronous_form{"def", "run", "CLIENT.run_sync"};
inline constexpr function_form awaitable_form{"async def", "run", "await CLIENT.run"};
inline constexpr function_form second_form{"async def", "arun", "await CLIENT.run",
                                           "run() for await: calls run beside each other."};

struct function_types {
    bool can_be_called_without = false; ///< no argument is needed
    std::string result;                 ///< `Result`, or a type that needs no name
    bool is_text = false;               ///< the tool does not say what its result is made of
    bool is_wrapped = false;            ///< in an object, as its member `result`
};

inline std::string function(function_form written_as, mcp::tool const& tool, function_types const& types) {
    auto out = "\n\n@tool\n" + std::string(written_as.define) + " " + std::string(written_as.name) + "(params: Params" +
               (types.can_be_called_without ? " = Params()" : "") + ") -> " + types.result + ":\n";
    out += "    " + docstring(written_as.doc.empty() ? about(tool) : std::string(written_as.doc), "    ") + "\n";
    auto const call = std::string(written_as.call) + "(" + string_literal(tool.name) + ", params.to_arguments())";
    out += "    return " + (types.is_text ? "to_text(" : "to_result(" + types.result + ", ") +
           (types.is_wrapped ? "unwrapped(" + call + ")" : call) + ")\n";
    return out;
}

inline std::string functions(generate_options::call_style style, mcp::tool const& tool, function_types const& types) {
    if (style == generate_options::call_style::awaitable) return function(awaitable_form, tool, types);
    auto out = function(synchronous_form, tool, types);
    if (style == generate_options::call_style::both) out += function(second_form, tool, types);
    return out;
}

inline std::string checks_of(class_writer const& writer, std::string const& tool) {
    if (!writer.checks_by_pointer()) return {};
    return std::string(writer.checks_name()) + " = schema_of(" + string_literal(tool) + ", \"" +
           std::string(writer.kind()) + "\")\n";
}

inline bool needs_nothing(translation const& arguments) {
    auto const& params = arguments.classes.list[arguments.root.model];
    return params.rules.empty() && (params.fields.empty() || !params.fields.front().required);
}

} // namespace detail

IPYBOX_DECL module_text tool_module(mcp::tool const& tool, generate_options::call_style style) {
    schema_document const input(tool.input_schema);
    auto const arguments = translate_arguments(input);
    auto warnings = arguments.warnings;

    auto taken = reserved_class_names();
    detail::class_writer const params(arguments, "inputSchema", "Params", "Params", taken);
    std::optional<translation> answer;
    std::optional<detail::class_writer> result;
    if (tool.output_schema) {
        answer = translate_result(schema_document(*tool.output_schema));
        warnings.insert(warnings.end(), answer->warnings.begin(), answer->warnings.end());
        result.emplace(*answer, "outputSchema", "Result", "Result", taken);
    }

    detail::used_names used;
    used.model.insert({"tool", result ? "to_result" : "to_text"});
    auto body = params.text(taken, used);
    detail::function_types types{detail::needs_nothing(arguments), "str", !result,
                                 result && is_wrapped(*tool.output_schema)};
    if (types.is_wrapped) used.model.insert("unwrapped");
    if (result) {
        types.result = "Result";
        body += result->text(taken, used);
        auto const& root = answer->root;
        if (types.is_wrapped && root.is == python_type::form::scalar && root.checks.empty() && root.constraints.empty())
            types.result = root.word;
        else if (root.is != python_type::form::object)
            body += "\n\nResult = " + result->annotation(root, used) + "\n";
    }
    body += detail::functions(style, tool, types);

    auto checks = detail::checks_of(params, tool.name);
    if (result) checks += detail::checks_of(*result, tool.name);
    return {detail::imports(used) + (checks.empty() ? "" : "\n" + checks) + body, std::move(warnings)};
}

IPYBOX_DECL module_text open_tool_module(mcp::tool const& tool, generate_options::call_style style,
                                         std::string const& reason) {
    static constexpr std::size_t longest = 2048;
    auto described = tool;
    auto schema = json_text(tool.input_schema);
    if (schema.size() > longest) schema = valid_utf8(schema.substr(0, longest)) + "…";
    described.description = detail::about(tool) + "\n\nNot checked here (" + reason + "):\n" + schema;
    described.annotations.reset();
    detail::used_names used;
    used.model = {"Model", "to_text", "tool"};
    return {detail::imports(used) + "\n\nclass Params(Model):\n    pass\n" +
                detail::functions(style, described, {true, "str", true}),
            {reason}};
}

} // namespace ipybox::codegen
