#include <ipybox/mcp/file_memory.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scratch_dir.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace {

namespace fs = std::filesystem;
using ipybox::mcp::detail::code_places;
using ipybox::mcp::detail::file_memory;
using ipybox::os::code_reach;

/// A server with a script, a package beside it, data, and installed packages.
struct server_in_reach {
    ipybox::test::scratch_dir dir;
    fs::path const root = fs::canonical(dir.path());
    code_reach const reach{{root}};
    code_places places{{root / "server.py"}, {root}, {root / "node_modules"}};

    server_in_reach() {
        write("server.py", "import helper");
        write("helper/__init__.py", "x = 1");
        write("helper/more.py", "y = 1");
        write("data/table.json", "{}");
        write("node_modules/thing/index.js", "1");
    }

    void write(std::string const& name, std::string const& text) const {
        fs::create_directories((root / name).parent_path());
        std::ofstream(root / name) << text;
    }

    file_memory now() const { return file_memory::of(places, reach); }

    std::string difference(file_memory const& before) const { return now().difference_from(before, reach); }
};

} // namespace

TEST_CASE_METHOD(server_in_reach, "file_memory: a file of code that has changed, is new or is gone") {
    auto const before = now();
    CHECK_FALSE(before.empty());
    CHECK(difference(before).empty());
    write("helper/more.py", "y = 2");
    CHECK(difference(before) == (root / "helper/more.py").string() + " has changed");
    write("helper/more.py", "y = 1"); // the same bytes
    CHECK(difference(before).empty());
    write("node_modules/thing/index.js", "2");
    CHECK(difference(before) == (root / "node_modules/thing/index.js").string() + " has changed");
    auto const later = now();
    write("json.py", "");
    CHECK(difference(later) == (root / "json.py").string() + " is new");
    fs::remove(root / "json.py");
    write("json/__init__.py", "");
    CHECK(difference(later) == (root / "json/__init__.py").string() + " is new");
    fs::remove_all(root / "json");
    write("node_modules/other/index.js", "");
    CHECK(difference(later) == (root / "node_modules/other/index.js").string() + " is new");
    fs::remove_all(root / "node_modules/other");
    places.files.push_back(root / ".npmrc"); // of npx, say
    write(".npmrc", "script-shell=/work/x.sh");
    CHECK(difference(later) == (root / ".npmrc").string() + " is new");
    CHECK(difference(file_memory()) == (root / ".npmrc").string() + " is new"); // also where there was nothing before
    fs::remove(root / ".npmrc");
    fs::remove(root / "helper/more.py");
    CHECK(difference(later) == (root / "helper/more.py").string() + " is gone");
}

TEST_CASE_METHOD(server_in_reach, "file_memory: a module that comes first where there were only packages is new") {
    fs::remove(root / "server.py"); // python -m helper
    auto const before = now();
    write("json.py", "");
    CHECK(difference(before) == (root / "json.py").string() + " is new");
}

TEST_CASE_METHOD(server_in_reach, "file_memory: a module that comes where there was nothing is new") {
    fs::remove_all(root);
    fs::create_directories(root);
    auto const before = now();
    CHECK(before.empty());
    write("state.json", "{}");
    CHECK(difference(before).empty());
    write("json.py", "");
    CHECK(difference(before) == (root / "json.py").string() + " is new");
    fs::remove(root / "json.py");
    places.modules = {};
    write("server.py", ""); // which the arguments named
    CHECK(difference(before) == (root / "server.py").string() + " is new");
}

TEST_CASE_METHOD(server_in_reach, "file_memory: code behind links, and however deep") {
    ipybox::test::scratch_dir const elsewhere;
    std::string deep;
    for (int i = 0; i < 30; ++i) deep += "d/";
    write(deep + "far.py", "1");
    write("lib/one.py", "1");
    fs::create_directory_symlink(root / "lib", root / "helper/lib");
    fs::create_directory_symlink(elsewhere.path(), root / "node_modules/linked");
    fs::create_directory_symlink(root, root / "helper/again");
    auto const before = now();
    CHECK(before.is_complete());
    write(deep + "far.py", "2");
    CHECK(difference(before) == (root / (deep + "far.py")).string() + " has changed");
    write(deep + "far.py", "1");
    write("lib/one.py", "2");
    CHECK(ipybox::test::contains(difference(before), "lib/one.py has changed"));
    write("lib/one.py", "1");
    CHECK(difference(before).empty());
    fs::remove(root / "node_modules/linked");
    fs::create_directory_symlink(root / "data", root / "node_modules/linked");
    CHECK(difference(before) == (root / "node_modules/linked").string() + " has changed");
}

TEST_CASE_METHOD(server_in_reach, "file_memory: what has changed behind a time, and what has other bytes") {
    auto const wait_for_next_time = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    auto const before = now();
    wait_for_next_time();
    ::timespec time{};
    REQUIRE(::clock_gettime(CLOCK_REALTIME_COARSE, &time) == 0);
    CHECK(now().change_after(time).empty());
    CHECK(now().rewritten_since(before).empty());
    wait_for_next_time();
    auto const old = fs::last_write_time(root / "helper/more.py");
    write("helper/more.py", "y = 3");
    fs::last_write_time(root / "helper/more.py", old); // code cannot set the inode's own time
    CHECK(now().change_after(time) == (root / "helper/more.py").string() + " has changed");
    CHECK(now().rewritten_since(before) == (root / "helper/more.py").string() + " has changed");
    write("helper/more.py", "y = 1");
    write("node_modules/thing/index.js", "3"); // installed while it starts
    CHECK(now().rewritten_since(before).empty());
}

TEST_CASE_METHOD(server_in_reach, "file_memory: data, caches and packages that are generated do not count") {
    auto const before = now();
    for (auto const* const name : {"data/table.json", "state.json", "new/notes.txt", "__pycache__/server.pyc",
                                   "helper/__pycache__/more.pyc", "mcptools/own/__init__.py", "analysis/plot.py"})
        write(name, "new");
    CHECK(difference(before).empty());
}

TEST_CASE_METHOD(server_in_reach, "file_memory: only what code can change is remembered, and only that counts") {
    CHECK(file_memory::of(places, code_reach()).empty());
    CHECK(file_memory::of(places, code_reach({"/usr"})).empty());
    CHECK(file_memory::of(places, code_reach({root}, {root / "helper"})).difference_from(now(), code_reach({"/usr"})) ==
          "");
    auto const before = now();
    write("helper/more.py", "y = 2");
    CHECK(now().difference_from(before, code_reach({root}, {root / "helper"})).empty());
    CHECK(now().contradiction_to(before) == (root / "helper/more.py").string() + " has changed");
    CHECK(now().contradiction_to(file_memory()).empty());
}

TEST_CASE_METHOD(server_in_reach, "file_memory: as text and back") {
    auto const before = now();
    auto const read = file_memory::parse(before.text());
    REQUIRE(read);
    CHECK(*read == before);
    CHECK(file_memory::parse("")->empty());
    for (auto const* const bad : {"x", "1 2", "1 2 relative", "  /x"}) CHECK_FALSE(file_memory::parse(bad));
}

TEST_CASE_METHOD(server_in_reach, "file_memory: directories and pipes in the place of files are passed over") {
    places.files = {root, root / "helper", root / "none", "/dev/null"};
    places.modules = {root / "server.py"};
    places.environments = {};
    CHECK(now().empty());
}
