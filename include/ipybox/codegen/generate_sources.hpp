#pragma once

#include <ipybox/codegen/write_package.hpp>
#include <ipybox/mcp/server_params.hpp>

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace ipybox::codegen {

/// Generates the package of what a server lists, and writes it. \par Errors those of `generate_package` and
/// `write_package`
[[nodiscard]] result<generated_sources> generate(std::string const& server_name, std::vector<mcp::tool> const& tools,
                                                 std::filesystem::path const& root_dir,
                                                 generate_options const& options = {});

/**
 * \brief The same without an executor: starts a server, asks it for its tools, ends it, and writes the package. Blocks.
 * \details The package names the server as `server_name`: an executor has to have one of that name registered when code
 * calls its tools.
 * \par Errors those of `mcp::client::list_tools`, `generate_package` and `write_package`
 */
[[nodiscard]] result<generated_sources> generate(std::string const& server_name, mcp::server_params const& params,
                                                 std::filesystem::path const& root_dir,
                                                 generate_options const& options = {});

/**
 * \brief The tools that a server lists. Starts it, asks it and ends it; blocks.
 * \param stop ends the server, and the wait for its answer
 * \par Errors those of `mcp::client::list_tools`
 */
[[nodiscard]] result<std::vector<mcp::tool>> list_tools_of(std::string const& server_name,
                                                           mcp::server_params const& params, std::stop_token stop = {});

} // namespace ipybox::codegen

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/generate_sources.ipp>
#endif
