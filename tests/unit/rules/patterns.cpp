#include <ipybox/rules/argument_constraint.hpp>
#include <ipybox/rules/tool_pattern.hpp>
#include <ipybox/rules/wildcard.hpp>

#include <support/catch.hpp>
#include <support/subjects.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <random>
#include <string>
#include <utility>

namespace {

using ipybox::argument_constraint;
using ipybox::grant;
using ipybox::match;
using ipybox::tool_pattern;
using ipybox::wildcard;
using ipybox::test::tool_subject;
using nlohmann::json;

/// The definition, step by step.
bool matches_slowly(std::string const& pattern, std::string const& text, std::size_t p = 0, std::size_t t = 0) {
    if (p == pattern.size()) return t == text.size();
    if (pattern[p] == '*')
        return matches_slowly(pattern, text, p + 1, t) || (t < text.size() && matches_slowly(pattern, text, p, t + 1));
    if (pattern[p] == '\\' && p + 1 < pattern.size()) ++p;
    return t < text.size() && text[t] == pattern[p] && matches_slowly(pattern, text, p + 1, t + 1);
}

match holds(char const* path, grant::comparison op, json value, json const& arguments) {
    return argument_constraint{path, op, std::move(value)}.covers(arguments);
}

} // namespace

TEST_CASE("wildcard: a star is any run, a backslash takes the next character as it is") {
    CHECK(wildcard().matches(""));
    CHECK(wildcard("*").matches("a.b/c\n"));
    CHECK(wildcard("").matches(""));
    CHECK_FALSE(wildcard("").matches("a"));
    CHECK(wildcard("read_*").matches("read_"));
    CHECK_FALSE(wildcard("read_*").matches("xread_y"));
    CHECK_FALSE(wildcard("read").matches("Read"));
    CHECK(wildcard("*.py").matches("a.py"));
    CHECK(wildcard("a*b*c").matches("abbcbc"));
    CHECK_FALSE(wildcard("a*a").matches("a")); // the same letter does not count twice
    CHECK(wildcard("\\*").matches("*"));
    CHECK_FALSE(wildcard("\\*").matches("a"));
    CHECK(wildcard("a\\").matches("a\\"));
    CHECK(wildcard::exactly("a*\\b").matches("a*\\b"));
    CHECK_FALSE(wildcard::exactly("a*\\b").matches("axx\\b"));
    CHECK(wildcard::exactly("a*b").is_exact());
    CHECK_FALSE(wildcard("a*b").is_exact());
}

TEST_CASE("wildcard: is what its definition says, for random patterns") {
    std::mt19937 random(1);
    auto const text_of = [&random](std::string const& letters) {
        std::string text;
        for (auto length = random() % 7; length > 0; --length) text += letters[random() % letters.size()];
        return text;
    };
    for (int i = 0; i < 20'000; ++i) {
        auto const pattern = text_of("ab**\\");
        auto const text = text_of("ab*\\");
        CAPTURE(pattern, text);
        REQUIRE(wildcard(pattern).matches(text) == matches_slowly(pattern, text));
        REQUIRE(wildcard::exactly(text).matches(text));
    }
}

TEST_CASE("argument_constraint: compares by value") {
    json const arguments{{"amount", 100}, {"to", "bob"}, {"sure", true}, {"note", nullptr}, {"tags", {"a", "b"}}};
    CHECK(holds("amount", grant::comparison::at_most, 100, arguments) == match::yes);
    CHECK(holds("amount", grant::comparison::at_most, 99.5, arguments) == match::no);
    CHECK(holds("amount", grant::comparison::less, 100, arguments) == match::no);
    CHECK(holds("amount", grant::comparison::greater, 99, arguments) == match::yes);
    CHECK(holds("amount", grant::comparison::at_least, 100.0, arguments) == match::yes);
    CHECK(holds("amount", grant::comparison::equal, 100.0, arguments) == match::yes);
    CHECK(holds("amount", grant::comparison::not_equal, 5, arguments) == match::yes);
    CHECK(holds("to", grant::comparison::equal, "bob", arguments) == match::yes);
    CHECK(holds("to", grant::comparison::less, "carol", arguments) == match::yes);
    CHECK(holds("to", grant::comparison::one_of, {"alice", "bob"}, arguments) == match::yes);
    CHECK(holds("to", grant::comparison::one_of, {"alice", "carol"}, arguments) == match::no);
    CHECK(holds("to", grant::comparison::matches, "b*", arguments) == match::yes);
    CHECK(holds("to", grant::comparison::prefix, "bo", arguments) == match::yes);
    CHECK(holds("to", grant::comparison::prefix, "ob", arguments) == match::no);
    // A server in C reads "/etc/shadow".
    nlohmann::ordered_json const cut{{"file", std::string("/etc/shadow\0.csv", 16)}};
    CHECK(holds("file", grant::comparison::matches, "*.csv", cut) == match::unsure);
    CHECK(holds("file", grant::comparison::prefix, "/etc/", cut) == match::unsure);
    CHECK(holds("sure", grant::comparison::equal, true, arguments) == match::yes);
    CHECK(holds("note", grant::comparison::equal, nullptr, arguments) == match::yes);
    CHECK(holds("tags", grant::comparison::equal, {"a", "b"}, arguments) == match::yes);
}

TEST_CASE("argument_constraint: a missing or differently typed argument satisfies nothing") {
    json const arguments{{"amount", "100"}, {"sure", "true"}, {"nan", std::nan("")}, {"list", {1}}};
    for (auto const op : {grant::comparison::equal, grant::comparison::not_equal, grant::comparison::less,
                          grant::comparison::at_most, grant::comparison::greater, grant::comparison::at_least}) {
        CHECK(holds("amount", op, 100, arguments) == match::unsure);
        CHECK(holds("missing", op, 100, arguments) == match::unsure);
        CHECK(holds("nan", op, 100, arguments) == match::unsure);
        CHECK(holds("list", op, 100, arguments) == match::unsure);
        CHECK(holds("amount", op, 100, json()) == match::unsure);
        CHECK(holds("amount", op, 100, json::array({100})) == match::unsure);
    }
    CHECK(holds("sure", grant::comparison::equal, true, arguments) == match::unsure);
    CHECK(holds("sure", grant::comparison::not_equal, true, arguments) == match::unsure);
    CHECK(holds("amount", grant::comparison::one_of, {1, 2}, arguments) == match::unsure);
    CHECK(holds("missing", grant::comparison::one_of, {1, 2}, arguments) == match::unsure);
    CHECK(holds("list", grant::comparison::matches, "*", arguments) == match::unsure);
    CHECK(holds("list", grant::comparison::less, json::array({2}), arguments) == match::unsure);
}

TEST_CASE("argument_constraint: paths are names or JSON pointers") {
    auto const arguments = json::parse(R"({"items":[{"price":5},{"price":7}],"a/b":1,"m~n":2,"":3,"0":4})");
    auto const equal = [&arguments](char const* path, json value) {
        return holds(path, grant::comparison::equal, std::move(value), arguments);
    };
    CHECK(equal("/items/1/price", 7) == match::yes);
    CHECK(equal("/a~1b", 1) == match::yes);
    CHECK(equal("a/b", 1) == match::yes); // a name, as it does not begin with /
    CHECK(equal("/m~0n", 2) == match::yes);
    CHECK(equal("/", 3) == match::yes);
    CHECK(equal("0", 4) == match::yes);
    CHECK(equal("", arguments) == match::yes); // all of them
    for (auto const* const path : {"/items/2/price", "/items/-/price", "/items/01/price", "/items/+1/price",
                                   "/items/99999999999999999999999/price", "/items/1/price/x", "/items//price",
                                   "items/1/price", "/m~n", "/m~", "/m~2n"}) {
        CAPTURE(path);
        CHECK(equal(path, 7) == match::unsure);
    }
}

TEST_CASE("argument_constraint: is read strictly") {
    auto const good = json::parse(R"({"path":"/a/b","op":"<=","value":100})");
    auto const read = argument_constraint::from_json(good, "here");
    REQUIRE(read);
    CHECK(read->to_json() == good);
    for (auto const* const text : {R"({"op":"<=","value":1})", R"({"path":"a","value":1})", R"({"path":"a","op":"<="})",
                                   R"({"path":"a","op":"=<","value":1})", R"({"path":"a","op":"<=","value":true})",
                                   R"({"path":"a","op":"<=","value":1,"or":2})", R"({"path":1,"op":"<=","value":1})",
                                   R"({"path":"a","op":"in","value":1})", R"({"path":"a","op":"in","value":[]})",
                                   R"({"path":"a","op":"matches","value":1})", R"({"path":"/~","op":"==","value":1})",
                                   R"(["a","<=",1])", "null"}) {
        CAPTURE(text);
        auto const wrong = argument_constraint::from_json(json::parse(text), "here");
        REQUIRE_FALSE(wrong);
        CHECK(wrong.error() == ipybox::errc::invalid_argument);
        CHECK(wrong.error().text().starts_with("here"));
    }
}

TEST_CASE("tool_pattern: names server and tool") {
    CHECK(tool_pattern::named("pay.*").covers(tool_subject("pay", "send")) == match::yes);
    CHECK(tool_pattern::named("pay.*").covers(tool_subject("payroll", "send")) == match::no);
    CHECK(tool_pattern::named("pay*.*").covers(tool_subject("payroll", "send")) == match::yes);
    CHECK(tool_pattern::named("pay").covers(tool_subject("pay", "send")) == match::yes);
    CHECK(tool_pattern::named("pay.send").covers(tool_subject("pay", "send.all")) == match::no);
    CHECK(tool_pattern::named("*.send").covers(tool_subject("pay", "send")) == match::yes);
    // Only one dot parts: no server can pass for another one by its tools, or the other way round.
    CHECK(tool_pattern::named("a.b.c").covers(tool_subject("a", "b.c")) == match::yes);
    CHECK(tool_pattern::named("a.b.c").covers(tool_subject("a.b", "c")) == match::no);
    auto shell = tool_subject("pay", "send");
    shell.kind = ipybox::approval_subject::action::shell;
    CHECK(tool_pattern::named("*").covers(shell) == match::no);
}

TEST_CASE("tool_pattern: all conditions have to hold") {
    auto pattern = tool_pattern::named("pay.*");
    pattern.where = {{"amount", grant::comparison::at_most, 100}, {"to", grant::comparison::equal, "bob"}};
    CHECK(pattern.covers(tool_subject("pay", "send", {{"amount", 5}, {"to", "bob"}})) == match::yes);
    CHECK(pattern.covers(tool_subject("pay", "send", {{"amount", 500}, {"to", "bob"}})) == match::no);
    CHECK(pattern.covers(tool_subject("pay", "send", {{"amount", 5}})) == match::unsure);
    CHECK(pattern.covers(tool_subject("pay", "send", {{"amount", 500}})) == match::no);
    CHECK(pattern.covers(tool_subject("say", "send", {{"amount", 5}})) == match::no);
    CHECK(pattern.covers({.server = "pay", .tool = "send"}) == match::unsure); // no arguments at all
}
