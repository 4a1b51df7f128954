#pragma once

#include <ipybox/core/config.hpp>

#include <span>
#include <string>

namespace ipybox {

/// Two lower-case hexadecimal digits for each byte.
[[nodiscard]] inline std::string to_hex(std::span<unsigned char const> bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (unsigned const byte : bytes) {
        text.push_back(digits[byte >> 4]);
        text.push_back(digits[byte & 15]);
    }
    return text;
}

} // namespace ipybox
