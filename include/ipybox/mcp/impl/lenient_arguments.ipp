#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/mcp/lenient_arguments.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace ipybox::mcp::detail {

IPYBOX_DECL std::optional<nlohmann::ordered_json> value_of_text(std::string_view text, std::string_view type) {
    auto const read = raw_json::read(text, raw_json::duplicate_names::refused);
    if (!read) return std::nullopt;
    auto value = read->value();
    bool const fits = type == "object"    ? value.is_object()
                      : type == "array"   ? value.is_array()
                      : type == "boolean" ? value.is_boolean()
                                          : value.is_number() && (type == "number" || type == "integer");
    return fits ? std::optional(std::move(value)) : std::nullopt;
}

/// The value that is meant by one that has another type than a schema wants; none where it is not plain.
inline std::optional<nlohmann::ordered_json> meant_by(nlohmann::ordered_json const& value,
                                                      nlohmann::ordered_json const& schema) {
    auto const type = schema.is_object() ? schema.find("type") : schema.end();
    if (!schema.is_object() || type == schema.end() || !type->is_string()) return std::nullopt;
    auto const& wanted = type->get_ref<std::string const&>();
    if (value.is_string() && wanted != "string") return value_of_text(value.get_ref<std::string const&>(), wanted);
    if (value.is_number() && wanted == "string") return json_text(value);
    return std::nullopt;
}

inline bool is_required(nlohmann::ordered_json const& schema, std::string const& name) {
    auto const required = schema.find("required");
    return required != schema.end() &&
           std::any_of(required->begin(), required->end(), [&name](auto const& each) { return each == name; });
}

IPYBOX_DECL std::optional<raw_json> lenient_arguments(nlohmann::ordered_json const& schema, raw_json const& given) {
    auto value = given.value();
    bool is_changed = false;
    if (value.is_string()) {
        auto object = value_of_text(value.get_ref<std::string const&>(), "object");
        if (!object) return std::nullopt;
        value = *std::move(object);
        is_changed = true;
    }
    auto const properties = schema.is_object() ? schema.find("properties") : schema.end();
    if (!value.is_object() || !schema.is_object() || properties == schema.end()) return std::nullopt;
    auto read = nlohmann::ordered_json::object();
    for (auto& [name, member] : value.items()) {
        auto const declared = properties->find(name);
        if (member.is_null() && declared != properties->end() && !is_required(schema, name)) {
            is_changed = true;
            continue;
        }
        auto meant = declared == properties->end() ? std::nullopt : meant_by(member, *declared);
        is_changed = is_changed || meant;
        read[name] = meant ? *std::move(meant) : std::move(member);
    }
    if (!is_changed) return std::nullopt;
    auto made = raw_json::of(read);
    return made ? std::optional(*std::move(made)) : std::nullopt;
}

} // namespace ipybox::mcp::detail
