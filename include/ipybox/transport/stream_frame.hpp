#pragma once

#include <ipybox/core/read_buffer.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/jupyter/message.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

/** \file
 * The framing of Jupyter messages on a byte stream: docs/kernel-protocol.md section 3. No sockets here.
 */

namespace ipybox {

/// The largest message that is accepted, in bytes.
inline constexpr std::uint32_t largest_stream_message = std::uint32_t(256) << 20;

/// The bytes of a message. Gives it an id when it has none.
[[nodiscard]] std::string to_stream_frame(jupyter::message& m);

/**
 * \brief Cuts a byte stream into messages.
 * \details Feed it by reading into `prepare()` and telling `commit()` how much came; then take messages with `next()` until there is none.
 * Memory is bounded by one message and one read.
 */
class stream_frame_reader {
  public:
    /// Where to read to, never nothing.
    [[nodiscard]] std::span<char> prepare();

    /// So many bytes were read.
    void commit(std::size_t count) noexcept { bytes_.commit(count); }

    /// The next complete message; none when more bytes are needed; errc::protocol_error or message_too_large, after which the stream is of no use.
    [[nodiscard]] result<std::optional<jupyter::message>> next();

    static constexpr std::size_t read_size = detail::read_buffer::read_size;

  private:
    detail::read_buffer bytes_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/transport/impl/stream_frame.ipp>
#endif
