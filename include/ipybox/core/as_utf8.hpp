#pragma once

#include <ipybox/core/utf8.hpp>

#include <string>
#include <string_view>

namespace ipybox::detail {

/// The text, with U+FFFD in place of bytes that are not UTF-8.
inline std::string as_utf8(std::string text) {
    if (is_utf8(text)) return text;
    std::string valid;
    for (std::string_view left = text; !left.empty();) {
        auto const c = first_character(left);
        valid.append(c.valid ? c.bytes : std::string_view("\xef\xbf\xbd"));
        left.remove_prefix(c.bytes.size());
    }
    return valid;
}

} // namespace ipybox::detail
