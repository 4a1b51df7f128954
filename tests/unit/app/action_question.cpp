#include <ipybox/app/action_question.hpp>
#include <ipybox/rules/grant.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/subjects.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

namespace {

using namespace ipybox;
using ipybox::test::contains;
using ipybox::test::tool_subject;
using nlohmann::ordered_json;

approval_subject shell_line_of(std::string line) {
    return {.kind = approval_subject::action::shell,
            .argv = {"/bin/sh", "-c", std::move(line)},
            .cwd = "/work",
            .cell_id = "c1"};
}

using answer = mcp::server::elicitation;

/// What is decided where a form with this content comes back.
decision filled_in(ordered_json content) {
    return decision_of(answer{mcp::server::elicitation::response::accept, std::move(content)}, shell_line_of("ls"));
}

TEST_CASE("action_question: the action is shown, and cannot pass for the question") {
    auto const asked = shell_line_of("ls\nAccept this");
    CHECK(contains(question_about(asked), "run a command:\n\n    shell command /bin/sh -c $'ls\\nAccept this'"));
    auto const form = form_about(asked);
    CHECK(form["properties"]["decision"]["enum"] == ordered_json::array({"accept", "accept_always", "reject"}));
    CHECK(form["properties"]["decision"]["enumNames"].size() == 3);
    CHECK(form["required"] == ordered_json::array({"decision"}));
}

TEST_CASE("action_question: the session whose code asks is named") {
    CHECK(contains(question_about(shell_line_of("ls"), "a"),
                   "The Python code of the session `a` wants to run a command:"));
    CHECK(contains(question_about(shell_line_of("ls")), "The Python code wants to run a command:"));
}

TEST_CASE("action_question: a long action is cut, and says so") {
    auto const message = question_about(shell_line_of(std::string(100'000, 'x')));
    CHECK(message.size() < 4000);
    CHECK(contains(message, "characters are left out"));
    // The rows behind an empty one are a block of code again.
    CHECK(contains(message, "\n\n... "));
    CHECK(contains(message, " left out ...\n\n    xxx"));
}

TEST_CASE("action_question: all of a server is shown") {
    approval_subject subject{.kind = approval_subject::action::server};
    subject.server = "pay";
    auto entry = ordered_json{{"command", "python3"}, {"args", ordered_json::array({std::string(7000, 'x') + "EVIL"})}};
    entry["args"].push_back(std::string(500, 'y'));
    subject.arguments = std::make_shared<ordered_json const>(entry);
    auto const message = question_about(subject);
    CHECK_FALSE(contains(message, "left out"));
    std::string letters;
    std::ranges::copy_if(message, std::back_inserter(letters), [](char c) { return c != ' ' && c != '\n'; });
    CHECK(contains(letters, std::string(7000, 'x') + "EVIL"));
}

TEST_CASE("action_question: all rows of the action are code in Markdown, and have no tag of HTML") {
    auto const message = question_about(shell_line_of("echo ![](https://example.org/?q=1) <img src=x> a&lt;b" +
                                                      std::string(300, '-') + "| touch EVIL"));
    auto const begin = message.find("\n\n");
    for (auto at = begin + 1; at != message.npos; at = message.find('\n', at + 1))
        CHECK((message.compare(at + 1, 4, "    ") == 0 || message[at + 1] == '\n'));
    CHECK_FALSE(contains(message, "<img"));
    CHECK(contains(message, "\\x3cimg src=x> a\\x26lt;b"));
}

TEST_CASE("action_question: texts of others below a sentence are code, too") {
    CHECK(question_paragraph("Attention:", {"/w/![](x)", "/w/<b>\n"}) ==
          "Attention:\n\n    '/w/![](x)'\n    $'/w/\\x3cb>\\n'");
    CHECK(question_paragraph("Attention", {}) == "Attention");
}

TEST_CASE("action_question: a tool is accepted until its cell ends, whatever its arguments") {
    auto call = tool_subject("fs", "read", ordered_json{{"path", "a"}});
    call.cell_id = {};
    CHECK(form_about(call)["properties"]["decision"]["enum"].size() == 3);
    call.cell_id = "c1";
    CHECK(form_about(call)["properties"]["decision"]["enum"] ==
          ordered_json::array({"accept", "accept_in_cell", "accept_always", "reject"}));
    CHECK(form_about(call)["properties"]["decision"]["enumNames"].size() == 4);
    answer const made{mcp::server::elicitation::response::accept, {{"decision", "accept_in_cell"}}};
    auto const decided = decision_of(made, call);
    REQUIRE(decided.granted() != nullptr);
    CHECK(decided.granted()->for_one_cell());
    CHECK(decided.granted()->covers(tool_subject("fs", "read", ordered_json{{"path", "b"}})));
    CHECK_FALSE(decided.granted()->covers(tool_subject("fs", "write", ordered_json{{"path", "a"}})));
    // Where the form has no such choice, it is no decision.
    CHECK_FALSE(decision_of(made, shell_line_of("ls")).accepted());
}

TEST_CASE("action_question: the three answers") {
    CHECK(filled_in({{"decision", "accept"}}).accepted());
    CHECK(filled_in({{"decision", "accept"}}).granted() == nullptr);

    auto const always = filled_in({{"decision", "accept_always"}});
    CHECK(always.accepted());
    REQUIRE(always.granted() != nullptr);
    CHECK(always.granted()->covers(shell_line_of("ls")));
    CHECK_FALSE(always.granted()->covers(shell_line_of("ls -l")));

    auto const rejected = filled_in({{"decision", "reject"}, {"reason", "not now"}});
    CHECK_FALSE(rejected.accepted());
    CHECK(rejected.reason() == "the user rejected it: not now");
    CHECK(rejected.again() == decision::when_repeated::reject);

    approval_subject const of_no_cell{.kind = approval_subject::action::server, .server = "fs"};
    answer const no{mcp::server::elicitation::response::accept, {{"decision", "reject"}}};
    CHECK(decision_of(no, of_no_cell).again() == decision::when_repeated::ask);
}

TEST_CASE("action_question: what is no clear acceptance rejects, and may be asked again") {
    ordered_json const accepted{{"decision", "accept"}};
    auto const others = {answer{mcp::server::elicitation::response::decline, accepted},
                         answer{mcp::server::elicitation::response::cancel, accepted},
                         answer{mcp::server::elicitation::response::accept, ordered_json::object()},
                         answer{mcp::server::elicitation::response::accept, ordered_json(nullptr)},
                         answer{mcp::server::elicitation::response::accept, ordered_json::array({"accept"})},
                         answer{mcp::server::elicitation::response::accept, {{"decision", true}}},
                         answer{mcp::server::elicitation::response::accept, {{"decision", "ACCEPT"}}}};
    for (auto const& given : others) {
        INFO(given.content.dump());
        auto const made = decision_of(given, shell_line_of("ls"));
        CHECK_FALSE(made.accepted());
        CHECK_FALSE(made.reason().empty());
        CHECK(made.again() == decision::when_repeated::ask);
    }
}

TEST_CASE("action_question: a host is accepted whatever the port, a tool with the same arguments alone") {
    approval_subject connection{
        .kind = approval_subject::action::network, .host = "example.org", .port = 443, .protocol = "connect"};
    auto other = connection;
    other.port = 80;
    CHECK(lasting_grant(connection).covers(other));
    other.host = "example.com";
    CHECK_FALSE(lasting_grant(connection).covers(other));

    auto const call = tool_subject("fs", "read", ordered_json{{"path", "a"}});
    CHECK(lasting_grant(call).covers(call));
    CHECK_FALSE(lasting_grant(call).covers(tool_subject("fs", "read", ordered_json{{"path", "b"}})));
}

} // namespace
