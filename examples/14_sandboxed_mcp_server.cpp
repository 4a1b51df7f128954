// prints: letter.txt Dear Ada
// prints: read_text_file of private.key: EACCES: permission denied
// prints: write_file of letter.txt: EROFS: read-only file system

#include <ipybox/ipybox.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>

namespace {

/// Says what went wrong; for `return`.
int complain(ipybox::error const& why) {
    std::cerr << why << '\n';
    return 1;
}

} // namespace

int main() {
    auto const dir = std::filesystem::absolute("build/examples/sandboxed_mcp_server");
    std::filesystem::create_directories(dir / "served");
    std::ofstream(dir / "served/letter.txt") << "Dear Ada";
    std::ofstream(dir / "served/private.key") << "never to be seen";

    //! [server]
    // These are the rights of the server. Without a sandbox it has those of the application, whatever its own options
    // promise.
    auto config = ipybox::sandbox_config::parse(R"({
        "filesystem": {"denyRead": ["*.key"], "allowWrite": [], "denyWrite": []},
        "network": {"allowedDomains": [], "deniedDomains": []}
    })");
    if (!config) return complain(config.error());

    auto const served = dir / "served";
    ipybox::mcp::server_params server;
    server.command = "node";
    server.args = {
        std::filesystem::absolute(".node/examples/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"),
        served};
    server.working_dir = served;
    server.sandbox = ipybox::bubblewrap_sandbox(*std::move(config));
    //! [server]

    ipybox::executor_options options;
    options.working_dir = dir / "work";
    std::filesystem::create_directories(options.working_dir);
    ipybox::executor box(options, ipybox::auto_approval{});
    if (auto added = box.register_mcp_server("files", server); !added) return complain(added.error());
    if (auto made = box.generate_mcp_sources("files", options.working_dir / "mcptools"); !made)
        return complain(made.error());

    auto const result = box.execute("folder = " + ('"' + served.string() + '"') + R"(
from mcptools.files import read_text_file, write_file

def attempt(name, tool, **arguments):
    try:
        print(name, tool.run(path=f"{folder}/{name}", **arguments).content)
    except Exception as error:
        print(f"{tool.__name__.split('.')[-1]} of {name}: {str(error).split(',')[0]}")

attempt("letter.txt", read_text_file)
attempt("private.key", read_text_file)
attempt("letter.txt", write_file, content="Dear Bob")
)");
    if (!result) return complain(result.error());
    std::cout << result->text << '\n';
}
