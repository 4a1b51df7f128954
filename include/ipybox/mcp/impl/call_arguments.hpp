#pragma once

#include <ipybox/mcp/argument_check.hpp>
#include <ipybox/mcp/impl/guarded.hpp>
#include <ipybox/mcp/json_writer.hpp>
#include <ipybox/mcp/lenient_arguments.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace ipybox::mcp::detail {

/// The arguments of a `tools/call`, which may leave them out.
inline std::string_view or_empty_object(std::string_view arguments) {
    return arguments.empty() || arguments == "null" ? "{}" : arguments;
}

/// The fault in the arguments; none where they fit.
inline std::optional<std::string> fault_in(server::tool const& tool, raw_json const& arguments) {
    auto const value = read_json(arguments.text()).value_or(nullptr);
    try {
        return tool.check ? tool.check(value) : ipybox::detail::find_mismatch(tool.definition.input_schema, value);
    } catch (...) { return "cannot be checked: " + thrown_text(); }
}

/// Arguments of a call, and what is wrong with them.
struct judged_arguments {
    raw_json value;
    std::optional<std::string> fault = {};
};

/// The arguments as the tool reads them. Those that fit are not looked at twice.
inline judged_arguments read_arguments(server::tool const& tool, raw_json const& sent) {
    judged_arguments read{sent};
    if (sent.is_object()) read.fault = fault_in(tool, sent);
    bool const fits = sent.is_object() && !read.fault;
    if (fits || tool.reading == server::tool::argument_reading::exact) return read;
    if (auto meant = lenient_arguments(tool.definition.input_schema, sent)) return {*meant, fault_in(tool, *meant)};
    return read;
}

} // namespace ipybox::mcp::detail
