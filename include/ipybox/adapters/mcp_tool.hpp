#pragma once

#include <ipybox/adapters/code_tool_adapter.hpp>
#include <ipybox/core/config.hpp>

#include <nlohmann/json.hpp>

#include <utility>

namespace ipybox {

/**
 * \brief An executor as a tool of an MCP server that the application has already.
 * \details `definition()` is an element of the result of `tools/list`, `call()` the result of `tools/call` (MCP
 * 2025-11-25, "Tools").
 * \par Thread safety and object lifetimes as code_tool
 */
class mcp_tool : public detail::code_tool_adapter {
  public:
    using code_tool_adapter::code_tool_adapter;

    /// `name`, `title`, `description`, `inputSchema` and `annotations`.
    [[nodiscard]] nlohmann::json definition() const;

    /// Runs code. \return `content`, blocks of the types `text` and `image`, and `isError`. Throws nothing.
    [[nodiscard]] nlohmann::json call(nlohmann::json const& arguments) const;
};

/// The executor as an MCP tool; it must outlive the tool.
[[nodiscard]] inline mcp_tool as_mcp_tool(executor_base& box, code_tool_options options = {}) {
    return mcp_tool(code_tool(box, std::move(options)));
}

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/adapters/impl/mcp_tool.ipp>
#endif
