#include <ipybox/codegen/write_package.hpp>

#include <cli/tools.hpp>

#include <string>
#include <vector>

namespace ipybox::cli {

result<void> add_tools(executor_base& box, run_options const& options, interrupts const& signals, output_file& err) {
    if (options.mcp_config.empty()) return {};
    auto const servers = box.register_mcp_servers(options.mcp_config);
    if (!servers) return failure(errc::invalid_argument, servers.error().text());
    for (auto const& notice : servers->notices) err.write_lines("ipybox: " + notice);
    auto const root = options.working_dir / "mcptools";
    for (auto const& name : servers->names) {
        if (signals.ending()) return {};
        auto const made = box.generate_mcp_sources(name, root);
        if (!made) return failure(made.error());
    }
    return {};
}

exit_code exit_code_without_tools(error const& why) {
    if (why == errc::invalid_argument) return exit_code::usage;
    return why == errc::io_error ? exit_code::failed : exit_code::cannot_start;
}

} // namespace ipybox::cli
