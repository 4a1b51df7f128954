#pragma once

#include <ipybox/core/hex.hpp>
#include <ipybox/core/sha256.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <cstdlib>

namespace ipybox {

IPYBOX_DECL std::string sha256_hex(std::string_view bytes) {
    std::array<unsigned char, 32> digest{};
    unsigned size = 0;
    // A library without SHA-256 cannot be worked with, and a wrong digest must not go out instead.
    if (::EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, ::EVP_sha256(), nullptr) != 1 ||
        size != digest.size())
        std::abort();
    return to_hex(digest);
}

IPYBOX_DECL void register_end_of_crypto() noexcept {
    (void)::OPENSSL_init_crypto(OPENSSL_INIT_ADD_ALL_DIGESTS, nullptr);
}

} // namespace ipybox
