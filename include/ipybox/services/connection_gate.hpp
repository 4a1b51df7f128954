#pragma once

#include <ipybox/network/network_gate.hpp>
#include <ipybox/services/approval_service.hpp>

#include <memory>
#include <utility>

namespace ipybox::detail {

/// Has the approvals of a session decide about connections.
class connection_gate final : public network_gate {
  public:
    /// Whose connections they are.
    enum class party { code, application };

    explicit connection_gate(std::shared_ptr<approval_service> approvals, party whose = party::code)
        : approvals_(std::move(approvals)), whose_(whose) {}

    [[nodiscard]] asio::awaitable<verdict> approve_connection(approval_subject& subject) override {
        return approvals_->approve(subject);
    }
    [[nodiscard]] verdict settle_connection(approval_subject& subject, verdict said) override {
        subject.of_application = whose_ == party::application;
        return approvals_->settle(subject, std::move(said));
    }
    void connection_ended(approval_subject const& subject, action_outcome const& how) override {
        approvals_->record(subject.id, how);
    }

  private:
    std::shared_ptr<approval_service> const approvals_;
    party const whose_;
};

} // namespace ipybox::detail
