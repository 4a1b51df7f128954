#include <ipybox/codegen.hpp>
#include <ipybox/codegen/python_name.hpp>
#include <ipybox/core/strict_json.hpp>
#include <ipybox/mcp/server_file.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <cli/apigen.hpp>
#include <cli/tools.hpp>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::cli {
namespace {

std::string in_words(std::vector<std::string> const& names) {
    if (names.empty()) return "none at all";
    auto text = names.front();
    for (std::size_t i = 1; i < names.size(); ++i) text += ", " + names[i];
    return text;
}

/// The server that is asked for, by its name in the file or by the one that it gets.
result<mcp::detail::named_server> find_server(apigen_options const& options) {
    auto servers = mcp::detail::read_server_file(options.mcp_config);
    if (!servers) return failure(errc::invalid_argument, servers.error().text());
    std::vector<std::string> names;
    for (auto& server : *servers) {
        bool const is_asked_for = options.server_name == server.name || options.server_name == server.written;
        if (is_asked_for && !server.params)
            return failure(errc::invalid_argument, options.mcp_config.string() + ": the server '" + server.written +
                                                       "': " + server.params.error().text());
        if (is_asked_for) return std::move(server);
        names.push_back(server.name);
    }
    return failure(errc::invalid_argument, options.mcp_config.string() + " has no server '" + options.server_name +
                                               "', but " + in_words(names));
}

/// How the server is started, and what its package is called.
result<mcp::detail::named_server> server_of(apigen_options const& options) {
    if (options.server_params.empty()) return find_server(options);
    auto const json = detail::parse_strictly(options.server_params, "--server-params");
    if (!json)
        return failure(errc::invalid_argument,
                       json.error().text() +
                           R"(; JSON is wanted, as {"command": "uvx", "args": ["mcp-server-fetch"]})");
    auto params = mcp::server_params::read(*json);
    if (!params) return failure(errc::invalid_argument, "--server-params: " + params.error().text());
    return mcp::detail::named_server{options.server_name, std::move(params)};
}

exit_code complain(output_file& err, error const& why) {
    err.write_lines("ipybox: " + why.text());
    return exit_code_without_tools(why);
}

exit_code report(output_file& out, codegen::generated_package::changes const& changes) {
    auto const list = [&out](std::string_view what, std::vector<std::string> const& tools) {
        for (auto const& tool : tools) out.write_lines(std::string(what) + " " + tool);
    };
    list("added", changes.added);
    list("removed", changes.removed);
    list("changed", changes.changed);
    return changes.none() ? exit_code::ok : exit_code::failed;
}

} // namespace

exit_code generate_api(apigen_options const& options, std::stop_token const& stop, output_file& out, output_file& err) {
    auto const server = server_of(options);
    if (!server) return complain(err, server.error());
    auto const& name = server->name;
    if (name != options.server_name) err.write_lines("ipybox: the package is called " + name);
    auto const listing = mcp::server_registry::list_tools_of(name, *server->params, stop);
    if (stop.stop_requested()) return exit_code::failed;
    if (!listing) return complain(err, listing.error());
    codegen::generate_options how;
    how.instructions = listing->instructions;
    if (options.async) how.style = codegen::generate_options::call_style::awaitable;
    if (options.check) {
        auto const package = codegen::generated_package::make(name, listing->tools, how);
        if (!package) return complain(err, package.error());
        auto const changes = package->compare(options.root_dir);
        return changes ? report(out, *changes) : complain(err, changes.error());
    }
    auto const written = codegen::generate(name, listing->tools, options.root_dir, how);
    if (!written) return complain(err, written.error());
    for (auto const& module : written->modules) out.write_lines(module);
    // Kernels import the package as a part of mcptools, and nothing is hidden there.
    if (codegen::is_standard_module(name))
        err.write_lines(name + ": a module of Python's standard library is called so, too: import the tools as a part "
                               "of their root package");
    for (auto const& notice : written->notices)
        err.write_lines((notice.tool.empty() ? name : notice.tool) + ": " + notice.text);
    return exit_code::ok;
}

} // namespace ipybox::cli
