#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/server_action.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/mcp/server_machine.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ipybox::mcp::detail {

class server_core;

/// A call while its handler runs, and after that for those who kept it.
struct running_call {
    running_call(std::weak_ptr<server_core> of, std::shared_ptr<server::options const> kept,
                 server_actions::start const& what)
        : core(std::move(of)), options(std::move(kept)), id(what.call), tool(what.tool), arguments(what.arguments),
          values(arguments.value()), client(what.client), reports(what.reports) {}

    std::weak_ptr<server_core> core;
    std::shared_ptr<server::options const> options; ///< that the tool is of
    server_call_id id;
    server::tool const* tool;
    raw_json arguments;
    nlohmann::ordered_json values; ///< the same, built
    std::shared_ptr<server::client_description const> client;
    bool reports;
    bool cancelled = false;
    asio::cancellation_signal signal; ///< of the handler's coroutine
};

/// Has the handler of its tool serve a call.
[[nodiscard]] asio::awaitable<call_result> handled(std::shared_ptr<running_call> const& call);

/**
 * \brief One client of a server: its channel, the machine, and the handlers that run.
 * \details Used on the executor alone.
 */
class server_core : public std::enable_shared_from_this<server_core> {
  public:
    using answer = result<server::elicitation>;

    server_core(asio::any_io_executor executor, std::shared_ptr<server::options const> options,
                std::shared_ptr<server::channel> channel);

    /// Serves until the client ends; a cancellation of the completion ends it too.
    void begin(ipybox::detail::completion<result<void>> done);

    void ask(server_call_id call, std::string_view message, nlohmann::ordered_json const& schema,
             ipybox::detail::completion<answer> done);
    void report(server_call_id call, call_options::progress const& made);

  private:
    using clock = server_machine::clock;

    static asio::awaitable<result<void>> serve(std::shared_ptr<server_core> self);
    asio::awaitable<result<void>> read();
    asio::awaitable<void> end();
    [[nodiscard]] server_machine::actions meaning_of(result<std::optional<std::string_view>> const& line);

    void carry_out(server_machine::actions actions);
    void carry_out(server_action& action);
    void start(server_actions::start const& what);
    void fail_to_start(server_call_id id);
    void cancel(server_call_id id);
    void answer_question(server_question_id question, answer given);
    void withdraw(server_question_id question);
    static asio::awaitable<void> run(std::shared_ptr<server_core> self, std::shared_ptr<running_call> call);
    void on_end_of(server_call_id id, call_result result);
    void watch_time();

    asio::any_io_executor executor_;
    std::shared_ptr<server::options const> options_;
    std::shared_ptr<server::channel> channel_;
    server_machine machine_;
    std::deque<server_action> actions_; ///< that are still to be carried out
    bool carries_out_ = false;
    std::unordered_map<server_call_id, std::shared_ptr<running_call>> calls_;
    std::unordered_map<server_question_id, ipybox::detail::completion<answer>> asked_;
    asio::steady_timer timer_;
    clock::time_point watched_ = clock::time_point::max(); ///< when the timer goes off
    asio::steady_timer all_ended_;                         ///< cancelled when the last handler has ended
};

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_core.ipp>
#endif
