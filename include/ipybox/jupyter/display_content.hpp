#pragma once

#include <ipybox/jupyter/message.hpp>
#include <ipybox/jupyter/mime_bundle.hpp>

namespace ipybox::jupyter {

/**
 * \brief The MIME bundle in the `data` of a `display_data`, `execute_result` or `update_display_data` message.
 * \details Raw buffers are moved out of the message. Binary types arrive decoded. Text that is not valid base64 stays
 * text, and so does a string of more than 8 MiB that is displayed as JSON.
 */
[[nodiscard]] ipybox::detail::mime_bundle take_bundle(message& m);

} // namespace ipybox::jupyter

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/jupyter/impl/display_content.ipp>
#endif
