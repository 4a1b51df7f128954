#pragma once

#include <ipybox/adapters/mcp_tool.hpp>
#include <ipybox/core/base64.hpp>

#include <string>
#include <utility>

namespace ipybox {

IPYBOX_DECL nlohmann::json mcp_tool::definition() const {
    // Code may change what the sandbox lets it change, and call tools that reach elsewhere.
    nlohmann::json annotations{
        {"readOnlyHint", false}, {"destructiveHint", true}, {"idempotentHint", false}, {"openWorldHint", true}};
    return {{"name", tool().name()},
            {"title", "Run Python code"},
            {"description", tool().description()},
            {"inputSchema", tool().parameters()},
            {"annotations", std::move(annotations)}};
}

IPYBOX_DECL nlohmann::json mcp_tool::call(nlohmann::json const& arguments) const {
    auto const outcome = tool().run(arguments);
    auto content = nlohmann::json::array();
    if (!outcome.text.empty() || outcome.images.empty())
        content.push_back({{"type", "text"}, {"text", outcome.text.empty() ? "[no output]" : outcome.text}});
    for (auto const& image : outcome.images)
        content.push_back({{"type", "image"}, {"data", base64_encode(image)}, {"mimeType", "image/png"}});
    return {{"content", std::move(content)}, {"isError", outcome.failed}};
}

} // namespace ipybox
