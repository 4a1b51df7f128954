#pragma once

#include <ipybox/network/network_proxy.hpp>
#include <ipybox/services/connection_gate.hpp>
#include <ipybox/services/network_service.hpp>
#include <ipybox/session/session_services.hpp>

#include <utility>

namespace ipybox::detail {

inline offered_service const hosts_are_offered{make_service<network_service>};

IPYBOX_DECL std::shared_ptr<network_service> network_service::make(session_services& session) {
    return std::make_shared<network_service>(session.executor(), session.get<approval_service>());
}

IPYBOX_DECL network_service::network_service(asio::any_io_executor executor,
                                             std::shared_ptr<approval_service> approvals)
    : executor_(std::move(executor)), gate_(std::make_shared<connection_gate>(std::move(approvals))) {}

IPYBOX_DECL network_service::~network_service() = default;

IPYBOX_DECL void network_service::serve(running_kernel const& kernel) {
    auto listener = kernel.process.take_listener();
    auto const config = kernel.process.network();
    if (!listener || !config) return;
    std::shared_ptr<sandbox_config::network_access const> network(config, &config->network);
    proxy_ = std::make_shared<network_proxy>(executor_, std::move(listener), std::move(network), gate_);
    proxy_->start();
}

IPYBOX_DECL void network_service::close() {
    if (auto const proxy = std::exchange(proxy_, nullptr)) proxy->close();
}

} // namespace ipybox::detail
