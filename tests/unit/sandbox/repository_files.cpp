#include <ipybox/sandbox/repository_files.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using ipybox::detail::deciding_files_of;
using ipybox::detail::git_settings;
using ipybox::detail::guarded_path;
namespace fs = std::filesystem;

/// A project with a repository in it.
struct repository {
    ipybox::test::scratch_dir dir;
    fs::path git = dir.path() / ".git";

    repository() { fs::create_directories(git); }

    void make(fs::path const& file, std::string const& text = "text") const {
        fs::create_directories((git / file).parent_path());
        std::ofstream(git / file) << text;
    }
    [[nodiscard]] bool names(fs::path const& path) const {
        auto const found = deciding_files_of(git, git_settings::guarded);
        return std::ranges::any_of(found, [&](auto const& each) { return each.path == git / path; });
    }
};

} // namespace

TEST_CASE("repository_files: hooks and settings, also those that are missing") {
    repository const here;
    auto const found = deciding_files_of(here.git, git_settings::guarded);
    CHECK(found == std::vector<guarded_path>{{here.git / "hooks", guarded_path::kind::directory},
                                             {here.git / "commondir", guarded_path::kind::dot_file},
                                             {here.git / "config.worktree"},
                                             {here.git / "info/attributes"},
                                             {here.git / "config"}});
    CHECK(deciding_files_of(here.git, git_settings::open).size() == 4);
}

TEST_CASE("repository_files: those of submodules and worktrees") {
    repository const here;
    for (auto const* file : {"modules/a/HEAD", "modules/with/slashes/HEAD", "modules/a/modules/b/HEAD",
                             "modules/a/objects/12/HEAD", "worktrees/w/HEAD"})
        here.make(file);
    for (auto const* name :
         {"modules/a/hooks", "modules/with/slashes/config", "modules/a/modules/b/config", "worktrees/w/commondir"}) {
        INFO(name);
        CHECK(here.names(name));
    }
    CHECK_FALSE(here.names("modules/a/objects/12/hooks")); // of a repository that is not one
    CHECK_FALSE(here.names("modules/with/hooks"));
}

TEST_CASE("repository_files: a named pipe in the place of settings is waited for by no one") {
    repository const here;
    here.make("modules/a/HEAD");
    for (auto const* name : {"config", "config.worktree", "modules/a/config"}) {
        REQUIRE(::mkfifo((here.git / name).c_str(), 0600) == 0);
        CHECK(here.names(name));
    }
}

TEST_CASE("repository_files: submodules that are too deep or too many close the directory of all") {
    repository const deep;
    fs::path path = "modules";
    for (int i = 0; i < 9; ++i) path /= "d";
    deep.make(path / "m/HEAD");
    CHECK(deep.names(path / "m/hooks"));
    CHECK_FALSE(deep.names("modules"));
    deep.make(path / "d/m/HEAD");
    CHECK(deep.names("modules"));
    CHECK_FALSE(deep.names(path / "m/hooks"));

    repository const wide;
    for (int i = 0; i < 2000; ++i) fs::create_directories(wide.git / "modules" / std::to_string(i));
    CHECK_FALSE(wide.names("modules"));
    fs::create_directories(wide.git / "modules/more");
    CHECK(wide.names("modules"));
}

TEST_CASE("repository_files: so many worktrees and paths of submodules are guarded one by one") {
    repository const here;
    for (int i = 0; i < 100; ++i) fs::create_directories(here.git / "worktrees" / std::to_string(i));
    for (int i = 0; i < 80; ++i) here.make("modules/" + std::to_string(i) + "/HEAD"); // five paths each
    CHECK(here.names("worktrees/99/commondir"));
    CHECK(here.names("modules/79/hooks"));
    CHECK_FALSE(here.names("worktrees"));
    CHECK_FALSE(here.names("modules"));
    fs::create_directories(here.git / "worktrees/more");
    here.make("modules/more/HEAD");
    CHECK(here.names("worktrees"));
    CHECK(here.names("modules"));
    CHECK(deciding_files_of(here.git, git_settings::guarded).size() == 7);
}

TEST_CASE("repository_files: a directory of hooks that the settings name, in settings of 1 MiB") {
    repository const here;
    auto const tools = here.dir.path() / "tools";
    fs::create_directories(tools);
    auto const named = [&](std::string const& settings) {
        here.make("config", settings);
        auto const found = deciding_files_of(here.git, git_settings::guarded);
        return std::ranges::find(found, guarded_path{tools, guarded_path::kind::directory}) != found.end();
    };
    for (auto const* settings : {"[core]\n\thooksPath = tools\n", "[core] hooksPath=tools",
                                 "[x]\na = b\n[Core]\r\n HOOKSPATH =  \"tools\" \r\n"}) {
        INFO(settings);
        CHECK(named(settings));
    }
    CHECK(named("[core]\nhooksPath = " + tools.string()));
    auto const large = "[core]\nhooksPath = tools\n#" + std::string((1 << 20) - 26, 'x');
    CHECK(named(large)); // settings of 1 MiB
    CHECK_FALSE(named(large + "x"));
    for (auto const* settings : {"", "[core]\n", "[core]\nhooksPath", "[core]\nhooksPath = ", "[", "]\n[x",
                                 "[core]\nhooksPath = missing", "[core]\nhooksPathX = tools"}) {
        INFO(settings);
        CHECK_FALSE(named(settings));
    }
}
