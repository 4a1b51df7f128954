#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/approval/approval_policy.hpp>
#include <ipybox/approval/callback_approval.hpp>
#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/execution/execute_options.hpp>
#include <ipybox/executor_base.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/sandbox_policy.hpp>
#include <ipybox/session/kernel_link.hpp>
#include <ipybox/session/make_session.hpp>
#include <ipybox/transport/socketpair_transport.hpp>
#include <ipybox/transport/transport.hpp>

#include <asio/any_io_executor.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace ipybox {

/**
 * \brief The executor as a template over its three policies. Use `executor` unless the policies must be template parameters.
 * \details Operations are those of executor_base. Arguments come in the order of how often they are given, and the types follow from them:
 * \snippet 11_any_kernel.cpp zmq
 * \tparam Transport      what kernel there is and how it is reached: concept `transport`
 * \tparam SandboxPolicy  what is put around it: concept `sandbox_policy`
 * \tparam ApprovalPolicy who decides about actions: concept `approval_policy`
 * \par Thread safety as executor_base
 */
template <class Transport = socketpair_transport, class SandboxPolicy = bubblewrap_sandbox,
          class ApprovalPolicy = deny_approval>
class basic_executor : public executor_base {
    static_assert(transport<Transport>, "a transport has start, send, receive, interrupt, stop, completes_with and "
                                        "duty (see transport/transport.hpp), or a "
                                        "specialisation of ipybox::transport_traits");
    static_assert(sandbox_policy<SandboxPolicy>, "a sandbox policy has `result<launch_spec> wrap(launch_spec) const`, "
                                                 "or a specialisation of ipybox::sandbox_traits");
    static_assert(approval_policy<ApprovalPolicy>,
                  "an approval policy has `decide(approval_request)` that returns decision, asio::awaitable<decision> "
                  "or void, or a specialisation of ipybox::approval_traits");

  public:
    /// Works on a thread of its own. \throws std::system_error if the system makes no thread for it
    explicit basic_executor(executor_options options = {}, ApprovalPolicy approval = ApprovalPolicy(),
                            SandboxPolicy sandbox = SandboxPolicy(), Transport transport = Transport())
        : basic_executor(std::optional<asio::any_io_executor>(), std::move(options), std::move(approval),
                         std::move(sandbox), std::move(transport)) {}

    /// Works on the application's own I/O context, which must be run by the application.
    template <class IoExecutor>
        requires std::convertible_to<IoExecutor, asio::any_io_executor>
    explicit basic_executor(IoExecutor io, executor_options options = {}, ApprovalPolicy approval = ApprovalPolicy(),
                            SandboxPolicy sandbox = SandboxPolicy(), Transport transport = Transport())
        : basic_executor(std::optional<asio::any_io_executor>(std::move(io)), std::move(options), std::move(approval),
                         std::move(sandbox), std::move(transport)) {}

  private:
    basic_executor(std::optional<asio::any_io_executor> io, executor_options options, ApprovalPolicy approval,
                   SandboxPolicy sandbox, Transport transport)
        : executor_base(detail::make_session(
              std::move(io), std::move(options), any_approval(std::move(approval)), wrapper_of(std::move(sandbox)),
              nullptr, std::make_unique<detail::transport_link<Transport>>(std::move(transport)))) {}

    static launch_wrapper wrapper_of(SandboxPolicy sandbox) {
        // std::function wants copies; policies need not have any.
        auto const shared = std::make_shared<SandboxPolicy const>(std::move(sandbox));
        return [shared](launch_spec spec) { return sandbox_traits<SandboxPolicy>::wrap(*shared, std::move(spec)); };
    }
};

// An approval may be given as a callback: the policy is then what makes one of it.
template <class Approval>
basic_executor(executor_options, Approval)
    -> basic_executor<socketpair_transport, bubblewrap_sandbox, approval_for<std::decay_t<Approval>>>;

template <class Approval, class Sandbox>
basic_executor(executor_options, Approval, Sandbox)
    -> basic_executor<socketpair_transport, Sandbox, approval_for<std::decay_t<Approval>>>;

template <class Approval, class Sandbox, class Transport>
basic_executor(executor_options, Approval, Sandbox, Transport)
    -> basic_executor<Transport, Sandbox, approval_for<std::decay_t<Approval>>>;

} // namespace ipybox
