#pragma once

#include <ipybox/core/config.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

namespace ipybox {

/// A time that a caller gave, as clocks can count it: not below zero, and at most ten years, which is longer than anything waits.
[[nodiscard]] constexpr std::chrono::milliseconds countable(std::chrono::milliseconds time) noexcept {
    constexpr std::chrono::milliseconds longest = std::chrono::hours(10 * 365 * 24);
    return std::clamp(time, std::chrono::milliseconds(0), longest);
}

/**
 * \brief A time budget that can be paused. Pauses nest: it goes on when as many resumed as paused.
 * \details Knows no clock: the caller says what time it is.
 */
class time_budget {
  public:
    using clock = std::chrono::steady_clock;

    /// Without a budget the deadline never comes.
    time_budget(std::optional<clock::duration> budget, clock::time_point now) : left_(budget), since_(now) {}

    /// When it runs out, if nothing changes.
    [[nodiscard]] clock::time_point deadline() const noexcept {
        return left_ && pauses_ == 0 ? since_ + *left_ : clock::time_point::max();
    }

    [[nodiscard]] bool exhausted(clock::time_point now) const noexcept { return now >= deadline(); }

    void pause(clock::time_point now) noexcept {
        if (pauses_++ == 0 && left_) *left_ -= now - since_;
    }

    void resume(clock::time_point now) noexcept {
        if (--pauses_ == 0) since_ = now;
    }

  private:
    std::optional<clock::duration> left_;
    clock::time_point since_;
    int pauses_ = 0;
};

} // namespace ipybox
