#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <variant>

/** \file
 * The content that a tool may return, block by block (MCP 2026-07-28, "Tools", section "Tool Result"). All of it is the
 * server's: carried, never interpreted.
 */

namespace ipybox::mcp {

using annotations = std::optional<nlohmann::json>; ///< hints for whom a block is and how important

struct text_content {
    std::string text;
    mcp::annotations annotations = {};
};

struct image_content {
    std::string base64; ///< as it came: core/base64.hpp decodes it
    std::string mime_type;
    mcp::annotations annotations = {};
};

struct audio_content {
    std::string base64;
    std::string mime_type;
    mcp::annotations annotations = {};
};

/// Something that can be read at the server under its URI.
struct resource_link {
    std::string uri;
    std::string name;
    std::optional<std::string> title = {};
    std::optional<std::string> description = {};
    std::optional<std::string> mime_type = {};
    mcp::annotations annotations = {};
};

/// The same with its content: text or a blob.
struct embedded_resource {
    std::string uri;
    std::optional<std::string> mime_type = {};
    std::optional<std::string> text = {};
    std::optional<std::string> base64 = {};
    mcp::annotations annotations = {};
};

/// A block of a type that is not known here, whole.
struct unknown_content {
    std::string type;
    nlohmann::ordered_json value;
};

using content =
    std::variant<text_content, image_content, audio_content, resource_link, embedded_resource, unknown_content>;

} // namespace ipybox::mcp
