#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/async/context_bound_executor.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/argument_check.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/call_result.hpp>

#include <asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace ipybox::detail {

/// The executor on which calls of one session are asked for and completed. It may go before what a call runs on.
using session_executor = std::shared_ptr<context_bound_executor const>;

/**
 * \brief One call of a host tool: its first outcome counts.
 * \details Held by what runs the function, which may outlive the session; the session holds it weakly, and its
 * completion belongs to the session's context.
 * \par Thread safety Safe. Nothing of the application's is called or destroyed with the lock held.
 */
class host_call : public std::enable_shared_from_this<host_call> {
  public:
    using outcome = result<mcp::call_result>;

    host_call(session_executor session, std::function<void(mcp::call_options::progress const&)> on_progress,
              completion<outcome> done)
        : session_executor_(std::move(session)), on_progress_(std::move(on_progress)), done_(std::move(done)) {}
    host_call(host_call const&) = delete;
    host_call& operator=(host_call const&) = delete;

    /// A call without any holder has an outcome all the same: the queue that it stood in is gone, say.
    ~host_call();

    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return done_.slot(); }

    [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

    [[nodiscard]] bool is_settled() const;

    /// The bounds of the check and the conversion of its arguments. For the thread that does that.
    check_budget budget;

    /// Brings an outcome; false where there is one already.
    bool settle(outcome value);

    /// Brings an error, and tells the function that it is not waited for.
    void cancel(error why);

    /// Sets what `cancel` calls besides; at once where it has been called.
    void on_cancel(std::function<void()> call);

    /// Reports to who asked. Reports that come faster than they are taken are left out, but for the last.
    void report(mcp::call_options::progress reached);

  private:
    void tell_progress();

    session_executor const session_executor_;
    std::function<void(mcp::call_options::progress const&)> const on_progress_;
    std::stop_source stop_;
    mutable std::mutex mutex_;
    completion<outcome> done_;
    bool settled_ = false;
    bool cancelled_ = false;
    std::function<void()> on_cancel_;
    std::optional<mcp::call_options::progress> unreported_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/tools/impl/host_call.ipp>
#endif
