#pragma once

#include <ipybox/approval/same_json.hpp>

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

template <class Use>
std::partial_ordering with(nlohmann::json const& number, Use use) {
    if (number.is_number_unsigned()) return use(number.get<std::uint64_t>());
    if (number.is_number_integer()) return use(number.get<std::int64_t>());
    return use(number.get<double>());
}

} // namespace numbers

IPYBOX_DECL std::partial_ordering compare_numbers(nlohmann::json const& a, nlohmann::json const& b) {
    return numbers::with(a, [&b](auto x) { return numbers::with(b, [x](auto y) { return numbers::compare(x, y); }); });
}

IPYBOX_DECL bool same_json(nlohmann::json const& a, nlohmann::json const& b) {
    if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
    if (a.type() != b.type()) return false;
    if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_json);
    if (!a.is_object()) return a == b;
    auto const& members = a.get_ref<nlohmann::json::object_t const&>();
    auto const& others = b.get_ref<nlohmann::json::object_t const&>();
    return std::equal(members.begin(), members.end(), others.begin(), others.end(),
                      [](auto const& x, auto const& y) { return x.first == y.first && same_json(x.second, y.second); });
}

} // namespace ipybox::detail
