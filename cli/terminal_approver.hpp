#pragma once

#include <cli/approver.hpp>
#include <cli/terminal_questions.hpp>

namespace ipybox::cli {

/**
 * \brief Asks the person at the terminal about each request.
 * \details "y" accepts, "a" accepts and grants the same for the session, everything else rejects: "n", an empty line,
 * end of file (Ctrl-D), and any other text, which is the reason. Long text is shown in part; "v" shows all of it. A
 * request that is decided otherwise, as its cell was interrupted, is asked no longer.
 */
class terminal_approver final : public approver {
  public:
    explicit terminal_approver(terminal_questions& terminal) noexcept : terminal_(terminal) {}

    void decide(approval_request request) override;
    void make_way() override { terminal_.wait_for_decisions(); }

  private:
    terminal_questions& terminal_;
};

} // namespace ipybox::cli
