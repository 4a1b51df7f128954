#pragma once

#include <ipybox/core/ansi.hpp>

namespace ipybox {
namespace detail {

/// The position of the byte after those from `low` up to `high`, beginning at `at`, and behind it if it ends a
/// sequence.
inline std::size_t sequence_end(std::string_view text, std::size_t at, char low, char high) noexcept {
    while (at < text.size() && text[at] >= low && text[at] < high) ++at;
    // A byte that cannot end a sequence is not part of it: another ESC, or a character that is not ASCII.
    return at < text.size() && text[at] >= high && text[at] < 0x7f ? at + 1 : at;
}

/// How long the escape sequence at the beginning of `text` is; `text[0]` is ESC.
inline std::size_t escape_length(std::string_view text) noexcept {
    if (text.size() < 2) return text.size();
    if (text[1] == '[')
        return sequence_end(text, 2, 0x20, 0x40); // CSI: parameters and intermediates, then one final byte
    if (std::string_view("]PX^_").find(text[1]) !=
        std::string_view::npos) { // OSC and its kin: up to BEL or ESC backslash
        for (std::size_t at = 2; at < text.size(); ++at) {
            if (text[at] == '\a') return at + 1;
            if (text[at] == '\x1b') return at + 1 < text.size() && text[at + 1] == '\\' ? at + 2 : at;
        }
        return text.size();
    }
    return sequence_end(text, 1, 0x20, 0x30); // intermediates, then one final byte
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
