#pragma once

#include <ipybox/core/read_buffer.hpp>
#include <ipybox/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

/** \file
 * The framing of the action channel: docs/action-protocol.md section 1. No sockets here.
 */

namespace ipybox::detail {

/// The largest frame that is accepted, in bytes: 64 MiB, and what says what they are.
inline constexpr std::uint32_t largest_action_request = std::uint32_t(65) << 20;

/// The largest frame that is sent: results of tools may be large.
inline constexpr std::uint32_t largest_action_answer = std::uint32_t(256) << 20;

/// The frames of the action channel: JSON that says what it is, and bytes that are not worth being JSON.
struct action_frame {
    std::string head; ///< a JSON object
    std::string body = {};
};

/// The bytes before the body of a frame: both lengths, and the head. Bodies may be large, and are not copied.
[[nodiscard]] std::string bytes_before_body(action_frame const& frame);

/// Cuts a byte stream into frames, as `stream_frame_reader` does for messages. Large ones are put together as they
/// come, so that no step takes long.
class action_frame_reader {
  public:
    /// The place to read to, never empty.
    [[nodiscard]] std::span<char> prepare();

    /// So many bytes were read.
    void commit(std::size_t count) noexcept { bytes_.commit(count); }

    /// The next complete frame, without a head where that would be longer than the frame; none when more bytes are
    /// needed; errc::message_too_large, after which the stream is of no use: where the next frame begins is not known.
    [[nodiscard]] result<std::optional<action_frame>> next();

  private:
    /// A frame of which only a part was read.
    struct partial {
        action_frame frame;
        std::size_t head; ///< bytes of the whole head
        std::size_t body;
    };

    void begin_partial(std::size_t length);
    [[nodiscard]] std::optional<action_frame> next_of_partial();
    void fill(std::string& part, std::size_t size);

    read_buffer bytes_;
    std::optional<partial> partial_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/action/impl/action_frame.ipp>
#endif
