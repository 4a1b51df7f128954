#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/http/authorizer.hpp>
#include <ipybox/http/impl/line_queue.hpp>
#include <ipybox/http/impl/remote_endpoint.hpp>
#include <ipybox/http/impl/sent_message.hpp>
#include <ipybox/http/url.hpp>
#include <ipybox/mcp/channel.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/value_names.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::http::detail {

/// The waits between tries to resume a stream: the first, where the server names none, and the bounds of all.
inline constexpr std::chrono::milliseconds first_wait{500};
inline constexpr std::chrono::milliseconds shortest_wait{50};
inline constexpr std::chrono::milliseconds longest_wait{30'000};

/// Answers to the server that it has not taken: with more, further ones are dropped.
inline constexpr int most_answers = 64;

[[nodiscard]] inline std::string status_text(int status) {
    return "answered with the status " + std::to_string(status) + " of HTTP";
}

/// See `make_remote_channel`.
class remote_channel final : public mcp::channel, public std::enable_shared_from_this<remote_channel> {
  public:
    remote_channel(asio::any_io_executor const& executor, mcp::server_params const& server, url const& address,
                   std::shared_ptr<authorizer> tokens)
        : executor_(executor), transport_(server.reached_by), connect_timeout_(server.connect_timeout),
          grace_(server.stop_grace), server_(server, address, std::move(tokens)), lines_(executor),
          begun_(executor, asio::steady_timer::time_point::max()) {
        if (transport_ == transport::by_address && address.path().find("/mcp") == std::string::npos &&
            address.path().find("/sse") != std::string::npos)
            transport_ = transport::sse;
    }

    asio::awaitable<result<void>> open() override;
    void send(std::string message) override;
    void answer(std::string message) override;
    asio::awaitable<result<std::string_view>> receive() override { return lines_.take(); }
    asio::awaitable<void> close() override;
    void on_lost(std::function<void(std::int64_t id, error why)> told) override { told_ = std::move(told); }
    std::string diagnostics() const override { return complaints_; }
    void kill() noexcept override { server_.kill(); }

  private:
    using self_ptr = std::shared_ptr<remote_channel>;
    using transport = mcp::server_params::transport;

    // One message.
    void release();
    [[nodiscard]] bool cancel(std::int64_t id);
    void lose(sent_message const& one, error why);
    static asio::awaitable<void> deliver(self_ptr self, message_ptr one);
    asio::awaitable<result<void>> post(message_ptr one);
    asio::awaitable<result<response_head>> post_once(message_ptr one);
    asio::awaitable<result<void>> read_answer(message_ptr one, response_head head);
    asio::awaitable<result<void>> read_events(message_ptr one);
    asio::awaitable<void> take(sent_message& one, std::string text);
    asio::awaitable<void> answer_with(sent_message& one, mcp::rpc_error why);
    asio::awaitable<result<void>> refuse(message_ptr one, response_head head);

    // Sessions.
    [[nodiscard]] bool has_ended() const noexcept { return lines_.why_ended().has_value(); }
    [[nodiscard]] bool is_sse() const noexcept { return stream_ != nullptr; }
    void on_session(sent_message const& one, std::string_view result);
    asio::awaitable<result<void>> renew_session(std::string lost);
    asio::awaitable<result<void>> begin_session();
    asio::awaitable<result<std::string>> only_answer(message_ptr one, response_head head);
    static asio::awaitable<void> listen(self_ptr self);
    asio::awaitable<result<void>> open_sse();
    static asio::awaitable<void> read_sse(self_ptr self, std::shared_ptr<response> stream);
    void end(error why);
    void wake();
    asio::awaitable<void> sleep(std::chrono::milliseconds time);

    asio::any_io_executor executor_;
    transport transport_;
    std::chrono::milliseconds const connect_timeout_;
    std::chrono::milliseconds const grace_;
    remote_endpoint server_;
    line_queue lines_;
    std::function<void(std::int64_t id, error why)> told_;
    std::string complaints_; ///< bodies of errors

    std::vector<message_ptr> under_way_;
    std::deque<message_ptr> held_;                      ///< while a session begins
    bool is_beginning_ = false;                         ///< one does
    asio::steady_timer begun_;                          ///< cancelled when it has begun
    std::shared_ptr<std::string const> initialization_; ///< the message that began it
    std::shared_ptr<response> stream_;                  ///< the one of HTTP+SSE, where that is spoken
    bool has_place_ = false;                            ///< that stream has said where to post
    std::vector<asio::steady_timer*> sleeping_;
};

} // namespace ipybox::http::detail
