#include <ipybox/gate/approval_machine.hpp>

#include <support/catch.hpp>
#include <support/subjects.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using ipybox::approval_rules;
using ipybox::approval_subject;
using ipybox::decision;
using ipybox::error;
using ipybox::grant;
using ipybox::detail::approval_machine;
using ipybox::detail::approval_settings;
using ipybox::detail::verdict;
using ipybox::test::tool_subject;
using nlohmann::json;

approval_machine::clock::time_point const began{};

approval_subject call_to(std::string tool, json arguments = json::object(), std::string cell = "c1") {
    return tool_subject("s", std::move(tool), std::move(arguments), std::move(cell));
}

approval_subject of_kind(approval_subject::action kind) {
    return {.kind = kind, .server = "s", .tool = "t", .argv = {"true"}, .cell_id = "c1"};
}

/// "accept switched_off", "reject rule", or "ask".
std::string words_of(std::optional<verdict> const& said) {
    if (!said) return "ask";
    return (said->accepted() ? "accept " : "reject ") + std::string(to_string(said->by));
}

std::string wanted(approval_machine& machine, approval_subject const& subject,
                   approval_machine::clock::time_point now = began) {
    return words_of(machine.on_action(subject, now));
}

verdict answered(approval_machine& machine, approval_subject const& subject, decision made,
                 error::decider by = error::decider::policy) {
    REQUIRE(wanted(machine, subject) == "ask");
    return machine.on_answer(subject, std::move(made), by, began);
}

approval_rules parsed_rules(char const* text) { return approval_rules::parse(text).value(); }

} // namespace

TEST_CASE("machine: without anything settled, everything is asked") {
    approval_machine machine({}, began);
    for (auto const kind :
         {approval_subject::action::tool, approval_subject::action::shell, approval_subject::action::shell_magic,
          approval_subject::action::package, approval_subject::action::server, approval_subject::action::resource,
          approval_subject::action::prompt})
        CHECK(wanted(machine, of_kind(kind)) == "ask");
}

TEST_CASE("W9: the switches are independent: packages are asked for while one of them is on, servers always") {
    auto const with = [](bool tools, bool commands, approval_subject::action kind) {
        approval_machine machine({.approve_tool_calls = tools, .approve_shell_cmds = commands}, began);
        return wanted(machine, of_kind(kind));
    };
    CHECK(with(false, true, approval_subject::action::tool) == "accept switched_off");
    CHECK(with(false, true, approval_subject::action::resource) == "accept switched_off");
    CHECK(with(false, true, approval_subject::action::prompt) == "accept switched_off");
    CHECK(with(true, false, approval_subject::action::resource) == "ask");
    CHECK(with(true, false, approval_subject::action::prompt) == "ask");
    CHECK(with(false, true, approval_subject::action::shell) == "ask");
    CHECK(with(false, true, approval_subject::action::shell_magic) == "ask");
    CHECK(with(true, false, approval_subject::action::tool) == "ask");
    CHECK(with(true, false, approval_subject::action::shell) == "accept switched_off");
    CHECK(with(true, false, approval_subject::action::shell_magic) == "accept switched_off");
    CHECK(with(true, false, approval_subject::action::package) == "ask");
    CHECK(with(false, true, approval_subject::action::package) == "ask");
    CHECK(with(false, false, approval_subject::action::package) == "accept switched_off");
    CHECK(with(false, false, approval_subject::action::server) == "ask");
}

TEST_CASE("W20: a rejection holds for the same action, in the same cell") {
    approval_machine machine({}, began);
    auto const said = answered(machine, call_to("a", {{"x", 1}}), decision::reject("no"));
    CHECK(words_of(said) == "reject policy");
    for (int i = 0; i < 5; ++i) {
        auto const again = machine.on_action(call_to("a", {{"x", 1}}), began);
        CHECK(words_of(again) == "reject repetition");
        CHECK(again->made.reason() == "rejected before: no");
    }
    CHECK(wanted(machine, call_to("a", {{"x", 2}})) == "ask");
    CHECK(wanted(machine, call_to("b", {{"x", 1}})) == "ask");
    CHECK(wanted(machine, call_to("a", {{"x", 1}}, "c2")) == "ask");
    CHECK(wanted(machine, call_to("a", {{"x", 1}})) == "reject repetition"); // the next cell does not make it forget
}

TEST_CASE("machine: the order of members does not make another action, the directory does") {
    approval_machine machine({}, began);
    (void)answered(machine, call_to("a", json::parse(R"({"x":1,"y":2})")), decision::reject());
    CHECK(wanted(machine, call_to("a", json::parse(R"({"y":2,"x":1})"))) == "reject repetition");
    approval_subject shell{.kind = approval_subject::action::shell, .argv = {"rm", "x"}, .cwd = "/a", .cell_id = "c1"};
    (void)answered(machine, shell, decision::reject());
    CHECK(wanted(machine, shell) == "reject repetition");
    shell.cwd = "/b";
    CHECK(wanted(machine, shell) == "ask");
}

TEST_CASE("machine: nobody's decision holds as well, an acceptance does not") {
    approval_machine machine({}, began);
    (void)answered(machine, call_to("late"), decision::reject("late"), error::decider::timeout);
    CHECK(wanted(machine, call_to("late")) == "reject repetition");
    (void)answered(machine, call_to("gone"), decision::reject("gone"), error::decider::cancellation);
    CHECK(wanted(machine, call_to("gone")) == "ask");
    CHECK(words_of(answered(machine, call_to("yes"), decision::accept())) == "accept policy");
    CHECK(wanted(machine, call_to("yes")) == "ask");
}

TEST_CASE("machine: the policy may want to be asked again") {
    approval_machine machine({}, began);
    (void)answered(machine, call_to("a"), decision::reject("not now", decision::when_repeated::ask));
    CHECK(wanted(machine, call_to("a")) == "ask");
    approval_machine asking({.repeated = decision::when_repeated::ask}, began);
    (void)answered(asking, call_to("a"), decision::reject("no"));
    CHECK(wanted(asking, call_to("a")) == "ask");
}

TEST_CASE("machine: a cell has its budget") {
    approval_machine machine({.approve_tool_calls = false, .calls_per_cell = 3}, began);
    for (int i = 0; i < 2; ++i) CHECK(wanted(machine, call_to("a")) == "accept switched_off");
    CHECK(wanted(machine, of_kind(approval_subject::action::shell)) == "ask");
    CHECK(wanted(machine, call_to("a")) == "reject budget");
    CHECK(wanted(machine, of_kind(approval_subject::action::shell)) == "reject budget");
    CHECK(wanted(machine, call_to("a", json::object(), "c2")) == "accept switched_off");
    CHECK(wanted(machine, call_to("a")) == "reject budget");
}

TEST_CASE("machine: actions of the application have no budget, and are asked for again") {
    approval_machine machine({.calls_per_cell = 1}, began);
    auto own = call_to("a", json::object(), "");
    own.of_application = true;
    CHECK(wanted(machine, own) == "ask");
    CHECK_FALSE(machine.on_answer(own, decision::reject("not now"), error::decider::policy, began).accepted());
    CHECK(wanted(machine, own) == "ask");
    // Code that runs between two cells has no cell either, but a budget.
    auto between = own;
    between.of_application = false;
    CHECK(wanted(machine, between) == "ask");
    CHECK(wanted(machine, between) == "reject budget");
    CHECK(wanted(machine, own) == "ask");
}

TEST_CASE("machine: what comes first") {
    approval_settings settings;
    settings.rules =
        parsed_rules(R"({"allow":[{"tool":"s.allowed*"}],"ask":[{"tool":"s.*_asked"}],"deny":[{"tool":"s.*denied"}]})");
    settings.grants = {grant::tool("s.granted*"), grant::tool("s.granted_denied")};
    approval_machine machine(settings, began);
    CHECK(wanted(machine, call_to("allowed")) == "accept rule");
    CHECK(wanted(machine, call_to("allowed_asked")) == "ask");
    CHECK(wanted(machine, call_to("granted_asked")) ==
          "accept grant"); // a person said so, after the rules were written
    CHECK(wanted(machine, call_to("granted_denied")) == "reject rule");
    CHECK(wanted(machine, call_to("other")) == "ask");
    auto const denied = machine.on_action(call_to("denied"), began);
    CHECK(denied->detail == "deny[0]");
    CHECK(denied->made.reason() == "a rule denies it");
    CHECK(machine.on_action(call_to("granted"), began)->detail == "grant 1");

    settings.approve_tool_calls = false; // switches off questions, and nothing else
    approval_machine off(settings, began);
    CHECK(wanted(off, call_to("other")) == "accept switched_off");
    CHECK(wanted(off, call_to("allowed_asked")) == "accept switched_off");
    CHECK(wanted(off, call_to("denied")) == "reject rule");
}

TEST_CASE("machine: an acceptance may grant, and is the grant's first use") {
    approval_machine machine({}, began);
    auto const said =
        answered(machine, call_to("a"), decision::accept().and_grant(grant::tool("s.a").at_most(2).lasting(1min)));
    CHECK(said.granted == 1u);
    CHECK(wanted(machine, call_to("a"), began + 59s) == "accept grant");
    CHECK(wanted(machine, call_to("a"), began + 59s) == "ask");

    (void)answered(machine, call_to("b"), decision::accept().and_grant(grant::tool("s.c").at_most(1)));
    CHECK(wanted(machine, call_to("c")) == "accept grant"); // b was no use of it

    (void)answered(machine, call_to("d"), decision::accept().and_grant(grant::tool("s.d").lasting(1min)));
    CHECK(wanted(machine, call_to("d"), began + 1min) == "ask");

    (void)answered(machine, call_to("e"), decision::accept().and_grant(grant::tool("s.e").in_this_cell()));
    CHECK(wanted(machine, call_to("e")) == "accept grant");
    CHECK(wanted(machine, call_to("e", json::object(), "c2")) == "ask");

    (void)answered(machine, call_to("f"), decision::reject().and_grant(grant::tool("s.*")));
    CHECK(wanted(machine, call_to("g")) == "ask"); // a rejection grants nothing
}

TEST_CASE("machine: a rejection is stronger than a later grant, within its cell") {
    approval_machine machine({}, began);
    (void)answered(machine, call_to("a", {{"x", 1}}), decision::reject());
    machine.given().add(grant::tool("s.*"), began);
    CHECK(wanted(machine, call_to("a", {{"x", 1}})) == "reject repetition");
    CHECK(wanted(machine, call_to("a", {{"x", 2}})) == "accept grant");
    CHECK(wanted(machine, call_to("a", {{"x", 1}}, "c2")) == "accept grant");
}

TEST_CASE("machine: a cell that has ended asks for nothing") {
    approval_machine machine({.approve_tool_calls = false}, began);
    CHECK(wanted(machine, call_to("a")) == "accept switched_off");
    machine.end_cell("c1");
    CHECK(wanted(machine, call_to("a")) == "reject cancellation");
    CHECK(wanted(machine, call_to("a", json::object(), "c2")) == "accept switched_off");
}

TEST_CASE("machine: remembers some cells, and the grants of no more") {
    approval_machine machine({.calls_per_cell = 1}, began);
    machine.given().add(grant::tool("s.*").in_this_cell(), began, "c0");
    CHECK(wanted(machine, call_to("a", json::object(), "c0")) == "accept grant");
    for (int i = 1; i < 100; ++i)
        CHECK(wanted(machine, call_to("a", json::object(), "c" + std::to_string(i))) == "ask");
    CHECK(wanted(machine, call_to("a", json::object(), "c99")) == "reject budget");
    CHECK(wanted(machine, call_to("a", json::object(), "c90")) == "reject budget");
    CHECK(machine.given().size(began) == 0);
}

TEST_CASE("machine: 16 cells are remembered, and one more takes the place of the first") {
    approval_machine machine({.calls_per_cell = 1}, began);
    auto const call_of = [&machine](int cell) {
        return wanted(machine, call_to("a", json::object(), "c" + std::to_string(cell)));
    };
    for (int i = 0; i < 16; ++i) CHECK(call_of(i) == "ask");
    for (int i = 0; i < 16; ++i) CHECK(call_of(i) == "reject budget");
    CHECK(call_of(16) == "ask");
    CHECK(call_of(1) == "reject budget");
    CHECK(call_of(0) == "ask");
}

TEST_CASE("verdict: is an error for who wanted the action") {
    verdict const rejected{decision::reject("not today"), error::decider::policy};
    CHECK(rejected.refusal() == ipybox::errc::approval_rejected);
    CHECK(rejected.refusal().text() == "not today");
    verdict const late{decision::reject("nobody"), error::decider::timeout};
    CHECK(late.refusal() == ipybox::errc::approval_timed_out);
    CHECK(late.refusal() == ipybox::condition::timeout);
}

TEST_CASE("machine: what a cell was refused is remembered, but not without end") {
    approval_machine machine({}, began);
    for (int i = 0; i < 10'000; ++i) (void)answered(machine, call_to("a", {{"x", i}}), decision::reject());
    CHECK(wanted(machine, call_to("a", {{"x", 0}})) == "reject repetition");
    (void)answered(machine, call_to("b"), decision::reject());
    CHECK(wanted(machine, call_to("b")) == "reject repetition");
    CHECK(wanted(machine, call_to("a", {{"x", 0}})) == "ask");
}
