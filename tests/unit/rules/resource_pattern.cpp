#include <ipybox/rules/approval_rules.hpp>
#include <ipybox/rules/grant.hpp>
#include <ipybox/rules/subject_json.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace {

using ipybox::approval_rules;
using ipybox::approval_subject;

approval_subject resource(std::string uri, std::string server = "docs") {
    return {.kind = approval_subject::action::resource, .server = std::move(server), .uri = std::move(uri)};
}

approval_subject prompt(std::string name, std::string server = "docs") {
    return {.kind = approval_subject::action::prompt, .server = std::move(server), .prompt = std::move(name)};
}

/// "allow", "deny", "ask" by a rule, or "none".
std::string ruled(std::string const& rules, approval_subject const& subject) {
    auto const read = approval_rules::parse(rules);
    if (!read) FAIL(read.error().text());
    auto const found = read->judge(subject);
    if (found.rule.empty()) return "none";
    return found.effect == approval_rules::effect::allow ? "allow"
           : found.effect == approval_rules::effect::ask ? "ask"
                                                         : "deny";
}

} // namespace

TEST_CASE("resource_pattern: rules by server and URI") {
    auto const rules = R"({"allow": [{"kind": "resource", "server": "docs", "uri": "file:///data/*"}],
                           "deny": [{"kind": "resource", "server": "docs", "uri": "file:///data/secret*"}]})";
    CHECK(ruled(rules, resource("file:///data/a.txt")) == "allow");
    CHECK(ruled(rules, resource("file:///data/a.txt", "other")) == "none");
    CHECK(ruled(rules, resource("file:///etc/passwd")) == "none");
    CHECK(ruled(rules, resource("file:///data/secret.txt")) == "deny");
    CHECK(ruled(rules, resource("")) == "none");
    CHECK(ruled(rules, prompt("file:///data/a.txt")) == "none");
    CHECK(ruled(R"({"allow": [{"kind": "resource", "server": "docs"}]})", resource("")) == "allow");
    CHECK(ruled(R"({"allow": [{"kind": "resource", "uri": ""}]})", resource("")) == "allow");
    CHECK(ruled(R"({"allow": [{"kind": "resource", "uri": ""}]})", resource("x")) == "none");
    CHECK(ruled(R"({"deny": [{"kind": "resource"}]})", resource("x://%2e")) == "deny");
    CHECK(ruled(R"({"allow": [{"tool": "docs.*"}]})", resource("x://y")) == "none");
}

TEST_CASE("resource_pattern: a URI that can be written in another way is asked") {
    auto const allow = R"({"allow": [{"kind": "resource", "uri": "file:///data/*"}]})";
    for (auto const* const uri : {"file:///data/../etc/passwd", "file:///data/%2e%2e/etc/passwd", "file:///data/a%20b",
                                  "file:///data/./a", "file:///data/\\..\\a"})
        CHECK(ruled(allow, resource(uri)) == "none");
    auto const deny = R"({"deny": [{"kind": "resource", "uri": "file:///secret*"}]})";
    for (auto const* const uri : {"FILE:///secret", "file:///%73ecret", "file:///a/../secret", "file:///Secret"})
        CHECK(ruled(deny, resource(uri)) == "ask");
    CHECK(ruled(deny, resource("file:///public")) == "none");
    CHECK(ruled(R"({"allow": [{"kind": "resource", "uri": "file:///a%20b"}]})", resource("file:///a%20b")) == "allow");
}

TEST_CASE("prompt_pattern: rules by server and name") {
    auto const rules = R"({"allow": [{"kind": "prompt", "server": "docs", "prompt": "weather*"}],
                           "ask": [{"kind": "prompt", "prompt": "weather_in"}]})";
    CHECK(ruled(rules, prompt("weather")) == "allow");
    CHECK(ruled(rules, prompt("weather_in")) == "ask");
    CHECK(ruled(rules, prompt("")) == "none");
    CHECK(ruled(rules, prompt("weather", "other")) == "none");
    CHECK(ruled(rules, resource("weather")) == "none");
    CHECK(approval_rules::parse(R"({"allow": [{"kind": "prompt", "uri": "x"}]})").error() ==
          ipybox::errc::invalid_argument);
}

TEST_CASE("resources and prompts as JSON, and granted exactly") {
    auto asked = prompt("weather");
    asked.arguments = std::make_shared<nlohmann::ordered_json const>(nlohmann::ordered_json{{"city", "Kiel"}});
    for (auto const& subject : {asked, resource("file:///a"), resource("")}) {
        auto const text = ipybox::detail::subject_to_json(subject);
        auto const read = ipybox::detail::subject_from_json(nlohmann::json(text), "action");
        REQUIRE(read);
        CHECK(ipybox::detail::same_action(*read, subject));
        auto const granted = ipybox::grant::exactly(subject);
        CHECK(granted.covers(subject));
        CHECK(granted.is_about_server("docs"));
        CHECK_FALSE(granted.is_about_server("other"));
        CHECK_FALSE(granted.covers(resource("file:///b")));
        CHECK_FALSE(granted.covers(prompt("weather", "other")));
    }
}
