#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/execution/execute_options.hpp>
#include <ipybox/executor_base.hpp>
#include <ipybox/runtime.hpp>
#include <ipybox/sandbox/any_sandbox.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <asio/any_io_executor.hpp>

#include <concepts>
#include <utility>

namespace ipybox {

/**
 * \brief Runs Python code in a stateful, sandboxed IPython kernel.
 * \details The front door. The kernel is forked by a supervisor inside the sandbox; without another choice that is bubblewrap. The approval policy decides about actions
 * that leave the kernel: tool calls, installations, and shell commands where they are to be approved. Without a policy the reader of a stream decides, and
 * requests without a reader are rejected. Permissive choices have to be named: `no_sandbox{}`, `auto_approval{}`.
 * \par Thread safety as executor_base
 * \par Example
 * \snippet 01_hello.cpp execute
 */
class executor : public executor_base {
  public:
    /// Works on a thread of its own. \throws std::system_error if the system makes no thread for it
    explicit executor(executor_options options = {}, any_approval approval = {},
                      any_sandbox sandbox = bubblewrap_sandbox{});

    /// Shares a supervisor and its sandbox with other executors.
    executor(executor_options options, any_approval approval, runtime const& shared);

    /// Works on the application's own I/O context, which must be run by the application: `executor{context.get_executor(), …}`.
    template <class IoExecutor>
        requires std::convertible_to<IoExecutor, asio::any_io_executor>
    explicit executor(IoExecutor io, executor_options options = {}, any_approval approval = {},
                      any_sandbox sandbox = bubblewrap_sandbox{})
        : executor(on_application(), std::move(io), std::move(options), std::move(approval), std::move(sandbox)) {}

    /// Works on the application's own I/O context, and shares a supervisor and its sandbox with other executors.
    template <class IoExecutor>
        requires std::convertible_to<IoExecutor, asio::any_io_executor>
    executor(IoExecutor io, executor_options options, any_approval approval, runtime const& shared)
        : executor(on_application(), std::move(io), std::move(options), std::move(approval), shared) {}

  private:
    // Templates above, so that `{}` means options and nothing else.
    struct on_application {};
    executor(on_application, asio::any_io_executor io, executor_options options, any_approval approval,
             any_sandbox sandbox);
    executor(on_application, asio::any_io_executor io, executor_options options, any_approval approval,
             runtime const& shared);
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/impl/executor.ipp>
#endif
