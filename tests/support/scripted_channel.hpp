#pragma once

#include <ipybox/async/mailbox.hpp>
#include <ipybox/mcp/channel.hpp>
#include <ipybox/mcp/client.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/** \file
 * MCP servers that do not exist.
 */

namespace ipybox::test {

/// What a server does: it answers each message with lines, and fails where it is told to. One for all its lives.
struct scripted_server {
    using json = nlohmann::json;

    /// The lines upon a message.
    std::function<std::vector<std::string>(json const&)> answer = [](json const&) {
        return std::vector<std::string>();
    };

    std::vector<json> heard = {};             ///< what was sent to it
    std::size_t lives = 0;                    ///< how often it was started
    std::size_t closed = 0;                   ///< how often it was ended
    std::optional<std::size_t> fails_at = {}; ///< the n-th operation (open, send, receive, counted from 0) fails
    std::size_t operations = 0;               ///< how many there were
    bool throws = false;                      ///< the operation that fails, and each close, throws
    std::optional<error> cannot_start = {};
    std::function<void(std::string)> say = {}; ///< says a line, in its present life
    std::function<void()> die = {};            ///< ends its present life

    [[nodiscard]] std::vector<std::string> methods() const {
        std::vector<std::string> list;
        for (auto const& message : heard) list.push_back(message.value("method", "(answer)"));
        return list;
    }

    bool fails() {
        bool const now = fails_at == operations++;
        if (now && throws) throw std::runtime_error("a bug of the channel");
        return now;
    }
};

class scripted_channel final : public mcp::channel {
  public:
    scripted_channel(asio::any_io_executor const& executor, std::shared_ptr<scripted_server> server)
        : server_(std::move(server)), lines_(executor) {}

    asio::awaitable<result<void>> open() override {
        ++server_->lives;
        server_->say = [this](std::string line) { lines_.push(std::move(line)); };
        server_->die = [this] { lines_.push(std::nullopt); };
        if (server_->fails()) co_return failure(errc::mcp_start_failed, "cannot be started");
        if (server_->cannot_start) co_return failure(*server_->cannot_start);
        co_return result<void>();
    }

    void send(std::string message) override {
        if (dead_) return;
        if (server_->fails()) return lines_.push(std::nullopt);
        server_->heard.push_back(nlohmann::json::parse(message));
        for (auto& line : server_->answer(server_->heard.back())) lines_.push(std::move(line));
    }

    asio::awaitable<result<std::string_view>> receive() override {
        if (!dead_ && !server_->fails()) {
            auto line = co_await lines_.pop();
            if (*line) {
                line_ = std::move(**line);
                co_return std::string_view(line_);
            }
        }
        dead_ = true;
        co_return failure(error(errc::mcp_server_died, "ended: exit code 7\nit said:\na secret").with_status({7, {}}));
    }

    asio::awaitable<void> close() override {
        ++server_->closed;
        lines_.push(std::nullopt);
        if (server_->throws) throw std::runtime_error("a bug of the channel");
        co_return;
    }

    [[nodiscard]] std::string diagnostics() const override { return "a secret"; }
    void kill() noexcept override {}

  private:
    std::shared_ptr<scripted_server> server_;
    detail::mailbox<std::optional<std::string>> lines_;
    std::string line_;
    bool dead_ = false;
};

/// Makes the channels to a scripted server.
inline mcp::channel::factory channels_to(std::shared_ptr<scripted_server> server) {
    return [server](asio::any_io_executor const& executor,
                    mcp::server_params const&) -> result<std::shared_ptr<mcp::channel>> {
        return std::make_shared<scripted_channel>(executor, server);
    };
}

} // namespace ipybox::test
