#pragma once

#include <ipybox/tools/tool_schema.hpp>
#include <ipybox/tools/tool_value.hpp>

#include <nlohmann/json.hpp>

#include <string_view>
#include <tuple>
#include <type_traits>

/** \file
 * Structs as parameters and results of host tools: docs/host_tools.md, section 2.
 */

namespace ipybox::detail {

/// A member of a struct, by its name.
template <class Struct, class Value>
struct tool_member {
    using value_type = Value;
    char const* name;
    Value Struct::* pointer;
};

template <class Struct, class Value>
[[nodiscard]] constexpr auto make_tool_member(char const* name, Value Struct::* pointer) {
    static_assert(!std::is_const_v<Value>, "a member that IPYBOX_TOOL_TYPE describes is not const: it is assigned");
    static_assert(require_described<Value>());
    return tool_member<Struct, Value>{name, pointer};
}

/// The description of a struct.
template <class... Members>
struct tool_members {
    std::string_view name; ///< without its namespaces
    bool has_defaults;     ///< members may be left out
    std::tuple<Members...> members;
};

/// Without namespaces, and without the arguments of a template.
[[nodiscard]] constexpr std::string_view last_name(std::string_view type) {
    type = type.substr(0, type.find('<'));
    auto const at = type.rfind(':');
    return at == std::string_view::npos ? type : type.substr(at + 1);
}

template <class... Members>
[[nodiscard]] constexpr auto make_tool_members(std::string_view type, bool has_defaults, Members... members) {
    return tool_members<Members...>{last_name(type), has_defaults, {members...}};
}

} // namespace ipybox::detail

/// \cond
#define IPYBOX_DETAIL_PARENS ()
#define IPYBOX_DETAIL_EXPAND(...)                                                                                      \
    IPYBOX_DETAIL_EXPAND3(IPYBOX_DETAIL_EXPAND3(IPYBOX_DETAIL_EXPAND3(IPYBOX_DETAIL_EXPAND3(__VA_ARGS__))))
#define IPYBOX_DETAIL_EXPAND3(...)                                                                                     \
    IPYBOX_DETAIL_EXPAND2(IPYBOX_DETAIL_EXPAND2(IPYBOX_DETAIL_EXPAND2(IPYBOX_DETAIL_EXPAND2(__VA_ARGS__))))
#define IPYBOX_DETAIL_EXPAND2(...)                                                                                     \
    IPYBOX_DETAIL_EXPAND1(IPYBOX_DETAIL_EXPAND1(IPYBOX_DETAIL_EXPAND1(IPYBOX_DETAIL_EXPAND1(__VA_ARGS__))))
#define IPYBOX_DETAIL_EXPAND1(...) __VA_ARGS__
#define IPYBOX_DETAIL_MEMBERS(type, member, ...)                                                                       \
    , ::ipybox::detail::make_tool_member(#member, &type::member)                                                       \
          __VA_OPT__(IPYBOX_DETAIL_MEMBERS_AGAIN IPYBOX_DETAIL_PARENS(type, __VA_ARGS__))
#define IPYBOX_DETAIL_MEMBERS_AGAIN() IPYBOX_DETAIL_MEMBERS
#define IPYBOX_DETAIL_DESCRIBE(type, has_defaults, ...)                                                                \
    [[maybe_unused]] constexpr void ipybox_tool_type(::std::type_identity<type>) {}                                    \
    [[maybe_unused]] constexpr auto ipybox_tool_members(type const*) {                                                 \
        return ::ipybox::detail::make_tool_members(                                                                    \
            #type, has_defaults __VA_OPT__(IPYBOX_DETAIL_EXPAND(IPYBOX_DETAIL_MEMBERS(type, __VA_ARGS__))));           \
    }
#define IPYBOX_DETAIL_CONVERT(type)                                                                                    \
    [[maybe_unused]] inline void to_json(::nlohmann::json& converted, type const& value) {                             \
        converted = ::nlohmann::json(::ipybox::detail::json_from(value));                                              \
    }                                                                                                                  \
    [[maybe_unused]] inline void from_json(::nlohmann::json const& converted, ::std::type_identity_t<type>& value) {   \
        value = ::ipybox::detail::value_from<type>(converted);                                                         \
    }
/// \endcond

/**
 * \brief Describes a struct, so that host tools take and return it, and has nlohmann/json convert it. Stands in the
 * namespace of the struct, behind it.
 * \details Members are public, and have types with a schema; up to 64. Those of type `std::optional` may be left out,
 * all others have to be given. The struct is default-constructible.
 * \par Example
 * \snippet 17_host_function.cpp struct
 */
#define IPYBOX_TOOL_TYPE(type, ...)                                                                                    \
    IPYBOX_DETAIL_DESCRIBE(type, false, __VA_ARGS__)                                                                   \
    IPYBOX_DETAIL_CONVERT(type)

/// The same; members that are left out have the values of a struct that was constructed by default.
#define IPYBOX_TOOL_TYPE_WITH_DEFAULT(type, ...)                                                                       \
    IPYBOX_DETAIL_DESCRIBE(type, true, __VA_ARGS__)                                                                    \
    IPYBOX_DETAIL_CONVERT(type)

/// Describes a struct that NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE, or its like, has nlohmann/json convert already: that
/// macro does not tell the types of members.
#define IPYBOX_TOOL_SCHEMA(type, ...) IPYBOX_DETAIL_DESCRIBE(type, false, __VA_ARGS__)

/// The same for NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT.
#define IPYBOX_TOOL_SCHEMA_WITH_DEFAULT(type, ...) IPYBOX_DETAIL_DESCRIBE(type, true, __VA_ARGS__)
