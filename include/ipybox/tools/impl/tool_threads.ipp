#pragma once

#include <ipybox/async/blocked_signals.hpp>
#include <ipybox/tools/tool_threads.hpp>

#include <system_error>

namespace ipybox::detail {

IPYBOX_DECL bool tool_threads::run(std::function<void()> work) {
    auto& shared = *state_;
    std::unique_lock lock(shared.mutex);
    if (shared.ended) return false;
    // An idle thread may have been promised to work that waits.
    bool const needs_thread = shared.idle <= shared.waiting.size() && shared.threads < most_threads;
    shared.waiting.push_back(std::move(work));
    if (needs_thread) {
        try {
            blocked_signals const blocked;
            std::thread([own = state_] { serve(own); }).detach();
            ++shared.threads;
        } catch (std::system_error const&) {
            if (shared.threads == 0) {
                shared.waiting.pop_back();
                throw;
            }
        }
    }
    lock.unlock(); // the thread that wakes up needs it at once
    shared.work_came.notify_one();
    return true;
}

IPYBOX_DECL void tool_threads::serve(state_ptr const& shared) {
    std::unique_lock lock(shared->mutex);
    for (;;) {
        if (shared->waiting.empty()) {
            if (shared->ended || shared->idle >= most_idle) break;
            ++shared->idle;
            shared->work_came.wait(lock, [&] { return shared->ended || !shared->waiting.empty(); });
            --shared->idle;
            continue;
        }
        auto work = std::move(shared->waiting.front());
        shared->waiting.pop_front();
        enter(*shared);
        lock.unlock();
        work();
        work = nullptr; // what it holds is the application's
        lock.lock();
        leave(*shared);
    }
    --shared->threads;
    shared->work_ended.notify_all();
}

/// With the lock held.
IPYBOX_DECL void tool_threads::enter(state& shared) { ++shared.busy[std::this_thread::get_id()]; }

/// With the lock held.
IPYBOX_DECL void tool_threads::leave(state& shared) {
    auto const here = shared.busy.find(std::this_thread::get_id());
    if (--here->second == 0) shared.busy.erase(here);
    shared.work_ended.notify_all();
}

IPYBOX_DECL void tool_threads::end() {
    std::deque<std::function<void()>> dropped; // behind the lock
    std::scoped_lock const lock(state_->mutex);
    state_->ended = true;
    dropped = std::exchange(state_->waiting, {});
    state_->work_came.notify_all();
}

IPYBOX_DECL bool tool_threads::runs_here() const {
    std::scoped_lock const lock(state_->mutex);
    return state_->busy.contains(std::this_thread::get_id());
}

IPYBOX_DECL bool tool_threads::wait(std::chrono::milliseconds bound) const {
    std::unique_lock lock(state_->mutex);
    return state_->work_ended.wait_for(lock, bound, [&] {
        bool const runs_here = state_->busy.contains(std::this_thread::get_id());
        return state_->busy.size() == (runs_here ? 1 : 0);
    });
}

IPYBOX_DECL tool_threads::running::running(tool_threads const& threads) : shared_(threads.state_) {
    std::scoped_lock const lock(shared_->mutex);
    enter(*shared_);
}

IPYBOX_DECL tool_threads::running::~running() {
    std::scoped_lock const lock(shared_->mutex);
    leave(*shared_);
}

} // namespace ipybox::detail
