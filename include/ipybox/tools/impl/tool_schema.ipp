#pragma once

#include <ipybox/tools/tool_schema.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::detail {

/// Whether a text stands anywhere in a value.
inline bool has_text(nlohmann::ordered_json const& value, std::string const& text) {
    if (!value.is_structured()) return value == text;
    return std::any_of(value.begin(), value.end(), [&](auto const& each) { return has_text(each, text); });
}

// --- definitions ---------------------------------------------------------------------------------------------------------

IPYBOX_DECL std::pair<std::string, bool> tool_definitions::name_of(std::type_index type, std::string_view name) {
    if (auto const found = names_.find(type); found != names_.end()) return {found->second, false};
    auto own = std::string(name);
    for (int i = 2; list_.contains(own); ++i) own = std::string(name) + "_" + std::to_string(i);
    names_.emplace(type, own);
    list_[own] = nullptr;
    return {std::move(own), true};
}

IPYBOX_DECL void tool_definitions::define(std::string const& name, nlohmann::ordered_json schema) {
    list_[name] = std::move(schema);
}

IPYBOX_DECL nlohmann::ordered_json tool_definitions::reference_to(std::string const& name) {
    return {{"$ref", "#/$defs/" + name}};
}

IPYBOX_DECL nlohmann::ordered_json tool_definitions::complete(nlohmann::ordered_json schema) const {
    if (!list_.empty() && schema.is_object()) schema["$defs"] = list_;
    return schema;
}

IPYBOX_DECL nlohmann::ordered_json tool_definitions::complete(nlohmann::ordered_json schema,
                                                              nlohmann::ordered_json const& reference) const {
    auto whole = complete(std::move(schema));
    auto const target = reference.at("$ref").get<std::string>();
    auto rest = whole;
    rest["$defs"].erase(target.substr(target.rfind('/') + 1));
    if (has_text(rest, target)) return whole;
    if (rest["$defs"].empty()) rest.erase("$defs");
    return rest;
}

// --- schemas -------------------------------------------------------------------------------------------------------------

IPYBOX_DECL nlohmann::ordered_json described(nlohmann::ordered_json schema, std::string const& description) {
    if (!description.empty()) schema["description"] = description;
    return schema;
}

IPYBOX_DECL nlohmann::ordered_json type_schema(char const* type) { return {{"type", type}}; }

IPYBOX_DECL nlohmann::ordered_json integer_schema(std::optional<int> minimum, std::optional<int> maximum) {
    auto schema = type_schema("integer");
    if (minimum) schema["minimum"] = *minimum;
    if (maximum) schema["maximum"] = *maximum;
    return schema;
}

IPYBOX_DECL nlohmann::ordered_json enum_schema(nlohmann::ordered_json values) { return {{"enum", std::move(values)}}; }

IPYBOX_DECL nlohmann::ordered_json any_of_schema(nlohmann::ordered_json alternatives) {
    return {{"anyOf", std::move(alternatives)}};
}

IPYBOX_DECL nlohmann::ordered_json optional_schema(nlohmann::ordered_json value) {
    return any_of_schema(nlohmann::ordered_json::array({std::move(value), type_schema("null")}));
}

IPYBOX_DECL nlohmann::ordered_json map_schema(nlohmann::ordered_json values) {
    return {{"type", "object"}, {"additionalProperties", std::move(values)}};
}

IPYBOX_DECL nlohmann::ordered_json list_schema(nlohmann::ordered_json items, std::optional<std::size_t> size) {
    auto schema = type_schema("array");
    schema["items"] = std::move(items);
    if (!size) return schema;
    schema["minItems"] = *size;
    schema["maxItems"] = *size;
    return schema;
}

IPYBOX_DECL nlohmann::ordered_json tuple_schema(nlohmann::ordered_json items) {
    auto schema = type_schema("array");
    auto const size = items.size();
    if (size > 0) schema["prefixItems"] = std::move(items);
    schema["items"] = false;
    schema["minItems"] = size;
    return schema;
}

IPYBOX_DECL void object_schema::add(std::string const& name, nlohmann::ordered_json schema, bool is_required) {
    properties_[name] = std::move(schema);
    if (is_required) required_.push_back(name);
}

IPYBOX_DECL nlohmann::ordered_json object_schema::take() && {
    auto schema = type_schema("object");
    schema["properties"] = std::move(properties_);
    if (!required_.empty()) schema["required"] = std::move(required_);
    schema["additionalProperties"] = false;
    return schema;
}

} // namespace ipybox::detail
