#pragma once

#include <ipybox/core/read_buffer.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/jupyter/message.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

/** \file
 * The framing of Jupyter messages on a byte stream: docs/kernel-protocol.md section 3. No sockets here.
 */

namespace ipybox {

/// The largest message that is accepted, in bytes.
inline constexpr std::uint32_t largest_stream_message = std::uint32_t(64) << 20;

/// The largest message that a kernel accepts, in bytes: `MAX_MESSAGE` of its wire.py, beyond which it ends.
inline constexpr std::size_t largest_message_to_kernel = std::size_t(256) << 20;

/// The bytes of a message. Gives it an id when it has none.
[[nodiscard]] std::string to_stream_frame(jupyter::message& m);

/// A large message whose frames were read, and not looked into yet.
struct unread_message {
    jupyter::message::channel on = jupyter::message::channel::shell;
    std::vector<std::string> frames;
    std::size_t length = 0;   ///< of the whole, behind its length
    std::uint64_t number = 0; ///< as in `jupyter::message`

    /// Bytes of its JSON: reading that takes time, buffers beside it do not.
    [[nodiscard]] std::size_t json_size() const noexcept;
};

/// Reads a large message, on any thread.
/// \par Errors errc::protocol_error, errc::message_too_large
[[nodiscard]] result<jupyter::message> read_message(unread_message whole);

/**
 * \brief Cuts a byte stream into messages.
 * \details Feed it by reading into `prepare()` and telling `commit()` how much came; then take messages with `next()`
 * until there is none. Memory is bounded by one message and one read. The frames of a large message are put together as
 * they come, so that no step takes long.
 */
class stream_frame_reader {
  public:
    /// The place to read to, never empty.
    [[nodiscard]] std::span<char> prepare();

    /// So many bytes were read.
    void commit(std::size_t count) noexcept { bytes_.commit(count); }

    using item = std::variant<jupyter::message, unread_message>;

    /// The next complete message, with its number; none when more bytes are needed; errc::protocol_error or
    /// message_too_large, after which the stream is of no use. A large one is for `read_message`.
    [[nodiscard]] result<std::optional<item>> next_item();

    /// The same, with all messages read.
    [[nodiscard]] result<std::optional<jupyter::message>> next();

    static constexpr std::size_t read_size = detail::read_buffer::read_size;

  private:
    /// A message of which only a part was read: the last of its frames may not be complete.
    struct partial {
        std::vector<std::uint32_t> sizes;
        unread_message message;
    };

    [[nodiscard]] result<std::optional<item>> begin_partial(std::size_t length);
    [[nodiscard]] result<std::optional<item>> next_of_partial();
    [[nodiscard]] bool is_complete();

    detail::read_buffer bytes_;
    std::optional<partial> partial_;
    std::uint64_t count_ = 0; ///< of the messages so far
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/transport/impl/stream_frame.ipp>
#endif
