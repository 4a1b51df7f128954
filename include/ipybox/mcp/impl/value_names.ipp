#pragma once

#include <ipybox/core/first_line.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/mcp/value_names.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::mcp::detail {

/// The first line that has something in it, within a bound.
inline std::string_view first_words_of(std::string_view text) {
    constexpr std::size_t longest = 300;
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
    auto line = ipybox::detail::first_line(text);
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    return line.substr(0, whole_characters(line, longest));
}

IPYBOX_DECL void value_names::add(std::string const& name, std::string const& value) {
    if (value.size() >= shortest) names_.emplace(value, "${" + name + "}");
}

IPYBOX_DECL void value_names::add(environment const& variables) {
    for (auto const& [name, value] : variables) add(name, value);
}

/// Of values that begin at the same place the longest one counts: one may be the beginning of another.
IPYBOX_DECL std::string value_names::put_into(std::string_view text) const {
    std::string named;
    while (!text.empty()) {
        std::size_t length = 0;
        std::string_view name;
        for (auto const& [value, stands_for] : names_) {
            if (value.size() <= length || !text.starts_with(value)) continue;
            length = value.size();
            name = stands_for;
        }
        if (length > 0)
            named.append(name);
        else
            named.push_back(text.front());
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return named;
}

IPYBOX_DECL error value_names::in_public(error const& why) const {
    auto const& text = why.text();
    std::string const line(ipybox::detail::first_line(text));
    auto const below = std::string_view(text).substr(line.size());
    auto shown = put_into(line);
    bool const is_named = shown != line;
    if (auto const at = below.find(it_said); at != std::string_view::npos)
        if (auto const said = first_words_of(below.substr(at + it_said.size())); !said.empty())
            shown.append("; it said: ").append(put_into(said));
    if (is_named) shown.append("\n").append(line);
    return error(static_cast<errc>(why.code().value()), shown.append(below)).with_status(why.status());
}

} // namespace ipybox::mcp::detail
