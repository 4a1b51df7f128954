#pragma once

#include <ipybox/core/ansi.hpp>

namespace ipybox {
namespace detail {

/// How long the escape sequence at the beginning of `text` is; `text[0]` is ESC.
inline std::size_t escape_length(std::string_view text) noexcept {
    if (text.size() < 2) return text.size();
    if (text[1] == '[') { // CSI: parameters and intermediates, then one final byte
        std::size_t at = 2;
        while (at < text.size() && text[at] >= 0x20 && text[at] < 0x40) ++at;
        return at < text.size() ? at + 1 : at;
    }
    if (text[1] == ']') { // OSC: up to BEL or ESC backslash
        for (std::size_t at = 2; at < text.size(); ++at) {
            if (text[at] == '\a') return at + 1;
            if (text[at] == '\x1b') return at + 1 < text.size() && text[at + 1] == '\\' ? at + 2 : at;
        }
        return text.size();
    }
    return 2;
}

} // namespace detail

IPYBOX_DECL std::string strip_ansi(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    while (!text.empty()) {
        auto const escape = text.find('\x1b');
        plain.append(text.substr(0, escape));
        if (escape == std::string_view::npos) break;
        text.remove_prefix(escape);
        text.remove_prefix(detail::escape_length(text));
    }
    return plain;
}

} // namespace ipybox
