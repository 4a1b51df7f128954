#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/json_writer.hpp>
#include <ipybox/mcp/tool_call_machine.hpp>

#include <utility>

namespace ipybox::mcp {
namespace detail {

/// The type of a result, if it says so (since 2026-07-28), else "complete".
inline std::string result_type(std::string_view text) {
    std::string type = "complete";
    json_cursor cursor(text);
    cursor.object([&](std::string const& member) {
        if (member != "resultType" || cursor.peek() != '"') return cursor.skip(json_cursor::any_depth).has_value();
        auto const said = cursor.string();
        if (said) type = *said;
        return said.has_value();
    });
    return type;
}

/// The state of a server that wants to be called again, or why it does not get what it asks for.
inline result<std::string> read_wish(std::string_view text) {
    std::string_view requests;
    std::string_view state;
    json_cursor cursor(text);
    bool const read = cursor.object([&](std::string const& member) {
        auto const value = cursor.skip(json_cursor::any_depth);
        if (value && value != "null" && member == "inputRequests") requests = *value;
        if (value && value != "null" && member == "requestState") state = *value;
        return value.has_value();
    });
    if (!read || (requests.empty() && state.empty()))
        return failure(errc::protocol_error, "asks for input and does not say for what");
    if (auto const asked = read_json(requests); asked && !asked->empty()) {
        auto const& first = asked->is_object() ? *asked->begin() : *asked;
        auto const named = first.is_object() ? first.find("method") : first.end();
        auto const kind = named != first.end() && named->is_string() ? named->get<std::string>() : "unknown";
        return failure(errc::mcp_input_required, "asks for input (" + kind + "), which the client does not give");
    }
    return std::string(state);
}

} // namespace detail

IPYBOX_DECL result<tool_call_machine> tool_call_machine::make(std::string_view tool,
                                                              nlohmann::ordered_json const& arguments) {
    return make_of(tool, raw_json::of(arguments));
}

IPYBOX_DECL result<tool_call_machine> tool_call_machine::make_of(std::string_view tool, result<raw_json> arguments) {
    if (!arguments) return failure(errc::invalid_argument, "an argument of a tool " + arguments.error().text());
    return make(tool, std::move(*arguments));
}

IPYBOX_DECL result<tool_call_machine> tool_call_machine::make(std::string_view tool, raw_json arguments) {
    if (!arguments.is_object()) return failure(errc::invalid_argument, "the arguments of a tool are a JSON object");
    std::string name;
    if (!detail::append_json_string(name, tool))
        return failure(errc::invalid_argument, "the name of a tool holds text that is not UTF-8");
    return tool_call_machine(std::move(name), std::move(arguments));
}

IPYBOX_DECL tool_call_machine::reading tool_call_machine::read(std::string_view json, detail::era spoken) {
    auto const type = detail::result_type(json);
    if (type == "complete") return {detail::read_call_result(json, spoken), {}};
    if (type != "input_required")
        return {failure(errc::protocol_error, "answered `tools/call` with a result of an unknown type: " + type), {}};
    auto state = detail::read_wish(json);
    if (!state) return {failure(state), {}};
    return {std::nullopt, std::move(*state)};
}

IPYBOX_DECL std::optional<result<call_result>> tool_call_machine::on_reading(reading read) {
    if (read.outcome) return std::move(read.outcome);
    if (++rounds_ > most_rounds)
        return failure(errc::mcp_input_required,
                       "wants to be called more than " + std::to_string(most_rounds) + " times");
    state_ = std::move(read.state);
    return std::nullopt;
}

} // namespace ipybox::mcp
