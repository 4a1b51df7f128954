#include <ipybox/approval/grant.hpp>

#include <cli/terminal_approver.hpp>

#include <optional>
#include <sstream>
#include <string>

namespace ipybox::cli {
namespace {

decision decision_for(std::string const& typed, approval_request const& request) {
    if (typed == "y" || typed == "yes") return decision::accept();
    if (typed == "a" || typed == "always") return decision::accept().and_grant(grant::exactly(*request.subject()));
    return decision::reject(typed.empty() || typed == "n" || typed == "no" ? "" : typed);
}

std::string question_about(approval_request const& request) {
    std::ostringstream question;
    question << request << "\n[y]es, [n]o, [a]lways in this session, or why not: ";
    return std::move(question).str();
}

} // namespace

void terminal_approver::decide(approval_request request) {
    auto const answer = request.pending_answer();
    auto const take = [request](std::optional<std::string> const& typed) {
        request.answer(typed ? decision_for(*typed, request) : decision::reject("nobody answered"));
    };
    auto const number = terminal_.ask({terminal_question::kind::decision, question_about(request), take});
    answer->on_decided([&terminal = terminal_, number](decision const&) { terminal.withdraw(number); });
}

} // namespace ipybox::cli
