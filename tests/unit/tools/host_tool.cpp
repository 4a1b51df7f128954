#include <ipybox/mcp/call_result.hpp>
#include <ipybox/tools/host_tool.hpp>
#include <ipybox/tools/host_tools.hpp>

#include <asio/io_context.hpp>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace {

struct span_of_days {
    int first = 0;
    std::optional<int> last;
};
IPYBOX_TOOL_TYPE(span_of_days, first, last)

struct branch {
    std::vector<branch> below;
};
IPYBOX_TOOL_TYPE(branch, below)

class counter {
  public:
    int add(int by) { return count_ += by; }
    [[nodiscard]] int count() const noexcept { return count_; }

  private:
    int count_ = 0;
};

using namespace ipybox;
using namespace ipybox::test;

int twice(int n) { return 2 * n; }

} // namespace

TEST_CASE("host_tool: what it says of itself", "[fast]") {
    host_tool const tool("find", "Finds it", {{"where", "a place"}, "deep"},
                         [](std::string const&, std::optional<bool>) { return 1; },
                         {.title = "Find", .read_only = true, .destructive = false});
    CHECK(tool.name() == "find");
    auto const& listed = tool.listed();
    CHECK(listed.title == "Find");
    CHECK(listed.description == "Finds it");
    CHECK(
        listed.input_schema.dump() ==
        R"({"type":"object","properties":{"where":{"type":"string","description":"a place"},"deep":{"anyOf":[{"type":"boolean"},{"type":"null"}]}},)"
        R"("required":["where"],"additionalProperties":false})");
    CHECK(listed.output_schema->dump() == R"({"type":"integer"})");
    CHECK(*listed.annotations == nlohmann::json{{"readOnlyHint", true}, {"destructiveHint", false}});
    CHECK(tool.check());
}

TEST_CASE("host_tool: a struct whose members are the parameters", "[fast]") {
    host_tool const days("days", "", [](span_of_days const& d) { return d.first; });
    CHECK(
        days.listed().input_schema.dump() ==
        R"({"type":"object","properties":{"first":{"type":"integer"},"last":{"anyOf":[{"type":"integer"},{"type":"null"}]}},)"
        R"("required":["first"],"additionalProperties":false})");
    host_tool const grow("grow", "", [](branch const&) {});
    CHECK(grow.listed().input_schema.at("properties").dump() ==
          R"({"below":{"type":"array","items":{"$ref":"#/$defs/branch"}}})");
    CHECK(grow.check());
}

TEST_CASE("host_tool: functions of all kinds", "[fast]") {
    host_tool const plain("twice", "", {"n"}, twice);
    host_tool const pointer("twice", "", {"n"}, &twice);
    host_tool const erased("twice", "", {"n"}, std::function<int(int)>(twice));
    host_tool const changes("count", "", [n = 0]() mutable { return ++n; });
    host_tool const replies("later", "", {"n"}, [](int, tool_context const&, tool_reply<std::vector<int>> const&) {});
    host_tool const awaits("awaits", "", {"n"}, [](int n) -> asio::awaitable<result<double>> { co_return n; });
    CHECK(plain.listed().input_schema == erased.listed().input_schema);
    CHECK(replies.listed().output_schema->dump() == R"({"type":"array","items":{"type":"integer"}})");
    CHECK(awaits.listed().output_schema->dump() == R"({"type":"number"})");
    CHECK_FALSE(host_tool("text", "", [] { return std::string(); }).listed().output_schema);
    CHECK(host_tool("any", "", [] { return tool_result(); }).listed().output_schema->dump() == "{}");
    CHECK(host_tool("none", "", [] {}).listed().output_schema->dump() == R"({"type":"null"})");

    counter object;
    auto const shared = std::make_shared<counter>();
    auto const tools = host_tools("counter")
                           .add("add", "", {"by"}, host_tool::method(object, &counter::add))
                           .add("count", "", host_tool::method(shared, &counter::count));
    CHECK(tools.list().size() == 2);
    CHECK(host_tool::method(object, &counter::add)(3) == 3);
    CHECK(host_tool::method(shared, &counter::add)(4) == 4);
    CHECK(object.count() == 3);
}

TEST_CASE("host_tool: what cannot be offered", "[fast]") {
    auto const refusal = [](host_tool const& tool) {
        auto const fits = tool.check();
        return fits ? "" : std::string(fits.error().text());
    };
    CHECK(contains(refusal(host_tool("", "", [] {})), "it has no name"));
    CHECK(contains(refusal(host_tool(std::string(129, 'x'), "", [] {})), "more than 128 bytes"));
    CHECK(contains(refusal(host_tool("\xFF", "", [] {})), "not UTF-8"));
    auto const sum = [](int a, int b) { return a + b; };
    CHECK(contains(refusal(host_tool("s", "", {"a", "a"}, sum)), "two parameters have the name a"));
    CHECK(contains(refusal(host_tool("s", "", {"a", "\xFF"}, sum)), "the name of a parameter is not UTF-8"));
    auto const of_json = [](nlohmann::ordered_json schema) {
        return host_tool::of_json("j", "", std::move(schema), [](nlohmann::json const& j) { return j; });
    };
    CHECK(contains(refusal(of_json({{"type", "string"}})), "has to be an object"));
    CHECK(contains(refusal(of_json(nlohmann::ordered_json::array())), "has to be an object"));
    CHECK(contains(refusal(of_json({{"type", "object"}, {"patternProperties", nlohmann::ordered_json::object()}})),
                   "host tool \"j\": the schema, at #/patternProperties"));
    host_tool const lost("c", "", []() -> asio::awaitable<void> { co_return; },
                         {.executor = [](std::function<void()> const& work) { work(); }});
    CHECK(contains(refusal(lost), "a coroutine needs an Asio executor"));
    CHECK(refusal(of_json({{"type", "object"}})).empty());
}

TEST_CASE("tool_result: as a server would return it", "[fast]") {
    auto made = tool_result::value({{"n", 3.0}});
    CHECK(made.get().structured_content->text() == R"({"n":3.0})");
    CHECK(tool_result::failed("why").has_failed());
    nlohmann::json deep;
    for (int i = 0; i < 600; ++i) deep = nlohmann::json::array({std::move(deep)});
    CHECK(tool_result::value(deep).get().text() == "the result is nested too deeply");
    CHECK(tool_result::text("a\xFFz").get().text() == "a\uFFFDz");
    auto const link = tool_result::text("t").add_link("\xFF", "n\xFF");
    auto const& sent = std::get<mcp::content::resource_link>(link.get().content.at(1).value);
    CHECK(sent.uri == "\uFFFD");
    CHECK(sent.name == "n\uFFFD");
    auto const endless = tool_result::value({{"n", {1.0, std::numeric_limits<double>::infinity()}}});
    CHECK(endless.has_failed());
    CHECK(endless.get().text() == "the result has a number that JSON does not have");
}
