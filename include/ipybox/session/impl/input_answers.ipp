#pragma once

#include <ipybox/execution/input_request.hpp>
#include <ipybox/session/input_answers.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace ipybox::detail {

inline jupyter::message input_reply(occurrence::input_answered a) {
    // Jupyter has no way to refuse but the end-of-transmission character, which kernels take for the end of input.
    bool const refused = !a.line || a.line->size() > input_request::longest_line;
    auto line = refused ? std::string("\x04") : std::move(*a.line);
    jupyter::message reply(jupyter::message::channel::stdin_, "input_reply",
                           {{"status", "ok"}, {"value", std::move(line)}});
    reply.parent_header = std::move(a.request_header);
    return reply;
}

IPYBOX_DECL std::optional<jupyter::message> input_answers::answer(occurrence::input_answered a) {
    auto reply = input_reply(std::move(a));
    if (!std::exchange(on_its_way_, true)) return reply;
    waiting_ = std::move(reply);
    return std::nullopt;
}

IPYBOX_DECL std::optional<jupyter::message> input_answers::sent() {
    auto next = std::exchange(waiting_, std::nullopt);
    on_its_way_ = next.has_value();
    return next;
}

} // namespace ipybox::detail
