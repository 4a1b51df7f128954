#pragma once

#include <ipybox/approval/verdict.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <asio/awaitable.hpp>

namespace ipybox::detail {

/**
 * \brief Decides about the connections of a kernel, and records them.
 * \details Called on the proxy's executor; several decisions may be under way. Each subject gets its id, and the cell
 * that asks.
 */
class network_gate {
  public:
    network_gate() = default;
    network_gate(network_gate const&) = delete;
    network_gate& operator=(network_gate const&) = delete;
    virtual ~network_gate() = default;

    /// Says what becomes of a connection that the configuration says nothing about.
    /// \par Cancellation terminal: its client is gone
    [[nodiscard]] virtual asio::awaitable<verdict> approve_connection(approval_subject& subject) = 0;

    /// The same of one that the configuration allows or denies: rules may deny it all the same.
    [[nodiscard]] virtual verdict settle_connection(approval_subject& subject, verdict said) = 0;

    /// A connection that was accepted has ended.
    virtual void connection_ended(approval_subject const& subject, action_outcome const& how) = 0;
};

} // namespace ipybox::detail
