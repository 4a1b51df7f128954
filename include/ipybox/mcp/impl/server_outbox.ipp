#pragma once

#include <ipybox/mcp/server_outbox.hpp>

namespace ipybox::mcp {

IPYBOX_DECL void server_outbox::put(std::shared_ptr<server_batch> const& batch, std::string message) {
    if (!batch) return add(server_actions::send{std::move(message)});
    if (!batch->answers.empty() && batch->bytes + message.size() + 2 > longest_) finish(*batch);
    batch->bytes += message.size() + 1;
    batch->answers.push_back(std::move(message));
}

IPYBOX_DECL void server_outbox::open(server_open_request const& request) {
    if (request.batch) ++request.batch->open;
}

IPYBOX_DECL void server_outbox::answer(server_open_request const& request, answer_to<std::string> const& answer) {
    put(request.batch, answer ? write_rpc_result(request.id, *answer) : write_rpc_error(request.id, answer.error()));
    drop(request);
}

IPYBOX_DECL void server_outbox::drop(server_open_request const& request) {
    if (request.batch && --request.batch->open == 0 && request.batch->complete) finish(*request.batch);
}

IPYBOX_DECL void server_outbox::complete(server_batch& batch) {
    batch.complete = true;
    if (batch.open == 0) finish(batch);
}

IPYBOX_DECL void server_outbox::finish(server_batch& batch) {
    if (batch.answers.empty()) return;
    std::string line = "[";
    for (auto const& answer : std::exchange(batch.answers, {})) line.append(line.size() > 1 ? "," : "").append(answer);
    batch.bytes = 0;
    add(server_actions::send{line.append("]")});
}

} // namespace ipybox::mcp
