#include <ipybox/mcp/tool_call_machine.hpp>
#include <ipybox/mcp/tool_list_machine.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::mcp;
using nlohmann::json;

/// What would be sent.
template <class Machine>
json params_of(Machine const& m) {
    return json::parse(write_rpc_request(1, "m", m.params()))["params"];
}

tool_call_machine calling(json arguments = {{"a", 1}}) {
    auto m = tool_call_machine::make("t", arguments);
    REQUIRE(m);
    return std::move(*m);
}

std::vector<tool> tools_of(std::string const& page) {
    auto end = tool_list_machine().on_result(page);
    REQUIRE(end);
    REQUIRE(*end);
    return std::move(**end);
}

std::vector<std::string> names_of(std::vector<tool> const& tools) {
    std::vector<std::string> names;
    for (auto const& each : tools) names.push_back(each.name);
    return names;
}

} // namespace

TEST_CASE("tool_call_machine: one request, one result") {
    auto m = calling();
    CHECK(params_of(m) == json{{"name", "t"}, {"arguments", {{"a", 1}}}});
    for (auto const* const type : {"", R"("resultType":"complete",)"}) {
        auto const end = m.on_result("{" + std::string(type) + R"("content":[{"type":"text","text":"x"}]})");
        REQUIRE(end);
        REQUIRE(*end);
        CHECK((*end)->text() == "x");
    }
    auto const bad = m.on_result("[]");
    REQUIRE(bad);
    CHECK(bad->error() == errc::protocol_error);
}

TEST_CASE("tool_call_machine: arguments that cannot be sent") {
    for (json const& arguments : {json(), json(7), json("x"), json::array()})
        CHECK(tool_call_machine::make("t", arguments).error() == errc::invalid_argument);
    CHECK(tool_call_machine::make("t", {{"a", "\xff"}}).error() == errc::invalid_argument);
    CHECK(tool_call_machine::make("\xff", json::object()).error() == errc::invalid_argument);
    nlohmann::ordered_json deep = nlohmann::ordered_json::object();
    for (int level = 0; level < 100'000; ++level) deep = nlohmann::ordered_json::object({{"a", std::move(deep)}});
    CHECK(tool_call_machine::make("t", deep).error() == errc::invalid_argument);
}

TEST_CASE("tool_call_machine: the server's state goes back as it came") {
    auto m = calling();
    std::string const state = R"("AE\u0041D \/ \"blob\"")";
    REQUIRE_FALSE(m.on_result(R"({"resultType":"input_required","requestState":)" + state + "}"));
    CHECK(m.params().back().value == state);
    CHECK(params_of(m)["requestState"] == "AEAD / \"blob\"");
    REQUIRE_FALSE(m.on_result(R"({"resultType":"input_required","inputRequests":{},"requestState":"second"})"));
    CHECK(params_of(m)["requestState"] == "second");
    CHECK(params_of(m)["arguments"] == json{{"a", 1}});
    CHECK(m.on_result(R"({"resultType":"complete","content":[]})"));
}

TEST_CASE("tool_call_machine: nobody gives input") {
    auto m = calling();
    auto const end = m.on_result(
        R"({"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{}}},"requestState":"s"})");
    REQUIRE(end);
    REQUIRE_FALSE(*end);
    CHECK(end->error() == errc::mcp_input_required);
    CHECK(test::contains(end->error().text(), "elicitation/create"));
    for (auto const* const asked : {R"([1])", R"({"k":7})", R"({"k":{"method":7}})"})
        CHECK(calling()
                  .on_result(R"({"resultType":"input_required","inputRequests":)" + std::string(asked) + "}")
                  ->error() == errc::mcp_input_required);
}

TEST_CASE("tool_call_machine: results of other types, and rounds without end") {
    CHECK(calling().on_result(R"({"resultType":"task"})")->error() == errc::protocol_error);
    for (auto const* const more : {"", R"(,"inputRequests":null,"requestState":null)"})
        CHECK(calling().on_result(R"({"resultType":"input_required")" + std::string(more) + "}")->error() ==
              errc::protocol_error);
    auto m = calling();
    auto const again = R"({"resultType":"input_required","requestState":"s"})";
    for (int round = 1; round < tool_call_machine::most_rounds; ++round) REQUIRE_FALSE(m.on_result(again));
    auto const end = m.on_result(again);
    REQUIRE(end);
    CHECK(end->error() == errc::mcp_input_required);
}

TEST_CASE("tool_list_machine: page after page") {
    tool_list_machine m;
    CHECK(params_of(m) == json::object());
    REQUIRE_FALSE(m.on_result(R"({"tools":[{"name":"a","inputSchema":{}}],"nextCursor":""})"));
    CHECK(params_of(m) == json{{"cursor", ""}});
    REQUIRE_FALSE(m.on_result(R"({"tools":[],"nextCursor":"\u0032"})"));
    CHECK(params_of(m) == json{{"cursor", "2"}});
    auto const end = m.on_result(R"({"tools":[{"name":"b"}],"nextCursor":null})");
    REQUIRE(end);
    REQUIRE(*end);
    REQUIRE((*end)->size() == 2);
    CHECK((**end)[0].name == "a");
    CHECK((**end)[1].name == "b");
}

TEST_CASE("tool_list_machine: all of a tool, schemas in their order") {
    tool_list_machine m;
    auto const end =
        m.on_result(R"({"tools":[{"name":"n","title":"T","description":"D","annotations":{"readOnlyHint":true},
        "inputSchema":{"type":"object","properties":{"z":{},"a":{}}},"outputSchema":{"z":1,"a":2},"icons":[1]},
        {"title":"nameless"},{"name":"bare","title":7}]})");
    REQUIRE(end);
    REQUIRE(*end);
    REQUIRE((*end)->size() == 2);
    auto const& t = (**end)[0];
    CHECK(t.name == "n");
    CHECK(t.title == "T");
    CHECK(t.description == "D");
    CHECK(t.annotations == json{{"readOnlyHint", true}});
    CHECK(ipybox::mcp::detail::annotations_of(t).read_only);
    CHECK_FALSE(ipybox::mcp::detail::annotations_of(t).destructive);
    CHECK(t.input_schema.dump() == R"({"type":"object","properties":{"z":{},"a":{}}})");
    REQUIRE(t.output_schema);
    CHECK(t.output_schema->dump() == R"({"z":1,"a":2})");
    auto const& bare = (**end)[1];
    CHECK_FALSE(bare.title);
    CHECK_FALSE(bare.description);
    CHECK_FALSE(bare.output_schema);
    CHECK(bare.input_schema == nlohmann::ordered_json::object());
}

TEST_CASE("tool_list_machine: one tool that cannot be read costs no other") {
    auto const deep = std::string(600, '[') + std::string(600, ']');
    auto const end =
        tool_list_machine().on_result(R"({"tools":[{"name":"a"},{"inputSchema":)" + deep +
                                      R"(,"name":"deep"},{"name":"odd","inputSchema":{nope}},{"name":"z"}]})");
    REQUIRE(end);
    REQUIRE(*end);
    REQUIRE((*end)->size() == 4);
    CHECK((**end)[0].problem.empty());
    CHECK((**end)[1].name == "deep");
    CHECK(test::contains((**end)[1].problem, "nests more than 500 levels"));
    CHECK_FALSE((**end)[2].problem.empty());
    CHECK((**end)[3].problem.empty());

    auto const mixed = tool_list_machine().on_result(R"({"tools":[5,null,{},{"name":5},{"name":"a"}]})");
    REQUIRE(mixed);
    REQUIRE(*mixed);
    REQUIRE((*mixed)->size() == 1);
    CHECK((**mixed)[0].name == "a");
}

TEST_CASE("tool_list_machine: a tool that runs as a task only says so") {
    for (auto const& [support, needs] : {std::pair("required", true), {"optional", false}, {"forbidden", false}}) {
        auto const end = tool_list_machine().on_result(
            R"({"tools":[{"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":")" +
            std::string(support) + R"("}}]})");
        REQUIRE(end);
        REQUIRE(*end);
        CAPTURE(support);
        CHECK((**end)[0].needs_task == needs);
        CHECK((**end)[0].problem.empty());
        CHECK((**end)[0].input_schema.contains("type"));
    }
}

TEST_CASE("tool_list_machine: null stands for what is left out") {
    CHECK(tools_of(R"({"tools":null,"nextCursor":null,"_meta":null})").empty());
    auto const tools = tools_of(R"({"tools":[null,{"name":"a","title":null,"description":null,"inputSchema":null,
        "outputSchema":null,"annotations":null,"execution":null,"icons":null,"_meta":null}]})");
    REQUIRE(tools.size() == 1);
    CHECK_FALSE((tools[0].title || tools[0].description || tools[0].output_schema || tools[0].annotations));
    CHECK(tools[0].input_schema == nlohmann::ordered_json::object());
    CHECK((tools[0].problem.empty() && tools[0].remark.empty()));
}

TEST_CASE("tool_list_machine: a list ends where nothing new comes, and what came is kept") {
    struct row {
        char const* next;
        std::vector<char const*> pages; ///< what follows, page after page
        std::size_t requests;
        std::vector<std::string> names;
    };
    auto const page = [](std::string const& names, std::string const& next) {
        return R"({"tools":[)" + names + R"(],"nextCursor":)" + next + "}";
    };
    auto const a = R"({"name":"a"})";
    auto const b = R"({"name":"b"})";
    for (auto const& [next, pages, requests, names] :
         {row{R"("")", {a, a}, 2, {"a"}},          // for "no more"
          row{R"("")", {a, b, b}, 3, {"a", "b"}},  // for a second page
          row{R"("8")", {a, a}, 2, {"a"}},         // one page for every cursor
          row{R"("8")", {a, b, b}, 3, {"a", "b"}}, // a server that counts by itself
          row{R"("8")", {a, R"({"name":"b"},{"name":"a"})", b}, 3, {"a", "b"}}, row{R"("8")", {"", ""}, 2, {}},
          row{"false", {a}, 1, {"a"}}, row{"null", {a}, 1, {"a"}}}) {
        CAPTURE(next, pages.size());
        tool_list_machine m;
        std::optional<result<std::vector<tool>>> end;
        std::size_t asked = 0;
        for (; !end && asked < pages.size(); ++asked) end = m.on_result(page(pages[asked], next));
        CHECK(asked == requests);
        REQUIRE(end);
        REQUIRE(*end);
        CHECK(names_of(**end) == names);
        for (auto const& t : **end) CHECK(t.remark.empty());
    }
}

TEST_CASE("tool_list_machine: empty pages between others are passed over") {
    tool_list_machine m;
    REQUIRE_FALSE(m.on_result(R"({"tools":[{"name":"a"}],"nextCursor":"1"})"));
    REQUIRE_FALSE(m.on_result(R"({"tools":[],"nextCursor":"2"})"));
    auto const end = m.on_result(R"({"tools":[{"name":"b"}]})");
    REQUIRE(end);
    CHECK(names_of(**end) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("tool_list_machine: a cursor that is no string goes back as it came, with a remark") {
    for (std::string const odd : {"50", R"({"offset":50})", "true", "0"}) {
        CAPTURE(odd);
        tool_list_machine m;
        REQUIRE_FALSE(m.on_result(R"({"tools":[{"name":"a"}],"nextCursor":)" + odd + "}"));
        CHECK(m.params().back().value == odd);
        auto const end = m.on_result(R"({"tools":[{"name":"b"}]})");
        REQUIRE(end);
        REQUIRE((*end)->size() == 2);
        CHECK((**end)[1].remark ==
              "the list has the cursor " + odd + ", which is not a string: it was sent back as it came");
    }
}

TEST_CASE("tool_list_machine: the tools so far are kept when a later page cannot be had") {
    error const refusal(errc::mcp_refused, "refused `tools/list`: Invalid cursor (-32602)");
    CHECK(tool_list_machine().on_refusal(refusal, -32602).error().text() == refusal.text());
    auto const rest_after = [](std::string const& next, auto end) {
        tool_list_machine m;
        REQUIRE_FALSE(m.on_result(R"({"tools":[{"name":"a"}],"nextCursor":)" + next + "}"));
        result<std::vector<tool>> tools = end(m);
        REQUIRE(tools);
        REQUIRE(tools->size() == 1);
        return tools->front().remark;
    };
    auto const refuse = [&](tool_list_machine& m) { return m.on_refusal(refusal, -32602); };
    CHECK(rest_after(R"("")", refuse).empty()); // it was the end
    CHECK(rest_after(R"("2")", refuse) ==
          "the rest of the list is missing: the server refused `tools/list`: Invalid cursor (-32602)");
    CHECK(test::contains(rest_after("2", refuse), "it was sent back as it came; the rest of the list is missing"));
    CHECK(test::contains(rest_after(R"("2")", [](auto& m) { return *m.on_result("[]"); }),
                         "the rest of the list is missing: the server answered `tools/list` with something"));
}

TEST_CASE("tool_list_machine: a server that does not know the method has no tools") {
    error const refusal(errc::mcp_refused, "refused `tools/list`: Method not found (-32601)");
    CHECK(tool_list_machine().on_refusal(refusal, -32601)->empty());
}

TEST_CASE("tool_list_machine: what is no list, and lists without an end") {
    for (auto const* const text : {"", "[]", "{}", R"({"tools":{}})", R"({"tools":[{]})", R"({"tools":[]} more)"}) {
        CAPTURE(text);
        auto const end = tool_list_machine().on_result(text);
        REQUIRE(end);
        CHECK(end->error() == errc::protocol_error);
    }
    tool_list_machine m;
    std::optional<result<std::vector<tool>>> end;
    int pages = 0;
    for (; !end && pages < 2 * tool_list_machine::most_pages; ++pages) {
        auto const number = std::to_string(pages);
        end = m.on_result(R"({"tools":[{"name":")" + number + R"("}],"nextCursor":")" + number + R"("})");
    }
    REQUIRE(end);
    REQUIRE(*end);
    CHECK(pages == tool_list_machine::most_pages);
    CHECK((*end)->size() == tool_list_machine::most_pages);
    CHECK((*end)->back().remark == "the list has no end: the first 1000 tools were taken");
}
