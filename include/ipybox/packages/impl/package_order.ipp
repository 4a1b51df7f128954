#pragma once

#include <ipybox/packages/package_order.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace ipybox::detail {

inline constexpr std::array<std::string_view, 9> package_order_options = {
    "-q", "--quiet", "-v", "--verbose", "-U", "--upgrade", "--pre", "--no-deps", "--no-color"};

inline bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Whether a word can only be a requirement by name (PEP 508): without `@`, `/` and `:` it is neither a URL nor a path.
inline bool is_named_requirement(std::string_view word) {
    auto const may_follow = [](char c) {
        return is_letter_or_digit(c) || std::string_view(" ._-[],<>=!~*+;()'\"").find(c) != std::string_view::npos;
    };
    return !word.empty() && is_letter_or_digit(word.front()) && std::ranges::all_of(word, may_follow);
}

IPYBOX_DECL result<package_order> read_package_order(std::span<std::string const> words) {
    package_order order;
    for (auto const& word : words) {
        if (std::ranges::find(package_order_options, word) != package_order_options.end())
            order.options.push_back(word);
        else if (word.starts_with('-'))
            return failure(errc::invalid_argument, "pip's option " + word +
                                                       " cannot be used here: where packages come from, and where they "
                                                       "go, is said by package_layer::options");
        else if (is_named_requirement(word))
            order.requirements.push_back(word);
        else
            return failure(errc::invalid_argument,
                           "\"" + word +
                               "\" does not name a package: write its name, with a version where you want "
                               "one (numpy==2.1); paths and URLs cannot be installed");
    }
    if (order.requirements.empty()) return failure(errc::invalid_argument, "no package is named: pip install NAME");
    return order;
}

} // namespace ipybox::detail
