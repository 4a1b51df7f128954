#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/raw_json.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace ipybox::mcp {

/// What a server is asked about its resources and prompts (MCP 2026-07-28, "Resources" and "Prompts").
struct server_query {
    /// The methods of the protocol for that.
    enum class method {
        list_resources,          ///< `resources/list`
        list_resource_templates, ///< `resources/templates/list`
        read_resource,           ///< `resources/read`
        list_prompts,            ///< `prompts/list`
        get_prompt               ///< `prompts/get`
    };

    /// The name of a method in the protocol.
    friend std::string_view to_string(method what) noexcept;

    /// Whether it is about one resource or prompt, and not about which there are.
    [[nodiscard]] bool wants_content() const noexcept {
        return what == method::read_resource || what == method::get_prompt;
    }

    method what = method::list_resources;   ///< what is asked
    std::string name = {};                  ///< URI of the resource, or name of the prompt; empty for lists
    std::optional<raw_json> arguments = {}; ///< of a prompt: an object of texts
};

namespace detail {

/// The inverse of `to_string`.
[[nodiscard]] std::optional<server_query::method> query_method_named(std::string_view name) noexcept;

} // namespace detail

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_query.ipp>
#endif
