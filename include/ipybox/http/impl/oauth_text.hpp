#pragma once

#include <ipybox/core/base64.hpp>
#include <ipybox/core/error.hpp>
#include <ipybox/core/random_hex.hpp>
#include <ipybox/core/sha256.hpp>
#include <ipybox/http/impl/hex_value.hpp>
#include <ipybox/http/url.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::http::detail {

/// RFC 4648 section 5, without padding.
inline std::string base64_url(std::string_view bytes) {
    auto text = base64_encode(bytes);
    while (text.ends_with('=')) text.pop_back();
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    return text;
}

inline std::string bytes_of_hex(std::string_view digits) {
    std::string bytes;
    for (std::size_t at = 0; at + 1 < digits.size(); at += 2)
        bytes.push_back(static_cast<char>(hex_value(digits[at]) * 16 + hex_value(digits[at + 1])));
    return bytes;
}

/// RFC 7636 section 4.2.
inline std::string code_challenge_of(std::string_view verifier) {
    return base64_url(bytes_of_hex(sha256_hex(verifier)));
}

/// Text that cannot be guessed, of 43 characters: RFC 7636 section 4.1.
inline std::string secret_text() {
    constexpr std::size_t bytes = 32;
    return base64_url(bytes_of_hex(random_hex(bytes)));
}

/// The words of a text that blanks divide, each once.
inline void add_scopes(std::vector<std::string>& all, std::string_view text) {
    while (!text.empty()) {
        auto const word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        if (!word.empty() && std::ranges::find(all, word) == all.end()) all.emplace_back(word);
    }
}

inline std::string joined(std::vector<std::string> const& words) {
    std::string text;
    for (auto const& each : words) text.append(text.empty() ? "" : " ").append(each);
    return text;
}

/// Whether all scopes of one text are among those of the other.
inline bool has_scopes(std::string_view all, std::string_view some) {
    std::vector<std::string> have;
    add_scopes(have, all);
    std::vector<std::string> want;
    add_scopes(want, some);
    auto const is_there = [&have](std::string const& each) { return std::ranges::find(have, each) != have.end(); };
    return std::ranges::all_of(want, is_there);
}

/// Printable ASCII without blanks: such a text can stand in a header field.
inline bool is_visible(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

/// The part of a text of another side that an error shows: one line of ASCII.
inline std::string shown(std::string_view text, std::size_t longest = 200) {
    std::string made(text.substr(0, longest));
    for (auto& c : made)
        if (c < ' ' || c > '~') c = '?';
    return text.size() > longest ? made + "..." : made;
}

inline error broken(std::string text) { return {errc::protocol_error, std::move(text)}; }

/// The host of an address, for the texts of errors.
inline std::string public_text_of(std::string_view address) {
    auto const parsed = url::parse(address);
    return parsed ? parsed->public_text() : std::string("an address that cannot be used");
}

} // namespace ipybox::http::detail
