#include <ipybox/sandbox/path_pattern.hpp>
#include <ipybox/sandbox/path_search.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

using ipybox::detail::find_paths;
using ipybox::detail::found_path;
using ipybox::detail::path_pattern;
using ipybox::detail::pattern_part;
using ipybox::detail::pattern_reach;
using ipybox::test::scratch_dir;
namespace fs = std::filesystem;

bool fits(std::string const& pattern, std::string_view name) {
    return pattern_part{pattern_part::kind::wildcard, pattern}.matches(name);
}

path_pattern pattern_of(fs::path const& base, std::string_view text, pattern_reach reach = {}) {
    auto pattern = path_pattern::parse(base, text, reach);
    INFO((pattern ? std::string() : pattern.error().text()));
    REQUIRE(pattern);
    return *pattern;
}

std::string refusal(std::string_view text) {
    auto const pattern = path_pattern::parse("/base", text);
    return pattern ? "" : pattern.error().text();
}

void make(fs::path const& file) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "text";
}

/// What fits a pattern in a directory, relative to it.
std::set<std::string> found(fs::path const& in, std::string_view text, pattern_reach reach = {}) {
    auto const hits = find_paths({pattern_of(in, text, reach)}, 10'000);
    REQUIRE(hits);
    std::set<std::string> all;
    for (auto const& [path, pattern] : hits->found) all.insert(path.lexically_relative(in).string());
    return all;
}

using names = std::set<std::string>;

} // namespace

TEST_CASE("path_pattern: wildcards of a name") {
    CHECK(fits("*.pem", "key.pem"));
    CHECK(fits("*.pem", ".pem"));
    CHECK_FALSE(fits("*.pem", "key.pem.txt"));
    CHECK(fits("a*b*c", "aXbXbXc"));
    CHECK_FALSE(fits("a*b*c", "aXbX"));
    CHECK(fits("?", "x"));
    CHECK_FALSE(fits("?", ""));
    CHECK(fits("[ab]x", "bx"));
    CHECK_FALSE(fits("[ab]x", "cx"));
    CHECK(fits("[a-c]", "b"));
    CHECK_FALSE(fits("[a-c]", "-"));
    CHECK(fits("[a-]", "-"));
    CHECK(fits("[!a]", "!")); // sets are not negated
    CHECK(fits("[^a]", "a"));
    CHECK(fits("[user-id]", "[user-id]")); // r-i runs backwards: no set
    CHECK(fits("[]*", "[]x"));
    CHECK(fits("*[", "x["));
    std::string const stars(30, '*');
    CHECK_FALSE(fits(stars + "x", std::string(2000, 'a'))); // without going back to each of them
}

TEST_CASE("path_pattern: a pattern begins where its first wildcard is") {
    CHECK(path_pattern::has_wildcards("**/.env"));
    CHECK(path_pattern::has_wildcards("a[bc]"));
    CHECK_FALSE(path_pattern::has_wildcards("a[b"));
    CHECK_FALSE(path_pattern::has_wildcards("a]b[]"));
    CHECK(pattern_of("/base", "a/./b/*.pem").root() == "/base/a/b");
    CHECK(pattern_of("/base/x", "../*.pem").root() == "/base");
    CHECK(pattern_of("/base", "/etc/*.pem").root() == "/etc");
    CHECK(pattern_of("/base*", "**/**/.env/**").root() == "/base*");
    CHECK(pattern_of("/base", "**/**/.env/**").parts().size() == 2);
}

TEST_CASE("path_pattern: what cannot be searched for is refused with a sentence") {
    CHECK(refusal("a**b/c").find("** stands for directories") != std::string::npos);
    CHECK(refusal("/*/x").find("a directory is wanted in front of the first wildcard") != std::string::npos);
    CHECK(refusal("**/../x").find(".. cannot stand behind a wildcard") != std::string::npos);
    CHECK(refusal("a/b").find("no wildcard") != std::string::npos);
}

TEST_CASE("path_search: finds what fits, at any depth where ** says so") {
    scratch_dir const dir;
    auto const at = dir.path();
    for (auto const* file :
         {".env", "a/.env", "a/b/.env", "a/b/.envx", "k1.pem", "a/k2.pem", "a/x.txt", "c/x/deep.pem"})
        make(at / file);
    CHECK(found(at, "**/.env") == names{".env", "a/.env", "a/b/.env"});
    CHECK(found(at, "*.pem") == names{"k1.pem"});
    CHECK(found(at, "?/*.pem") == names{"a/k2.pem"});
    CHECK(found(at, "a/**/.env") == names{"a/.env", "a/b/.env"});
    CHECK(found(at, "**/b/.env*") == names{"a/b/.env", "a/b/.envx"});
    CHECK(found(at, "**/b/**") == names{"a/b"});
    CHECK(found(at, "[ac]/*/deep.pem") == names{"c/x/deep.pem"});
    CHECK(found(at, "**/none").empty());
    CHECK(found(at / "none", "**/.env").empty());
}

TEST_CASE("path_search: ** follows no links, a name does") {
    scratch_dir const dir;
    auto const at = dir.path() / "at";
    make(dir.path() / "outside/.env");
    fs::create_directories(at / "up");
    fs::create_directory_symlink("../outside", at / "link");
    fs::create_directory_symlink("..", at / "up/loop");
    CHECK(found(at, "**/.env").empty());
    CHECK(found(at, "l*/.env") == names{"link/.env"});
}

TEST_CASE("path_search: its reach can be limited") {
    scratch_dir const dir;
    auto const at = dir.path();
    for (auto const* file : {"x", "a/x", "a/b/x", "a/b/c/x", "node_modules/x", ".git/x", ".git/hooks/y"})
        make(at / file);
    CHECK(found(at, "**/x", {3, false}) == names{"x", "a/x", "a/b/x"});
    CHECK(found(at, "**/.git/hooks", {3, false}) == names{".git/hooks"});
    CHECK(found(at, "**/x").contains("node_modules/x"));
}

TEST_CASE("path_search: several patterns are one walk, and what there is too much of is told") {
    scratch_dir const dir;
    for (int i = 0; i < 40; ++i) make(dir.path() / ("d" + std::to_string(i % 4)) / std::to_string(i));
    auto const twice = {pattern_of(dir.path(), "**/1"), pattern_of(dir.path(), "**/*1")};
    auto const within = find_paths(twice, 44);
    REQUIRE(within);
    CHECK(within->found.size() == 6); // 1 twice; d1, 11, 21, 31
    CHECK(within->not_read.empty());
    auto const beyond = find_paths(twice, 43);
    REQUIRE(beyond);
    CHECK(beyond->not_read.size() == 1);
    auto const none = find_paths(twice, 4); // the directories
    REQUIRE(none);
    CHECK(none->not_read.size() == 4);
    CHECK(std::ranges::count(none->found, dir.path() / "d1/1", &found_path::path) == 2); // by its name
}

TEST_CASE("path_search: in a directory of 100,000 files names are found, and those of the next one") {
    scratch_dir const dir;
    for (std::size_t i = 0; i <= ipybox::detail::most_names_in_directory; ++i)
        REQUIRE(::mknod((dir.path() / ("f" + std::to_string(i))).c_str(), S_IFREG | 0600, 0) == 0);
    make(dir.path() / "name");
    make(dir.path() / "below/name");
    auto const hits = find_paths({pattern_of(dir.path(), "**/name"), pattern_of(dir.path(), "below/name*")}, 1'000'000);
    REQUIRE(hits);
    CHECK(hits->not_read == std::vector<fs::path>{dir.path()});
    CHECK(std::ranges::count(hits->found, dir.path() / "name", &found_path::path) >= 1);
}

TEST_CASE("path_search: a directory that is deeper than any path reaches is passed over") {
    scratch_dir const dir;
    auto const name = std::string(250, 'd');
    auto below = ::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 20; ++i) {
        REQUIRE(::mkdirat(below, name.c_str(), 0700) == 0);
        auto const next = ::openat(below, name.c_str(), O_RDONLY | O_DIRECTORY);
        ::close(below);
        below = next;
    }
    ::close(below);
    CHECK(found(dir.path(), "**/name").empty());
    CHECK(std::system(("rm -rf '" + dir.path().string() + "/" + name + "'").c_str()) == 0);
}

TEST_CASE("path_search: a directory that may not be read counts as found") {
    if (::geteuid() == 0) return; // may read all; the run of an ordinary user shows it
    scratch_dir const dir;
    make(dir.path() / "closed/.env");
    REQUIRE(::chmod((dir.path() / "closed").c_str(), 0300) == 0);
    CHECK(found(dir.path(), "**/.env") == names{"closed"});
    REQUIRE(::chmod((dir.path() / "closed").c_str(), 0700) == 0);
}
