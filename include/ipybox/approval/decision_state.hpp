#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/core/config.hpp>

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace ipybox::detail {

/**
 * \brief The decision about one approval request, once there is one: shared by the request and those who wait for it,
 * as the state of a promise is. The first decision counts.
 * \par Thread safety Safe, shared objects too.
 */
class decision_state {
  public:
    decision_state() = default;
    decision_state(decision_state const&) = delete;
    decision_state& operator=(decision_state const&) = delete;

    /// Decides, unless another decision was faster; returns whether this was the first. Calls those who wait, in this
    /// thread.
    bool decide(decision made);

    [[nodiscard]] std::optional<decision> decided() const;

    /// Calls `waiting` with the decision: once, in the thread that decides, or at once where there is one already. Any
    /// number may wait.
    void on_decided(std::function<void(decision)> waiting);

  private:
    mutable std::mutex mutex_;
    std::optional<decision> made_;
    std::vector<std::function<void(decision)>> waiting_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/decision_state.ipp>
#endif
