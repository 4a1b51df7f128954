#include <ipybox/approval/approval_request.hpp>
#include <ipybox/approval/decision_state.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <atomic>
#include <optional>
#include <sstream>
#include <thread>

namespace {

using ipybox::approval_request;
using ipybox::approval_subject;
using ipybox::decision;
using ipybox::detail::state_of;
using nlohmann::json;

approval_subject query_call(json arguments = {{"q", "x"}}) {
    return {.id = 7,
            .server = "github",
            .tool = "search",
            .arguments = std::make_shared<nlohmann::ordered_json const>(std::move(arguments)),
            .code = "search(q='x')",
            .cell_id = "c1"};
}

std::string line(approval_subject subject) {
    std::ostringstream out;
    out << approval_request(std::move(subject));
    return out.str();
}

} // namespace

TEST_CASE("decision: accepts, accepts with edited arguments, or rejects with a reason") {
    CHECK(decision::accept().accepted());
    CHECK(decision::accept().edited_arguments() == nullptr);

    auto const edited = decision::accept(json{{"q", "y"}});
    CHECK(edited.accepted());
    REQUIRE(edited.edited_arguments());
    CHECK(*edited.edited_arguments() == nlohmann::ordered_json{{"q", "y"}});
    auto const array = decision::accept(json::array({1, 2}));
    CHECK(*array.edited_arguments() == json::array({1, 2}));

    CHECK_FALSE(decision::reject().accepted());
    CHECK(decision::reject().reason() == "rejected");
    CHECK(decision::reject("no").reason() == "no");
    CHECK(decision::accept().reason().empty());
}

TEST_CASE("approval_request: the commands of a shell line") {
    auto const commands_of = [](approval_subject subject) { return approval_request(std::move(subject)).commands(); };
    auto const shell = [](std::vector<std::string> argv, std::string input = {}) {
        return approval_subject{
            .kind = approval_subject::action::shell, .argv = std::move(argv), .input = std::move(input)};
    };
    auto const first_words = [](ipybox::detail::shell_line const& line) {
        std::vector<std::string> programs;
        for (auto const& command : line.commands)
            programs.push_back(command.words.empty() ? "" : command.words[0].text);
        return programs;
    };
    using words = std::vector<std::string>;

    auto const both = commands_of(shell({"/bin/sh", "-c", "git status && sh -c 'make test'"}));
    CHECK(both.understood());
    CHECK(first_words(both) == words{"git", "make"});
    CHECK(both.commands[0].words[1].text == "status");

    auto const direct = commands_of(shell({"git", "status; rm x"})); // no shell has it: the words are the program's own
    CHECK(direct.understood());
    CHECK(first_words(direct) == words{"git"});
    CHECK(direct.commands[0].words[1].text == "status; rm x");

    CHECK(first_words(commands_of(shell({"bash"}, "ls\ncat x | wc\n"))) == words{"ls", "cat", "wc"});

    auto const computed = commands_of(shell({"/bin/sh", "-c", "$(cat program) x"}));
    CHECK_FALSE(computed.understood());

    CHECK(commands_of(query_call()).commands.empty());
}

TEST_CASE("approval_request: says what it is about") {
    approval_request const request(query_call());
    CHECK(request.id() == 7);
    CHECK(request.kind() == approval_subject::action::tool);
    CHECK(request.server() == "github");
    CHECK(request.tool() == "search");
    CHECK(request.arguments() == json{{"q", "x"}});
    CHECK(request.code() == "search(q='x')");
    CHECK(request.cell_id() == "c1");
    CHECK_FALSE(request.deadline());

    approval_request const shell({.kind = approval_subject::action::shell,
                                  .argv = {"ls"},
                                  .cwd = "/w",
                                  .env = {{"A", "1"}, {"B", std::nullopt}}});
    CHECK(shell.arguments().is_null());
    CHECK(shell.argv() == std::vector<std::string>{"ls"});
    CHECK(shell.cwd() == "/w");
    CHECK_FALSE(shell.env().at("B"));
}

TEST_CASE("approval_request: the first answer counts") {
    approval_request const request(query_call());
    auto const copy = request;
    auto const answer = state_of(request);
    CHECK_FALSE(answer->decided());
    CHECK_FALSE(request.decided());
    CHECK(copy.accept(json{{"q", "z"}}));
    CHECK_FALSE(request.reject("late"));
    CHECK_FALSE(request.accept());
    REQUIRE(answer->decided());
    REQUIRE(request.decided());
    CHECK(request.decided()->accepted());
    CHECK(*answer->decided()->edited_arguments() == nlohmann::ordered_json{{"q", "z"}});
}

TEST_CASE("approval_request: dropped unanswered is rejected, with the last copy") {
    auto request = std::make_optional<approval_request>(query_call());
    auto copy = request;
    auto const answer = state_of(*request);
    auto const subject = request->subject();
    int calls = 0;
    answer->on_decided([&](decision made) {
        ++calls;
        CHECK_FALSE(made.accepted());
        CHECK(made.reason() == "the approval request was dropped without an answer");
    });
    request.reset();
    CHECK(calls == 0);
    copy.reset();
    CHECK(calls == 1);
    CHECK(subject->tool == "search");
}

TEST_CASE("approval_request: who waits is called once, at once where there is an answer") {
    approval_request const request(query_call());
    request.accept();
    int calls = 0;
    state_of(request)->on_decided([&](decision made) { calls += made.accepted() ? 1 : 100; });
    CHECK(calls == 1);
    request.reject();
    CHECK(calls == 1);
}

TEST_CASE("approval_request: any number may wait") {
    approval_request const request(query_call());
    std::string told;
    for (auto const* name : {"a", "b"})
        state_of(request)->on_decided([&told, name](decision made) { told += name + made.reason(); });
    request.reject("!");
    CHECK(told == "a!b!");
}

// NOLINTBEGIN(bugprone-use-after-move): that is what these test
TEST_CASE("approval_request: a moved-from handle answers nothing, and says what it was about") {
    approval_request request(query_call());
    auto taken = std::move(request);
    int told = 0;
    request.on_decided([&told](decision const&) { ++told; });
    CHECK_FALSE(request.accept());
    CHECK(request.id() == 7);
    CHECK(request.tool() == "search");
    CHECK(request.arguments() == nlohmann::ordered_json{{"q", "x"}});
    CHECK(taken.accept());
    CHECK_FALSE(request.decided());
    CHECK(told == 0);

    approval_request other(query_call());
    other = std::move(taken);
    CHECK(other.decided());
    CHECK(taken.server() == "github");
    CHECK_FALSE(taken.reject());
}

TEST_CASE("approval_request: a moved-from handle is not a copy that keeps the request") {
    approval_request request(query_call());
    std::optional<decision> made;
    request.on_decided([&made](decision const& d) { made = d; });
    auto taken = std::make_optional(std::move(request));
    taken.reset();
    REQUIRE(made);
    CHECK(made->reason() == "the approval request was dropped without an answer");
}
// NOLINTEND(bugprone-use-after-move)

TEST_CASE("approval_request: on_decided tells of an answer by another copy, and does not keep the request") {
    std::string told;
    {
        approval_request const request(query_call());
        request.on_decided([&told](decision const& made) { told += "<" + made.reason() + ">"; });
        auto const copy = request;
        CHECK(told.empty());
        copy.reject("no");
        CHECK(told == "<no>");
        request.on_decided([&told](decision const& made) { told += made.reason(); });
    }
    CHECK(told == "<no>no");
    approval_request(query_call()).on_decided([&told](decision const&) { told += "!"; });
    CHECK(told == "<no>no!");
}

TEST_CASE("approval_request: edited arguments reject what has none") {
    approval_request const shell({.kind = approval_subject::action::shell, .argv = {"ls"}});
    CHECK(shell.accept(json::object()));
    auto const made = state_of(shell)->decided();
    CHECK_FALSE(made->accepted());
    CHECK(made->reason() == "accepted with edited arguments, but a shell command has none");
}

TEST_CASE("approval_request: the commands of a line can be accepted where they are understood") {
    auto const accepted = [](std::string line) {
        approval_request const shell(
            {.kind = approval_subject::action::shell, .argv = {"/bin/sh", "-c", std::move(line)}});
        CHECK(shell.accept_commands());
        return *state_of(shell)->decided();
    };
    CHECK(accepted("ls; a").accepted());
    CHECK(accepted("ls; a").by_commands());
    CHECK_FALSE(decision::accept().by_commands());
    CHECK_FALSE(accepted("echo {PATH}>/dev/null; ls").accepted());
    CHECK(accepted("ls $((x))").reason() == "accepted for its commands, but the line was not understood: arithmetic");
    CHECK(approval_request(query_call()).accept_commands());
}

TEST_CASE("approval_request: threads that answer at once agree on one answer", "[tsan]") {
    for (int round = 0; round < 200; ++round) {
        auto request = std::make_optional<approval_request>(query_call());
        auto const answer = state_of(*request);
        std::atomic<int> first{0};
        std::atomic<int> told{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([copy = *request, &first, i] {
                if (i % 2 ? copy.accept() : copy.reject(std::to_string(i))) ++first;
            });
        }
        request.reset();
        answer->on_decided([&told](decision) { ++told; });
        for (auto& thread : threads) thread.join();
        CHECK(first == 1);
        CHECK(told == 1);
    }
}

TEST_CASE("approval_request: dropping in several threads rejects once", "[tsan]") {
    for (int round = 0; round < 200; ++round) {
        auto request = std::make_optional<approval_request>(query_call());
        std::atomic<int> told{0};
        state_of(*request)->on_decided([&told](decision made) { told += made.accepted() ? 100 : 1; });
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) threads.emplace_back([copy = *request] { (void)copy.id(); });
        request.reset();
        for (auto& thread : threads) thread.join();
        threads.clear();
        CHECK(told == 1);
    }
}

TEST_CASE("approval_request: is printed as one line") {
    CHECK(line(query_call()) == R"(tool call github.search {"q":"x"})");
    CHECK(line(query_call(json::object())) == "tool call github.search {}");
    CHECK(line({.kind = approval_subject::action::shell,
                .argv = {"ls", "-l", "my file", "it's", ""},
                .cwd = "/my work",
                .env = {{"A", "1 2"}, {"B", std::nullopt}}}) ==
          R"(shell command ls -l 'my file' 'it'\''s' '' (in '/my work', A='1 2', without B))");
    CHECK(line({.kind = approval_subject::action::shell_magic, .argv = {"bash", "-c", "a\nb"}}) ==
          R"(shell magic bash -c $'a\nb')");
    CHECK(line({.kind = approval_subject::action::package,
                .argv = {"pip", "install", "numpy==2.1"},
                .env = {{"C", std::nullopt}}}) == "package installation pip install numpy==2.1 (without C)");
    CHECK(line({.kind = approval_subject::action::server, .server = "fetch"}) == "server registration fetch");
    CHECK(line({.kind = approval_subject::action::resource, .server = "docs", .uri = "file:///a b"}) ==
          "resource request docs 'file:///a b'");
    CHECK(line({.kind = approval_subject::action::resource, .server = "docs"}) == "resource request docs (list)");
    CHECK(line({.kind = approval_subject::action::resource, .server = "docs", .uri = "(list)"}) ==
          "resource request docs '(list)'");
    CHECK(line({.kind = approval_subject::action::prompt,
                .server = "docs",
                .prompt = "weather",
                .arguments = std::make_shared<nlohmann::ordered_json const>(
                    nlohmann::ordered_json{{"city", "Kiel"}})}) == R"(prompt request docs weather {"city":"Kiel"})");
}

TEST_CASE("approval_request: its line cannot pretend to be something else") {
    CHECK(line({.kind = approval_subject::action::shell, .argv = {"echo", "\r\x1b[2K\x7f ok"}}) ==
          R"(shell command echo $'\x0d\x1b[2K\x7f ok')");
    CHECK(line({.kind = approval_subject::action::shell, .argv = {"a\u202eb\u2066c\u200bd\u0085\U000e0041"}}) ==
          R"(shell command $'a\u202eb\u2066c\u200bd\u0085\U000e0041')");
    CHECK(line({.kind = approval_subject::action::shell, .argv = {"caf\u00e9 \u65e5\u672c \U0001f600"}}) ==
          "shell command 'caf\u00e9 \u65e5\u672c \U0001f600'");
    CHECK(line({.kind = approval_subject::action::shell, .argv = {"\xff\xc0\x80\xed\xa0\x80 \xe2\x80"}}) ==
          R"(shell command $'\xff\xc0\x80\xed\xa0\x80 \xe2\x80')");
    CHECK(line({.server = "a\nb", .tool = "c\x1b"}) == R"(tool call $'a\nb'.$'c\x1b')");
    CHECK(line(query_call({{"q", "\u202e\n\xff"}})) == R"(tool call github.search {"q":"\u202e\n\ufffd"})");
}
