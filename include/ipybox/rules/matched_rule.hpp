#pragma once

#include <string>

namespace ipybox::detail {

/// The effect of rules on an action.
enum class rule_effect {
    allow, ///< it is accepted without asking
    ask,   ///< the approval policy decides
    deny,  ///< it is rejected without asking
};

/// The effect of all rules together, and the rule that decided.
struct matched_rule {
    /// The effect of the rules on the action.
    rule_effect effect = rule_effect::ask;
    std::string rule = {};   ///< "deny[2]", counted from 0, or the pattern; empty if no rule is about the action
    std::string reason = {}; ///< the rule's own, or why it has to be asked
};

} // namespace ipybox::detail
