#pragma once

#include <ipybox/codegen/generate_options.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/mcp/tool.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ipybox::codegen::detail {

/// `__init__.py` of a package: what its server says about its use, what its tools are, a line for each, and the client
/// that calls them.
[[nodiscard]] std::string package_index(std::string_view server_name, std::vector<mcp::tool> const& tools,
                                        std::vector<std::string> const& modules, generate_options const& options = {});

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/package_index.ipp>
#endif
