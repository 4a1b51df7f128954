#pragma once

#include <ipybox/app/middle_cut.hpp>
#include <ipybox/core/utf8.hpp>

namespace ipybox {

namespace detail {

inline middle_cut cut(std::string_view text, std::size_t most, std::size_t kept_at_end) noexcept {
    auto const all = count_characters(text);
    if (all <= most) return {text, {}, 0};
    auto const kept_at_begin = most - kept_at_end;
    std::size_t head = 0;
    std::size_t tail = 0;
    std::size_t passed = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (continues_character(text[at])) continue;
        if (passed == kept_at_begin) head = at;
        if (passed == all - kept_at_end) tail = at;
        ++passed;
    }
    if (kept_at_end == 0) tail = text.size();
    return {text.substr(0, head), text.substr(tail), all - most};
}

} // namespace detail

IPYBOX_DECL middle_cut cut_middle(std::string_view text, std::size_t most) noexcept {
    return detail::cut(text, most, most / 2);
}

IPYBOX_DECL middle_cut cut_end(std::string_view text, std::size_t most) noexcept { return detail::cut(text, most, 0); }

} // namespace ipybox
