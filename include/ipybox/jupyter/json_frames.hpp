#pragma once

#include <ipybox/core/json_census.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/jupyter/message.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace ipybox::jupyter {

/// The four JSON frames of a message, in the order of the wire format.
struct json_frames {
    std::string header;
    std::string parent_header;
    std::string metadata;
    std::string content;
};

/// Serialises everything but the buffers. Gives the message an id when it has none.
[[nodiscard]] json_frames to_frames(message& m);

/// The bounds of a message's JSON: it is counted before anything is built. Long texts and bytes travel beside it, as
/// buffers.
struct message_bounds {
    ipybox::detail::json_bounds header{std::size_t(64) << 10, 2000};    ///< the parent's too
    ipybox::detail::json_bounds metadata{std::size_t(1) << 20, 20'000}; ///< of the message, not of a display
    ipybox::detail::json_bounds content{std::size_t(8) << 20, 100'000}; ///< but for what is displayed
    ipybox::detail::json_bounds displayed{std::size_t(8) << 20,
                                          1'000'000}; ///< content of a display: long JSON in its `data` stays text
};

/**
 * \brief Parses the four JSON frames of a message.
 * \details JSON in the `data` of a display stays text, in `json_texts`, if it has more than 4 KiB or a number of more
 * than 64 bits: it is checked, and nothing is built from it. A display that cannot be read has a sentence that says so
 * in the place of its data. Content of `comm_*` messages that cannot be read is left out, since the host has no use for
 * it.
 * \return the message, without buffers
 * \par Errors errc::protocol_error — it says which frame is wrong; errc::message_too_large — it says which bound is
 * exceeded
 */
[[nodiscard]] result<message> from_frames(message::channel on, std::string_view header, std::string_view parent_header,
                                          std::string_view metadata, std::string_view content,
                                          message_bounds const& bounds = {});

} // namespace ipybox::jupyter

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/jupyter/impl/json_frames.ipp>
#endif
