#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/** \file
 * The question whether an action may be done, as a form that MCP clients show to people (MCP 2025-11-25,
 * "Elicitation"), and the decision that is filled in.
 */

namespace ipybox {

/**
 * \brief The text for the person: the action as `safe_text::of` shows it.
 * \details Clients draw it as plain text, as Markdown or as HTML. The action stands behind an empty line and a margin
 * of four blanks, which is a block of code in Markdown: each of its characters is drawn, and none has a meaning. Of a
 * long action the middle is left out, but not of a server.
 * \param session whose code asks, where a client has several
 */
[[nodiscard]] std::string question_about(approval_subject const& subject, std::string_view session = {});

/// The longest entry of a server that is asked about, in characters as `safe_text` spells them.
inline constexpr std::size_t longest_server_entry = 8'000;

/// A paragraph of a question: a sentence of ours, and below it texts of others, drawn as the action is.
[[nodiscard]] std::string question_paragraph(std::string_view sentence, std::vector<std::string> const& texts);

/// The form: `decision` is `accept`, `accept_in_cell` (for the tool of a cell: a grant for this tool, whatever its
/// arguments, until the cell ends), `accept_always` (a grant for the session: this host, or exactly this action) or
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

/// The grant of `accept_in_cell`; none for other actions than calls of tools in a cell.
[[nodiscard]] std::optional<grant> grant_in_cell(approval_subject const& subject);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/action_question.ipp>
#endif
