#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/server_action.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/mcp/server_listing.hpp>
#include <ipybox/mcp/server_questions.hpp>
#include <ipybox/mcp/server_request.hpp>
#include <ipybox/mcp/server_results.hpp>
#include <ipybox/mcp/server_tasks.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ipybox::mcp {

class server_outbox;

/**
 * \brief The calls of one client: which run, where their results go, what they have asked the client's user, and which
 * have become tasks.
 * \details No I/O. A part of `server_machine`, whose functions say what these do; what is to be done goes to its
 * outbox.
 */
class server_calls {
  public:
    using clock = server_clock;
    using client_ptr = std::shared_ptr<server::client_description const>;

    /// The answer to a request, as the JSON of its `result`; none: it comes later.
    using reply = std::optional<answer_to<std::string>>;

    server_calls(server::options const& options, server_listing const& listing, server_outbox& outbox,
                 clock::time_point now, std::chrono::system_clock::time_point wall);

    /// Everything from here on happens at this time.
    void set_time(clock::time_point now) noexcept { now_ = now; }

    [[nodiscard]] reply call_tool(request_params const& params, client_ptr const& client,
                                  server_open_request const& request);
    [[nodiscard]] reply serve_task(std::string const& method, request_params const& params, client_ptr const& client,
                                   server_open_request const& request);

    /// Whether a request of this id waits for its answer.
    [[nodiscard]] bool awaits(std::string const& key) const { return waiting_.contains(key); }

    void cancel_request(std::string const& key);
    void on_answer(rpc_message const& message);
    void end_all();

    void on_result(server_call_id id, call_result result);
    [[nodiscard]] server_question_id ask(server_call_id id, std::string_view message,
                                         nlohmann::ordered_json const& schema);
    void withdraw(server_question_id question);
    void report(server_call_id id, call_options::progress const& made);

    [[nodiscard]] clock::time_point deadline() const noexcept;
    void on_time();

    [[nodiscard]] std::size_t open_calls() const noexcept { return calls_.size(); }
    [[nodiscard]] std::size_t open_questions() const noexcept { return questions_.size(); }
    [[nodiscard]] std::size_t kept_tasks() const noexcept { return tasks_.size(); }

  private:
    /// A request whose answer takes a while: the call or the task that it waits for.
    struct waiting {
        server_call_id call = 0;
        std::string task = {}; ///< whose result was asked for
    };

    struct call_state {
        server::tool const* tool;
        raw_json arguments;
        client_ptr client;
        std::optional<server_open_request> request =
            {};                          ///< none: the client has to ask again, has a task, or wants no result
        std::string progress_token = {}; ///< JSON; empty: not asked for
        std::optional<double> done = {}; ///< last reported
        std::string state = {};          ///< with which the client has to ask again
        clock::time_point resume_by = clock::time_point::max(); ///< while it has not
        clock::time_point task_at = clock::time_point::max();   ///< when it becomes a task
        std::string task = {};
        std::optional<call_result> outcome = {}; ///< of a handler that ended before the client asked again

        [[nodiscard]] bool is_wanted() const noexcept { return request || !state.empty() || !task.empty(); }
        [[nodiscard]] bool is_modern() const noexcept { return client->is_stateless; }
    };

    [[nodiscard]] reply begin_call(server::tool const& tool, request_params const& params, client_ptr const& client,
                                   server_open_request const& request);
    [[nodiscard]] reply resume_call(std::string const& state, request_params const& params, client_ptr const& client,
                                    server_open_request const& request);
    [[nodiscard]] server::tool const* tool_named(std::string_view name) const;
    void end_request(call_state& call, answer_to<std::string> const& answer);
    void abandon_call(server_call_id id);

    [[nodiscard]] std::optional<error> obstacle_to_asking(server_call_id call) const;
    void flush_questions(server_call_id id);
    void close_question(server_question_id id, result<server::elicitation> answer);
    void close_questions(server_call_id call, error const& why);
    bool forget_question(server_question_id id, std::string_view reason);
    void expire_questions();

    void await_task(call_state& call);
    server_task& make_task(server_call_id id, call_state& call, std::optional<std::chrono::milliseconds> lifetime);
    void hand_task(server_call_id id);
    void touch_task(server_call_id call);
    void end_task(server_task& task, std::optional<call_result> result);
    void expire_task(server_task& task);
    [[nodiscard]] reply await_result(server_task& task, server_open_request const& request);
    [[nodiscard]] answer_to<std::string> update_task(server_task const& task, std::string_view responses);
    [[nodiscard]] answer_to<std::string> cancel_task(server_task& task);

    server::options const& options_;
    server_listing const& listing_;
    server_outbox& outbox_;
    server_tasks tasks_;
    server_questions questions_;
    server_results const results_;
    clock::time_point now_;
    bool ended_ = false;
    std::map<server_call_id, call_state> calls_;
    std::unordered_map<std::string, waiting> waiting_;          ///< by the keys of their ids
    std::unordered_map<std::string, server_call_id> suspended_; ///< by `requestState`
    server_call_id last_call_ = 0;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_calls.ipp>
#endif
