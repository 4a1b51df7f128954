#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/client_description.hpp>
#include <ipybox/mcp/server_tool.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace ipybox::mcp {

/// Bounds on the memory that one client can use, and on the time that a server waits.
struct server_limits {
    /// Bytes of the longest line that is read. A longer one is refused, and the next is read.
    std::size_t max_line_in = std::size_t(64) << 20;

    /// Bytes of the longest result that is sent: some clients drop lines of more than 8 MiB. Of a longer result an
    /// error goes out that says so.
    std::size_t max_line_out = (std::size_t(8) << 20) - (std::size_t(64) << 10);

    std::size_t json_values = 1'000'000; ///< values and names in a line
    std::size_t tools_page = 100;        ///< tools in a page of their list
    std::size_t batch = 100;             ///< messages in a batch (2025-03-26)
    std::size_t calls = 64;              ///< calls that have not ended; one more is refused
    std::size_t questions = 16;          ///< questions that wait for an answer; one more fails
    std::size_t tasks = 32;              ///< tasks that are kept. The oldest that has ended makes room

    /// Bytes of output that the client has not read. Beyond it no further line of it is taken, and progress is dropped.
    std::size_t unread_output = std::size_t(16) << 20;

    std::chrono::milliseconds question_timeout = std::chrono::minutes(10); ///< for an answer of the client's user
    std::chrono::milliseconds task_lifetime = std::chrono::hours(1); ///< from its creation; clients may ask for less
    std::chrono::milliseconds stalled_output =
        std::chrono::minutes(5); ///< a client that reads nothing so long is taken for gone
    std::chrono::milliseconds end_grace = std::chrono::seconds(5); ///< for handlers to end when the client is gone
};

/// The description of a server, its tools and its bounds.
struct server_options {
    std::string name;                    ///< for programs: "ipybox"
    std::string version;                 ///< its own
    std::string title = {};              ///< for people
    std::string instructions = {};       ///< how to use its tools, for a model
    std::vector<server_tool> tools = {}; ///< in the order in which they are listed
    server_limits limits = {};

    /// Called when a client has said what it is, with the first request that is not a ping: in each connection once.
    /// Its exceptions are dropped.
    std::function<void(client_description const&)> on_client = {};
};

} // namespace ipybox::mcp
