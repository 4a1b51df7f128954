#pragma once

#include <ipybox/action/action_frame.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/os/unforked.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>

#include <memory>
#include <vector>

namespace ipybox::detail {

/**
 * \brief The host's end of a kernel's action socket: whole frames, and descriptors that travel with them
 * (docs/action-protocol.md section 1).
 * \details One `receive` at a time; `send` may be called while others go on, frames are written one after the other. A
 * kernel that does not read holds up only who sends to it.
 * \par Errors errc::kernel_died — the other end is closed; errc::message_too_large — it sent what is longer than any
 * frame
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once.
 */
class action_channel {
  public:
    action_channel(asio::any_io_executor executor, os::unique_fd socket);
    action_channel(action_channel const&) = delete;
    action_channel& operator=(action_channel const&) = delete;

    [[nodiscard]] asio::awaitable<result<action_frame>> receive();

    /// Descriptors go with the first byte of their frame.
    [[nodiscard]] asio::awaitable<result<void>> send(action_frame frame, std::vector<os::unique_fd> descriptors = {});

    /// Waits until the kernel has read all but a quarter of what the socket holds; false when it never will.
    [[nodiscard]] asio::awaitable<bool> is_read();

    /// Operations that wait here fail.
    void close();

  private:
    using socket_type = asio::local::stream_protocol::socket;

    [[nodiscard]] asio::awaitable<asio::error_code> send_first_byte(char byte,
                                                                    std::vector<os::unique_fd> const& descriptors);

    socket_type socket_;
    action_frame_reader reader_;
    bool writing_ = false;
    asio::steady_timer written_; ///< what waits to write
    os::unforked socket_unforked_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/action/impl/action_channel.ipp>
#endif
