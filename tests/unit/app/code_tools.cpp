#include <ipybox/app/cell_answer.hpp>
#include <ipybox/app/code_tools.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/mcp/argument_check.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace {

using namespace ipybox;

TEST_CASE("code_tools: names are those of the original, and then ours") {
    std::vector<std::string> names;
    for (auto const& tool : code_tools()) names.push_back(tool.name);
    CHECK(names == std::vector<std::string>{"register_mcp_server", "install_package", "execute_ipython_cell", "reset",
                                            "cell_output", "wait_for_cell", "interrupt_cell"});
}

TEST_CASE("code_tools: arguments can be checked by the schemas") {
    for (auto const& tool : code_tools()) {
        INFO(tool.name);
        CHECK_FALSE(ipybox::detail::find_unchecked(tool.input_schema));
        CHECK(tool.title);
        CHECK(tool.annotations);
        if (tool.output_schema) CHECK_FALSE(ipybox::detail::find_unchecked(*tool.output_schema));
    }
}

TEST_CASE("code_tools: with sessions, those about cells and kernels have the parameter, and no other changes") {
    auto const plain = code_tools(), named = code_tools(offered_sessions::named);
    REQUIRE(plain.size() == named.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
        INFO(plain[i].name);
        auto schema = named[i].input_schema;
        CHECK(schema["properties"].contains("session") == takes_session(plain[i].name));
        CHECK_FALSE(plain[i].input_schema["properties"].contains("session"));
        CHECK_FALSE(ipybox::detail::find_unchecked(schema));
        schema["properties"].erase("session");
        CHECK(schema == plain[i].input_schema);
    }
    CHECK(code_instructions("/ws", offered_sessions::named).find("/ws/sessions/NAME") != std::string::npos);
}

TEST_CASE("code_tools: the instructions name the short form of a call") {
    auto const text = code_instructions("/ws");
    CHECK(text.find("TOOL.run(field=...)") != std::string::npos);
    CHECK(text.find("Params(") == std::string::npos);
}

TEST_CASE("code_tools: answers about cells fit their schema") {
    cell_view cell;
    cell.id = "1";
    auto const answer = answer_about(cell, {});
    for (auto const& tool : code_tools()) {
        if (tool.name.find("cell") == std::string::npos) continue;
        INFO(tool.name);
        REQUIRE(tool.output_schema);
        nlohmann::json const value = answer.structured_content->value();
        CHECK_FALSE(ipybox::detail::find_mismatch(*tool.output_schema, value));
    }
}

/// What a model pays for the tools in each conversation. A token of such text has four bytes or more.
TEST_CASE("code_tools: the descriptions are short") {
    std::size_t bytes = code_instructions("/home/me/workspace").size();
    for (auto const& tool : code_tools()) bytes += tool.description->size() + json_text(tool.input_schema).size();
    CHECK(bytes < 5000);
    auto more = code_instructions("/home/me/workspace", offered_sessions::named).size();
    for (auto const& tool : code_tools(offered_sessions::named))
        more += tool.description->size() + json_text(tool.input_schema).size();
    CHECK(more < bytes + 600);
}

} // namespace
