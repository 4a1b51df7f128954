#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/jupyter/json_frames.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/jupyter/signature.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/** \file
 * Messages on ZeroMQ sockets, https://jupyter-client.readthedocs.io/en/stable/messaging.html, "The Wire Protocol":
 *
 *     identity*  <IDS|MSG>  signature  header  parent_header  metadata  content  buffer*
 */

namespace ipybox::jupyter {

/// The frame between the identities and the message.
inline constexpr std::string_view wire_delimiter = "<IDS|MSG>";

/// The bounds of messages from the other side, which may be hostile.
struct wire_limits {
    std::size_t identities = 16;                ///< frames before the delimiter
    std::size_t frames = 4096;                  ///< all frames
    std::size_t bytes = std::size_t{256} << 20; ///< all frames together
    message_bounds json = longer_content();     ///< the JSON frames

    /// Kernels that know no raw values send long texts in their content.
    [[nodiscard]] static constexpr message_bounds longer_content() noexcept {
        message_bounds bounds;
        bounds.content.bytes = bounds.displayed.bytes = std::size_t{64} << 20;
        return bounds;
    }
};

/**
 * \brief Serialises and signs a message.
 * \details Gives the message an id when it has none. Its buffers are moved out.
 * \return the frames from the delimiter on: what a DEALER sends
 */
[[nodiscard]] std::vector<std::string> to_wire(message& m, signer& with);

/**
 * \brief Parses the frames of a message. The signature is checked before anything is parsed.
 * \par Errors errc::protocol_error — no delimiter within the limits, frames missing, a wrong signature, a frame that is
 * not a JSON object, no message type; errc::message_too_large
 */
[[nodiscard]] result<message> from_wire(message::channel on, std::span<std::string_view const> frames, signer& with,
                                        wire_limits const& limits = {});

} // namespace ipybox::jupyter

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/jupyter/impl/wire_format.ipp>
#endif
