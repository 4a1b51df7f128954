#pragma once

#include <ipybox/transport/zmq_own_requests.hpp>

#include <string_view>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL std::string zmq_own_requests::next_id() {
    answers_ = 0;
    return prefix_ + std::to_string(++count_);
}

IPYBOX_DECL std::string zmq_own_requests::next_sign_of_life() { return sign_of_life_ = next_id(); }

IPYBOX_DECL zmq_own_requests::kind zmq_own_requests::take(jupyter::message& m) {
    if (!std::string_view(m.parent_id).starts_with(prefix_)) return kind::foreign;
    if (++answers_ > most_answers) return kind::one_too_many;
    bool const alive = m.parent_id == sign_of_life_ && m.on == jupyter::message::channel::shell;
    if (alive) sign_of_life_.clear();
    bool const is_reply = m.on != jupyter::message::channel::iopub && m.type.ends_with("_reply");
    auto const waiting = is_reply ? expected_.find(m.parent_id) : expected_.end();
    if (waiting == expected_.end()) return alive ? kind::taken : kind::passed;
    waiting->second = std::move(m);
    return kind::taken;
}

} // namespace ipybox::detail
