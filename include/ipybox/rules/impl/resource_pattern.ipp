#pragma once

#include <ipybox/core/strict_json.hpp>
#include <ipybox/rules/resource_pattern.hpp>

#include <string>
#include <string_view>

namespace ipybox {
namespace detail {

inline std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

/// A URI whose text is not the only one for its resource: characters that are written as numbers, and steps up.
inline bool has_other_spellings(std::string_view uri) {
    return uri.find('%') != uri.npos || uri.find("..") != uri.npos || uri.find("/./") != uri.npos ||
           uri.find('\\') != uri.npos;
}

/// A server decides what a URI means. A pattern is sure where its author can have meant this text alone.
inline match covers_uri(wildcard const& pattern, std::string_view uri) {
    if (pattern.pattern() == "*") return match::yes;
    if (has_other_spellings(uri)) return pattern.is_exact() && pattern.matches(uri) ? match::yes : match::unsure;
    if (pattern.matches(uri)) return match::yes;
    bool const is_close = wildcard(in_lower_case(pattern.pattern())).matches(in_lower_case(uri));
    return is_close ? match::unsure : match::no;
}

} // namespace detail

IPYBOX_DECL match resource_pattern::covers(approval_subject const& subject) const {
    if (subject.kind != approval_subject::action::resource || !server.matches(subject.server)) return match::no;
    return detail::covers_uri(uri, subject.uri);
}

IPYBOX_DECL resource_pattern detail::resource_pattern_from(strict_object& object) {
    auto const server = object.text("server");
    auto const uri = object.text("uri");
    return {wildcard(server.value_or("*")), wildcard(uri.value_or("*"))};
}

} // namespace ipybox
