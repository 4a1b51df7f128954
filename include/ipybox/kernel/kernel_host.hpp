#pragma once

#include <ipybox/core/delete_in_owner.hpp>
#include <ipybox/core/owning_process.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/kernel/kernel_options.hpp>
#include <ipybox/kernel/supervisor.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace ipybox {

/**
 * \brief The home of kernels: a supervisor in its sandbox, made when a transport first asks for it. An executor has one
 * of its own, or a share of a `runtime`'s.
 * \details Looks for the interpreter, makes the supervisor, replaces one that was let go of, and ends it. While no
 * transport asks, nothing is looked for and no process is started.
 * \par Thread safety Safe, but `release` belongs to the executor. A search for the interpreter, of which a host has one
 * at a time, is its caller's.
 */
class kernel_host {
  public:
    /// The settings that a transport starts one kernel with: `start_bound`, `env`, `working_dir`, `after_cell`, `stop`,
    /// and, for transports that carry actions, `action_socket`, `guard` and `allow` (kernel/kernel_options.hpp).
    using launch = detail::kernel_launch;

    /// A transport's information about a kernel that runs: `implementation`, `language`, and the version of each.
    using info = detail::kernel_info;

    /// The supervisor, which forks a kernel (`fork`) or starts a program (`spawn`) in the sandbox.
    using supervisor = detail::supervisor;

    /// A process that the supervisor started, a kernel: a shared handle, with `exited` and `signal`. The process is
    /// killed when its last handle goes.
    using process = detail::supervised_process;

    /// Says how a supervisor is to be made, when it is. Its `python` is what was asked for, and is looked for first.
    using supervisor_source = std::function<detail::supervisor_options()>;

    /// A host whose supervisor works on an executor, which must not run two handlers at once.
    kernel_host(asio::any_io_executor executor, supervisor_source options);

    /// A host for several executors: its supervisor works on a thread of its own.
    explicit kernel_host(supervisor_source options);

    /// A tenant's share of a host: `end` ends what was started through it, and nothing else. The host lives as long as
    /// its tenants. A tenant that makes the supervisor has the paths protected that its `own` options name; the rest of
    /// them does not count.
    [[nodiscard]] static std::shared_ptr<kernel_host> share(std::shared_ptr<kernel_host> landlord,
                                                            supervisor_source own = {});

    kernel_host(kernel_host const&) = delete;
    kernel_host& operator=(kernel_host const&) = delete;
    ~kernel_host();

    /// Whether the supervisor is another host's.
    [[nodiscard]] bool shares() const noexcept { return landlord_ != nullptr; }

    /// The supervisor; makes it if there is none. One of its own that does not protect all that its options name by now
    /// is replaced: no process may live in it.
    /// \par Errors those of `find_python`; errc::kernel_start_failed — no thread for the search; errc::not_running —
    /// ended, given up, or in a fork; errc::invalid_argument — a tenant's options are not the landlord's
    asio::awaitable<result<std::shared_ptr<supervisor>>> obtain();

    /// The directory in which the supervisor is started. From any thread.
    [[nodiscard]] std::filesystem::path working_dir() const;

    /// The environment of the host and its programs, as they were when it was made. From any thread.
    [[nodiscard]] std::shared_ptr<os::host_programs const> programs() const;

    /// Finds the paths and openings of the sandbox around the supervisor; of the one that it will get, if there is no
    /// supervisor. From any thread. The returned function calls the sources of the options, and holds nothing of the
    /// host.
    [[nodiscard]] std::function<launch_spec()> confinement();

    /// The search for the interpreter is not waited for any more. From any thread.
    void abandon_search();

    /// Lets go of a supervisor of its own, and waits until it has ended, within its bound.
    asio::awaitable<void> release();

    /// Ends a supervisor of its own, or the processes that were started in a shared one; nothing is made afterwards.
    /// From any thread.
    void end();

  private:
    using source_ptr = std::shared_ptr<supervisor_source const>;
    using options_ptr = std::shared_ptr<detail::supervisor_options const>;

    kernel_host(std::shared_ptr<kernel_host> landlord, supervisor_source own);

    [[nodiscard]] static detail::supervisor_options wanted(source_ptr const& own, source_ptr const& landlord);
    [[nodiscard]] source_ptr shared_options() const noexcept { return landlord_ ? landlord_->options_ : nullptr; }
    [[nodiscard]] result<void> check_shared_options() const;
    [[nodiscard]] options_ptr made_with();

    [[nodiscard]] std::shared_ptr<supervisor> present();
    [[nodiscard]] std::shared_ptr<supervisor> present_or(detail::supervisor_options options);
    asio::awaitable<result<std::filesystem::path>> look_for_python(detail::supervisor_options const& options);

    std::shared_ptr<kernel_host> const landlord_; ///< of a tenant
    std::optional<asio::any_io_executor> const executor_;
    source_ptr const options_; ///< none of a tenant that protects nothing of its own

    detail::owning_process const process_;
    std::mutex mutex_;
    std::shared_ptr<supervisor> supervisor_;
    options_ptr made_with_;                    ///< of a supervisor that is not a landlord's
    detail::process_ptr<std::jthread> search_; ///< none until there is one
    bool ended_ = false;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/kernel/impl/kernel_host.ipp>
#endif
