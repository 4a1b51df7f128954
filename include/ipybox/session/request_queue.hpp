#pragma once

#include <ipybox/core/error.hpp>
#include <ipybox/session/kernel_order.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <variant>

namespace ipybox::detail {

struct execution;

/// A call that waits its turn: only one is under way at a time.
using queued_request = std::variant<std::shared_ptr<execution>, std::shared_ptr<kernel_order>>;

/**
 * \brief The calls of one session in their order: those that wait, and the one under way.
 * \par Thread safety Unsafe: belongs to the session's executor.
 */
class request_queue {
  public:
    void push(queued_request r) { waiting_.push_back(std::move(r)); }

    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

    /// Takes the oldest one, which is under way from now on; none where there is none.
    [[nodiscard]] std::optional<queued_request> take();

    /// Nothing is under way any more.
    void leave() noexcept { under_way_.reset(); }

    /// The execution under way, if one is.
    [[nodiscard]] std::shared_ptr<execution> running() const noexcept;

    /// The order under way, if one is.
    [[nodiscard]] std::shared_ptr<kernel_order> obeyed() const noexcept;

    /// Completes all executions that wait.
    void end_executions(errc reason);

    /// Completes an execution, or an order, if it waits.
    void end(execution const* which, errc reason);
    void end(kernel_order const* which, errc reason);

    /// Fails what is under way.
    void fail_under_way(error const& why);

  private:
    std::deque<queued_request> waiting_;
    std::optional<queued_request> under_way_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/request_queue.ipp>
#endif
