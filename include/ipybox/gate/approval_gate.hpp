#pragma once

#include <ipybox/approval/approval_request.hpp>
#include <ipybox/approval/verdict.hpp>
#include <ipybox/fwd.hpp>
#include <ipybox/gate/approval_settings.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/rules/grant.hpp>
#include <ipybox/rules/grants.hpp>

#include <asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

/**
 * \brief The checks that every action of a session passes before it is done.
 * \details Records the request, decides by what is settled (see `approval_settings`), asks the policy where nothing is,
 * bounds the time that takes, and records the decision. The subject's statements about its cell have to come from the
 * host: a kernel that chose its own `cell_id` could ask again and again.
 * \par Thread safety Unsafe; used on the executor that its operations run on, one thread or strand. Policies may answer
 * from any thread, and grants may be added, revoked and listed from any thread.
 */
class approval_gate {
  public:
    /// The work to do before the policy is asked.
    using preparation = std::function<asio::awaitable<void>()>;

    /// An id for a subject, unique in this process.
    [[nodiscard]] static std::uint64_t fresh_id();

    using clock = std::chrono::steady_clock;

    /// `waiting` is called whenever `waiting()` changes, with the time, so that time budgets can pause meanwhile: of a
    /// policy that blocks, afterwards.
    explicit approval_gate(approval_settings settings, std::function<void(clock::time_point)> waiting = {});

    approval_gate(approval_gate const&) = delete;
    approval_gate& operator=(approval_gate const&) = delete;

    /// Rejects what waits; `waiting` is not called any more.
    ~approval_gate();

    /**
     * \brief Decides about an action. An id of 0 is replaced by a fresh one; a deadline is set where `approval.timeout`
     * says so and none is given.
     * \param subject the action
     * \param policy is asked unless rules or grants decide
     * \param before_asking is awaited before the policy is asked: what has to be shown first. It does not count as
     * waiting, and is cancelled as the policy is.
     * \par Completion The verdict; does not throw. Several may be under way at once.
     * \par Cancellation terminal: rejects. Whatever ends the waiting, a policy's coroutine is cancelled, and who
     * answers later is told that it is late.
     * \par Object lifetimes The gate may go before; the policy is kept as long as it decides. The executor's context
     * must outlive the operation.
     */
    [[nodiscard]] asio::awaitable<verdict> decide(approval_subject subject, any_approval policy,
                                                  preparation before_asking = {});

    /// Records what has been decided about an action already, and what becomes of it: it is rejected where a rule
    /// denies it, or the record cannot be written.
    [[nodiscard]] verdict settle(approval_subject const& subject, verdict said);

    /// Records how an accepted action ended. errc::audit_failed
    [[nodiscard]] result<void> finished(std::uint64_t id, action_outcome const& ended);

    /// A cell has ended, or is to end: what waits for a decision on its behalf is rejected, and what it asks for later.
    void cancel_cell(std::string_view cell_id);

    /// Rejects all that code waits for; the application's own requests go on.
    void cancel_code();

    /// Ends the questions about a server: another one has its name, or none. See `forgetting_servers`.
    void cancel_server(std::string_view server);

    /// Rejects all that waits for a decision.
    void cancel_all();

    /// The same from any thread, whether or not the executor runs, and for what is asked later too.
    void abandon();

    /// How many requests wait for the policy: all, or those of a cell.
    [[nodiscard]] std::size_t waiting() const noexcept;
    [[nodiscard]] std::size_t waiting(std::string_view cell_id) const noexcept;

    /// Grants something without having been asked; returns the grant's number. One for a cell belongs to the cell that
    /// is named.
    std::uint64_t add_grant(grant what, std::string_view cell_id = {});

    /// Takes a grant back; false when there is none of that number (any more).
    bool revoke_grant(std::uint64_t number);

    /// Takes back those that are about the tools of a server, and rejects what is being decided about it, whatever the
    /// policy answers: what it returns does so, also behind the gate's end. From any thread.
    [[nodiscard]] std::function<void(std::string const& server)> forgetting_servers() const;

    /// The grants that hold now.
    [[nodiscard]] std::vector<grant::active> active_grants() const;

  private:
    /// A decision, and who made it.
    struct answer {
        decision decided;
        error::decider by;
    };

    struct request;
    struct undecided;
    struct state;
    class place;

    static asio::awaitable<verdict> run(std::shared_ptr<state> self, approval_subject subject, any_approval policy,
                                        preparation before_asking);
    [[nodiscard]] static answer ask_now(state& self, asio::any_io_executor const& executor,
                                        std::shared_ptr<approval_subject const> const& subject,
                                        any_approval const& policy);
    static asio::awaitable<answer> ask(std::shared_ptr<state> self, std::shared_ptr<approval_subject const> subject,
                                       any_approval policy, preparation before_asking);
    static asio::awaitable<void> put(std::shared_ptr<state> self, std::shared_ptr<request> asked, any_approval policy,
                                     approval_request wanted, preparation before_asking);

    std::shared_ptr<state> state_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/gate/impl/approval_gate.ipp>
#endif
