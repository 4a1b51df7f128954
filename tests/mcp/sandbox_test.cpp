#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <support/eventually.hpp>
#include <support/files.hpp>
#include <support/mcp_host.hpp>
#include <support/scratch_dir.hpp>

#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>

/** \file
 * MCP servers that run in a sandbox: real servers, real bubblewrap.
 */

namespace {

using namespace ipybox;
using namespace ipybox::test::mcp_host_names;

/// The filesystem server of npm, which may serve the whole system as far as it is concerned.
mcp::server_params filesystem_server(std::filesystem::path const& working_dir) {
    auto const script =
        std::filesystem::path(IPYBOX_TEST_MCP_NODE) / "@modelcontextprotocol/server-filesystem/dist/index.js";
    INFO("./dev setup installs the Node packages");
    REQUIRE(std::filesystem::exists(script));
    mcp::server_params params{"node", {script.string(), "/"}};
    params.working_dir = working_dir.string();
    return params;
}

mcp::server_params in_sandbox(mcp::server_params params, sandbox_config config = {}) {
    params.sandbox = bubblewrap_sandbox(std::move(config));
    return params;
}

/// A server that answers nothing but its start, and goes on when its input has ended; it says who it is in a file.
mcp::server_params stubborn(std::filesystem::path const& working_dir) {
    static constexpr auto script = R"sh(
trap '' TERM HUP INT
echo started > started
sleep 1234.5 &
while :; do
    read -r line || { sleep 0.1; continue; }
    id=${line#*\"id\":}; id=${id%%,*}
    case $line in
        *initialize\"*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\"}}" ;;
        *tools/call*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}" ;;
    esac
done)sh";
    mcp::server_params params{"/bin/sh", {"-c", script}};
    params.working_dir = working_dir.string();
    params.stop_grace = std::chrono::milliseconds(200);
    return params;
}

/// Processes of this machine that run in a directory, as far as they can be seen.
std::vector<pid_t> processes_in(std::filesystem::path const& directory) {
    std::vector<pid_t> found;
    std::error_code gone;
    for (auto const& entry : std::filesystem::directory_iterator("/proc", gone)) {
        auto const name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        std::error_code unreadable;
        if (std::filesystem::read_symlink(entry.path() / "cwd", unreadable) == directory)
            found.push_back(static_cast<pid_t>(std::stol(name)));
    }
    return found;
}

/// A process' name as the system has it.
std::string name_of(pid_t pid) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
    return name;
}

} // namespace

TEST_CASE_METHOD(mcp_host, "sandboxed server: writes to its directory, reads no secrets, and nothing outside changes") {
    test::scratch_dir const outside(test::source_dir() / "build"); // /tmp is the sandbox's own
    test::scratch_dir const dir;
    dir.write(".env", "TOKEN=secret");
    dir.write("notes.txt", "to be read");
    auto const write = [this](std::filesystem::path const& file) {
        return text("write_file", {{"path", file.string()}, {"content", "new"}});
    };

    use(filesystem_server(dir.path()));
    CHECK(contains(text("read_text_file", {{"path", (dir.path() / ".env").string()}}), "secret"));
    CHECK(contains(write(outside.path() / "without"), "Successfully"));

    use(in_sandbox(filesystem_server(dir.path())));
    CHECK(contains(text("read_text_file", {{"path", (dir.path() / "notes.txt").string()}}), "to be read"));
    CHECK(contains(write(dir.path() / "made"), "Successfully"));
    CHECK(test::read_file(dir.path() / "made") == "new");
    CHECK_FALSE(contains(text("read_text_file", {{"path", (dir.path() / ".env").string()}}), "secret"));
    CHECK_FALSE(contains(write(outside.path() / "within"), "Successfully"));
    CHECK_FALSE(std::filesystem::exists(outside.path() / "within"));
}

TEST_CASE_METHOD(mcp_host, "sandboxed server: a configuration file says what it may do") {
    test::scratch_dir const dir;
    std::filesystem::create_directories(dir.path() / "open");
    auto entry = json{{"command", "node"}, {"cwd", dir.path().string()}};
    entry["args"] = filesystem_server(dir.path()).args;
    entry["sandbox"] = {{"filesystem", {{"allowWrite", {"open"}}, {"denyRead", {"hidden.txt"}}}}};
    dir.write("hidden.txt", "hidden text");
    auto const params = mcp::server_params::read(entry);
    REQUIRE(params);
    use(*params);
    CHECK(contains(text("write_file", {{"path", (dir.path() / "open/made").string()}, {"content", "x"}}),
                   "Successfully"));
    CHECK_FALSE(
        contains(text("write_file", {{"path", (dir.path() / "made").string()}, {"content", "x"}}), "Successfully"));
    CHECK_FALSE(contains(text("read_text_file", {{"path", (dir.path() / "hidden.txt").string()}}), "hidden text"));
}

TEST_CASE_METHOD(mcp_host, "sandboxed server: one that goes on without input is killed with all that it started") {
    test::scratch_dir const dir;
    auto const real = std::filesystem::canonical(dir.path());
    use(in_sandbox(stubborn(dir.path())));
    REQUIRE(text("t") == "hi");
    REQUIRE(processes_in(real).size() >= 2);
    stop();
    CHECK(test::eventually([&] { return processes_in(real).empty(); }));
}

TEST_CASE_METHOD(mcp_host, "sandboxed server: one that opens a terminal outlives it") {
    test::scratch_dir const dir;
    auto params = in_sandbox(wayward());
    params.working_dir = dir.path().string();
    use(params);
    CHECK(text("open_terminal") == "closed it");
    CHECK(text("echo", {{"text", "still here"}}) == "still here");
}

TEST_CASE_METHOD(mcp_host, "sandboxed server: it ends with bwrap, and with the process in front of it") {
    test::scratch_dir const dir;
    auto const real = std::filesystem::canonical(dir.path());
    for (auto const* const victim : {"bwrap", "sh"}) {
        INFO(victim);
        use(in_sandbox(stubborn(dir.path())));
        REQUIRE(text("t") == "hi");
        auto const started = processes_in(real);
        auto const struck = std::ranges::find_if(started, [&](pid_t pid) { return name_of(pid) == victim; });
        REQUIRE(struck != started.end());
        (void)::kill(*struck, SIGKILL);
        CHECK(test::eventually([&] {
            context().restart();
            context().poll();
            return processes_in(real).empty();
        }));
    }
}

TEST_CASE_METHOD(mcp_host, "sandboxed server: placeholders go with it") {
    test::scratch_dir const dir;
    use(in_sandbox(stubborn(dir.path())));
    REQUIRE(text("t") == "hi");
    CHECK(std::filesystem::exists(dir.path() / ".git"));
    stop();
    CHECK_FALSE(std::filesystem::exists(dir.path() / ".git"));
}

TEST_CASE_METHOD(mcp_host, "sandboxed server: a directory that a sandbox cannot open is an error that names it") {
    auto params = stubborn("/");
    use(in_sandbox(std::move(params)));
    auto const why = failure_of("t");
    CHECK(contains(why.text(), "cannot be started"));
    CHECK(contains(why.text(), "working directory"));
}
