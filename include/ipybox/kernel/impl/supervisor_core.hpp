#pragma once

#include <ipybox/async/bounded_completion.hpp>
#include <ipybox/async/completion.hpp>
#include <ipybox/async/io_thread.hpp>
#include <ipybox/async/post_work.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/move_only_function.hpp>
#include <ipybox/kernel/impl/supervisor_launch.hpp>
#include <ipybox/kernel/impl/supervisor_message.hpp>
#include <ipybox/kernel/impl/supervisor_process.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/os/datagram.hpp>
#include <ipybox/os/unforked.hpp>

#include <asio/posix/stream_descriptor.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::detail {

using json = nlohmann::json;

/// A process that the supervisor started: what its handles share. `status` and `waiters` belong to the core's executor.
class supervised_state {
  public:
    struct watch {
        std::optional<exit_status> status;
        std::vector<completion<exit_status>> waiters;
        std::shared_ptr<os::cgroup const> group; ///< of a kernel, until its end; none where there are no groups
        std::shared_ptr<void const> keeps;       ///< what stands in its directory, until its end

        /// The process has ended.
        void let_go() { group.reset(), keeps.reset(); }
    };

    supervised_state(std::shared_ptr<supervisor_core> c, int p, std::shared_ptr<watch> w)
        : core(std::move(c)), pid(p), ending(std::move(w)) {}
    supervised_state(supervised_state const&) = delete;
    supervised_state& operator=(supervised_state const&) = delete;
    ~supervised_state();

    std::shared_ptr<supervisor_core> const core;
    int const pid;

    os::unique_fd listener;                        ///< where the process asks for hosts, until it is taken
    std::shared_ptr<sandbox_config const> network; ///< the hosts; none where there is no such socket

    /// Of a forked kernel: the reading ends of the pipes that are its descriptors 1 and 2.
    std::array<os::unique_fd, 2> outputs;

    // Outlives the handles, so that a process whose handles are gone is still known until its end.
    std::shared_ptr<watch> const ending;
};

/**
 * \brief The supervisor's client: the process, its control socket and what waits for answers (docs/kernel-protocol.md
 * section 2).
 * \details Public members may be called from any thread; they go to the executor, which runs one handler at a time.
 */
class supervisor_core : public std::enable_shared_from_this<supervisor_core> {
  public:
    supervisor_core(asio::any_io_executor executor, supervisor_options options);
    supervisor_core(std::unique_ptr<io_thread> own, supervisor_options options);
    supervisor_core(supervisor_core const&) = delete;
    supervisor_core& operator=(supervisor_core const&) = delete;
    ~supervisor_core();

    void when_ready(std::chrono::milliseconds bound, std::stop_token stop, completion<result<supervisor_info>> done);
    void start_process(json message, std::vector<os::unique_fd> descriptors, std::chrono::milliseconds bound,
                       std::stop_token stop, completion<result<supervised_process>> done);
    void signal(int pid, int number, completion<result<void>> done);
    void wait_for(std::shared_ptr<supervised_state::watch> ending, completion<exit_status> done);

    /// Has the supervisor look at what a process takes while it runs code, and until what that left behind has come to
    /// rest.
    void watch(int pid, bool runs);

    /// Kills a process that has no holder any more.
    void discard(int pid);

    /// Within a second by itself; then it is killed.
    void end() { process_.end(); }

    /// As `end`, but holds up no thread.
    asio::awaitable<void> ended();

    [[nodiscard]] std::filesystem::path const& private_dir() const noexcept { return private_dir_; }
    [[nodiscard]] supervisor_options const& options() const noexcept { return options_; }
    [[nodiscard]] std::string diagnostics() const { return process_.diagnostics(); }

  private:
    /// Takes the answer to a request, or the error why there will be none.
    using answer_function = move_only_function<void(result<json>)>;

    struct outgoing {
        std::int64_t id;
        std::string bytes;
        std::vector<os::unique_fd> descriptors;
    };

    template <class T>
    std::shared_ptr<bounded_completion<T>> bounded(std::chrono::milliseconds bound, completion<result<T>> done,
                                                   std::stop_token stop = {});

    supervisor_core(std::unique_ptr<io_thread>&& own, asio::any_io_executor executor, supervisor_options options);

    /// Runs a part of the work. An exception, for want of memory as a rule, ends this supervisor, and not the thread.
    template <class Work>
    void guarded(Work work) {
        try {
            work();
        } catch (...) { fail(error_of(std::current_exception())); }
    }

    /// Runs `work(core)` on the executor, guarded.
    template <class Work>
    void on_executor(Work work) {
        dispatch_work(executor_, [self = shared_from_this(), work = std::move(work)]() mutable {
            self->guarded([&] { work(*self); });
        });
    }

    /// Makes a request on the executor, `make(core, answer)`. An exception of `make` is the answer.
    template <class T, class Make>
    void request_of(completion<result<T>> done, std::chrono::milliseconds bound, std::stop_token stop, Make make);

    /// Makes the request `make()` about a process that goes on. Its answer is not waited for; the core may be about to
    /// end.
    template <class Make>
    void tell_of(int pid, Make make);

    void ensure_started();
    [[nodiscard]] result<std::shared_ptr<os::cgroup const>> add_group(json& message,
                                                                      std::vector<os::unique_fd>& descriptors);
    [[nodiscard]] result<supervised_process> started(json const& answer,
                                                     std::shared_ptr<supervised_state::watch> ending);
    void adopt(launched_supervisor started);
    void request(json message, std::vector<os::unique_fd> descriptors, answer_function answer);
    void flush();
    void await_control();
    void await_standard_error();
    bool read_control();
    bool read_standard_error();
    void dispatch(std::string_view datagram);
    void on(supervisor_message::answer& a);
    void on(supervisor_message::ready& r);
    void on(supervisor_message::failed& f) { fail(std::move(f.why)); }
    void on(supervisor_message::exited const& e);
    void on(supervisor_message::unknown const&) {}
    void fail(error why);
    void on_end_of_control();
    [[nodiscard]] error end_of_control();

    std::unique_ptr<io_thread> const
        thread_; ///< of its own; the first member, because the others work there until they go
    asio::any_io_executor executor_;
    supervisor_options options_;
    std::filesystem::path private_dir_;

    asio::posix::stream_descriptor control_;
    std::string datagram_; ///< what is received goes here: reading needs no memory then
    asio::posix::stream_descriptor standard_error_;
    bool started_ = false;
    std::optional<supervisor_info> info_;
    std::optional<error> failure_;
    std::shared_ptr<sandbox_config const> network_;  ///< hosts that its kernels may reach by name
    std::optional<launch_spec::kernel_walls> walls_; ///< between its kernels; none: no walls
    std::vector<os::unique_fd> arrived_; ///< descriptors that came with the message that is being dispatched
    std::int64_t last_id_ = 0;
    std::deque<outgoing> outbox_;
    bool sending_ = false;
    std::map<std::int64_t, answer_function> answers_;
    std::vector<std::shared_ptr<bounded_completion<supervisor_info>>> ready_waiters_;
    std::map<int, std::shared_ptr<supervised_state::watch>> processes_;

    supervisor_process process_; ///< for `end` and `diagnostics`, from any thread

    // A fork of the host ends nothing, and keeps nothing alive.
    owning_process const owner_;
    os::unforked control_unforked_;
    os::unforked standard_error_unforked_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/kernel/impl/supervisor_core.ipp>
#endif
