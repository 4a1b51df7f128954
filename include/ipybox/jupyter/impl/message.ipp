#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/core/random_hex.hpp>
#include <ipybox/jupyter/message.hpp>

#include <utility>

namespace ipybox::jupyter {
namespace detail {

/// Kernels nest a few levels deep. Writing JSON recurses, so somebody who nests a million must not get that far.
inline constexpr int deepest = 512;

inline bool too_deep(std::string_view text) noexcept {
    int depth = 0;
    bool quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        char const c = text[at];
        if (quoted) {
            if (c == '\\')
                ++at;
            else
                quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            if (++depth > deepest) return true;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return false;
}

inline result<json> parse_object(std::string_view text, char const* frame) {
    if (too_deep(text))
        return failure(errc::protocol_error,
                       std::string("the ") + frame + " of a Jupyter message is nested too deeply");
    auto value = json::parse(text, nullptr, false);
    if (value.is_object()) return value;
    return failure(errc::protocol_error, std::string("the ") + frame + " of a Jupyter message is no JSON object");
}

/// The buffer index that `metadata.raw` names for the top-level string `name`, or none.
inline std::size_t raw_index(message const& m, std::string_view name) {
    auto const none = m.buffers.size();
    auto const raw = m.metadata.find("raw");
    if (raw == m.metadata.end() || !raw->is_array()) return none;
    for (auto const& entry : *raw) {
        if (!entry.is_array() || entry.size() != 3 || !entry[0].is_array() || entry[0].size() != 1) continue;
        if (entry[0][0] != name || !entry[1].is_number_unsigned()) continue;
        auto const index = entry[1].get<std::size_t>();
        return index < none ? index : none;
    }
    return none;
}

} // namespace detail

IPYBOX_DECL std::string field(json const& object, std::string_view name) {
    if (!object.is_object()) return {};
    auto const found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

IPYBOX_DECL std::string take_text(message& m, std::string_view name) {
    auto const index = detail::raw_index(m, name);
    if (index < m.buffers.size()) return std::move(m.buffers[index]);
    return field(m.content, name);
}

IPYBOX_DECL std::string new_message_id() { return random_hex(16); }

IPYBOX_DECL json_frames to_frames(message& m) {
    if (m.id.empty()) m.id = new_message_id();
    json const header = {
        {"msg_id", m.id}, {"msg_type", m.type}, {"session", m.session}, {"username", "ipybox"}, {"version", "5.3"}};
    json_frames frames;
    frames.header = json_text(header);
    frames.parent_header = m.parent_header.is_object() ? json_text(m.parent_header) : "{}";
    frames.metadata = json_text(m.metadata);
    frames.content = json_text(m.content);
    return frames;
}

IPYBOX_DECL result<message> from_frames(channel on, std::string_view header, std::string_view parent_header,
                                        std::string_view metadata, std::string_view content) {
    auto head = detail::parse_object(header, "header");
    if (!head) return failure(head);
    auto parent = detail::parse_object(parent_header, "parent_header");
    if (!parent) return failure(parent);
    auto meta = detail::parse_object(metadata, "metadata");
    if (!meta) return failure(meta);
    auto body = detail::parse_object(content, "content");
    if (!body) return failure(body);

    message m(on, field(*head, "msg_type"), std::move(*body));
    if (m.type.empty()) return failure(errc::protocol_error, "a Jupyter message has no msg_type");
    m.id = field(*head, "msg_id");
    m.session = field(*head, "session");
    m.parent_id = field(*parent, "msg_id");
    m.metadata = std::move(*meta);
    // Only a request on the stdin channel is answered by us, and its answer names it as parent.
    if (on == channel::stdin_) m.parent_header = std::move(*head);
    m.size = header.size() + parent_header.size() + metadata.size() + content.size();
    return m;
}

} // namespace ipybox::jupyter
