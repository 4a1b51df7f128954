#include <ipybox/app/kept_servers.hpp>
#include <ipybox/os/code_reach.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scratch_dir.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <string>

using namespace ipybox;
using nlohmann::ordered_json;

namespace {

kept_servers opened(test::scratch_dir const& dir, std::string const& workspace = "work") {
    auto kept = kept_servers::open(dir.path() / "state/ipybox/servers", dir.path() / workspace);
    REQUIRE(kept);
    return *kept;
}

unsigned mode_of(std::filesystem::path const& path) {
    struct ::stat about{};
    REQUIRE(::stat(path.c_str(), &about) == 0);
    return about.st_mode & 0777;
}

} // namespace

TEST_CASE("kept_servers: the directory is that of the user's state") {
    using environment = os::host_environment::environment;
    CHECK(kept_servers::directory({environment{{"XDG_STATE_HOME", "/s"}, {"HOME", "/h"}}, "/"}) == "/s/ipybox/servers");
    CHECK(kept_servers::directory({environment{{"XDG_STATE_HOME", "relative"}, {"HOME", "/h"}}, "/"}) ==
          "/h/.local/state/ipybox/servers");
    CHECK(kept_servers::directory({environment{{"HOME", "/h"}}, "/"}) == "/h/.local/state/ipybox/servers");
}

TEST_CASE("kept_servers: what is kept is there in the next run, as it was written, for its owner alone") {
    test::scratch_dir const dir;
    std::filesystem::create_directory(dir.path() / "work");
    ordered_json const entry{{"command", "server"}, {"env", {{"TOKEN", "${MY_TOKEN}"}}}};
    auto first = opened(dir);
    CHECK(first.all().empty());
    REQUIRE(first.keep("a", {entry, true, {}}));
    REQUIRE(first.keep("b", {entry, false, {}}));
    CHECK(mode_of(first.file()) == 0600);
    CHECK(mode_of(first.file().parent_path()) == 0700);

    std::filesystem::create_directory_symlink("work", dir.path() / "link");
    auto again = opened(dir, "link");
    REQUIRE(again.all().size() == 2);
    CHECK(again.all().at("a").entry == entry);
    CHECK(again.all().at("a").always);
    CHECK_FALSE(again.all().at("b").always);
    CHECK(opened(dir, "other").all().empty());

    REQUIRE(again.keep("c", {entry, false, {}}));
    REQUIRE(first.keep("d", {entry, false, {}})); // knows what the other one did
    CHECK(opened(dir).all().size() == 4);
}

TEST_CASE("kept_servers: files of servers are recognised in the next run") {
    test::scratch_dir const dir;
    auto const script = std::filesystem::canonical(dir.write("server.py", "print()"));
    os::code_reach const reach({script.parent_path()});
    auto const files = mcp::detail::file_memory::of({{script}, {}, {}}, reach);
    REQUIRE_FALSE(files.empty());
    REQUIRE(opened(dir).keep("a", {ordered_json::object(), true, files}));
    CHECK(opened(dir).all().at("a").files == files);
}

TEST_CASE("kept_servers: a file that is none of ours is left alone, and named") {
    test::scratch_dir const dir;
    auto const file = opened(dir).file();
    for (auto const* text : {"", "{", "[]", "{}", R"({"servers": []})", R"({"servers": {"a": {}}})",
                             R"({"servers": {"a": {"entry": {}, "files": "odd"}}})"}) {
        dir.write(std::filesystem::relative(file, dir.path()), text);
        auto const kept = kept_servers::open(file.parent_path(), dir.path() / "work");
        REQUIRE_FALSE(kept);
        CHECK(test::contains(kept.error().text(), file.string()));
    }
}

TEST_CASE("kept_servers: so many, and one more") {
    test::scratch_dir const dir;
    auto kept = opened(dir);
    for (std::size_t i = 0; i < kept_servers::most; ++i)
        REQUIRE(kept.keep("s" + std::to_string(i), {ordered_json::object(), false, {}}));
    auto const refused = kept.keep("more", {ordered_json::object(), false, {}});
    REQUIRE_FALSE(refused);
    CHECK(test::contains(refused.error().text(), "100 MCP servers are kept"));
    CHECK(kept.keep("s1", {ordered_json::object(), true, {}}));
}
