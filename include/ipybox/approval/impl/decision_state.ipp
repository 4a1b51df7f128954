#pragma once

#include <ipybox/approval/decision_state.hpp>

#include <utility>

namespace ipybox::detail {

IPYBOX_DECL bool decision_state::decide(decision made) {
    std::vector<std::function<void(decision)>> waiting;
    {
        std::lock_guard const lock(mutex_);
        if (made_) return false;
        made_ = made;
        waiting = std::exchange(waiting_, {});
    }
    for (auto const& tell : waiting) tell(made);
    return true;
}

IPYBOX_DECL std::optional<decision> decision_state::decided() const {
    std::lock_guard const lock(mutex_);
    return made_;
}

IPYBOX_DECL void decision_state::on_decided(std::function<void(decision)> waiting) {
    {
        std::lock_guard const lock(mutex_);
        if (!made_) {
            waiting_.push_back(std::move(waiting));
            return;
        }
    }
    waiting(*made_); // never changes again
}

} // namespace ipybox::detail
