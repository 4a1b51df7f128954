#pragma once

#include <ipybox/os/unique_fd.hpp>

#include <cli/approver.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace ipybox::cli {

/**
 * \brief Takes decisions as JSON lines from standard input: `{"id": 1, "decision": "accept"}` (docs/cli.md).
 * \details A line that is not a decision about a pending request changes nothing, and a complaint is written. At the
 * end of file all pending and later requests are rejected.
 */
class line_approver final : public approver {
  public:
    line_approver();
    ~line_approver() override;

    void decide(approval_request request) override;
    void forget() override;

  private:
    void read();
    void take(std::string const& line);

    os::unique_fd wake_;
    std::mutex mutex_;
    std::map<std::uint64_t, approval_request> waiting_;
    bool over_ = false; ///< no line will come any more
    std::thread reader_;
};

} // namespace ipybox::cli
