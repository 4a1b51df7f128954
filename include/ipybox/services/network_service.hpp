#pragma once

#include <ipybox/services/approval_service.hpp>
#include <ipybox/session/session_service.hpp>

#include <asio/any_io_executor.hpp>

#include <memory>

namespace ipybox::detail {

class connection_gate;
class network_proxy;
class session_services;

/**
 * \brief Lets the kernels of one session reach the hosts that the configuration of their sandbox opens, and asks about
 * others.
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once.
 */
class network_service final : public session_service {
  public:
    [[nodiscard]] static std::shared_ptr<network_service> make(session_services& session);

    network_service(asio::any_io_executor executor, std::shared_ptr<approval_service> approvals);
    ~network_service() override;

    [[nodiscard]] bool offers(feature what) const noexcept override { return what == feature::hosts; }
    void serve(running_kernel const& kernel) override;
    void close() override;

  private:
    asio::any_io_executor const executor_;
    std::shared_ptr<connection_gate> const gate_;
    std::shared_ptr<network_proxy> proxy_; ///< of a kernel that may reach hosts
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/services/impl/network_service.ipp>
#endif
