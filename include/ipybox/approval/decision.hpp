#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json_fwd.hpp>
#include <tl/expected.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ipybox {

class error;
class grant;

/**
 * \brief The answer to an approval request: accept, accept the commands of a line, accept with edited arguments, or
 * reject. An acceptance may grant more than was asked for.
 * \details Made by name only. Neither a bool nor a text turns into a decision by itself, and there is no default.
 */
class decision {
  public:
    /// The treatment of a rejected action that the same cell asks for once more.
    enum class when_repeated {
        reject, ///< it is rejected again, without asking
        ask,    ///< it is asked for again
    };

    struct line;

    /**
     * \brief Reads `{"id": N, "decision": "accept" or "reject", "arguments": {…}, "reason": "…", "grant": {…}}`, one
     * JSON object.
     * \details `arguments` (to use instead) and `grant` go with "accept", `reason` with "reject"; all three may be left
     * out. Nothing else is a decision: other members, a member that stands twice, `true`, "yes" or 1 in place of
     * "accept" are errc::invalid_argument.
     * \return a `result<decision::line>`
     */
    [[nodiscard]] static tl::expected<line, error> from_json(std::string_view text);

    /// The action is done as it was asked for.
    [[nodiscard]] static decision accept();

    /// The tool is called with these arguments instead. For requests that have arguments; others are rejected by this.
    [[nodiscard]] static decision accept(nlohmann::ordered_json edited_arguments);

    /**
     * \brief The action is done, as `approval_request::commands()` has it: for those who decided by the commands, and
     * not by the text.
     * \details A shell line is written anew, with every literal word in quotes, so that a shell starts what was looked
     * at also where it would read the line in some other way. A line that is not understood is rejected by this. Any
     * other action is done as it was asked for.
     */
    [[nodiscard]] static decision accept_commands();

    /// The action is not done; the code that wanted it gets the reason.
    [[nodiscard]] static decision reject(std::string reason = {}, when_repeated again = when_repeated::reject);

    /// The same, and what the grant covers is accepted from now on without asking. A rejection stays as it is.
    [[nodiscard]] decision and_grant(grant given) const;

    /// Whether the action may be done.
    [[nodiscard]] bool accepted() const noexcept { return accepted_; }

    /// The arguments to use instead, or nullptr.
    [[nodiscard]] nlohmann::ordered_json const* edited_arguments() const noexcept { return edited_.get(); }

    /// Whether a shell line is run as its commands were understood, and not as it was written.
    [[nodiscard]] bool by_commands() const noexcept { return by_commands_; }

    /// The grant that comes with it, or nullptr.
    [[nodiscard]] grant const* granted() const noexcept { return granted_.get(); }

    /// Why the action was rejected, never empty then.
    [[nodiscard]] std::string const& reason() const noexcept { return reason_; }

    /// For a rejection.
    [[nodiscard]] when_repeated again() const noexcept { return again_; }

  private:
    decision() = default;

    bool accepted_ = false;
    bool by_commands_ = false;
    std::string reason_;
    when_repeated again_ = when_repeated::reject;
    std::shared_ptr<nlohmann::ordered_json const> edited_;
    std::shared_ptr<grant const> granted_;
};

/// A decision that came as text, and which request it answers.
struct decision::line {
    /// The id of the request.
    std::uint64_t id;
    /// The decision about it.
    decision made;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/decision.ipp>
#endif
