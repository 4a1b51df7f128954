#pragma once

#include <ipybox/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ipybox::mcp {

using server_call_id = std::uint64_t;
using server_question_id = std::uint64_t;

/// The messages of a batch and their answers, which go out together (JSON-RPC 2.0 section 6; 2025-03-26 alone had
/// batches).
struct server_batch {
    std::size_t open = 0;  ///< requests without an answer
    bool complete = false; ///< all its messages were read
    std::vector<std::string> answers = {};
    std::size_t bytes = 0; ///< of the answers
};

/// A request that an answer is owed to.
struct server_open_request {
    std::string id;  ///< JSON, as it came
    std::string key; ///< `request_key` of it
    std::shared_ptr<server_batch> batch = {};
};

} // namespace ipybox::mcp
