#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ipybox::mcp::detail {

/// Whether one of eight characters may not simply be copied: a quote, a backslash, a control character, or one that is not ASCII.
inline bool has_special(std::uint64_t eight) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t tops = 0x8080808080808080;
    auto const zero_in = [](std::uint64_t x) { return (x - ones) & ~x & tops; };
    return ((eight & tops) | zero_in(eight ^ ones * '"') | zero_in(eight ^ ones * '\\') |
            ((eight - ones * 0x20) & ~eight & tops)) != 0;
}

inline bool is_special(char c) noexcept { return c == '"' || c == '\\' || static_cast<signed char>(c) < 0x20; }

/// The end of the characters that may simply be copied.
inline char const* end_of_run(char const* at, char const* end) noexcept {
    for (std::uint64_t eight = 0; end - at >= 8; at += 8) {
        std::memcpy(&eight, at, sizeof eight);
        if (has_special(eight)) break;
    }
    while (at != end && !is_special(*at)) ++at;
    return at;
}

/// How long the UTF-8 sequence is that begins here (Unicode 15, table 3-7); 0 where it is none.
inline std::size_t sequence_length(char const* at, char const* end) noexcept {
    auto const byte = [&](int i) { return end - at > i ? static_cast<unsigned char>(at[i]) : 0U; };
    auto const between = [&](int i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
    auto const lead = byte(0);
    if (lead >= 0xc2 && lead <= 0xdf) return between(1, 0x80, 0xbf) ? 2 : 0;
    if (lead >= 0xe0 && lead <= 0xef) {
        auto const low = lead == 0xe0 ? 0xa0U : 0x80U;
        auto const high = lead == 0xed ? 0x9fU : 0xbfU;
        return between(1, low, high) && between(2, 0x80, 0xbf) ? 3 : 0;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        auto const low = lead == 0xf0 ? 0x90U : 0x80U;
        auto const high = lead == 0xf4 ? 0x8fU : 0xbfU;
        return between(1, low, high) && between(2, 0x80, 0xbf) && between(3, 0x80, 0xbf) ? 4 : 0;
    }
    return 0;
}

} // namespace ipybox::mcp::detail
