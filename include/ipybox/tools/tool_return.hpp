#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/tools/tool_result.hpp>
#include <ipybox/tools/tool_schema.hpp>
#include <ipybox/tools/tool_value.hpp>

#include <nlohmann/json.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

/** \file
 * The types that functions of host tools may return: a value, a `tool_result`, and a `result<…>` of one of them.
 */

namespace ipybox::detail {

template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;

/// The value in a `result<…>`, and every other type as it is.
template <class T>
struct returned_value {
    using type = T;
};
template <class T>
struct returned_value<result<T>> {
    using type = T;
};

/// The schema of what a function returns; none where that is text.
template <class T>
[[nodiscard]] std::optional<nlohmann::ordered_json> result_schema() {
    using value = typename returned_value<T>::type;
    if constexpr (std::same_as<value, std::string>)
        return std::nullopt;
    else if constexpr (std::is_void_v<value>)
        return type_schema("null");
    else if constexpr (std::same_as<value, tool_result>)
        return nlohmann::ordered_json::object();
    else {
        static_assert(require_described<value>());
        return whole_schema_of<value>();
    }
}

/// The returned value of a function. Throws what `json_from` throws.
template <class T>
[[nodiscard]] tool_result to_tool_result(T value) {
    if constexpr (is_result<T>) {
        if (!value) {
            auto const& why = value.error();
            return tool_result::failed(why.text().empty() ? why.code().message() : std::string(why.text()));
        }
        if constexpr (std::is_void_v<typename T::value_type>)
            return tool_result::value(nullptr);
        else
            return to_tool_result(std::move(*value));
    } else if constexpr (std::same_as<T, tool_result>) {
        return value;
    } else if constexpr (std::same_as<T, std::string>) {
        return tool_result::text(std::move(value));
    } else if constexpr (is_json<T>) {
        return tool_result::value(value);
    } else {
        return tool_result::value(json_from(value));
    }
}

} // namespace ipybox::detail
