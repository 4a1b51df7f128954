#pragma once

#include <ipybox/codegen/impl/default_value.hpp>
#include <ipybox/core/same_json.hpp>
#include <ipybox/core/utf8.hpp>

#include <algorithm>

namespace ipybox::codegen::detail {

inline bool is_within(schema_keywords const& own, char const* least, char const* most, ordered_json const& size) {
    auto const* lower = own.find(least);
    auto const* upper = own.find(most);
    return !(lower && lower->is_number() && size < *lower) && !(upper && upper->is_number() && size > *upper);
}

/// `budget`: how many places are still looked at; references may lead in circles.
inline bool fits_at(ordered_json const& value, schema_document const& document, schema_node const& node, int& budget) {
    auto const own = document.keywords(node);
    if (--budget < 0 || document.needs_document(node)) return true;
    if (own.forbids()) return false;
    auto const below = [&](schema_node const& part) { return fits_at(value, document, part, budget); };

    if (auto const* reference = own.find("$ref")) {
        auto const target = document.resolve(reference->get_ref<std::string const&>());
        if (target && !below(*target)) return false;
    }
    if (own.types() != kinds::none && !includes(own.types(), kind_of(value))) return false;
    if (auto const* constant = own.find("const"); constant && !ipybox::detail::same_json(value, *constant))
        return false;
    if (auto const* choices = own.find("enum"))
        if (std::none_of(choices->begin(), choices->end(),
                         [&](auto const& one) { return ipybox::detail::same_json(value, one); }))
            return false;
    for (auto const* keyword : {"anyOf", "oneOf", "allOf"})
        if (auto const* parts = own.find(keyword)) {
            std::size_t fitting = 0;
            for (std::size_t i = 0; i < parts->size(); ++i)
                if (below(node.at(keyword, i))) ++fitting;
            if (fitting == 0 || (keyword == std::string_view("allOf") && fitting < parts->size())) return false;
        }

    if (value.is_number()) return is_within(own, "minimum", "maximum", value);
    if (value.is_string())
        return is_within(own, "minLength", "maxLength", count_characters(value.get_ref<std::string const&>()));
    if (!value.is_array()) return true;
    if (!is_within(own, "minItems", "maxItems", value.size())) return false;
    auto const* items = own.find("items");
    return !items || items->is_array() || std::all_of(value.begin(), value.end(), [&](auto const& item) {
        return fits_at(item, document, node.at({"items"}), budget);
    });
}

IPYBOX_DECL bool fits(ordered_json const& value, schema_document const& document, schema_node const& node) {
    int budget = 500;
    return fits_at(value, document, node, budget);
}

IPYBOX_DECL bool is_plain(ordered_json const& value) {
    if (value.is_array())
        return std::all_of(value.begin(), value.end(), [](auto const& item) { return !item.is_structured(); });
    return !value.is_object();
}

} // namespace ipybox::codegen::detail
