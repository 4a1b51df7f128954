#pragma once

#include <ipybox/sandbox/sandbox_description.hpp>

#include <string_view>

namespace ipybox {
namespace detail {

inline std::string_view as_text(std::string const& value) { return value; }
inline std::string_view as_text(std::filesystem::path const& value) { return value.native(); }

template <class T>
void append_list(std::string& text, std::string_view title, std::vector<T> const& values) {
    if (values.empty()) return;
    text.append(title).append(":");
    for (auto const& value : values) text.append(" ").append(as_text(value));
    text.append("\n");
}

} // namespace detail

IPYBOX_DECL std::string sandbox_description::text() const {
    std::string text;
    detail::append_list(text, "writable", writable);
    detail::append_list(text, "read-only within", read_only);
    detail::append_list(text, "not readable", masked);
    detail::append_list(text, "readable within", readable);
    detail::append_list(text, "readable, and nothing else", only_readable);
    detail::append_list(text, "private and empty", private_directories);
    detail::append_list(text, "not readable, but missing", absent);
    detail::append_list(text, "devices", devices);
    if (hosts.empty() && !asks_for_hosts) text += "hosts: none\n";
    detail::append_list(text, "hosts", hosts);
    if (asks_for_hosts) text += "other hosts: are asked for\n";
    detail::append_list(text, "variables taken away", hidden_variables);
    for (auto const& notice : notices) text += "notice: " + notice + "\n";
    return text;
}

} // namespace ipybox
