#include <ipybox/rules/approval_rules.hpp>
#include <ipybox/rules/server_pattern.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/subjects.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace {

using ipybox::approval_rules;
using ipybox::approval_subject;
using ipybox::test::contains;
using ipybox::test::server_subject;
using nlohmann::ordered_json;

/// What rules of the kind `server` say about a registration. \param rule members of the rule besides its kind
approval_rules::effect ruled(std::string const& list, std::string const& rule, approval_subject const& subject) {
    auto const read = approval_rules::parse("{\"" + list + "\": [{\"kind\": \"server\", " + rule + "}]}");
    if (!read) FAIL(read.error().text());
    return read->judge(subject).effect;
}

approval_subject of(std::string_view parameters) { return server_subject("fs", ordered_json::parse(parameters)); }

bool is_allowed(std::string const& rule, std::string_view parameters) {
    return ruled("allow", rule, of(parameters)) == approval_rules::effect::allow;
}

/// "deny", "ask" where it cannot be told, or "no".
std::string denied(std::string const& rule, std::string_view parameters) {
    auto const read = approval_rules::parse("{\"deny\": [{\"kind\": \"server\", " + rule + "}]}");
    if (!read) FAIL(read.error().text());
    auto const found = read->judge(of(parameters));
    return found.effect == approval_rules::effect::deny ? "deny" : found.rule.empty() ? "no" : "ask";
}

constexpr auto filesystem = R"("server": "fs", "argv": ["npx", "-y", "@modelcontextprotocol/server-filesystem", "**"])";

TEST_CASE("server_pattern: a rule that allows a command is about the words that are started") {
    CHECK(is_allowed(filesystem,
                     R"({"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/d"]})"));
    CHECK(is_allowed(filesystem, R"({"type": "stdio", "command": "npx", "timeout": 5,
                                     "args": ["-y", "@modelcontextprotocol/server-filesystem"]})"));
    CHECK_FALSE(is_allowed(filesystem, R"({"command": "npx", "args": ["-y", "evil"]})"));
    CHECK_FALSE(is_allowed(filesystem, R"({"command": "npx"})"));
    CHECK_FALSE(
        is_allowed(filesystem, R"({"command": "./npx", "args": ["-y", "@modelcontextprotocol/server-filesystem"]})"));
    CHECK_FALSE(is_allowed(filesystem, R"({"url": "https://example.org/mcp"})"));
    auto const named_otherwise = server_subject(
        "x", ordered_json::parse(R"({"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem"]})"));
    CHECK(ruled("allow", filesystem, named_otherwise) == approval_rules::effect::ask);
}

TEST_CASE("server_pattern: nothing else may have a say in what is allowed") {
    auto const rule = std::string(R"("argv": ["uvx", "mcp-server-time", "**"])");
    CHECK(is_allowed(rule, R"({"command": "uvx", "args": ["mcp-server-time"]})"));
    for (auto const* more : {R"("env": {"PATH": "/evil"})", R"("envFile": "x")", R"("cwd": "/evil")",
                             R"("sandbox": false)", R"("url": "https://x")"}) {
        INFO(more);
        CHECK_FALSE(is_allowed(rule, std::string(R"({"command": "uvx", "args": ["mcp-server-time"], )") + more + "}"));
    }
    CHECK_FALSE(is_allowed(rule, R"({"command": "uvx", "args": ["mcp-server-time", "${SECRET}"]})"));
    CHECK(is_allowed(rule + R"(, "env": ["TZ"])",
                     R"({"command": "uvx", "args": ["mcp-server-time"], "env": {"TZ": "${TZ}"}})"));
    CHECK_FALSE(is_allowed(rule + R"(, "env": ["TZ"])",
                           R"({"command": "uvx", "args": ["mcp-server-time"], "env": {"TZ": "", "UV_INDEX": ""}})"));
}

TEST_CASE("server_pattern: a directory has to be named, and is the one that is named") {
    auto const rule = R"("argv": ["./server"], "cwd": "/srv/tools")";
    CHECK(is_allowed(rule, R"({"command": "./server", "cwd": "/srv/tools"})"));
    CHECK_FALSE(is_allowed(rule, R"({"command": "./server"})"));
    CHECK_FALSE(is_allowed(rule, R"({"command": "./server", "cwd": "/srv/tools/../evil"})"));
    CHECK_FALSE(is_allowed(R"("argv": ["a"], "cwd": "/srv/*")", R"({"command": "a", "cwd": "/srv/${X}"})"));
    CHECK(denied(R"("cwd": "/tmp/*")", R"({"command": "a", "cwd": "/tmp/x"})") == "deny");
    CHECK(denied(R"("cwd": "/tmp/*")", R"({"command": "a", "cwd": "/srv"})") == "no");
    CHECK(denied(R"("cwd": "/tmp/*")", R"({"command": "a", "cwd": "${DIR}"})") == "ask");
    CHECK(denied(R"("cwd": "/tmp/*")", R"({"command": "a"})") == "ask");
}

TEST_CASE("server_pattern: a line that starts a server is allowed where every shell reads it alike") {
    auto const rule = R"("argv": ["echo", "**"])";
    auto const starts = [](std::string const& line) {
        return nlohmann::json{{"command", "bash"}, {"args", {"-c", line}}}.dump();
    };
    CHECK(is_allowed(rule, starts("echo 'a $b' && echo --x=y | echo c")));
    for (std::string const line : {"echo {PATH}>/dev/null; echo", "echo $x", "echo *.py", "echo \"a\"", "echo a\\b"})
        CHECK_FALSE(is_allowed(rule, starts(line)));
}

TEST_CASE("server_pattern: a rule that denies finds a program as those for commands do") {
    auto const rule = R"("argv": ["docker", "**"])";
    CHECK(denied(rule, R"({"command": "docker", "args": ["run", "x"]})") == "deny");
    CHECK(denied(rule, R"({"command": "/usr/bin/docker"})") == "deny");
    CHECK(denied(rule, R"({"command": "env", "args": ["A=b", "docker", "run"]})") == "deny");
    CHECK(denied(rule, R"({"command": "sh", "args": ["-c", "cd /x && docker run x"]})") == "deny");
    CHECK(denied(rule, R"({"command": "sh", "args": ["-c", "for i in 1; do x; done"]})") == "ask");
    CHECK(denied(rule, R"({"command": "${TOOL}", "args": ["run"]})") == "ask");
    CHECK(denied(rule, R"({"command": "mcp-time", "args": ["run", "docker"]})") == "no");
    CHECK(denied(rule, R"({"url": "https://docker/"})") == "no");
    CHECK(denied(R"("server": "x*", "argv": ["docker", "**"])", R"({"command": "docker"})") == "no");
}

TEST_CASE("server_pattern: URLs") {
    auto const rule = R"("url": "https://*.example.org/mcp")";
    CHECK(is_allowed(rule, R"({"url": "https://a.example.org/mcp"})"));
    CHECK_FALSE(is_allowed(rule, R"({"url": "https://a.example.org/mcp", "headers": {"Authorization": "${TOKEN}"}})"));
    CHECK_FALSE(is_allowed(rule, R"({"url": "https://${HOST}.example.org/mcp"})"));
    CHECK_FALSE(is_allowed(rule, R"({"command": "a"})"));
    CHECK(denied(rule, R"({"url": "https://a.example.org/mcp", "headers": {}})") == "deny");
    CHECK(denied(rule, R"({"httpUrl": "https://a.example.org/mcp"})") == "deny");
    CHECK(denied(rule, R"({"url": "https://${HOST}/mcp"})") == "ask");
    CHECK(denied(rule, R"({"url": "https://example.com/mcp"})") == "no");
    CHECK(denied(rule, R"({"command": "a"})") == "no");
}

TEST_CASE("server_pattern: a name alone is about whatever is registered under it") {
    CHECK(is_allowed(R"("server": "fs")", R"({"command": "anything", "envFile": "x"})"));
    CHECK(denied(R"("server": "fs")", R"({"url": "https://${X}"})") == "deny");
    CHECK(ruled("allow", R"("server": "fs")", {.kind = approval_subject::action::server, .server = "fs"}) ==
          approval_rules::effect::allow);
    CHECK(ruled("allow", filesystem, {.kind = approval_subject::action::server, .server = "fs"}) ==
          approval_rules::effect::ask);
}

TEST_CASE("server_pattern: rules that mean nothing are errors") {
    auto const error_of = [](std::string const& list, std::string const& rule) {
        auto const read = approval_rules::parse("{\"" + list + "\": [{\"kind\": \"server\", " + rule + "}]}");
        return read ? std::string() : read.error().text();
    };
    CHECK(contains(error_of("allow", R"("argv": ["*", "x"])"), "a rule that allows names its program"));
    CHECK(contains(error_of("allow", R"("cwd": "/x")"), "a rule that allows names its program"));
    CHECK(contains(error_of("allow", R"("argv": ["./x"])"), "name the directory"));
    CHECK(contains(error_of("deny", R"("argv": ["x"], "env": ["A"])"), "only a rule that allows has it"));
    CHECK(contains(error_of("deny", R"("argv": ["x"], "url": "y")"), "not both"));
    CHECK(contains(error_of("allow", R"("tool": "x")"), "tool"));
}

} // namespace
