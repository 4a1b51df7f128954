#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <variant>

/** \file
 * JSON Schemas of C++ types: docs/host_tools.md, section 2. Their conversions are in `tool_value.hpp`.
 */

namespace ipybox {

/**
 * \brief Describes a type of the application that nlohmann/json converts: a specialisation has a static
 * `nlohmann::ordered_json schema()`.
 * \details Structs are described by `IPYBOX_TOOL_TYPE` (`tools/tool_type.hpp`) without it. A specialisation goes before
 * everything else that is known of a type.
 */
template <class T>
struct tool_schema {};

namespace detail {

/// Schemas that are referred to by name: those of structs.
class tool_definitions {
  public:
    /// The reference to a type's schema, which `make()` makes when it is first referred to. Types of the same name get
    /// numbers.
    template <class T, class Make>
    [[nodiscard]] nlohmann::ordered_json reference(std::string_view name, Make make) {
        auto const [own, is_new] = name_of(typeid(T), name);
        if (is_new) define(own, make());
        return reference_to(own);
    }

    /// The schema with all that it refers to.
    [[nodiscard]] nlohmann::ordered_json complete(nlohmann::ordered_json schema) const;

    /// The same for the schema of the struct that `reference` refers to: it is not there twice unless something in it
    /// refers to it.
    [[nodiscard]] nlohmann::ordered_json complete(nlohmann::ordered_json schema,
                                                  nlohmann::ordered_json const& reference) const;

  private:
    /// The name of a type's schema, and whether it has to be made. A type may refer to itself meanwhile.
    std::pair<std::string, bool> name_of(std::type_index type, std::string_view name);
    void define(std::string const& name, nlohmann::ordered_json schema);
    [[nodiscard]] static nlohmann::ordered_json reference_to(std::string const& name);

    std::map<std::type_index, std::string> names_;
    nlohmann::ordered_json list_ = nlohmann::ordered_json::object();
};

template <class T>
concept has_own_schema = requires {
    { tool_schema<T>::schema() } -> std::convertible_to<nlohmann::ordered_json>;
};

/// The function that IPYBOX_TOOL_TYPE declares beside a struct, and not for what is derived from it: that would lose
/// its own members. Its members are declared behind it, so that they may have the struct in them.
template <class T>
concept described_struct = std::is_class_v<T> && requires { ipybox_tool_type(std::type_identity<T>()); };

template <class T>
inline constexpr bool is_json = std::same_as<T, nlohmann::json> || std::same_as<T, nlohmann::ordered_json>;

template <class T>
inline constexpr bool is_character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                                     std::same_as<T, char16_t> || std::same_as<T, char32_t>;

/// Up to 64 bits: some compilers have larger ones.
template <class T>
concept json_integer = std::integral<T> && !std::same_as<T, bool> && !is_character<T> && sizeof(T) <= 8;

template <class T>
concept json_null = std::same_as<T, std::nullptr_t> || std::same_as<T, std::monostate>;

template <class T>
concept json_text_type = std::same_as<T, std::string> || std::same_as<T, std::filesystem::path>;

template <class T, template <class...> class Template>
inline constexpr bool is_instance = false;
template <class... Args, template <class...> class Template>
inline constexpr bool is_instance<Template<Args...>, Template> = true;

template <class T>
concept json_tuple = is_instance<T, std::pair> || is_instance<T, std::tuple>;

template <class T>
inline constexpr std::size_t array_size = 0;
template <class T, std::size_t N>
inline constexpr std::size_t array_size<std::array<T, N>> = N;

/// A map in which each name is once: a multimap would lose values.
template <class T>
concept json_map =
    requires {
        typename T::key_type;
        typename T::mapped_type;
    } && std::same_as<typename T::key_type, std::string> &&
    requires(T& map, std::string name, typename T::mapped_type value) {
        { map.emplace(std::move(name), std::move(value)).second } -> std::convertible_to<bool>;
    };

template <class T>
concept json_list = !json_text_type<T> && !is_json<T> && !described_struct<T> &&
                    !requires { typename T::mapped_type; } && requires(T& list, typename T::value_type item) {
                        list.begin();
                        list.end();
                        list.insert(list.end(), std::move(item));
                    };

/// The functions of an enumeration that NLOHMANN_JSON_SERIALIZE_ENUM declares, and no others.
namespace found_by_argument {
void to_json() = delete;
template <class T>
concept has_to_json = requires(nlohmann::json& converted, T const& value) { to_json(converted, value); };
} // namespace found_by_argument

template <class T>
concept named_enum = std::is_enum_v<T> && found_by_argument::has_to_json<T>;

template <class T>
[[nodiscard]] constexpr bool is_described();

template <class... Parts>
[[nodiscard]] constexpr bool all_described(std::type_identity<std::tuple<Parts...>>) {
    return (is_described<Parts>() && ...);
}
template <class... Parts>
[[nodiscard]] constexpr bool all_described(std::type_identity<std::variant<Parts...>>) {
    return (is_described<Parts>() && ...);
}
template <class A, class B>
[[nodiscard]] constexpr bool all_described(std::type_identity<std::pair<A, B>>) {
    return is_described<A>() && is_described<B>();
}

/// Whether a type has a schema here. Members of structs are looked at where they are described.
template <class T>
[[nodiscard]] constexpr bool is_described() {
    if constexpr (has_own_schema<T> || described_struct<T> || is_json<T> || json_null<T> || json_text_type<T> ||
                  std::same_as<T, bool> || json_integer<T> || std::floating_point<T> || named_enum<T>)
        return true;
    else if constexpr (is_instance<T, std::optional>)
        return is_described<typename T::value_type>();
    else if constexpr (is_instance<T, std::variant> || json_tuple<T>)
        return all_described(std::type_identity<T>());
    else if constexpr (array_size<T> > 0 || json_list<T>)
        return is_described<typename T::value_type>();
    else if constexpr (json_map<T>)
        return is_described<typename T::mapped_type>();
    else
        return false;
}

/// Says what to do about a type that has no schema; the compiler names the type.
template <class T>
[[nodiscard]] consteval bool require_described() {
    static_assert(
        is_described<T>(),
        "this type of a host tool has no JSON schema: describe a struct with IPYBOX_TOOL_TYPE(type, members...), "
        "an enumeration with NLOHMANN_JSON_SERIALIZE_ENUM, or specialise ipybox::tool_schema");
    return true;
}

/// Whether a type has a number. `std::in_range` takes no `char` and no `bool`, which enumerations may be made of.
template <class T>
[[nodiscard]] constexpr bool holds(long long number) {
    if (number < 0) return std::is_signed_v<T> && number >= static_cast<long long>(std::numeric_limits<T>::min());
    return static_cast<unsigned long long>(number) <= static_cast<unsigned long long>(std::numeric_limits<T>::max());
}

/// Calls a function with each value that an enumeration has, and its JSON. NLOHMANN_JSON_SERIALIZE_ENUM does not tell
/// them: those that come back from JSON as they were are tried out, from -256 to 1023 and powers of two.
template <class Enum, class Each>
void for_each_value(Each each) {
    using number = std::underlying_type_t<Enum>;
    std::map<long long, bool> tried;
    auto const attempt = [&](long long candidate) {
        if (!holds<number>(candidate) || !tried.emplace(candidate, true).second) return;
        auto const value = static_cast<Enum>(candidate);
        nlohmann::json const converted = value;
        if (!converted.is_null() && converted.template get<Enum>() == value) each(value, converted);
    };
    for (long long candidate = 0; candidate < 1024; ++candidate) attempt(candidate);
    for (long long candidate = -1; candidate >= -256; --candidate) attempt(candidate);
    for (int bit = 10; bit < 63; ++bit) attempt(1LL << bit);
}

template <class T>
[[nodiscard]] nlohmann::ordered_json schema_of(tool_definitions& definitions);

/// The schema with a description, unless that is empty.
[[nodiscard]] nlohmann::ordered_json described(nlohmann::ordered_json schema, std::string const& description);

/// A type of JSON Schema: `{"type": "number"}`.
[[nodiscard]] nlohmann::ordered_json type_schema(char const* type);

/// Bounds that are missing are not in it.
[[nodiscard]] nlohmann::ordered_json integer_schema(std::optional<int> minimum, std::optional<int> maximum);

[[nodiscard]] nlohmann::ordered_json enum_schema(nlohmann::ordered_json values);
[[nodiscard]] nlohmann::ordered_json any_of_schema(nlohmann::ordered_json alternatives);
[[nodiscard]] nlohmann::ordered_json optional_schema(nlohmann::ordered_json value);
[[nodiscard]] nlohmann::ordered_json map_schema(nlohmann::ordered_json values);

/// A list of as many items as it likes, or of `size`.
[[nodiscard]] nlohmann::ordered_json list_schema(nlohmann::ordered_json items, std::optional<std::size_t> size = {});

/// A list whose items have schemas of their own.
[[nodiscard]] nlohmann::ordered_json tuple_schema(nlohmann::ordered_json items);

/// An object without further members.
class object_schema {
  public:
    void add(std::string const& name, nlohmann::ordered_json schema, bool is_required);

    [[nodiscard]] nlohmann::ordered_json take() &&;

  private:
    nlohmann::ordered_json properties_ = nlohmann::ordered_json::object();
    nlohmann::ordered_json required_ = nlohmann::ordered_json::array();
};

/// Small integers have bounds, larger ones at most none below zero: few languages hold the bounds of 64 bits.
template <class T>
[[nodiscard]] nlohmann::ordered_json schema_of_integer() {
    if constexpr (sizeof(T) <= 2)
        return integer_schema(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    else if constexpr (std::unsigned_integral<T>)
        return integer_schema(0, {});
    else
        return integer_schema({}, {});
}

template <class Enum>
[[nodiscard]] nlohmann::ordered_json schema_of_enum() {
    auto values = nlohmann::ordered_json::array();
    for_each_value<Enum>([&](Enum, nlohmann::json const& value) { values.push_back(nlohmann::ordered_json(value)); });
    return enum_schema(std::move(values));
}

/// The schema of a struct itself, not a reference to it.
template <class T>
[[nodiscard]] nlohmann::ordered_json struct_schema(tool_definitions& definitions) {
    auto const description = ipybox_tool_members(static_cast<T const*>(nullptr));
    object_schema schema;
    [[maybe_unused]] auto const add = [&](auto const& member) {
        using value = typename std::remove_cvref_t<decltype(member)>::value_type;
        bool const is_required = !description.has_defaults && !is_instance<value, std::optional>;
        schema.add(member.name, schema_of<value>(definitions), is_required);
    };
    std::apply([&](auto const&... members) { (add(members), ...); }, description.members);
    return std::move(schema).take();
}

template <class... Parts>
[[nodiscard]] nlohmann::ordered_json schemas_of(tool_definitions& definitions,
                                                std::type_identity<std::tuple<Parts...>>) {
    auto list = nlohmann::ordered_json::array();
    (list.push_back(schema_of<Parts>(definitions)), ...);
    return list;
}
template <class... Parts>
[[nodiscard]] nlohmann::ordered_json schemas_of(tool_definitions& definitions,
                                                std::type_identity<std::variant<Parts...>>) {
    return schemas_of(definitions, std::type_identity<std::tuple<Parts...>>());
}
template <class A, class B>
[[nodiscard]] nlohmann::ordered_json schemas_of(tool_definitions& definitions, std::type_identity<std::pair<A, B>>) {
    return schemas_of(definitions, std::type_identity<std::tuple<A, B>>());
}

template <class T>
nlohmann::ordered_json schema_of(tool_definitions& definitions) {
    if constexpr (has_own_schema<T>) {
        return tool_schema<T>::schema();
    } else if constexpr (is_json<T>) {
        return nlohmann::ordered_json::object();
    } else if constexpr (json_null<T>) {
        return type_schema("null");
    } else if constexpr (std::same_as<T, bool>) {
        return type_schema("boolean");
    } else if constexpr (json_integer<T>) {
        return schema_of_integer<T>();
    } else if constexpr (std::floating_point<T>) {
        return type_schema("number");
    } else if constexpr (json_text_type<T>) {
        return type_schema("string");
    } else if constexpr (named_enum<T>) {
        return schema_of_enum<T>();
    } else if constexpr (described_struct<T>) {
        auto const name = ipybox_tool_members(static_cast<T const*>(nullptr)).name;
        return definitions.reference<T>(name, [&] { return struct_schema<T>(definitions); });
    } else if constexpr (is_instance<T, std::optional>) {
        return optional_schema(schema_of<typename T::value_type>(definitions));
    } else if constexpr (is_instance<T, std::variant>) {
        return any_of_schema(schemas_of(definitions, std::type_identity<T>()));
    } else if constexpr (json_tuple<T>) {
        return tuple_schema(schemas_of(definitions, std::type_identity<T>()));
    } else if constexpr (array_size<T> > 0) {
        return list_schema(schema_of<typename T::value_type>(definitions), array_size<T>);
    } else if constexpr (json_map<T>) {
        return map_schema(schema_of<typename T::mapped_type>(definitions));
    } else if constexpr (json_list<T>) {
        return list_schema(schema_of<typename T::value_type>(definitions));
    } else {
        return nlohmann::ordered_json(); // said by `require_described`
    }
}

/// The schema of a type by itself.
template <class T>
[[nodiscard]] nlohmann::ordered_json whole_schema_of() {
    tool_definitions definitions;
    auto schema = schema_of<T>(definitions);
    return definitions.complete(std::move(schema));
}

} // namespace detail
} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/tools/impl/tool_schema.ipp>
#endif
