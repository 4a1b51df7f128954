#pragma once

#include <ipybox/rules/wildcard.hpp>

namespace ipybox {

IPYBOX_DECL wildcard::wildcard(std::string_view pattern) : pattern_(pattern), pieces_(1) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '*') {
            pieces_.emplace_back();
            continue;
        }
        if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
        pieces_.back() += pattern[i];
    }
}

IPYBOX_DECL wildcard wildcard::exactly(std::string_view text) {
    std::string pattern;
    for (char const c : text) {
        if (c == '*' || c == '\\') pattern += '\\';
        pattern += c;
    }
    return wildcard(pattern);
}

IPYBOX_DECL bool wildcard::matches(std::string_view text) const {
    auto const& first = pieces_.front();
    if (is_exact()) return text == first;
    auto const& last = pieces_.back();
    if (text.size() < first.size() + last.size() || !text.starts_with(first) || !text.ends_with(last)) return false;
    text.remove_prefix(first.size());
    text.remove_suffix(last.size());
    // The first place of each piece leaves the most room for the others.
    for (std::size_t i = 1; i + 1 < pieces_.size(); ++i) {
        auto const at = text.find(pieces_[i]);
        if (at == std::string_view::npos) return false;
        text.remove_prefix(at + pieces_[i].size());
    }
    return true;
}

} // namespace ipybox
