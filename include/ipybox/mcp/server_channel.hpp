#pragma once

#include <ipybox/core/result.hpp>

#include <asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox::mcp {

/**
 * \brief The way to one client: lines in and out.
 * \details The seam between the protocol and its transport, used on one executor that runs one handler at a time.
 */
class server_channel {
  public:
    server_channel() = default;
    server_channel(server_channel const&) = delete;
    server_channel& operator=(server_channel const&) = delete;
    virtual ~server_channel() = default;

    /**
     * \brief The next line of the client, without its end, valid until the next call. None: the client has ended its
     * output, now and for ever.
     * \par Errors errc::message_too_large — a line was dropped because it is too long; the next call gives the next one
     */
    virtual asio::awaitable<result<std::optional<std::string_view>>> receive() = 0;

    /// Puts a line on its way, behind those that were sent before. Never waits. A channel that has failed drops it.
    virtual void send(std::string line) = 0;

    /// Bytes that were sent and that the client has not taken.
    [[nodiscard]] virtual std::size_t unread() const noexcept = 0;

    /// Waits until the client has left at most so many bytes. False: it is gone, or took nothing for as long as
    /// `patience`.
    virtual asio::awaitable<bool> drained(std::size_t most, std::chrono::milliseconds patience) = 0;

    /// Ends it: `receive` gives none from now on.
    virtual void close() noexcept = 0;
};

} // namespace ipybox::mcp
