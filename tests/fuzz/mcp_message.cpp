// libFuzzer target: what an MCP server could write on its standard output (docs/mcp.md).
//
//     clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I include -I tests tests/fuzz/mcp_message.cpp -o fuzz_mcp_message
//     ./fuzz_mcp_message --seed DIR && ./fuzz_mcp_message -max_total_time=60 DIR
//
// Whatever comes: no crash; JSON is read and written as the JSON library does it; a value that was passed over is the
// one that would have been read.

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/handshake_machine.hpp>
#include <ipybox/mcp/json_writer.hpp>
#include <ipybox/mcp/rpc_machine.hpp>
#include <ipybox/mcp/tool_call_machine.hpp>
#include <ipybox/mcp/tool_list_machine.hpp>

#include <fuzz/seeds.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ipybox;
using fuzz::require;
using namespace ipybox::mcp;
using nlohmann::json;

void read_as_json(std::string_view text) {
    auto const read = read_json(text);
    auto const expected = json::parse(text, nullptr, false);
    if (!expected.is_discarded() && read) require(*read == expected);
    // What is not UTF-8 is replaced, and what nests very deeply refused: there the two differ.
    if (read) {
        auto const written = write_json(*read);
        require(written.has_value() && *written == read->dump());
        require(read_json(*written).has_value());
    }
    json_cursor cursor(text);
    auto const passed = cursor.skip();
    if (read && passed) require(read_json(*passed) == read);
}

void read_as_message(std::string_view text) {
    rpc_machine book;
    (void)book.open();
    (void)book.open(rpc_machine::clock::time_point(), rpc_machine::progress_reports::wanted);
    for (auto const message : messages_of(text)) (void)book.read(message);
    if (auto const m = read_rpc_message(text)) (void)read_rpc_error(m->error);
}

void read_as_result(std::string_view text) {
    auto call = tool_call_machine::make("t", json::object());
    require(call.has_value());
    if (auto const end = call->on_result(text); end && *end) (void)(*end)->text();
    tool_list_machine list;
    (void)list.on_result(text);
    for (auto const how : {server_params::negotiation::initialize_first, server_params::negotiation::discover_first}) {
        handshake_machine shake(how);
        (void)shake.begin();
        (void)shake.on_refusal({1, "", std::string(text)});
        (void)shake.on_result(text);
    }
}

} // namespace

std::vector<fuzz::seed> ipybox::fuzz::seeds() {
    return numbered(
        {R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\u00e9\ud83d\ude00"}],"structuredContent":{"x":[1,-2.5e3,null]}}})",
         R"({"content":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"resource","resource":{"uri":"u","blob":"AA=="}}],"isError":true})",
         R"({"tools":[{"name":"n","inputSchema":{"type":"object"}}],"nextCursor":""})",
         R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"n"}})",
         R"({"supportedVersions":["2026-07-28"],"_meta":{}})",
         R"({"resultType":"input_required","inputRequests":{"k":{"method":"m"}},"requestState":"s"})",
         R"([{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}},{"jsonrpc":"2.0","id":"a","method":"ping"}])"});
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    read_as_json(text);
    read_as_message(text);
    read_as_result(text);
    return 0;
}
