#include <support/catch.hpp>

#include <cli/run_options.hpp>

#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

namespace {

using namespace ipybox::cli;

auto read(std::initializer_list<char const*> words) {
    std::vector<char const*> line{"ipybox"};
    line.insert(line.end(), words);
    return read_command_line(static_cast<int>(line.size()), line.data());
}

run_options run_of(std::initializer_list<char const*> words) {
    auto const asked = read(words);
    REQUIRE(std::holds_alternative<run_options>(asked));
    return std::get<run_options>(asked);
}

} // namespace

TEST_CASE("Options about actions are off by default") {
    auto const options = run_of({"run", "-c", "1"});
    CHECK(options.sandbox == sandbox_choice::bubblewrap);
    CHECK(options.mcp_config.empty());
    CHECK(options.rules.empty());
    CHECK(options.audit_log.empty());
    CHECK_FALSE(options.approve_shell_cmds);
    CHECK_FALSE(options.require_shell_escape);
    CHECK(options.calls_per_cell == 10'000);
}

TEST_CASE("Who decides is read, and its short forms") {
    CHECK(run_of({"run", "-c", "1", "--approve", "auto"}).approval == approval_choice::automatic);
    CHECK(run_of({"run", "-c", "1", "--yes"}).approval == approval_choice::automatic);
    CHECK(run_of({"run", "-c", "1", "--approve", "deny"}).approval == approval_choice::deny);
    CHECK(run_of({"run", "-c", "1", "--deny"}).approval == approval_choice::deny);
    CHECK(run_of({"run", "-c", "1", "--json", "--approve", "stdin"}).approval == approval_choice::lines);
    CHECK(run_of({"run", "-"}).approval == approval_choice::no_terminal);
}

TEST_CASE("Options about actions are read") {
    auto const options = run_of({"run", "-c", "1", "--mcp-config", "/dev/null", "--approve-shell-cmds",
                                 "--require-shell-escape", "--audit-log", "log.jsonl"});
    CHECK(options.mcp_config == "/dev/null");
    CHECK(options.audit_log == "log.jsonl");
    CHECK(options.approve_shell_cmds);
    CHECK(options.require_shell_escape);
}

TEST_CASE("apigen is read") {
    auto const asked = read({"apigen", "--server-name", "a", "--server-params", "{}", "--root-dir", "d", "--async"});
    REQUIRE(std::holds_alternative<apigen_options>(asked));
    auto const& options = std::get<apigen_options>(asked);
    CHECK(options.server_name == "a");
    CHECK(options.server_params == "{}");
    CHECK(options.root_dir == "d");
    CHECK(options.async);
    CHECK_FALSE(options.check);
}
