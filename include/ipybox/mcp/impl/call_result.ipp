#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/call_result.hpp>

#include <utility>

namespace ipybox::mcp {
namespace detail {

/// The members of a block that blocks of the known types have. Strings, which may be large, are read once and moved
/// from here.
struct block_members {
    std::string type;
    std::optional<std::string> text, data, blob, mime_type, uri, name, title, description;
    std::optional<nlohmann::json> annotations;
    std::string_view resource; ///< not looked into yet

    /// Reads a block; false where it is no object.
    bool read(std::string_view block) {
        json_cursor cursor(block);
        return cursor.object([&](std::string const& member) {
            if (auto* const place = place_of(member); place && cursor.peek() == '"') {
                *place = cursor.string();
                return place->has_value();
            }
            if (member == "type" && cursor.peek() == '"') {
                auto const value = cursor.string();
                if (value) type = *value;
                return value.has_value();
            }
            auto const value = cursor.skip(json_cursor::any_depth);
            if (value && member == "annotations" && value != "null")
                annotations = read_json(*value); // without them the block still counts
            if (value && member == "resource") resource = *value;
            return value.has_value();
        });
    }

    std::optional<std::string>* place_of(std::string_view member) {
        if (member == "text") return &text;
        if (member == "data") return &data;
        if (member == "blob") return &blob;
        if (member == "mimeType") return &mime_type;
        if (member == "uri") return &uri;
        if (member == "name") return &name;
        if (member == "title") return &title;
        if (member == "description") return &description;
        return nullptr;
    }
};

inline std::string take(std::optional<std::string>& from) { return std::move(from).value_or(std::string()); }

inline std::optional<content> read_block(std::string_view text) {
    block_members m;
    if (!m.read(text)) { // kept as it came: the blocks beside it are worth having
        auto other = read_json<nlohmann::ordered_json>(text);
        if (!other) return std::nullopt;
        return content::unknown{{}, std::move(*other)};
    }
    if (m.type == "text") return content(content::text{take(m.text)}, std::move(m.annotations));
    if (m.type == "image") return content(content::image{take(m.data), take(m.mime_type)}, std::move(m.annotations));
    if (m.type == "audio") return content(content::audio{take(m.data), take(m.mime_type)}, std::move(m.annotations));
    if (m.type == "resource_link")
        return content(content::resource_link{take(m.uri), take(m.name), std::move(m.title), std::move(m.description),
                                              std::move(m.mime_type)},
                       std::move(m.annotations));
    block_members inner;
    if (m.type == "resource" && inner.read(m.resource)) {
        // The place of the annotations depends on the version.
        auto& said = m.annotations ? m.annotations : inner.annotations;
        return content(content::embedded_resource{take(inner.uri), std::move(inner.mime_type), std::move(inner.text),
                                                  std::move(inner.blob)},
                       std::move(said));
    }
    auto whole = read_json<nlohmann::ordered_json>(text);
    if (!whole) return std::nullopt;
    return content::unknown{std::move(m.type), std::move(*whole)};
}

} // namespace detail

IPYBOX_DECL std::string call_result::text() const {
    std::string text;
    auto separator = "";
    for (auto const& block : content)
        if (auto const* t = block.as<mcp::content::text>()) {
            text.append(separator).append(t->value);
            separator = "\n";
        }
    return text;
}

IPYBOX_DECL result<call_result> detail::read_call_result(std::string_view json, era spoken) {
    call_result r;
    json_cursor cursor(json);
    std::string wrong = "something that is no result of a tool";
    auto const read_content = [&] {
        auto const block = cursor.skip(json_cursor::any_depth);
        if (block == "null") return true;
        auto value = block ? detail::read_block(*block) : std::nullopt;
        if (!value)
            wrong = "a result whose block " + std::to_string(r.content.size() + 1) +
                    " of `content` is not JSON, or nests too deeply";
        else
            r.content.push_back(std::move(*value));
        return value.has_value();
    };
    std::optional<error> unreadable; // what is wrong with the structured content
    bool is_empty_text = false;      // `structuredContent` is ""
    auto const read_structured = [&] {
        auto const text = cursor.skip(json_cursor::any_depth);
        if (text == "null" && spoken == era::handshake) return true;
        is_empty_text = text == "\"\"";
        auto value = text ? raw_json::read(*text) : failure(errc::protocol_error, "is not JSON");
        if (!value) unreadable = value.error();
        if (!value) return text.has_value();
        r.structured_content.emplace(std::move(*value));
        return true;
    };
    bool const read = cursor.object([&](std::string const& member) {
        if (member == "content" && cursor.peek() != 'n') return cursor.array(read_content);
        if (member == "structuredContent") return read_structured();
        auto const value = cursor.skip(json_cursor::any_depth);
        if (member == "content") return value == "null";
        if (value && member == "_meta" && value != "null") r.meta = read_json(*value);
        if (member == "isError") r.is_error = value == "true";
        return value.has_value();
    });
    // Before 2026-07-28 it was an object: nothing else hides what the content says.
    if (is_empty_text && spoken == era::handshake && !r.content.empty()) r.structured_content.reset();
    // The tool has done its work: what its text says is worth having then.
    if (unreadable && r.content.empty()) wrong = "`structuredContent` that " + unreadable->text();
    if (!read || !cursor.finished() || (unreadable && r.content.empty()))
        return failure(errc::protocol_error, "answered `tools/call` with " + wrong);
    return r;
}

} // namespace ipybox::mcp
