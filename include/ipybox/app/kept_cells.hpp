#pragma once

#include <ipybox/app/cell_answer.hpp>
#include <ipybox/approval/approval_request.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/job.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox {

class call_questions;

/**
 * \brief A cell that a model asked for: the job, and the approvals that it waits for.
 * \details A request goes to the questions of a call that attends to the cell. Without such a call it waits for the
 * next one.
 * \par Thread safety Unsafe.
 */
class kept_cell {
  public:
    kept_cell(job handle, bool can_be_asked) : job_(std::move(handle)), can_be_asked_(can_be_asked) {}

    [[nodiscard]] job const& handle() const noexcept { return job_; }
    [[nodiscard]] std::string const& id() const noexcept { return job_.id(); }
    [[nodiscard]] bool has_ended() const { return job_.state() == detail::job_state::ended; }

    /// Whether the client that submitted it has a user who can be asked.
    [[nodiscard]] bool can_be_asked() const noexcept { return can_be_asked_; }

    /// An action of the cell is to be approved.
    void ask(approval_request request);

    /// The job has ended: its observers are told.
    void end();

    /// Its state, with the output from a position on.
    [[nodiscard]] cell_view view(std::uint64_t from = 0) const;

    /// While it lives, a call attends to the cell. \param wake called when the cell has ended
    class attendance {
      public:
        attendance(std::shared_ptr<kept_cell> cell, std::shared_ptr<call_questions> questions,
                   std::function<void()> wake);
        attendance(attendance const&) = delete;
        attendance& operator=(attendance const&) = delete;
        ~attendance();

      private:
        friend class kept_cell;

        std::shared_ptr<kept_cell> cell_;
        std::shared_ptr<call_questions> questions_; ///< none: the client's user cannot be asked
        std::function<void()> wake_;
        std::list<attendance*>::iterator at_;
    };

  private:
    job job_;
    bool can_be_asked_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::deque<approval_request> unasked_;
    std::list<attendance*> attending_;
};

/**
 * \brief The cells of a session: those that run or wait, and the latest that have ended.
 * \par Thread safety Unsafe.
 */
class kept_cells {
  public:
    static constexpr std::size_t most_ended = 16; ///< the oldest makes room
    static constexpr std::size_t most_open = 32;  ///< one more is refused

    /// Whether one more may be submitted. \par Errors errc::invalid_argument
    [[nodiscard]] result<void> check_room() const;

    void add(std::shared_ptr<kept_cell> cell);

    /// \par Errors errc::invalid_argument — no cell of that id is kept; an empty one means the latest
    [[nodiscard]] result<std::shared_ptr<kept_cell>> find(std::string_view id) const;

    /// The one that the kernel runs, or else the first that waits; none where there is none.
    [[nodiscard]] std::shared_ptr<kept_cell> running() const;

    /// Forgets the oldest of those that have ended, where they are too many.
    void make_room();

    [[nodiscard]] std::size_t size() const noexcept { return cells_.size(); }

  private:
    std::deque<std::shared_ptr<kept_cell>> cells_; ///< oldest first
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/kept_cells.ipp>
#endif
