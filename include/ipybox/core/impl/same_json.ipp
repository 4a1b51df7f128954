#pragma once

#include <ipybox/core/same_json.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace ipybox::detail {
namespace numbers {

template <class Integer>
std::partial_ordering compare(Integer a, double b) {
    if (std::isnan(b)) return std::partial_ordering::unordered;
    if (b >= 18446744073709551616.0) return std::partial_ordering::less;
    if (b < -9223372036854775808.0) return std::partial_ordering::greater;
    double const whole = std::floor(b);
    auto const against = [&](auto integral) {
        if (std::cmp_less(a, integral)) return std::partial_ordering::less;
        if (std::cmp_greater(a, integral)) return std::partial_ordering::greater;
        return b > whole ? std::partial_ordering::less : std::partial_ordering::equivalent;
    };
    return whole < 0 ? against(static_cast<std::int64_t>(whole)) : against(static_cast<std::uint64_t>(whole));
}

inline std::partial_ordering compare(double a, double b) { return a <=> b; }

template <class Integer>
std::partial_ordering compare(double a, Integer b) {
    auto const turned = compare(b, a);
    return 0 <=> turned;
}

template <class A, class B>
    requires(std::integral<A> && std::integral<B>)
std::partial_ordering compare(A a, B b) {
    if (std::cmp_less(a, b)) return std::partial_ordering::less;
    return std::cmp_equal(a, b) ? std::partial_ordering::equivalent : std::partial_ordering::greater;
}

template <class Json, class Use>
std::partial_ordering with(Json const& number, Use use) {
    if (number.is_number_unsigned()) return use(number.template get<std::uint64_t>());
    if (number.is_number_integer()) return use(number.template get<std::int64_t>());
    return use(number.template get<double>());
}

template <class Json>
std::partial_ordering compare_json(Json const& a, Json const& b) {
    return with(a, [&b](auto x) { return with(b, [x](auto y) { return compare(x, y); }); });
}

} // namespace numbers

IPYBOX_DECL std::partial_ordering compare_numbers(nlohmann::json const& a, nlohmann::json const& b) {
    return numbers::compare_json(a, b);
}

template <class Json, class SameMembers>
bool same_values(Json const& a, Json const& b, SameMembers same_members) {
    if (a.is_number() && b.is_number()) return numbers::compare_json(a, b) == 0;
    if (a.type() != b.type()) return false;
    auto const same = [](Json const& x, Json const& y) { return same_json(x, y); };
    if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
    return a.is_object() ? a.size() == b.size() && same_members() : a == b;
}

IPYBOX_DECL bool same_json(nlohmann::json const& a, nlohmann::json const& b) {
    return same_values(a, b, [&a, &b] { // both are sorted
        auto const& members = a.get_ref<nlohmann::json::object_t const&>();
        auto const& others = b.get_ref<nlohmann::json::object_t const&>();
        auto const same = [](auto const& x, auto const& y) {
            return x.first == y.first && same_json(x.second, y.second);
        };
        return std::equal(members.begin(), members.end(), others.begin(), others.end(), same);
    });
}

IPYBOX_DECL bool same_json(nlohmann::ordered_json const& a, nlohmann::ordered_json const& b) {
    return same_values(a, b, [&a, &b] {
        auto const& members = a.get_ref<nlohmann::ordered_json::object_t const&>();
        return std::all_of(members.begin(), members.end(), [&b](auto const& member) {
            auto const other = b.find(member.first);
            return other != b.end() && same_json(member.second, *other);
        });
    });
}

} // namespace ipybox::detail
