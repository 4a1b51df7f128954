#include <ipybox/codegen/generated_sources.hpp>

#include <cli/tools.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace ipybox::cli {
namespace {

/// Prints the notices about a server's tools; of many the first ones.
void tell(output_file& err, std::string const& server, std::vector<codegen::generated_sources::notice> const& notices) {
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
    if (options.require_servers && !servers->left_out.empty())
        return failure(errc::mcp_start_failed, options.mcp_config.string() + " has servers that cannot be used, and "
                                                                             "--require-servers wants all of them");
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

void warn_of_open_files(executor_base const& box, output_file& err) {
    for (auto const& file : box.unprotected_files()) err.write_lines("ipybox: warning: " + file.text());
}

exit_code exit_code_without_tools(error const& why) {
    if (why == errc::invalid_argument) return exit_code::usage;
    return why == errc::io_error ? exit_code::failed : exit_code::cannot_start;
}

} // namespace ipybox::cli
