#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/core/owning_process.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/execution/job_output.hpp>
#include <ipybox/execution/job_state.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::detail {

class output_text;
enum class output_text_use { keep, look }; ///< whether what a reader is told stays as it is
class session_handle;
struct execution;

/// A wait for the end of a job, which its bound, its signal or that end completes. \par Thread safety Safe.
class job_wait {
  public:
    explicit job_wait(completion<bool> done) : slot_(done.slot()), done_(std::move(done)) {}

    void complete(bool has_ended) {
        if (!completed_.exchange(true)) done_(has_ended);
    }
    [[nodiscard]] bool has_completed() const noexcept { return completed_; }
    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return slot_; }

  private:
    asio::cancellation_slot const slot_;
    completion<bool> done_;
    std::atomic<bool> completed_ = false;
};

/**
 * \brief The state that the handles of a job share with its execution: how far it is, what was printed, and the result.
 * \details It holds nothing that belongs to a context, and may outlive the executor.
 * \par Thread safety Safe.
 */
class job_core {
  public:
    using waits = std::vector<std::shared_ptr<job_wait>>;

    job_core(std::string id, std::weak_ptr<session_handle> session)
        : id_(std::move(id)), session_(std::move(session)) {}
    job_core(job_core const&) = delete;
    job_core& operator=(job_core const&) = delete;
    ~job_core() = default;

    /// Which execution it is; set before that is submitted. It is not kept alive.
    void stands_for(std::shared_ptr<execution> const& e) { execution_ = e; }

    // --- what happens to it ---

    /// The kernel is given the code; what is printed will be in this text.
    void begin(std::shared_ptr<output_text const> text);

    /// It has ended, with a result that lacks the text. \return those who waited for that, who have been told
    waits end(result<execution_result> outcome);

    // --- what is asked of it ---

    [[nodiscard]] std::string const& id() const noexcept { return id_; }
    [[nodiscard]] job_state state() const noexcept { return state_; }
    [[nodiscard]] std::shared_ptr<session_handle> session() const { return session_.lock(); }

    /// Its execution, for the session; none when it is over, or in a fork.
    [[nodiscard]] std::shared_ptr<execution> of_session() const {
        return owner_.is_this() ? execution_.lock() : nullptr;
    }

    /// Blocks until it has ended, or the bound has passed. \return whether it has ended
    [[nodiscard]] bool wait(std::chrono::milliseconds bound) const;

    /// Tells this one of the end; false where that has come, or never will.
    [[nodiscard]] bool add(std::shared_ptr<job_wait> const& wait);

    /// Forgets one that waits no longer.
    void remove(std::shared_ptr<job_wait> const& wait);

    [[nodiscard]] job_output output(std::uint64_t from, std::uint64_t to,
                                    output_text_use use = output_text_use::keep) const;
    [[nodiscard]] result<execution_result> outcome() const;

  private:
    std::string const id_;
    std::weak_ptr<session_handle> const session_;
    std::weak_ptr<execution> execution_;
    owning_process const owner_;
    std::atomic<job_state> state_ = job_state::waiting;
    mutable std::mutex mutex_;
    mutable std::condition_variable ended_;
    std::shared_ptr<output_text const> text_;
    std::optional<result<execution_result>> outcome_;
    waits waits_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/job_core.ipp>
#endif
