#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/kernel/kernel_options.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/os/code_reach.hpp>
#include <ipybox/session/protection_check.hpp>

#include <asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <vector>

namespace ipybox::detail {

struct acting_cell;

/// The kernel of a session that has just started.
struct running_kernel {
    supervised_process process; ///< none where the transport has no handle of it
    os::code_reach reach;       ///< what its code can change
};

/**
 * \brief What a service wants of the sandbox around the kernels of its session.
 * \par Thread safety Safe. It may outlive the session, and holds nothing of its context.
 */
class sandbox_demand {
  public:
    sandbox_demand() = default;
    sandbox_demand(sandbox_demand const&) = delete;
    sandbox_demand& operator=(sandbox_demand const&) = delete;
    virtual ~sandbox_demand() = default;

    /// Adds to the options of a supervisor that is about to start.
    virtual void add_to(supervisor_options& options) const = 0;

    /// Adds the paths that code must not change.
    virtual void list(std::vector<protection_wish>& /*paths*/) const {}
};

/**
 * \brief A service beside the kernels of one session, which lives as long as that: approvals, tools, packages, hosts.
 * \details The session knows services by this interface alone, and tells each of what happens to its kernel.
 * \par Thread safety Unsafe: belongs to the session's executor, except where a function says more.
 */
class session_service {
  public:
    /// Parts of the options that need a service.
    enum class feature {
        approvals, ///< code asks for actions
        tools,     ///< of MCP servers and of the application
        packages,  ///< that the host installs
        hosts      ///< that code reaches by name
    };

    session_service() = default;
    session_service(session_service const&) = delete;
    session_service& operator=(session_service const&) = delete;
    virtual ~session_service() = default;

    /// Whether options for this do something. From any thread.
    [[nodiscard]] virtual bool offers(feature what) const noexcept = 0;

    /// None, if it has no demand. Asked for once.
    [[nodiscard]] virtual std::shared_ptr<sandbox_demand const> demand() const { return nullptr; }

    /// A kernel is about to start: adds what it gets. \par Errors end the start
    [[nodiscard]] virtual result<void> prepare(kernel_launch& /*launch*/) { return {}; }

    /// A kernel runs.
    virtual void serve(running_kernel const& /*kernel*/) {}

    /// The kernel is gone, or is to go.
    virtual void close() {}

    virtual void begin_cell(std::shared_ptr<acting_cell const> const& /*cell*/) {}
    virtual void end_cell() {}

    /// Ends what it has started, each within its own grace; another kernel may come.
    [[nodiscard]] virtual asio::awaitable<void> stop() { co_return; }

    /// The same for ever: what has not ended within a second is killed.
    [[nodiscard]] virtual asio::awaitable<void> end() { co_return; }

    /// The same at once. From any thread, whether or not the executor runs.
    virtual void abandon() {}

    /// Functions of the application that it has called may use what goes with the executor: waits for them, within the
    /// bound. From any thread.
    virtual void wait_for_functions(std::chrono::milliseconds /*bound*/) {}

    /// Whether the calling thread may wait for code of the kernel: one that the code waits for must not. From any
    /// thread.
    [[nodiscard]] virtual result<void> may_wait() const { return {}; }
};

} // namespace ipybox::detail
