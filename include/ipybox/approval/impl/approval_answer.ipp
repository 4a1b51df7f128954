#pragma once

#include <ipybox/approval/approval_answer.hpp>

#include <utility>

namespace ipybox::detail {

IPYBOX_DECL bool approval_answer::decide(decision answer) {
    std::vector<std::function<void(decision)>> waiting;
    {
        std::lock_guard const lock(mutex_);
        if (answer_) return false;
        answer_ = answer;
        waiting = std::exchange(waiting_, {});
    }
    for (auto const& tell : waiting) tell(answer);
    return true;
}

IPYBOX_DECL std::optional<decision> approval_answer::decided() const {
    std::lock_guard const lock(mutex_);
    return answer_;
}

IPYBOX_DECL void approval_answer::on_decided(std::function<void(decision)> waiting) {
    {
        std::lock_guard const lock(mutex_);
        if (!answer_) {
            waiting_.push_back(std::move(waiting));
            return;
        }
    }
    waiting(*answer_); // never changes again
}

} // namespace ipybox::detail
