// Generates the package of an MCP server with a tool `echo`, calls it once, prints a line, and keeps the kernel until
// its input ends.
//
// first_tool_call none|bubblewrap COMMAND ARGUMENT…

#include <ipybox/codegen.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>
#include <ipybox/sandbox/srt_sandbox.hpp>

#include <iostream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

ipybox::any_sandbox sandbox_named(std::string_view name) {
    if (name == "none") return ipybox::no_sandbox{};
    if (name == "srt") return ipybox::srt_sandbox{};
    return ipybox::bubblewrap_sandbox{};
}

ipybox::mcp::server_params server_of(std::vector<std::string> const& command) {
    ipybox::mcp::server_params params;
    params.command = command.at(0);
    params.args.assign(command.begin() + 1, command.end());
    return params;
}

ipybox::result<void> call_echo(ipybox::executor& box, ipybox::mcp::server_params server) {
    if (auto done = box.register_mcp_server("echo", std::move(server)); !done) return done;
    if (auto done = box.generate_mcp_sources("echo", "mcptools"); !done) return ipybox::failure(done);
    auto done = box.execute("from mcptools.echo import echo\necho.run(echo.Params(text='hi'))");
    if (!done) return ipybox::failure(done);
    return {};
}

} // namespace

int main(int argc, char** argv) {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    auto const accept = [](ipybox::approval_request const& request) { request.accept(); };
    ipybox::executor box({}, accept, sandbox_named(arguments.at(0)));
    if (auto const done = call_echo(box, server_of({arguments.begin() + 1, arguments.end()})); !done) {
        std::cerr << done.error() << '\n';
        return 1;
    }
    std::cout << "called" << std::endl;
    std::cin.ignore(std::numeric_limits<std::streamsize>::max());
}
