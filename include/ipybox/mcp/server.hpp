#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/server_channel.hpp>
#include <ipybox/mcp/server_options.hpp>

#include <asio/awaitable.hpp>

#include <memory>

namespace ipybox::mcp {

/**
 * \brief A server of the Model Context Protocol that offers tools, in the versions 2024-11-05 to 2025-11-25
 * (`initialize`) and 2026-07-28 (each request says what it speaks).
 * \details A client may speak both over one connection. Calls run beside each other; other requests are answered at
 * once. Progress, cancellation, questions to the user
 * (elicitation) and tasks work in every version that has them.
 * \par Thread safety Distinct objects: safe. One object may serve several connections, each on an executor that runs
 * one handler at a time.
 */
class server {
  public:
    /**
     * \par Errors errc::invalid_argument — a tool has no handler, a name that clients do not accept or that is taken, a
     * schema that is not an object's, or one that
     * cannot be checked here and no `check`
     */
    [[nodiscard]] static result<server> make(server_options options);

    [[nodiscard]] server_options const& options() const noexcept { return *options_; }

    /**
     * \brief Serves one client until it ends its output, and is then done with it: its calls have been cancelled, and
     * the channel is closed.
     * \details Earlier requests are still answered if the answer is known. Handlers that do not end
     * within `server_limits::end_grace` are left behind.
     * \par Errors errc::io_error — the client took no output for as long as `server_limits::stalled_output`
     * \par Cancellation every type that the coroutine lets through (asio: terminal): as if the client had ended
     */
    asio::awaitable<result<void>> serve(std::shared_ptr<server_channel> channel) const;

  private:
    explicit server(std::shared_ptr<server_options const> options) noexcept : options_(std::move(options)) {}

    std::shared_ptr<server_options const> options_;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server.ipp>
#endif
