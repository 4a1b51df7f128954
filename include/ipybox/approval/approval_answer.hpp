#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/core/config.hpp>

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace ipybox::detail {

/**
 * \brief Where the answer to one approval request arrives: the first one counts.
 * \par Thread safety Safe, shared objects too.
 */
class approval_answer {
  public:
    approval_answer() = default;
    approval_answer(approval_answer const&) = delete;
    approval_answer& operator=(approval_answer const&) = delete;

    /// Answers, unless somebody was faster; tells whether this was the first answer. Calls those who wait, in this thread.
    bool decide(decision answer);

    [[nodiscard]] std::optional<decision> decided() const;

    /// Calls `waiting` with the answer: once, in the thread that answers, or at once where there is an answer already. Any number may wait.
    void on_decided(std::function<void(decision)> waiting);

  private:
    mutable std::mutex mutex_;
    std::optional<decision> answer_;
    std::vector<std::function<void(decision)>> waiting_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/approval_answer.ipp>
#endif
