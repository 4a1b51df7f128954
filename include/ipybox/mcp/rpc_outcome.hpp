#pragma once

#include <ipybox/core/error.hpp>
#include <ipybox/mcp/rpc_message.hpp>

#include <memory>
#include <string_view>
#include <variant>

namespace ipybox::mcp::detail {

/// A result as another thread has read it.
struct read_result {
    std::shared_ptr<void> value;
};

/// The outcome of a request: its result as JSON (valid during the call) or read already, the refusal of the server, or
/// why there is neither.
using rpc_outcome = std::variant<std::string_view, read_result, rpc_error, error>;

} // namespace ipybox::mcp::detail
