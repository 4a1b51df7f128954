#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/network/network_gate.hpp>
#include <ipybox/network/proxy_request.hpp>
#include <ipybox/os/unforked.hpp>
#include <ipybox/os/unique_fd.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ipybox::detail {

/// The bounds of a proxy, and its waiting times.
struct proxy_limits {
    std::size_t connections = 256;                             ///< at one time; further ones wait until one ends
    std::chrono::milliseconds head = std::chrono::seconds(30); ///< until a client has said what it wants
    std::chrono::milliseconds dial = std::chrono::seconds(30); ///< until its host is found and has answered
    std::chrono::milliseconds idle = std::chrono::minutes(10); ///< without a byte in either direction
};

class proxy_connection;

/**
 * \brief Connects the code of one kernel with the hosts that it may reach: an HTTP and SOCKS5 proxy in the host, on a
 * listening socket that was made in the sandbox.
 * \details Each connection is decided about by itself: by the configuration, else by the gate. A name is looked up
 * once, after the decision; what it leads to is checked (`reachable_addresses`), and dialled as it is. Behind a parent
 * proxy that one looks names up. Code looks up no name: the sandbox has no network but this socket.
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once.
 */
class network_proxy : public std::enable_shared_from_this<network_proxy> {
  public:
    network_proxy(asio::any_io_executor executor, os::unique_fd listener,
                  std::shared_ptr<sandbox_config::network_access const> config, std::weak_ptr<network_gate> gate,
                  proxy_limits limits = {});

    /// Serves until `close`.
    void start();

    /// Ends all connections, and rejects what waits for a decision.
    void close();

  private:
    using tcp = asio::ip::tcp;
    using connection_ptr = std::shared_ptr<proxy_connection>;

    static asio::awaitable<void> accept(std::shared_ptr<network_proxy> self);
    asio::awaitable<void> wait_for_room();
    void begin(tcp::socket client);
    static asio::awaitable<void> serve(std::shared_ptr<network_proxy> self, connection_ptr connection);
    asio::awaitable<void> connect(connection_ptr connection, proxy_request wanted);
    asio::awaitable<verdict> decide(network_gate& gate, connection_ptr connection, approval_subject& subject);
    asio::awaitable<action_outcome> carry_out(connection_ptr connection, proxy_request wanted);
    asio::awaitable<result<void>> dial(connection_ptr connection, proxy_request& wanted);
    asio::awaitable<result<void>> dial_host(connection_ptr connection, proxy_request const& wanted);
    asio::awaitable<result<void>> dial_by_parent(connection_ptr connection, proxy_request& wanted);
    asio::awaitable<result<void>> connect_with(connection_ptr connection, std::string name,
                                               std::vector<tcp::endpoint> places,
                                               std::chrono::steady_clock::time_point until);

    asio::any_io_executor executor_;
    tcp::acceptor acceptor_;
    std::shared_ptr<sandbox_config::network_access const> config_;
    std::weak_ptr<network_gate> gate_;
    proxy_limits limits_;
    std::set<connection_ptr> connections_;
    asio::steady_timer room_; ///< cancelled when a connection has ended
    os::unforked listener_unforked_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/network/impl/network_proxy.ipp>
#endif
