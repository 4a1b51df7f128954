#pragma once

#include <ipybox/codegen/generate_options.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/mcp/tool.hpp>

#include <string>
#include <vector>

namespace ipybox::codegen {

/// A module of Python.
struct module_text {
    std::string text;
    std::vector<std::string> warnings = {}; ///< what of the schemas could not be followed
};

/**
 * \brief The module of a tool: classes `Params` and `Result`, and `run`.
 * \details Deterministic. Every text of the tool passes through `python_literal.hpp`, every name through
 * `python_name.hpp`.
 */
[[nodiscard]] module_text tool_module(mcp::tool const& tool,
                                      generate_options::call_style style = generate_options::call_style::both);

/// The module of a tool whose schemas cannot be used: it takes any arguments and says why.
[[nodiscard]] module_text open_tool_module(mcp::tool const& tool, generate_options::call_style style,
                                           std::string const& reason);

} // namespace ipybox::codegen

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/tool_module.ipp>
#endif
