#pragma once

#include <ipybox/core/config.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

namespace ipybox {

/// A time that a caller gave, as clocks can count it: not below zero, and at most ten years, which is longer than
/// anything waits.
[[nodiscard]] constexpr std::chrono::milliseconds clamped(std::chrono::milliseconds time) noexcept {
    constexpr std::chrono::milliseconds longest = std::chrono::hours(10 * 365 * 24);
    return std::clamp(time, std::chrono::milliseconds(0), longest);
}

/**
 * \brief A time budget that can be paused. Pauses nest: it goes on when as many resumed as paused, or when all pauses
 * together were as long as they may be.
 * \details Knows no clock: the caller says what time it is.
 */
class time_budget {
  public:
    using clock = std::chrono::steady_clock;

    /// Without a budget the deadline never comes.
    time_budget(std::optional<clock::duration> budget, clock::time_point now,
                clock::duration longest_pause = clock::duration::max())
        : left_(budget), pause_left_(longest_pause), since_(now) {}

    /// When it runs out, if nothing changes.
    [[nodiscard]] clock::time_point deadline() const noexcept {
        constexpr auto never = clock::time_point::max();
        if (!left_) return never;
        if (pauses_ == 0) return since_ + *left_;
        return pause_left_ < never - since_ - *left_ ? since_ + pause_left_ + *left_ : never;
    }

    [[nodiscard]] bool exhausted(clock::time_point now) const noexcept { return now >= deadline(); }

    void pause(clock::time_point now) noexcept {
        if (pauses_++ > 0) return;
        if (left_) *left_ -= now - since_;
        since_ = now;
    }

    void resume(clock::time_point now) noexcept {
        if (--pauses_ > 0) return;
        auto const paused = std::min(now - since_, pause_left_);
        if (pause_left_ != clock::duration::max()) pause_left_ -= paused;
        since_ += paused;
    }

  private:
    std::optional<clock::duration> left_;
    clock::duration pause_left_;
    clock::time_point since_; ///< when it last began to count, or to pause
    int pauses_ = 0;
};

} // namespace ipybox
