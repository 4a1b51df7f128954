#include <cli/approver.hpp>
#include <cli/line_approver.hpp>
#include <cli/terminal_approver.hpp>

#include <filesystem>
#include <string>
#include <utility>

namespace ipybox::cli {
namespace {

class same_answer final : public approver {
  public:
    explicit same_answer(decision made) : made_(std::move(made)) {}

    void decide(approval_request request) override { request.answer(made_); }

  private:
    decision made_;
};

decision rejected_because(std::string why) {
    return decision::reject(std::move(why) + "; `ipybox run --approve FILE` allows what rules say, --yes everything");
}

decision left_open_by(std::filesystem::path const& rules) {
    return decision::reject("no rule of " + rules.string() + " allows it, and there is no terminal to ask at");
}

} // namespace

std::unique_ptr<approver> make_approver(run_options const& options, terminal_questions& terminal) {
    switch (options.approval) {
    case approval_choice::ask: return std::make_unique<terminal_approver>(terminal);
    case approval_choice::lines: return std::make_unique<line_approver>();
    case approval_choice::automatic: return std::make_unique<same_answer>(decision::accept());
    case approval_choice::deny: return std::make_unique<same_answer>(rejected_because("this run denies it"));
    case approval_choice::no_terminal: break;
    }
    return std::make_unique<same_answer>(options.rules.empty() ? rejected_because("there is no terminal to ask at")
                                                               : left_open_by(options.rules));
}

} // namespace ipybox::cli
