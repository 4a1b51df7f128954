// From the list of an MCP server's tools to a package on the disk.

#include <ipybox/codegen.hpp>

#include <ours/context.hpp>

namespace bench {
namespace {

double bytes_of_python(std::filesystem::path const& directory) {
    double bytes = 0;
    for (auto const& entry : std::filesystem::directory_iterator(directory)) {
        if (entry.path().extension() == ".py") bytes += static_cast<double>(entry.file_size());
    }
    return bytes;
}

void generate(context& context, std::string const& server, ipybox::mcp::server_params const& params) {
    std::vector<double> whole, alone;
    ipybox::codegen::generated_sources made;
    for (int i = 0; i < 3 * context.repeat; ++i) {
        auto box = context.new_executor();
        require(box.register_mcp_server(server, params));
        auto const generate = [&] {
            std::filesystem::remove_all("mcptools");
            return milliseconds([&] { made = require(box.generate_mcp_sources(server, "mcptools")); });
        };
        whole.push_back(generate());
        alone.push_back(generate()); // the server is there
    }
    auto const name = "codegen_" + server;
    context.record(name, "ms", whole, "start of the MCP server included");
    context.record(name + "_alone", "ms", alone, "with a server that runs");
    context.record(name + "_bytes", "bytes", {bytes_of_python(made.directory)});
    context.record(name + "_tools", "tools", {static_cast<double>(made.modules.size())});
}

void filesystem_server(context& context) {
    generate(context, "filesystem", server_of({"node", context.where.filesystem_server.string(), "."}));
}

void many_tools(context& context) {
    generate(context, "many", context.server("many_tools_server.py"));
    auto box = context.started_executor();
    context.record("codegen_many_importable", "tools", samples_of(box, context.cell("tool_modules.py")));
}

} // namespace

std::vector<measurement> generation_measurements() {
    return {
        {{"codegen_filesystem", "codegen_filesystem_alone", "codegen_filesystem_bytes", "codegen_filesystem_tools"},
         filesystem_server},
        {{"codegen_many", "codegen_many_alone", "codegen_many_bytes", "codegen_many_tools", "codegen_many_importable"},
         many_tools}};
}

} // namespace bench
