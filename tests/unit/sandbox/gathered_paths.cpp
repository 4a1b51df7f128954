#include <ipybox/sandbox/gathered_paths.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using ipybox::detail::gather_paths;
using ipybox::detail::path_to_close;
namespace fs = std::filesystem;

std::vector<path_to_close> in_directories(int directories, int files) {
    std::vector<path_to_close> all;
    for (int i = 0; i < directories; ++i)
        for (int j = 0; j < files; ++j)
            all.push_back({fs::path("/w") / ("d" + std::to_string(i)) / std::to_string(j) / "x", "/w"});
    return all;
}

bool holds(std::vector<path_to_close> const& all, fs::path const& path) {
    return std::ranges::find(all, path, &path_to_close::path) != all.end();
}

} // namespace

TEST_CASE("gathered_paths: paths that can be mounted stay as they are, and not one more") {
    auto found = in_directories(2, 10); // ten files, as many directories, and the one that they lie in, twice
    CHECK(gather_paths(found, {}, 42).single.size() == 20);
    CHECK(gather_paths(found, {}, 42).whole.empty());
    auto const gathered = gather_paths(found, {}, 41);
    CHECK(gathered.whole.size() == 1);
    CHECK(gathered.single.size() == 10);
    CHECK(gathered.left_out.empty());
}

TEST_CASE("gathered_paths: the directory with the most is closed as a whole") {
    auto found = in_directories(3, 2);
    auto const more = in_directories(1, 30);
    found.insert(found.end(), more.begin(), more.end());
    auto const gathered = gather_paths(found, {}, 40);
    REQUIRE(gathered.whole.size() == 1);
    CHECK(gathered.whole.front().path == "/w/d0");
    CHECK(gathered.single.size() == 4);
}

TEST_CASE("gathered_paths: one around a directory that is kept is not closed, and nothing fails") {
    auto const gathered = gather_paths(in_directories(1, 30), {"/w/d0/in"}, 10);
    CHECK(gathered.whole.empty());
    CHECK(gathered.single.size() == 3); // each with the two directories on the way
    CHECK(gathered.left_out.size() == 27);
}

TEST_CASE("gathered_paths: beyond what can be closed as a whole, the rest is left out") {
    auto const gathered = gather_paths(in_directories(100, 1), {}, 40);
    CHECK(gathered.whole.size() + 2 * gathered.single.size() <= 40);
    CHECK(gathered.whole.size() + gathered.single.size() + gathered.left_out.size() == 100);
}

TEST_CASE("gathered_paths: reading and writing are closed apart, and what lies in the root stays single") {
    auto found = in_directories(1, 20);
    found.push_back({"/w/.npmrc", "/w"});
    found.push_back({"/w/d0/0/.env", "/w", path_to_close::right::read});
    auto const gathered = gather_paths(found, {}, 8);
    REQUIRE(gathered.whole.size() == 1);
    CHECK(gathered.whole.front().closed == path_to_close::right::write);
    CHECK(holds(gathered.single, "/w/.npmrc"));
    CHECK(holds(gathered.single, "/w/d0/0/.env"));
}
