#include <ipybox/action/action_request.hpp>
#include <ipybox/async/aside.hpp>
#include <ipybox/core/json_depth.hpp>

#include <support/catch.hpp>

#include <string>

using namespace ipybox;
using namespace ipybox::detail;

namespace {

template <class T>
T read_as(std::string head, std::string body = {}) {
    auto request = parse_action({std::move(head), std::move(body)});
    auto* const found = std::get_if<T>(&request);
    if (auto const* wrong = std::get_if<malformed_action>(&request)) INFO(wrong->what);
    REQUIRE(found);
    return std::move(*found);
}

malformed_action wrong(std::string head, std::string body = {}) {
    return read_as<malformed_action>(std::move(head), std::move(body));
}

} // namespace

TEST_CASE("action requests: a call") {
    auto const call =
        read_as<tool_call>(R"({"op":"call","id":7,"cell":"c","server":"github","tool":"search"})", R"({"q":[1,null]})");
    CHECK(call.id == 7);
    CHECK(call.cell == "c");
    CHECK(call.server == "github");
    CHECK(call.tool == "search");
    CHECK(*call.arguments == nlohmann::ordered_json{{"q", {1, nullptr}}});
}

TEST_CASE("action requests: a server is asked") {
    auto const ask = [](std::string_view method, std::string_view name) {
        return R"({"op":"ask","id":7,"cell":"c","after":3,"server":"docs","method":")" + std::string(method) +
               R"(","name":")" + std::string(name) + "\"}";
    };
    auto const read = read_as<server_inquiry>(ask("resources/read", "file:///a"));
    CHECK(read.id == 7);
    CHECK(read.cell == "c");
    CHECK(read.after == 3);
    CHECK(read.server == "docs");
    CHECK(read.query.what == mcp::server_query::method::read_resource);
    CHECK(read.query.name == "file:///a");
    CHECK_FALSE(read.query.arguments);
    for (auto const* const list : {"resources/list", "resources/templates/list", "prompts/list"})
        CHECK(to_string(read_as<server_inquiry>(ask(list, "")).query.what) == list);
    auto const prompt = read_as<server_inquiry>(ask("prompts/get", "p"), R"({"city":"Kiel"})");
    CHECK(prompt.query.arguments->text() == R"({"city":"Kiel"})");
    CHECK(*prompt.arguments == nlohmann::ordered_json{{"city", "Kiel"}});

    CHECK(wrong(ask("tools/list", "")).what == "method has to be one that asks for resources or prompts");
    CHECK(wrong(ask("resources/list", "x")).what == "name has to be empty: a list is asked for");
    CHECK(wrong(ask("resources/read", "")).what == "name has to be a URI, or the name of a prompt, without NUL");
    CHECK(wrong(ask("resources/read", "a\\u0000b")).what ==
          "name has to be a URI, or the name of a prompt, without NUL");
    CHECK(wrong(ask("prompts/get", "p"), "[]").what == "the body has to be a JSON object");
    CHECK(wrong(ask("prompts/get", "p")).what == "the body has to be a JSON object, and it is not JSON");
}

TEST_CASE("action requests: which message came before") {
    auto const call = [](std::string after) {
        return R"({"op":"call","id":7,"cell":"c","server":"s","tool":"t","after":)" + after + "}";
    };
    CHECK(read_as<tool_call>(call("12"), "{}").after == 12);
    CHECK(read_as<tool_call>(R"({"op":"call","id":7,"cell":"c","server":"s","tool":"t"})", "{}").after == 0);
    for (auto const* const bad : {"-1", "1.5", "null", "\"1\"", "1e99"})
        CHECK(wrong(call(bad), "{}").what == "after has to be an integer that is not negative");
}

TEST_CASE("action requests: a run") {
    auto const run = read_as<program_run>(
        R"({"op":"run","id":-1,"cell":"","kind":"shell_magic","argv":["bash","-x"],"cwd":"/w","env":{"A":"1","B":null},"merge":true})",
        "echo hi\n");
    CHECK(run.id == -1);
    CHECK(run.kind == approval_subject::action::shell_magic);
    CHECK(run.argv == std::vector<std::string>{"bash", "-x"});
    CHECK(run.cwd == "/w");
    CHECK(run.env == approval_subject::env_difference{{"A", "1"}, {"B", std::nullopt}});
    CHECK(run.merge);
    CHECK(run.input == "echo hi\n");
}

TEST_CASE("action requests: packages") {
    auto const one = read_as<package_request>(R"({"op":"packages","id":3,"server":"a","wait":true})");
    CHECK(one.server == "a");
    CHECK(one.waits);
    CHECK_FALSE(read_as<package_request>(R"({"op":"packages","id":3,"server":""})").waits);
}

TEST_CASE("action requests: a cancel") { CHECK(read_as<action_cancel>(R"({"op":"cancel","id":3})").id == 3); }

TEST_CASE("action requests: what is none says why, and whose it was") {
    CHECK(wrong("").what == "its head is no JSON object, or longer than the frame");
    CHECK(wrong("[1]").what == "its head is no JSON object, or longer than the frame");
    CHECK(wrong("{\"id\":1").what == "its head is no JSON object, or longer than the frame");
    CHECK(wrong(R"({"op":"call","id":"1"})").what == "id has to be an integer");
    CHECK_FALSE(wrong(R"({"op":"call","id":1.5})").id);

    auto const unknown = wrong(R"({"op":"approve","id":1})");
    CHECK(unknown.id == 1);
    CHECK(unknown.what == "op has to be call, ask, run, packages or cancel");
    CHECK(wrong(R"({"op":"call","id":1,"cell":"","server":"s"})", "{}").what == "tool has to be a string");
    CHECK(wrong(R"({"op":"call","id":1,"cell":"","server":"s","tool":"t"})", "[]").what ==
          "the body has to be a JSON object");
    CHECK(wrong(R"({"op":"call","id":1,"cell":"","server":"s","tool":"t"})", "{").what ==
          "the body has to be a JSON object, and it is not JSON");

    auto const run = [](std::string_view members) {
        return wrong(R"({"op":"run","id":1,"cell":"",)" + std::string(members) + "}").what;
    };
    CHECK(run(R"("kind":"tool","argv":["a"],"cwd":"/")") == "kind has to be shell, shell_magic or package");
    CHECK(run(R"("kind":"shell","argv":[],"cwd":"/")") ==
          "argv has to be a list of strings without NUL, and not empty");
    CHECK(run(R"("kind":"shell","argv":["a",1],"cwd":"/")") ==
          "argv has to be a list of strings without NUL, and not empty");
    CHECK(run(R"("kind":"shell","argv":["a\u0000b"],"cwd":"/")") ==
          "argv has to be a list of strings without NUL, and not empty");
    CHECK(run(R"("kind":"shell","argv":["a"],"cwd":"w")") == "cwd has to be an absolute path");
    CHECK(run(R"("kind":"shell","argv":["a"],"cwd":"/","env":{"A=B":"1"})") ==
          "env has to be an object of names and strings or nulls");
    CHECK(run(R"("kind":"shell","argv":["a"],"cwd":"/","env":{"A":1})") ==
          "env has to be an object of names and strings or nulls");
    for (auto const* no_object : {"null", "1", R"("A=1")", "[]", R"(["A"])"})
        CHECK(run(R"("kind":"shell","argv":["a"],"cwd":"/","env":)" + std::string(no_object)) ==
              "env has to be an object of names and strings or nulls");
    CHECK(run(R"("kind":"shell","argv":["a"],"cwd":"/","merge":1)") == "merge has to be true or false");
}

TEST_CASE("action requests: large arguments are built when they are looked at, as others are") {
    std::string const text(long_text, 'x');
    auto const call = [](std::string body) {
        auto const parsed =
            parse_action({R"({"op":"call","id":1,"cell":"c","server":"s","tool":"t"})", std::move(body)});
        REQUIRE(std::holds_alternative<tool_call>(parsed));
        return std::get<tool_call>(parsed).arguments;
    };
    auto const small = call(R"({"text":"x"})");
    CHECK(small.is_built());
    auto const large = call(R"({"text":")" + text + R"("})");
    CHECK_FALSE(large.is_built());
    auto const copy = large;
    CHECK(((*large)["text"] == text));
    CHECK(copy.get() == large.get());
}

TEST_CASE("action requests: a head at its bound, and one beyond it") {
    auto const cancel = [](std::size_t bytes) {
        std::string head = R"({"op":"cancel","id":3,"x":""})";
        head.insert(head.size() - 2, std::string(bytes - head.size(), 'x'));
        return head;
    };
    CHECK(read_as<action_cancel>(cancel(largest_head.bytes)).id == 3);
    CHECK(wrong(cancel(largest_head.bytes + 1)).what == "its head has more than 256 KiB, or too many values in it");

    auto const words = [](std::size_t count) {
        std::string head = R"({"op":"cancel","id":3,"x":[0)";
        for (std::size_t i = 1; i < count; ++i) head += ",0";
        return head + "]}";
    };
    // beside the list there are an object, three names and two values
    CHECK(read_as<action_cancel>(words(largest_head.values - 7)).id == 3);
    CHECK(wrong(words(largest_head.values - 6)).what == "its head has more than 256 KiB, or too many values in it");
    CHECK(wrong(std::string(200'000, '[')).what == "its head has more than 256 KiB, or too many values in it");
}

TEST_CASE("action requests: arguments at their bounds, and one beyond them") {
    std::string const head = R"({"op":"call","id":1,"cell":"","server":"s","tool":"t"})";
    auto const text = [](std::size_t bytes) { return R"({"a":")" + std::string(bytes - 8, 'x') + "\"}"; };
    CHECK(read_as<tool_call>(head, text(largest_arguments.bytes)).arguments->size() == 1);
    CHECK(wrong(head, text(largest_arguments.bytes + 1)).what == "the body has to be at most 64 MiB");

    auto const values = [](std::size_t count) {
        std::string list = R"({"a":[0)";
        for (std::size_t i = 1; i < count; ++i) list += ",0";
        return list + "]}";
    };
    auto const call = read_as<tool_call>(head, values(largest_arguments.values - 3));
    CHECK(call.arguments->at("a").size() == largest_arguments.values - 3);
    CHECK(call.size >= 64 * largest_arguments.values);
    CHECK(wrong(head, values(largest_arguments.values - 2)).what == "the body has to be of at most 100000 values");
    auto const nested = [](std::size_t levels) {
        return R"({"a":)" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
    };
    CHECK(ipybox::nests_deeper_than(499, *read_as<tool_call>(head, nested(500)).arguments));
    CHECK(wrong(head, nested(501)).what == "the body has to be a JSON object, and it is nested too deeply");
}

TEST_CASE("action requests: names of arguments hold no NUL, on any level") {
    std::string const head = R"({"op":"call","id":1,"cell":"","server":"s","tool":"t"})";
    for (auto const* body : {R"({"amount\u0000":1})", R"({"a":{"\u0000":1}})", R"({"a":[[{"b":{"x\u0000y":[]}}]]})"})
        CHECK(wrong(head, body).what == "the body has to be without NUL in the names of its members");
    CHECK(read_as<tool_call>(head, R"({"a":"\u0000","b":["\\u0000"]})").arguments->size() == 2);
}
