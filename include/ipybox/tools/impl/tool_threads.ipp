#pragma once

#include <ipybox/async/blocked_signals.hpp>
#include <ipybox/async/thread_reaper.hpp>
#include <ipybox/tools/tool_threads.hpp>

#include <algorithm>
#include <system_error>

namespace ipybox::detail {

IPYBOX_DECL tool_threads::~tool_threads() {
    end();
    if (owner_.is_this()) (void)wait(std::chrono::milliseconds(0));
    // In a fork there are none of these threads. Elsewhere they are in functions of the application, and own what they
    // touch of ours; the calling thread is one of them where a function destroys what it belongs to.
    std::map<std::thread::id, std::thread> left;
    {
        std::scoped_lock const lock(state_->mutex);
        left = std::exchange(state_->threads, {});
    }
    for (auto& [id, thread] : left) {
        if (id == std::this_thread::get_id() && owner_.is_this())
            (void)thread_reaper::join(std::move(thread));
        else
            thread.detach();
    }
}

IPYBOX_DECL bool tool_threads::run(work what) {
    auto& shared = *state_;
    std::vector<std::thread> leaving;
    std::unique_lock lock(shared.mutex);
    if (shared.ended) return false;
    leaving = std::exchange(shared.leaving, {});
    // An idle thread may have been promised to work that waits.
    bool const needs_thread = shared.idle <= shared.waiting.size();
    if (needs_thread && is_full_of_stuck(shared)) {
        lock.unlock();
        what.refuse();
    } else {
        shared.waiting.push_back(std::move(what));
        if (needs_thread && shared.threads.size() < places(shared)) {
            try {
                add_thread(state_);
            } catch (std::system_error const&) {
                if (shared.threads.empty()) {
                    shared.waiting.pop_back();
                    throw;
                }
            }
        }
        lock.unlock(); // the thread that wakes up needs it at once
        shared.work_came.notify_one();
    }
    join(std::move(leaving));
    return true;
}

IPYBOX_DECL void tool_threads::call_ended() {
    std::deque<work> refused;
    {
        std::scoped_lock const lock(state_->mutex);
        auto& shared = *state_;
        if (shared.ended || shared.waiting.size() <= shared.idle) return;
        try {
            for (auto more = shared.waiting.size() - shared.idle; more > 0 && shared.threads.size() < places(shared);
                 --more)
                add_thread(state_);
        } catch (std::system_error const&) {} // NOLINT(bugprone-empty-catch): the work goes on waiting
        if (is_full_of_stuck(shared)) refused = std::exchange(shared.waiting, {});
    }
    for (auto const& each : refused) each.refuse();
}

/// With the lock held. So many threads there may be.
IPYBOX_DECL std::size_t tool_threads::places(state const& shared) {
    if (shared.threads.size() < most_threads) return most_threads;
    auto const stuck = std::ranges::count_if(
        shared.in_functions, [](auto const& each) { return each.second.has_ended && each.second.has_ended(); });
    return most_threads + std::min(static_cast<std::size_t>(stuck), most_stuck);
}

/// With the lock held. Whether nothing can run until the function of a call that has ended returns.
IPYBOX_DECL bool tool_threads::is_full_of_stuck(state const& shared) {
    return shared.threads.size() >= most_threads + most_stuck && shared.idle == 0 &&
           std::ranges::all_of(shared.threads, [&](auto const& each) {
               auto const found = shared.in_functions.find(each.first);
               return found != shared.in_functions.end() && found->second.has_ended && found->second.has_ended();
           });
}

/// With the lock held.
IPYBOX_DECL void tool_threads::add_thread(state_ptr const& shared) {
    shared->leaving.reserve(shared->leaving.size() + shared->threads.size() + 1); // a thread that leaves cannot fail
    blocked_signals const blocked;
    std::thread made([shared] {
        serve(shared);
        thread_reaper::ended();
    });
    auto const id = made.get_id();
    shared->threads.emplace(id, std::move(made));
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
        auto what = std::move(shared->waiting.front());
        shared->waiting.pop_front();
        enter(*shared, std::move(what.has_ended));
        lock.unlock();
        what.run();
        what = work(); // what it holds is the application's
        lock.lock();
        leave(*shared);
        // As many threads as stood in for one that was stuck leave when it comes back.
        if (shared->threads.size() > places(*shared)) break;
    }
    if (auto self = shared->threads.extract(std::this_thread::get_id()))
        shared->leaving.push_back(std::move(self.mapped()));
    shared->work_ended.notify_all();
}

/// With the lock held.
IPYBOX_DECL void tool_threads::enter(state& shared, std::function<bool()> has_ended) {
    auto& here = shared.in_functions[std::this_thread::get_id()];
    if (++here.functions == 1) here.has_ended = std::move(has_ended);
}

/// With the lock held.
IPYBOX_DECL void tool_threads::leave(state& shared) {
    auto const here = shared.in_functions.find(std::this_thread::get_id());
    if (--here->second.functions == 0) shared.in_functions.erase(here);
    shared.work_ended.notify_all();
}

IPYBOX_DECL void tool_threads::end() {
    std::deque<work> dropped; // behind the lock
    std::scoped_lock const lock(state_->mutex);
    state_->ended = true;
    dropped = std::exchange(state_->waiting, {});
    state_->work_came.notify_all();
}

IPYBOX_DECL bool tool_threads::runs_here() const {
    std::scoped_lock const lock(state_->mutex);
    return state_->in_functions.contains(std::this_thread::get_id());
}

IPYBOX_DECL bool tool_threads::wait(std::chrono::milliseconds bound) {
    auto& shared = *state_;
    auto const here = std::this_thread::get_id();
    bool waited = false;
    std::vector<std::thread> leaving;
    {
        std::unique_lock lock(shared.mutex);
        waited = shared.work_ended.wait_for(
            lock, bound, [&] { return shared.in_functions.size() == (shared.in_functions.contains(here) ? 1 : 0); });
        // Threads that are in no function leave at once when all has ended.
        if (shared.ended) {
            shared.work_ended.wait(lock, [&] {
                return std::ranges::all_of(shared.threads, [&](auto const& each) {
                    return each.first == here || shared.in_functions.contains(each.first);
                });
            });
        }
        leaving = std::exchange(shared.leaving, {});
    }
    join(std::move(leaving));
    return waited;
}

/// These have nothing left to do, so joining them takes no time.
IPYBOX_DECL void tool_threads::join(std::vector<std::thread> threads) {
    for (auto& each : threads) (void)thread_reaper::join(std::move(each));
}

IPYBOX_DECL tool_threads::running::running(tool_threads const& threads) : shared_(threads.state_) {
    std::scoped_lock const lock(shared_->mutex);
    enter(*shared_, nullptr);
}

IPYBOX_DECL tool_threads::running::~running() {
    std::scoped_lock const lock(shared_->mutex);
    leave(*shared_);
}

} // namespace ipybox::detail
