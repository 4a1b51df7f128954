#include <ipybox/codegen/write_package.hpp>
#include <ipybox/mcp/server_file.hpp>
#include <ipybox/mcp/server_files.hpp>
#include <ipybox/mcp/variables.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <cli/tools.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace ipybox::cli {
namespace {

/// Prints the notices about a server's tools; of many the first ones.
void tell(output_file& err, std::string const& server, std::vector<codegen::generate_notice> const& notices) {
    constexpr std::size_t most = 20;
    for (std::size_t i = 0; i < notices.size() && i < most; ++i)
        err.write_lines("ipybox: " + server + (notices[i].tool.empty() ? "" : "." + notices[i].tool) + ": " +
                        notices[i].text);
    if (notices.size() > most)
        err.write_lines("ipybox: " + server + ": and " + std::to_string(notices.size() - most) +
                        " more notices; `ipybox apigen` lists them");
}

} // namespace

result<void> add_tools(executor_base& box, run_options const& options, interrupts const& signals, output_file& err) {
    if (options.mcp_config.empty()) return {};
    auto const servers = box.register_mcp_servers(options.mcp_config, options.tool_timeout);
    if (!servers) return failure(errc::invalid_argument, servers.error().text());
    for (auto const& notice : servers->notices) err.write_lines("ipybox: " + notice);
    auto const root = options.working_dir / "mcptools";
    for (auto const& name : servers->names) {
        if (signals.ending()) return {};
        auto const made = box.generate_mcp_sources(name, root);
        if (signals.ending()) return {};
        if (made) {
            tell(err, name, made->notices);
            continue;
        }
        // A package that cannot be written is not the server's fault: the run ends with it.
        bool const is_the_servers = made.error() != errc::io_error && made.error() != errc::invalid_argument;
        if (options.require_servers || !is_the_servers) return failure(made.error());
        err.write_lines("ipybox: " + made.error().text() + "\nipybox: its tools are missing in this run");
    }
    return {};
}

namespace {

/// Paths of a server that the code can change, in words.
void warn_of(std::string const& owner, std::vector<std::filesystem::path> files, run_options const& options,
             output_file& err) {
    launch_spec spec;
    std::error_code ignored;
    spec.working_dir = std::filesystem::absolute(options.working_dir, ignored);
    spec.read_only = std::move(files);
    for (auto const& path : bubblewrap_sandbox::unprotected(spec))
        err.write_lines("ipybox: warning: the code can change " + path.string() + ", which " + owner +
                        "; choose a --working-dir of its own");
}

} // namespace

void warn_of_open_files(run_options const& options, output_file& err) {
    warn_of("decides about this run", options.deciding_files(), options, err);
    if (options.mcp_config.empty()) return;
    auto const servers = mcp::read_server_file(options.mcp_config);
    if (!servers) return; // told already
    for (auto const& server : *servers) {
        auto const params = mcp::put_variables(server.params, mcp::host_variable);
        auto const* const local = params ? std::get_if<mcp::stdio_server>(&params->server) : nullptr;
        if (local) warn_of("the server " + server.name + " is started from", files_of(*local).read_only, options, err);
    }
}

exit_code exit_code_without_tools(error const& why) {
    if (why == errc::invalid_argument) return exit_code::usage;
    return why == errc::io_error ? exit_code::failed : exit_code::cannot_start;
}

} // namespace ipybox::cli
