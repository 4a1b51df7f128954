// libFuzzer target: what an MCP server could list, as a tool of which a module is generated (docs/codegen.md).
//
//     clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I include -I tests tests/fuzz/tool_schema.cpp -o fuzz_tool_schema
//     ./fuzz_tool_schema --seed DIR && ./fuzz_tool_schema -max_total_time=60 DIR
//
// Whatever comes: no crash; the same bytes twice; between strings a module has nothing but words, numbers and
// punctuation, and it imports what modules import.

#include <ipybox/codegen/generated_package.hpp>

#include <fuzz/seeds.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ipybox;
using fuzz::require;
using nlohmann::ordered_json;

/// The code without what stands in strings. Every string is closed, and what is in one is printed on a screen as it is
/// read by Python.
std::string without_strings(std::string_view code) {
    std::string out;
    for (std::size_t i = 0; i < code.size();) {
        if (code[i] != '"') {
            out += code[i++];
            continue;
        }
        bool const is_long = code.substr(i).starts_with("\"\"\"");
        std::string_view const end = is_long ? "\"\"\"" : "\"";
        for (i += end.size(); !code.substr(i).starts_with(end); i += code[i] == '\\' ? 2 : 1) {
            require(i < code.size());
            bool const is_control = static_cast<unsigned char>(code[i]) < ' ' || code[i] == '\x7f';
            require(!is_control || (is_long && code[i] == '\n'));
        }
        i += end.size();
    }
    return out;
}

void read_as_python(std::string_view code) {
    auto const bare = without_strings(code);
    static constexpr std::string_view punctuation = " \n_.,:;=|()[]{}@+->*";
    require(std::all_of(bare.begin(), bare.end(), [](char c) {
        bool const is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        return is_word || punctuation.find(c) != std::string_view::npos;
    }));
    static constexpr std::array<std::string_view, 6> imports = {"from __future__ import annotations",
                                                                "from typing import ",
                                                                "from pydantic import ",
                                                                "from . import CLIENT",
                                                                "from ._mcp import ",
                                                                "from ._schema import "};
    for (auto at = bare.find("import "); at != std::string::npos; at = bare.find("import ", at + 1)) {
        auto const line = std::string_view(bare).substr(bare.rfind('\n', at) + 1);
        require(std::any_of(imports.begin(), imports.end(), [&](auto known) { return line.starts_with(known); }));
    }
}

void generate(mcp::tool const& tool) {
    auto const package = codegen::generated_package::make("server", {tool});
    require(package.has_value());
    require(package->files == codegen::generated_package::make("server", {tool})->files);
    for (auto const& module : package->modules) read_as_python(package->files.at(module + ".py"));
    if (package->modules.empty()) require(!package->notices.empty());
}

std::string text_of(ordered_json const& listed, char const* member) {
    auto const found = listed.find(member);
    return found != listed.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace

std::vector<fuzz::seed> ipybox::fuzz::seeds() {
    return numbered(
        {R"({"name":"a-b","inputSchema":{"type":"object","properties":{"from":{"type":["string","null"],"default":null,"description":"\"\"\"\\"},"n":{"type":"integer","minimum":1}},"required":["from"]}})",
         R"({"name":"t","inputSchema":{"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}},"$ref":"#/$defs/node"}})",
         R"({"name":"t","inputSchema":{"type":"object","properties":{"u":{"oneOf":[{"type":"object","properties":{"k":{"const":"x"}},"required":["k"]},{"enum":[1,"a",null]}]}},"additionalProperties":false}})",
         R"({"name":"__init__","description":"a\nb","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"array","minItems":1}],"patternProperties":{"^a":{"not":{}}}},"outputSchema":{"type":"array","items":{"type":"object","properties":{"x":{"format":"email"}}}}})",
         R"({"name":"t","inputSchema":{"allOf":[{"type":"object","properties":{"a":{"prefixItems":[true,false]}}},{"anyOf":[{"required":["a"]},{"if":true,"then":{"maxProperties":2}}]}],"unevaluatedProperties":false}})"});
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    auto const listed = ordered_json::parse(data, data + size, nullptr, false);
    if (!listed.is_object()) return 0;
    mcp::tool tool;
    tool.name = text_of(listed, "name");
    tool.description = text_of(listed, "description");
    if (auto const schema = listed.find("inputSchema"); schema != listed.end()) tool.input_schema = *schema;
    if (auto const schema = listed.find("outputSchema"); schema != listed.end()) tool.output_schema = *schema;
    if (auto const hints = listed.find("annotations"); hints != listed.end()) tool.annotations = nlohmann::json(*hints);
    generate(tool);
    return 0;
}
