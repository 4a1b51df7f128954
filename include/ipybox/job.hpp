#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/execution/job_output.hpp>
#include <ipybox/execution/job_state.hpp>

#include <asio/async_result.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace ipybox {
namespace detail {
class job_core;
}

/**
 * \brief An execution that goes on by itself: a handle, of which there may be any number. `executor_base::submit` makes
 * it.
 * \details A job ends when its code has, whether there are handles or not; what it printed and its result are kept as
 * long as there is one. Its actions are approved as those of every execution. When the executor is destroyed or
 * stopped, its jobs end with errc::not_running, and keep what they printed.
 * \par Thread safety Safe, except that a handle must not be assigned to while another thread uses it. No operation but
 * `wait` blocks.
 * \par Fork In a forked child nothing of a job is known: `result` is errc::not_running.
 */
class job {
  public:
    /// The stages of a job: waiting, running, ended.
    using stage = detail::job_state;

    /// A part of what a job has printed so far.
    using output_part = detail::job_output;

    /// Made by the library.
    explicit job(std::shared_ptr<detail::job_core> core) noexcept;

    // Copies stand for the same job. There is no moving, so every handle stands for a job.
    /// A handle of the same job.
    job(job const&) noexcept = default;
    /// Becomes a handle of the other job. This one goes on.
    job& operator=(job const&) noexcept = default;
    ~job() = default;

    /// A short text that no other job of the executor has: "1", "2", …
    [[nodiscard]] std::string const& id() const noexcept;

    /// A snapshot.
    [[nodiscard]] stage state() const;

    /**
     * \brief Waits until the job has ended, at most for `bound`. \return whether it has
     * \details The thread that serves the executor must not call this: the job cannot end while it waits. `async_wait`
     * is for such threads.
     */
    [[nodiscard]] bool wait(std::chrono::milliseconds bound) const;

    /**
     * \brief Waits until the job has ended, at most for `bound`.
     * \par Completion        void(bool), exactly once, never inline: whether the job has ended
     * \par Cancellation      terminal, partial, total: completes with false at once, unless the job has ended; the job
     * goes on
     * \par Object lifetimes  The handle may be dropped, and the executor destroyed meanwhile.
     */
    template <asio::completion_token_for<void(bool)> Token = asio::use_awaitable_t<>>
    auto async_wait(std::chrono::milliseconds bound, Token&& token = Token{}) const {
        return asio::async_initiate<Token, void(bool)>(
            [core = core_](auto handler, std::chrono::milliseconds longest) {
                auto const session = lender_of(*core);
                start_wait(core, longest, {std::move(handler), *session});
            },
            token, bound);
    }

    /// Everything behind a position.
    static constexpr std::uint64_t npos = ~std::uint64_t(0);

    /**
     * \brief The text that the job has printed so far, with the plain text of its displays, between two positions: as
     * much of it as there is.
     * \details The text is `execution_result::text` with the white space at its ends. In memory it is bounded by
     * `executor_options::output.max_memory`, as that is: its head and its tail stay, the whole goes to a file. Both
     * positions are moved back to the beginning of the character that they are within. Within four bytes there may be
     * no whole character.
     */
    [[nodiscard]] output_part output(std::uint64_t from = 0, std::uint64_t to = npos) const;

    /// The same from a position on, for a look: the last line may still be overwritten, as progress bars are, while
    /// `output` keeps what it has told of.
    [[nodiscard]] output_part preview(std::uint64_t from = 0) const;

    /// Raises KeyboardInterrupt in the code, as Ctrl-C would; the job ends as the code makes it end. Nothing happens
    /// while the kernel does not run this job. Returns at once.
    void interrupt() const;

    /// Cancels this job alone, as `executor_base::cancel` does: one that waits never starts, the code of a running one
    /// is interrupted. Returns at once.
    void cancel() const;

    /**
     * \brief The result, with a copy of everything that was printed.
     * \par Errors errc::still_running — the job has not ended; those of `executor_base::execute`
     */
    [[nodiscard]] ipybox::result<execution_result> result() const;

    /// Whether both stand for the same job.
    friend bool operator==(job const& a, job const& b) noexcept { return a.core_ == b.core_; }

  private:
    static void start_wait(std::shared_ptr<detail::job_core> const& core, std::chrono::milliseconds bound,
                           detail::completion<bool> done);
    static std::shared_ptr<detail::executor_lender const> lender_of(detail::job_core const& core);

    std::shared_ptr<detail::job_core> core_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/impl/job.ipp>
#endif
