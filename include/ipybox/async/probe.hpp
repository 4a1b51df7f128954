#pragma once

#include <ipybox/core/config.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace ipybox::detail {

/**
 * \brief A handler that tells whether its executor is run, and by which thread.
 * \details An executor cannot be asked which threads run it: a strand, a pool and one that tracks work all hide their
 * context.
 */
class probe {
  public:
    enum class outcome { inline_here, elsewhere, not_run, context_gone };

    /// The function that the executor gets. If it is destroyed without having run, the context has gone.
    class handler {
      public:
        explicit handler(std::shared_ptr<probe> sent) noexcept : sent_(std::move(sent)) {}
        handler(handler&&) noexcept = default;
        handler(handler const&) = delete;
        handler& operator=(handler&&) = delete;
        handler& operator=(handler const&) = delete;
        ~handler() {
            if (sent_) sent_->settle(std::thread::id());
        }
        void operator()() { std::exchange(sent_, nullptr)->settle(std::this_thread::get_id()); }

      private:
        std::shared_ptr<probe> sent_;
    };

    /// Has `send` hand the handler to an executor, and waits no longer than the bound for a thread to run it. Nothing
    /// of the executor's context is used while it waits.
    template <class Send>
    [[nodiscard]] static outcome of(Send send, std::chrono::milliseconds bound) {
        auto const sent = std::make_shared<probe>();
        send(handler(sent));
        return sent->wait(bound);
    }

  private:
    /// The thread that has run it; none where it was dropped.
    void settle(std::thread::id where) {
        std::scoped_lock const lock(mutex_);
        settled_ = true;
        where_ = where;
        changed_.notify_all();
    }

    outcome wait(std::chrono::milliseconds bound) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, bound, [this] { return settled_; })) return outcome::not_run;
        if (where_ == std::thread::id()) return outcome::context_gone;
        return where_ == std::this_thread::get_id() ? outcome::inline_here : outcome::elsewhere;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool settled_ = false;
    std::thread::id where_;
};

} // namespace ipybox::detail
