/** \file
 * The generator for the tests in Python: reads {"root": DIR, "packages": [{"server", "tools", "style",
 * "instructions"}]}, writes the packages, and says what came of each, with the time it took. With the argument `check`
 * it compares instead.
 */

#include <ipybox/codegen.hpp>
#include <ipybox/codegen/generated_package.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using nlohmann::ordered_json;
namespace codegen = ipybox::codegen;

ipybox::mcp::tool tool_of(ordered_json const& listed) {
    ipybox::mcp::tool tool;
    tool.name = listed.at("name").get<std::string>();
    if (listed.contains("title")) tool.title = listed.at("title").get<std::string>();
    if (listed.contains("description")) tool.description = listed.at("description").get<std::string>();
    tool.input_schema = listed.at("inputSchema");
    if (listed.contains("outputSchema")) tool.output_schema = listed.at("outputSchema");
    if (listed.contains("annotations")) tool.annotations = nlohmann::json(listed.at("annotations"));
    return tool;
}

codegen::generate_options options_of(ordered_json const& package) {
    auto const style = package.value("style", "");
    codegen::generate_options options;
    if (style == "awaitable") options.style = codegen::generate_options::call_style::awaitable;
    if (style == "synchronous") options.style = codegen::generate_options::call_style::synchronous;
    options.instructions = package.value("instructions", "");
    return options;
}

ordered_json failed(ipybox::error const& error) { return {{"error", error.text()}, {"code", error.code().value()}}; }

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

ordered_json write(std::string const& root, ordered_json const& package, std::vector<ipybox::mcp::tool> const& tools) {
    auto const begin = std::chrono::steady_clock::now();
    auto const generated =
        codegen::generated_package::make(package.at("server").get<std::string>(), tools, options_of(package));
    if (!generated) return failed(generated.error());
    auto const generating = milliseconds_since(begin);
    auto const written = generated->write(root);
    if (!written) return failed(written.error());
    ordered_json notices = ordered_json::array();
    for (auto const& notice : written->notices) notices.push_back({{"tool", notice.tool}, {"text", notice.text}});
    return {{"modules", written->modules},
            {"notices", notices},
            {"generating", generating},
            {"total", milliseconds_since(begin)}};
}

ordered_json compare(std::string const& root, ordered_json const& package,
                     std::vector<ipybox::mcp::tool> const& tools) {
    auto const now =
        codegen::generated_package::make(package.at("server").get<std::string>(), tools, options_of(package));
    if (!now) return failed(now.error());
    auto const changes = now->compare(root);
    if (!changes) return failed(changes.error());
    return {{"added", changes->added}, {"removed", changes->removed}, {"changed", changes->changed}};
}

int run(bool checks) {
    std::string const text((std::istreambuf_iterator<char>(std::cin)), {});
    auto const request = ordered_json::parse(text);
    auto const root = request.at("root").get<std::string>();
    auto answers = ordered_json::array();
    for (auto const& package : request.at("packages")) {
        std::vector<ipybox::mcp::tool> tools;
        for (auto const& listed : package.at("tools")) tools.push_back(tool_of(listed));
        answers.push_back(checks ? compare(root, package, tools) : write(root, package, tools));
    }
    std::cout << answers.dump() << '\n';
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    try {
        return run(count > 1 && std::string(arguments[1]) == "check");
    } catch (std::exception const& error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
}
