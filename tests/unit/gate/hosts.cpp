#include <ipybox/approval/safe_text.hpp>
#include <ipybox/gate/approval_gate.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/rules/approval_rules.hpp>
#include <ipybox/rules/grant.hpp>
#include <ipybox/rules/subject_json.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace {

using namespace ipybox;

approval_subject host_subject(std::string_view host, std::uint16_t port = 443) {
    approval_subject subject;
    subject.id = 7;
    subject.kind = approval_subject::action::network;
    subject.host = host;
    subject.port = port;
    subject.protocol = "connect";
    return subject;
}

approval_rules::effect effect_on(std::string_view rules, approval_subject const& subject) {
    return approval_rules::parse(rules).value().judge(subject).effect;
}

std::string rule_problem(std::string_view rules) {
    auto const read = approval_rules::parse(rules, "rules.json");
    return read ? "" : read.error().text();
}

} // namespace

TEST_CASE("rules: hosts, what is below them, and their ports") {
    auto const* const rules = R"({"allow": [{"kind": "network", "host": "*.Example.org."},
                                            {"kind": "network", "host": "one.test", "port": 443}],
                                  "deny": [{"kind": "network", "host": "bad.example.org", "reason": "it is bad"}]})";
    CHECK(effect_on(rules, host_subject("a.example.org")) == approval_rules::effect::allow);
    CHECK(effect_on(rules, host_subject("a.example.org", 22)) == approval_rules::effect::allow);
    CHECK(effect_on(rules, host_subject("example.org")) == approval_rules::effect::ask);
    CHECK(effect_on(rules, host_subject("notexample.org")) == approval_rules::effect::ask);
    CHECK(effect_on(rules, host_subject("bad.example.org")) == approval_rules::effect::deny);
    CHECK(effect_on(rules, host_subject("one.test")) == approval_rules::effect::allow);
    CHECK(effect_on(rules, host_subject("one.test", 80)) == approval_rules::effect::ask);
    CHECK(effect_on(R"({"deny": [{"kind": "network"}]})", host_subject("any.test")) == approval_rules::effect::deny);
}

TEST_CASE("rules: a rule for another kind says nothing about hosts, and one for hosts nothing about others") {
    CHECK(effect_on(R"({"allow": [{"tool": "*.*"}, {"argv": ["ls", "**"]}]})", host_subject("a.test")) ==
          approval_rules::effect::ask);
    approval_subject call;
    call.server = "s";
    call.tool = "t";
    CHECK(effect_on(R"({"allow": [{"kind": "network"}]})", call) == approval_rules::effect::ask);
    CHECK(rule_problem(R"({"allow": [{"kind": "network", "port": 70000}]})") ==
          "rules.json/allow/0/port: a number from 1 to 65535 is wanted");
    CHECK_FALSE(rule_problem(R"({"allow": [{"kind": "network", "argv": ["a"]}]})").empty());
}

TEST_CASE("grant: hosts") {
    CHECK(grant::host("*.example.org", 443).covers(host_subject("a.example.org")));
    CHECK_FALSE(grant::host("*.example.org", 443).covers(host_subject("a.example.org", 80)));
    CHECK_FALSE(grant::host("*.example.org").covers(host_subject("example.org")));
    CHECK(grant::this_host(host_subject("a.test")).covers(host_subject("a.test", 80)));
    CHECK_FALSE(grant::this_host(host_subject("a.test")).covers(host_subject("b.test")));
    CHECK(grant::exactly(host_subject("a.test")).covers(host_subject("a.test")));
    CHECK_FALSE(grant::exactly(host_subject("a.test")).covers(host_subject("a.test", 80)));
    approval_subject call;
    CHECK_FALSE(grant::host("*").covers(call));
    auto const read = grant::from_json({{"host", "*.Example.org"}, {"port", 443}, {"uses", 2}});
    REQUIRE(read);
    CHECK(read->to_json() == nlohmann::json{{"host", "*.example.org"}, {"port", 443}, {"uses", 2}});
    CHECK_FALSE(grant::from_json({{"host", "a.test"}, {"port", 0}}));
}

TEST_CASE("a connection as JSON, and as people read it") {
    auto const subject = host_subject("a.test", 8443);
    auto const value = detail::subject_to_json(subject);
    CHECK(value.dump() == R"({"kind":"network","host":"a.test","port":8443,"protocol":"connect"})");
    CHECK(ipybox::detail::same_action(detail::subject_from_json(value, "").value(), subject));
    CHECK(safe_text::of(subject).text() == "network connection a.test port 8443 by connect");
    CHECK(safe_text::title(subject) == "network connection a.test");
    // No such host reaches a question; if one did, it could not pretend to be another.
    auto const hostile = safe_text::of(host_subject("good.test\n| [y]es \x1b[2J \xe2\x80\xae.moc")).text();
    CHECK(hostile.find('\n') == std::string::npos);
    CHECK(hostile.find('\x1b') == std::string::npos);
    CHECK(hostile.find("\\u202e") != std::string::npos);
}

TEST_CASE("approval_gate: what the sandbox's configuration decides is recorded, and a rule may deny it") {
    test::scratch_dir const dir;
    auto const file = dir.path() / "audit.jsonl";
    detail::approval_settings settings;
    settings.rules = approval_rules::parse(R"({"deny": [{"kind": "network", "host": "bad.test"}]})").value();
    settings.audit = audit_log::open({.file = file}).value();
    detail::approval_gate gate(settings);
    detail::verdict const allowed{decision::accept(), error::decider::sandbox, "*.test"};
    CHECK(gate.settle(host_subject("a.test"), allowed).accepted());
    auto const denied = gate.settle(host_subject("bad.test"), allowed);
    CHECK_FALSE(denied.accepted());
    CHECK(denied.by == error::decider::rule);
    detail::action_outcome how;
    how.sent = 12;
    how.received = 3456;
    REQUIRE(gate.finished(7, how));

    std::stringstream log;
    log << std::ifstream(file).rdbuf();
    CHECK(log.str().find(R"("kind":"network","host":"a.test","port":443,"protocol":"connect")") != std::string::npos);
    CHECK(log.str().find(R"("decision":"accept","by":"sandbox")") != std::string::npos);
    CHECK(log.str().find(R"("sent_bytes":12,"received_bytes":3456)") != std::string::npos);
}
