#include <ipybox/mcp/server_files.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using ipybox::mcp::files_of;
using ipybox::mcp::stdio_server;
using ipybox::test::scratch_dir;
namespace fs = std::filesystem;

void touch(fs::path const& path) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
}

bool has(std::vector<fs::path> const& paths, fs::path const& path) {
    return std::find(paths.begin(), paths.end(), path) != paths.end();
}

} // namespace

TEST_CASE("server files: scripts bring the directory with what they import, data comes alone") {
    scratch_dir const dir;
    touch(dir.path() / "servers/pay.py");
    touch(dir.path() / "data/table.csv");
    stdio_server server{.command = "/bin/sh"};
    server.args = {"servers/pay.py", "--table=data/table.csv", "missing.py", "-v"};
    server.env_file = "secrets.env";
    server.working_dir = dir.path();
    std::ofstream(dir.path() / "secrets.env") << "KEY=value\n";
    auto const files = files_of(server);
    CHECK(has(files.read_only, dir.path() / "servers/pay.py"));
    CHECK(has(files.read_only, dir.path() / "servers"));
    CHECK(has(files.read_only, dir.path() / "data/table.csv"));
    CHECK_FALSE(has(files.read_only, dir.path() / "data"));
    CHECK_FALSE(has(files.read_only, dir.path() / "missing.py"));
    CHECK_FALSE(has(files.read_only, dir.path()));
    CHECK(files.secret == std::vector{dir.path() / "secrets.env"});
}

TEST_CASE("server files: programs bring their environment, through links too") {
    scratch_dir const dir;
    touch(dir.path() / "venv/bin/python3");
    touch(dir.path() / "venv/pyvenv.cfg");
    touch(dir.path() / "node_modules/thing/dist/index.js");
    fs::permissions(dir.path() / "venv/bin/python3", fs::perms::owner_all);
    fs::create_symlink("../node_modules/thing/dist/index.js", dir.path() / "venv/thing");
    stdio_server server{.command = "venv/bin/python3"};
    server.args = {"venv/thing"};
    server.working_dir = dir.path();
    auto const files = files_of(server).read_only;
    CHECK(has(files, dir.path() / "venv"));
    CHECK(has(files, dir.path() / "node_modules"));
}

TEST_CASE("server files: where a program looks around itself, the directory it starts in counts") {
    scratch_dir const dir;
    stdio_server server{.command = "python3"};
    server.working_dir = dir.path();
    server.args = {"-c", "pass"};
    CHECK_FALSE(has(files_of(server).read_only, dir.path()));
    server.args = {"-m", "some_server"};
    CHECK(has(files_of(server).read_only, dir.path()));
    server.command = "not-there";
    CHECK(files_of(server).read_only.empty());
}
