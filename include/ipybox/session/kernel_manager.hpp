#pragma once

#include <ipybox/fwd.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/session/kernel_lifecycle.hpp>
#include <ipybox/session/unprotected_file.hpp>

#include <memory>
#include <vector>

namespace ipybox::detail {

class kernel_link;
class kernel_listener;
class seen_messages;
class session_services;
class session_settings;

/// Whether a kernel has the state of earlier executions.
enum class kernel_freshness { kept, fresh };

/**
 * \brief Starts, replaces and ends the kernels of one session, one at a time, and listens to the one that there is.
 * \details Does what `kernel_lifecycle` says. Events of an earlier kernel are not passed on.
 * \par Thread safety Unsafe: belongs to its executor. `unprotected_files` and `end_from_outside` are safe.
 */
class kernel_manager : public std::enable_shared_from_this<kernel_manager> {
  public:
    /// The one who hears of the kernel.
    class observer {
      public:
        observer() = default;
        observer(observer const&) = delete;
        observer& operator=(observer const&) = delete;
        virtual ~observer() = default;

        virtual void on_message(jupyter::message m) = 0;
        virtual void on_death(error const& why) = 0; ///< it has ended by itself
        virtual void on_gone() = 0;                  ///< it was ended: what it said does not count any more
    };

    kernel_manager(std::shared_ptr<session_services> services, launch_wrapper wrap,
                   std::shared_ptr<kernel_host> const& shared, std::shared_ptr<kernel_link> link);

    void observe(std::weak_ptr<observer> who) { observer_ = std::move(who); }

    [[nodiscard]] kernel_lifecycle& life() noexcept { return life_; }
    [[nodiscard]] kernel_lifecycle const& life() const noexcept { return life_; }
    [[nodiscard]] seen_messages& seen() noexcept { return *seen_; }
    [[nodiscard]] std::shared_ptr<session_services> const& services() const noexcept { return services_; }
    [[nodiscard]] std::shared_ptr<kernel_link> const& link() const noexcept { return link_; }

    /// Sees to it that there is a kernel that runs nothing; a fresh one takes the place of one whose state is lost.
    asio::awaitable<result<kernel_freshness>> ensure();

    /// Starts a kernel, in the place of the one that there may be.
    asio::awaitable<result<void>> start();

    /// An executor that is stopped or closed, and a caller that cancels, do not wait for a kernel that is only about to
    /// come.
    void abandon_start();

    /// Gives a kernel that runs nothing the time to end by itself: its files are flushed, what it has registered is
    /// run. It counts as stopped in any case.
    asio::awaitable<void> let_end();

    /// Ends a kernel that does not count any more.
    asio::awaitable<void> end();

    /// The kernel has died by itself, or is of no use any more.
    void died(kernel_lifecycle::generation which, error const& why);

    /// Asks a kernel to end. Keeps the link, also beyond the bound of its caller.
    static asio::awaitable<result<void>> ask_to_end(std::shared_ptr<kernel_link> link);

    /// Takes no messages until `resume()`: the kernel waits in its writes.
    void pause();
    void resume();

    /// Lets go of a supervisor of its own.
    asio::awaitable<void> release_host();

    /// Finds the files that code in the kernel can change and must not. From any thread. The
    /// returned function calls functions of the application, and holds nothing of the kernel.
    [[nodiscard]] std::function<std::vector<unprotected_file>()> unprotected_files() const;

    /// Ends the processes and decides what is undecided, whether the executor runs or not; there is no kernel
    /// afterwards.
    void end_from_outside();

  private:
    asio::awaitable<result<void>> start_link();
    [[nodiscard]] result<kernel_launch> prepare_launch();
    void listen();
    void stop_link_of(kernel_lifecycle::generation which);

    std::shared_ptr<session_services> const services_;
    asio::any_io_executor const executor_;
    std::shared_ptr<session_settings const> const settings_;
    std::shared_ptr<seen_messages> const seen_;
    // Processes are let go of before the host that they live in.
    std::shared_ptr<kernel_host> host_;
    std::shared_ptr<kernel_link> const link_;
    std::weak_ptr<observer> observer_;

    kernel_lifecycle life_;
    std::shared_ptr<kernel_listener> listener_; ///< of the latest kernel
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/kernel_manager.ipp>
#endif
