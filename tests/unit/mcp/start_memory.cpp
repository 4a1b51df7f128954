#include <ipybox/mcp/server_files.hpp>
#include <ipybox/mcp/start_memory.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scratch_dir.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace {

namespace fs = std::filesystem;
using ipybox::errc;
using ipybox::mcp::server_params;
using ipybox::mcp::detail::file_memory;
using ipybox::mcp::detail::files_of;
using ipybox::mcp::detail::known_code;
using ipybox::mcp::detail::start_memory;
using ipybox::os::code_reach;
using ipybox::test::contains;

/// A server whose script code can write.
struct server_to_start {
    ipybox::test::scratch_dir dir;
    fs::path const root = fs::canonical(dir.path());
    code_reach const reach{{root}};
    std::shared_ptr<known_code> const known = std::make_shared<known_code>();
    server_params server{.command = "python3"};

    server_to_start() {
        server.args = {"server.py"};
        server.working_dir = root;
        write("server.py", "x = 1");
        known->add(reach);
    }

    void write(std::string const& name, std::string const& text) const {
        fs::create_directories((root / name).parent_path());
        std::ofstream(root / name) << text;
    }

    /// As code does it, at a time that is not that of what was before.
    void write_later(std::string const& name, std::string const& text) const {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        write(name, text);
    }

    file_memory now() const { return file_memory::of(files_of(server).code, reach); }
};

} // namespace

TEST_CASE_METHOD(server_to_start, "start_memory: what was approved is what may be started") {
    start_memory memory(known, now());
    CHECK(memory.check(server));
    write("server.py", "x = 2");
    auto const refused = memory.check(server);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::mcp_start_failed);
    CHECK(refused.error().text() == "is not started: " + (root / "server.py").string() +
                                        " has changed since it was registered, and code can write there; look at it, "
                                        "and register the server again");
}

TEST_CASE_METHOD(server_to_start, "start_memory: files that are not known at first must not change before the start") {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    start_memory untouched(known, std::nullopt);
    start_memory touched(known, std::nullopt);
    CHECK(untouched.check(server));
    write_later("server.py", "x = 2");
    REQUIRE_FALSE(touched.check(server));
    CHECK(contains(touched.check(server).error().text(), "server.py has changed since it was registered"));
    CHECK_FALSE(untouched.check(server)); // it knows them now
}

TEST_CASE_METHOD(server_to_start, "start_memory: code comes while it cannot be told which files a server has") {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    start_memory memory(known, file_memory()); // there was no code
    memory.extend(std::nullopt, reach);
    write_later("server.py", "x = 2");
    CHECK_FALSE(memory.check(server));
}

TEST_CASE_METHOD(server_to_start, "start_memory: a server whose files change while it starts is ended") {
    start_memory memory(known, now());
    CHECK(memory.check(server));
    CHECK(memory.check_started(server));
    write("state.db", "x"); // its data
    CHECK(memory.check_started(server));
    write("server.py", "x = 2");
    auto const ended = memory.check_started(server);
    REQUIRE_FALSE(ended);
    CHECK(contains(ended.error().text(),
                   "was ended: " + (root / "server.py").string() + " has changed while it started"));
}

TEST_CASE_METHOD(server_to_start, "start_memory: more files than are remembered are not started") {
    start_memory memory(known, now());
    for (std::size_t i = 0; i <= file_memory::most_files / 1000; ++i) {
        auto const folder = root / "node_modules" / std::to_string(i);
        fs::create_directories(folder);
        std::ofstream(folder / "0").close();
        for (int k = 1; k < 1000; ++k) fs::create_hard_link(folder / "0", folder / std::to_string(k));
        if (i == 1) CHECK(now().is_complete());
    }
    CHECK_FALSE(now().is_complete());
    auto const refused = memory.check(server);
    REQUIRE_FALSE(refused);
    CHECK(contains(refused.error().text(), "than are remembered (100000); put it where code cannot write"));
}

TEST_CASE_METHOD(server_to_start, "start_memory: files that no code could change do not count") {
    start_memory memory(std::make_shared<known_code>(), now());
    write("server.py", "x = 2");
    CHECK(memory.check(server));
    CHECK(memory.check_started(server));
}
