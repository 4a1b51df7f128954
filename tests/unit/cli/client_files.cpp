#include <support/catch.hpp>
#include <support/contains.hpp>

#include <cli/json_edit.hpp>
#include <cli/toml_edit.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace {

using namespace ipybox::cli;
using ipybox::test::contains;
using nlohmann::ordered_json;

ordered_json const entry{{"command", "/bin/ipybox"}, {"args", ordered_json::array({"mcp"})}};

std::string edited(std::string_view text) {
    auto const made = with_json_member(text, "mcpServers", "ipybox", entry);
    return made ? *made : "error: " + made.error().text();
}

std::string without(std::string_view text) {
    auto const made = without_json_member(text, "mcpServers", "ipybox");
    return made ? *made : "error: " + made.error().text();
}

/// Comments and trailing commas apart, as JSON.
ordered_json value_of(std::string const& text) { return ordered_json::parse(text, nullptr, true, true); }

} // namespace

TEST_CASE("json_edit: a file that is missing or empty becomes an object") {
    for (auto const* const text : {"", " \n", "{}", "{\n}\n", R"({"mcpServers":{}})"}) {
        CAPTURE(text);
        auto const made = edited(text);
        CHECK(value_of(made) == ordered_json{{"mcpServers", {{"ipybox", entry}}}});
        CHECK(edited(made) == made);
        CHECK(value_of(without(made)) == ordered_json{{"mcpServers", ordered_json::object()}});
    }
    CHECK(edited("") == R"({
  "mcpServers": {
    "ipybox": {
      "command": "/bin/ipybox",
      "args": [
        "mcp"
      ]
    }
  }
}
)");
}

TEST_CASE("json_edit: all else stays as it is, byte by byte") {
    std::string const before = "// mine\r\n{\r\n\t/* { */ \"a\" : 1.50, // \"mcpServers\"\r\n\t\"mcpServers\": "
                               "{\r\n\t\t\"x\": {\"command\": \"}\\\"\"}, // c\r\n\t},\r\n\t\"b\": [1, 2,],\r\n}\r\n";
    auto const made = edited(before);
    CHECK(without(made) == before);
    CHECK(contains(made, "\t\"mcpServers\": {\r\n\t\t\"ipybox\": {\r\n\t\t\t\"command\": \"/bin/ipybox\","));
    CHECK(contains(made, "// c\r\n\t},"));
    for (auto const* const text :
         {"{\"mcpServers\": {\"a\": {}, \"b\": {}}}",
          "{\n  \"numbers\": 1e400,\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}",
          "{\n    \"mcpServers\": {\n        \"a\": {} // last\n    }\n}\n", "\xEF\xBB\xBF{\"x\": 1}"}) {
        CAPTURE(text);
        auto const changed = edited(text);
        CHECK(contains(changed, "ipybox"));
        CHECK(edited(changed) == changed);
        if (contains(text, "mcpServers")) CHECK(without(changed) == text);
    }
}

TEST_CASE("json_edit: the last entry is taken out with the comma before it") {
    CHECK(without(R"({"mcpServers": {"a": {}, "ipybox": {}}})") == R"({"mcpServers": {"a": {} }})");
    CHECK(without("{\"mcpServers\": {\n  \"a\": {}, // c\n  \"ipybox\": {}\n}}") ==
          "{\"mcpServers\": {\n  \"a\": {} // c\n}}");
    CHECK(without(R"({"mcpServers": {"ipybox": {}, "a": {}}})") == R"({"mcpServers": { "a": {}}})");
}

TEST_CASE("json_edit: members of the user's own stay in the entry, and comments in it are not lost") {
    auto const made = edited(R"({"mcpServers": {"ipybox": {"command": "old", "env": {"A": "1"}}}})");
    CHECK(value_of(made)["mcpServers"]["ipybox"] ==
          ordered_json{{"command", "/bin/ipybox"}, {"args", ordered_json::array({"mcp"})}, {"env", {{"A", "1"}}}});
    CHECK(contains(edited("{\"mcpServers\": {\"ipybox\": {\n// why\n\"command\": \"old\"}}}"),
                   "error: \"ipybox\" has comments"));
}

TEST_CASE("json_edit: what is not understood is left alone") {
    for (auto const* const text :
         {"{", "[]", "{} x", R"({"mcpServers": []})", R"({"mcpServers": {}, "mcpServers": {}})", R"({"a": tru})",
          R"({"mcpServers": {"ipybox": {}, "ipybox": {}}})", "{'a': 1}", R"({"a" 1})", "{/*", "<html>",
          R"({"a": "x)"}) {
        CAPTURE(text);
        CHECK(edited(text).starts_with("error: "));
    }
    CHECK(contains(edited("{\n\n  \"a\": b\n}"), "line 3 "));
    CHECK(edited("{\"a\": " + std::string(100'000, '[')).starts_with("error: "));
}

namespace {

toml_entries const set{{"command", "\"/bin/ipybox\""}, {"args", "[\"mcp\"]"}};
toml_entries const unset{{"tool_timeout_sec", "600"}};

std::string with_table(std::string_view text) {
    auto const made = with_toml_table(text, "mcp_servers", "ipybox", set, unset);
    return made ? *made : "error: " + made.error().text();
}

std::string without_table(std::string_view text) {
    auto const made = without_toml_table(text, "mcp_servers", "ipybox");
    return made ? *made : "error: " + made.error().text();
}

constexpr auto table = "[mcp_servers.ipybox]\ncommand = \"/bin/ipybox\"\nargs = [\"mcp\"]\ntool_timeout_sec = 600\n";

} // namespace

TEST_CASE("toml_edit: a table is added at the end, and taken out again") {
    CHECK(with_table("") == table);
    CHECK(without_table(table).empty());
    for (std::string const text :
         {"model = \"x\"\n", "# c\n\n[mcp_servers.other]\ncommand = \"y\"\n",
          "[a]\nb = \"\"\"\n[mcp_servers.ipybox]\n\"\"\"\n", "[a]\nb = [\n  \"[mcp_servers.ipybox]\", # ]\n]\n"}) {
        CAPTURE(text);
        auto const made = with_table(text);
        CHECK(made == text + "\n" + table);
        CHECK(with_table(made) == made);
        CHECK(without_table(made) == text);
    }
}

TEST_CASE("toml_edit: a table that is there keeps what is the user's own") {
    std::string const before =
        "[mcp_servers.\"ipybox\"] # mine\nstartup_timeout_sec = 30\nargs = [\n  \"old\",\n]\n# why\n"
        "tool_timeout_sec = 5\ncommand = 'old'\n\n[mcp_servers.ipybox.env]\nA = \"1\"\n\n# next\n[z]\n";
    auto const made = with_table(before);
    CHECK(made == "[mcp_servers.\"ipybox\"] # mine\ncommand = \"/bin/ipybox\"\nargs = [\"mcp\"]\nstartup_timeout_sec = "
                  "30\n# why\n"
                  "tool_timeout_sec = 5\n\n[mcp_servers.ipybox.env]\nA = \"1\"\n\n# next\n[z]\n");
    CHECK(with_table(made) == made);
    CHECK(without_table(made) == "\n\n# next\n[z]\n");
}

TEST_CASE("toml_edit: a table in another form is left alone") {
    for (auto const* const text :
         {"mcp_servers = { ipybox = {} }\n", "mcp_servers.ipybox.command = \"x\"\n", "[mcp_servers]\nipybox = {}\n",
          "[mcp_servers]\nipybox.command = \"x\"\n", "[mcp_servers.ipybox]\n[mcp_servers.ipybox]\n"}) {
        CAPTURE(text);
        CHECK(with_table(text).starts_with("error: "));
    }
    CHECK(without_table("mcp_servers = { ipybox = {} }\n").starts_with("error: "));
}

TEST_CASE("toml_edit: strings are quoted") { CHECK(toml_string("a\"b\\c\n") == R"("a\"b\\c\u000a")"); }
