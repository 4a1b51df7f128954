#pragma once

#include <ipybox/codegen/impl/inline_schema.hpp>
#include <ipybox/codegen/python_literal.hpp>
#include <ipybox/codegen/python_name.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace ipybox::codegen::detail {

/// Keywords of one dialect; a check that is written out is judged by all of both.
inline bool is_of_other(std::string_view keyword, dialect version) {
    static constexpr std::string_view modern[] = {"dependentRequired",    "dependentSchemas", "maxContains",
                                                  "minContains",          "prefixItems",      "unevaluatedItems",
                                                  "unevaluatedProperties"};
    if (version == dialect::draft_2020_12) return keyword == "dependencies";
    return std::find(std::begin(modern), std::end(modern), keyword) != std::end(modern);
}

/// Counts down by what the value takes; false where it has more than that, or a member that only the document explains.
inline bool is_small(ordered_json const& value, dialect version, int& budget) {
    budget -= value.is_string()
                  ? static_cast<int>(std::min<std::size_t>(value.get_ref<std::string const&>().size(), 1000))
                  : 1;
    if (budget < 0) return false;
    if (value.is_object())
        return std::all_of(value.items().begin(), value.items().end(), [&](auto const& member) {
            budget -= static_cast<int>(std::min<std::size_t>(member.key().size(), 1000));
            return !member.key().starts_with('$') && !is_of_other(member.key(), version) &&
                   is_small(member.value(), version, budget);
        });
    return !value.is_array() ||
           std::all_of(value.begin(), value.end(), [&](auto const& item) { return is_small(item, version, budget); });
}

IPYBOX_DECL std::optional<std::string> inline_arguments(ordered_json const& schema, dialect version) {
    static constexpr int longest = 100;
    int budget = longest;
    if (!is_small(schema, version, budget)) return std::nullopt;
    bool const as_keywords = schema.is_object() && !schema.empty() &&
                             std::none_of(schema.items().begin(), schema.items().end(),
                                          [](auto const& member) { return is_python_keyword(member.key()); });
    std::string text;
    if (as_keywords)
        for (auto const& [keyword, value] : schema.items())
            text += (text.empty() ? "" : ", ") + keyword + "=" + value_literal(value);
    else
        text = value_literal(schema);
    if (text.size() > longest) return std::nullopt;
    return text;
}

} // namespace ipybox::codegen::detail
