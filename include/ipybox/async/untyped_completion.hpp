#pragma once

#include <ipybox/async/executor_lender.hpp>
#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>

#include <memory>
#include <utility>

namespace ipybox::detail {

/// Whether a completion keeps its context at work while it waits.
enum class waiting_work { tracked, untracked };

/// A handler and the value that it is called with, their types erased.
class erased_handler {
  public:
    erased_handler() = default;
    erased_handler(erased_handler const&) = delete;
    erased_handler& operator=(erased_handler const&) = delete;
    virtual ~erased_handler() = default;

    /// Moves the value out of the object that `value` points to, which is of the handler's type. A lock is held.
    virtual void keep(void* value) = 0;

    /// Calls the handler with the value that was kept.
    virtual void call() = 0;
};

/**
 * \brief A `completion` without the type of its value: all of it that can be compiled once.
 * \par Thread safety As `completion`.
 */
class untyped_completion {
  public:
    untyped_completion() noexcept = default;

    /// `slot` and `own` are those of the handler. One whose executor is empty gets the fallback's.
    untyped_completion(std::unique_ptr<erased_handler> handler, asio::cancellation_slot slot,
                       asio::any_io_executor const& own, asio::any_io_executor const& fallback, waiting_work work);
    untyped_completion(std::unique_ptr<erased_handler> handler, asio::cancellation_slot slot,
                       asio::any_io_executor const& own, executor_lender const& fallback, waiting_work work);

    /// The handler needs no context: it is called by the thread that completes.
    explicit untyped_completion(std::unique_ptr<erased_handler> handler);

    untyped_completion(untyped_completion&&) noexcept = default;
    untyped_completion& operator=(untyped_completion&& other) noexcept;
    ~untyped_completion();

    [[nodiscard]] explicit operator bool() const noexcept { return handler_ != nullptr; }

    /// The handler's cancellation slot. The operation clears it before it delivers.
    [[nodiscard]] asio::cancellation_slot slot() const noexcept;

  protected:
    /// Delivers a value of the handler's type, which is moved from; afterwards the completion is empty.
    void deliver(void* value);

  private:
    class waiting_handler;

    void drop() noexcept;

    std::shared_ptr<waiting_handler> handler_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/async/impl/untyped_completion.ipp>
#endif
