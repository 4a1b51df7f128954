#pragma once

#include <ipybox/core/base64.hpp>

#include <openssl/evp.h>

#include <algorithm>
#include <memory>

namespace ipybox {

IPYBOX_DECL std::string base64_encode(std::string_view bytes) {
    // EVP_EncodeBlock takes an int: large values go in parts whose size is a multiple of three, so that no padding
    // comes between.
    static constexpr std::size_t part = 3 << 20;
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
    std::size_t written = 0;
    for (std::size_t at = 0; at < bytes.size(); at += part) {
        auto const piece = bytes.substr(at, part);
        written += static_cast<std::size_t>(::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data() + written),
                                                              reinterpret_cast<unsigned char const*>(piece.data()),
                                                              static_cast<int>(piece.size())));
    }
    text.resize(written);
    return text;
}

IPYBOX_DECL std::optional<std::string> base64_decode(std::string_view text) {
    static constexpr std::size_t part = 4 << 20;
    auto const is_space = [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; };
    if (std::any_of(text.begin(), text.end(), is_space)) {
        std::string dense;
        dense.reserve(text.size());
        std::copy_if(text.begin(), text.end(), std::back_inserter(dense), [&](char c) { return !is_space(c); });
        return base64_decode(dense);
    }
    if (text.size() % 4 != 0) return std::nullopt;
    // EVP_DecodeBlock passes over what looks like padding anywhere: only the end may have it.
    std::size_t const padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    if (text.substr(0, text.size() - padding).find('=') != std::string_view::npos) return std::nullopt;

    std::string bytes(text.size() / 4 * 3, '\0');
    std::size_t written = 0;
    for (std::size_t at = 0; at < text.size(); at += part) {
        auto const piece = text.substr(at, part);
        int const count =
            ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data() + written),
                              reinterpret_cast<unsigned char const*>(piece.data()), static_cast<int>(piece.size()));
        if (count < 0) return std::nullopt;
        written += static_cast<std::size_t>(count);
    }
    bytes.resize(written - padding);
    return bytes;
}

} // namespace ipybox
