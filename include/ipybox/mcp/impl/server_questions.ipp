#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/impl/object_text.hpp>
#include <ipybox/mcp/impl/refusal.hpp>
#include <ipybox/mcp/server_questions.hpp>
#include <ipybox/mcp/server_request.hpp>

#include <algorithm>

namespace ipybox::mcp {

IPYBOX_DECL std::string const& server_questions::add(server_question_id id, server_call_id call, std::string params,
                                                     clock::time_point deadline) {
    auto key = "question-" + std::to_string(id);
    return open_.insert_or_assign(id, server_question{call, std::move(key), std::move(params), deadline})
        .first->second.key;
}

IPYBOX_DECL std::optional<server_question> server_questions::take(server_question_id id) {
    auto found = open_.extract(id);
    if (!found) return std::nullopt;
    return std::move(found.mapped());
}

IPYBOX_DECL server_question const* server_questions::find(server_question_id id) const noexcept {
    auto const found = open_.find(id);
    return found == open_.end() ? nullptr : &found->second;
}

IPYBOX_DECL std::optional<server_question_id> server_questions::asked_as(std::string_view request_key) const {
    auto const found =
        std::find_if(open_.begin(), open_.end(), [&](auto const& q) { return "\"" + q.second.key == request_key; });
    return found == open_.end() ? std::nullopt : std::optional(found->first);
}

IPYBOX_DECL bool server_questions::has_of(server_call_id call) const noexcept {
    return std::any_of(open_.begin(), open_.end(), [call](auto const& q) { return q.second.call == call; });
}

IPYBOX_DECL std::vector<server_question_id> server_questions::of(server_call_id call) const {
    std::vector<server_question_id> all;
    for (auto const& [id, question] : open_)
        if (question.call == call) all.push_back(id);
    return all;
}

IPYBOX_DECL std::vector<server_question_id> server_questions::late(clock::time_point now) const {
    std::vector<server_question_id> all;
    for (auto const& [id, question] : open_)
        if (question.deadline <= now) all.push_back(id);
    return all;
}

IPYBOX_DECL server_questions::clock::time_point server_questions::deadline() const noexcept {
    auto next = clock::time_point::max();
    for (auto const& [id, question] : open_) next = std::min(next, question.deadline);
    return next;
}

IPYBOX_DECL std::string server_questions::input_requests(server_call_id call) const {
    detail::object_text requests;
    for (auto const& [id, question] : open_) {
        if (question.call != call) continue;
        detail::object_text request;
        request.string("method", "elicitation/create").json("params", question.params);
        requests.json(question.key, request.take());
    }
    return requests.take();
}

IPYBOX_DECL answer_to<server_questions::answers> server_questions::read_responses(server_call_id call,
                                                                                  std::string_view responses) const {
    answers read;
    if (responses.empty() || responses == "null") return read;
    std::string wrong = "`inputResponses` has to be an object";
    json_cursor cursor(responses);
    bool const is_good = cursor.object([&](std::string const& name) {
        auto const value = cursor.skip();
        auto const asked = std::find_if(open_.begin(), open_.end(),
                                        [&](auto const& q) { return q.second.call == call && q.second.key == name; });
        if (!value || asked == open_.end()) return value.has_value();
        auto answer = read_elicitation_answer(*value);
        if (answer)
            read.emplace_back(asked->first, std::move(*answer));
        else
            wrong = "the answer to " + name + " in `inputResponses` is not one of elicitation";
        return answer.has_value();
    });
    if (!is_good) return detail::refused(rpc_invalid_params, wrong);
    return read;
}

} // namespace ipybox::mcp
