#pragma once

#include <ipybox/core/hex.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace ipybox {

/**
 * \brief FNV-1a of 64 bits (draft-eastlake-fnv, section 2), in hexadecimal digits: shows that a text was changed by
 * mistake, not by intent.
 * \details Against intent there is `sha256_hex`, whose first call makes more than a megabyte of libcrypto resident.
 */
[[nodiscard]] inline std::string checksum(std::string_view bytes) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (char const c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    std::array<unsigned char, sizeof hash> digits{};
    for (std::size_t i = 0; i < digits.size(); ++i) digits[i] = static_cast<unsigned char>(hash >> (8 * (7 - i)));
    return to_hex(digits);
}

} // namespace ipybox
