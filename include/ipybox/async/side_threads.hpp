#pragma once

#include <ipybox/async/blocked_signals.hpp>
#include <ipybox/async/thread_reaper.hpp>
#include <ipybox/core/move_only_function.hpp>
#include <ipybox/core/owning_process.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace ipybox::detail {

/**
 * \brief Threads that each do one piece of work and end.
 * \details The destructor waits for them, where that is possible: work may end what these threads belong to.
 * \par Thread safety Safe.
 */
class side_threads {
  public:
    side_threads() = default;
    side_threads(side_threads const&) = delete;
    side_threads& operator=(side_threads const&) = delete;
    ~side_threads() {
        if (owner_.is_this())
            join_all(std::move(threads_));
        else
            for (auto& one : threads_) one.thread.detach(); // a fork has none of them
    }

    /// Does work on a thread of its own; it must not throw. If no thread can be made, this throws and leaves the work
    /// to the caller.
    void begin(move_only_function<void()>&& work) {
        ended_threads ended;
        std::scoped_lock const lock(mutex_);
        // A thread that cannot be kept would end the program.
        threads_.reserve(threads_.size() + 1);
        ended.threads.reserve(threads_.size());
        take_ended(ended.threads);
        auto const begun = std::make_shared<side_work>(std::move(work));
        try {
            threads_.push_back({begun, thread_for(begun)});
        } catch (...) {
            work = std::move(begun->work);
            throw;
        }
    }

  private:
    struct side_work {
        explicit side_work(move_only_function<void()> w) noexcept : work(std::move(w)) {}
        move_only_function<void()> work;
        std::atomic<bool> has_ended = false;
    };

    struct side_thread {
        std::shared_ptr<side_work const> begun;
        std::thread thread;
    };

    /// They are waited for however their scope is left.
    struct ended_threads {
        ended_threads() = default;
        ended_threads(ended_threads const&) = delete;
        ended_threads& operator=(ended_threads const&) = delete;
        ~ended_threads() { join_all(std::move(threads)); }
        std::vector<side_thread> threads;
    };

    static std::thread thread_for(std::shared_ptr<side_work> begun) {
        blocked_signals const blocked;
        return std::thread([begun = std::move(begun)] {
            begun->work();
            begun->work = nullptr;
            begun->has_ended = true;
            thread_reaper::ended();
        });
    }

    /// Those that have done their work, of which there is room for all. Waiting for them takes no time.
    void take_ended(std::vector<side_thread>& ended) {
        auto const first = std::partition(threads_.begin(), threads_.end(),
                                          [](side_thread const& one) { return !one.begun->has_ended.load(); });
        std::move(first, threads_.end(), std::back_inserter(ended));
        threads_.erase(first, threads_.end());
    }

    static void join_all(std::vector<side_thread> threads) {
        for (auto& one : threads) (void)thread_reaper::join(std::move(one.thread));
    }

    owning_process const owner_;
    std::mutex mutex_;
    std::vector<side_thread> threads_;
};

} // namespace ipybox::detail
