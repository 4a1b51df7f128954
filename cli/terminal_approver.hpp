#pragma once

#include <ipybox/os/unique_fd.hpp>

#include <cli/approver.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace ipybox::cli {

/**
 * \brief Asks the person at the terminal, one request after the other.
 * \details Reads on a thread of its own, so that nobody waits for the person but the code. Questions are written to standard error. "y" accepts, "a" accepts and grants the same
 * for the session, everything else rejects: "n", an empty line, end of file (Ctrl-D), and any other text, which is the reason.
 */
class terminal_approver final : public approver {
  public:
    terminal_approver();
    ~terminal_approver() override;

    void decide(approval_request request) override;
    void forget() override;

  private:
    void work();
    void ask(approval_request const& request);

    os::unique_fd wake_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<approval_request> waiting_;
    bool asking_ = false;
    bool over_ = false;
    std::thread worker_; ///< since the first request
};

} // namespace ipybox::cli
