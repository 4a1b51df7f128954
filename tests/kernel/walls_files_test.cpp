#include <ipybox/ipybox.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.hpp"
#include "support/has_bubblewrap.hpp"
#include "support/kernel_box.hpp"
#include "support/walled_sessions.hpp"

/** \file
 * Files in the directories of walled kernels that other programs take commands from.
 */

namespace {

using namespace ipybox;
namespace fs = std::filesystem;

/// Code that says what becomes of a statement.
std::string attempt_in_walls(std::string const& statement) {
    return "try:\n    " + statement +
           "\n    said = 'done'\nexcept OSError as error: said = error.strerror\nprint(said, end='')";
}

std::string making(std::string const& path) {
    return attempt_in_walls("import os; os.makedirs(os.path.dirname('" + path + "') or '.', exist_ok=True); open('" +
                            path + "', 'w').write('x')");
}

void put_file(fs::path const& file, std::string const& text = "text") {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
}

} // namespace

TEST_CASE("walls: files that other programs take commands from cannot be made or changed in a kernel's directory",
          "[kernel]") {
    if (!test::has_bubblewrap()) return;
    test::walled_sessions sessions;
    auto const work = sessions.dir().path() / "a";
    for (auto const* file : {".npmrc", "sub/repo/.git/config", "sub/repo/.git/HEAD", "sub/.vscode/tasks.json"})
        put_file(work / file);
    CHECK(sessions.run("a", making("plain")) == "done");
    for (auto const* path : {".mcp.json", ".envrc", ".vscode/tasks.json", ".idea/x", ".claude/settings.json",
                             ".cursor/x", ".gemini/x", ".codex/x", ".zed/x", ".git/config", ".npmrc",
                             "sub/repo/.git/config", "sub/repo/.git/hooks/x", "sub/.vscode/tasks.json"}) {
        INFO(path);
        CHECK(sessions.run("a", making(path)) != "done");
    }
    CHECK(sessions.run("a", attempt_in_walls("import os; os.rename('sub', 's')")) == "Device or resource busy");
    CHECK(sessions.run("a", attempt_in_walls("import os; os.rename('plain', 'sub/repo/plain')")) ==
          "done"); // one file system
    CHECK(sessions.run("a", attempt_in_walls("import os; os.rename('.vscode', 'v')")) == "Device or resource busy");
    sessions.drop("a");
    for (auto const* none : {".envrc", ".git", ".vscode"}) CHECK_FALSE(fs::exists(work / none));
}

TEST_CASE("walls: a kernel's repository closes no directory of another one", "[kernel]") {
    if (!test::has_bubblewrap()) return;
    test::scratch_dir const place;
    for (auto const* start : {"first", "next"}) {
        INFO(start);
        runtime::options options;
        options.working_dir = place.path();
        test::walled_sessions sessions(options);
        CHECK(sessions.run("b", making("mine")) == "done");
        CHECK(sessions.run(
                  "a", attempt_in_walls("import os; os.makedirs('r/.git', exist_ok=True); open('r/.git/HEAD', 'w'); "
                                        "open('r/.git/config', 'w').write('[core]\\n\\thooksPath = ../../b\\n')")) ==
              (*start == 'f' ? "done" : "Read-only file system"));
    }
}

TEST_CASE("walls: what one kernel leaves holds up no start, and takes nothing from another one", "[kernel]") {
    if (!test::has_bubblewrap()) return;
    test::scratch_dir const place;
    for (int i = 0; i < 1600; ++i) put_file(place.path() / "a" / ("d" + std::to_string(i)) / ".npmrc");
    for (int i = 0; i < 1600; ++i) put_file(place.path() / "a" / ("d" + std::to_string(i)) / ".env");
    put_file(place.path() / "b/.npmrc");
    runtime::options options;
    options.working_dir = place.path();
    test::walled_sessions sessions(options);
    CHECK(sessions.run("a", making("x")) == "done");
    CHECK(sessions.run("b", making("x")) == "done");
    CHECK(sessions.run("b", making(".npmrc")) == "Read-only file system");
}
