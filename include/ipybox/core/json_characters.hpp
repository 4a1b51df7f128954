#pragma once

#include <cstdint>
#include <cstring>

namespace ipybox::detail {

/// Whether one of eight characters may not simply be copied: a quote, a backslash, a control character, or one that is
/// not ASCII.
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

} // namespace ipybox::detail
