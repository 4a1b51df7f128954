#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

/** \file
 * The question whether an action may be done, as a form that MCP clients show to people (MCP 2025-11-25,
 * "Elicitation"), and the decision that is filled in.
 */

namespace ipybox {

/// The text for the person: the action as `safe_text::of` shows it. \param session whose code asks, where a client has
/// several
[[nodiscard]] std::string question_about(approval_subject const& subject, std::string_view session = {});

/// The form: `decision` is `accept`, `accept_always` (a grant for the session: this host, or exactly this action) or
/// `reject`; `reason` is a text.
[[nodiscard]] nlohmann::ordered_json form_about(approval_subject const& subject);

/**
 * \brief The decision that was filled in.
 * \details Everything but a clear acceptance rejects. A person who turned the question away, or closed it, may be asked
 * again about the same.
 */
[[nodiscard]] decision decision_of(mcp::server::elicitation const& answer, approval_subject const& subject);

/// The grant of `accept_always`.
[[nodiscard]] grant lasting_grant(approval_subject const& subject);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/action_question.ipp>
#endif
