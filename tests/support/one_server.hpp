#pragma once

#include <ipybox/mcp/client.hpp>

#include <support/catch.hpp>
#include <support/coroutines.hpp>
#include <support/scripted_channel.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/** \file
 * A client with a scripted server.
 */

namespace ipybox::test {

using mcp::call_options;
using mcp::call_result;
using mcp::server_params;
using nlohmann::json;
using lines = std::vector<std::string>;

inline std::string result_line(json const& request, json result) {
    return json{{"jsonrpc", "2.0"}, {"id", request["id"]}, {"result", std::move(result)}}.dump();
}
inline std::string refusal_line(json const& request, json error) {
    return json{{"jsonrpc", "2.0"}, {"id", request["id"]}, {"error", std::move(error)}}.dump();
}
inline json text_result(std::string text) { return {{"content", {{{"type", "text"}, {"text", std::move(text)}}}}}; }

inline json initialized(std::string version = "2025-11-25") {
    return {{"protocolVersion", std::move(version)},
            {"capabilities", {{"tools", {{"listChanged", true}}}}},
            {"serverInfo", {{"name", "s"}, {"version", "1"}}}};
}

/// A well-behaved server: it echoes the text of a call.
inline lines good(json const& message) {
    auto const method = message.value("method", "");
    if (method == "initialize") return {result_line(message, initialized())};
    if (method == "tools/list") return {result_line(message, {{"tools", {{{"name", "echo"}}}}})};
    if (method == "tools/call")
        return {result_line(message, text_result(message["params"]["arguments"].value("text", "")))};
    return {};
}

/// The same of the stateless era.
inline lines good_stateless(json const& message) {
    auto const method = message.value("method", "");
    auto const meta = message["params"].value("_meta", json::object());
    if (method == "initialize") return {refusal_line(message, {{"code", -32601}, {"message", "no"}})};
    if (method == "server/discover")
        return {result_line(
            message, {{"supportedVersions", {"2026-07-28"}}, {"capabilities", {{"tools", {{"listChanged", true}}}}}})};
    if (message.contains("id") && meta.value("io.modelcontextprotocol/protocolVersion", "") != "2026-07-28")
        return {refusal_line(message, {{"code", -32602}, {"message", "no _meta"}})};
    return good(message);
}

struct one_server {
    std::shared_ptr<scripted_server> server = std::make_shared<scripted_server>();
    asio::io_context context{1};
    server_params params;
    mcp::detail::client_environment surroundings{channels_to(server), {}, {}};
    std::shared_ptr<mcp::detail::client> made;

    one_server() { server->answer = good; }
    ~one_server() {
        if (made) run(context, made->stop());
        let_go();
        context.restart();
        context.run(); // nothing stays under way
    }

    mcp::detail::client& client() {
        if (!made) made = mcp::detail::client::make(context.get_executor(), "srv", params, surroundings);
        return *made;
    }

    void let_go() {
        if (auto const gone = std::exchange(made, nullptr)) gone->kill();
    }

    /// The text that a call of "echo" gives, or its error.
    std::string echo(std::string text, call_options options = {}) {
        return said(run(context, client().call("echo", {{"text", std::move(text)}}, std::move(options))));
    }
    static std::string said(result<call_result> const& r) {
        return r ? r->text() : "<" + r.error().code().message() + ">";
    }
    error failure_of(std::string text = "x", call_options options = {}) {
        auto r = run(context, client().call("echo", {{"text", std::move(text)}}, std::move(options)));
        REQUIRE_FALSE(r);
        return r.error();
    }

    struct pending {
        std::optional<result<call_result>> outcome;
        asio::cancellation_signal cancel;
        int completions = 0;
    };

    /// Begins a call, which goes on when the context runs.
    std::shared_ptr<pending> begin(std::string text, call_options options = {}) {
        auto p = std::make_shared<pending>();
        auto const finish = [p](std::exception_ptr, result<call_result> r) {
            p->outcome = std::move(r);
            ++p->completions;
        };
        asio::co_spawn(context, client().call("echo", {{"text", std::move(text)}}, std::move(options)),
                       asio::bind_cancellation_slot(p->cancel.slot(), finish));
        return p;
    }

    /// Runs until something is so.
    template <class Condition>
    bool until(Condition condition) {
        context.restart();
        auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!condition() && std::chrono::steady_clock::now() < deadline) context.run_one_until(deadline);
        return condition();
    }
};

} // namespace ipybox::test
