#pragma once

#include <ipybox/sandbox/path_pattern.hpp>

#include <optional>
#include <tuple>
#include <utility>

namespace ipybox::detail {

/// A set of characters at the beginning of a pattern, and what comes behind it.
struct character_set {
    std::string_view members;
    std::string_view rest;
};

/// `[abc]`, `[a-z]`: none, where the bracket opens no set or a range of it runs backwards.
inline std::optional<character_set> leading_set(std::string_view pattern) noexcept {
    if (!pattern.starts_with('[')) return std::nullopt;
    auto const end = pattern.find(']', 1);
    if (end == std::string_view::npos || end == 1) return std::nullopt;
    auto const members = pattern.substr(1, end - 1);
    for (std::size_t i = 0; i + 2 < members.size(); ++i) {
        if (members[i + 1] != '-') continue;
        if (static_cast<unsigned char>(members[i + 2]) < static_cast<unsigned char>(members[i])) return std::nullopt;
        i += 2;
    }
    return character_set{members, pattern.substr(end + 1)};
}

inline bool is_member(char c, std::string_view members) noexcept {
    auto const value = static_cast<unsigned char>(c);
    for (std::size_t i = 0; i < members.size(); ++i) {
        auto const first = static_cast<unsigned char>(members[i]);
        bool const is_range = i + 2 < members.size() && members[i + 1] == '-';
        if (is_range) i += 2;
        if (first <= value && value <= static_cast<unsigned char>(members[i])) return true;
    }
    return false;
}

/// The rest of a pattern whose first sign stands for `c`; none if it does not.
inline std::optional<std::string_view> behind_character(std::string_view pattern, char c) noexcept {
    if (pattern.empty()) return std::nullopt;
    if (auto const set = leading_set(pattern))
        return is_member(c, set->members) ? std::optional(set->rest) : std::nullopt;
    bool const fits = pattern.front() == '?' || pattern.front() == c;
    return fits ? std::optional(pattern.substr(1)) : std::nullopt;
}

/// A later `*` makes up for an earlier one: it is enough to go back to the last.
inline bool matches_wildcards(std::string_view pattern, std::string_view name) noexcept {
    std::optional<std::pair<std::string_view, std::string_view>> retry; // behind the last star, and where it ended
    while (!name.empty()) {
        if (pattern.starts_with('*')) {
            pattern.remove_prefix(1);
            retry.emplace(pattern, name);
        } else if (auto const rest = behind_character(pattern, name.front())) {
            pattern = *rest;
            name.remove_prefix(1);
        } else if (retry) {
            retry->second.remove_prefix(1);
            std::tie(pattern, name) = *retry;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*') == std::string_view::npos;
}

IPYBOX_DECL bool pattern_part::matches(std::string_view name) const noexcept {
    if (what == kind::any_directories) return true;
    return what == kind::name ? name == text : matches_wildcards(text, name);
}

IPYBOX_DECL std::string_view without_contents(std::string_view path) noexcept {
    while (path.ends_with("/**")) path.remove_suffix(3);
    return path;
}

IPYBOX_DECL bool path_pattern::has_wildcards(std::string_view path) noexcept {
    if (path.find_first_of("*?") != std::string_view::npos) return true;
    for (auto i = path.find('['); i != std::string_view::npos; i = path.find('[', i + 1))
        if (leading_set(path.substr(i))) return true;
    return false;
}

IPYBOX_DECL result<path_pattern> path_pattern::parse(std::filesystem::path const& base, std::string_view path,
                                                     pattern_reach reach) {
    auto const refuse = [path](std::string_view why) {
        return failure(errc::invalid_argument,
                       std::string("the pattern \"").append(path).append("\" cannot be used: ").append(why));
    };
    auto root = base;
    std::vector<pattern_part> parts;
    for (auto const& name : std::filesystem::path(without_contents(path))) {
        auto const text = name.string();
        bool const is_wild = has_wildcards(text);
        if (parts.empty() && !is_wild) {
            root /= name; // where it is "/", that alone
        } else if (text == "**") {
            if (parts.empty() || parts.back().what != pattern_part::kind::any_directories)
                parts.push_back({pattern_part::kind::any_directories, {}});
        } else if (text.find("**") != std::string::npos) {
            return refuse("** stands for directories and cannot be a part of a name, as in **/.env");
        } else if (text == "..") {
            return refuse(".. cannot stand behind a wildcard");
        } else if (!text.empty() && text != ".") {
            parts.push_back({is_wild ? pattern_part::kind::wildcard : pattern_part::kind::name, text});
        }
    }
    root = root.lexically_normal();
    if (!root.has_filename()) root = root.parent_path();
    if (!root.has_relative_path()) return refuse("a directory is wanted in front of the first wildcard");
    if (parts.empty()) return refuse("it has no wildcard");
    return path_pattern(std::move(root), std::move(parts), reach);
}

} // namespace ipybox::detail
