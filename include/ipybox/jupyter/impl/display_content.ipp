#pragma once

#include <ipybox/core/base64.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/jupyter/display_content.hpp>
#include <ipybox/jupyter/impl/mime_type.hpp>
#include <ipybox/jupyter/json_frames.hpp>

#include <map>
#include <optional>
#include <utility>

namespace ipybox::jupyter {
namespace detail {

struct raw_value {
    std::size_t index = 0;
    bool bytes = false; ///< the buffer is what its base64 would stand for
};

/// The values of `content.data` that travelled as buffers, by MIME type.
inline std::map<std::string, raw_value, std::less<>> raw_values(message const& m) {
    std::map<std::string, raw_value, std::less<>> values;
    auto const raw = m.metadata.find("raw");
    if (raw == m.metadata.end() || !raw->is_array()) return values;
    for (auto const& entry : *raw) {
        if (!entry.is_array() || entry.size() != 3 || !entry[0].is_array() || entry[0].size() != 2) continue;
        auto const& path = entry[0];
        if (path[0] != "data" || !path[1].is_string() || !entry[1].is_number_unsigned()) continue;
        auto const index = entry[1].get<std::size_t>();
        if (index < m.buffers.size()) values[path[1].get<std::string>()] = {index, entry[2] == "base64"};
    }
    return values;
}

/// Takes a string, or the lines of one (nbformat's multi-line strings); none for other JSON.
inline std::optional<std::string> take_text(nlohmann::json& value) {
    if (value.is_string()) return std::move(value.get_ref<std::string&>());
    if (!value.is_array()) return std::nullopt;
    std::string text;
    for (auto const& line : value) {
        if (!line.is_string()) return std::nullopt;
        text += line.get_ref<std::string const&>();
    }
    return text;
}

inline ipybox::detail::mime_bundle::entry to_entry(std::string const& type, nlohmann::json& value) {
    auto text = is_json(type) ? std::nullopt : take_text(value);
    if (!text) return {type, ipybox::detail::mime_bundle::encoding::json, json_text(value)};
    if (is_binary(type))
        if (auto decoded = base64_decode(*text))
            return {type, ipybox::detail::mime_bundle::encoding::bytes, std::move(*decoded)};
    return {type, ipybox::detail::mime_bundle::encoding::text, std::move(*text)};
}

/// Whether a text that travelled as a buffer stands for something else: base64 for bytes, a string for JSON, which has
/// the bound of all JSON.
inline bool is_converted(std::string_view type, std::string const& text) {
    return is_binary(type) || (is_json(type) && text.size() <= message_bounds().displayed.bytes);
}

} // namespace detail

IPYBOX_DECL ipybox::detail::mime_bundle take_bundle(message& m) {
    ipybox::detail::mime_bundle bundle;
    auto const data = m.content.find("data");
    if (data == m.content.end() || !data->is_object()) return bundle;
    auto const raw = detail::raw_values(m);
    for (auto& [type, value] : data->get_ref<nlohmann::json::object_t&>()) {
        auto const found = raw.find(type);
        if (auto const text = m.json_texts.find(type); text != m.json_texts.end()) {
            bundle.add({type, ipybox::detail::mime_bundle::encoding::json, std::move(text->second)});
        } else if (found == raw.end()) {
            bundle.add(detail::to_entry(type, value));
        } else {
            auto const kind = found->second.bytes ? ipybox::detail::mime_bundle::encoding::bytes
                                                  : ipybox::detail::mime_bundle::encoding::text;
            auto& buffer = m.buffers[found->second.index];
            if (kind == ipybox::detail::mime_bundle::encoding::text && detail::is_converted(type, buffer)) {
                nlohmann::json sent(std::move(buffer));
                bundle.add(detail::to_entry(type, sent));
            } else {
                bundle.add({type, kind, std::move(buffer)});
            }
        }
    }
    m.json_texts.clear();
    return bundle;
}

} // namespace ipybox::jupyter
