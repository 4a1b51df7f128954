#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/session.hpp>

#include <tl/expected.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::mcp::detail {

/// The failing side of an `answer_to`.
inline tl::unexpected<rpc_error> refused(std::int64_t code, std::string message, std::string data = {}) {
    return tl::unexpected<rpc_error>(rpc_error{code, std::move(message), std::move(data)});
}

inline bool knows(auto const& versions, std::string_view named) {
    return std::find(versions.begin(), versions.end(), named) != versions.end();
}

/// The versions that are spoken here, newest first, as JSON.
inline std::string known_versions() {
    std::string list = "[";
    auto const add = [&list](std::string_view each) {
        list.append(list.size() > 1 ? ",\"" : "\"").append(each).append("\"");
    };
    for (auto const each : stateless_versions) add(each);
    for (auto const each : handshake_versions) add(each);
    return list.append("]");
}

} // namespace ipybox::mcp::detail
