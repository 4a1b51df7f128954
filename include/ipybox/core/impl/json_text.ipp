#pragma once

#include <ipybox/core/json_text.hpp>

#include <nlohmann/json.hpp>

namespace ipybox {

IPYBOX_DECL std::string json_text(nlohmann::json const& value, int indent) {
    return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

IPYBOX_DECL std::string json_text(nlohmann::ordered_json const& value, int indent) {
    return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

namespace detail {

IPYBOX_DECL nlohmann::json parse_json(std::string_view text) { return nlohmann::json::parse(text, nullptr, false); }

IPYBOX_DECL nlohmann::ordered_json parse_ordered_json(std::string_view text) {
    return nlohmann::ordered_json::parse(text, nullptr, false);
}

} // namespace detail
} // namespace ipybox
