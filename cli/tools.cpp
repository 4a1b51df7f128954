#include <ipybox/codegen/write_package.hpp>

#include <cli/tools.hpp>

#include <string>
#include <vector>

namespace ipybox::cli {

result<void> add_tools(executor_base& box, run_options const& options) {
    if (options.mcp_config.empty()) return {};
    auto const names = box.register_mcp_servers(options.mcp_config);
    if (!names) return failure(names.error());
    auto const root = (options.working_dir.empty() ? std::filesystem::path(".") : options.working_dir) / "mcptools";
    for (auto const& name : *names) {
        auto const made = box.generate_mcp_sources(name, root);
        if (!made) return failure(made.error());
    }
    return {};
}

} // namespace ipybox::cli
