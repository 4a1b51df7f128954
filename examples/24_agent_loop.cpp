// run by: examples/servers/scripted_model.py
// prints: ledger = [12.5, 7.25, 30.0]
// prints: called: {"arguments":"total = sum(ledger)","name":"execute_python"}
// prints: NameError: name 'vat' is not defined
// prints: The total with tax is 59.7.

// A whole agent: a model at an OpenAI-compatible server, and Python in a sandbox as its tool.
//
//   OPENAI_BASE_URL=http://localhost:8080/v1 OPENAI_MODEL=qwen3 24_agent_loop 'How many days are left of this year?'
//
// There is no TLS here: the server is a local one (llama-server, Ollama, vLLM), or a proxy to another.

#include <ipybox/adapters/openai_tool.hpp>
#include <ipybox/core/json_census.hpp>
#include <ipybox/ipybox.hpp>

#include <asio/ip/tcp.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>

namespace {

using json = nlohmann::json;
constexpr ipybox::detail::json_bounds longest_answer{.bytes = std::size_t(8) << 20, .values = 100'000, .depth = 100};
constexpr std::size_t most_calls = 100; // of one message

std::string variable(char const* name, std::string const& otherwise) {
    auto const* value = std::getenv(name);
    return value ? value : otherwise;
}

/// Text of others for a terminal: without control characters, and without the key, which a server may repeat.
std::string shown(std::string text) {
    auto const key = variable("OPENAI_API_KEY", "");
    for (std::size_t at = 0; !key.empty() && (at = text.find(key, at)) != std::string::npos; ++at)
        text.replace(at, key.size(), "*");
    for (char& c : text)
        if (c != '\n' && (static_cast<unsigned char>(c) < ' ' || c == '\x7f')) c = '?';
    return text;
}

/// HTTP/1.0: the answer comes in one piece, and the connection ends with it.
json post(std::string const& path, json const& request) {
    auto const url = variable("OPENAI_BASE_URL", "http://localhost:8080/v1"); // http://HOST[:PORT]/PATH
    if (!url.starts_with("http://")) throw std::runtime_error("OPENAI_BASE_URL: only http:// is spoken here");
    auto const server = url.substr(7, url.find('/', 7) - 7);
    auto const colon = server.find(':', server.find(']') + 1); // [::1] is an address
    auto host = server.substr(0, colon);
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    auto const body = request.dump(-1, ' ', false, json::error_handler_t::replace);
    asio::ip::tcp::iostream stream;
    stream.expires_after(std::chrono::seconds(std::stoi(variable("OPENAI_TIMEOUT", "300")))); // for all of it
    stream.connect(host, colon == std::string::npos ? "80" : server.substr(colon + 1));
    stream << "POST " << url.substr(7 + server.size()) << path << " HTTP/1.0\r\nHost: " << server
           << "\r\nAuthorization: Bearer " << variable("OPENAI_API_KEY", "none")
           << "\r\nContent-Type: application/json\r\nContent-Length: " << body.size() << "\r\n\r\n"
           << body << std::flush;
    std::string answer(longest_answer.bytes, '\0');
    stream.read(answer.data(), static_cast<std::streamsize>(answer.size()));
    answer.resize(static_cast<std::size_t>(stream.gcount()));
    auto const status = answer.substr(0, answer.find("\r\n")); // HTTP/1.1 200 OK
    auto const content = answer.substr(std::min(answer.find("\r\n\r\n"), answer.size()));
    if (status.find(" 200") != 8 && !content.empty()) throw std::runtime_error(status + content.substr(0, 500));
    bool const fits =
        !stream && ipybox::detail::count_json(content, longest_answer).excess == ipybox::detail::json_excess::none;
    auto answered = fits ? json::parse(content, nullptr, false) : json(json::value_t::discarded);
    if (!answered.is_discarded()) return answered;
    auto const why = stream.error() == asio::error::eof ? "it is not JSON, or ends early" : stream.error().message();
    throw std::runtime_error("no answer of " + server + ": " + (fits ? why : "it is too long, or nests too deeply"));
}

//! [loop]
std::string run_agent(std::string const& question, ipybox::executor& box) {
    auto const python = ipybox::as_openai_tool(box);
    nlohmann::json request{{"model", variable("OPENAI_MODEL", "default")}};
    request["tools"].push_back(python.definition());
    request["messages"].push_back({{"role", "user"}, {"content", question}});
    for (int turn = 0; turn < 20; ++turn) {
        auto const message = post("/chat/completions", request).at("choices").at(0).at("message");
        request["messages"].push_back(message);
        auto const calls = message.value("tool_calls", nlohmann::json());
        if (!calls.is_array() || calls.empty()) return message.at("content").get<std::string>();
        if (calls.size() > most_calls)
            throw std::runtime_error("the model wants " + std::to_string(calls.size()) + " calls at once");
        for (auto const& call : calls) {
            // Code that raises, and arguments that are no JSON, are answers too: the model reads them and tries again.
            auto const answer = python.answer(call);
            request["messages"].push_back(answer);
            std::cout << "called: " << shown(call.at("function").dump()) << '\n'
                      << shown(answer.at("content").get<std::string>()) << '\n';
        }
    }
    throw std::runtime_error("no answer after 20 turns");
}
//! [loop]

} // namespace

int main(int argc, char** argv) {
    try {
        ipybox::executor_options options;
        options.working_dir = "build/examples/agent_loop";
        options.kernel.restart_dead = true; // the model goes on after code that has ended its kernel
        std::filesystem::create_directories(options.working_dir);
        ipybox::executor box(options);
        std::cout << shown(run_agent(argc > 1 ? argv[1] : "What is the total of my ledger, with tax?", box)) << '\n';
    } catch (std::exception const& error) {
        std::cerr << shown(error.what()) << '\n';
        return 1;
    }
}
