#pragma once

#include <ipybox/core/config.hpp>

#include <span>
#include <string>
#include <string_view>

namespace ipybox {

inline constexpr std::string_view hex_digits = "0123456789abcdef";

/// Two lower-case hexadecimal digits for each byte.
[[nodiscard]] inline std::string to_hex(std::span<unsigned char const> bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (unsigned const byte : bytes) {
        text.push_back(hex_digits[byte >> 4]);
        text.push_back(hex_digits[byte & 15]);
    }
    return text;
}

} // namespace ipybox
