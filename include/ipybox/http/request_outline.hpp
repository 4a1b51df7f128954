#pragma once

#include <ipybox/core/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox::http {

/// What HTTP has to know of a message that a client of MCP sends.
struct request_outline {
    std::optional<std::int64_t> id = {}; ///< of a request; none: it has no answer
    std::string method = {};
    std::string version = {};                   ///< as `_meta` claims; empty: the message is of a session
    std::string name = {};                      ///< of the tool, prompt or task, or the address of the resource
    std::string_view arguments = {};            ///< JSON, into the message
    std::optional<std::int64_t> cancelled = {}; ///< the request that a cancellation is about
};

/// Reads a message that this library wrote. The views of the outline lead into it.
[[nodiscard]] request_outline outline_of(std::string_view message);

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/request_outline.ipp>
#endif
