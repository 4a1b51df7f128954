#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/matched_rule.hpp>

#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

namespace ipybox {

/**
 * \brief Rules that accept or reject actions without asking: `deny` beats `ask` beats `allow`; without a rule it is
 * asked.
 * \details Read from JSON, see docs/approvals.md:
 * \code
 * {"allow": [{"tool": "github.search_*"}, {"argv": ["git", "status", "**"]}],
 *  "ask":   [{"tool": "pay.*"}],
 *  "deny":  [{"argv": ["git", "push", "**"], "reason": "people push"}]}
 * \endcode
 * A shell line is split into its commands: each of them has to be allowed, one that is denied denies the line, and a
 * line that is not understood is asked. A program that can write the file decides what is accepted: keep it away from
 * the working directory.
 */
class approval_rules {
  public:
    /// The effect of rules on an action: it is accepted, rejected, or asked about.
    using effect = detail::rule_effect;

    /// The effect of all rules together, and the rule that decided.
    using matched_rule = detail::matched_rule;

    /// No rules: everything is asked.
    approval_rules() = default;

    /// Reads the text of a rules file. `name` stands before the place in the text of errc::invalid_argument:
    /// "rules.json:3:7: …", "rules.json/allow/2/op: …".
    [[nodiscard]] static result<approval_rules> parse(std::string_view text, std::string_view name = "rules");

    /// Reads a rules file, of at most 1 MiB.
    [[nodiscard]] static result<approval_rules> load(std::filesystem::path const& file);

    /// Whether there are none.
    [[nodiscard]] bool empty() const noexcept { return book_ == nullptr; }

    /// The effect of the rules on an action, and the rule that decided.
    [[nodiscard]] matched_rule judge(approval_subject const& subject) const;

  private:
    struct book;

    explicit approval_rules(std::shared_ptr<book const> read) : book_(std::move(read)) {}

    std::shared_ptr<book const> book_; ///< none where there are no rules
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/approval_rules.ipp>
#endif
