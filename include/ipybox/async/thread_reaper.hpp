#pragma once

#include <ipybox/core/owning_process.hpp>
#include <ipybox/core/sha256.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace ipybox::detail {

/**
 * \brief Waits for the ends of threads, and knows where that is impossible: on the thread itself, and where two threads
 * would wait for each other.
 * \details A thread that was not waited for goes on by itself. The end of the program waits for it, within a bound:
 * what it still does must not meet libraries that are being torn down. Nothing here makes a thread, so nothing fails
 * for want of one.
 */
class thread_reaper {
  public:
    /// Waits for the end of a thread that calls `ended` as its last action. False: it cannot be waited for here.
    static bool join(std::thread leaving) {
        auto& all = the();
        auto const here = std::this_thread::get_id();
        auto const there = leaving.get_id();
        std::unique_lock lock(all.mutex_);
        bool const waits_for_us = all.leads_to(there, here);
        if (waits_for_us) {
            static end_of_program const waits;
            all.keep(std::move(leaving));
            return false;
        }
        try {
            all.waits_for_[here] = there;
        } catch (std::bad_alloc const&) {} // NOLINT(bugprone-empty-catch): it is waited for all the same
        lock.unlock();
        leaving.join();
        lock.lock();
        all.waits_for_.erase(here);
        return true;
    }

    /// Waits until the threads that were not waited for have ended, within a bound.
    static void wait_for_left() { the().wait(); }

    /// The calling thread is about to end.
    static void ended() {
        auto& all = the();
        std::scoped_lock const lock(all.mutex_);
        auto const here = all.leaving_.find(std::this_thread::get_id());
        if (here == all.leaving_.end()) return;
        here->second.has_ended = true;
        all.changed_.notify_all();
    }

  private:
    static constexpr std::chrono::seconds bound{2};

    struct left_thread {
        std::thread thread;
        bool has_ended = false;
    };

    /// libcrypto, which the threads may work with, is torn down by a handler of `exit` that its first use registers.
    /// Functions that were registered before are called after this destructor.
    struct end_of_program {
        end_of_program() { register_end_of_crypto(); }
        end_of_program(end_of_program const&) = delete;
        end_of_program& operator=(end_of_program const&) = delete;
        ~end_of_program() { wait_for_left(); }
    };

    static thread_reaper& the() {
        static auto* const all = new thread_reaper; // threads may outlast the program's end
        return *all;
    }

    /// Whether `from` is `to`, or waits for it, be it through others.
    [[nodiscard]] bool leads_to(std::thread::id from, std::thread::id to) const {
        for (auto id = from; id != to;) {
            auto const next = waits_for_.find(id);
            if (next == waits_for_.end()) return false;
            id = next->second;
        }
        return true;
    }

    /// With the lock held. A thread that was left earlier and has ended since is joined, which takes no time.
    void keep(std::thread leaving) {
        if (!owner_.is_this()) return leaving.detach(); // what is kept are threads of the parent
        join_ended();
        auto const id = leaving.get_id();
        try {
            leaving_[id].thread = std::move(leaving);
        } catch (std::bad_alloc const&) { leaving.detach(); }
    }

    /// With the lock held.
    void join_ended() {
        for (auto each = leaving_.begin(); each != leaving_.end();) {
            if (!each->second.has_ended) {
                ++each;
                continue;
            }
            each->second.thread.join();
            each = leaving_.erase(each);
        }
    }

    /// Behind this the code of the threads may be unmapped, so those that have ended are joined.
    void wait() {
        if (!owner_.is_this()) return;                // a fork has none of these threads
        auto const here = std::this_thread::get_id(); // exit() may have been called by one of them
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, bound, [&] {
            return std::ranges::all_of(leaving_,
                                       [&](auto const& each) { return each.second.has_ended || each.first == here; });
        });
        join_ended();
        for (auto& [id, left] : leaving_) left.thread.detach();
        leaving_.clear();
    }

    owning_process const owner_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::thread::id, left_thread> leaving_;
    std::map<std::thread::id, std::thread::id> waits_for_;
};

} // namespace ipybox::detail
