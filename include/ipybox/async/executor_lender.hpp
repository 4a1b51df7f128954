#pragma once

#include <asio/any_io_executor.hpp>

#include <functional>

namespace ipybox::detail {

/**
 * \brief Has an executor whose context may be destroyed by another thread, and lends it.
 * \details A copy of an executor does not keep its context: using it, or only letting go of it, is undefined once the
 * context has gone. So it is not given away. The context stays while it is lent.
 * \par Thread safety Safe.
 */
class executor_lender {
  public:
    using borrower = std::function<void(asio::any_io_executor const&)>;

    /// Calls `use`, which must not keep the executor, except in an object that the context owns. A lock is held
    /// meanwhile: nothing of the application's may be called or destroyed.
    virtual void with_executor(borrower const& use) const = 0;

  protected:
    executor_lender() = default;
    executor_lender(executor_lender const&) = default;
    executor_lender& operator=(executor_lender const&) = default;
    ~executor_lender() = default;
};

} // namespace ipybox::detail
