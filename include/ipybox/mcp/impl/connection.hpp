#pragma once

#include <ipybox/async/side_threads.hpp>
#include <ipybox/core/move_only_function.hpp>
#include <ipybox/mcp/channel.hpp>
#include <ipybox/mcp/rpc_machine.hpp>
#include <ipybox/mcp/rpc_outcome.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace ipybox::mcp::detail {

/// Makes something of a result; called on another thread.
using result_reader = std::function<std::shared_ptr<void>(std::string_view)>;

/// The extras of a request besides its answer.
struct request_terms {
    rpc_machine::clock::time_point deadline = rpc_machine::clock::time_point::max();
    bool may_cancel = true; ///< whether the server is told when the answer is not wanted any more
    std::function<void(call_options::progress const&)> on_progress = {};
    result_reader read_aside = {}; ///< for a long result; none: it is given as JSON
};

/**
 * \brief Requests and answers over a channel, for one life of a server.
 * \details Used on the executor alone. Every request has exactly one outcome, unless it is abandoned; it comes inline.
 * Long lines are read on a thread of their own, long requests are written piece by piece: neither holds up other
 * handlers.
 */
class connection : public std::enable_shared_from_this<connection> {
  public:
    using request_id = rpc_machine::request_id;
    using outcome_handler = ipybox::detail::move_only_function<void(rpc_outcome)>;

    connection(asio::any_io_executor const& executor, std::shared_ptr<channel> c,
               std::function<void()> on_tools_changed);

    /// Starts the server and begins to read.
    asio::awaitable<result<void>> open();

    /// Opens a request, which `send` then sends: the id is its progress token too.
    [[nodiscard]] request_id begin(request_terms terms, outcome_handler on_outcome);

    /// `owner` keeps long values of `params`; short ones are copied.
    void send(request_id id, std::string_view method, std::vector<rpc_member> const& params,
              std::shared_ptr<void const> owner = {});
    void notify(std::string_view method);

    /// The answer is not wanted any more: there will be no outcome.
    void abandon(request_id id, std::string_view reason);

    /// Gives every open request this outcome; no further one can be opened. The first reason counts.
    void finish(error why);

    [[nodiscard]] bool has_ended() const noexcept { return end_.has_value(); }

    /// Waits for the end, however it came.
    asio::awaitable<error> finished();

    /// Ends the server, within a bound.
    asio::awaitable<void> close();

    [[nodiscard]] std::string diagnostics() const { return channel_->diagnostics(); }

  private:
    struct open_request {
        outcome_handler on_outcome;
        request_terms terms;
        bool is_written = false; ///< whether the server may know it
    };

    /// A long request that is being put together.
    struct long_request {
        request_id id = 0;
        std::string head;
        std::vector<std::string> copies; ///< of short values
        std::vector<rpc_member> params;
        std::shared_ptr<void const> owner; ///< of the others
    };

    static asio::awaitable<void> read(std::shared_ptr<connection> self);
    asio::awaitable<void> read_messages();
    asio::awaitable<void> read_short(std::string_view line);
    asio::awaitable<void> read_long(std::string_view line);
    asio::awaitable<void> take_turn();
    static asio::awaitable<void> send_long(std::shared_ptr<connection> self, std::shared_ptr<long_request> request);
    enum class message_kind { own, answer };
    void put(std::string message, message_kind kind = message_kind::own);
    void on_message(rpc_message const& message);
    void on_meaning(rpc_machine::step const& meaning);
    void conclude(request_id id, rpc_outcome outcome);
    void watch_deadlines();
    void end_overdue();

    asio::any_io_executor executor_;
    std::shared_ptr<channel> channel_;
    std::function<void()> on_tools_changed_;
    rpc_machine book_;
    std::unordered_map<request_id, open_request> requests_;
    asio::steady_timer deadline_;
    rpc_machine::clock::time_point watched_ = rpc_machine::clock::time_point::max(); ///< when the timer goes off
    std::optional<error> end_;
    int read_ = 0;                       ///< lines and messages since others had their turn
    asio::steady_timer ended_;           ///< cancelled at the end
    ipybox::detail::side_threads aside_; ///< the last member: its threads read from the channel
};

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/connection.ipp>
#endif
