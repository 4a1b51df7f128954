#pragma once

#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/execution/context_as.hpp>
#include <asio/execution_context.hpp>
#include <asio/post.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace ipybox::detail {

/**
 * \brief What belongs to one execution context and waits outside of it, for another thread or process.
 * \details A waiter is owned by the context of its handler: it is taken out exactly once, either by what it waits for or by the destructor of the
 * context. So nothing outlives its context, and nothing is posted into one that is gone.
 * \par Thread safety Safe. Shared by the waiters' other ends, which may outlive the context.
 */
class context_waiters {
  public:
    class waiter {
      public:
        waiter() = default;
        waiter(waiter const&) = delete;
        waiter& operator=(waiter const&) = delete;
        virtual ~waiter() = default;

        /// Called on its executor when the event that it waits for has come.
        virtual void arrive() = 0;

        /// The context is being destroyed: lets go of everything that belongs to it.
        virtual void abandon() noexcept = 0;

      private:
        friend class context_waiters;
        std::shared_ptr<waiter> self_; ///< while the context owns it
        waiter* next_ = nullptr;
        waiter* previous_ = nullptr;
    };

    /// Those of an executor's context.
    [[nodiscard]] static std::shared_ptr<context_waiters> const& of(asio::any_io_executor const& executor) {
        auto& context = asio::query(executor, asio::execution::context_as<asio::execution_context&>);
        return asio::use_service<service>(context).waiters;
    }

    /// Gives a waiter to the context. One that is gone already abandons it.
    void add(std::shared_ptr<waiter> w) {
        {
            std::scoped_lock const lock(mutex_);
            if (!gone_) return link(std::move(w));
        }
        w->abandon();
    }

    /**
     * \brief Has a waiter arrive on its executor, unless the context was faster.
     * \details `prepare()` is called with the lock held, and posting holds it too: the context cannot go meanwhile.
     */
    template <class Prepare>
    void resume(waiter& w, asio::any_io_executor const& executor, Prepare prepare) {
        std::scoped_lock const lock(mutex_);
        if (gone_ || !w.self_) return;
        prepare();
        post(w, executor);
    }

    /// Takes a waiter out that is not needed any more. It is abandoned, in this thread.
    void remove(waiter& w) noexcept {
        std::shared_ptr<waiter> removed;
        {
            std::scoped_lock const lock(mutex_);
            if (gone_ || !w.self_) return;
            removed = unlink(w);
        }
        removed->abandon();
    }

  private:
    /// Lives in the context and is told of its end.
    struct service final : asio::execution_context::service {
        static inline asio::execution_context::id id;

        explicit service(asio::execution_context& owner) : asio::execution_context::service(owner) {}
        ~service() override { waiters->end(); }
        void shutdown() override { waiters->end(); }

        std::shared_ptr<context_waiters> const waiters = std::make_shared<context_waiters>();
    };

    /// What is posted. Destroyed uncalled, with its context, it takes along what belongs to that.
    struct posted {
        explicit posted(std::shared_ptr<waiter> w) noexcept : what(std::move(w)) {}
        posted(posted&&) noexcept = default;
        posted(posted const&) = delete;
        posted& operator=(posted&&) = delete;
        posted& operator=(posted const&) = delete;
        ~posted() {
            if (!what) return;
            if (posting_ != nullptr && posting_->what == what)
                posting_->refused = true;
            else
                what->abandon();
        }
        void operator()() { std::exchange(what, nullptr)->arrive(); }

        std::shared_ptr<waiter> what;
    };

    /// While this thread posts, with the lock held. A context that shuts down, or has no memory, destroys at once what it is given; that would need
    /// the lock. So it goes back, and `end` abandons it.
    struct posting {
        posting(context_waiters& o, std::shared_ptr<waiter> w) noexcept
            : owner(o), what(std::move(w)), outer(std::exchange(posting_, this)) {}
        posting(posting const&) = delete;
        posting& operator=(posting const&) = delete;
        ~posting() {
            posting_ = outer;
            if (refused) owner.link(std::move(what));
        }

        context_waiters& owner;
        std::shared_ptr<waiter> what;
        posting* const outer;
        bool refused = false;
    };
    static inline thread_local posting* posting_ = nullptr;

    /// With the lock held.
    void post(waiter& w, asio::any_io_executor const& executor) {
        // The waiter may have arrived elsewhere before posting it returns.
        auto const target = executor; // NOLINT(performance-unnecessary-copy-initialization)
        posting const here(*this, unlink(w));
        asio::post(target, posted(here.what));
    }

    void link(std::shared_ptr<waiter> w) {
        auto& added = *w;
        added.next_ = std::exchange(first_, &added);
        if (added.next_) added.next_->previous_ = &added;
        added.self_ = std::move(w);
    }

    std::shared_ptr<waiter> unlink(waiter& w) {
        (w.previous_ ? w.previous_->next_ : first_) = w.next_;
        if (w.next_) w.next_->previous_ = w.previous_;
        w.next_ = w.previous_ = nullptr;
        return std::move(w.self_);
    }

    void end() noexcept {
        std::unique_lock lock(mutex_);
        gone_ = true;
        // One after the other, without the lock: abandoning one may drop others.
        while (first_) {
            auto const last = unlink(*first_);
            lock.unlock();
            last->abandon();
            lock.lock();
        }
    }

    std::mutex mutex_;
    waiter* first_ = nullptr;
    bool gone_ = false;
};

} // namespace ipybox::detail
