#pragma once

#include <ipybox/http/form.hpp>
#include <ipybox/http/impl/hex_value.hpp>

#include <algorithm>
#include <cstddef>

namespace ipybox::http {
namespace detail {

inline std::string form_decoded(std::string_view text) {
    std::string made;
    for (std::size_t at = 0; at < text.size(); ++at) {
        bool const is_code =
            text[at] == '%' && at + 2 < text.size() && hex_value(text[at + 1]) >= 0 && hex_value(text[at + 2]) >= 0;
        if (is_code) {
            made.push_back(static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2])));
            at += 2;
        } else {
            made.push_back(text[at] == '+' ? ' ' : text[at]);
        }
    }
    return made;
}

} // namespace detail

IPYBOX_DECL std::string percent_encoded(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    constexpr std::string_view marks = "-._~";
    std::string made;
    for (char const c : text) {
        bool const is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              marks.find(c) != std::string_view::npos;
        auto const byte = static_cast<unsigned char>(c);
        if (is_plain)
            made.push_back(c);
        else
            made.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
    return made;
}

IPYBOX_DECL std::string write_form(fields const& values) {
    std::string text;
    for (auto const& [name, value] : values.all()) {
        if (!text.empty()) text.push_back('&');
        text.append(percent_encoded(name)).append("=").append(percent_encoded(value));
    }
    return text;
}

IPYBOX_DECL fields parse_form(std::string_view text) {
    fields values;
    while (!text.empty()) {
        auto const pair = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(pair.size() + 1, text.size()));
        if (pair.empty()) continue;
        auto const equal = std::min(pair.find('='), pair.size());
        auto const value = pair.substr(std::min(equal + 1, pair.size()));
        values.add(detail::form_decoded(pair.substr(0, equal)), detail::form_decoded(value));
    }
    return values;
}

} // namespace ipybox::http
