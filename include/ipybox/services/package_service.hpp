#pragma once

#include <ipybox/packages/installation.hpp>
#include <ipybox/services/approval_service.hpp>
#include <ipybox/services/program_actions.hpp>
#include <ipybox/session/session_service.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace ipybox::detail {

class connection_gate;
class package_installation;
class session_services;

/**
 * \brief Has pip install packages where the kernels of one session import from, one installation at a time.
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once.
 */
class package_service final : public session_service,
                              public program_actions,
                              public std::enable_shared_from_this<package_service> {
  public:
    [[nodiscard]] static std::shared_ptr<package_service> make(session_services& session);

    package_service(session_services const& session, std::shared_ptr<approval_service> approvals);
    ~package_service() override;

    /// Installs packages for the application: `words` are those behind `pip install`.
    [[nodiscard]] static asio::awaitable<result<installation>> install(std::shared_ptr<package_service> self,
                                                                       std::vector<std::string> words);

    [[nodiscard]] bool offers(feature what) const noexcept override { return what == feature::packages; }
    [[nodiscard]] std::shared_ptr<sandbox_demand const> demand() const override;
    void serve(running_kernel const& kernel) override;
    void close() override;
    void abandon() override;

    /// Whether it is pip that the host runs, outside of the kernel's sandbox.
    [[nodiscard]] bool takes(program_run const& wanted) const override;
    [[nodiscard]] asio::awaitable<result<std::shared_ptr<running_program>>> run(program_run const& wanted,
                                                                                program_streams streams) override;

  private:
    using installation_ptr = std::shared_ptr<package_installation>;

    [[nodiscard]] result<installation_ptr> begin(std::span<std::string const> words, program_streams streams,
                                                 std::shared_ptr<connection_gate> gate);
    static asio::awaitable<result<installation>> carry_out(package_service& self, std::vector<std::string> const& words,
                                                           action_outcome& how);
    static asio::awaitable<result<void>> take_turn(std::shared_ptr<package_service> self);
    [[nodiscard]] installation_ptr under_way();
    void keep(installation_ptr const& begun);

    asio::any_io_executor const executor_;
    std::shared_ptr<os::host_programs const> const programs_;
    std::shared_ptr<package_layer const> const wanted_layer_; ///< of the options
    std::shared_ptr<approval_service> const approvals_;
    std::shared_ptr<connection_gate> const gate_;
    std::shared_ptr<connection_gate> const own_gate_; ///< of the application's installations
    supervised_process kernel_;
    std::uint64_t kernels_ = 0; ///< how many there were

    std::mutex mutex_; ///< `abandon` comes from any thread
    std::vector<std::weak_ptr<package_installation>> installations_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/services/impl/package_service.ipp>
#endif
