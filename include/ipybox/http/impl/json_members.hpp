#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

/** \file
 * Members of objects of other sides: one of another type counts as missing.
 */

namespace ipybox::http::detail {

inline std::string text_in(nlohmann::json const& object, char const* name) {
    auto const found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

inline bool flag_in(nlohmann::json const& object, char const* name) {
    auto const found = object.find(name);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

inline std::optional<std::vector<std::string>> texts_in(nlohmann::json const& object, char const* name) {
    auto const found = object.find(name);
    if (found == object.end() || !found->is_array()) return std::nullopt;
    std::vector<std::string> texts;
    for (auto const& each : *found)
        if (each.is_string() && !each.get_ref<std::string const&>().empty()) texts.push_back(each.get<std::string>());
    return texts;
}

} // namespace ipybox::http::detail
