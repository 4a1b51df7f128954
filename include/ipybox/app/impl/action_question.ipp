#pragma once

#include <ipybox/app/action_question.hpp>
#include <ipybox/approval/safe_text.hpp>
#include <ipybox/rules/grant.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace ipybox {
namespace detail {

/// Markdown takes rows with this margin behind an empty one for a block of code.
inline constexpr auto code_margin = "    ";

/// A sentence before the action: the effect of an agreement.
inline std::string opening_of(approval_subject::action kind, std::string_view session) {
    // Names of sessions have underscores, which are emphasis in Markdown; backticks they have not.
    auto const code = session.empty() ? std::string("The Python code")
                                      : "The Python code of the session `" + std::string(session) + "`";
    switch (kind) {
    case approval_subject::action::tool: return code + " wants to call a tool:";
    case approval_subject::action::shell:
    case approval_subject::action::shell_magic: return code + " wants to run a command:";
    case approval_subject::action::package: return "These packages are to be installed for the Python code:";
    case approval_subject::action::server:
        return "This program is to be started, outside of the sandbox, as an MCP server for the Python code:";
    case approval_subject::action::network: return code + " wants to connect to a host:";
    case approval_subject::action::resource: return code + " wants to read from a server:";
    case approval_subject::action::prompt: return code + " wants a prompt of a server:";
    }
    return code + " wants to do this:";
}

inline std::string_view always_of(approval_subject::action kind) noexcept {
    return kind == approval_subject::action::network ? "Accept, and this host always in this session"
                                                     : "Accept, and exactly the same always in this session";
}

inline decision turned_away(std::string reason) {
    return decision::reject(std::move(reason), decision::when_repeated::ask);
}

/// A member of an object, or an empty text.
inline std::string text_member(nlohmann::ordered_json const& object, char const* name) {
    if (!object.is_object()) return {};
    auto const found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace detail

IPYBOX_DECL std::string question_about(approval_subject const& subject, std::string_view session) {
    // Clients have dialogs of their own sizes: people do not read more rows than these there. A server runs outside of
    // the sandbox, so all of it is shown (its length has a bound: `longest_server_entry`).
    safe_text::options const shape{.columns = 100,
                                   .rows = subject.kind == approval_subject::action::server ? std::size_t{0} : 24,
                                   .margin = detail::code_margin,
                                   .drawn_by = safe_text::front_end::markup};
    return detail::opening_of(subject.kind, session) + "\n\n" + safe_text::of(subject, shape).text();
}

IPYBOX_DECL std::string question_paragraph(std::string_view sentence, std::vector<std::string> const& texts) {
    std::string text(sentence);
    auto const* end_of_row = "\n\n";
    for (auto const& each : texts)
        text.append(std::exchange(end_of_row, "\n"))
            .append(detail::code_margin)
            .append(safe_text::word(each, safe_text::front_end::markup));
    return text;
}

IPYBOX_DECL nlohmann::ordered_json form_about(approval_subject const& subject) {
    using json = nlohmann::ordered_json;
    auto values = json::array({"accept"});
    auto names = json::array({"Accept"});
    if (grant_in_cell(subject)) {
        values.emplace_back("accept_in_cell");
        names.emplace_back("Accept, and this tool until the cell ends, with any arguments");
    }
    values.insert(values.end(), {"accept_always", "reject"});
    names.insert(names.end(), {detail::always_of(subject.kind), "Reject"});
    // `enumNames` is what clients of all versions show; `oneOf` came with 2025-11-25.
    json const choice{{"type", "string"}, {"title", "Decision"}, {"enum", values}, {"enumNames", names}};
    json const reason{{"type", "string"},
                      {"title", "Reason"},
                      {"description", "Of a rejection: the code is told."},
                      {"maxLength", 500}};
    return {{"type", "object"},
            {"properties", {{"decision", choice}, {"reason", reason}}},
            {"required", json::array({"decision"})}};
}

IPYBOX_DECL grant lasting_grant(approval_subject const& subject) {
    return subject.kind == approval_subject::action::network ? grant::this_host(subject) : grant::exactly(subject);
}

IPYBOX_DECL std::optional<grant> grant_in_cell(approval_subject const& subject) {
    if (subject.kind != approval_subject::action::tool || subject.cell_id.empty()) return std::nullopt;
    return grant::this_tool(subject).in_this_cell();
}

IPYBOX_DECL decision decision_of(mcp::server::elicitation const& answer, approval_subject const& subject) {
    switch (answer.action) {
    case mcp::server::elicitation::response::accept: break;
    case mcp::server::elicitation::response::decline: return detail::turned_away("the user declined");
    case mcp::server::elicitation::response::cancel: return detail::turned_away("the user closed the question");
    }
    auto const made = detail::text_member(answer.content, "decision");
    if (made == "accept") return decision::accept();
    if (made == "accept_always") return decision::accept().and_grant(lasting_grant(subject));
    if (made == "accept_in_cell")
        if (auto const granted = grant_in_cell(subject)) return decision::accept().and_grant(*granted);
    if (made != "reject") return detail::turned_away("the answer of the client has no decision");
    auto const reason = detail::text_member(answer.content, "reason");
    // An action that belongs to no cell is the model's own call, each a new one.
    auto const again = subject.cell_id.empty() ? decision::when_repeated::ask : decision::when_repeated::reject;
    return decision::reject(reason.empty() ? "the user rejected it" : "the user rejected it: " + reason, again);
}

} // namespace ipybox
