#include <ipybox/http/file_token_store.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scratch_dir.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

using namespace ipybox::http;
using ipybox::errc;
using ipybox::test::contains;
using ipybox::test::scratch_dir;

namespace {

std::string const server = "https://host/mcp";

oauth_grant grant_of(std::string const& issuer, std::string const& access) {
    oauth_grant made;
    made.issuer = issuer;
    made.tokens = oauth_tokens();
    made.tokens->access = access;
    return made;
}

unsigned permissions_of(fs::path const& path) {
    struct ::stat about{};
    REQUIRE(::lstat(path.c_str(), &about) == 0);
    return about.st_mode & 07777;
}

std::string text_of(fs::path const& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST_CASE("file_token_store: grants are kept, the last one first") {
    scratch_dir const scratch;
    auto const place = scratch.path() / "a" / "tokens";
    file_token_store store(place);
    REQUIRE(store.load(server));
    CHECK(store.load(server)->empty());
    CHECK_FALSE(fs::exists(place));
    REQUIRE(store.save(server, grant_of("https://a", "1")));
    REQUIRE(store.save(server, grant_of("https://b", "2")));
    REQUIRE(store.save(server, grant_of("https://a", "3")));
    REQUIRE(store.save("https://host/other", grant_of("https://a", "4")));
    auto const kept = file_token_store(place).load(server);
    REQUIRE(kept);
    CHECK(*kept == std::vector<oauth_grant>{grant_of("https://a", "3"), grant_of("https://b", "2")});
    CHECK(permissions_of(place) == 0700);
    CHECK(permissions_of(store.file_of(server)) == 0600);
    CHECK(std::distance(fs::directory_iterator(place), {}) == 2);
    REQUIRE(store.remove(server));
    REQUIRE(store.remove(server));
    CHECK(store.load(server)->empty());
    CHECK(store.load("https://host/other")->size() == 1);
    CHECK(store.file_of("https://host/../../etc/x").parent_path() == place);
    CHECK(store.file_of("no address/..").parent_path() == place);
}

TEST_CASE("file_token_store: a broken file is not overwritten") {
    scratch_dir const scratch;
    fs::permissions(scratch.path(), fs::perms::owner_all);
    file_token_store store(scratch.path());
    scratch.write(store.file_of(server).filename(), "{ secret");
    ::chmod(store.file_of(server).c_str(), 0600);
    auto const loaded = store.load(server);
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error() == errc::invalid_argument);
    CHECK(contains(loaded.error().text(), "does not hold tokens in JSON: repair it, or remove it and sign in again"));
    CHECK(loaded.error().text().find("secret") == std::string::npos);
    CHECK_FALSE(store.save(server, grant_of("https://a", "1")));
    CHECK(text_of(store.file_of(server)) == "{ secret");
    REQUIRE(store.remove(server));
    CHECK(store.save(server, grant_of("https://a", "1")));
}

TEST_CASE("file_token_store: links and places of others") {
    scratch_dir const scratch;
    auto const real = scratch.path() / "real";
    fs::create_directory(real);
    ::chmod(real.c_str(), 0700);
    fs::create_directory_symlink(real, scratch.path() / "link");
    file_token_store linked(scratch.path() / "link");
    CHECK_FALSE(linked.load(server));
    auto const saved = linked.save(server, grant_of("https://a", "1"));
    REQUIRE_FALSE(saved);
    CHECK(contains(saved.error().text(), "is a symbolic link"));
    CHECK_FALSE(linked.try_lock(server));
    CHECK(fs::is_empty(real));

    file_token_store store(real);
    scratch.write("victim", "content");
    fs::create_symlink(scratch.path() / "victim", store.file_of(server));
    CHECK_FALSE(store.load(server));
    CHECK_FALSE(store.save(server, grant_of("https://a", "1")));
    CHECK(text_of(scratch.path() / "victim") == "content");
    fs::remove(store.file_of(server));
    fs::create_symlink(scratch.path() / "victim", store.file_of(server).string() + ".lock");
    CHECK_FALSE(store.try_lock(server));

    REQUIRE(::mkfifo(store.file_of(server).c_str(), 0600) == 0);
    CHECK(contains(store.load(server).error().text(), "is not a regular file"));
    fs::remove(store.file_of(server));

    REQUIRE(store.save(server, grant_of("https://a", "1")));
    ::chmod(store.file_of(server).c_str(), 0644);
    CHECK(contains(store.load(server).error().text(), "is open to other users: run chmod 600 on it"));
    ::chmod(store.file_of(server).c_str(), 0600);
    CHECK(store.load(server));
    ::chmod(real.c_str(), 0755);
    CHECK(contains(store.load(server).error().text(), "is open to other users: run chmod 700 on it"));
}

TEST_CASE("file_token_store: the claim of a renewal") {
    scratch_dir const scratch;
    auto const place = scratch.path() / "tokens";
    file_token_store one(place);
    file_token_store two(place);
    auto claim = one.try_lock(server).value();
    REQUIRE(claim);
    CHECK_FALSE(two.try_lock(server).value());
    CHECK(two.try_lock("https://other/").value());
    REQUIRE(two.save(server, grant_of("https://a", "1"))); // is not held up
    claim.reset();
    CHECK(two.try_lock(server).value());
}

TEST_CASE("file_token_store: processes and threads that save at once") {
    scratch_dir const scratch;
    auto const place = scratch.path() / "tokens";
    constexpr int writers = 4;
    constexpr int rounds = 10;
    std::vector<::pid_t> children;
    for (int number = 0; number < writers; ++number) {
        auto const child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            file_token_store store(place);
            bool is_well = true;
            for (int round = 0; round < rounds; ++round)
                is_well =
                    is_well && store.save(server, grant_of("https://" + std::to_string(number), std::to_string(round)));
            ::_exit(is_well ? 0 : 1);
        }
        children.push_back(child);
    }
    for (auto const child : children) {
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    auto const kept = file_token_store(place).load(server);
    REQUIRE(kept);
    CHECK(kept->size() == writers);
    for (auto const& each : *kept) CHECK(each.tokens->access == std::to_string(rounds - 1));
    CHECK(std::distance(fs::directory_iterator(place), {}) == 1);
}
