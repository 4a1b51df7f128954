#include <ipybox/approval/decision_state.hpp>
#include <ipybox/approval/safe_text.hpp>
#include <ipybox/rules/grant.hpp>

#include <cli/terminal_approver.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace ipybox::cli {
namespace {

/// What "always" means: this action, or this host, whichever the port.
grant lasting_grant(approval_subject const& subject) {
    return subject.kind == approval_subject::action::network ? grant::this_host(subject) : grant::exactly(subject);
}

decision decision_for(std::string const& typed, approval_request const& request) {
    if (typed == "y" || typed == "yes") return decision::accept();
    if (typed == "a" || typed == "always") return decision::accept().and_grant(lasting_grant(*request.subject()));
    return decision::reject(typed.empty() || typed == "n" || typed == "no" ? "" : typed);
}

/// Rows that stay free, for what says it once more, and for an answer.
constexpr std::size_t rows_of_question = 6;
constexpr std::size_t most_rows = 20;

std::string question_about(approval_subject const& subject, terminal_size size, question_extent extent) {
    auto const room = size.rows > rows_of_question ? size.rows - rows_of_question : 0;
    auto const rows = extent == question_extent::all ? 0 : std::clamp<std::size_t>(room, 3, most_rows);
    auto const shown = safe_text::of(subject, {.columns = size.columns, .rows = rows});
    auto question = shown.text() + "\n";
    if (shown.rows.size() > 1)
        question += safe_text::title(subject) + ", " + std::to_string(shown.characters) + " characters" +
                    (shown.left_out > 0 ? ", not all of which are shown" : "") + "\n";
    auto const* const always =
        subject.kind == approval_subject::action::network ? "[a]lways for this host" : "[a]lways exactly this";
    return question + (shown.left_out > 0 ? "[v]iew all, [y]es, " : "[y]es, ") + "[n]o, " + always +
           " in this session, or why not: ";
}

} // namespace

void terminal_approver::decide(approval_request request) {
    auto const take = [request](std::optional<std::string> const& typed) {
        request.answer(typed ? decision_for(*typed, request) : decision::reject("the question was not answered"));
    };
    auto const text = [subject = request.subject()](terminal_size size, question_extent extent) {
        return question_about(*subject, size, extent);
    };
    auto const number = terminal_.ask({terminal_question::kind::decision, "", text, take});
    request.on_decided([&terminal = terminal_, number](decision const&) { terminal.withdraw(number); });
}

} // namespace ipybox::cli
