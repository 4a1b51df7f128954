#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_action.hpp>
#include <ipybox/mcp/server_calls.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/mcp/server_listing.hpp>
#include <ipybox/mcp/server_outbox.hpp>
#include <ipybox/mcp/server_request.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::mcp {

/**
 * \brief Gives the messages of one client their meaning, in every version of the protocol.
 * \details No I/O, no clock: lines, results of handlers and the time go in; messages to send and handlers to start come
 * out. Whatever a client sends, the worst that happens
 * is that it is refused. Each function gives what has to be done because of it, in order.
 */
class server_machine {
  public:
    using clock = server_clock;
    using actions = std::vector<server_action>;

    /// The options must outlive the machine. `now` and `wall` are the same moment.
    server_machine(server::options const& options, clock::time_point now,
                   std::chrono::system_clock::time_point wall = std::chrono::system_clock::now());
    server_machine(server_machine const&) = delete;
    server_machine& operator=(server_machine const&) = delete;
    ~server_machine() = default;

    [[nodiscard]] actions on_line(std::string_view line, clock::time_point now);

    /// A line was longer than `server::limits::max_line_in`.
    [[nodiscard]] actions on_long_line(clock::time_point now, std::string_view id = {});

    /// The client is gone: every call is cancelled. Handlers still end by `on_result`.
    [[nodiscard]] actions on_end(clock::time_point now);

    /// A handler has ended.
    [[nodiscard]] actions on_result(server_call_id call, call_result result, clock::time_point now);

    /// A handler asks the client's user. The answer may be among the actions.
    [[nodiscard]] std::pair<server_question_id, actions>
    ask(server_call_id call, std::string_view message, nlohmann::ordered_json const& schema, clock::time_point now);

    /// A handler waits for the answer no more. There will be none.
    [[nodiscard]] actions withdraw(server_question_id question, clock::time_point now);

    /// A handler reports progress.
    [[nodiscard]] actions report(server_call_id call, call_options::progress const& made, clock::time_point now);

    /// When `on_time` has something to do next.
    [[nodiscard]] clock::time_point deadline() const noexcept { return calls_.deadline(); }
    [[nodiscard]] actions on_time(clock::time_point now);

    [[nodiscard]] std::size_t open_calls() const noexcept { return calls_.open_calls(); }
    [[nodiscard]] std::size_t open_questions() const noexcept { return calls_.open_questions(); }
    [[nodiscard]] std::size_t kept_tasks() const noexcept { return calls_.kept_tasks(); }

  private:
    using client_ptr = server_calls::client_ptr;
    using reply = server_calls::reply;
    using batch_ptr = std::shared_ptr<server_batch>;

    void refuse_line(std::string_view line, rpc_error const& why, batch_ptr const& batch = {});
    void on_message(std::string_view text, batch_ptr const& batch);
    void on_batch(std::string_view line);
    void on_request(rpc_message const& message, batch_ptr const& batch);
    void on_notification(rpc_message const& message);

    [[nodiscard]] reply serve(rpc_message const& message, server_open_request const& request);
    [[nodiscard]] answer_to<client_ptr> client_of(request_params const& params);
    [[nodiscard]] bool takes_structured_content(std::string const& client) const;
    void introduce(client_ptr const& client);
    [[nodiscard]] answer_to<std::string> initialize(request_params const& params);
    [[nodiscard]] reply serve_modern(std::string const& method, request_params const& params, client_ptr const& client,
                                     server_open_request const& request);
    [[nodiscard]] reply serve_legacy(std::string const& method, request_params const& params, client_ptr const& client,
                                     server_open_request const& request);

    server::options const& options_;
    server_listing listing_;
    server_outbox outbox_;
    server_calls calls_;
    client_ptr client_; ///< since `initialize`
    client_ptr modern_; ///< of the last request of 2026-07-28, for most are alike
    std::string modern_text_;
    bool introduced_ = false;
    bool ended_ = false;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_machine.ipp>
#endif
