#include <ipybox/app/session_directory.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scratch_dir.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace ipybox;
using ipybox::test::contains;
using ipybox::test::scratch_dir;

std::vector<std::string> paths_of(std::vector<sandbox_config::path_entry> const& entries) {
    std::vector<std::string> paths;
    for (auto const& entry : entries) paths.push_back(entry.path);
    return paths;
}

TEST_CASE("session_directory: names") {
    for (auto const* name : {"a", "A-1_b", "0", "default"}) CHECK(check_session_name(name));
    CHECK(check_session_name(std::string(64, 'x')));
    for (auto const* name : {"", ".", "..", "a/b", "-a", "_a", "a b", "a.b", "\xC3\xA4"}) {
        INFO(name);
        CHECK_FALSE(check_session_name(name));
    }
    CHECK_FALSE(check_session_name(std::string(65, 'x')));
    CHECK_FALSE(check_session_name(std::string("a\0b", 3)));
}

TEST_CASE("session_directory: is made, and no link is followed") {
    scratch_dir const here;
    auto const made = make_session_directory(here.path(), "a");
    REQUIRE(made);
    CHECK(*made == here.path() / "sessions/a");
    CHECK(std::filesystem::is_directory(*made));
    CHECK(make_session_directory(here.path(), "a"));
    std::filesystem::create_directory_symlink("/tmp", here.path() / "sessions/b");
    auto const led_away = make_session_directory(here.path(), "b");
    REQUIRE_FALSE(led_away);
    CHECK(contains(led_away.error().text(), "is a symbolic link"));
}

TEST_CASE("session_directory: paths of a configuration begin at the workspace") {
    auto const config = sandbox_config::parse(R"({"filesystem": {
        "denyRead": [".env", "**/*.key", "/etc/x", "~/.ssh", "~"], "allowRead": ["a"],
        "allowWrite": [".", "./", "shared", "/data"], "denyWrite": ["shared/raw"]}})");
    REQUIRE(config);
    auto const files = config_for_sessions(*config).filesystem;
    CHECK(paths_of(files.deny_read) == std::vector<std::string>{"../.env", "../**/*.key", "/etc/x", "~/.ssh", "~"});
    CHECK(paths_of(files.allow_read) == std::vector<std::string>{"../a", ".."});
    CHECK(paths_of(files.allow_write) == std::vector<std::string>{".", "./", "../shared", "/data"});
    CHECK(paths_of(files.deny_write) == std::vector<std::string>{"../shared/raw"});
}

} // namespace
