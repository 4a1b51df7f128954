#include <ipybox/codegen/generated_package.hpp>
#include <ipybox/codegen/impl/package_mark.hpp>
#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/json_depth.hpp>
#include <ipybox/core/json_text.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace ipybox;
using namespace ipybox::codegen;
using nlohmann::ordered_json;
using test::contains;

namespace {

mcp::tool named(std::string name) {
    mcp::tool tool;
    tool.name = std::move(name);
    tool.input_schema = ordered_json::parse(R"({"type": "object"})");
    return tool;
}

} // namespace

TEST_CASE("generate: the files of a package") {
    auto get = named("get-user");
    get.description = "Gets a user. And more.";
    get.input_schema =
        ordered_json::parse(R"({"type": "object", "properties": {"id": {}, "x": {}}, "required": ["id"]})");
    auto const package = generated_package::make("github", {get, named("list")});
    REQUIRE(package);
    CHECK(package->server_name == "github");
    CHECK(package->modules == std::vector<std::string>{"get_user", "list"});
    CHECK(package->notices.empty());
    std::vector<std::string> files;
    for (auto const& [name, text] : package->files) files.push_back(name);
    CHECK(files == std::vector<std::string>{"__init__.py", "_client.py", "_errors.py", "_mcp.py", "_model.py",
                                            "_pattern.py", "_ready.py", "_schema.py", "_schemas.json", "_values.py",
                                            "get_user.py", "list.py", "py.typed"});
    auto const& index = package->files.at("__init__.py");
    CHECK(contains(index, "get_user(id, ...) - Gets a user.\nlist()\n"));
    CHECK(contains(index,
                   "    result = get_user.run(id=...)\n    results = await asyncio.gather(get_user.arun(...), ...)"));
    CHECK(contains(index,
                   "from ._client import package\n\nCLIENT, __getattr__, __dir__ = package(__name__, \"github\")\n"));
}

TEST_CASE("generate: the list is kept as it came") {
    auto tool = named("a");
    tool.title = "A";
    tool.input_schema = ordered_json::parse(R"({"z": 1, "type": "object", "a": {"$ref": "#/z"}})");
    tool.annotations = {{"readOnlyHint", true}};
    auto const package = generated_package::make("server", {tool});
    auto const list = ordered_json::parse(package->files.at("_schemas.json"));
    CHECK(list["generator"] == std::string(ipybox::codegen::detail::generator_mark));
    CHECK(list["server"] == "server");
    CHECK(list["modules"] == ordered_json{{"a", "a"}});
    CHECK(list["tools"][0]["inputSchema"].dump() == tool.input_schema.dump());
    CHECK(list["tools"][0]["title"] == "A");
    CHECK(package->files.at("_schemas.json")
              .starts_with("{\"generator\":\"" + std::string(ipybox::codegen::detail::generator_mark) + "\""));
}

TEST_CASE("generate: a remark about the list is a notice") {
    auto last = named("b");
    last.remark = "the rest of the list is missing";
    generate_options options;
    options.filter = [](mcp::tool const& tool) { return tool.name == "a"; };
    auto const package = generated_package::make("server", {named("a"), last}, options);
    REQUIRE(package);
    CHECK(package->modules == std::vector<std::string>{"a"});
    REQUIRE(package->notices.size() == 1);
    CHECK(package->notices[0].tool.empty());
    CHECK(package->notices[0].text == last.remark);
}

TEST_CASE("generate: only the name of the server is in a package (W16)") {
    auto const package = generated_package::make("server", {named("a")});
    CHECK(contains(package->files.at("__init__.py"), "package(__name__, \"server\")\n"));
    for (auto const& [name, text] : package->files) {
        CAPTURE(name);
        for (auto const* word : {"server_params", "environ", "command", "headers", "http"})
            if (name != "_pattern.py") CHECK(text.find(word) == std::string::npos);
    }
}

TEST_CASE("generate: names of servers (W13)") {
    for (auto const* name : {"", "..", "../../home", "/etc", "a/b", "a b", "import"}) {
        auto const refused = generated_package::make(name, {});
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::invalid_argument);
    }
    auto const standard = generated_package::make("json", {}); // a part of its root package
    REQUIRE(standard);
    CHECK(standard->notices.empty());
}

TEST_CASE("generate: a tool that cannot have a module is left out, with a notice") {
    auto deep = named("deep");
    for (int i = 0; i < 500; ++i) deep.input_schema = ordered_json{{"items", deep.input_schema}};
    auto const package =
        generated_package::make("server", {named("a"), named("a"), deep, named(std::string(2000, 'x')), named("b")});
    REQUIRE(package);
    CHECK(package->modules == std::vector<std::string>{"a", "b"});
    REQUIRE(package->notices.size() == 3);
    CHECK(package->notices[0].tool == "a");
    CHECK(contains(package->notices[0].text, "same name"));
    CHECK(contains(package->notices[1].text, "nested"));
    CHECK(contains(package->notices[2].text, "1000 bytes"));
}

TEST_CASE("generate: a name of 1000 bytes, and one more") {
    auto const package =
        generated_package::make("server", {named(std::string(1000, 'x')), named(std::string(1001, 'y'))});
    REQUIRE(package);
    CHECK(package->modules.size() == 1);
    REQUIRE(package->notices.size() == 1);
    CHECK(package->notices[0].tool == std::string(1000, 'y'));
    CHECK(contains(package->notices[0].text, "more than 1000 bytes"));
}

TEST_CASE("generate: a schema of 400 levels, and one more") {
    auto tool = named("deep"); // its schema has a level already
    while (!nests_deeper_than(399, tool.input_schema)) tool.input_schema = ordered_json{{"items", tool.input_schema}};
    auto package = generated_package::make("server", {tool});
    CHECK(package->modules.size() == 1);
    tool.input_schema = ordered_json{{"items", tool.input_schema}};
    package = generated_package::make("server", {tool});
    CHECK(package->modules.empty());
    REQUIRE(package->notices.size() == 1);
    CHECK(contains(package->notices[0].text, "more than 400 levels"));
}

TEST_CASE("generate: 5000 tools, and one more", "[large]") {
    std::vector<mcp::tool> tools;
    for (int i = 0; i < 5000; ++i) tools.push_back(named("t" + std::to_string(i)));
    CHECK(generated_package::make("server", tools)->notices.empty());
    tools.push_back(named("last"));
    auto const package = generated_package::make("server", tools);
    CHECK(package->modules.size() == 5000);
    CHECK(package->notices.size() == 1);
}

TEST_CASE("generate: a schema of 1 MiB is followed, and one byte more is not") {
    auto tool = named("large");
    tool.input_schema["properties"] = {{"a", {{"type", "string"}}}};
    tool.input_schema["description"] = "";
    auto const rest = (std::size_t(1) << 20) - json_text(tool.input_schema).size();
    tool.input_schema["description"] = std::string(rest, 'x');
    CHECK(contains(generated_package::make("server", {tool})->files.at("large.py"), "    a: "));
    tool.input_schema["description"] = std::string(rest + 1, 'x');
    auto const module = generated_package::make("server", {tool})->files.at("large.py");
    CHECK_FALSE(contains(module, "    a: "));
    CHECK(contains(module, "more than 1 MiB"));
}

TEST_CASE("generate: a list of 16 MiB, and one byte more") {
    auto tool = named("large");
    auto const listed = [&tool](std::size_t text) {
        tool.annotations = {{"x", std::string(text, 'x')}}; // which no module has
        return generated_package::make("server", {tool});
    };
    auto const most = std::size_t(16) << 20;
    auto const rest = most - listed(0)->files.at("_schemas.json").size();
    auto const fits = listed(rest);
    REQUIRE(fits);
    CHECK(fits->files.at("_schemas.json").size() == most);
    auto const refused = listed(rest + 1);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::invalid_argument);
    CHECK(contains(refused.error().text(), "choose fewer"));
}

TEST_CASE("generate: a list of 1,000,000 values, and one more", "[large]") {
    auto tool = named("wide");
    auto& values = tool.input_schema["x"] = ordered_json::array();
    auto const count = [](std::string const& list) {
        return ipybox::detail::count_json(list, {list.size(), list.size(), list.size()}).values;
    };
    auto const listed = [&tool] { return generated_package::make("server", {tool}); };
    auto const most = std::size_t(1'000'000);
    auto const rest = most - count(listed()->files.at("_schemas.json"));
    values = ordered_json(ordered_json::array_t(rest, 1));
    auto const fits = listed();
    REQUIRE(fits);
    CHECK(count(fits->files.at("_schemas.json")) >= most - 1);
    for (int i = 0; i < 2; ++i) values.push_back(1); // an empty array counts as one
    CHECK_FALSE(listed());
}

TEST_CASE("generate: a tool with a schema that cannot be used takes any arguments") {
    auto large = named("large");
    large.input_schema["description"] = std::string(2 << 20, 'x');
    auto odd = named("odd");
    odd.input_schema = 5;
    auto const package = generated_package::make("server", {large, odd});
    CHECK(package->modules.size() == 2);
    CHECK(package->notices.size() == 2);
    for (auto const* name : {"large.py", "odd.py"}) {
        CHECK(contains(package->files.at(name), "class Params(Model):\n    pass\n"));
        CHECK(contains(package->files.at(name), "Not checked here ("));
        CHECK(package->files.at(name).size() < 4000);
    }
}

TEST_CASE("generate: a long sentence is cut in the index, by characters") {
    std::string sentence;
    for (int i = 0; i < 100; ++i) sentence += "ö";
    auto tool = named("t");
    tool.description = sentence;
    CHECK(contains(generated_package::make("server", {tool})->files.at("__init__.py"), "t() - " + sentence + "\n"));
    tool.description = sentence + "x";
    CHECK(contains(generated_package::make("server", {tool})->files.at("__init__.py"),
                   "t() - " + sentence.substr(0, 2 * 99) + "…\n"));
}

TEST_CASE("generate: instructions of a server are quoted, of long ones the beginning") {
    generate_options options;
    options.instructions = "  Start with \"look\".\n\n\\n is two characters.\n\"\"\" ends nothing.\u202E ";
    auto package = generated_package::make("server", {named("a")}, options);
    CHECK(
        contains(package->files.at("__init__.py"),
                 "\nInstructions of the server's author:\n\n    Start with \"look\".\n\n    \\\\n is two characters.\n"
                 "    \\\"\\\"\" ends nothing.\\u202e\n\nTools, with"));
    CHECK(ordered_json::parse(package->files.at("_schemas.json"))["instructions"] == options.instructions);

    options.instructions = std::string(3999, 'x') + "ö";
    package = generated_package::make("server", {named("a")}, options);
    CHECK(contains(package->files.at("__init__.py"),
                   "    " + std::string(3999, 'x') + "\n    … not all of it: mcptools.describe(\"server\") shows"));
    options.instructions = std::string(4000, 'x');
    package = generated_package::make("server", {named("a")}, options);
    CHECK_FALSE(contains(package->files.at("__init__.py"), "not all of it"));

    options.instructions = std::string(70'000, '\xFF');
    package = generated_package::make("server", {named("a")}, options);
    CHECK(ordered_json::parse(package->files.at("_schemas.json"))["instructions"].get<std::string>().size() ==
          3 * 64 * 1024);

    options.instructions = " \n ";
    package = generated_package::make("server", {named("a")}, options);
    CHECK_FALSE(contains(package->files.at("__init__.py"), "Instructions"));
}

TEST_CASE("generate: texts that are no UTF-8") {
    auto tool = named("a");
    tool.description = "\xED\xA0\x80";
    tool.input_schema["properties"] = {{"p", {{"description", "\xC0"}}}};
    auto const package = generated_package::make("server", {tool});
    REQUIRE(package);
    CHECK(package->notices.empty());
    auto const list = ordered_json::parse(package->files.at("_schemas.json"));
    CHECK(list["tools"][0]["inputSchema"]["properties"]["p"]["description"] == "\xEF\xBF\xBD");
}

TEST_CASE("generate: where a name or a compared text is no Unicode, the tool is left out") {
    auto const with = [](char const* properties) {
        auto tool = named("t");
        // as servers are read: halves of surrogate pairs are U+FFFD by now
        tool.input_schema["properties"] = *read_json<ordered_json>(properties);
        return tool;
    };
    for (auto const& tool : {with(R"({"a\ud800": {}, "a\ud801": {}})"), with(R"({"a": {"enum": ["x", "\udc00"]}})"),
                             with(R"({"a": {"const": {"b": "\udc00"}}})"), with("{\"a\xFF\": {}}"), named("t\xFF")}) {
        auto const package = generated_package::make("server", {tool, named("other")});
        REQUIRE(package);
        CHECK(package->modules == std::vector<std::string>{"other"});
        REQUIRE(package->notices.size() == 1);
        CHECK(contains(package->notices[0].text, "not valid Unicode"));
    }
    auto const fine =
        generated_package::make("server", {with(R"({"const": {"title": "\ud800"}, "enum": {"type": "string"}})")});
    CHECK(fine->modules.size() == 1);
    CHECK(fine->notices.empty());
}

TEST_CASE("generate: a number that no 64 bits hold is compared as the nearest one, with a notice") {
    auto tool = named("large");
    tool.input_schema["properties"] =
        *read_json<ordered_json>(R"({"a": {"const": 123456789012345678901234567890}, "b": {"maximum": 1e308}})");
    auto const package = generated_package::make("server", {tool});
    REQUIRE(package->notices.size() == 1);
    CHECK(contains(package->notices[0].text, "beyond 64 bits"));
    CHECK(contains(package->files.at("large.py"), "    a: "));
    tool.input_schema["properties"] =
        *read_json<ordered_json>(R"({"a": {"enum": [18446744073709551615, -9223372036854775808, 1.5]}})");
    CHECK(generated_package::make("server", {tool})->notices.empty());
}

TEST_CASE("generate: names of no type are left out, with a notice") {
    auto tool = named("t");
    tool.input_schema["properties"] =
        ordered_json::parse(R"({"a": {"type": "text"}, "b": {"type": ["string", "nil"]}, "c": {"type": "string"}})");
    auto const package = generated_package::make("server", {tool});
    REQUIRE(package->notices.size() == 2);
    CHECK(package->notices[0].text == "type text at #/properties/a is none of JSON Schema: it is left out");
    CHECK(contains(package->notices[1].text, "type nil at #/properties/b"));
}

TEST_CASE("generate: a filter says which tools get a module") {
    generate_options options;
    options.filter = [](mcp::tool const& tool) { return tool.name != "delete"; };
    auto const package = generated_package::make("server", {named("get"), named("delete")}, options);
    CHECK(package->modules == std::vector<std::string>{"get"});
    CHECK_FALSE(contains(package->files.at("_schemas.json"), "delete"));
}

TEST_CASE("generate: references of the dialect 2019-09 alone are told") {
    auto tool = named("t");
    tool.input_schema["properties"] = ordered_json::parse(R"({"a": {"$recursiveRef": "#"}})");
    auto const package = generated_package::make("server", {tool});
    REQUIRE(package->notices.size() == 1);
    CHECK(contains(package->notices[0].text, "$recursiveRef"));
    tool.input_schema["properties"] = ordered_json::parse(R"({"$recursiveRef": {"enum": ["$recursiveRef"]}})");
    CHECK(generated_package::make("server", {tool})->notices.empty());
}
