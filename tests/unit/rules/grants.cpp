#include <ipybox/approval/approval_request.hpp>
#include <ipybox/approval/decision.hpp>
#include <ipybox/approval/decision_state.hpp>
#include <ipybox/rules/grant.hpp>
#include <ipybox/rules/grants.hpp>

#include <support/catch.hpp>
#include <support/subjects.hpp>

#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using ipybox::approval_request;
using ipybox::approval_subject;
using ipybox::decision;
using ipybox::grant;
using ipybox::detail::grants;
using ipybox::detail::state_of;
using ipybox::test::shell_subject;
using ipybox::test::tool_subject;
using nlohmann::json;

grants::clock::time_point const start{};

} // namespace

TEST_CASE("grant: as an application writes them") {
    auto const subject = tool_subject("github", "search");
    approval_request const request(subject);
    //! [grants]
    // this tool for ten minutes
    request.accept_and_grant(ipybox::grant::this_tool(*request.subject()).lasting(10min));
    // this exact command, or this exact call, for this session
    request.accept_and_grant(ipybox::grant::exactly(*request.subject()));
    // `pay.*` where `amount <= 100`, at most twice
    request.accept_and_grant(
        ipybox::grant::tool("pay.*").where("amount", ipybox::grant::comparison::at_most, 100).at_most(2));
    //! [grants]
    REQUIRE(state_of(request)->decided());
    CHECK(state_of(request)->decided()->granted()->lifetime() == 10min); // the first answer counts
}

TEST_CASE("grant: this tool for ten minutes") {
    grants given;
    CHECK(given.add(grant::this_tool(tool_subject("github", "search")).lasting(10min), start) == 1);
    CHECK(given.use(tool_subject("github", "search", {{"q", "x"}}), start) == 1u);
    CHECK(given.use(tool_subject("github", "search", {{"q", "y"}}), start + 10min - 1ms) == 1u);
    CHECK_FALSE(given.use(tool_subject("github", "delete"), start));
    CHECK_FALSE(given.use(tool_subject("github", "search"), start + 10min));
    CHECK(given.size(start) == 1);
    CHECK(given.size(start + 10min) == 0);
}

TEST_CASE("grant: one that was moved from is what it was") {
    auto first = grant::tool("pay.*");
    auto const second = std::move(first);
    CHECK(first.to_json() == second.to_json()); // NOLINT(bugprone-use-after-move)
}

TEST_CASE("grant: times at their limits") {
    using std::chrono::milliseconds;
    grants given;
    CHECK(given.add(grant::this_tool(tool_subject("a", "t")).lasting(milliseconds::max()), start) == 1);
    CHECK(given.use(tool_subject("a", "t"), start + 24h));
    for (auto const none : {milliseconds::min(), -1ms, 0ms}) {
        (void)given.add(grant::this_tool(tool_subject("b", "t")).lasting(none), start);
        CHECK_FALSE(given.use(tool_subject("b", "t"), start));
    }
}

TEST_CASE("grant: this exact command for this session") {
    grants given;
    given.add(grant::exactly(shell_subject("ls -l")), start);
    CHECK(given.use(shell_subject("ls -l"), start + 1000h));
    CHECK_FALSE(given.use(shell_subject("ls -l "), start));
    CHECK_FALSE(given.use(shell_subject("ls -l; rm x"), start));
    CHECK_FALSE(given.use(shell_subject("ls -l", "/etc"), start));
    auto other = shell_subject("ls -l");
    other.env["LD_PRELOAD"] = "/work/evil.so";
    CHECK_FALSE(given.use(other, start));
    other = shell_subject("ls -l");
    other.input = "x";
    CHECK_FALSE(given.use(other, start));
    other = shell_subject("ls -l");
    other.kind = approval_subject::action::shell_magic;
    CHECK_FALSE(given.use(other, start));
    other = shell_subject("ls -l");
    other.cell_id = "another";
    other.code = "another";
    other.id = 99;
    CHECK(given.use(other, start)); // who asks is not part of it
}

TEST_CASE("grant: an exact call has exactly these arguments") {
    grants given;
    given.add(grant::exactly(tool_subject("pay", "send", {{"amount", 5}})), start);
    CHECK(given.use(tool_subject("pay", "send", {{"amount", 5}}), start));
    CHECK(given.use(tool_subject("pay", "send", {{"amount", 5.0}}), start));
    CHECK_FALSE(given.use(tool_subject("pay", "send", {{"amount", "5"}}), start));
    CHECK_FALSE(given.use(tool_subject("pay", "send", {{"amount", 5}, {"to", "eve"}}), start));
    CHECK_FALSE(given.use({.server = "pay", .tool = "send"}, start));
}

TEST_CASE("grant: small payments, at most twice") {
    grants given;
    given.add(grant::tool("pay.*").where("amount", grant::comparison::at_most, 100).at_most(2), start);
    CHECK_FALSE(given.use(tool_subject("pay", "send", {{"amount", 101}}), start));
    CHECK_FALSE(given.use(tool_subject("pay", "send", {{"amount", "5"}}), start));
    CHECK_FALSE(given.use(tool_subject("pay", "send", {{"amount", true}}), start));
    CHECK_FALSE(given.use(tool_subject("pay", "send"), start));
    CHECK(given.use(tool_subject("pay", "send", {{"amount", 100}}), start));
    CHECK(given.use(tool_subject("pay", "refund", {{"amount", -5}}), start));
    CHECK_FALSE(given.use(tool_subject("pay", "send", {{"amount", 1}}), start));
    CHECK(given.size(start) == 0);
}

TEST_CASE("grant: one for a cell covers that cell alone") {
    grants given;
    given.add(grant::tool("a.*").in_this_cell(), start, "c1");
    given.add(grant::tool("b.*").in_this_cell(), start);
    CHECK(given.use(tool_subject("a", "t"), start));
    CHECK_FALSE(given.use(tool_subject("a", "t", json::object(), "c2"), start));
    CHECK_FALSE(given.use(tool_subject("b", "t"), start));
    CHECK_FALSE(given.use(tool_subject("b", "t", json::object(), ""), start)); // no cell is no cell's name
    given.end_cell("c1");
    CHECK_FALSE(given.use(tool_subject("a", "t"), start));
}

TEST_CASE("grants: one without a count is used before one with a count, and each can be taken back") {
    grants given;
    auto const counted = given.add(grant::tool("a.*").at_most(1), start);
    auto const free = given.add(grant::tool("a.*"), start);
    CHECK(given.use(tool_subject("a", "t"), start) == free);
    CHECK(given.revoke(free));
    CHECK_FALSE(given.revoke(free));
    CHECK(given.use(tool_subject("a", "t"), start) == counted);
    CHECK_FALSE(given.use(tool_subject("a", "t"), start));
    given.add(grant::tool("a.*"), start);
    given.clear();
    CHECK_FALSE(given.use(tool_subject("a", "t"), start));
    CHECK_FALSE(given.use(tool_subject("a", "t"), start));
}

TEST_CASE("grants: no time and no uses cover nothing") {
    grants given;
    given.add(grant::tool("a.*").lasting(0ms), start);
    given.add(grant::tool("a.*").lasting(-1h), start);
    given.add(grant::tool("a.*").at_most(0), start);
    CHECK_FALSE(given.use(tool_subject("a", "t"), start));
    given.add(grant::tool("a.*").lasting(std::chrono::milliseconds::max()), start); // does not overflow
    CHECK(given.use(tool_subject("a", "t"), start + 24h));
}

TEST_CASE("grant: to JSON and back") {
    auto odd = shell_subject("ls \xff");
    odd.env = {{"A", "1"}, {"B", std::nullopt}, {"base64:C", "\xfe"}};
    odd.input = "in";
    for (auto const& given :
         {grant::tool("pay.*")
              .where("amount", grant::comparison::at_most, 100)
              .at_most(2)
              .lasting(1500ms)
              .in_this_cell(),
          grant::this_tool(tool_subject("a.b", "c*d")), grant::exactly(tool_subject("pay", "send", {{"amount", 5}})),
          grant::exactly(shell_subject("ls")), grant::exactly(odd)}) {
        auto const text = given.to_json().dump();
        CAPTURE(text);
        auto const back = grant::from_json(json::parse(text));
        REQUIRE(back);
        CHECK(back->to_json().dump() == text);
        for (auto const& subject : {tool_subject("pay", "send", {{"amount", 5}}),
                                    tool_subject("pay", "x", {{"amount", 200}}), tool_subject("a.b", "c*d"),
                                    tool_subject("a", "b.c*d"), tool_subject("a.b", "cxd"), shell_subject("ls"), odd})
            CHECK(back->covers(subject) == given.covers(subject));
        CHECK(back->uses() == given.uses());
        CHECK(back->lifetime() == given.lifetime());
        CHECK(back->for_one_cell() == given.for_one_cell());
    }
}

TEST_CASE("grant: by what a tool says about its effects") {
    auto const text = R"({"annotations":{"readOnlyHint":true},"tool":"files.*"})";
    auto const given = grant::from_json(json::parse(text));
    REQUIRE(given);
    CHECK(given->to_json().dump() == text);
    auto subject = tool_subject("files", "read");
    CHECK_FALSE(given->covers(subject)); // its server has not listed it
    subject.annotations = ipybox::approval_subject::tool_annotations{.read_only = true, .destructive = false};
    CHECK(given->covers(subject));
    subject.annotations = ipybox::approval_subject::tool_annotations();
    CHECK_FALSE(given->covers(subject));
}

TEST_CASE("grant: is read strictly") {
    for (auto const* const text : {"true",
                                   "{}",
                                   R"({"tool":"pay"})",
                                   R"({"tool":"pay.*","uses":0})",
                                   R"({"tool":"pay.*","uses":-1})",
                                   R"({"tool":"pay.*","uses":1.5})",
                                   R"({"tool":"pay.*","uses":"2"})",
                                   R"({"tool":"pay.*","seconds":0})",
                                   R"({"tool":"pay.*","seconds":"600"})",
                                   R"({"tool":"pay.*","seconds":1e300})",
                                   R"({"tool":"pay.*","scope":"ever"})",
                                   R"({"tool":"pay.*","where":{}})",
                                   R"({"tool":"pay.*","where":[{}]})",
                                   R"({"tool":"pay.*","expires":5})",
                                   R"({"tool":["pay.*"]})",
                                   R"({"action":{"kind":"shell","argv":"ls"}})",
                                   R"({"action":{"argv":["ls"]}})",
                                   R"({"action":{"kind":"tool"},"tool":"pay.*"})",
                                   R"({"action":{"kind":"shell","argv":["ls"],"where":[]}})",
                                   R"({"action":{"kind":"shell","argv":["ls"],"env":{"A":1}}})"}) {
        CAPTURE(text);
        auto const wrong = grant::from_json(json::parse(text));
        REQUIRE_FALSE(wrong);
        CHECK(wrong.error() == ipybox::errc::invalid_argument);
        CHECK(wrong.error().text().starts_with("grant"));
    }
}

TEST_CASE("decision::from_json: accepts, rejects, edits, grants") {
    auto const accepted = decision::from_json(R"({"id":7,"decision":"accept"})");
    REQUIRE(accepted);
    CHECK(accepted->id == 7);
    CHECK(accepted->made.accepted());

    auto const edited = decision::from_json(R"( {"decision":"accept","id":7,"arguments":{"q":"y"}} )");
    REQUIRE(edited);
    CHECK(*edited->made.edited_arguments() == nlohmann::ordered_json{{"q", "y"}});

    auto const rejected = decision::from_json(R"({"id":7,"decision":"reject","reason":"too much"})");
    REQUIRE(rejected);
    CHECK_FALSE(rejected->made.accepted());
    CHECK(rejected->made.reason() == "too much");

    auto const granted = decision::from_json(R"({"id":7,"decision":"accept","grant":{"tool":"pay.*","uses":2}})");
    REQUIRE(granted);
    REQUIRE(granted->made.granted());
    CHECK(granted->made.granted()->uses() == 2u);
}

TEST_CASE("W7: nothing that merely looks like a yes approves") {
    for (auto const* const text : {"true",
                                   "\"accept\"",
                                   "accept",
                                   "yes",
                                   "y",
                                   "1",
                                   "",
                                   "null",
                                   "[]",
                                   "{}",
                                   R"({"decision":"accept"})",
                                   R"({"id":7})",
                                   R"({"id":7,"decision":true})",
                                   R"({"id":7,"decision":1})",
                                   R"({"id":7,"decision":"yes"})",
                                   R"({"id":7,"decision":"no"})",
                                   R"({"id":7,"decision":"Accept"})",
                                   R"({"id":7,"decision":"accept "})",
                                   R"({"id":7,"decision":["accept"]})",
                                   R"({"id":7,"accept":true})",
                                   R"({"id":"7","decision":"accept"})",
                                   R"({"id":7.0,"decision":"accept"})",
                                   R"({"id":-7,"decision":"accept"})",
                                   R"({"id":0,"decision":"accept"})",
                                   R"({"id":7,"decision":"reject","decision":"accept"})",
                                   R"({"id":7,"id":8,"decision":"accept"})",
                                   R"({"id":7,"decision":"accept","reason":"r"})",
                                   R"({"id":7,"decision":"accept","arguments":null})",
                                   R"({"id":7,"decision":"accept","arguments":[1]})",
                                   R"({"id":7,"decision":"reject","arguments":{}})",
                                   R"({"id":7,"decision":"reject","grant":{"tool":"a.b"}})",
                                   R"({"id":7,"decision":"accept","grant":true})",
                                   R"({"id":7,"decision":"accept","grant":{"tool":"a.b","tool":"*.*"}})",
                                   R"({"id":7,"decision":"accept","remember":true})",
                                   R"({"id":7,"decision":"accept"}{"id":8,"decision":"accept"})",
                                   R"({"id":7,"decision":"accept"},)",
                                   R"({"id":7,"decision":"accept")",
                                   "{\"id\":7,\"decision\":\"acc\xff"
                                   "ept\"}"}) {
        CAPTURE(text);
        auto const read = decision::from_json(text);
        REQUIRE_FALSE(read);
        CHECK(read.error() == ipybox::errc::invalid_argument);
        CHECK_FALSE(read.error().text().empty());
    }
    CHECK_FALSE(decision::from_json(std::string(100'000, '[')));
}

TEST_CASE("grants: are listed while they hold, with what is left of them") {
    grants given;
    given.add(grant::tool("a").at_most(2), start);
    given.add(grant::tool("b").lasting(10min), start);
    given.add(grant::tool("c").in_this_cell(), start, "cell 1");
    given.add(grant::tool("d").at_most(1), start);
    CHECK(given.use(tool_subject("s", "x"), start) == std::nullopt);
    CHECK(given.revoke(4));
    auto list = given.list(start);
    REQUIRE(list.size() == 3);
    CHECK(list[0].number == 1);
    CHECK(list[0].uses_left == 2u);
    CHECK_FALSE(list[0].until);
    CHECK(list[1].until == start + 10min);
    CHECK(list[1].what.lifetime() == 10min);
    CHECK(list[2].cell_id == "cell 1");

    given.end_cell("cell 1");
    list = given.list(start + 10min);
    REQUIRE(list.size() == 1);
    CHECK(list[0].number == 1);
    given.clear();
    CHECK(given.list(start).empty());
}

TEST_CASE("grants: one with two uses is used twice, whichever thread uses it", "[tsan]") {
    grants given;
    given.add(grant::tool("s.t").at_most(2), start);
    std::atomic<int> used = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            if (given.use(tool_subject("s", "t"), start)) ++used;
            (void)given.list(start);
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(used == 2);
}

TEST_CASE("grants: those about the tools of a server end with it, and files that have changed have none") {
    grants given;
    auto const now = grants::clock::now();
    auto const call = tool_subject("notes", "read");
    given.add(grant::this_tool(call), now);
    given.add(grant::exactly(call), now);
    given.add(grant::tool("note*.*"), now);
    given.add(grant::tool("*.read"), now);
    given.add(grant::tool("other.read"), now);
    given.add(grant::host("notes"), now);
    given.forget_server("notes");
    CHECK(given.size(now) == 3);

    approval_subject registration;
    registration.kind = approval_subject::action::server;
    registration.server = "notes";
    auto const always = grant::exactly(registration);
    CHECK(always.covers(registration));
    registration.changed_files = true;
    CHECK_FALSE(always.covers(registration));
    registration.changed_files = false;
    registration.replaces = "another";
    CHECK_FALSE(always.covers(registration));
}
