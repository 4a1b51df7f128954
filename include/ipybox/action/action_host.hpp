#pragma once

#include <ipybox/action/action_request.hpp>
#include <ipybox/action/package_request.hpp>
#include <ipybox/approval/verdict.hpp>
#include <ipybox/core/exit_status.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/server_query.hpp>
#include <ipybox/os/unique_fd.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <asio/awaitable.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ipybox::detail {

/// A program that was started for a kernel. Killed with its last handle.
class running_program {
  public:
    running_program() = default;
    running_program(running_program const&) = delete;
    running_program& operator=(running_program const&) = delete;
    virtual ~running_program() = default;

    /// Completes when the program has ended.
    [[nodiscard]] virtual asio::awaitable<exit_status> exited() = 0;

    /// Signals its process group, or what is left of it.
    [[nodiscard]] virtual asio::awaitable<result<void>> signal(int number) = 0;
};

/// The ends of pipes that a program gets.
struct program_streams {
    os::unique_fd standard_input;
    os::unique_fd standard_output;
    os::unique_fd standard_error;
};

/**
 * \brief Decides about the actions of a kernel, and does them.
 * \details Called on the router's executor; several of each may be under way.
 */
class action_host {
  public:
    action_host() = default;
    action_host(action_host const&) = delete;
    action_host& operator=(action_host const&) = delete;
    virtual ~action_host() = default;

    /// Says what becomes of an action that was asked for behind a message of the kernel with this number. Gives the
    /// subject its id, and the cell that really asks.
    /// \par Cancellation terminal: the answer is not wanted any more
    [[nodiscard]] virtual asio::awaitable<verdict> approve(approval_subject& subject, std::uint64_t after) = 0;

    /// Whether there is a server, before anyone is asked about a call of its tools. One that is kept for its first use
    /// is registered then.
    /// \par Cancellation terminal
    [[nodiscard]] virtual asio::awaitable<result<void>> find_server(std::string server) = 0;

    /// An action that was accepted has ended.
    virtual void ended(approval_subject const& subject, action_outcome const& how) = 0;

    /// \par Cancellation terminal: the server is told
    [[nodiscard]] virtual asio::awaitable<result<mcp::call_result>>
    call(approval_subject const& subject, mcp::raw_json arguments, mcp::call_options options) = 0;

    /// \par Cancellation terminal: the server is told
    [[nodiscard]] virtual asio::awaitable<result<mcp::raw_json>> ask(std::string const& server,
                                                                     mcp::server_query query) = 0;

    [[nodiscard]] virtual asio::awaitable<result<std::shared_ptr<running_program>>> run(program_run const& wanted,
                                                                                        program_streams streams) = 0;

    /// Has packages generated that are to be imported, and waits for them. \return those of the servers that are
    /// registered; with a name in the request: of that one
    /// \par Cancellation terminal: they are not waited for any more
    [[nodiscard]] virtual asio::awaitable<package_states> packages(package_request wanted) = 0;
};

} // namespace ipybox::detail
