#pragma once

#include <ipybox/async/context_waiters.hpp>
#include <ipybox/async/post_work.hpp>
#include <ipybox/core/move_only_function.hpp>

#include <asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace ipybox::detail {

/**
 * \brief The executor of an object that may outlive its I/O context. It is let go of when that is destroyed; work that
 * comes later is refused.
 * \par Thread safety Safe.
 */
class context_bound_executor {
  public:
    explicit context_bound_executor(asio::any_io_executor executor)
        : waiters_(context_waiters::of(executor)), state_(std::make_shared<state>(std::move(executor))) {
        waiters_->add(state_);
    }
    context_bound_executor(context_bound_executor const&) = delete;
    context_bound_executor& operator=(context_bound_executor const&) = delete;
    ~context_bound_executor() {
        on_end(nullptr);
        state_->let_go();
        waiters_->remove(*state_);
    }

    /// Sets the function that is called at the end of the context, in the thread that destroys it.
    void on_end(std::function<void()> call) {
        std::scoped_lock const lock(state_->mutex);
        std::swap(state_->on_end, call);
    }

    /// Calls `use` with the executor; false when its context has gone. It cannot go meanwhile.
    template <class Use>
    bool with(Use use) const {
        std::scoped_lock const lock(state_->mutex);
        if (state_->executor) use(state_->executor);
        return static_cast<bool>(state_->executor);
    }

    /// Runs work there; false when the context has gone.
    bool post(move_only_function<void()> work) const {
        return with([&work](asio::any_io_executor const& executor) { post_work(executor, std::move(work)); });
    }

    /// The same, at once where it is `current`, the executor that the caller runs on.
    bool dispatch(asio::any_io_executor const& current, move_only_function<void()> work) const {
        bool here = false;
        auto const run = [&](asio::any_io_executor const& executor) {
            here = executor == current;
            if (!here) post_work(executor, std::move(work));
        };
        if (!with(run)) return false;
        if (here) work();
        return true;
    }

    /// The executor, for what runs on it; empty when its context has gone.
    [[nodiscard]] asio::any_io_executor get() const {
        std::scoped_lock const lock(state_->mutex);
        return state_->executor;
    }

  private:
    struct state final : context_waiters::waiter {
        explicit state(asio::any_io_executor e) : executor(std::move(e)) {}

        /// While this is a waiter of the context, which waits for the lock before it goes.
        void let_go() noexcept {
            std::scoped_lock const lock(mutex);
            executor = asio::any_io_executor();
        }

        void arrive() override {}
        void abandon() noexcept override {
            asio::any_io_executor gone;
            std::function<void()> call;
            {
                std::scoped_lock const lock(mutex);
                std::swap(gone, executor);
                std::swap(call, on_end);
            }
            if (call) call();
        }

        std::mutex mutex;
        asio::any_io_executor executor;
        std::function<void()> on_end;
    };

    std::shared_ptr<context_waiters> const waiters_;
    std::shared_ptr<state> const state_;
};

} // namespace ipybox::detail
