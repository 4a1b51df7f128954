#pragma once

#include <ipybox/core/exit_status.hpp>
#include <ipybox/core/owning_process.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace ipybox::os {

/// A descriptor that a child process gets under a number of its own.
struct handed_descriptor {
    int number; ///< in the child
    int source; ///< in this process; stays open here
};

/**
 * \brief A child process, watched by its pidfd: no signal handler, no race between pids.
 * \details The destructor kills and reaps it. Nothing of the application's own children is touched. In a fork of the
 * process that started it, it does nothing: the child belongs to the original.
 * \par Thread safety Unsafe; `descriptor()` may be polled from anywhere.
 */
class process {
  public:
    process() = default;
    /// Holds nothing unless `pid` is positive: to kill(2), 0 and -1 are many processes.
    process(pid_t pid, unique_fd pidfd) noexcept : pid_(pid), pidfd_(pid > 0 ? std::move(pidfd) : unique_fd()) {}
    process(process&& other) noexcept;
    process& operator=(process&& other) noexcept;
    ~process();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Readable once the process has ended.
    [[nodiscard]] int descriptor() const noexcept { return pidfd_.get(); }

    /// Waits for the end and reaps; none when the bound passed first, or `or_readable` has something to read.
    [[nodiscard]] std::optional<exit_status> wait(std::chrono::milliseconds bound, int or_readable = -1) noexcept;

    void signal(int number) const noexcept;

    /// Signals its process group, also the rest of it when the process has ended and was reaped.
    void signal_group(int number) const noexcept;

    /// SIGKILL to the process, to everything below it, and to its group.
    void kill_tree() const noexcept;

  private:
    [[nodiscard]] bool is_unreaped() const noexcept;
    [[nodiscard]] bool left_its_number() const noexcept;

    ipybox::detail::owning_process owner_;
    pid_t pid_ = -1;
    unique_fd pidfd_;
    std::optional<exit_status> status_;
};

/// The fate of processes below a child that lose their parent.
enum class orphans {
    left,   ///< they go to whom they would go without it: the first process of the system, as a rule
    adopted ///< they become children of the child, also when that has run another program
            ///< (PR_SET_CHILD_SUBREAPER(2const))
};

/**
 * \brief Starts a program in a session and a process group of its own, with exactly the environment and descriptors
 * given; 0 and 1 are `/dev/null` unless handed.
 * \details The program leads the group and not the session: a terminal that it opens is not its controlling one.
 * \details By a clone that shares memory until exec, so it costs the same from a large process as from a small one.
 * First of all it enters a control group, if there is an `entrance` (`cgroup::entrance`); last of all it is put under
 * `launch_spec::confinement`. Descriptors that are not handed over are closed by close_range(2), or where that is
 * missing or denied by reading /proc/self/fd.
 * \par Errors errc::io_error — which step failed, of which program, and why; also where neither way of closing
 * descriptors works
 */
[[nodiscard]] result<process> start_process(launch_spec const& spec, std::vector<handed_descriptor> descriptors,
                                            orphans below = orphans::left, int entrance = -1);

/// Whether the process behind a pidfd has ended. Asio's `async_wait` for a descriptor may complete before: for an event
/// of one that was closed.
[[nodiscard]] bool has_ended(int pidfd) noexcept;

/// Whether it is a file that this process may execute.
[[nodiscard]] bool is_runnable(std::filesystem::path const& file);

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/process.ipp>
#endif
