#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/tool.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/** \file
 * The tools of `ipybox mcp`, as a model reads them, and instructions for them. Every word costs tokens in every
 * conversation, so there are few.
 */

namespace ipybox {

/// The names of the tools. The first four, with their parameters and defaults, are those of the Python package ipybox.
namespace code_tool_name {
inline constexpr std::string_view register_mcp_server = "register_mcp_server";
inline constexpr std::string_view install_package = "install_package";
inline constexpr std::string_view execute_ipython_cell = "execute_ipython_cell";
inline constexpr std::string_view reset = "reset";
inline constexpr std::string_view cell_output = "cell_output";
inline constexpr std::string_view wait_for_cell = "wait_for_cell";
inline constexpr std::string_view interrupt_cell = "interrupt_cell";
} // namespace code_tool_name

/// Whether a client has one kernel, or several that it names.
enum class offered_sessions {
    one,  ///< no tool has the parameter `session`
    named ///< those about cells and their kernel have it
};

/// Whether a tool has the parameter `session`. Packages and MCP servers are those of all sessions.
[[nodiscard]] bool takes_session(std::string_view tool) noexcept;

/// The tools with their schemas, in the order in which they are listed.
[[nodiscard]] std::vector<mcp::tool> code_tools(offered_sessions sessions = offered_sessions::one);

/// `instructions` of the server.
[[nodiscard]] std::string code_instructions(std::filesystem::path const& workspace,
                                            offered_sessions sessions = offered_sessions::one);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/code_tools.ipp>
#endif
