#include <ipybox/os/cgroup_delegation.hpp>
#include <ipybox/sandbox/deciding_names.hpp>
#include <ipybox/sandbox/file_rules.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>
#include <support/skip.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using path_entry = ipybox::sandbox_config::path_entry;
using file_access = ipybox::sandbox_config::file_access;
using ipybox::sandbox_config;
using ipybox::detail::file_rules;
using ipybox::detail::file_rules_of;
using ipybox::detail::file_scene;
using ipybox::detail::guarded_path;
using ipybox::test::scratch_dir;
namespace fs = std::filesystem;
using paths = std::vector<fs::path>;

/// A home with a project in it, the working directory.
struct fixture {
    scratch_dir dir;
    fs::path home = fs::canonical(dir.path()) / "home";
    fs::path work = home / "project";

    fixture() { fs::create_directories(work); }

    void make(std::string_view file) const {
        auto const path = work / file;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << "text";
    }

    ipybox::result<file_rules> try_rules(file_access const& config) const {
        return file_rules_of(config, 3, {.working_dir = work, .home = home});
    }

    file_rules rules(file_access const& config) const {
        auto made = try_rules(config);
        INFO((made ? std::string() : made.error().text()));
        REQUIRE(made);
        return *std::move(made);
    }
};

template <class T>
bool holds(std::vector<T> const& values, T const& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

bool guards(file_rules const& rules, fs::path const& path) {
    return std::any_of(rules.guarded.begin(), rules.guarded.end(), [&](auto const& g) { return g.path == path; });
}

bool notes(file_rules const& rules, std::string_view part) {
    return std::any_of(rules.notices.begin(), rules.notices.end(),
                       [&](auto const& notice) { return notice.find(part) != std::string::npos; });
}

using ipybox::detail::a_directory;

} // namespace

TEST_CASE("file_rules: the default closes secrets of the project and of the home, and opens the working directory") {
    fixture const here;
    for (auto const* file : {".env", "sub/deeper/still/.env", "../.ssh/id", "../.netrc", "../.config/gh/hosts"})
        here.make(file);
    auto const rules = here.rules(sandbox_config().filesystem);
    CHECK(rules.writable == paths{here.work});
    auto closed = rules.unreadable;
    std::sort(closed.begin(), closed.end());
    CHECK(closed == paths{here.home / ".config/gh", here.home / ".netrc", here.home / ".ssh", here.work / ".env",
                          here.work / "sub/deeper/still/.env"});
    CHECK(holds(rules.absent, here.home / ".aws"));
    CHECK(rules.notices.empty());
}

TEST_CASE("file_rules: paths begin at the working directory or at home, and lose their links") {
    fixture const here;
    for (auto const* file : {"real/key", "../outside/key", "a[b]", "x1", "x2"}) here.make(file);
    fs::create_directory_symlink("real", here.work / "link");
    fs::create_symlink("../outside/key", here.work / "key");
    auto const rules =
        here.rules({.deny_read = {{"link/key"}, {"./key"}, {"~/outside/"}, {"a[b]", true}, {"x[12]"}, {"../nothing"}},
                    .allow_write = {{"~/project"}}});
    auto closed = rules.unreadable;
    std::sort(closed.begin(), closed.end());
    CHECK(closed == paths{here.home / "outside", here.home / "outside/key", here.work / "a[b]", here.work / "real/key",
                          here.work / "x1", here.work / "x2"});
    CHECK(rules.absent == paths{here.home / "nothing"}); // where code cannot make it
    CHECK(rules.writable == paths{here.work});
}

TEST_CASE("file_rules: a name that looks like a pattern is covered, too") {
    fixture const here;
    for (auto const* file : {"a[b]", "ab"}) here.make(file);
    auto const rules = here.rules({.deny_read = {{"a[b]"}}, .allow_write = {}});
    CHECK(rules.unreadable == paths{here.work / "a[b]", here.work / "ab"});
}

TEST_CASE("file_rules: what is allowed by its own name is not closed") {
    fixture const here;
    for (auto const* file : {"secret/key", "secret/public", "one"}) here.make(file);
    auto const rules = here.rules({.deny_read = {{"secret/**"}, {"one"}, {"secret/public"}},
                                   .allow_read = {{"secret/public"}, {"one"}, {"two"}},
                                   .allow_write = {{"."}}});
    CHECK(rules.unreadable == paths{here.work / "secret"});
    CHECK(rules.readable == paths{here.work / "secret/public", here.work / "one"});
    CHECK(notes(rules, "allowRead two has no effect: it does not exist"));
}

TEST_CASE("file_rules: what cannot be made writable is told") {
    fixture const here;
    here.make("../outside/x");
    fs::create_directory_symlink("../outside", here.work / "out");
    fs::create_directories(here.work / "data");
    fs::create_directory_symlink("data", here.work / "in");
    auto const rules =
        here.rules({.deny_read = {},
                    .allow_write = {{"data/**"}, {"out"}, {"in"}, {"none"}, {"*.log"}, {"/dev/null"}, {"~/outside"}}});
    CHECK(rules.writable == paths{here.work / "data", here.home / "outside"});
    CHECK(notes(rules, "allowWrite out has no effect: a link in a directory that code can write to, which it may have "
                       "made, leads to"));
    CHECK(notes(rules, "allowWrite in has no effect: a link"));
    CHECK(notes(rules, "allowWrite none has no effect: it does not exist"));
    CHECK(notes(rules, "allowWrite *.log has no effect: only a path without wildcards"));
    CHECK(rules.notices.size() == 4);
}

TEST_CASE("file_rules: a link that code may have made opens nothing to be read") {
    fixture const here;
    for (auto const* file : {"../.ssh/id", "../shared/data/x", "own"}) here.make(file);
    fs::create_directory_symlink("../.ssh", here.work / "data");
    fs::create_directory_symlink("../.ssh", here.home / "shared/link");
    fs::create_symlink("own", here.work / "other");
    auto const rules = here.rules({.deny_read = {{"~/.ssh"}},
                                   .allow_read = {{"data"}, {"d*"}, {"~/shared/link"}, {"~/shared/data"}, {"own"}},
                                   .allow_write = {{"."}, {"~/shared"}}});
    CHECK(rules.readable == paths{here.home / "shared/data", here.work / "own"});
    CHECK(rules.unreadable == paths{here.home / ".ssh"});
    CHECK(notes(rules, "allowRead " + (here.work / "data").string() +
                           " has no effect: a link in a directory that code can write to"));
}

TEST_CASE("file_rules: files that decide about other programs are guarded where they can be written") {
    fixture const here;
    for (auto const* file : {"sub/.bashrc", "a/b/c/.bashrc", "node_modules/x/.bashrc", "sub/repo/.git/config",
                             "sub/.vscode/tasks.json", "sub/.claude/settings.json", ".git/HEAD", "../.bashrc"})
        here.make(file);
    auto const rules = here.rules({.deny_read = {}, .allow_write = {{"."}}});
    for (auto const* name : {".envrc", ".mcp.json", ".vscode", ".claude", ".git/hooks", ".git/config", ".git/info",
                             ".git/commondir", ".zed", ".cursor", ".gemini", ".codex", "sub/.bashrc",
                             "sub/repo/.git/config", "sub/repo/.git/hooks", "sub/.vscode", "sub/.claude"}) {
        INFO(name);
        CHECK(guards(rules, here.work / name));
    }
    for (auto const* name :
         {".bashrc", ".gitconfig", "a/b/c/.bashrc", "node_modules/x/.bashrc", ".git", ".claude/commands", "../.bashrc"})
        CHECK_FALSE(guards(rules, (here.work / name).lexically_normal()));
    CHECK(holds(rules.guarded, guarded_path{here.work / ".claude", a_directory}));
    CHECK(holds(rules.guarded, guarded_path{here.work / ".envrc", a_directory})); // git stages none
    CHECK_FALSE(guards(here.rules({.deny_read = {}, .allow_write = {{"."}}, .allow_git_config = true}),
                       here.work / ".git/config"));
    CHECK(here.rules({.deny_read = {}, .allow_write = {}}).guarded.empty());
}

TEST_CASE("file_rules: files of programs that a project uses are guarded where they exist") {
    fixture const here;
    for (auto const* file :
         {".husky/pre-commit", ".pre-commit-config.yaml", "sub/.github/workflows/ci.yml", ".npmrc", "sub/.yarnrc.yml"})
        here.make(file);
    auto const rules = here.rules({.deny_read = {}, .allow_write = {{"."}}});
    for (auto const* name :
         {".husky", ".pre-commit-config.yaml", "sub/.github/workflows", ".npmrc", "sub/.yarnrc.yml"}) {
        INFO(name);
        CHECK(guards(rules, here.work / name));
    }
    for (auto const* name : {"sub/.github", ".github", ".githooks", "lefthook.yml", ".devcontainer"}) {
        INFO(name);
        CHECK_FALSE(guards(rules, here.work / name));
    }
}

TEST_CASE("file_rules: each name that a program takes commands from is guarded where it exists, and not made") {
    // By hand, so that none is lost from the list.
    static constexpr auto files = std::to_array<std::string_view>(
        {".gitmodules",     ".gitconfig",     ".ripgreprc",         ".bashrc",
         ".bash_profile",   ".zshrc",         ".zprofile",          ".profile",
         "lefthook.yml",    ".lefthook.yml",  ".gitlab-ci.yml",     ".pre-commit-config.yaml",
         ".npmrc",          ".yarnrc",        ".yarnrc.yml",        ".exrc",
         ".vimrc",          ".dir-locals.el", "my.code-workspace",  "opencode.json",
         ".aider.conf.yml", ".Rprofile",      ".cargo/config.toml", "jupyter_server_config.py",
         ".pylintrc",       ".eslintrc.js",   ".gdbinit",           ".pdbrc",
         ".bazelrc",        "Jenkinsfile",    ".travis.yml",        ".drone.yml",
         ".woodpecker.yml", ".nvm/nvm.sh",    "azure-pipelines.yml"});
    static constexpr auto directories = std::to_array<std::string_view>(
        {".husky", ".githooks", ".lefthook", ".github/workflows", ".github/actions", ".circleci", ".devcontainer",
         ".windsurf", ".kiro", ".roo", ".continue", ".fleet", ".run", ".forgejo/workflows", ".gitea/workflows",
         ".oh-my-zsh/custom"});
    CHECK(files.size() + directories.size() == ipybox::detail::deciding_names_in_use.size());
    fixture const here;
    auto const guarded_of = [&](std::string_view name) {
        auto const rules = here.rules({.deny_read = {}, .allow_write = {{"."}}});
        return guards(rules, here.work / name) && guards(rules, here.work / "sub" / name);
    };
    for (auto const name : files) {
        INFO(name);
        CHECK_FALSE(guarded_of(name));
        here.make(name);
        here.make("sub/" + std::string(name));
        CHECK(guarded_of(name));
    }
    for (auto const name : directories) {
        INFO(name);
        CHECK_FALSE(guarded_of(name));
        here.make(std::string(name) + "/file");
        here.make("sub/" + std::string(name) + "/file");
        CHECK(guarded_of(name));
    }
}

TEST_CASE("file_rules: of a repository, hooks and settings of submodules, and the hooks that its settings name") {
    fixture const here;
    for (auto const* file : {".git/HEAD", ".git/modules/libs/one/HEAD", ".git/modules/libs/one/modules/two/HEAD",
                             ".git/worktrees/w/commondir", "tools/hooks/pre-commit", "sub/.git/modules/m/HEAD"})
        here.make(file);
    std::ofstream(here.work / ".git/config") << "[core]\n\tbare = false\n\thooksPath = tools/hooks\n";
    auto const rules = here.rules({.deny_read = {}, .allow_write = {{"."}}});
    for (auto const* name : {".git/modules/libs/one/hooks", ".git/modules/libs/one/config",
                             ".git/modules/libs/one/modules/two/hooks", ".git/worktrees/w/commondir",
                             ".git/worktrees/w/config.worktree", "tools/hooks", "sub/.git/modules/m/config"}) {
        INFO(name);
        CHECK(guards(rules, here.work / name));
    }
    CHECK_FALSE(guards(rules, here.work / ".git/modules"));
    auto const open = here.rules({.deny_read = {}, .allow_write = {{"."}}, .allow_git_config = true});
    CHECK(guards(open, here.work / ".git/modules/libs/one/hooks"));
    CHECK_FALSE(guards(open, here.work / ".git/modules/libs/one/config"));
}

TEST_CASE("file_rules: a repository that is missing cannot be made, and one that is a file is guarded") {
    fixture const here;
    CHECK(holds(here.rules({.deny_read = {}, .allow_write = {{"."}}}).guarded,
                guarded_path{here.work / ".git", a_directory}));
    here.make(".git");
    CHECK(holds(here.rules({.deny_read = {}, .allow_write = {{"."}}}).guarded, guarded_path{here.work / ".git"}));
}

TEST_CASE("file_rules: a home that can be written to has more to guard") {
    fixture const here;
    auto const rules = here.rules({.deny_read = {}, .allow_write = {{"~"}}});
    CHECK(guards(rules, here.home / ".bashrc"));
    CHECK(guards(rules, here.home / ".ipython"));
    CHECK(guards(rules, here.home / ".local"));
    CHECK_FALSE(guards(rules, here.work / ".ipython"));
}

TEST_CASE("file_rules: denyWrite closes files, missing ones, and writable directories") {
    fixture const here;
    for (auto const* file : {"config/x", "out/log", "a.lock"}) here.make(file);
    auto const rules =
        here.rules({.deny_read = {{"closed"}},
                    .allow_write = {{"."}, {"config/x"}},
                    .deny_write = {{"config"}, {"*.lock"}, {"new/deep/file"}, {"dir/"}, {"../elsewhere"}}});
    CHECK(rules.writable == paths{here.work});
    CHECK(guards(rules, here.work / "config"));
    CHECK(guards(rules, here.work / "a.lock"));
    CHECK(holds(rules.guarded, guarded_path{here.work / "new", a_directory}));
    CHECK(holds(rules.guarded, guarded_path{here.work / "dir", a_directory}));
    CHECK_FALSE(guards(rules, here.home / "elsewhere"));
    CHECK(here.rules({.deny_read = {}, .allow_write = {{"."}}, .deny_write = {{"."}}}).writable.empty());
}

TEST_CASE("file_rules: hard links and links in the place of guarded files are told") {
    fixture const here;
    here.make(".env");
    here.make("hooks/x");
    fs::create_hard_link(here.work / ".env", here.work / "copy");
    fs::create_directories(here.work / ".git");
    fs::create_directory_symlink("../hooks", here.work / ".git/hooks");
    fs::create_symlink("nowhere", here.work / ".bashrc");
    auto const rules = here.rules({.deny_read = {{".env"}}, .allow_write = {{"."}}});
    CHECK(notes(rules, "/.env has further names (hard links)"));
    CHECK(notes(rules, "/.git/hooks is a link in a writable directory"));
    CHECK(notes(rules, "/.bashrc is a link that leads nowhere"));
    CHECK(guards(rules, here.work / "hooks"));
}

TEST_CASE("file_rules: a path that the system would cut off is refused") {
    fixture const here;
    for (auto const& bad : {std::string("a\0b", 3), std::string()}) {
        auto const made = here.try_rules({.deny_read = {}, .allow_write = {{bad}}});
        REQUIRE_FALSE(made);
        CHECK(made.error() == ipybox::errc::invalid_argument);
    }
}

TEST_CASE("file_rules: closing everything, or the working directory itself, is refused") {
    fixture const here;
    auto const refused = [&](std::string const& path) {
        auto const made = here.try_rules({.deny_read = {{path}}, .allow_write = {{"."}}});
        return made ? "" : made.error().text();
    };
    CHECK(refused(".").find("denyRead closes " + here.work.string() + ", the working directory itself") == 0);
    CHECK(refused("/").find("denyRead closes /; name what lies in it") == 0);
    CHECK(refused("..").empty());
    CHECK(refused("x**").find("** stands for directories") != std::string::npos);
}

TEST_CASE("file_rules: control groups are not opened, by which code would leave its limits") {
    fixture const here;
    auto const own = ipybox::os::find_own_cgroup();
    if (!own) return ipybox::test::skip("there is no hierarchy of control groups");
    auto const made = here.try_rules({.deny_read = {}, .allow_write = {{"."}, {own->group.string()}}});
    REQUIRE_FALSE(made);
    CHECK(made.error() == ipybox::errc::invalid_argument);
    CHECK(made.error().text() == "the allowWrite path " + own->group.string() +
                                     " belongs to control groups, by which code would leave its limits; leave it out");
}

TEST_CASE("file_rules: without a home, paths that begin with it mean nothing") {
    fixture const here;
    auto const rules = file_rules_of({.deny_read = {{"~/.ssh"}, {"~/*.pem"}}, .allow_write = {{"."}}}, 3,
                                     {.working_dir = here.work, .home = {}});
    REQUIRE(rules);
    CHECK(rules->unreadable.empty());
    CHECK(notes(*rules, "HOME is not set"));
}

TEST_CASE("file_rules: of what a launch has closed, that which is missing is guarded where code could make it") {
    fixture const here;
    here.make("there");
    file_scene scene{.working_dir = here.work, .home = here.home};
    scene.placeholders = {{here.work / "held"}};
    scene.closed = {here.work / "there", here.work / "file", here.work / "lib/",
                    here.work / "a/b/c", here.work / "held", here.home / "elsewhere"};
    auto const rules = file_rules_of(sandbox_config().filesystem, 3, scene);
    REQUIRE(rules);
    CHECK(holds(rules->guarded, guarded_path{here.work / "file"}));
    CHECK(holds(rules->guarded, guarded_path{here.work / "lib", a_directory}));
    CHECK(holds(rules->guarded, guarded_path{here.work / "a", a_directory}));
    CHECK(holds(rules->guarded, guarded_path{here.work / "held"})); // of another sandbox, which may end before
    CHECK_FALSE(guards(*rules, here.work / "there"));
    CHECK_FALSE(guards(*rules, here.home / "elsewhere"));
}

TEST_CASE("file_rules: a link of a secret's name closes a file, and no directory") {
    fixture const here;
    here.make("a/there");
    here.make("b/there");
    here.make("real/password");
    fs::create_directory_symlink("..", here.work / "a/.env");      // would close the working directory
    fs::create_directory_symlink("../real", here.work / "b/.env"); // the work of others
    fs::create_symlink("real/password", here.work / ".env");
    auto const rules = here.rules(sandbox_config().filesystem);
    CHECK_FALSE(holds(rules.unreadable, here.work));
    CHECK_FALSE(holds(rules.unreadable, here.work / "real"));
    CHECK(holds(rules.unreadable, here.work / "real/password"));
}

TEST_CASE("file_rules: a secret that another sandbox stands in for is as good as missing") {
    fixture const here;
    here.make(".env");
    here.make("sub/.env");
    here.make("../.netrc");
    file_scene scene{.working_dir = here.work, .home = here.home};
    scene.placeholders = {{here.work / ".env"}, {here.work / "sub/.env"}, {here.home / ".netrc"}};
    auto const rules = file_rules_of(sandbox_config().filesystem, 3, scene);
    REQUIRE(rules);
    for (auto const& path : {here.work / ".env", here.work / "sub/.env"}) {
        CHECK(holds(rules->guarded, guarded_path{path})); // the other one may end before
        CHECK(holds(rules->unreadable_later, path));
        CHECK_FALSE(holds(rules->unreadable, path));
    }
    CHECK_FALSE(guards(*rules, here.home / ".netrc")); // code cannot make it
    CHECK_FALSE(holds(rules->unreadable, here.home / ".netrc"));
    CHECK(holds(rules->absent, here.home / ".netrc"));
}

TEST_CASE("file_rules: with more files than can be closed one by one, their directory is closed and told") {
    fixture const here;
    for (int i = 0; i < 800; ++i) here.make("many/d" + std::to_string(i) + "/.npmrc");
    here.make("few/.npmrc");
    here.make(".npmrc");
    auto const rules = here.rules({.deny_read = {}, .allow_write = {{"."}}});
    CHECK(holds(rules.guarded, guarded_path{here.work / "many", a_directory}));
    for (auto const* name : {"few/.npmrc", ".npmrc"}) CHECK(guards(rules, here.work / name));
    CHECK_FALSE(guards(rules, here.work / "many/d0/.npmrc"));
    CHECK_FALSE(guards(rules, here.work));
    CHECK(notes(rules, (here.work / "many").string() + " is read-only: more files"));
}

TEST_CASE("file_rules: files directly in the working directory's directories stay open beyond what can be closed") {
    fixture const here;
    for (int i = 0; i < 1500; ++i) here.make("d" + std::to_string(i) + "/.env");
    auto const rules = here.rules({.deny_read = {{"**/.env"}}, .allow_write = {{"."}}});
    CHECK(rules.unreadable.size() == ipybox::detail::most_found_mounts);
    CHECK(notes(rules, "900 files stay open, as no more can be closed"));
}

TEST_CASE("file_rules: so many paths are opened again, and not one more") {
    fixture const here;
    for (std::size_t i = 0; i < ipybox::detail::most_allowed_again; ++i) here.make("open" + std::to_string(i));
    sandbox_config::file_access const files{.deny_read = {}, .allow_read = {{"open*"}}, .allow_write = {}};
    CHECK(here.rules(files).readable.size() == ipybox::detail::most_allowed_again);
    here.make("open-more");
    CHECK(here.rules(files).readable.size() == ipybox::detail::most_allowed_again);
}

TEST_CASE("file_rules: what must not be read and is missing is guarded where code could make it") {
    fixture const here;
    auto const rules =
        here.rules({.deny_read = {{"secret"}, {"keys/"}, {"~/.ssh/"}, {"*.pem"}}, .allow_write = {{"."}}});
    CHECK(holds(rules.guarded, guarded_path{here.work / "secret"}));
    CHECK(holds(rules.guarded, guarded_path{here.work / "keys", a_directory}));
    CHECK(rules.unreadable_later == paths{here.work / "secret", here.work / "keys"});
    CHECK(rules.absent == paths{here.home / ".ssh"});
    auto const of_home = here.rules({.deny_read = sandbox_config().filesystem.deny_read, .allow_write = {{"~"}}});
    for (auto const* name : {".ssh", ".aws", ".kube", ".docker"})
        CHECK(holds(of_home.guarded, guarded_path{here.home / name, a_directory}));
    CHECK(holds(of_home.guarded, guarded_path{here.home / ".git-credentials"}));
    CHECK_FALSE(guards(here.rules(sandbox_config().filesystem), here.work / ".env")); // only those that exist
}
