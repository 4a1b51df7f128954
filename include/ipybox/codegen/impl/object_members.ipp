#pragma once

#include <ipybox/codegen/impl/object_members.hpp>
#include <ipybox/core/same_json.hpp>

#include <algorithm>
#include <cstddef>

namespace ipybox::codegen::detail {

IPYBOX_DECL schema_node followed(schema_document const& document, schema_node node) {
    static constexpr int longest = 16;
    for (int hops = 0; hops < longest; ++hops) {
        auto const own = document.keywords(node);
        if (!own.has("$ref") || !own.only({"$ref"}) || document.needs_document(node)) return node;
        auto target = document.resolve(own.find("$ref")->get_ref<std::string const&>());
        if (!target || document.leaves_resource(target->pointer)) return node;
        node = std::move(*target);
    }
    return node;
}

/// Adds the members of `part`; false where they do not go together with what is there.
inline bool add_members(object_members& all, object_members const& part) {
    for (auto const& [property, node] : part.properties) {
        auto const there = std::find_if(all.properties.begin(), all.properties.end(),
                                        [&, &name = property](auto const& other) { return other.first == name; });
        if (there == all.properties.end())
            all.properties.emplace_back(property, node);
        else if (!ipybox::detail::same_json(*there->second.schema, *node.schema))
            return false;
    }
    for (auto const& name : part.required)
        if (!all.requires_property(name)) all.required.push_back(name);
    return true;
}

/// One part that is an object makes the whole an object.
inline bool merge_into(object_members& all, bool& is_object, schema_document const& document, schema_node const& from,
                       int depth) {
    static constexpr int deepest = 8;
    auto const node = followed(document, from);
    auto const own = document.keywords(node);
    if (depth > deepest || own.forbids() || document.needs_document(node)) return false;
    if (own.types() != kinds::none && own.types() != kinds::object) return false;
    if (!own.only({"type", "properties", "required", "allOf"})) return false;
    is_object = is_object || own.types() == kinds::object;
    if (!add_members(all, members_of(document, node))) return false;
    if (auto const* parts = own.find("allOf"))
        for (std::size_t i = 0; i < parts->size(); ++i)
            if (!merge_into(all, is_object, document, node.at("allOf", i), depth + 1)) return false;
    return true;
}

IPYBOX_DECL bool object_members::has(std::string const& property) const {
    return std::any_of(properties.begin(), properties.end(), [&](auto const& p) { return p.first == property; });
}

IPYBOX_DECL bool object_members::requires_property(std::string const& property) const {
    return std::find(required.begin(), required.end(), property) != required.end();
}

IPYBOX_DECL object_members members_of(schema_document const& document, schema_node const& node) {
    auto const own = document.keywords(node);
    object_members members;
    members.required = own.required();
    if (auto const* properties = own.find("properties"))
        for (auto it = properties->begin(); it != properties->end(); ++it)
            if (it->is_object() || it->is_boolean())
                members.properties.emplace_back(it.key(), node.at({"properties", it.key()}));
    return members;
}

IPYBOX_DECL std::optional<object_members> merged_members(schema_document const& document, schema_node const& node) {
    object_members all;
    bool is_object = false;
    if (!merge_into(all, is_object, document, node, 0) || !is_object) return std::nullopt;
    return all;
}

} // namespace ipybox::codegen::detail
