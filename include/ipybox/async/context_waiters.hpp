#pragma once

#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>

#include <memory>
#include <mutex>

namespace ipybox::detail {

/**
 * \brief The objects that belong to one execution context and wait outside of it, for another thread or process.
 * \details A waiter is owned by the context of its handler: it is taken out exactly once, either by what it waits for
 * or by the destructor of the context. So nothing outlives its context, and nothing is posted into one that is gone.
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
    [[nodiscard]] static std::shared_ptr<context_waiters> const& of(asio::any_io_executor const& executor);

    /// Gives a waiter to the context. One that is gone already abandons it.
    void add(std::shared_ptr<waiter> w);

    /// The same, but false where the context is gone already: the waiter is the caller's to abandon.
    [[nodiscard]] bool try_add(std::shared_ptr<waiter> const& w);

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
    void remove(waiter& w) noexcept;

  private:
    // Apart from the header, as much of Asio is needed for them.
    struct service;
    struct posted;
    struct posting;
    static inline thread_local posting* posting_ = nullptr;

    /// With the lock held.
    void post(waiter& w, asio::any_io_executor const& executor);
    void link(std::shared_ptr<waiter> w);
    std::shared_ptr<waiter> unlink(waiter& w);
    void end() noexcept;

    std::mutex mutex_;
    waiter* first_ = nullptr;
    bool gone_ = false;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/async/impl/context_waiters.ipp>
#endif
