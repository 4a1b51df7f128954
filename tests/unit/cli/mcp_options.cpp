#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <cli/run_options.hpp>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

namespace {

using namespace ipybox::cli;
using ipybox::action_approval;
using ipybox::log_level;

/// What `ipybox WORD…` asks for, where that is a server.
mcp_options server_of(std::initializer_list<std::string> words) {
    std::vector<char const*> line{"ipybox"};
    for (auto const& word : words) line.push_back(word.c_str());
    auto const asked = read_command_line(static_cast<int>(line.size()), line.data());
    REQUIRE(std::holds_alternative<mcp_options>(asked));
    return std::get<mcp_options>(asked);
}

} // namespace

TEST_CASE("mcp: what counts without options") {
    ipybox::test::scratch_dir const here;
    auto const options = server_of({"mcp", "--workspace", here.path().string()});
    CHECK(options.working_dir == std::filesystem::canonical(here.path()));
    CHECK(options.images_dir == options.working_dir / "images");
    CHECK(options.sandbox == sandbox_choice::bubblewrap);
    CHECK(options.approval == action_approval::ask);
    CHECK(options.level == log_level::info);
    CHECK(options.asks_for_hosts);
    CHECK_FALSE(options.wait);
    CHECK_FALSE(options.has_old_options);
}

TEST_CASE("mcp: without the command, and with options of the Python package") {
    ipybox::test::scratch_dir const here;
    auto const workspace = (here.path() / "a/b").string();
    auto const options =
        server_of({"--workspace", workspace, "--sandbox", "--kernel-gateway-port", "1", "--log-level", "ERROR"});
    CHECK(std::filesystem::is_directory(workspace));
    CHECK(options.sandbox == sandbox_choice::bubblewrap);
    CHECK(options.has_old_options);
    CHECK(options.level == log_level::error);
}

TEST_CASE("mcp: sessions") {
    ipybox::test::scratch_dir const here;
    auto const workspace = here.path().string();
    auto const plain = server_of({"mcp", "--workspace", workspace});
    CHECK_FALSE(plain.sessions);
    CHECK(plain.sessions_dir.empty());
    CHECK_FALSE(std::filesystem::exists(here.path() / "sessions"));
    auto const several = server_of({"mcp", "--workspace", workspace, "--sessions"});
    REQUIRE(several.sessions);
    CHECK(several.sessions->idle == std::chrono::hours(1));
    CHECK(several.sessions->most == 16);
    CHECK(several.sessions_dir == several.working_dir / "sessions");
    CHECK(std::filesystem::is_directory(several.sessions_dir));
    auto const brief = server_of({"mcp", "--session-idle", "2.5", "--workspace", workspace, "--sessions"});
    CHECK(brief.sessions->idle == std::chrono::milliseconds(2500));
}

TEST_CASE("mcp: options are read") {
    ipybox::test::scratch_dir const here;
    auto const workspace = here.path().string();
    auto const rules = here.write("rules.json", "{}").string();
    CHECK(server_of({"mcp", "--workspace", workspace, "--approve", "auto"}).approval == action_approval::accept);
    CHECK(server_of({"mcp", "--workspace", workspace, "--approve", "deny"}).approval == action_approval::deny);
    auto const by_rules = server_of({"mcp", "--workspace", workspace, "--approve", rules});
    CHECK(by_rules.approval == action_approval::ask);
    CHECK(by_rules.rules == rules);
    auto const bare = server_of({"mcp", "--workspace", workspace, "--sandbox", "none", "--wait-seconds", "2.5"});
    CHECK(bare.sandbox == sandbox_choice::none);
    CHECK_FALSE(bare.asks_for_hosts);
    CHECK(bare.wait == std::chrono::milliseconds(2500));
    // Packages go into a private layer.
    CHECK(server_of({"mcp", "--workspace", workspace, "--package-index", "none"}).packages.index == "none");
}
