#pragma once

#include <asio/io_context.hpp>

#include <time.h>

#include <algorithm>
#include <chrono>

namespace ipybox::test {

/// Runs the handlers of a context one by one, and compares the longest with all the work of the process: in time of the
/// processor, of which a busy machine gives less but does not count more.
class turns {
  public:
    explicit turns(asio::io_context& context) : context_(context) {}

    /// Runs handlers until something is so, but no longer than a bound.
    template <class Condition>
    bool until(Condition condition) {
        auto const bound = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!condition() && std::chrono::steady_clock::now() < bound) {
            context_.restart();
            auto const began = spent(CLOCK_THREAD_CPUTIME_ID);
            (void)context_.run_one_for(std::chrono::seconds(1));
            longest_ = std::max(longest_, spent(CLOCK_THREAD_CPUTIME_ID) - began);
        }
        return condition();
    }

    /// Which part of the work the longest handler has done.
    [[nodiscard]] double longest_part() const { return longest_ / (spent(CLOCK_PROCESS_CPUTIME_ID) - all_before_); }

  private:
    using seconds = std::chrono::duration<double>;

    static seconds spent(clockid_t clock) {
        timespec now{};
        ::clock_gettime(clock, &now);
        return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
    }

    asio::io_context& context_;
    seconds const all_before_ = spent(CLOCK_PROCESS_CPUTIME_ID);
    seconds longest_{0};
};

} // namespace ipybox::test
