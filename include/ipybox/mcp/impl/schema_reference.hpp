#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace ipybox::detail {

using schema_json = nlohmann::ordered_json;

/// The place of a part within another.
inline std::string joined(std::string const& where, std::string_view part) {
    return std::string(where).append("/").append(part);
}

/// The part of a schema that `#/…` refers to; nothing where there is none.
inline schema_json const* referred_to(schema_json const& root, std::string_view reference) {
    if (reference == "#") return &root;
    if (!reference.starts_with("#/")) return nullptr;
    try {
        schema_json::json_pointer const pointer{std::string(reference.substr(1))};
        return root.contains(pointer) ? &root.at(pointer) : nullptr;
    } catch (nlohmann::json::exception const&) { return nullptr; }
}

} // namespace ipybox::detail
