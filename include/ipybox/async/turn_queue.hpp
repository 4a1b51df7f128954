#pragma once

#include <ipybox/async/context_bound_executor.hpp>

#include <asio/any_io_executor.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace ipybox::detail {

/**
 * \brief Work for an executor, one piece a turn: what is posted to the executor meanwhile comes between two pieces.
 * \details Queued work is dropped at the end of the executor's context.
 * \par Thread safety Safe.
 */
class turn_queue : public std::enable_shared_from_this<turn_queue> {
  public:
    [[nodiscard]] static std::shared_ptr<turn_queue> make(asio::any_io_executor executor) {
        auto made = std::make_shared<turn_queue>(std::move(executor));
        made->executor_.on_end([weak = std::weak_ptr(made)] {
            if (auto const queue = weak.lock()) queue->end();
        });
        return made;
    }

    /// For `make`.
    explicit turn_queue(asio::any_io_executor executor) : executor_(std::move(executor)) {}

    /// Adds work, which must not throw; false after the end.
    bool post(std::function<void()> work) {
        {
            std::scoped_lock const lock(mutex_);
            if (ended_) return false;
            waiting_.push_back(std::move(work));
            if (std::exchange(has_turn_, true)) return true;
        }
        return take_turn();
    }

    /// Drops what waits, for ever.
    void end() {
        std::deque<std::function<void()>> dropped; // behind the lock
        std::scoped_lock const lock(mutex_);
        ended_ = true;
        dropped = std::exchange(waiting_, {});
    }

  private:
    bool take_turn() {
        if (executor_.post([self = shared_from_this()] { self->run_one(); })) return true;
        end();
        return false;
    }

    void run_one() {
        std::function<void()> work;
        {
            std::scoped_lock const lock(mutex_);
            has_turn_ = !waiting_.empty();
            if (!has_turn_) return;
            work = std::move(waiting_.front());
            waiting_.pop_front();
        }
        work();
        work = nullptr;
        {
            std::scoped_lock const lock(mutex_);
            has_turn_ = !waiting_.empty();
            if (!has_turn_) return;
        }
        take_turn();
    }

    context_bound_executor executor_;
    std::mutex mutex_;
    std::deque<std::function<void()>> waiting_;
    bool has_turn_ = false; ///< `run_one` is posted, or runs
    bool ended_ = false;
};

} // namespace ipybox::detail
