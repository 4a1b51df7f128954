#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/codegen/generate_sources.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <exception>
#include <utility>

namespace ipybox::codegen {

IPYBOX_DECL result<generated_sources> generate(std::string const& server_name, std::vector<mcp::tool> const& tools,
                                               std::filesystem::path const& root_dir, generate_options const& options) {
    auto const package = generate_package(server_name, tools, options);
    return package ? write_package(root_dir, *package, {.code_dir = options.code_dir}) : failure(package.error());
}

IPYBOX_DECL result<generated_sources> generate(std::string const& server_name, mcp::server_params const& params,
                                               std::filesystem::path const& root_dir, generate_options const& options) {
    auto const tools = list_tools_of(server_name, params);
    return tools ? generate(server_name, *tools, root_dir, options) : failure(tools.error());
}

IPYBOX_DECL result<std::vector<mcp::tool>> list_tools_of(std::string const& server_name,
                                                         mcp::server_params const& params, std::stop_token stop) {
    asio::io_context context;
    mcp::server_registry servers(context.get_executor());
    if (auto const added = servers.add(server_name, params); !added) return failure(added.error());
    result<std::vector<mcp::tool>> tools;
    auto const on_ended = [](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    };
    auto const on_tools = [&](std::exception_ptr bug, result<std::vector<mcp::tool>> found) {
        on_ended(bug);
        tools = std::move(found);
        ipybox::detail::spawn(context.get_executor(), servers.stop(), on_ended);
    };
    ipybox::detail::spawn(context.get_executor(), servers.list_tools(server_name), on_tools);
    std::stop_callback const on_stop(stop, [&] {
        asio::post(context, [&] { ipybox::detail::spawn(context.get_executor(), servers.stop(), on_ended); });
    });
    context.run();
    return tools;
}

} // namespace ipybox::codegen
