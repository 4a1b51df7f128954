#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/core/owning_process.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/http/message.hpp>

#include <asio/awaitable.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox::http {

/**
 * \brief The answer to one request, as it arrives.
 * \details Texts of errors are what a sentence about the server goes on with ("cannot be reached: …"). A body that is
 * not read is held back at the server once there is 1 MiB of it. One that is dropped ends as by `end`.
 * \par Thread safety `end` is safe. The operations are for one coroutine at a time.
 */
class response : public std::enable_shared_from_this<response> {
  public:
    response() = default;
    response(response const&) = delete;
    response& operator=(response const&) = delete;
    ~response();

    /// Waits for status and headers. \par Errors errc::mcp_unreachable; errc::timed_out; errc::cancelled
    [[nodiscard]] asio::awaitable<result<response_head>> head();

    /// Waits for more of the body; empty at its end. \par Errors as of `head`
    [[nodiscard]] asio::awaitable<result<std::string>> read();

    /// Reads the rest of the body. \par Errors as of `head`; errc::message_too_large
    [[nodiscard]] asio::awaitable<result<std::string>> read_all(std::size_t longest);

    /// The answer is not wanted any more: its connection is closed, and who waits for it gets errc::cancelled.
    void end();

    /// The rest of the answer is not wanted. Where it ends within a second, its connection is kept for others.
    void leave();

  private:
    friend class client;

    /// Bytes of a body that are kept until they are read.
    static constexpr std::size_t most_kept = std::size_t(1) << 20;

    // Of the client's thread.
    void take_head(response_head head);
    [[nodiscard]] bool take(std::string_view piece); ///< false: there is no room now
    void finish(std::optional<error> why);
    [[nodiscard]] bool is_ended() const noexcept { return is_ended_; }

    [[nodiscard]] asio::awaitable<void> changed();
    void tell(std::unique_lock<std::mutex> lock);

    // They tell the client; set before it begins.
    std::function<void()> on_end_;
    std::function<void()> on_leave_;
    std::function<void()> on_room_;
    std::atomic<bool> is_ended_ = false;

    ipybox::detail::owning_process const owner_;
    std::mutex mutex_; ///< of the rest; in a fork it may be locked for ever
    std::optional<response_head> head_;
    std::string body_;
    bool is_held_back_ = false;
    bool is_complete_ = false;
    std::optional<error> why_;
    bool has_changed_ = false;
    ipybox::detail::completion<bool> waiter_;
};

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/response.ipp>
#endif
