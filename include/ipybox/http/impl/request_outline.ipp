#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/http/request_outline.hpp>

#include <charconv>

namespace ipybox::http {
namespace detail {

inline std::optional<std::int64_t> number_in(std::string_view json) {
    std::int64_t number = 0;
    auto const read = std::from_chars(json.data(), json.data() + json.size(), number);
    if (read.ec != std::errc() || read.ptr != json.data() + json.size()) return std::nullopt;
    return number;
}

inline void read_meta(json_cursor& cursor, request_outline& outline) {
    cursor.object([&](std::string const& name) {
        if (name != "io.modelcontextprotocol/protocolVersion") return cursor.skip(json_cursor::any_depth).has_value();
        auto version = cursor.string();
        if (version) outline.version = std::move(*version);
        return version.has_value();
    });
}

inline bool read_params(json_cursor& cursor, request_outline& outline) {
    return cursor.object([&](std::string const& name) {
        if (name == "_meta") return read_meta(cursor, outline), !cursor.failed();
        if ((name == "name" || name == "uri" || name == "taskId") && cursor.peek() == '"') {
            auto text = cursor.string();
            if (text) outline.name = std::move(*text);
            return text.has_value();
        }
        auto const value = cursor.skip(json_cursor::any_depth);
        if (value && name == "arguments") outline.arguments = *value;
        if (value && name == "requestId") outline.cancelled = number_in(*value);
        return value.has_value();
    });
}

} // namespace detail

IPYBOX_DECL request_outline outline_of(std::string_view message) {
    request_outline outline;
    json_cursor cursor(message);
    cursor.object([&](std::string const& name) {
        if (name == "params" && cursor.peek() == '{') return detail::read_params(cursor, outline);
        if (name == "method") {
            auto method = cursor.string();
            if (method) outline.method = std::move(*method);
            return method.has_value();
        }
        auto const value = cursor.skip(json_cursor::any_depth);
        if (value && name == "id") outline.id = detail::number_in(*value);
        return value.has_value();
    });
    if (outline.method.empty()) outline.id.reset(); // an answer to a request of the server
    return outline;
}

} // namespace ipybox::http
