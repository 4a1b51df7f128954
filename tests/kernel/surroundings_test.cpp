#include <ipybox/executor.hpp>
#include <ipybox/os/host_environment.hpp>
#include <ipybox/runtime.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/catch.hpp"
#include "support/has_bubblewrap.hpp"
#include "support/python.hpp"
#include "support/scratch_dir.hpp"

/** \file
 * The environment and the current directory of the application, which are read in the constructor of an executor.
 */

namespace {

using namespace ipybox;
using namespace ipybox::test;
namespace fs = std::filesystem;

/// The environment and the current directory are as before afterwards.
struct surroundings {
    scratch_dir dir;
    fs::path const root = fs::canonical(dir.path());
    os::host_environment const before = os::host_environment::now();

    surroundings() { fs::create_directories(root / "first/relative"), fs::create_directories(root / "second"); }
    surroundings(surroundings const&) = delete;
    surroundings& operator=(surroundings const&) = delete;
    ~surroundings() {
        fs::current_path(before.directory());
        ::clearenv();
        for (auto const& [name, value] : before.variables()) ::setenv(name.c_str(), value.c_str(), 1);
    }

    static executor_options options(fs::path const& working_dir = {}) {
        executor_options made;
        made.working_dir = working_dir;
        made.kernel.python = python();
        return made;
    }
};

std::string said_by(result<execution_result> const& done) { return done ? done->text : done.error().text(); }

} // namespace

TEST_CASE_METHOD(surroundings, "an executor works in a host that has emptied its environment", "[kernel]") {
    if (!has_bubblewrap()) return;
    ::clearenv();
    executor box(options(root / "first"), auto_approval{});
    CHECK(said_by(box.execute("print(6 * 7)")) == "42");
    mcp::server_params server;
    server.command = "/bin/false";
    server.inherit = mcp::server_params::inherited::all;
    REQUIRE(box.register_mcp_server("none", server));
    CHECK_FALSE(box.generate_mcp_sources("none", root / "second"));
}

TEST_CASE_METHOD(surroundings, "an executor has the directory that was current in its constructor", "[kernel]") {
    if (!has_bubblewrap()) return;
    fs::current_path(root / "first");
    executor unnamed(options(), auto_approval{});
    executor relative(options("relative"), auto_approval{});
    runtime const shared({.working_dir = "relative", .kernel = {.python = python()}});
    executor tenant(options(), auto_approval{}, shared);
    fs::current_path(root / "second");
    auto const where = "import os; print(os.getcwd())";
    CHECK(said_by(unnamed.execute(where)) == (root / "first").string());
    CHECK(said_by(relative.execute(where)) == (root / "first/relative").string());
    CHECK(said_by(tenant.execute(where)) == (root / "first/relative").string());
    REQUIRE(unnamed.reset());
    CHECK(said_by(unnamed.execute(where)) == (root / "first").string());
}

TEST_CASE_METHOD(surroundings, "an executor has the environment that there was in its constructor", "[kernel]") {
    if (!has_bubblewrap()) return;
    ::setenv("TZ", "Europe/Berlin", 1);
    executor box(options(root / "first"), auto_approval{});
    ::setenv("TZ", "Asia/Tokyo", 1);
    ::setenv("PATH", "/nowhere", 1); // without bwrap
    CHECK(said_by(box.execute("import os; print(os.environ['TZ'])")) == "Europe/Berlin");
    REQUIRE(box.reset());
    CHECK(said_by(box.execute("import os; print(os.environ['TZ'])")) == "Europe/Berlin");
}
