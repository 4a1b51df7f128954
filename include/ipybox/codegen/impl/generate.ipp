#pragma once

#include <ipybox/codegen/generate.hpp>
#include <ipybox/mcp/server_registry.hpp>

namespace ipybox::codegen {

IPYBOX_DECL result<generated_sources> generate(std::string const& server_name, std::vector<mcp::tool> const& tools,
                                               std::filesystem::path const& root_dir, generate_options const& options) {
    auto const package = generated_package::make(server_name, tools, options);
    return package ? package->write(root_dir, options) : failure(package.error());
}

IPYBOX_DECL result<generated_sources> generate(std::string const& server_name, mcp::server_params const& params,
                                               std::filesystem::path const& root_dir, generate_options const& options) {
    auto listing = mcp::server_registry::list_tools_of(server_name, params);
    if (!listing) return failure(listing.error());
    auto how = options;
    if (how.instructions.empty()) how.instructions = std::move(listing->instructions);
    return generate(server_name, listing->tools, root_dir, how);
}

} // namespace ipybox::codegen
