#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/network/proxy_handshake.hpp>
#include <ipybox/network/proxy_request.hpp>
#include <ipybox/os/unforked.hpp>

#include <asio/awaitable.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace ipybox::detail {

/// One client of the network proxy, and the server that it is connected with. Belongs to the proxy's executor.
class proxy_connection : public std::enable_shared_from_this<proxy_connection> {
  public:
    using tcp = asio::ip::tcp;

    explicit proxy_connection(tcp::socket client);

    /// Ends the coroutine that serves it where it waits for a decision.
    [[nodiscard]] asio::cancellation_slot slot() noexcept { return cancel_.slot(); }

    /// The request of the client; none if it has gone or was refused.
    asio::awaitable<std::optional<proxy_request>> read_request(std::chrono::milliseconds bound);

    /// Until `ignore_client`, the end of the client cancels what is waited for.
    void watch_client();
    void ignore_client();

    /// Connects with a server, unless the time has come before.
    asio::awaitable<asio::error_code> connect_to(tcp::endpoint server, std::chrono::steady_clock::time_point until);

    /// Asks the proxy that it is connected with for a tunnel; the head of its answer, or none where it has gone or the
    /// time has come before.
    asio::awaitable<std::optional<std::string>> ask_parent(std::string request,
                                                           std::chrono::steady_clock::time_point until);

    /// Says something to the client. False where it has gone.
    asio::awaitable<bool> tell(std::string bytes);

    /// Brings bytes in both directions until both have ended, or nothing has come for the idle time. `head` is the
    /// first for the server.
    asio::awaitable<void> relay(std::string head, std::chrono::milliseconds idle);

    /// Lets the client read what it was told, and waits shortly for its end: closing a socket with unread bytes would
    /// take back the answer.
    asio::awaitable<void> finish();

    void close();

    [[nodiscard]] bool is_closed() const noexcept { return closed_; }
    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
    [[nodiscard]] std::uint64_t received() const noexcept { return received_; }

  private:
    using clock = std::chrono::steady_clock;

    asio::awaitable<void> bring(tcp::socket& from, tcp::socket& to, std::uint64_t& count);
    static asio::awaitable<void> upload(std::shared_ptr<proxy_connection> self);
    void at(clock::time_point when, std::function<void()> act);
    void end_when_idle(std::chrono::milliseconds idle);
    void close_client();
    void close_server();

    tcp::socket client_;
    tcp::socket server_;
    proxy_handshake handshake_;
    std::string early_;           ///< bytes for the client that came behind the answer of a parent proxy
    asio::steady_timer deadline_; ///< of what is done at the moment
    asio::steady_timer uploaded_; ///< cancelled when the client has nothing more to send
    asio::cancellation_signal cancel_;
    clock::time_point used_ = {}; ///< when bytes came last
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    bool uploading_ = false;
    bool closed_ = false;
    os::unforked client_unforked_;
    os::unforked server_unforked_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/network/impl/proxy_connection.ipp>
#endif
