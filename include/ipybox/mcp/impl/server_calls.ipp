#pragma once

#include <ipybox/core/random_hex.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/mcp/impl/call_arguments.hpp>
#include <ipybox/mcp/impl/elicitation_request.hpp>
#include <ipybox/mcp/impl/progress_notification.hpp>
#include <ipybox/mcp/impl/refusal.hpp>
#include <ipybox/mcp/json_writer.hpp>
#include <ipybox/mcp/server_calls.hpp>
#include <ipybox/mcp/server_outbox.hpp>

#include <algorithm>
#include <cmath>

namespace ipybox::mcp {

IPYBOX_DECL server_calls::server_calls(server::options const& options, server_listing const& listing,
                                       server_outbox& outbox, clock::time_point now,
                                       std::chrono::system_clock::time_point wall)
    : options_(options), listing_(listing), outbox_(outbox), tasks_(options.limits.tasks, now, wall),
      questions_(options.limits.questions), results_(listing, tasks_, questions_, options.limits.max_line_out),
      now_(now) {}

// --- requests ---------------------------------------------------------------------------------------------------------

IPYBOX_DECL server::tool const* server_calls::tool_named(std::string_view name) const {
    auto const found = std::find_if(options_.tools.begin(), options_.tools.end(),
                                    [name](server::tool const& tool) { return tool.definition.name == name; });
    return found == options_.tools.end() ? nullptr : &*found;
}

IPYBOX_DECL server_calls::reply server_calls::call_tool(request_params const& params, client_ptr const& client,
                                                        server_open_request const& request) {
    auto const name = read_string(params.name);
    if (!name) return detail::refused(rpc_invalid_params, "`name` has to be a string: which tool to call");
    auto const* const tool = tool_named(*name);
    if (tool == nullptr) return detail::refused(rpc_invalid_params, "there is no tool " + detail::shown(*name));
    if (!client->is_stateless || params.request_state.empty()) return begin_call(*tool, params, client, request);
    auto const state = read_string(params.request_state);
    if (!state) return detail::refused(rpc_invalid_params, "`requestState` has to be a string");
    return resume_call(*state, params, client, request);
}

IPYBOX_DECL server_calls::reply server_calls::begin_call(server::tool const& tool, request_params const& params,
                                                         client_ptr const& client, server_open_request const& request) {
    bool const as_task = !params.task.empty() && listing_.has_tasks() && client->version == "2025-11-25";
    if (as_task && tool.tasks == mcp::server::tool::task_support::forbidden)
        return detail::refused(rpc_method_not_found, "calls of this tool cannot be tasks");
    auto const sent = raw_json::read(detail::or_empty_object(params.arguments), raw_json::duplicate_names::refused);
    if (!sent) return results_.of_call(tool, *client, failed_call("argument " + sent.error().text()));
    auto [arguments, fault] = detail::read_arguments(tool, *sent);
    if (!arguments.is_object()) return detail::refused(rpc_invalid_params, "`arguments` has to be an object");
    // 2025-11-25, "Tools", section "Error Handling": the model can mend it, so it has to hear of it.
    if (fault) return results_.of_call(tool, *client, failed_call("argument " + *fault));
    if (calls_.size() >= options_.limits.calls || (as_task && !tasks_.has_room()))
        return detail::refused(rpc_internal_error, "as many calls run as are allowed: wait for one, or cancel it");

    auto const id = ++last_call_;
    auto& call = calls_.emplace(id, call_state{&tool, *sent, client}).first->second;
    if (request_key(params.progress_token)) call.progress_token = params.progress_token;
    outbox_.add(server_actions::start{id, &tool, std::move(arguments), client, !call.progress_token.empty()});
    if (as_task) {
        auto const& task = make_task(id, call, read_task_lifetime(params.task));
        return results_.of_new_task(task);
    }
    call.request = request;
    waiting_.emplace(request.key, waiting{id, {}});
    await_task(call);
    return std::nullopt;
}

/// 2026-07-28, "Multi Round-Trip Requests". A state is used once, and only for the request that it was given to.
IPYBOX_DECL server_calls::reply server_calls::resume_call(std::string const& state, request_params const& params,
                                                          client_ptr const& client,
                                                          server_open_request const& request) {
    auto const found = suspended_.find(state);
    if (found == suspended_.end())
        return detail::refused(rpc_invalid_params,
                               "this `requestState` is unknown, was used, or has expired: send the request without it");
    auto const id = found->second;
    auto& call = calls_.at(id);
    auto const arguments = read_json(detail::or_empty_object(params.arguments));
    if (read_string(params.name) != call.tool->definition.name || arguments != read_json(call.arguments.text()))
        return detail::refused(rpc_invalid_params, "this `requestState` was given to another request");
    auto said = questions_.read_responses(id, params.input_responses);
    if (!said) return tl::unexpected(said.error());

    suspended_.erase(found);
    call.state.clear();
    call.resume_by = clock::time_point::max();
    call.client = client;
    call.progress_token = request_key(params.progress_token) ? std::string(params.progress_token) : std::string();
    for (auto& [question, answer] : *said) close_question(question, std::move(answer));
    if (call.outcome) {
        auto text = results_.of_call(*call.tool, *client, *call.outcome);
        calls_.erase(id);
        return text;
    }
    call.request = request;
    waiting_.emplace(request.key, waiting{id, {}});
    await_task(call);
    flush_questions(id);
    return std::nullopt;
}

/// Answers the request that waits for a call.
IPYBOX_DECL void server_calls::end_request(call_state& call, answer_to<std::string> const& answer) {
    auto const request = *std::exchange(call.request, std::nullopt);
    waiting_.erase(request.key);
    outbox_.answer(request, answer);
}

IPYBOX_DECL void server_calls::on_result(server_call_id id, call_result result) {
    auto const found = calls_.find(id);
    if (found == calls_.end()) return;
    auto& call = found->second;
    close_questions(id, error(errc::cancelled, "the handler has ended"));
    if (!call.state.empty()) { // the client asks for it with that
        call.outcome = std::move(result);
        return;
    }
    if (call.request) {
        end_request(call, results_.of_call(*call.tool, *call.client, result));
    } else if (auto* const task = tasks_.find(call.task, detail::era_of(*call.client))) {
        end_task(*task, results_.fitting(*call.tool, *call.client, std::move(result)));
    }
    calls_.erase(id);
}

IPYBOX_DECL void server_calls::cancel_request(std::string const& key) {
    auto const found = waiting_.find(key);
    if (found == waiting_.end()) return;
    auto const which = found->second;
    if (which.task.empty()) return abandon_call(which.call);
    waiting_.erase(found);
    auto* const task = tasks_.find(which.task, detail::era::handshake);
    if (task == nullptr) return;
    auto const waiter =
        std::find_if(task->waiters.begin(), task->waiters.end(), [&](auto const& w) { return w.key == key; });
    if (waiter == task->waiters.end()) return;
    outbox_.drop(*waiter);
    task->waiters.erase(waiter);
}

/// Cancels a call and forgets its request.
IPYBOX_DECL void server_calls::abandon_call(server_call_id id) {
    auto& call = calls_.at(id);
    if (call.request) {
        auto const request = *std::exchange(call.request, std::nullopt);
        waiting_.erase(request.key);
        outbox_.drop(request);
    }
    suspended_.erase(std::exchange(call.state, {}));
    call.resume_by = call.task_at = clock::time_point::max();
    // A task that outlived its call would be expired by it.
    auto* const task = tasks_.find(std::exchange(call.task, {}), detail::era_of(*call.client));
    if (task != nullptr && !task->has_ended()) end_task(*task, std::nullopt);
    bool const has_ended = call.outcome.has_value();
    close_questions(id, error(errc::cancelled, "the call was cancelled"));
    if (has_ended)
        calls_.erase(id);
    else
        outbox_.add(server_actions::cancel{id});
}

IPYBOX_DECL void server_calls::end_all() {
    ended_ = true;
    std::vector<server_call_id> wanted;
    for (auto const& [id, call] : calls_)
        if (call.is_wanted()) wanted.push_back(id);
    for (auto const id : wanted) abandon_call(id);
}

IPYBOX_DECL void server_calls::report(server_call_id id, call_options::progress const& made) {
    auto const found = calls_.find(id);
    if (found == calls_.end() || !std::isfinite(made.done)) return;
    auto& call = found->second;
    auto* const task = call.task.empty() ? nullptr : tasks_.find(call.task, detail::era_of(*call.client));
    if (task != nullptr && made.message) {
        task->message = made.message->substr(0, whole_characters(*made.message, server_task::longest_message));
        task->updated = now_;
    }
    // The extension of 2026-07-28 has no progress of tasks.
    bool const is_heard = task != nullptr ? !call.is_modern() : call.request.has_value();
    bool const grows = !call.done || made.done > *call.done;
    if (!is_heard || !grows || call.progress_token.empty()) return;
    call.done = made.done;
    auto line = detail::progress_notification(made, call.progress_token, *call.client, task);
    if (line.size() <= options_.limits.max_line_out) outbox_.add(server_actions::send{std::move(line)});
}

// --- questions --------------------------------------------------------------------------------------------------------

IPYBOX_DECL std::optional<error> server_calls::obstacle_to_asking(server_call_id call) const {
    auto const found = calls_.find(call);
    bool const runs = found != calls_.end() && found->second.is_wanted() && !found->second.outcome;
    if (!runs) return error(errc::cancelled, "the call was cancelled");
    if (!found->second.client->answers_forms())
        return error(errc::mcp_input_required, "the client does not declare that its user can be asked (elicitation)");
    if (!questions_.has_room())
        return error(errc::mcp_input_required, "the client has left " + std::to_string(questions_.size()) +
                                                   " questions without an answer: no more are asked");
    return std::nullopt;
}

IPYBOX_DECL server_question_id server_calls::ask(server_call_id id, std::string_view message,
                                                 nlohmann::ordered_json const& schema) {
    auto const question = questions_.next_id();
    auto obstacle = obstacle_to_asking(id);
    auto const form = write_json(schema);
    if (!obstacle && !form) obstacle.emplace(errc::invalid_argument, "the schema of a form " + form.error().text());
    if (obstacle) {
        outbox_.add(server_actions::answered{question, failure(std::move(*obstacle))});
        return question;
    }
    auto& call = calls_.at(id);
    auto const params = detail::elicitation_params(*call.client, message, *form, call.task);
    auto const& key = questions_.add(question, id, params, now_ + options_.limits.question_timeout);
    touch_task(id);
    if (call.is_modern())
        flush_questions(id);
    else
        outbox_.add(server_actions::send{detail::elicitation_request(key, params)});
    return question;
}

IPYBOX_DECL void server_calls::withdraw(server_question_id question) {
    forget_question(question, "the call does not need the answer any more");
}

/// Takes a question out; false where there is none. In the handshake era the client is told, for it shows it.
IPYBOX_DECL bool server_calls::forget_question(server_question_id id, std::string_view reason) {
    auto const question = questions_.take(id);
    if (!question) return false;
    touch_task(question->call);
    if (ended_ || calls_.at(question->call).is_modern()) return true;
    auto const key = json_string(question->key);
    auto const why = json_string(reason);
    outbox_.add(
        server_actions::send{write_rpc_notification("notifications/cancelled", {{"requestId", key}, {"reason", why}})});
    return true;
}

IPYBOX_DECL void server_calls::close_question(server_question_id id, result<server::elicitation> answer) {
    auto const question = questions_.take(id);
    if (!question) return;
    touch_task(question->call);
    outbox_.add(server_actions::answered{id, std::move(answer)});
}

/// Ends the questions of a call without an answer.
IPYBOX_DECL void server_calls::close_questions(server_call_id call, error const& why) {
    for (auto const id : questions_.of(call))
        if (forget_question(id, why.text())) outbox_.add(server_actions::answered{id, failure(why)});
}

/// Ends an open request of 2026-07-28 with the questions that wait for an answer: the client has to ask again.
IPYBOX_DECL void server_calls::flush_questions(server_call_id id) {
    auto& call = calls_.at(id);
    if (!call.request || !questions_.has_of(id)) return;
    call.state = random_hex(16);
    call.resume_by = now_ + options_.limits.question_timeout;
    call.task_at = clock::time_point::max();
    suspended_.emplace(call.state, id);
    end_request(call, results_.with_questions(id, call.state));
}

IPYBOX_DECL void server_calls::on_answer(rpc_message const& message) {
    auto const question = questions_.asked_as(request_key(message.id).value_or(""));
    if (!question || calls_.at(questions_.find(*question)->call).is_modern()) return;
    close_question(*question, detail::answer_in(message));
}

IPYBOX_DECL void server_calls::expire_questions() {
    for (auto const id : questions_.late(now_))
        if (forget_question(id, "no answer came in time"))
            outbox_.add(
                server_actions::answered{id, failure(errc::timed_out, "the client's user did not answer in time")});
}

// --- time -------------------------------------------------------------------------------------------------------------

IPYBOX_DECL server_calls::clock::time_point server_calls::deadline() const noexcept {
    auto next = std::min(tasks_.deadline(), questions_.deadline());
    for (auto const& [id, call] : calls_) next = std::min({next, call.resume_by, call.task_at});
    return next;
}

IPYBOX_DECL void server_calls::on_time() {
    expire_questions();
    std::vector<server_call_id> expired;
    std::vector<server_call_id> slow;
    for (auto const& [id, call] : calls_) {
        if (call.resume_by <= now_) expired.push_back(id);
        if (call.task_at <= now_) slow.push_back(id);
    }
    for (auto const id : expired) abandon_call(id);
    for (auto const id : slow) hand_task(id);
    while (auto const task = tasks_.take_expired(now_)) expire_task(*task);
}

// --- tasks ------------------------------------------------------------------------------------------------------------

IPYBOX_DECL server_task& server_calls::make_task(server_call_id id, call_state& call,
                                                 std::optional<std::chrono::milliseconds> lifetime) {
    auto const longest = options_.limits.task_lifetime;
    auto& task = tasks_.add(call.client, id, std::min(lifetime.value_or(longest), longest), now_);
    call.task = task.id;
    call.task_at = clock::time_point::max();
    return task;
}

/// A client of 2026-07-28 that takes tasks gets one when the result takes long.
IPYBOX_DECL void server_calls::await_task(call_state& call) {
    if (call.tool->tasks == mcp::server::tool::task_support::optional && call.client->takes_tasks())
        call.task_at = now_ + call.tool->task_after;
}

IPYBOX_DECL void server_calls::hand_task(server_call_id id) {
    auto& call = calls_.at(id);
    call.task_at = clock::time_point::max();
    if (!call.request || !tasks_.has_room()) return;
    auto const& task = make_task(id, call, std::nullopt);
    end_request(call, results_.of_new_task(task));
}

IPYBOX_DECL void server_calls::touch_task(server_call_id call) {
    auto const found = calls_.find(call);
    if (found == calls_.end() || found->second.task.empty()) return;
    if (auto* const task = tasks_.find(found->second.task, detail::era_of(*found->second.client))) task->updated = now_;
}

IPYBOX_DECL void server_calls::end_task(server_task& task, std::optional<call_result> result) {
    task.call = 0;
    if (result) task.result = std::make_shared<call_result const>(std::move(*result));
    task.updated = now_;
    for (auto const& request : std::exchange(task.waiters, {})) {
        waiting_.erase(request.key);
        outbox_.answer(request, results_.task_result(task));
    }
}

/// A task that is no longer kept.
IPYBOX_DECL void server_calls::expire_task(server_task& task) {
    for (auto const& request : std::exchange(task.waiters, {})) {
        waiting_.erase(request.key);
        outbox_.answer(request, detail::refused(rpc_invalid_params, "the task has expired"));
    }
    if (!task.has_ended()) abandon_call(task.call);
}

IPYBOX_DECL server_calls::reply server_calls::serve_task(std::string const& method, request_params const& params,
                                                         client_ptr const& client, server_open_request const& request) {
    bool const modern = client->is_stateless;
    if (modern && !client->takes_tasks())
        return detail::refused(mcp_missing_capability, "the client does not declare tasks",
                               R"({"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}})");
    if (method == "tasks/list") {
        if (!params.cursor.empty() && params.cursor != "null")
            return detail::refused(rpc_invalid_params, "tasks have one page, which needs no cursor");
        return results_.task_list();
    }
    auto* const task = tasks_.find(read_string(params.task_id).value_or(""), detail::era_of(*client));
    if (task == nullptr) return detail::refused(rpc_invalid_params, "there is no such task, or it is no longer kept");
    if (method == "tasks/get") return results_.task_state(*task);
    if (method == "tasks/result") return await_result(*task, request);
    return method == "tasks/cancel" ? cancel_task(*task) : update_task(*task, params.input_responses);
}

IPYBOX_DECL server_calls::reply server_calls::await_result(server_task& task, server_open_request const& request) {
    if (task.has_ended()) return results_.task_result(task);
    if (task.waiters.size() >= options_.limits.calls)
        return detail::refused(rpc_internal_error, "as many requests wait for this result as are allowed");
    task.waiters.push_back(request);
    waiting_.emplace(request.key, waiting{0, task.id});
    return std::nullopt;
}

IPYBOX_DECL answer_to<std::string> server_calls::update_task(server_task const& task, std::string_view responses) {
    auto said = questions_.read_responses(task.call, responses);
    if (!said) return tl::unexpected(said.error());
    for (auto& [question, answer] : *said) close_question(question, std::move(answer));
    return listing_.complete();
}

IPYBOX_DECL answer_to<std::string> server_calls::cancel_task(server_task& task) {
    bool const modern = task.client->is_stateless;
    if (task.has_ended() && !modern) return detail::refused(rpc_invalid_params, "the task has ended");
    if (!task.has_ended()) {
        auto const call = task.call;
        end_task(task, std::nullopt);
        abandon_call(call);
    }
    return results_.cancelled_task(task);
}

} // namespace ipybox::mcp
