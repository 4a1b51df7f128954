#pragma once

#include <ipybox/core/config.hpp>

#include <string>
#include <string_view>

namespace ipybox {

/// SHA-256 (FIPS 180-4) in 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// Has libcrypto register now what it does at the end of the program, which its first use would do. Does nothing where
/// that end has begun.
void register_end_of_crypto() noexcept;

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/core/impl/sha256.ipp>
#endif
