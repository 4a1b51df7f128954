#include <ipybox/ipybox.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/has_bubblewrap.hpp"
#include "support/kernel_box.hpp"

/** \file
 * Where the directories of walled kernels lie, and what becomes of commands within walls.
 */

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

/// A directory where no private one hides it.
class open_dir {
  public:
    open_dir() {
        auto name = std::string(IPYBOX_TEST_SOURCE_DIR) + "/build/walls-XXXXXX";
        path_ = ::mkdtemp(name.data());
    }
    ~open_dir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

std::unique_ptr<executor> box_in(std::filesystem::path const& dir, runtime const& shared) {
    executor_options options;
    options.working_dir = dir;
    std::filesystem::create_directories(dir);
    return std::make_unique<executor>(options, auto_approval{}, shared);
}

} // namespace

TEST_CASE("walls: a working directory outside of the runtime's sees none of those in it", "[kernel]") {
    if (!has_bubblewrap()) return;
    open_dir const dir;
    runtime const shared({.working_dir = dir.path(), .kernel = {.python = python()}});
    auto const a = box_in(dir.path() / "a", shared);
    CHECK(text_of(a->execute("open('x', 'w').write('of a')")) == "4");
    auto const b = box_in(std::filesystem::path(IPYBOX_TEST_SOURCE_DIR) / "docs", shared);
    auto const seen = "import os; os.path.exists('" + (dir.path() / "a/x").string() + "')";
    CHECK(text_of(b->execute(seen)) == "False");
}

TEST_CASE("walls: a runtime's directory that is given by a link is covered by that name too", "[kernel]") {
    if (!has_bubblewrap()) return;
    open_dir const dir;
    scratch_dir links; // below /tmp: the path as it was given gets a mount of its own
    auto const link = links.path() / "link";
    std::filesystem::create_directory_symlink(dir.path(), link);
    std::filesystem::create_directories(dir.path() / "ws");
    runtime const shared({.working_dir = link / "ws", .kernel = {.python = python()}});
    auto const a = box_in(link / "ws/a", shared), b = box_in(link / "ws/b", shared);
    CHECK(text_of(a->execute("open('x', 'w').write('of a')")) == "4");
    CHECK(text_of(b->execute("open('x', 'w').write('of b')")) == "4");
    for (auto const& place : {link, dir.path()})
        CHECK(text_of(b->execute("import os; os.path.exists('" + (place / "ws/a/x").string() + "')")) == "False");
    CHECK(text_of(b->execute("import os; os.listdir('..')")) == "['b']");
    CHECK(text_of(b->execute("!pwd; ls")) == (link / "ws/b").string() + "\nx");
}

TEST_CASE("walls: an interpreter's environment in the runtime's directory can be used and not written", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir dir;
    auto const venv = dir.path() / ".venv";
    auto const made = std::string(python()) + " -m venv --without-pip --system-site-packages " + venv.string();
    REQUIRE(std::system(made.c_str()) == 0);
    std::filesystem::path site;
    for (auto const& entry : std::filesystem::directory_iterator(venv / "lib")) site = entry.path() / "site-packages";
    std::ofstream(site / "of_venv.py") << "value = 7\n";
    auto const packages = std::filesystem::path(python()).parent_path().parent_path() / "lib" /
                          site.parent_path().filename() / "site-packages";
    std::ofstream(site / "packages.pth") << packages.string() << '\n';
    runtime const shared({.working_dir = dir.path(), .kernel = {.python = venv / "bin/python"}});
    auto const a = box_in(dir.path() / "a", shared);
    CHECK(text_of(a->execute("import of_venv; of_venv.value")) == "7");
    CHECK(text_of(a->execute("!python -c 'import of_venv; print(of_venv.value)'")) == "7");
    CHECK(text_of(a->execute("import os; sorted(os.listdir('..'))")) == "['.venv', 'a']");
    CHECK_THAT(text_of(a->execute("open('" + (site / "of_venv.py").string() + "', 'a')")),
               Contains("Read-only file system"));
}

TEST_CASE("walls: directories in each other", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir dir;
    runtime const shared({.working_dir = dir.path(), .kernel = {.python = python()}});
    auto const a = box_in(dir.path() / "a", shared), b = box_in(dir.path() / "a/b", shared);
    CHECK(text_of(a->execute("open('x', 'w').write('of a')")) == "4");
    CHECK(text_of(b->execute("open('y', 'w').write('of b')")) == "4");
    CHECK(text_of(a->execute("open('b/y').read()")) == "'of b'");
    CHECK(text_of(b->execute("import os; os.path.exists('../x')")) == "False");
    CHECK(text_of(b->execute("import os; os.listdir('..')")) == "['b']");
}

TEST_CASE("walls: no kernel leads another one into the directory of a third by a link", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir dir;
    runtime const shared({.working_dir = dir.path(), .kernel = {.python = python()}});
    auto const a = box_in(dir.path() / "a", shared), c = box_in(dir.path() / "c", shared);
    CHECK(text_of(c->execute("open('secret', 'w').write('of c')")) == "4");
    CHECK(text_of(a->execute("import os; os.symlink('../c', 'b'); os.symlink('" + (dir.path() / "c").string() +
                             "', 'd'); os.symlink('e', 'f'); os.mkdir('e')")) == "");
    for (auto const* name : {"a/b", "a/d", "a/f"}) {
        INFO(name);
        executor_options options;
        options.working_dir = dir.path() / name;
        executor box(options, auto_approval{}, shared);
        auto const started = box.start();
        REQUIRE_FALSE(started);
        CHECK(started.error() == errc::invalid_argument);
        CHECK_THAT(started.error().text(),
                   Contains(options.working_dir.string() + ": a link in the directory of the runtime"));
    }
    auto const e = box_in(dir.path() / "a/e", shared);
    CHECK(text_of(e->execute("import os; os.getcwd()")) == "'" + (dir.path() / "a/e").string() + "'");
    // Whoever has made it.
    std::filesystem::create_directory_symlink(dir.path() / "c", dir.path() / "link");
    executor_options options;
    options.working_dir = dir.path() / "link";
    executor inner(options, auto_approval{}, shared);
    CHECK_FALSE(inner.start());
}

TEST_CASE("walls: a cancelled command takes along what it has put into the background", "[kernel]") {
    if (!has_bubblewrap()) return;
    for (bool const walls : {false, true}) {
        scratch_dir dir;
        runtime const shared({.working_dir = dir.path(), .kernel = {.python = python()}, .walls = walls});
        auto const a = box_in(dir.path() / "a", shared);
        auto const alive = "!pgrep -c -f '[s]leep 4242'";
        for (auto const* code : {"!sleep 4242 & sleep 4242", "%%bash\nsleep 4242 &\nsleep 4242",
                                 "!(sleep 4242 | cat) & sleep 4242 | cat"}) {
            execute_options brief;
            brief.timeout = 1s;
            auto const begin = std::chrono::steady_clock::now();
            auto const said = text_of(a->execute(code, brief));
            INFO(walls << ' ' << code << ": " << said);
            CHECK(std::chrono::steady_clock::now() - begin < 8s);
            CHECK(eventually([&] { return text_of(a->execute(alive)) == "0"; }));
        }
        INFO(walls);
        CHECK(text_of(a->execute("!sleep 4242 & echo begun")) == "begun");
        CHECK(text_of(a->execute(alive)) == "1");
    }
}
