#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/core/sha256.hpp>
#include <ipybox/gate/approval_machine.hpp>
#include <ipybox/rules/subject_json.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL std::string digest_of(approval_subject const& subject) {
    return sha256_hex(json_text(nlohmann::json(subject_to_json(subject))));
}

IPYBOX_DECL approval_machine::approval_machine(approval_settings const& settings, clock::time_point now)
    : approve_tool_calls_(settings.approve_tool_calls), approve_shell_cmds_(settings.approve_shell_cmds),
      calls_per_cell_(settings.calls_per_cell), repeated_(settings.repeated), rules_(settings.rules) {
    for (auto const& given : settings.grants) grants_.add(given, now);
}

IPYBOX_DECL approval_machine::cell& approval_machine::cell_of(std::string_view id) {
    auto const known = std::find_if(cells_.begin(), cells_.end(), [id](cell const& c) { return c.id == id; });
    if (known != cells_.end()) return *known;
    if (cells_.size() == remembered_cells) {
        grants_.end_cell(cells_.front().id);
        cells_.pop_front();
    }
    return cells_.emplace_back(cell{std::string(id)});
}

IPYBOX_DECL bool approval_machine::is_switched_off(approval_subject::action kind) const noexcept {
    switch (kind) {
    // A tool can do all that reading a resource or a prompt does.
    case approval_subject::action::tool:
    case approval_subject::action::resource:
    case approval_subject::action::prompt: return !approve_tool_calls_;
    case approval_subject::action::shell:
    case approval_subject::action::shell_magic: return !approve_shell_cmds_;
    // `%pip` does what `!pip` does: one who wants to be asked about nothing is not asked about it either.
    case approval_subject::action::package: return !approve_tool_calls_ && !approve_shell_cmds_;
    case approval_subject::action::server:
    case approval_subject::action::network: return false;
    }
    return false;
}

inline verdict denial(matched_rule denying) {
    auto reason = denying.reason.empty() ? "a rule denies it" : std::move(denying.reason);
    return verdict{decision::reject(std::move(reason)), error::decider::rule, std::move(denying.rule)};
}

IPYBOX_DECL std::optional<verdict> approval_machine::denied(approval_subject const& subject) const {
    auto matched = rules_.judge(subject);
    if (matched.effect != rule_effect::deny) return std::nullopt;
    return denial(std::move(matched));
}

IPYBOX_DECL bool approval_machine::compares(approval_subject const& subject) const {
    auto const has_rejected = [&](cell const& c) { return c.id == subject.cell_id && !c.rejected.empty(); };
    return !subject.of_application && std::ranges::any_of(cells_, has_rejected);
}

IPYBOX_DECL bool approval_machine::reads_arguments(approval_subject const& subject) const {
    return compares(subject) || !rules_.empty() || !is_switched_off(subject.kind);
}

/// Of the code that asks: whether it may ask at all, and for this.
IPYBOX_DECL std::optional<verdict> approval_machine::refused_by_cell(approval_subject const& subject,
                                                                     std::optional<std::string> const& digest) {
    auto& here = cell_of(subject.cell_id);
    ++here.calls;
    if (here.ended) return verdict{decision::reject("the code that asks has ended"), error::decider::cancellation};
    if (!here.rejected.empty()) {
        auto const before = here.rejected.find(digest ? *digest : digest_of(subject));
        if (before != here.rejected.end())
            return verdict{decision::reject("rejected before: " + before->second), error::decider::repetition};
    }
    if (calls_per_cell_ && here.calls > *calls_per_cell_) {
        auto reason = "this cell has asked for more than " + std::to_string(*calls_per_cell_) + " actions";
        return verdict{decision::reject(std::move(reason)), error::decider::budget};
    }
    return std::nullopt;
}

IPYBOX_DECL std::optional<verdict> approval_machine::on_action(approval_subject const& subject, clock::time_point now,
                                                               std::optional<std::string> const& digest) {
    if (!subject.of_application)
        if (auto refused = refused_by_cell(subject, digest)) return refused;
    auto matched = rules_.judge(subject);
    if (matched.effect == rule_effect::deny) return denial(std::move(matched));
    if (is_switched_off(subject.kind)) return verdict{decision::accept(), error::decider::switched_off};
    if (auto const number = grants_.use(subject, now))
        return verdict{decision::accept(), error::decider::grant, "grant " + std::to_string(*number)};
    if (matched.effect == rule_effect::allow) // of the commands that the rules know, in whatever text
        return verdict{decision::accept_commands(), error::decider::rule, std::move(matched.rule)};
    return std::nullopt;
}

IPYBOX_DECL bool approval_machine::remembers(approval_subject const& subject, decision const& made,
                                             error::decider by) const {
    bool const is_decided =
        by == error::decider::policy || by == error::decider::no_policy || by == error::decider::timeout;
    return is_decided && !made.accepted() && !subject.of_application && repeated_ == decision::when_repeated::reject &&
           made.again() == decision::when_repeated::reject;
}

IPYBOX_DECL verdict approval_machine::on_answer(approval_subject const& subject, decision made, error::decider by,
                                                clock::time_point now, std::optional<std::string> const& digest) {
    verdict said{std::move(made), by};
    if (auto const* granted = said.made.granted()) {
        said.granted = grants_.add(*granted, now, subject.cell_id);
        grants_.use(*said.granted, subject, now);
    }
    if (!remembers(subject, said.made, by)) return said;
    auto& rejected = cell_of(subject.cell_id).rejected;
    if (rejected.size() == remembered_rejections) rejected.clear();
    rejected.insert_or_assign(digest ? *digest : digest_of(subject), said.made.reason());
    return said;
}

} // namespace ipybox::detail
