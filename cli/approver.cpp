#include <cli/approver.hpp>
#include <cli/line_approver.hpp>
#include <cli/terminal_approver.hpp>

namespace ipybox::cli {
namespace {

class same_answer final : public approver {
  public:
    explicit same_answer(bool accept) : accept_(accept) {}

    void decide(approval_request request) override {
        if (accept_)
            request.accept();
        else
            request.reject("actions are not approved in this run (--approve)");
    }

  private:
    bool accept_;
};

} // namespace

std::unique_ptr<approver> make_approver(approval_choice choice) {
    switch (choice) {
    case approval_choice::ask: return std::make_unique<terminal_approver>();
    case approval_choice::lines: return std::make_unique<line_approver>();
    case approval_choice::automatic: return std::make_unique<same_answer>(true);
    case approval_choice::deny: break;
    }
    return std::make_unique<same_answer>(false);
}

} // namespace ipybox::cli
