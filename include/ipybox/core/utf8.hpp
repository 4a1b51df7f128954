#pragma once

#include <ipybox/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace ipybox {

/// The beginning of a text that is read as UTF-8.
struct utf8_character {
    std::string_view bytes; ///< where they are not a character: as many as the beginning of one has, and at least one
    char32_t code = 0xFFFD;
    bool valid = false;
};

/// RFC 3629, section 4: no surrogates, nothing that could be shorter. The text must not be empty.
[[nodiscard]] constexpr utf8_character first_character(std::string_view text) noexcept {
    auto const byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    auto const lead = byte(0);
    if (lead < 0x80) return {text.substr(0, 1), lead, true};
    if (lead < 0xC2 || lead > 0xF4) return {text.substr(0, 1), 0xFFFD, false};
    std::size_t const size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    unsigned lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    char32_t code = lead & (0x7Fu >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if (i == text.size() || byte(i) < lowest || byte(i) > highest) return {text.substr(0, i), 0xFFFD, false};
        code = code << 6 | (byte(i) & 0x3Fu);
        lowest = 0x80;
        highest = 0xBF;
    }
    return {text.substr(0, size), code, true};
}

namespace detail {

/// The position behind the ASCII characters that there are from `at` on.
constexpr std::size_t end_of_ascii(std::string_view text, std::size_t at) noexcept {
    if (!std::is_constant_evaluated())
        for (std::uint64_t eight = 0; text.size() - at >= sizeof eight; at += sizeof eight) {
            std::memcpy(&eight, text.data() + at, sizeof eight);
            if (eight & 0x8080808080808080) break;
        }
    while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
    return at;
}

} // namespace detail

/// The position of the first byte that is not part of valid UTF-8; `npos` where all is well.
[[nodiscard]] constexpr std::size_t find_invalid_utf8(std::string_view text) noexcept {
    for (auto at = detail::end_of_ascii(text, 0); at < text.size(); at = detail::end_of_ascii(text, at)) {
        auto const c = first_character(text.substr(at));
        if (!c.valid) return at;
        at += c.bytes.size();
    }
    return std::string_view::npos;
}

/// Whether a byte goes on with the character before it, in valid UTF-8.
[[nodiscard]] constexpr bool continues_character(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// How many characters valid UTF-8 has.
[[nodiscard]] constexpr std::size_t count_characters(std::string_view text) noexcept {
    std::size_t count = 0;
    for (char const byte : text)
        if (!continues_character(byte)) ++count;
    return count;
}

/// The longest beginning of at most `size` bytes that ends between two characters. In text that is not UTF-8 any place
/// is as good.
[[nodiscard]] constexpr std::size_t whole_characters(std::string_view text, std::size_t size) noexcept {
    if (size >= text.size()) return text.size();
    std::size_t cut = size;
    while (cut > 0 && size - cut < 3 && continues_character(text[cut])) --cut;
    return continues_character(text[cut]) ? size : cut;
}

[[nodiscard]] constexpr bool is_utf8(std::string_view text) noexcept {
    return find_invalid_utf8(text) == std::string_view::npos;
}

} // namespace ipybox
