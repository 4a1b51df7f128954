/** \file
 * The host of real MCP servers for the tests in Python. Its argument is a file with `mcpServers`. Of each line of its
 * input it makes one of its output:
 * {"server"} → the tools that the server lists; {"server", "tool", "arguments"} → what the call gives; {"error"} where
 * there is neither.
 */

#include <ipybox/mcp/server_registry.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using nlohmann::ordered_json;
namespace mcp = ipybox::mcp;

ordered_json failed(ipybox::error const& error) { return {{"error", error.text()}}; }

ordered_json listed(mcp::tool const& tool) {
    ordered_json out{{"name", tool.name}};
    if (tool.title) out["title"] = *tool.title;
    if (tool.description) out["description"] = *tool.description;
    out["inputSchema"] = tool.input_schema;
    if (tool.output_schema) out["outputSchema"] = *tool.output_schema;
    if (tool.annotations) out["annotations"] = ordered_json(*tool.annotations);
    return out;
}

ordered_json value_of(mcp::call_result const& result) {
    if (result.is_error) return {{"error", result.text()}};
    if (result.structured_content) return {{"value", result.structured_content->value()}};
    return {{"value", result.text()}};
}

asio::awaitable<ordered_json> answer(mcp::server_registry& registry, std::string request) {
    auto const asked = ordered_json::parse(request);
    auto const server = asked.at("server").get<std::string>();
    mcp::call_options options;
    options.timeout = std::chrono::seconds(60);
    if (asked.contains("tool")) {
        auto const tool = asked.at("tool").get<std::string>();
        auto const& arguments = asked.at("arguments");
        auto const called = co_await registry.call(server, tool, arguments, options);
        co_return called ? value_of(*called) : failed(called.error());
    }
    auto const tools = co_await registry.list_tools(server, options);
    if (!tools) co_return failed(tools.error());
    auto list = ordered_json::array();
    for (auto const& tool : *tools) list.push_back(listed(tool));
    co_return list;
}

asio::awaitable<void> serve(mcp::server_registry& registry) {
    for (std::string line; std::getline(std::cin, line);) {
        auto const answered = co_await answer(registry, line);
        std::cout << answered.dump() << std::endl;
    }
    co_await registry.stop();
}

} // namespace

int main(int count, char** arguments) {
    try {
        if (count != 2) throw std::invalid_argument("serve_tools FILE");
        asio::io_context context;
        mcp::server_registry registry(context.get_executor());
        if (auto const added = registry.add_file(arguments[1]); !added)
            throw std::invalid_argument(added.error().text());
        asio::co_spawn(context, serve(registry), [](std::exception_ptr problem) {
            if (problem) std::rethrow_exception(problem);
        });
        context.run();
        return 0;
    } catch (std::exception const& error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
}
