// prints: asked: tool call filesystem.write_file
// prints: the file says: kept, by leave of the application
// prints: asked once for three calls
// prints: create_directory: ApprovalRejectedError
// prints: rm: ApprovalRejectedError
// prints: ls: note.txt
// prints: requests in the log: 7

#include <ipybox/ipybox.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace {

ipybox::mcp::server_params filesystem_server(std::filesystem::path const& folder) {
    ipybox::mcp::server_params params;
    params.command = "node";
    params.args = {".node/examples/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
                   std::filesystem::absolute(folder).string()};
    return params;
}

int complain(ipybox::error const& error) {
    std::cerr << error << '\n';
    return 1;
}

/// What the code printed, or the class of its exception.
std::string outcome(ipybox::result<ipybox::execution_result> const& result) {
    if (result) return result->text;
    return result.error().exception() ? result.error().exception()->ename : result.error().text();
}

} // namespace

int main() {
    std::filesystem::path const dir = "build/examples/approvals";
    std::filesystem::remove_all(dir);
    std::filesystem::create_directories(dir / "work");

    //! [rules]
    // Rules decide in advance. Actions without a rule are asked.
    auto rules = ipybox::approval_rules::parse(R"({
        "allow": [{"argv": ["ls", "**"]}, {"tool": "filesystem.list_*"}],
        "deny":  [{"argv": ["rm", "**"], "reason": "people delete files"}]
    })");
    if (!rules) return complain(rules.error());

    // Every request, decision and outcome is recorded, a JSON object a line. An action that cannot be recorded is
    // rejected.
    auto log = ipybox::audit_log::open({.file = dir / "audit.jsonl"});
    if (!log) return complain(log.error());

    ipybox::executor_options options;
    options.working_dir = dir / "work";
    options.approval.shell_cmds = true;
    options.approval.timeout = 5min;
    options.approval.rules = std::move(*rules);
    options.approval.audit = *log;
    //! [rules]

    //! [callback]
    int asked = 0;
    // A request may be kept and answered later, from any thread; the clock of the cell stands still meanwhile.
    auto const decide = [&asked](ipybox::approval_request request) {
        ++asked;
        if (request.tool() == "write_file") {
            std::cout << "asked: " << request << '\n';
            auto edited = request.arguments();
            edited["content"] = "kept, by leave of the application";
            request.accept(std::move(edited));
        } else if (request.tool() == "read_text_file") {
            // This call, and every other one of this tool for ten minutes.
            request.accept_and_grant(ipybox::grant::this_tool(*request.subject()).lasting(10min));
        } else {
            request.reject("not in this session");
        }
    };
    ipybox::executor box(options, decide);
    //! [callback]

    if (auto added = box.register_mcp_server("filesystem", filesystem_server(dir / "work")); !added)
        return complain(added.error());
    if (auto made = box.generate_mcp_sources("filesystem", dir / "work" / "mcptools"); !made)
        return complain(made.error());

    auto result = box.execute(R"(
from pathlib import Path
from mcptools.filesystem import create_directory, read_text_file, write_file

note = str(Path("note.txt").absolute())
write_file.run(write_file.Params(path=note, content="kept"))
print("the file says:", Path("note.txt").read_text())
)");
    std::cout << outcome(result) << '\n';

    asked = 0;
    result = box.execute("for _ in range(3): read_text_file.run(read_text_file.Params(path=note))");
    if (result && asked == 1) std::cout << "asked once for three calls\n";

    // A rejection is an exception in the code, which can go on.
    result = box.execute("create_directory.run(create_directory.Params(path=note + '.d'))");
    std::cout << "create_directory: " << outcome(result) << '\n';
    std::cout << "rm: " << outcome(box.execute("!rm note.txt")) << '\n';
    std::cout << "ls: " << outcome(box.execute("!ls note.txt")) << '\n';

    auto requests = 0;
    std::ifstream file(dir / "audit.jsonl");
    for (std::string line; std::getline(file, line);)
        if (nlohmann::json::parse(line)["record"] == "request") ++requests;
    std::cout << "requests in the log: " << requests << '\n';
}
