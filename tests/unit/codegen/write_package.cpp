#include <ipybox/codegen/generated_package.hpp>
#include <ipybox/codegen/impl/directory.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/files.hpp"
#include "support/idle_fork.hpp"
#include "support/scratch_dir.hpp"

using namespace ipybox;
using namespace ipybox::codegen;
using namespace std::chrono_literals;
using test::contains;
using test::scratch_dir;
namespace fs = std::filesystem;

namespace {

generated_package package_of(std::vector<std::string> const& names, std::string const& server = "server") {
    std::vector<mcp::tool> tools;
    for (auto const& name : names) {
        mcp::tool tool;
        tool.name = name;
        tool.input_schema["type"] = "object";
        tools.push_back(std::move(tool));
    }
    return *generated_package::make(server, tools);
}

/// What is in a directory but for locks.
std::vector<std::string> entries(fs::path const& directory) {
    std::vector<std::string> names;
    for (auto const& entry : fs::directory_iterator(directory))
        if (entry.path().extension() != ".lock") names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace

TEST_CASE("write_package: a new one") {
    scratch_dir const dir;
    auto const package = package_of({"b", "a"});
    auto const written = package.write(dir.path() / "deep" / "tools");
    REQUIRE(written);
    CHECK(written->directory == dir.path() / "deep" / "tools" / "server");
    CHECK(written->modules == std::vector<std::string>{"b", "a"});
    for (auto const& [name, text] : package.files) CHECK(test::read_file(written->directory / name) == text);
    CHECK(entries(dir.path() / "deep" / "tools") == std::vector<std::string>{"__init__.py", "server"});
    CHECK(contains(test::read_file(dir.path() / "deep" / "tools" / "__init__.py"), "def search("));
}

TEST_CASE("write_package: in place of the old one") {
    scratch_dir const dir;
    REQUIRE(package_of({"a", "b"}).write(dir.path()));
    dir.write("server/own.py", "an addition");
    REQUIRE(package_of({"c"}).write(dir.path()));
    CHECK(fs::exists(dir.path() / "server/c.py"));
    CHECK_FALSE(fs::exists(dir.path() / "server/a.py"));
    CHECK(fs::exists(dir.path() / "server/own.py")); // what was added beside the generated files stays
    CHECK(entries(dir.path()) == std::vector<std::string>{"__init__.py", "server"});
}

TEST_CASE("write_package: nothing that is not ours is replaced (W13)") {
    scratch_dir const dir;
    SECTION("a directory") { dir.write("server/precious.txt", "x"); }
    SECTION("a directory with another list") { dir.write("server/_schemas.json", R"({"generator": "other"})"); }
    SECTION("an empty directory") { fs::create_directory(dir.path() / "server"); }
    SECTION("a file") { dir.write("server", "x"); }
    SECTION("a link to a package of ours") {
        REQUIRE(package_of({"a"}).write(dir.path() / "elsewhere"));
        fs::create_directory_symlink("elsewhere/server", dir.path() / "server");
    }
    SECTION("a dangling link") { fs::create_symlink("nowhere", dir.path() / "server"); }
    SECTION("a pipe") { REQUIRE(::mkfifo((dir.path() / "server").c_str(), 0600) == 0); }
    SECTION("a directory with a link for a list") {
        REQUIRE(package_of({"a"}).write(dir.path() / "elsewhere"));
        fs::create_directory(dir.path() / "server");
        fs::create_symlink("../elsewhere/server/_schemas.json", dir.path() / "server/_schemas.json");
    }
    auto const before = entries(dir.path());
    auto const refused = package_of({"a"}).write(dir.path());
    REQUIRE_FALSE(refused);
    CHECK((refused.error() == errc::invalid_argument || refused.error() == errc::io_error));
    CHECK(contains(refused.error().text(), "server"));
    CHECK(entries(dir.path()) == before);
    if (fs::exists(dir.path() / "elsewhere")) CHECK(fs::exists(dir.path() / "elsewhere/server/a.py"));
    if (fs::exists(dir.path() / "server/precious.txt"))
        CHECK(test::read_file(dir.path() / "server/precious.txt") == "x");
}

TEST_CASE("write_package: names that lead out of the root (W13)") {
    scratch_dir const dir;
    auto package = package_of({"a"});
    for (auto const* name : {"..", "../x", "/tmp/x", "a/b", "", ".", "class"}) {
        package.server_name = name;
        auto const refused = package.write(dir.path() / "root");
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::invalid_argument);
    }
    package.server_name = "server";
    for (auto const* name : {"../x.py", "/tmp/x.py", "", ".."}) {
        package.files = {{name, "x"}};
        auto const refused = package.write(dir.path() / "root");
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::invalid_argument);
    }
    CHECK_FALSE(fs::exists(dir.path() / "root"));
}

TEST_CASE("write_package: what a generator left behind when it was killed is removed") {
    scratch_dir const dir;
    dir.write(".server.tmp-0123/half.py", "x");
    dir.write(".server.tmp-0456", "x");
    dir.write("precious/x", "x");
    fs::create_directory_symlink("precious", dir.path() / ".server.tmp-link");
    dir.write(".other.tmp-1/x", "x");
    REQUIRE(package_of({"a"}).write(dir.path()));
    CHECK(entries(dir.path()) == std::vector<std::string>{".other.tmp-1", "__init__.py", "precious", "server"});
    CHECK(fs::exists(dir.path() / "precious/x"));
}

TEST_CASE("write_package: a failure leaves the old package") {
    scratch_dir const dir;
    REQUIRE(package_of({"a"}).write(dir.path()));
    auto package = package_of({"b"});
    package.files[std::string(300, 'x') + ".py"] = "too long a name";
    CHECK_FALSE(package.write(dir.path()));
    package = package_of({"b"});
    package.files[std::string(254, 'x')] = "";
    package.files[std::string(255, 'y')] = "";
    CHECK(package.write(dir.path()));
    CHECK(fs::exists(dir.path() / "server/b.py"));
    CHECK(entries(dir.path()) == std::vector<std::string>{"__init__.py", "server"});
}

TEST_CASE("write_package: the root cannot be") {
    scratch_dir const dir;
    dir.write("file", "x");
    for (auto const& root : {dir.path() / "file", dir.path() / "file/below", fs::path("/proc/none")}) {
        auto const refused = package_of({"a"}).write(root);
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::io_error);
    }
}

TEST_CASE("write_package: no link on the way below the directory of the code is followed") {
    scratch_dir const dir;
    fs::create_directories(dir.path() / "outside");
    fs::create_directories(dir.path() / "work");
    fs::create_directory_symlink("../outside", dir.path() / "work/link");
    auto const root = dir.path() / "work/link/tools";

    auto const refused = package_of({"a"}).write(root, {.code_dir = dir.path() / "work"});
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::io_error);
    CHECK(contains(refused.error().text(), "link is a symbolic link"));
    CHECK(fs::is_empty(dir.path() / "outside"));

    fs::remove(dir.path() / "work/link");
    CHECK(package_of({"a"}).write(root, {.code_dir = dir.path() / "work"}));
    CHECK(fs::exists(root / "server/a.py"));
}

TEST_CASE("write_package: one generator after the other") {
    scratch_dir const dir;
    auto const root = codegen::detail::directory::make(dir.path(), {});
    REQUIRE(root);
    auto held = root->lock("server.lock", 0ms);
    REQUIRE(held);
    CHECK(fs::is_empty(dir.path())); // code that works there cannot hold it
    auto const refused = package_of({"a"}).write(dir.path(), {.patience = 20ms});
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::io_error);
    CHECK(contains(refused.error().text(), ".server.lock"));

    auto waiting =
        std::async(std::launch::async, [&] { return package_of({"a"}).write(dir.path(), {.patience = 60s}); });
    CHECK(waiting.wait_for(20ms) == std::future_status::timeout);
    held->reset();
    CHECK(waiting.get());
}

TEST_CASE("write_package: a fork does not hold the lock of a generator") {
    scratch_dir const dir;
    auto const root = codegen::detail::directory::make(dir.path(), {});
    REQUIRE(root);
    auto held = root->lock("server.lock", 0ms);
    REQUIRE(held);
    test::idle_fork const lives;
    held->reset();
    CHECK(package_of({"a"}).write(dir.path(), {.patience = 0ms}));
}

TEST_CASE("write_package: many at once") {
    scratch_dir const dir;
    std::vector<std::future<bool>> writers;
    for (int i = 0; i < 8; ++i)
        writers.push_back(std::async(std::launch::async, [&dir, i] {
            return package_of({"t" + std::to_string(i)}, i % 2 ? "one" : "two").write(dir.path()).has_value();
        }));
    for (auto& writer : writers) CHECK(writer.get());
    CHECK(entries(dir.path()) == std::vector<std::string>{"__init__.py", "one", "two"});
    CHECK(entries(dir.path() / "one").size() == package_of({"t"}).files.size());
}

TEST_CASE("write_package: the index of the root") {
    scratch_dir const dir;
    auto const index = dir.path() / "__init__.py";
    SECTION("an older one of ours is replaced") {
        dir.write("__init__.py", "\"\"\"Tools of MCP servers: a package for each server, a module for each tool. "
                                 "Written by ipybox.\"\"\"\nold = 1\n");
        REQUIRE(package_of({"a"}).write(dir.path()));
        CHECK(contains(test::read_file(index), "def describe("));
    }
    SECTION("one of somebody else is kept") {
        dir.write("__init__.py", "mine = 1\n");
        REQUIRE(package_of({"a"}).write(dir.path()));
        CHECK(test::read_file(index) == "mine = 1\n");
    }
    SECTION("a link is kept, and not followed") {
        dir.write("elsewhere.py", "");
        fs::create_symlink("elsewhere.py", index);
        REQUIRE(package_of({"a"}).write(dir.path()));
        CHECK(test::read_file(dir.path() / "elsewhere.py") == "");
    }
}

TEST_CASE("write_package: what has changed since") {
    scratch_dir const dir;
    mcp::tool a, b;
    a.name = "a";
    b.name = "b";
    b.input_schema = nlohmann::ordered_json::parse(R"({"type": "object", "x": 1})");
    auto changes = generated_package::make("server", {a, b})->compare(dir.path());
    REQUIRE(changes);
    CHECK(changes->added == std::vector<std::string>{"a", "b"});
    REQUIRE(generated_package::make("server", {a, b})->write(dir.path()));
    CHECK(generated_package::make("server", {b, a})->compare(dir.path())->none());
    b.input_schema["x"] = 2;
    changes = generated_package::make("server", {b})->compare(dir.path());
    CHECK(changes->changed == std::vector<std::string>{"b"});
    CHECK(changes->removed == std::vector<std::string>{"a"});

    CHECK(generated_package::make("..", {}).error() == errc::invalid_argument);
    dir.write("foreign/x", "");
    CHECK(generated_package::make("foreign", {})->compare(dir.path()).error() == errc::invalid_argument);
}

namespace {

/// A file of so many bytes that takes no place on the disk.
void make_file(fs::path const& file, std::uintmax_t bytes) {
    std::ofstream(file).put('x');
    fs::resize_file(file, bytes);
}

constexpr std::uintmax_t mib = std::uintmax_t(1) << 20;

} // namespace

TEST_CASE("write_package: a file of 16 MiB is kept, and a larger one is not lost") {
    scratch_dir const dir;
    REQUIRE(package_of({"a"}).write(dir.path()));
    make_file(dir.path() / "server/own.bin", 16 * mib);
    REQUIRE(package_of({"b"}).write(dir.path()));
    CHECK(fs::file_size(dir.path() / "server/own.bin") == 16 * mib);

    make_file(dir.path() / "server/own.bin", 16 * mib + 1);
    auto const refused = package_of({"c"}).write(dir.path());
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::invalid_argument);
    CHECK(contains(refused.error().text(), "own.bin has more than 16 MiB"));
    CHECK(contains(refused.error().text(), "move it away"));
    CHECK(fs::exists(dir.path() / "server/own.bin"));
    CHECK(fs::exists(dir.path() / "server/b.py"));
}

TEST_CASE("write_package: 64 MiB of files are kept, and no more") {
    scratch_dir const dir;
    REQUIRE(package_of({"a"}).write(dir.path()));
    for (int i = 0; i < 4; ++i) make_file(dir.path() / "server" / std::to_string(i), 16 * mib);
    REQUIRE(package_of({"b"}).write(dir.path()));
    CHECK(fs::exists(dir.path() / "server/3"));
    dir.write("server/4", "x");
    auto const refused = package_of({"c"}).write(dir.path());
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::invalid_argument);
    CHECK(contains(refused.error().text(), "more than 64 MiB"));
    CHECK(fs::exists(dir.path() / "server/4"));
}

TEST_CASE("write_package: a list that code has made too large is not built from", "[large]") {
    scratch_dir const dir;
    REQUIRE(package_of({"a"}).write(dir.path()));
    auto const list = dir.path() / "server/_schemas.json";
    auto const before = test::read_file(list);
    SECTION("16 MiB fit") {
        std::ofstream(list, std::ios::app) << std::string(16 * mib - before.size(), ' ');
        CHECK(generated_package::make("server", {})->compare(dir.path()));
        CHECK(package_of({"b"}).write(dir.path()));
    }
    SECTION("one byte more does not") {
        std::ofstream(list, std::ios::app) << std::string(16 * mib - before.size() + 1, ' ');
        for (auto const& failed : {generated_package::make("server", {})->compare(dir.path()).error(),
                                   package_of({"b"}).write(dir.path()).error()}) {
            CHECK(failed == errc::invalid_argument);
            CHECK(contains(failed.text(), "remove the package"));
        }
        CHECK(fs::exists(dir.path() / "server/a.py"));
    }
}

TEST_CASE("write_package: a package of 20,000 entries is read, and a larger one is not") {
    scratch_dir const dir;
    REQUIRE(package_of({"a"}).write(dir.path()));
    auto const server = dir.path() / "server";
    for (auto i = entries(server).size(); i < 20'001; ++i) // links cost less than files
        REQUIRE(::symlink("x", (server / std::to_string(i)).c_str()) == 0);
    auto const refused = package_of({"b"}).write(dir.path());
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::invalid_argument);
    CHECK(contains(refused.error().text(), "more than 20,000 entries"));
    fs::remove(server / "20000");
    CHECK(package_of({"b"}).write(dir.path()));
}

TEST_CASE("write_package: a leftover of 64 levels is removed, and a deeper one stays") {
    scratch_dir const dir;
    int const levels = GENERATE(64, 65);
    auto deep = dir.path() / ".server.tmp-1";
    for (int i = 1; i < levels; ++i) deep /= "d";
    fs::create_directories(deep);
    REQUIRE(package_of({"a"}).write(dir.path()));
    CHECK(fs::exists(dir.path() / ".server.tmp-1") == (levels > 64));
}
