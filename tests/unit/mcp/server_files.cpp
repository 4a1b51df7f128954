#include <ipybox/mcp/server_files.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using ipybox::mcp::server_params;
using ipybox::mcp::detail::files_of;
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
    server_params server{.command = "python3"};
    server.args = {"servers/pay.py", "--table=data/table.csv", "missing.py", "-v"};
    server.env_file = "secrets.env";
    server.working_dir = dir.path();
    std::ofstream(dir.path() / "secrets.env") << "KEY=value\n";
    auto const files = ipybox::mcp::detail::files_of(server);
    CHECK(has(files.read_only, dir.path() / "servers/pay.py"));
    CHECK(has(files.read_only, dir.path() / "servers"));
    CHECK(has(files.read_only, dir.path() / "data/table.csv"));
    CHECK_FALSE(has(files.read_only, dir.path() / "data"));
    CHECK(has(files.missing, dir.path() / "missing.py"));
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
    server_params server{.command = "venv/bin/python3"};
    server.args = {"venv/thing"};
    server.working_dir = dir.path();
    auto const files = ipybox::mcp::detail::files_of(server).read_only;
    CHECK(has(files, dir.path() / "venv"));
    CHECK(has(files, dir.path() / "node_modules"));
}

TEST_CASE("server files: the directory it starts in, where code may come from there, and its .env in any case") {
    scratch_dir const dir;
    touch(dir.path() / "servers/pay.py");
    touch(dir.path() / ".env");
    server_params server{.command = "python3"};
    server.working_dir = dir.path();
    server.args = {"servers/pay.py"};
    CHECK_FALSE(has(ipybox::mcp::detail::files_of(server).read_only, dir.path()));
    CHECK(has(ipybox::mcp::detail::files_of(server).read_only, dir.path() / ".env"));
    server.args = {"-m", "some_server"};
    CHECK(has(ipybox::mcp::detail::files_of(server).read_only, dir.path()));
    server.command = "not-there";
    CHECK(has(ipybox::mcp::detail::files_of(server).read_only, dir.path() / ".env"));
}

TEST_CASE("server files: what does not exist counts where it would as soon as code has made it") {
    scratch_dir const dir;
    server_params server{.command = "./server.sh"};
    server.working_dir = dir.path();
    server.args = {"tools/pay.py", "--module=more.js", "data.csv", "run"};
    server.env_file = "secrets.env";
    server.env = {{"HOME", dir.path() / "home"},
                  {"PATH", "bin:/usr/bin"},
                  {"PYTHONPATH", "lib:packages.zip"},
                  {"BASH_ENV", "start"}};
    auto const files = files_of(server);
    CHECK(files.missing == std::vector<fs::path>{dir.path() / ".env", dir.path() / "bin/", dir.path() / "lib/",
                                                 dir.path() / "more.js", dir.path() / "packages.zip",
                                                 dir.path() / "server.sh", dir.path() / "start",
                                                 dir.path() / "tools/pay.py"});
    CHECK(files.secret == std::vector{dir.path() / "secrets.env"});

    // The placeholder of a sandbox says no more.
    std::ofstream(dir.path() / "server.sh").close();
    CHECK(has(files_of(server).read_only, dir.path() / "server.sh"));
    CHECK_FALSE(has(files_of(server).missing, dir.path() / "server.sh"));
    server.command = "python3";
    server.args = {"server.sh"};
    CHECK_FALSE(has(files_of(server).read_only, dir.path()));
}

TEST_CASE("server files: paths in lines for a shell, in lists, and in variables that name code") {
    scratch_dir const dir;
    touch(dir.path() / "project/run.py");
    touch(dir.path() / "host/table.csv");
    touch(dir.path() / "modules/thing.py");
    fs::create_directories(dir.path() / "start");
    server_params server{.command = "sh"};
    server.working_dir = dir.path() / "start";
    server.args = {"-c", "cd '" + (dir.path() / "project").string() + "'&&exec python3 run.py"};
    server.env["PYTHONPATH"] = "/not/there:../modules";
    auto const line = ipybox::mcp::detail::files_of(server).read_only;
    CHECK(has(line, dir.path() / "project"));
    CHECK(has(line, dir.path() / "modules"));
    server.command = "python3";
    server.args = {"-v", (dir.path() / "host").string() + ":/data", "type=bind,src=../host/table.csv,dst=/t"};
    auto const lists = ipybox::mcp::detail::files_of(server).read_only;
    CHECK(has(lists, dir.path() / "host"));
    CHECK(has(lists, dir.path() / "host/table.csv"));
}

TEST_CASE("server files: packages of node lie above its script, and nothing can be put in between") {
    scratch_dir const dir;
    touch(dir.path() / "a/package.json");
    touch(dir.path() / "a/node_modules/thing/index.js");
    touch(dir.path() / "a/packages/b/dist/index.js");
    server_params server{.command = "python3"}; // node need not be installed here
    server.working_dir = dir.path();
    server.args = {"a/packages/b/dist/index.js"};
    auto const files = ipybox::mcp::detail::files_of(server).read_only;
    for (auto const* part : {"a/node_modules", "a/package.json", "a/packages", "a/packages/b", "a/packages/b/dist"})
        CHECK(has(files, dir.path() / part));
    CHECK_FALSE(has(files, dir.path() / "a"));
    CHECK_FALSE(has(files, dir.path()));
}

TEST_CASE("server files: installed packages in the home directory") {
    scratch_dir const dir;
    fs::create_directories(dir.path() / ".local/lib");
    fs::create_directories(dir.path() / ".npm");
    server_params server{.command = "python3"};
    server.env["HOME"] = dir.path();
    auto const files = ipybox::mcp::detail::files_of(server).read_only;
    CHECK(has(files, dir.path() / ".local/lib"));
    CHECK_FALSE(has(files, dir.path() / ".npm"));
}

TEST_CASE("server files: paths within words, in the values of its own variables and in options") {
    scratch_dir const dir;
    for (auto const* const name : {"args.txt", "in.json", "hook.js", "lib/x.rb", "own.toml", "plain.py"})
        touch(dir.path() / name);
    auto const at = [&dir](std::string const& name) { return (dir.path() / name).string(); };
    server_params server{.command = "node"};
    server.args = {"@" + at("args.txt"), R"({"file": ")" + at("in.json") + R"("})",
                   "--data={x:" + at("plain.py") + "}"};
    server.env = {{"NODE_OPTIONS", "--no-warnings --require " + at("hook.js") + " --import " + at("later.mjs")},
                  {"RUBYOPT", "-r" + at("lib/x.rb")},
                  {"ANY_NAME", at("own.toml")},
                  {"TEXT", "/ . .. - @ -- some words"}};
    server.working_dir = "/";
    auto const files = files_of(server);
    for (auto const* const name : {"args.txt", "in.json", "hook.js", "lib/x.rb", "own.toml", "plain.py"})
        CHECK(has(files.read_only, dir.path() / name));
    CHECK(has(files.missing, dir.path() / "later.mjs"));
    CHECK_FALSE(has(files.read_only, "/"));
    CHECK(has(files.code.files, dir.path() / "hook.js"));
    CHECK(has(files.code.modules, dir.path()));
    CHECK(has(files.code.files, dir.path() / "own.toml"));
    CHECK_FALSE(has(files.code.files, dir.path() / "in.json")); // data, which the server may write
}

TEST_CASE("server files: what programs obey in the directory that they start in") {
    scratch_dir const dir;
    server_params server{.command = "npx"};
    server.args = {"-y", "some-server"};
    server.working_dir = dir.path();
    auto const code = files_of(server).code;
    CHECK(has(code.files, dir.path() / "package.json"));
    CHECK(has(code.environments, dir.path() / "node_modules"));
    CHECK(code.modules.empty());
    server.command = "python3";
    server.args = {"-m", "server"};
    CHECK(has(files_of(server).code.modules, dir.path()));
    server.args = {"/usr/share/server.py"};
    CHECK_FALSE(has(files_of(server).code.modules, dir.path()));
}
