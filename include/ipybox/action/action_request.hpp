#pragma once

#include <ipybox/action/action_frame.hpp>
#include <ipybox/action/action_id.hpp>
#include <ipybox/action/package_request.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/core/json_census.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/server_query.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/** \file
 * The requests that a kernel may send: docs/action-protocol.md section 2. Nothing in it is to be trusted.
 */

namespace ipybox::detail {

/// A tool is to be called.
struct tool_call {
    action_id id = 0;
    std::string cell; ///< identifier of the execution that asks
    std::uint64_t after =
        0; ///< the last message that the kernel had sent before: what it printed is in it or its predecessors
    std::string server;
    std::string tool;
    tool_arguments arguments; ///< an object, to be looked into
    mcp::raw_json sent;       ///< the same as it is sent
    std::size_t size = 0;     ///< bytes that it takes, about
    bool wants_progress = false;
};

/// A server is to be asked for resources or prompts.
struct server_inquiry {
    action_id id = 0;
    std::string cell;
    std::uint64_t after = 0;
    std::string server;
    mcp::server_query query;
    tool_arguments arguments = {}; ///< of a prompt, to be looked into
    std::size_t size = 0;          ///< bytes that it takes, about
};

/// A program is to be run.
struct program_run {
    action_id id = 0;
    std::string cell;
    std::uint64_t after = 0;
    approval_subject::action kind = approval_subject::action::shell;
    std::vector<std::string> argv;
    std::filesystem::path cwd;
    approval_subject::env_difference env;
    bool merge = false;   ///< standard error goes where standard output goes
    std::string input;    ///< for its standard input
    std::size_t size = 0; ///< bytes that it takes, about
};

/// A request is not waited for any more.
struct action_cancel {
    action_id id = 0;
};

/// A frame that is none of these.
struct malformed_action {
    std::optional<action_id> id; ///< as far as it could be read
    std::string what;            ///< is wrong
};

using action_request =
    std::variant<tool_call, server_inquiry, program_run, package_request, action_cancel, malformed_action>;

/// The most bytes of a request's head. Commands have no longer words: a control datagram has 128 KiB.
inline constexpr json_bounds largest_head{std::size_t(256) << 10, 20'000};

/// Limits of the arguments of a call.
inline constexpr json_bounds largest_arguments{std::size_t(64) << 20, 100'000};

/// The request in a frame.
[[nodiscard]] action_request parse_action(action_frame frame);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/action/impl/action_request.ipp>
#endif
