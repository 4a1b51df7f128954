#pragma once

#include <ipybox/mcp/impl/object_text.hpp>
#include <ipybox/mcp/impl/refusal.hpp>
#include <ipybox/mcp/impl/task_reference.hpp>
#include <ipybox/mcp/server_listing.hpp>
#include <ipybox/mcp/server_questions.hpp>
#include <ipybox/mcp/server_results.hpp>
#include <ipybox/mcp/server_tasks.hpp>
#include <ipybox/mcp/write_call_result.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace ipybox::mcp {
namespace detail {

inline server_task::phase phase_of(server_task const& task, server_questions const& questions) {
    using phase = server_task::phase;
    if (!task.has_ended()) return questions.has_of(task.call) ? phase::input_required : phase::working;
    if (!task.result) return phase::cancelled;
    // 2025-11-25 calls a tool's own failure one of the task; the extension of 2026-07-28 does not.
    return task.result->is_error && !task.client->is_stateless ? phase::failed : phase::completed;
}

} // namespace detail

IPYBOX_DECL call_result failed_call(std::string text) {
    call_result r;
    r.is_error = true;
    r.content.emplace_back(content::text{std::move(text)});
    return r;
}

IPYBOX_DECL server_results::server_results(server_listing const& listing, server_tasks const& tasks,
                                           server_questions const& questions, std::size_t max_line_out)
    : listing_(listing), tasks_(tasks), questions_(questions), room_(max_line_out - std::min(max_line_out, envelope)) {}

IPYBOX_DECL std::string server_results::of_call(server::tool const& tool, server::client_description const& client,
                                                call_result const& result) const {
    std::vector<rpc_member> more;
    std::vector<rpc_member> meta;
    if (client.is_stateless) {
        more.push_back({"resultType", R"("complete")"});
        meta.push_back(listing_.server_info());
    }
    auto text = write_call_result(result, client, more, meta);
    if (auto const instead = too_long(tool, text.size())) return write_call_result(*instead, client, more, meta);
    return text;
}

IPYBOX_DECL call_result server_results::fitting(server::tool const& tool, server::client_description const& client,
                                                call_result result) const {
    auto instead = too_long(tool, write_call_result(result, client).size());
    return instead ? *std::move(instead) : result;
}

IPYBOX_DECL std::optional<call_result> server_results::too_long(server::tool const& tool, std::size_t size) const {
    if (size <= room_) return std::nullopt;
    return failed_call("the result of " + tool.definition.name + " takes " + std::to_string(size) +
                       " bytes as JSON; at most " + std::to_string(room_) +
                       " can be sent. Ask for less, or for a file.");
}

IPYBOX_DECL std::string server_results::of_new_task(server_task const& task) const {
    if (!task.client->is_stateless) {
        detail::object_text result;
        return result.json("task", tasks_.write(task, server_task::phase::working)).take();
    }
    auto const meta = detail::meta_of(listing_.server_info());
    return tasks_.write(task, server_task::phase::working, {{"resultType", R"("task")"}}, {{"_meta", meta}});
}

IPYBOX_DECL std::string server_results::with_questions(server_call_id call, std::string const& state) const {
    detail::object_text result;
    result.json("resultType", R"("input_required")")
        .json("inputRequests", questions_.input_requests(call))
        .string("requestState", state)
        .json("_meta", detail::meta_of(listing_.server_info()));
    return result.take();
}

IPYBOX_DECL std::string server_results::task_list() const {
    std::string list = "[";
    for (auto const& task : tasks_.all())
        if (!task->client->is_stateless)
            list.append(list.size() > 1 ? "," : "").append(tasks_.write(*task, detail::phase_of(*task, questions_)));
    detail::object_text result;
    return result.json("tasks", list.append("]")).take();
}

IPYBOX_DECL std::string server_results::task_state(server_task const& task) const {
    auto const phase = detail::phase_of(task, questions_);
    if (!task.client->is_stateless) return tasks_.write(task, phase);
    std::vector<rpc_member> details;
    std::string text;
    if (phase == server_task::phase::input_required) {
        text = questions_.input_requests(task.call);
        details.push_back({"inputRequests", text});
    } else if (phase == server_task::phase::completed) {
        text = write_call_result(*task.result, *task.client, {{"resultType", R"("complete")"}});
        details.push_back({"result", text});
    }
    auto const meta = detail::meta_of(listing_.server_info());
    details.push_back({"_meta", meta});
    return tasks_.write(task, phase, {{"resultType", R"("complete")"}}, details);
}

IPYBOX_DECL answer_to<std::string> server_results::task_result(server_task const& task) const {
    if (!task.result) return detail::refused(rpc_invalid_params, "the task was cancelled: there is no result");
    auto const reference = detail::task_reference(task.id);
    return write_call_result(*task.result, *task.client, {}, {detail::related_task(reference)});
}

IPYBOX_DECL std::string server_results::cancelled_task(server_task const& task) const {
    return task.client->is_stateless ? listing_.complete() : tasks_.write(task, detail::phase_of(task, questions_));
}

} // namespace ipybox::mcp
