#pragma once

#include <ipybox/core/exit_status.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/network/network_gate.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/os/unforked.hpp>
#include <ipybox/os/unique_fd.hpp>
#include <ipybox/packages/package_layer.hpp>
#include <ipybox/packages/package_order.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ipybox::detail {

class network_proxy;

/// The ends of pipes that pip writes to.
struct installation_streams {
    os::unique_fd standard_output;
    os::unique_fd standard_error;
};

/**
 * \brief One run of pip, in a bubblewrap of its own that can write to the layer, and reach the hosts of its index.
 * \details Ended with its last handle. Its connections are decided about and recorded by the gate.
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once; `kill` is safe.
 */
class package_installation final : public network_gate, public std::enable_shared_from_this<package_installation> {
  public:
    /// \param host its environment, and where its programs are
    /// \param python the interpreter that the packages are for
    /// \par Errors errc::invalid_argument — nothing may be installed into the layer; errc::io_error — the layer was
    /// removed or replaced; errc::sandbox_unavailable; errc::program_not_started
    [[nodiscard]] static result<std::shared_ptr<package_installation>>
    start(asio::any_io_executor executor, std::shared_ptr<os::host_programs const> host,
          std::shared_ptr<package_layer const> layer, std::filesystem::path const& python, package_order const& order,
          installation_streams streams, std::weak_ptr<network_gate> gate);

    package_installation(asio::any_io_executor const& executor, std::shared_ptr<package_layer const> layer,
                         std::weak_ptr<network_gate> gate);
    ~package_installation() override;

    /// Completes when it has ended.
    [[nodiscard]] asio::awaitable<exit_status> ended();

    [[nodiscard]] bool has_ended() const noexcept { return status_.has_value(); }

    /// The installed packages, once it has ended.
    /// \par Errors errc::package_conflict, package_index_unreachable, pip_missing, package_not_installed,
    /// package_layer_full, timed_out, cancelled
    [[nodiscard]] result<std::vector<package_layer::package>> const& outcome() const noexcept { return outcome_; }

    /// Ends it; files that are being moved are moved first.
    void end();

    /// Ends it at once. From any thread, whether or not the executor runs.
    void kill() noexcept;

    [[nodiscard]] asio::awaitable<verdict> approve_connection(approval_subject& subject) override;
    [[nodiscard]] verdict settle_connection(approval_subject& subject, verdict said) override;
    void connection_ended(approval_subject const& subject, action_outcome const& how) override;

  private:
    result<void> launch(std::shared_ptr<os::host_programs const> host, std::filesystem::path const& python,
                        package_order const& order, installation_streams streams);
    void watch(os::unique_fd control, os::unique_fd exit);
    static asio::awaitable<void> serve(std::shared_ptr<package_installation> self);
    bool read_control();
    void hear(std::string const& datagram, std::vector<os::unique_fd> descriptors);
    void serve_hosts(os::unique_fd listener);
    void keep_outcome(nlohmann::json const& said);
    [[nodiscard]] error failure_of(std::string const& kind, std::string text) const;
    asio::awaitable<void> process_ends();
    void give_up(error why);

    asio::any_io_executor executor_;
    std::shared_ptr<package_layer const> layer_;
    std::weak_ptr<network_gate> gate_;
    std::shared_ptr<sandbox_config::network_access const> network_;
    std::shared_ptr<network_proxy> proxy_;
    std::string unreachable_; ///< why the latest connection that failed did

    std::mutex process_mutex_; ///< `kill` comes from any thread
    os::process process_;
    std::shared_ptr<void const> kept_; ///< of its sandbox, as long as it runs

    asio::posix::stream_descriptor control_;
    asio::posix::stream_descriptor exit_; ///< readable when the process has ended
    std::vector<os::unforked> unforked_;
    asio::steady_timer limit_; ///< of the whole
    asio::steady_timer over_;  ///< cancelled when it has ended
    std::optional<exit_status> status_;
    result<std::vector<package_layer::package>> outcome_ = failure(errc::package_not_installed, "pip was killed");
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/packages/impl/package_installation.ipp>
#endif
