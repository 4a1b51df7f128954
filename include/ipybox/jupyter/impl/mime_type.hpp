#pragma once

#include <string_view>

namespace ipybox::jupyter::detail {

/// Whether values of a MIME type are bytes, which JSON carries in base64.
inline bool is_binary(std::string_view type) noexcept {
    if (type == "image/svg+xml") return false;
    return type.starts_with("image/") || type.starts_with("audio/") || type.starts_with("video/") ||
           type == "application/pdf" || type == "application/octet-stream";
}

inline bool is_json(std::string_view type) noexcept { return type == "application/json" || type.ends_with("+json"); }

} // namespace ipybox::jupyter::detail
