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
 *
 * The grace is for code that knows of the interrupt. So it counts from the moment the kernel says that the code has
 * been told, not from the signal, which a long call into C or a machine without a free processor may hold up. It ends
 * where the kernel says that the code has ended: what is left, as the rendering of a traceback, is the kernel's own
 * work and has a bound of its own. A kernel that says neither (a foreign one) has the bound of one that was not
 * reached.
 */
class stop_ladder {
  public:
    using clock = time_budget::clock;

    enum class step { none, interrupt, kill };

    /// The second interrupt comes this long after code was told of the first, which may have hit an `except
    /// KeyboardInterrupt` on its way out.
    static constexpr std::chrono::milliseconds repeat_after{250};

    /// It comes so long after the first where the kernel says nothing: a foreign one may have lost the first.
    static constexpr std::chrono::seconds repeat_unheard_after{1};

    /// Code that was not told within so many graces is not told any more.
    static constexpr int graces_until_told = 5;

    /// How long a kernel may take to finish a cell whose code has ended; half of it is left to callbacks before they
    /// are interrupted too.
    static constexpr std::chrono::seconds finish_within{10};

    stop_ladder(time_budget budget, clock::duration grace) : budget_(budget), grace_(grace) {}

    /// When `on_time` has to be called next.
    [[nodiscard]] clock::time_point deadline() const noexcept {
        return reason_ ? std::min(repeat_at_, kill_at_) : budget_.deadline();
    }

    /// Why the code is being ended, if it is.
    [[nodiscard]] std::optional<errc> reason() const noexcept { return reason_; }

    [[nodiscard]] time_budget& budget() noexcept { return budget_; }

    /// The end is wanted. The first reason counts.
    [[nodiscard]] step end(errc reason, clock::time_point now) {
        if (reason_) return step::none;
        reason_ = reason;
        repeat_at_ = now + std::min<clock::duration>(grace_, repeat_unheard_after);
        kill_at_ = now + graces_until_told * grace_;
        return step::interrupt;
    }

    /// The kernel says that its code has been told of the interrupt. The first time counts.
    void told(clock::time_point now) {
        if (!reason_ || told_ || finishing_) return;
        told_ = true;
        repeat_at_ = now + repeat_after;
        kill_at_ = std::min(kill_at_, now + grace_);
    }

    /// The kernel says that its code has ended, and that it finishes the cell. The first time counts.
    void code_ended(clock::time_point now) {
        if (!reason_ || finishing_) return;
        finishing_ = true;
        repeat_at_ = now + finish_within / 2;
        kill_at_ = now + finish_within;
    }

    /// The deadline has come.
    [[nodiscard]] step on_time(clock::time_point now) {
        if (!reason_) return budget_.exhausted(now) ? end(errc::timed_out, now) : step::none;
        if (now >= kill_at_) return step::kill;
        if (now < repeat_at_) return step::none;
        repeat_at_ = clock::time_point::max();
        return step::interrupt;
    }

  private:
    time_budget budget_;
    clock::duration grace_;
    std::optional<errc> reason_;
    bool told_ = false;
    bool finishing_ = false;
    clock::time_point repeat_at_;
    clock::time_point kill_at_;
};

} // namespace ipybox::detail
