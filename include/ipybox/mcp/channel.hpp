#pragma once

#include <ipybox/core/result.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::mcp {

struct server_params;

/**
 * \brief The way to one server while it lives: JSON-RPC messages out and in.
 * \details The seam between protocol and transport. A channel is used for one life of a server, on one executor that
 * runs one handler at a time; all but `kill` is called there. Texts of errors are what a sentence about the server goes
 * on with ("ended: exit code 1"); what stands behind their first line is for the host alone.
 */
class channel {
  public:
    /// Makes the channel to a server whose variables have been put in.
    using factory = std::function<result<std::shared_ptr<channel>>(asio::any_io_executor const&, server_params const&)>;

    channel() = default;
    channel(channel const&) = delete;
    channel& operator=(channel const&) = delete;
    virtual ~channel() = default;

    /// Starts the server or finds it. Does not wait for it to say anything.
    virtual asio::awaitable<result<void>> open() = 0;

    /// Puts a message on its way, behind those that were sent before. A channel that has failed drops it: `receive`
    /// says why.
    virtual void send(std::string message) = 0;

    /// Sends an answer to a request of the server. A channel that keeps what the server does not read drops answers
    /// when it has kept many: a server can ask without end.
    virtual void answer(std::string message) { send(std::move(message)); }

    /// The next line of the server, valid until the next call. After a failure every operation fails.
    virtual asio::awaitable<result<std::string_view>> receive() = 0;

    /// Ends the server as politely as it lets us, within a bound. Goes on receiving meanwhile, and makes `receive` fail
    /// in the end.
    virtual asio::awaitable<void> close() = 0;

    /// Has a function told of requests that will not be answered, though others are: of a channel to which each request
    /// is one of HTTP, say. It is called on the executor, and not from within `send`. Before `open`.
    virtual void on_lost(std::function<void(std::int64_t id, error why)> told) { (void)told; }

    /// The latest output of the server besides its messages: for a person who looks for the reason of a failure.
    [[nodiscard]] virtual std::string diagnostics() const = 0;

    /// Ends the server at once, from any thread.
    virtual void kill() noexcept = 0;
};

} // namespace ipybox::mcp
