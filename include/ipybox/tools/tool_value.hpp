#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/mcp/argument_check.hpp>
#include <ipybox/tools/tool_schema.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

/** \file
 * Values of C++ types from JSON and to JSON. A value that does not fit a type throws `std::invalid_argument` with a
 * sentence for the code that called.
 */

namespace ipybox::detail {

template <class T>
[[nodiscard]] T value_from(nlohmann::json const& converted, check_budget& budget);

/// The same without a bound: for values that the application made.
template <class T>
[[nodiscard]] T value_from(nlohmann::json const& converted) {
    check_budget unbounded;
    return value_from<T>(converted, unbounded);
}

template <class T>
[[nodiscard]] nlohmann::ordered_json json_from(T const& value);

/// The same with the place in front of what is wrong.
template <class T>
[[nodiscard]] T value_at(std::string const& place, nlohmann::json const& converted, check_budget& budget) {
    try {
        return value_from<T>(converted, budget);
    } catch (check_stopped const&) { throw; } catch (std::exception const& wrong) {
        throw std::invalid_argument(place + ": " + wrong.what());
    }
}

template <class T>
[[nodiscard]] T integer_from(nlohmann::json const& converted) {
    auto const out_of_range = [] {
        return std::invalid_argument("has to be from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                                     std::to_string(std::numeric_limits<T>::max()));
    };
    if (converted.is_number_unsigned()) {
        auto const number = converted.get<std::uint64_t>();
        if (!std::in_range<T>(number)) throw out_of_range();
        return static_cast<T>(number);
    }
    if (converted.is_number_integer()) {
        auto const number = converted.get<std::int64_t>();
        if (!std::in_range<T>(number)) throw out_of_range();
        return static_cast<T>(number);
    }
    auto const number = converted.get<double>();
    // 2 to the 63rd has no exact neighbours: what is so large was no integer of 64 bits, or is not known exactly.
    if (!(std::abs(number) < 0x1p63) || std::trunc(number) != number) throw out_of_range();
    auto const whole = static_cast<std::int64_t>(number);
    if (!std::in_range<T>(whole)) throw out_of_range();
    return static_cast<T>(whole);
}

template <class T>
[[nodiscard]] T floating_from(nlohmann::json const& converted) {
    auto const number = converted.get<double>();
    if (std::abs(number) > static_cast<long double>(std::numeric_limits<T>::max()))
        throw std::invalid_argument("is too large for a number of " + std::to_string(sizeof(T)) + " bytes");
    return static_cast<T>(number);
}

template <class T>
[[nodiscard]] T struct_from(nlohmann::json const& converted, check_budget& budget) {
    static_assert(std::is_default_constructible_v<T>,
                  "a struct that IPYBOX_TOOL_TYPE describes is default-constructible");
    T value{};
    [[maybe_unused]] auto const take = [&](auto const& member) {
        using type = typename std::remove_cvref_t<decltype(member)>::value_type;
        auto const found = converted.find(member.name);
        if (found != converted.end()) value.*member.pointer = value_at<type>(member.name, *found, budget);
    };
    std::apply([&](auto const&... members) { (take(members), ...); },
               ipybox_tool_members(static_cast<T const*>(nullptr)).members);
    return value;
}

/// The first of the alternatives that the value fits.
template <class T, std::size_t I = 0>
[[nodiscard]] T variant_from(nlohmann::json const& converted, check_budget& budget) {
    if constexpr (I == std::variant_size_v<T>) {
        throw std::invalid_argument("fits none of its alternatives");
    } else {
        using alternative = std::variant_alternative_t<I, T>;
        static auto const& schema = never_destroyed<nlohmann::ordered_json>(whole_schema_of<alternative>());
        if (!find_mismatch(schema, converted, budget)) {
            try {
                return T(std::in_place_index<I>, value_from<alternative>(converted, budget));
            } catch (check_stopped const&) { throw; } catch (std::exception const&) {
            } // NOLINT(bugprone-empty-catch): a number that is too large for it
        }
        return variant_from<T, I + 1>(converted, budget);
    }
}

template <class T, std::size_t... I>
[[nodiscard]] T tuple_from(nlohmann::json const& converted, [[maybe_unused]] check_budget& budget,
                           std::index_sequence<I...>) {
    return T{value_at<std::tuple_element_t<I, T>>(std::to_string(I), converted.at(I), budget)...};
}

template <class T>
T value_from(nlohmann::json const& converted, [[maybe_unused]] check_budget& budget) {
    if constexpr (has_own_schema<T>) {
        return converted.get<T>();
    } else if constexpr (std::same_as<T, nlohmann::json>) {
        return converted;
    } else if constexpr (std::same_as<T, nlohmann::ordered_json>) {
        return T(converted);
    } else if constexpr (json_null<T>) {
        return T{};
    } else if constexpr (json_integer<T>) {
        return integer_from<T>(converted);
    } else if constexpr (std::floating_point<T>) {
        return floating_from<T>(converted);
    } else if constexpr (std::same_as<T, std::filesystem::path>) {
        return T(converted.get_ref<std::string const&>());
    } else if constexpr (std::same_as<T, std::string>) {
        return converted.get_ref<std::string const&>();
    } else if constexpr (described_struct<T>) {
        return struct_from<T>(converted, budget);
    } else if constexpr (is_instance<T, std::optional>) {
        return converted.is_null() ? T() : T(value_from<typename T::value_type>(converted, budget));
    } else if constexpr (is_instance<T, std::variant>) {
        return variant_from<T>(converted, budget);
    } else if constexpr (json_tuple<T>) {
        return tuple_from<T>(converted, budget, std::make_index_sequence<std::tuple_size_v<T>>());
    } else if constexpr (array_size<T> > 0) {
        T list{};
        for (std::size_t i = 0; i < list.size(); ++i)
            list[i] = value_at<typename T::value_type>(std::to_string(i), converted.at(i), budget);
        return list;
    } else if constexpr (json_map<T>) {
        T map;
        for (auto const& [name, member] : converted.items())
            map.emplace(name, value_at<typename T::mapped_type>(name, member, budget));
        return map;
    } else if constexpr (json_list<T>) {
        T list;
        if constexpr (requires { list.reserve(converted.size()); }) list.reserve(converted.size());
        std::size_t i = 0;
        for (auto const& item : converted) {
            // Its place is put together only where it is needed: there may be many.
            try {
                list.insert(list.end(), value_from<typename T::value_type>(item, budget));
            } catch (check_stopped const&) { throw; } catch (std::exception const& wrong) {
                throw std::invalid_argument(std::to_string(i) + ": " + wrong.what());
            }
            ++i;
        }
        return list;
    } else {
        return converted.get<T>();
    }
}

/// Text for JSON, which would replace bytes that are not UTF-8 without a word: two names could become one.
[[nodiscard]] std::string json_text_of(std::string text, char const* what);

template <class T>
[[nodiscard]] nlohmann::ordered_json json_from_struct(T const& value) {
    auto converted = nlohmann::ordered_json::object();
    [[maybe_unused]] auto const add = [&](auto const& member) {
        using type = typename std::remove_cvref_t<decltype(member)>::value_type;
        auto const& held = value.*member.pointer;
        if constexpr (is_instance<type, std::optional>) {
            if (held) converted[member.name] = json_from(*held);
        } else {
            converted[member.name] = json_from(held);
        }
    };
    std::apply([&](auto const&... members) { (add(members), ...); },
               ipybox_tool_members(static_cast<T const*>(nullptr)).members);
    return converted;
}

template <class T>
nlohmann::ordered_json json_from(T const& value) {
    using object = nlohmann::ordered_json;
    if constexpr (has_own_schema<T> || named_enum<T>) {
        return object(nlohmann::json(value));
    } else if constexpr (is_json<T>) {
        return object(value);
    } else if constexpr (json_null<T>) {
        return nullptr;
    } else if constexpr (std::floating_point<T>) {
        auto const written = static_cast<double>(value);
        if (!std::isfinite(written))
            throw std::invalid_argument("a number that JSON does not have: " + std::to_string(value));
        return written;
    } else if constexpr (std::same_as<T, std::filesystem::path>) {
        return json_text_of(value.string(), "a path");
    } else if constexpr (described_struct<T>) {
        return json_from_struct(value);
    } else if constexpr (is_instance<T, std::optional>) {
        return value ? json_from(*value) : object(nullptr);
    } else if constexpr (is_instance<T, std::variant>) {
        return std::visit([](auto const& held) { return json_from(held); }, value);
    } else if constexpr (json_tuple<T>) {
        auto list = object::array();
        std::apply([&](auto const&... parts) { (list.push_back(json_from(parts)), ...); }, value);
        return list;
    } else if constexpr (json_map<T>) {
        auto map = object::object();
        // Appended, since names are unique: looking for each of them takes seconds where there are many.
        object::object_t::Container& members = map.template get_ref<object::object_t&>();
        for (auto const& [name, member] : value) members.emplace_back(json_text_of(name, "a name"), json_from(member));
        return map;
    } else if constexpr (array_size<T> > 0 || json_list<T>) {
        auto list = object::array();
        for (auto const& item : value) list.push_back(json_from<typename T::value_type>(item));
        return list;
    } else {
        return value;
    }
}

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/tools/impl/tool_value.ipp>
#endif
