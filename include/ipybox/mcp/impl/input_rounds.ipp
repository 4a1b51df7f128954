#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/input_rounds.hpp>

#include <utility>

namespace ipybox::mcp {
namespace detail {

/// The state of a server that wants to be asked again, or why it does not get what it asks for.
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

IPYBOX_DECL std::string input_rounds::type_of(std::string_view json) {
    std::string type = "complete";
    json_cursor cursor(json);
    cursor.object([&](std::string const& member) {
        if (member != "resultType" || cursor.peek() != '"') return cursor.skip(json_cursor::any_depth).has_value();
        auto const said = cursor.string();
        if (said) type = *said;
        return said.has_value();
    });
    return type;
}

IPYBOX_DECL result<std::optional<std::string>> input_rounds::wish_in(std::string_view json, std::string_view method) {
    auto const type = type_of(json);
    if (type == "complete") return std::nullopt;
    if (type != "input_required")
        return failure(errc::protocol_error,
                       "answered `" + std::string(method) + "` with a result of an unknown type: " + type);
    auto state = detail::read_wish(json);
    if (!state) return failure(state);
    return std::optional(std::move(*state));
}

IPYBOX_DECL result<void> input_rounds::begin_another(std::string state) {
    if (++begun_ > most)
        return failure(errc::mcp_input_required, "wants to be called more than " + std::to_string(most) + " times");
    state_ = std::move(state);
    return {};
}

} // namespace ipybox::mcp
