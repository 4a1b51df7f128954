#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/content_request_machine.hpp>

namespace ipybox::mcp::detail {

IPYBOX_DECL result<raw_json> read_content(std::string_view json, content_request const& request) {
    auto const fault = [&request](std::string const& what) {
        return failure(errc::protocol_error, "answered `" + std::string(request.method) + "` with " + what);
    };
    bool found = false;
    json_cursor cursor(json);
    bool const read = cursor.object([&](std::string const& member) {
        found = found || (member == request.content && cursor.peek() == '[');
        return cursor.skip().has_value();
    });
    if (!read || !found) return fault("a result without `" + std::string(request.content) + "`");
    auto value = raw_json::read(json);
    if (!value) return fault("a result that " + value.error().text());
    return value;
}

} // namespace ipybox::mcp::detail
