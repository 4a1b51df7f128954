#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/fwd.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/os/sandbox_limits.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace ipybox::detail {

class supervisor_core;
class supervised_state;
struct kernel_launch;
struct program_launch;

/// Puts a sandbox around a launch: the `wrap` of a sandbox policy.
using launch_wrapper = std::function<result<launch_spec>(launch_spec)>;

/// How a supervisor is started.
struct supervisor_options {
    std::shared_ptr<os::host_programs const> host; ///< where it is started; never none
    std::filesystem::path python;                  ///< the interpreter, absolute
    /// How long a script in front of the interpreter may take to say which one it runs.
    std::chrono::milliseconds python_bound = std::chrono::seconds(30);
    environment env;                   ///< of the supervisor itself
    std::filesystem::path working_dir; ///< absolute; the sandbox makes it writable
    launch_wrapper wrap;               ///< the sandbox
    /// Imports IPython and forks kernels. False: starts foreign kernels from their own argv, and needs no ipykernel.
    bool forks_kernels = true;
    std::vector<std::string> preload = {}; ///< modules that all kernels share, imported before the first fork
    std::string level = "auto";            ///< docs/kernel-protocol.md section 4
    bool has_tenants = false;              ///< others use it too: one that missed a bound is not killed for that
    bool walls = false;                    ///< the kernels that it forks are kept apart

    std::vector<std::filesystem::path> read_only = {}; ///< as in launch_spec
    std::vector<std::filesystem::path> hidden = {};    ///< as in launch_spec
    std::vector<system_access> allow = {};             ///< as in launch_spec
    sandbox_limits limits = {};                        ///< of what it starts, and of itself

    /// A directory of packages that kernels import from behind the interpreter's own, and where it comes from. Empty:
    /// none.
    std::filesystem::path package_dir = {};
    std::shared_ptr<package_layer const> packages = nullptr;

    /// A directory for the caches of libraries, absolute. Empty: one that ends with the supervisor.
    std::filesystem::path cache_dir = {};
};

/// The supervisor's information about itself, once it is ready.
struct supervisor_info {
    std::string executable;
    std::string python;
    std::string ipykernel;
    std::string ipython;
    std::string level;
};

/**
 * \brief A process that the supervisor started: a forked or a foreign kernel.
 * \details A shared handle. A process whose last handle goes is killed.
 * \par Thread safety Safe.
 */
class supervised_process {
  public:
    supervised_process() = default;
    /// Made by the supervisor.
    explicit supervised_process(std::shared_ptr<supervised_state> state) : state_(std::move(state)) {}

    /// Whether it is a handle of a process.
    [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

    /// The socket on which it asks for hosts by name: a listening socket in its sandbox. Empty where nothing is to be
    /// served, or it was taken before.
    [[nodiscard]] os::unique_fd take_listener() const;

    /// The hosts that it may reach by name; none where it has no such socket.
    [[nodiscard]] std::shared_ptr<sandbox_config const> network() const;

    /// The text that was written to descriptor 1 or 2 of a forked kernel, 1 MiB at most, and that it did not forward
    /// before its end. To be called then. Afterwards there is none.
    [[nodiscard]] std::string take_unforwarded(int descriptor) const;

    /// Its pid in the supervisor's pid namespace.
    [[nodiscard]] int pid() const noexcept;

    /// The supervisor's interpreter, which is a forked kernel's own; empty for a handle of nothing.
    [[nodiscard]] std::filesystem::path interpreter() const;

    /// The packages that it imports from; none where it has no layer of them, or was not forked.
    [[nodiscard]] std::shared_ptr<package_layer const> packages() const;

    /// Waits until the process has ended and been reaped, what it left behind included. The wait outlives the handle
    /// and does not count as one.
    asio::awaitable<exit_status> exited() const;

    /// The same within a bound: none when it passed first.
    asio::awaitable<std::optional<exit_status>> exited(std::chrono::milliseconds bound) const;

    /// Calls `then` on an executor when it has ended. Keeps neither the process nor the executor's context at work.
    void on_exit(asio::any_io_executor const& executor, std::function<void(exit_status)> then) const;

    /// Whether it runs code, during which the supervisor looks at what it takes (`sandbox_limits::kernel_memory`). Only
    /// asks for it, and waits for nothing.
    void watch(bool runs) const;

    /// Signals its process group. Completes when the signal is on its way: what is sent to the process afterwards comes
    /// after it.
    asio::awaitable<result<void>> signal(int number) const;

    /**
     * \brief Runs a program for this process, a forked kernel: in its environment as it was at its start, and out of
     * its reach.
     * \details Its background processes end with this process.
     * \par Errors errc::program_not_started — the text says why
     */
    asio::awaitable<result<supervised_process>> run(program_launch program, os::unique_fd standard_input,
                                                    os::unique_fd standard_output, os::unique_fd standard_error) const;

  private:
    friend class supervisor;

    std::shared_ptr<supervised_state> state_;
};

/**
 * \brief The first process in the sandbox: forks kernels, starts foreign ones, reaps them (docs/kernel-protocol.md).
 * \details Started with the first request. When it cannot start or dies, all requests fail, from then on too. Ends with
 * the object, and all it started with it; so it does when the host is killed.
 * \par Thread safety Safe: works on the executor it was given, which must not run two handlers at once.
 */
class supervisor {
  public:
    /// One that works on an executor. Nothing is started yet.
    supervisor(asio::any_io_executor executor, supervisor_options options);

    /// One that works on a thread of its own, which ends with it.
    explicit supervisor(supervisor_options options);

    /// A tenant's share of a supervisor: `end()` ends what was started through it, and nothing else. The owner lives as
    /// long as its tenants.
    [[nodiscard]] static std::shared_ptr<supervisor> share(std::shared_ptr<supervisor> const& owner);

    supervisor(supervisor const&) = delete;
    supervisor& operator=(supervisor const&) = delete;

    ~supervisor(); ///< As `end()`.

    /// Starts the process, if that has not happened, and waits until it is ready.
    /// \par Errors errc::python_not_found, ipykernel_missing, ipykernel_unsupported, sandbox_unavailable (walls, too),
    /// kernel_start_failed, kernel_unresponsive — not within the bound; not_running — it was to stop waiting
    asio::awaitable<result<supervisor_info>> ready(std::chrono::milliseconds bound, std::stop_token stop = {});

    /// Forks a kernel that talks over `stream`. Within `launch.start_bound`. \par Errors errc::guard_unavailable — the
    /// system does not have what its guard needs; errc::sandbox_unavailable — nor what walls need
    asio::awaitable<result<supervised_process>> fork(kernel_launch launch, os::unique_fd stream);

    /// Starts a program in the sandbox, in a process group of its own. Within `launch.start_bound`.
    asio::awaitable<result<supervised_process>> spawn(std::vector<std::string> argv, kernel_launch launch);

    /// A directory of mode 0700 that the host and the sandbox share, for Unix sockets. Only with role::spawns_only.
    [[nodiscard]] std::filesystem::path const& private_dir() const noexcept;

    /// The options that it was made with.
    [[nodiscard]] supervisor_options const& options() const noexcept;

    /// Ends the supervisor and everything below it, within a bound of two seconds. From any thread; afterwards every
    /// request fails.
    void end();

    /// The same without holding up a thread: completes when the supervisor has ended.
    asio::awaitable<void> ended();

    /// The last lines that the supervisor and what it started wrote to standard error.
    [[nodiscard]] std::string diagnostics() const;

  private:
    explicit supervisor(std::shared_ptr<supervisor> owner);

    [[nodiscard]] result<supervised_process> started(result<supervised_process> process);

    std::shared_ptr<supervisor> const owner_; ///< of a share
    std::shared_ptr<supervisor_core> const core_;
    std::mutex mutex_;
    std::vector<std::weak_ptr<supervised_state>> tenants_; ///< processes started through a share
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/kernel/impl/supervisor.ipp>
#endif
