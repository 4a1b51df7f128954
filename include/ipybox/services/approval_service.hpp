#pragma once

#include <ipybox/approval/verdict.hpp>
#include <ipybox/gate/approval_gate.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/session/acting_cell.hpp>
#include <ipybox/session/session_service.hpp>

#include <asio/awaitable.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace ipybox::detail {

class seen_messages;
class session_services;

/**
 * \brief Decides about the actions of one session, and records them.
 * \details The deciding party: the approval policy; without one the reader of the stream; without that the request is
 * rejected.
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once. The grants of the
 * gate are safe.
 */
class approval_service final : public session_service {
  public:
    [[nodiscard]] static std::shared_ptr<approval_service> make(session_services& session);

    explicit approval_service(session_services const& session);

    /// For its grants.
    [[nodiscard]] approval_gate& gate() noexcept { return gate_; }

    /// Decides about an action that the running cell asks for, behind a message of the kernel with this number. Gives
    /// the subject its id, and the cell.
    /// \par Cancellation terminal: the answer is not wanted any more
    [[nodiscard]] asio::awaitable<verdict> approve(approval_subject& subject, std::uint64_t after = 0);

    /// The same of one that is decided: rules may deny it all the same.
    [[nodiscard]] verdict settle(approval_subject& subject, verdict said);

    /// Decides about an action of the application's own, which belongs to no cell. \return its id, under which `record`
    /// says what becomes of it
    [[nodiscard]] static asio::awaitable<result<std::uint64_t>> approve_own(std::shared_ptr<approval_service> self,
                                                                            approval_subject subject);

    /// Records how an accepted action has ended.
    void record(std::uint64_t id, action_outcome const& how);

    /// Where the statements of tools about themselves are found.
    void annotate(stated_annotations from) { annotations_ = std::move(from); }

    [[nodiscard]] bool offers(feature) const noexcept override { return false; } // nothing asks it but other services
    void serve(running_kernel const& kernel) override { interpreter_ = kernel.process.interpreter(); }
    void close() override;
    void begin_cell(std::shared_ptr<acting_cell const> const& cell) override { cell_ = cell; }
    void end_cell() override;
    void abandon() override { gate_.abandon(); }

  private:
    void name_asker(approval_subject& subject) const;
    [[nodiscard]] asio::awaitable<verdict> decide(approval_subject& subject, any_approval policy, std::uint64_t after);

    std::shared_ptr<any_approval const> const policy_;
    std::shared_ptr<seen_messages> const seen_;
    std::shared_ptr<acting_cell const> const no_cell_ = std::make_shared<acting_cell const>();
    std::shared_ptr<acting_cell const> cell_ = no_cell_;
    approval_gate gate_;
    stated_annotations annotations_;    ///< of whichever tool an action is about
    std::filesystem::path interpreter_; ///< of the kernel
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/services/impl/approval_service.ipp>
#endif
