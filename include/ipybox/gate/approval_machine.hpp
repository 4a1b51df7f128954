#pragma once

#include <ipybox/approval/verdict.hpp>
#include <ipybox/gate/approval_settings.hpp>
#include <ipybox/rules/grants.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox::detail {

/// The digest that identifies an action: the same for arguments in another order.
[[nodiscard]] std::string digest_of(approval_subject const& subject);

/**
 * \brief The decisions about actions that need no question, and those that follow from earlier answers.
 * \details Protocol only: the caller asks, waits and keeps time.
 */
class approval_machine {
  public:
    using clock = std::chrono::steady_clock;

    approval_machine(approval_settings const& settings, clock::time_point now);

    /// An action is wanted: the verdict, or none where the policy has to be asked. In this order: the end of the cell,
    /// a repeated rejection, the budget, a rule that denies, the switch of its kind, a grant, the other rules.
    /// A digest that is known already is not made again, which takes long for long arguments.
    [[nodiscard]] std::optional<verdict> on_action(approval_subject const& subject, clock::time_point now,
                                                   std::optional<std::string> const& digest = std::nullopt);

    /// Whether an action is compared with those that were rejected before.
    [[nodiscard]] bool compares(approval_subject const& subject) const;

    /// Whether the arguments of an action count: for rules, the policy, or the comparison with what was rejected
    /// before.
    [[nodiscard]] bool reads_arguments(approval_subject const& subject) const;

    /// Whether a decision counts for later requests of its cell that are the same.
    [[nodiscard]] bool remembers(approval_subject const& subject, decision const& made, error::decider by) const;

    /// The verdict on an action that a rule denies; none where no rule does.
    [[nodiscard]] std::optional<verdict> denied(approval_subject const& subject) const;

    /// The policy has answered, or another party in its place.
    [[nodiscard]] verdict on_answer(approval_subject const& subject, decision made, error::decider by,
                                    clock::time_point now, std::optional<std::string> const& digest = std::nullopt);

    /// Later requests of the cell are rejected.
    void end_cell(std::string_view id) { cell_of(id).ended = true; }

    [[nodiscard]] grants& given() noexcept { return grants_; }

  private:
    struct cell {
        std::string id;
        bool ended = false;
        std::uint64_t calls = 0;
        std::map<std::string, std::string> rejected = {}; ///< digest of an action -> why
    };

    /// Several, as requests of a cell may come when the next one runs already; few, as the cells of a session have no
    /// end.
    static constexpr std::size_t remembered_cells = 16;

    /// So many that were rejected in a cell are known; then it begins anew, as a cell that asks for ever must not take
    /// memory for ever.
    static constexpr std::size_t remembered_rejections = 10'000;

    [[nodiscard]] cell& cell_of(std::string_view id);
    [[nodiscard]] std::optional<verdict> refused_by_cell(approval_subject const& subject,
                                                         std::optional<std::string> const& digest);
    [[nodiscard]] bool is_switched_off(approval_subject::action kind) const noexcept;

    bool const approve_tool_calls_;
    bool const approve_shell_cmds_;
    std::optional<std::uint64_t> const calls_per_cell_;
    decision::when_repeated const repeated_;
    approval_rules const rules_;
    grants grants_;
    std::deque<cell> cells_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/gate/impl/approval_machine.ipp>
#endif
