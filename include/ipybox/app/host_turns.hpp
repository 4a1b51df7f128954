#pragma once

#include <ipybox/app/call_questions.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include <memory>

namespace ipybox {

/**
 * \brief The calls that have an action decided which belongs to no cell: one at a time, which puts it to its client's
 * user.
 * \par Thread safety Unsafe: belongs to its executor.
 */
class host_turns {
  public:
    explicit host_turns(asio::any_io_executor const& executor);

    /// While it lives, it is the turn of a call.
    class turn {
      public:
        turn(host_turns& all, std::shared_ptr<mcp::server::call> const& call);
        turn(turn const&) = delete;
        turn& operator=(turn const&) = delete;
        ~turn();

      private:
        host_turns& all_;
    };

    /// Waits until the turn of the call before is over, or the waiting coroutine is cancelled. This object has to
    /// outlive the wait.
    [[nodiscard]] asio::awaitable<void> wait();

    [[nodiscard]] bool is_taken() const noexcept { return taken_; }

    /// The questions of the call whose turn it is; null where there is none, or its client's user cannot be asked.
    [[nodiscard]] std::shared_ptr<call_questions> const& questions() const noexcept { return questions_; }

  private:
    asio::any_io_executor const executor_;
    bool taken_ = false;
    asio::steady_timer free_; ///< cancelled when a turn ends
    std::shared_ptr<call_questions> questions_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/host_turns.ipp>
#endif
