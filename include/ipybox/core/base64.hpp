#pragma once

#include <ipybox/core/config.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace ipybox {

/// RFC 4648 section 4, with padding, without line breaks.
[[nodiscard]] std::string base64_encode(std::string_view bytes);

/// The inverse. White space is passed over (kernels break lines); nothing else that does not belong is accepted.
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/core/impl/base64.ipp>
#endif
