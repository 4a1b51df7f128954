#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/approval/approval_settings.hpp>
#include <ipybox/approval/audit_log.hpp>
#include <ipybox/approval/grant.hpp>
#include <ipybox/approval/ruling.hpp>

#include <asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace ipybox {

/**
 * \brief What every action of a session passes before it is done.
 * \details Records the request, decides by what is settled (see `approval_settings`), asks the policy where nothing is, bounds the time that takes, and records the decision.
 * What the subject says about its cell has to come from the host: a kernel that chose its own `cell_id` could ask again and again.
 * \par Thread safety Unsafe; used on the executor that its operations run on, one thread or strand. Policies may answer from any thread.
 */
class approval_funnel {
  public:
    using preparation = std::function<asio::awaitable<void>()>;

    /// An id for a subject, unique in this process.
    [[nodiscard]] static std::uint64_t fresh_id();

    /// `waiting` is called with the number of requests that wait for the policy whenever it changes, so that time budgets can pause meanwhile.
    explicit approval_funnel(approval_settings settings, std::function<void(std::size_t)> waiting = {});

    approval_funnel(approval_funnel const&) = delete;
    approval_funnel& operator=(approval_funnel const&) = delete;

    /// Rejects what waits; `waiting` is not called any more.
    ~approval_funnel();

    /**
     * \brief Decides about an action. An id of 0 is replaced by a fresh one; a deadline is set where `approval_timeout` says so and none is given.
     * \param before_asking is awaited before the policy is asked: what has to be shown first. It counts as waiting, and is cancelled as the policy is.
     * \par Completion The ruling; does not throw. Several may be under way at once.
     * \par Cancellation terminal: rejects. Whatever ends the waiting, a policy's coroutine is cancelled, and who answers later is told that it is late.
     * \par Object lifetimes The funnel may go before; the policy is kept as long as it decides. The executor's context must outlive the operation.
     */
    [[nodiscard]] asio::awaitable<ruling> decide(approval_subject subject, any_approval policy,
                                                 preparation before_asking = {});

    /// Records what has been decided about an action already, and what becomes of it: it is rejected where a rule denies it, or the record cannot be written.
    [[nodiscard]] ruling settle(approval_subject const& subject, ruling said);

    /// Records how an accepted action ended. errc::audit_failed
    [[nodiscard]] result<void> finished(std::uint64_t id, action_outcome const& ended);

    /// A cell has ended, or is to end: what waits for a decision on its behalf is rejected, and what it asks for later.
    void cancel_cell(std::string_view cell_id);

    /// Rejects all that waits for a decision.
    void cancel_all();

    /// The same from any thread, whether or not the executor runs, and for what is asked later too.
    void abandon();

    /// How many requests wait for the policy.
    [[nodiscard]] std::size_t waiting() const noexcept;

    /// Grants something without having been asked; returns the grant's number. One for a cell belongs to the cell that is named.
    std::uint64_t give(grant what, std::string_view cell_id = {});

    /// Takes a grant back; false when there is none of that number (any more).
    bool revoke(std::uint64_t number);

  private:
    struct request;
    struct undecided;
    struct state;
    class place;

    static asio::awaitable<ruling> run(std::shared_ptr<state> self, approval_subject subject, any_approval policy,
                                       preparation before_asking);
    static asio::awaitable<ruling> ask(std::shared_ptr<state> self, std::shared_ptr<approval_subject const> subject,
                                       any_approval policy, preparation before_asking);
    static asio::awaitable<void> put(any_approval policy, approval_request request, preparation before_asking);

    std::shared_ptr<state> state_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/approval_funnel.ipp>
#endif
