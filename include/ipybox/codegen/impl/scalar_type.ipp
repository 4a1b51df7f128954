#pragma once

#include <ipybox/codegen/impl/scalar_type.hpp>
#include <ipybox/codegen/python_literal.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace ipybox::codegen::detail {

/// 2^53: up to there a double is exact.
inline constexpr double exact_integers = 9007199254740992.0;

IPYBOX_DECL std::optional<std::int64_t> exact_integer(ordered_json const& value) {
    auto const number = value.get<double>();
    if (std::abs(number) > exact_integers || std::trunc(number) != number) return std::nullopt;
    return value.is_number_float() ? static_cast<std::int64_t>(number) : value.get<std::int64_t>();
}

/// A bound as an argument of Field. Integers have no fractional bounds in Pydantic: those are rounded inwards.
inline std::optional<std::string> bound(std::string_view keyword, ordered_json const& value, bool of_integer) {
    bool const lower = keyword.ends_with("inimum");
    bool exclusive = keyword.starts_with("exclusive");
    auto shown = value_literal(value);
    if (of_integer) {
        if (auto const whole = exact_integer(value)) {
            shown = std::to_string(*whole);
        } else {
            auto const number = value.get<double>();
            if (std::abs(number) > exact_integers) return std::nullopt;
            exclusive = false; // `add_bounds` keeps the tighter one
            shown = std::to_string(static_cast<std::int64_t>(lower ? std::ceil(number) : std::floor(number)));
        }
    }
    return std::string(lower ? (exclusive ? "gt=" : "ge=") : (exclusive ? "lt=" : "le=")) + shown;
}

inline void add_bounds(python_type& type, schema_keywords const& own, std::vector<std::string_view>& unsaid) {
    bool const of_integer = type.accepts == kinds::integer;
    struct pair {
        std::string_view inclusive, exclusive;
    };
    for (auto const& [inclusive, exclusive] :
         {pair{"minimum", "exclusiveMinimum"}, pair{"maximum", "exclusiveMaximum"}}) {
        auto const* limit = own.find(inclusive);
        auto const* strict = own.find(exclusive);
        bool const draft_4 = strict && strict->is_boolean(); // then it says what kind of bound the other one is
        if (draft_4) strict = std::exchange(limit, nullptr);
        for (auto const& [keyword, value] : {std::pair{inclusive, limit}, std::pair{exclusive, strict}}) {
            if (!value) continue;
            auto argument = bound(keyword, *value, of_integer);
            bool const named_already =
                argument && !type.constraints.empty() && type.constraints.back().substr(0, 3) == argument->substr(0, 3);
            if (named_already) {
                // Both bounds are inclusive integers now: one argument says the tighter one.
                auto const before = std::stoll(type.constraints.back().substr(3)),
                           now = std::stoll(argument->substr(3));
                bool const lower = inclusive == "minimum";
                type.constraints.back() =
                    argument->substr(0, 3) + std::to_string(lower ? std::max(before, now) : std::min(before, now));
            } else if (argument) {
                type.constraints.push_back(std::move(*argument));
            } else {
                unsaid.push_back(keyword);
                if (draft_4) unsaid.push_back(inclusive);
            }
        }
    }
}

IPYBOX_DECL void add_sizes(python_type& type, schema_keywords const& own, std::string_view least, std::string_view most,
                           std::vector<std::string_view>& unsaid) {
    struct size {
        std::string_view keyword;
        char const* argument;
    };
    for (auto const& [keyword, argument] : {size{least, "min_length="}, size{most, "max_length="}}) {
        auto const* value = own.find(keyword);
        if (!value) continue;
        auto const number = exact_integer(*value);
        if (number && *number >= 0)
            type.constraints.push_back(argument + std::to_string(*number));
        else
            unsaid.push_back(keyword);
    }
}

IPYBOX_DECL python_type scalar_type(kinds kind, schema_keywords const& own, std::vector<std::string_view>& unsaid) {
    if (kind == kinds::null) return python_type::scalar("None", kind);
    if (kind == kinds::boolean) return python_type::scalar("bool", kind);
    if (kind == kinds::string) {
        auto type = python_type::scalar("str", kind);
        add_sizes(type, own, "minLength", "maxLength", unsaid);
        if (own.has("pattern")) unsaid.emplace_back("pattern");
        return type;
    }
    auto type = python_type::scalar(kind == kinds::integer ? "int" : "int | float", kind);
    add_bounds(type, own, unsaid);
    if (auto const* step = own.find("multipleOf")) {
        auto const whole = kind == kinds::integer ? exact_integer(*step) : std::nullopt;
        if (whole)
            type.constraints.push_back("multiple_of=" + std::to_string(*whole));
        else
            unsaid.emplace_back("multipleOf");
    }
    return type;
}

} // namespace ipybox::codegen::detail
