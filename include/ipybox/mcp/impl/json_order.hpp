#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

/** \file
 * Values of JSON compared by value, numbers exactly: nlohmann/json takes 2 to the 64th - 1 for -1, and rounds large
 * integers beside floating-point numbers.
 */

namespace ipybox::detail {

inline bool is_integer(nlohmann::json const& value) {
    if (!value.is_number_float()) return value.is_number();
    auto const number = value.get<double>();
    return std::isfinite(number) && std::trunc(number) == number;
}

/// Integers exactly: nlohmann/json takes large ones for negative ones, and rounds them beside floating-point numbers.
template <class A, class B>
[[nodiscard]] int order_numbers(A const& value, B const& bound) {
    auto const order = [](auto a, auto b) { return a < b ? -1 : b < a ? 1 : 0; };
    bool const exact = value.is_number_integer() && bound.is_number_integer();
    // This has 64 bits of mantissa or more where the difference to `double` is known to matter.
    if (!exact) return order(value.template get<long double>(), bound.template get<long double>());
    bool const below = !value.is_number_unsigned() && value.template get<std::int64_t>() < 0;
    bool const bound_below = !bound.is_number_unsigned() && bound.template get<std::int64_t>() < 0;
    if (below != bound_below) return below ? -1 : 1;
    return below ? order(value.template get<std::int64_t>(), bound.template get<std::int64_t>())
                 : order(value.template get<std::uint64_t>(), bound.template get<std::uint64_t>());
}

[[nodiscard]] inline bool is_multiple(nlohmann::json const& value, nlohmann::ordered_json const& rule) {
    if (value.is_number_integer() && rule.is_number_integer() && rule != 0) {
        if (value.is_number_unsigned() && rule.is_number_unsigned())
            return value.get<std::uint64_t>() % rule.get<std::uint64_t>() == 0;
        if (rule.get<std::int64_t>() == -1) return true;
        return value.get<std::int64_t>() % rule.get<std::int64_t>() == 0;
    }
    auto const times = value.get<double>() / rule.get<double>();
    return std::isfinite(times) && std::abs(times - std::round(times)) < 1e-9;
}

/// Numbers are compared by value, and exactly: nlohmann/json takes 2 to the 64th - 1 for -1. \tparam A, B
/// nlohmann::json or ordered_json
template <class A, class B>
[[nodiscard]] bool is_same_value(A const& rule, B const& value) {
    if (rule.is_number() && value.is_number()) return order_numbers(value, rule) == 0;
    if (rule.type() != value.type() || rule.size() != value.size()) return false;
    if (rule.is_array())
        return std::equal(rule.begin(), rule.end(), value.begin(),
                          [](A const& a, B const& b) { return is_same_value(a, b); });
    if (!rule.is_object()) return nlohmann::json(rule) == nlohmann::json(value);
    return std::ranges::all_of(rule.items(), [&value](auto const& member) {
        auto const found = value.find(member.key());
        return found != value.end() && is_same_value(member.value(), *found);
    });
}

/// An order of all values, in which numbers are compared as `order_numbers` does: that of nlohmann/json is none where
/// large integers meet others.
[[nodiscard]] inline int compare_values(nlohmann::json const& a, nlohmann::json const& b) {
    if (a.is_number() && b.is_number()) return order_numbers(a, b);
    auto const rank = [](nlohmann::json const& value) {
        return value.is_number() ? nlohmann::json::value_t::number_integer : value.type();
    };
    if (rank(a) != rank(b)) return rank(a) < rank(b) ? -1 : 1;
    if (a.is_string()) return a.get_ref<std::string const&>().compare(b.get_ref<std::string const&>());
    if (a.is_boolean()) return static_cast<int>(a.get<bool>()) - static_cast<int>(b.get<bool>());
    if (!a.is_structured()) return 0; // null
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    for (auto at = a.begin(), other = b.begin(); at != a.end(); ++at, ++other) {
        auto found = a.is_object() ? at.key().compare(other.key()) : 0;
        if (found == 0) found = compare_values(*at, *other);
        if (found != 0) return found;
    }
    return 0;
}

[[nodiscard]] inline bool has_value_twice(nlohmann::json const& items) {
    std::vector<nlohmann::json const*> sorted;
    sorted.reserve(items.size());
    for (auto const& item : items) sorted.push_back(&item);
    std::ranges::sort(sorted, [](auto const* a, auto const* b) { return compare_values(*a, *b) < 0; });
    return std::ranges::adjacent_find(
               sorted, [](auto const* a, auto const* b) { return compare_values(*a, *b) == 0; }) != sorted.end();
}

} // namespace ipybox::detail
