#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/approval/approval_policy.hpp>
#include <ipybox/approval/auto_approval.hpp>
#include <ipybox/approval/callback_approval.hpp>
#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/approval/stream_reader_approval.hpp>
#include <ipybox/execution/executor_options.hpp>
#include <ipybox/execution_stream.hpp>
#include <ipybox/executor_base.hpp>
#include <ipybox/runtime.hpp>
#include <ipybox/sandbox/any_sandbox.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/sandbox_policy.hpp>
#include <ipybox/session/make_session.hpp>
#include <ipybox/transport/socketpair_transport.hpp>

#include <asio/any_io_executor.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/** \file
 * The executor. Include `basic_executor.hpp` for one with another transport.
 */

namespace ipybox {
namespace detail {

/// The requirements of the class on a transport's type. For other types than the usual one, `basic_executor.hpp` has
/// it.
template <class Transport>
struct transport_check;

template <>
struct transport_check<socketpair_transport> {
    static constexpr bool is_transport = true;
    static constexpr bool carries_actions = true;
    static constexpr bool can_be_guarded = true;
};

template <class Transport>
[[nodiscard]] std::shared_ptr<kernel_link> make_link(std::shared_ptr<Transport> transport);

template <>
[[nodiscard]] std::shared_ptr<kernel_link> make_link(std::shared_ptr<socketpair_transport> transport);

/// The policy of an executor that is given none.
template <class Policy>
[[nodiscard]] Policy default_policy() {
    if constexpr (std::same_as<Policy, any_sandbox>)
        return bubblewrap_sandbox();
    else
        return Policy();
}

/// The policies that an executor and its session share. The transport is the session's, and ends with its I/O context.
template <class SandboxPolicy, class ApprovalPolicy>
struct shared_policies {
    SandboxPolicy sandbox;
    ApprovalPolicy approval;
};

/// The operations of an executor whose kernels can ask for nothing: those that offer the code something to ask for do
/// not compile.
template <class Transport>
class executor_without_actions : public executor_base {
  public:
    result<void> add_tool(host_tool const&, std::string const& = {}) { return refuse(); }
    result<void> add_tools(host_tools const&) { return refuse(); }
    result<installation> install_package(std::vector<std::string> const&) { return refuse(); }
    result<installation> install_package(std::string const&) { return refuse(); }
    template <class... Token>
    result<installation> async_install_package(std::vector<std::string> const&, Token const&...) {
        return refuse();
    }

  protected:
    using executor_base::executor_base;

  private:
    static tl::unexpected<error> refuse() {
        static_assert(sizeof(Transport) == 0,
                      "the transport of this executor carries no actions: its code can call no tools. "
                      "Use socketpair_transport, or one whose transport_traits say carries_actions");
        return failure(errc::not_running);
    }
};

/// The operations of an executor, by what its transport can do.
template <class Transport>
using executor_operations =
    std::conditional_t<transport_check<Transport>::carries_actions, executor_base, executor_without_actions<Transport>>;

} // namespace detail

/**
 * \brief Runs Python code in a stateful, sandboxed kernel: the executor as a template over its three policies.
 * \details `executor` is the usual choice of them. Arguments come in the order of how often they are given, and the
 * types of the policies follow from them; a callback stands for an approval policy:
 * \snippet 11_any_kernel.cpp zmq
 *
 * Choices that the types make are checked at compile time. With a transport that carries no actions, operations that
 * offer tools to the code do not compile. `approval.shell_cmds` and `approval.require_shell_escape` are options: there
 * `start` fails with errc::guard_unavailable or errc::invalid_argument.
 * \tparam Transport      what kernel there is and how it is reached: concept `transport`
 * \tparam SandboxPolicy  what is put around it: concept `sandbox_policy`
 * \tparam ApprovalPolicy who decides about actions: concept `approval_policy`
 * \par Thread safety as executor_base; those of the policies' own members are the policies'
 */
template <class Transport = socketpair_transport, class SandboxPolicy = bubblewrap_sandbox,
          class ApprovalPolicy = stream_reader_approval>
class basic_executor : public detail::executor_operations<Transport> {
    static_assert(detail::transport_check<Transport>::is_transport,
                  "a transport has start, send, receive, interrupt, stop, forks_kernels and orders_messages, and "
                  "kernel() where it carries actions (see transport/transport.hpp), or a "
                  "specialisation of ipybox::transport_traits");
    static_assert(sandbox_policy<SandboxPolicy>, "a sandbox policy has `result<launch_spec> wrap(launch_spec) const`, "
                                                 "or a specialisation of ipybox::sandbox_traits");
    static_assert(approval_policy<ApprovalPolicy>,
                  "an approval policy has `decide(approval_request)` that returns decision, asio::awaitable<decision> "
                  "or void, or a specialisation of ipybox::approval_traits");

  public:
    /// The first template argument.
    using transport_type = Transport;
    /// The second one.
    using sandbox_type = SandboxPolicy;
    /// The third one.
    using approval_type = ApprovalPolicy;

    /// Code can call tools, and ask for shell commands.
    static constexpr bool carries_actions = detail::transport_check<Transport>::carries_actions;

    /// `executor_options::approval.require_shell_escape` can be fulfilled.
    static constexpr bool can_be_guarded = detail::transport_check<Transport>::can_be_guarded;

    /// Works on a thread of its own. \throws std::system_error if the system makes no thread for it
    explicit basic_executor(executor_options options = {},
                            ApprovalPolicy approval = detail::default_policy<ApprovalPolicy>(),
                            SandboxPolicy sandbox = detail::default_policy<SandboxPolicy>(),
                            Transport transport = Transport())
        : basic_executor(std::nullopt, std::move(options), share(std::move(sandbox), std::move(approval)), nullptr,
                         std::make_shared<Transport>(std::move(transport))) {}

    /// Shares a supervisor and its sandbox with other executors.
    basic_executor(executor_options options, ApprovalPolicy approval, runtime const& shared,
                   Transport transport = Transport())
        requires std::same_as<SandboxPolicy, any_sandbox>
        : basic_executor(std::nullopt, std::move(options), share(shared.sandbox(), std::move(approval)), shared.host(),
                         std::make_shared<Transport>(std::move(transport))) {}

    /// Works on the application's own I/O context, which must be run by the application:
    /// `executor{context.get_executor(), …}`.
    template <class IoExecutor>
        requires std::convertible_to<IoExecutor, asio::any_io_executor>
    explicit basic_executor(IoExecutor io, executor_options options = {},
                            ApprovalPolicy approval = detail::default_policy<ApprovalPolicy>(),
                            SandboxPolicy sandbox = detail::default_policy<SandboxPolicy>(),
                            Transport transport = Transport())
        : basic_executor(std::optional<asio::any_io_executor>(std::move(io)), std::move(options),
                         share(std::move(sandbox), std::move(approval)), nullptr,
                         std::make_shared<Transport>(std::move(transport))) {}

    /// Works on the application's own I/O context, and shares a supervisor and its sandbox with other executors.
    template <class IoExecutor>
        requires std::convertible_to<IoExecutor, asio::any_io_executor> && std::same_as<SandboxPolicy, any_sandbox>
    basic_executor(IoExecutor io, executor_options options, ApprovalPolicy approval, runtime const& shared,
                   Transport transport = Transport())
        : basic_executor(std::optional<asio::any_io_executor>(std::move(io)), std::move(options),
                         share(shared.sandbox(), std::move(approval)), shared.host(),
                         std::make_shared<Transport>(std::move(transport))) {}

    /// One that was moved from is stopped for ever: operations fail with errc::not_running. Its policies can still be
    /// asked for.
    basic_executor(basic_executor&& other) noexcept
        : base(std::move(other)), policies_(other.policies_), transport_(other.transport_) {}
    /// Ends the session that it had, as the destructor does.
    basic_executor& operator=(basic_executor&& other) noexcept {
        base::operator=(std::move(other));
        policies_ = other.policies_;
        transport_ = other.transport_;
        return *this;
    }
    ~basic_executor() = default;

    /// The sandbox policy: of an executor that shares a runtime, the runtime's.
    [[nodiscard]] SandboxPolicy const& sandbox() const noexcept { return policies_->sandbox; }

    /// The approval policy, which is asked on the executor's own thread or strand.
    [[nodiscard]] ApprovalPolicy& approval() noexcept { return policies_->approval; }
    /// The same.
    [[nodiscard]] ApprovalPolicy const& approval() const noexcept { return policies_->approval; }

    /// The transport, which works on the executor's own thread or strand; none when that has ended. It belongs to the
    /// executor's I/O context: let go of it before that ends.
    [[nodiscard]] std::shared_ptr<Transport const> transport() const noexcept { return transport_.lock(); }

  private:
    using base = detail::executor_operations<Transport>;
    using policies = detail::shared_policies<SandboxPolicy, ApprovalPolicy>;

    basic_executor(std::optional<asio::any_io_executor> io, executor_options options, std::shared_ptr<policies> shared,
                   std::shared_ptr<kernel_host> host, std::shared_ptr<Transport> transport)
        : base(detail::make_session(std::move(io), std::move(options), approval_in(shared), sandbox_in(shared),
                                    std::move(host), detail::make_link(transport), detail::this_build())),
          policies_(std::move(shared)), transport_(transport) {}

    static std::shared_ptr<policies> share(SandboxPolicy sandbox, ApprovalPolicy approval) {
        return std::make_shared<policies>(policies{std::move(sandbox), std::move(approval)});
    }

    static any_approval approval_in(std::shared_ptr<policies> const& shared) {
        return any_approval::sharing(std::shared_ptr<ApprovalPolicy>(shared, &shared->approval));
    }

    static detail::session_sandbox sandbox_in(std::shared_ptr<policies> const& shared) {
        return {[shared](launch_spec spec) {
                    return sandbox_traits<SandboxPolicy>::wrap(shared->sandbox, std::move(spec));
                },
                [shared](std::filesystem::path const& working_dir, os::host_environment const& host) {
                    return detail::reach_in(shared->sandbox, working_dir, host);
                }};
    }

    std::shared_ptr<policies> policies_;
    std::weak_ptr<Transport> transport_;
};

/// \cond The reference has no pages for deduction guides.

// An approval may be given as a callback: the policy is then what makes one of it.
template <class Approval>
basic_executor(executor_options, Approval)
    -> basic_executor<socketpair_transport, bubblewrap_sandbox, detail::approval_for<std::decay_t<Approval>>>;

template <class Approval, class Sandbox>
basic_executor(executor_options, Approval, Sandbox)
    -> basic_executor<socketpair_transport, Sandbox, detail::approval_for<std::decay_t<Approval>>>;

template <class Approval, class Sandbox, class Transport>
basic_executor(executor_options, Approval, Sandbox, Transport)
    -> basic_executor<Transport, Sandbox, detail::approval_for<std::decay_t<Approval>>>;

template <class Approval>
basic_executor(executor_options, Approval, runtime)
    -> basic_executor<socketpair_transport, any_sandbox, detail::approval_for<std::decay_t<Approval>>>;

template <class Approval, class Transport>
basic_executor(executor_options, Approval, runtime, Transport)
    -> basic_executor<Transport, any_sandbox, detail::approval_for<std::decay_t<Approval>>>;

template <std::convertible_to<asio::any_io_executor> IoExecutor, class Approval>
basic_executor(IoExecutor, executor_options, Approval)
    -> basic_executor<socketpair_transport, bubblewrap_sandbox, detail::approval_for<std::decay_t<Approval>>>;

template <std::convertible_to<asio::any_io_executor> IoExecutor, class Approval, class Sandbox>
basic_executor(IoExecutor, executor_options, Approval, Sandbox)
    -> basic_executor<socketpair_transport, Sandbox, detail::approval_for<std::decay_t<Approval>>>;

template <std::convertible_to<asio::any_io_executor> IoExecutor, class Approval, class Sandbox, class Transport>
basic_executor(IoExecutor, executor_options, Approval, Sandbox, Transport)
    -> basic_executor<Transport, Sandbox, detail::approval_for<std::decay_t<Approval>>>;

template <std::convertible_to<asio::any_io_executor> IoExecutor, class Approval>
basic_executor(IoExecutor, executor_options, Approval, runtime)
    -> basic_executor<socketpair_transport, any_sandbox, detail::approval_for<std::decay_t<Approval>>>;

template <std::convertible_to<asio::any_io_executor> IoExecutor, class Approval, class Transport>
basic_executor(IoExecutor, executor_options, Approval, runtime, Transport)
    -> basic_executor<Transport, any_sandbox, detail::approval_for<std::decay_t<Approval>>>;

/// \endcond

/**
 * \brief Runs Python code in a stateful, sandboxed IPython kernel.
 * \details The usual executor: a kernel that a supervisor forks inside the sandbox; which sandbox, and who approves, is
 * chosen at run time. The default sandbox is bubblewrap. The approval policy decides about actions that leave the
 * kernel: tool calls, installations, and shell commands where they are to be approved. The default policy asks the
 * reader of a stream, and rejects requests without a reader (`stream_reader_approval`). Permissive choices have to be
 * named: `no_sandbox{}`, `auto_approval{}`.
 * \par Thread safety as executor_base
 * \par Example
 * \snippet 01_hello.cpp execute
 */
class executor : public basic_executor<socketpair_transport, any_sandbox, any_approval> {
  public:
    using basic_executor::basic_executor;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/impl/executor.ipp>
#endif
