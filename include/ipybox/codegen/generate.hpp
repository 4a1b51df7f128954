#pragma once

#include <ipybox/codegen/generated_package.hpp>
#include <ipybox/mcp/server_params.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace ipybox::codegen {

/// Generates the package of what a server lists, and writes it. \par Errors those of `generated_package::make`
/// and `generated_package::write`
[[nodiscard]] result<generated_sources> generate(std::string const& server_name, std::vector<mcp::tool> const& tools,
                                                 std::filesystem::path const& root_dir,
                                                 generate_options const& options = {});

/**
 * \brief The same without an executor: starts a server, asks it for its tools, ends it, and writes the package. Blocks.
 * \details The package names the server as `server_name`: an executor has to have one of that name registered when code
 * calls its tools.
 * \par Errors those of `mcp::server_registry::list_tools`, `generated_package::make` and `generated_package::write`
 */
[[nodiscard]] result<generated_sources> generate(std::string const& server_name, mcp::server_params const& params,
                                                 std::filesystem::path const& root_dir,
                                                 generate_options const& options = {});

} // namespace ipybox::codegen

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/generate.ipp>
#endif
