#pragma once

#include <ipybox/async/mailbox.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/** \file
 * A client of an MCP server that does not exist.
 */

namespace ipybox::test {

/// What the client says is pushed by the test; what it hears is kept, and answered where the test says so.
class scripted_client final : public mcp::server::channel {
  public:
    using json = nlohmann::json;
    using line = result<std::optional<std::string>>;

    explicit scripted_client(asio::any_io_executor const& executor) : lines_(executor) {}

    std::vector<json> heard = {};
    std::function<void(json const&)> on_message = {}; ///< called with each message
    bool reads = true;                                ///< takes what is sent to it
    bool throws = false;                              ///< the next `receive` throws
    std::size_t received = 0;                         ///< how often a line was asked for
    bool closed = false;

    void say(json const& message) { lines_.push(std::optional(message.dump())); }
    void say_line(line what) { lines_.push(std::move(what)); }
    void end() { lines_.push(std::optional<std::string>()); }

    asio::awaitable<result<std::optional<std::string_view>>> receive() override {
        ++received;
        if (throws) throw std::runtime_error("a bug of the channel");
        auto next = co_await lines_.pop();
        if (!*next) co_return failure(next->error());
        line_ = std::move(**next);
        if (!line_) co_return std::optional<std::string_view>();
        co_return std::optional<std::string_view>(*line_);
    }

    void send(std::string text) override {
        if (closed) return;
        if (!reads) unread_ += text.size();
        heard.push_back(json::parse(text));
        if (on_message) on_message(heard.back());
    }

    [[nodiscard]] std::size_t unread() const noexcept override { return unread_; }

    asio::awaitable<bool> drained(std::size_t most, std::chrono::milliseconds) override { co_return unread_ <= most; }

    void close() noexcept override {
        closed = true;
        end();
    }

  private:
    detail::mailbox<line> lines_;
    std::optional<std::string> line_;
    std::size_t unread_ = 0;
};

} // namespace ipybox::test
