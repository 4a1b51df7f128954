#pragma once

#include <ipybox/core/error.hpp>
#include <ipybox/core/time_budget.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

namespace ipybox::detail {

/**
 * \brief How running code is brought to its end: interrupt, interrupt once more, kill.
 * \details Protocol only: the caller says what happened and when, and does what the returned step says.
 */
class stop_ladder {
  public:
    using clock = time_budget::clock;

    enum class step { none, interrupt, kill };

    /// The second interrupt comes this long after the first: the first may have hit an `except KeyboardInterrupt` on its way out.
    static constexpr std::chrono::milliseconds repeat_after{250};

    stop_ladder(time_budget budget, clock::duration grace) : budget_(budget), grace_(grace) {}

    /// When `on_time` has to be called next.
    [[nodiscard]] clock::time_point deadline() const noexcept { return reason_ ? next_ : budget_.deadline(); }

    /// Why the code is being ended, if it is.
    [[nodiscard]] std::optional<errc> reason() const noexcept { return reason_; }

    [[nodiscard]] time_budget& budget() noexcept { return budget_; }

    /// The end is wanted. The first reason counts.
    [[nodiscard]] step end(errc reason, clock::time_point now) {
        if (reason_) return step::none;
        reason_ = reason;
        kill_at_ = now + grace_;
        next_ = std::min<clock::time_point>(now + repeat_after, kill_at_);
        return step::interrupt;
    }

    /// The deadline has come.
    [[nodiscard]] step on_time(clock::time_point now) {
        if (!reason_) return budget_.exhausted(now) ? end(errc::timed_out, now) : step::none;
        if (now < next_) return step::none;
        if (now >= kill_at_) return step::kill;
        next_ = kill_at_;
        return step::interrupt;
    }

  private:
    time_budget budget_;
    clock::duration grace_;
    std::optional<errc> reason_;
    clock::time_point next_;
    clock::time_point kill_at_;
};

} // namespace ipybox::detail
