#pragma once

#include <ipybox/async/context_bound_executor.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/channel.hpp>
#include <ipybox/mcp/client_environment.hpp>
#include <ipybox/mcp/handshake_machine.hpp>
#include <ipybox/mcp/impl/connection.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/session.hpp>
#include <ipybox/mcp/value_names.hpp>

#include <asio/awaitable.hpp>

#include <memory>
#include <mutex>
#include <optional>

namespace ipybox::mcp::detail {

/**
 * \brief Starts a server and agrees with it on a version of the protocol, and ends it: one life after another.
 * \details Used on the executor, but for `kill`.
 */
class connector {
  public:
    /// All three stay with the owner.
    connector(ipybox::detail::context_bound_executor const& executor, server_params const& params,
              client_environment const& environment)
        : executor_(executor), params_(params), environment_(environment) {}

    /// Starts the server. Whatever comes of it, `close` follows.
    asio::awaitable<result<session>> connect();

    /// The connection to the server that was started last, until `close`.
    [[nodiscard]] std::shared_ptr<connection> const& current() const noexcept { return connection_; }

    /// The values it was started with.
    [[nodiscard]] value_names const& names() const noexcept { return names_; }

    /// Tells a server, or its start, to end: what was asked has this outcome. `close` follows.
    void stop(error const& why);
    [[nodiscard]] bool is_stopping() const noexcept { return stopping_; }

    /// Ends the server, if one runs, within a bound. Then the next one may be started.
    asio::awaitable<void> close();

    /// Ends the server at once, and has none started any more. From any thread.
    void kill();

    /// The same when the I/O context is being destroyed: what belongs to that goes now.
    void let_go(error const& gone);

  private:
    using clock = rpc_machine::clock;

    [[nodiscard]] result<std::shared_ptr<channel>> channel_to(server_params const& params) const;
    asio::awaitable<result<void>> open(server_params const& params);
    asio::awaitable<void> close_connection();
    asio::awaitable<handshake_machine::step> ask(handshake_machine& machine, handshake_machine::ask question,
                                                 clock::time_point until);
    [[nodiscard]] handshake_machine::step on_error(handshake_machine& machine, error why, bool was_probe) const;

    ipybox::detail::context_bound_executor const& executor_;
    server_params const& params_;
    client_environment const& environment_;
    value_names names_;
    std::optional<server_params::negotiation> learned_; ///< what its last life taught about its era
    std::shared_ptr<connection> connection_;
    bool stopping_ = false;

    std::mutex mutex_; ///< of the rest: `kill` comes from any thread
    std::shared_ptr<channel> channel_;
    bool killed_ = false;
};

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/connector.ipp>
#endif
