#pragma once

#include <ipybox/core/owning_process.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/kernel/impl/supervisor_launch.hpp>
#include <ipybox/os/process.hpp>

#include <asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox::detail {

/**
 * \brief The process of a supervisor, with what it needs while it runs, and what it has said.
 * \details A fork of the host ends nothing, and keeps nothing alive.
 * \par Thread safety Safe.
 */
class supervisor_process {
  public:
    /// The bytes of standard error that are kept.
    static constexpr std::size_t diagnostics_size = 16 * 1024;

    /// Takes over all of a start but its sockets. \par Errors errc::not_running — it is to end already; errc::io_error
    /// — no descriptor
    [[nodiscard]] result<void> adopt(launched_supervisor& started);

    /// Has it end, without a wait.
    void begin_end();

    /// Within `patience` by itself; then it is killed.
    void end(std::chrono::milliseconds patience = std::chrono::seconds(1));

    /// Waits for the end within a bound, and holds up no thread. This object has to outlive the wait.
    asio::awaitable<void> ends(std::chrono::milliseconds bound);

    /// Ends one that does not answer. Operations that wait for it hear of that from its socket.
    void kill();

    /// How it has ended, or all empty where it has not; nothing where it was to end.
    [[nodiscard]] std::optional<exit_status> end_status();

    /// Whether it runs, and was not to end.
    [[nodiscard]] bool goes_on();

    void keep_diagnostics(std::string_view said);

    /// The end of what it has said.
    [[nodiscard]] std::string diagnostics() const;

    /// The program that was started: the interpreter, or the sandbox around it.
    [[nodiscard]] std::string program() const;

    /// The control groups of its kernels; none where there are none.
    [[nodiscard]] std::shared_ptr<supervisor_cgroups> groups() const;

  private:
    mutable std::mutex mutex_;
    std::shared_ptr<void const> kept_; ///< what the sandbox needs as long as the process runs
    std::shared_ptr<supervisor_cgroups> groups_;
    os::process process_;
    os::unique_fd control_switch_; ///< a duplicate: shutting it down ends the supervisor, on any thread
    os::unique_fd lifeline_;       ///< as long as it is open, the system does not kill a supervisor that has a keeper
    bool ended_ = false;
    std::string diagnostics_;
    std::string program_;

    owning_process const owner_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/kernel/impl/supervisor_process.ipp>
#endif
