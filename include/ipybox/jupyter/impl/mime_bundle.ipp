#pragma once

#include <ipybox/core/base64.hpp>
#include <ipybox/jupyter/mime_bundle.hpp>

#include <nlohmann/json.hpp>

namespace ipybox {

IPYBOX_DECL std::string const* mime_bundle::find(std::string_view type) const noexcept {
    for (auto const& e : entries_)
        if (e.type == type) return &e.value;
    return nullptr;
}

IPYBOX_DECL std::size_t mime_bundle::size() const noexcept {
    std::size_t bytes = 0;
    for (auto const& e : entries_) bytes += e.type.size() + e.value.size();
    return bytes;
}

IPYBOX_DECL nlohmann::json mime_bundle::to_json() const {
    auto object = nlohmann::json::object();
    for (auto const& e : entries_) {
        switch (e.kind) {
        case encoding::text: object[e.type] = e.value; break;
        case encoding::bytes: object[e.type] = base64_encode(e.value); break;
        case encoding::json: object[e.type] = nlohmann::json::parse(e.value, nullptr, false); break;
        }
    }
    return object;
}

} // namespace ipybox
