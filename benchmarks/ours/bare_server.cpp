#include <ours/bare_server.hpp>
#include <ours/context.hpp>

#include <stdexcept>
#include <utility>

namespace bench {

bare_server::bare_server(std::vector<std::string> command)
    : program_(command.front(), {command.begin() + 1, command.end()}) {
    program_.write(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",)"
                   R"("capabilities":{},"clientInfo":{"name":"bench","version":"1"}}})"
                   "\n");
    (void)program_.line();
    program_.write(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
                   "\n");
    (void)call(1);
}

double bare_server::call(std::size_t characters) {
    auto const request =
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":")" +
        std::string(characters, 'x') + "\"}}}\n";
    auto const begin = clock::now();
    program_.write(request);
    auto const reply = program_.line();
    auto const elapsed = milliseconds_since(begin);
    if (reply.size() < characters || reply.find("\"result\"") == std::string::npos)
        throw std::runtime_error("the server says " + reply.substr(0, 200));
    return elapsed;
}

std::vector<double> bare_server::calls(std::size_t characters, int count) {
    std::vector<double> samples;
    for (int i = 0; i < count; ++i) samples.push_back(call(characters));
    return samples;
}

} // namespace bench
