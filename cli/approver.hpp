#pragma once

#include <ipybox/approval/approval_request.hpp>

#include <cli/run_options.hpp>
#include <cli/terminal_questions.hpp>

#include <memory>

namespace ipybox::cli {

/// Answers the approval requests of a run. A request that it drops is rejected.
class approver {
  public:
    approver() = default;
    approver(approver const&) = delete;
    approver& operator=(approver const&) = delete;
    virtual ~approver() = default;

    /// Answers, now or later.
    virtual void decide(approval_request request) = 0;

    /// Waits while output of the code would stand in the way of a question.
    virtual void make_way() {}

    /// The cell is over: its answers are no longer needed.
    virtual void forget() {}
};

/// The approver that was asked for.
[[nodiscard]] std::unique_ptr<approver> make_approver(run_options const& options, terminal_questions& terminal);

} // namespace ipybox::cli
