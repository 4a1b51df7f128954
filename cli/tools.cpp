#include <cli/tools.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::cli {

void package_notices::add(std::string const& server, result<codegen::generated_sources> const& made) {
    constexpr std::size_t most = 20;
    std::scoped_lock const lock(mutex_);
    if (!made) {
        lines_.push_back("ipybox: " + made.error().text() + "\nipybox: its tools are missing in this run");
        return;
    }
    auto const& notices = made->notices;
    for (std::size_t i = 0; i < notices.size() && i < most; ++i)
        lines_.push_back("ipybox: " + server + (notices[i].tool.empty() ? "" : "." + notices[i].tool) + ": " +
                         notices[i].text);
    if (notices.size() > most)
        lines_.push_back("ipybox: " + server + ": and " + std::to_string(notices.size() - most) +
                         " more notices; `ipybox apigen` lists them");
}

void package_notices::write(output_file& err) {
    std::vector<std::string> lines;
    {
        std::scoped_lock const lock(mutex_);
        lines = std::exchange(lines_, {});
    }
    for (auto const& line : lines) err.write_lines(line);
}

result<void> add_tools(executor_base& box, run_options const& options, interrupts const& signals,
                       std::shared_ptr<package_notices> const& notices, output_file& err) {
    if (options.mcp_config.empty()) return {};
    auto const servers = box.register_mcp_servers(options.mcp_config, options.server_timeouts);
    if (!servers) return failure(errc::invalid_argument, servers.error().text());
    for (auto const& notice : servers->notices) err.write_lines("ipybox: " + notice);
    auto const root = options.working_dir / "mcptools";
    auto const hear = [notices](std::string const& server, result<codegen::generated_sources> const& made) {
        notices->add(server, made);
    };
    if (!options.require_servers) return box.offer_mcp_sources(servers->names, root, hear);
    if (!servers->left_out.empty())
        return failure(errc::mcp_start_failed, options.mcp_config.string() + " has servers that cannot be used, and "
                                                                             "--require-servers wants all of them");
    for (auto const& name : servers->names) {
        if (signals.ending()) return {};
        auto const made = box.generate_mcp_sources(name, root);
        if (!made) return failure(made.error());
        hear(name, made);
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
