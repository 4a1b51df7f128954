#pragma once

#include <ipybox/core/error.hpp>
#include <ipybox/session/kernel_state.hpp>

#include <atomic>
#include <optional>
#include <utility>
#include <variant>

namespace ipybox::detail {

/// The phases of a kernel's life.
namespace kernel_phase {

struct stopped {
    bool on_request = false; ///< by `stop()`: only `start()` and `reset()` bring a fresh one
};
struct starting {
    bool replaces = false; ///< it takes the place of one whose state is lost
    bool abandoned = false;
};
struct idle {};
struct busy {};
struct interrupting {}; ///< the code that runs is being ended
struct dead {
    error why;
};
struct closed {};

using any = std::variant<stopped, starting, idle, busy, interrupting, dead, closed>;

} // namespace kernel_phase

/**
 * \brief The life of a session's kernel as a value: the caller says what happened, and asks what follows from it.
 * \details Protocol only. An event that does not fit the phase changes nothing; `docs/design.md` section 6 has the
 * picture.
 * \par Thread safety Unsafe, but `seen_from_outside` may be called from any thread.
 */
class kernel_lifecycle {
  public:
    /// Counts kernels. Events that may come late carry the number of their kernel, and are not heard when the session
    /// has gone on to another one, or to none.
    using generation = unsigned;

    // --- events ---

    /// `start()` was called: other calls may bring a kernel again.
    void allow_start() {
        if (auto* const s = in<kernel_phase::stopped>()) s->on_request = false;
    }

    /// A kernel is about to be started, in the place of the one that there may be.
    void start() {
        if (is<kernel_phase::starting>() || is<kernel_phase::closed>()) return;
        enter(kernel_phase::starting{.replaces = !is<kernel_phase::stopped>()});
    }

    /// The start is not waited for any more; false where there is none, or it was abandoned before.
    [[nodiscard]] bool abandon_start() {
        auto* const s = in<kernel_phase::starting>();
        return s && !std::exchange(s->abandoned, true);
    }

    /// The kernel answers; false where it was abandoned meanwhile: the start has failed then.
    [[nodiscard]] bool started() {
        auto const* const s = in<kernel_phase::starting>();
        if (!s || s->abandoned) return false;
        become(kernel_phase::idle());
        return true;
    }

    /// There is no kernel. If one was to be replaced, the next has to say that its state is fresh.
    void start_failed(error why) {
        auto const* const s = in<kernel_phase::starting>();
        if (!s) return;
        if (s->replaces)
            enter(kernel_phase::dead{std::move(why)});
        else
            enter(kernel_phase::stopped());
    }

    /// The kernel is given code.
    void execute() {
        if (is<kernel_phase::idle>()) become(kernel_phase::busy());
    }

    /// The code is to end.
    void interrupt() {
        if (is<kernel_phase::busy>()) become(kernel_phase::interrupting());
    }

    /// The code has ended.
    void finish() {
        if (runs_code()) become(kernel_phase::idle());
    }

    /// A kernel has ended, or is of no use any more, without having been asked to. False where that changes nothing: it
    /// was not this one.
    [[nodiscard]] bool died(generation which, error why) {
        if (which != generation_ || !(is<kernel_phase::idle>() || runs_code())) return false;
        become(kernel_phase::dead{std::move(why)});
        return true;
    }

    /// The kernel is to end. Its later events are not heard.
    void stop() {
        if (!is<kernel_phase::stopped>() && !is<kernel_phase::closed>()) enter(kernel_phase::stopped());
    }

    /// As `stop()`, and none is started until `allow_start`.
    void stop_on_request() {
        if (!is<kernel_phase::closed>()) enter(kernel_phase::stopped{.on_request = true});
    }

    /// As `stop()`, for ever.
    void close() {
        if (!is<kernel_phase::closed>()) enter(kernel_phase::closed());
    }

    // --- questions ---

    [[nodiscard]] generation current() const noexcept { return generation_; }
    [[nodiscard]] bool is_idle() const noexcept { return is<kernel_phase::idle>(); }
    [[nodiscard]] bool is_interrupting() const noexcept { return is<kernel_phase::interrupting>(); }
    [[nodiscard]] bool is_closed() const noexcept { return is<kernel_phase::closed>(); }
    [[nodiscard]] bool runs_code() const noexcept { return is<kernel_phase::busy>() || is_interrupting(); }

    [[nodiscard]] bool is_stopped_on_request() const noexcept {
        auto const* const s = in<kernel_phase::stopped>();
        return s && s->on_request;
    }
    [[nodiscard]] bool start_is_abandoned() const noexcept {
        auto const* const s = in<kernel_phase::starting>();
        return s && s->abandoned;
    }
    /// Whether the kernel that is about to be started takes the place of one whose state is lost.
    [[nodiscard]] bool replaces_another() const noexcept {
        auto const* const s = in<kernel_phase::starting>();
        return s && s->replaces;
    }
    /// Why the kernel is dead; none where it is not.
    [[nodiscard]] error const* death() const noexcept {
        auto const* const d = in<kernel_phase::dead>();
        return d ? &d->why : nullptr;
    }

    [[nodiscard]] kernel_phase::any const& now() const noexcept { return phase_; }

    /// The phase as an executor shows it.
    [[nodiscard]] kernel_state seen_from_outside() const noexcept { return seen_; }

  private:
    template <class Phase>
    [[nodiscard]] Phase* in() noexcept {
        return std::get_if<Phase>(&phase_);
    }
    template <class Phase>
    [[nodiscard]] Phase const* in() const noexcept {
        return std::get_if<Phase>(&phase_);
    }

    template <class Phase>
    [[nodiscard]] bool is() const noexcept {
        return std::holds_alternative<Phase>(phase_);
    }

    /// The same kernel goes on.
    void become(kernel_phase::any next) {
        phase_ = std::move(next);
        seen_ = shown();
    }

    /// Earlier events of the kernel do not count from now on.
    void enter(kernel_phase::any next) {
        ++generation_;
        become(std::move(next));
    }

    [[nodiscard]] kernel_state shown() const noexcept {
        if (is<kernel_phase::idle>()) return kernel_state::idle;
        if (runs_code()) return kernel_state::busy;
        return is<kernel_phase::dead>() ? kernel_state::dead : kernel_state::stopped;
    }

    kernel_phase::any phase_;
    generation generation_ = 0;
    std::atomic<kernel_state> seen_ = kernel_state::stopped;
};

} // namespace ipybox::detail
