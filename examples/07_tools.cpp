// prints: clock: convert_time get_current_time
// prints: 344 penguins in the file
// prints: noon in Berlin is 04:30 PM in Kolkata
// prints: no tool: ToolRunnerError

#include <ipybox/ipybox.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace {

/// Prints what the code printed, or why it did not come to that.
bool show(ipybox::result<ipybox::execution_result> const& result) {
    if (result)
        std::cout << result->text << '\n';
    else
        std::cerr << result.error() << '\n';
    return result.has_value();
}

} // namespace

int main() {
    std::filesystem::path const dir = "build/examples/tools";
    std::filesystem::create_directories(dir);

    //! [register]
    // Calls of tools are asked for; this application accepts them all.
    ipybox::executor_options options;
    options.working_dir = dir;
    ipybox::executor box(options, ipybox::auto_approval{});

    // A file as Claude, Cursor and VS Code write it. Servers run on the host, outside of the sandbox; their parameters
    // never enter it.
    auto const servers = box.register_mcp_servers("examples/mcp.json");
    if (!servers) {
        std::cerr << servers.error() << '\n';
        return 1;
    }
    // For each tool a module, `mcptools/SERVER/TOOL.py`, with `Params`, `Result` and `run`.
    for (auto const& server : servers->names) {
        auto made = box.generate_mcp_sources(server, dir / "mcptools");
        if (!made) {
            std::cerr << made.error() << '\n';
            return 1;
        }
        std::ranges::sort(made->modules);
        std::cout << server << ':';
        for (auto const& module : made->modules) std::cout << ' ' << module;
        std::cout << '\n';
    }
    //! [register]

    //! [call]
    // Code calls tools like functions, in loops and comprehensions, and prints only what is worth a model's tokens.
    auto result = box.execute(R"(
from mcptools.filesystem import list_allowed_directories, read_text_file

folder = list_allowed_directories.run(list_allowed_directories.Params()).content.splitlines()[-1]
table = read_text_file.run(read_text_file.Params(path=folder + "/penguins.csv")).content
print(len(table.splitlines()) - 1, "penguins in the file")
)");
    //! [call]
    if (!show(result)) return 1;

    // Results are typed where the server says what they are.
    if (!show(box.execute(R"(
from datetime import datetime
from mcptools.clock import convert_time

there = convert_time.run(convert_time.Params(source_timezone="Europe/Berlin", time="12:00", target_timezone="Asia/Kolkata"))
print("noon in Berlin is", datetime.fromisoformat(there.target.datetime).strftime("%I:%M %p"), "in Kolkata")
)")))
        return 1;

    // A refusal of the server is an exception in the code.
    result = box.execute("read_text_file.run(read_text_file.Params(path='/etc/passwd'))");
    if (!result && result.error().exception()) std::cout << "no tool: " << result.error().exception()->ename << '\n';
}
