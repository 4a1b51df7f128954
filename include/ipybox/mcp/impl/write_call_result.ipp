#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/mcp/impl/object_text.hpp>
#include <ipybox/mcp/write_call_result.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <variant>

namespace ipybox::mcp {
namespace detail {

/// Writes blocks of content for a version of the protocol.
class content_writer {
  public:
    using hints = std::optional<nlohmann::json>;

    explicit content_writer(std::string_view spoken) noexcept : version_(spoken) {}

    std::string write(content const& block) {
        annotations_ = block.annotations;
        return std::visit(*this, block.value);
    }

    std::string operator()(content::text const& c) const { return text(c.value, annotations_); }

    std::string operator()(content::image const& c) const { return data("image", c.base64, c.mime_type, annotations_); }

    std::string operator()(content::audio const& c) const {
        if (version_ < "2025-03-26") return text("[audio: " + c.mime_type + "]", {});
        return data("audio", c.base64, c.mime_type, annotations_);
    }

    std::string operator()(content::resource_link const& c) const {
        if (version_ < "2025-06-18") return text(c.uri, {});
        object_text block;
        block.string("type", "resource_link").string("uri", c.uri).string("name", c.name);
        add(block, "title", c.title);
        add(block, "description", c.description);
        add(block, "mimeType", c.mime_type);
        return annotated(block, annotations_);
    }

    std::string operator()(content::embedded_resource const& c) const {
        object_text resource;
        resource.string("uri", c.uri);
        add(resource, "mimeType", c.mime_type);
        add(resource, "text", c.text);
        add(resource, "blob", c.base64);
        object_text block;
        block.string("type", "resource").json("resource", resource.take());
        return annotated(block, annotations_);
    }

    std::string operator()(content::unknown const& c) const { return json_text(c.value); }

  private:
    static std::string text(std::string_view text, hints const& said) {
        object_text block;
        block.string("type", "text").string("text", text);
        return annotated(block, said);
    }

    static std::string data(std::string_view type, std::string_view base64, std::string_view mime_type,
                            hints const& said) {
        object_text block;
        block.string("type", type).string("data", base64).string("mimeType", mime_type);
        return annotated(block, said);
    }

    static void add(object_text& block, std::string_view name, std::optional<std::string> const& value) {
        if (value) block.string(name, *value);
    }

    static std::string annotated(object_text& block, hints const& said) {
        if (said) block.json("annotations", json_text(*said));
        return block.take();
    }

    std::string_view version_;
    hints annotations_ = {}; ///< of the block
};

inline std::string write_content(call_result const& r, std::string_view spoken) {
    content_writer writer(spoken);
    std::string blocks = "[";
    auto const add = [&blocks](std::string_view block) {
        if (blocks.size() > 1) blocks.push_back(',');
        blocks.append(block);
    };
    for (auto const& block : r.content) add(writer.write(block));
    auto const is_text = [](content const& block) { return block.as<content::text>() != nullptr; };
    if (r.structured_content && std::none_of(r.content.begin(), r.content.end(), is_text))
        add(writer.write(content::text{r.structured_content->text()}));
    return blocks.append("]");
}

inline std::string write_meta(call_result const& r, std::vector<rpc_member> const& more) {
    object_text meta;
    if (r.meta && r.meta->is_object())
        for (auto const& [name, value] : r.meta->items()) {
            std::string quoted;
            append_string(quoted, name);
            meta.json(std::string_view(quoted).substr(1, quoted.size() - 2), json_text(value));
        }
    for (auto const& [name, value] : more) meta.json(name, value);
    return meta.take();
}

} // namespace detail

/// 2025-06-18, "Tools", section "Structured Content".
IPYBOX_DECL std::string write_call_result(call_result const& r, server::client_description const& client,
                                          std::vector<rpc_member> const& more, std::vector<rpc_member> const& meta) {
    bool const modern = client.is_stateless;
    detail::object_text result;
    for (auto const& [name, value] : more) result.json(name, value);
    result.json("content", detail::write_content(r, client.version));
    if (r.structured_content && client.takes_structured_content &&
        (modern || (client.version >= "2025-06-18" && r.structured_content->is_object())))
        result.json("structuredContent", r.structured_content->text());
    result.json("isError", r.is_error ? "true" : "false");
    if (r.meta || !meta.empty()) result.json("_meta", detail::write_meta(r, meta));
    return result.take();
}

} // namespace ipybox::mcp
