#pragma once

#include <ipybox/core/hex.hpp>
#include <ipybox/jupyter/signature.hpp>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstdlib>
#include <utility>

namespace ipybox::jupyter {

struct signer::state {
    struct release {
        void operator()(EVP_MAC* p) const noexcept { ::EVP_MAC_free(p); }
        void operator()(EVP_MAC_CTX* p) const noexcept { ::EVP_MAC_CTX_free(p); }
    };
    std::unique_ptr<EVP_MAC, release> mac;
    std::unique_ptr<EVP_MAC_CTX, release> context;
};

IPYBOX_DECL signer::signer(std::string_view key) {
    if (key.empty()) return;
    state_ = std::make_unique<state>();
    state_->mac.reset(::EVP_MAC_fetch(nullptr, "HMAC", nullptr));
    if (state_->mac) state_->context.reset(::EVP_MAC_CTX_new(state_->mac.get()));
    char digest[] = "SHA256";
    OSSL_PARAM const parameters[] = {::OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                     ::OSSL_PARAM_construct_end()};
    auto const* bytes = reinterpret_cast<unsigned char const*>(key.data());
    // A library without HMAC-SHA256 cannot be worked with, and unsigned messages must not go out instead.
    if (!state_->context || ::EVP_MAC_init(state_->context.get(), bytes, key.size(), parameters) != 1) std::abort();
}

IPYBOX_DECL signer::signer(signer&&) noexcept = default;
IPYBOX_DECL signer& signer::operator=(signer&&) noexcept = default;
IPYBOX_DECL signer::~signer() = default;

IPYBOX_DECL std::string signer::sign(signed_frames const& frames) {
    if (!state_) return {};
    auto* const context = state_->context.get();
    // Without a key it starts over with the one it has.
    bool good = ::EVP_MAC_init(context, nullptr, 0, nullptr) == 1;
    for (auto const frame : frames)
        good =
            good && ::EVP_MAC_update(context, reinterpret_cast<unsigned char const*>(frame.data()), frame.size()) == 1;
    std::array<unsigned char, 32> digest{};
    std::size_t size = 0;
    if (!good || ::EVP_MAC_final(context, digest.data(), &size, digest.size()) != 1 || size != digest.size())
        std::abort();
    return to_hex(digest);
}

IPYBOX_DECL bool signer::verify(std::string_view signature, signed_frames const& frames) {
    if (!state_) return true;
    auto const expected = sign(frames);
    // The length of a signature is no secret.
    return signature.size() == expected.size() &&
           ::CRYPTO_memcmp(signature.data(), expected.data(), expected.size()) == 0;
}

} // namespace ipybox::jupyter
