#pragma once

#include <ipybox/http/remote_channel.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <support/catch.hpp>
#include <support/coroutines.hpp>
#include <support/web_server.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/** \file
 * A client of a scripted server of MCP over HTTP.
 */

namespace ipybox::test {

using nlohmann::json;

inline json answer_to(json const& message, json result) {
    return {{"jsonrpc", "2.0"}, {"id", message["id"]}, {"result", std::move(result)}};
}

inline json initialized(std::string const& version = "2025-11-25") {
    return {{"protocolVersion", version},
            {"capabilities", {{"tools", json::object()}}},
            {"serverInfo", {{"name", "s"}, {"version", "1"}}}};
}

inline json text(std::string const& what) { return {{"content", json::array({{{"type", "text"}, {"text", what}}})}}; }

/// A server with sessions, as 2025-11-25 has them, which answers what `other` leaves.
inline web_server::handler with_sessions(web_server::handler on_call) {
    return [on_call](web_request const& request, web_answer& answer) -> asio::awaitable<void> {
        auto const message = request.message();
        auto const method = message.is_object() ? message.value("method", "") : std::string();
        if (request.method != "POST") {
            co_await answer.whole(405, "");
        } else if (method == "initialize") {
            co_await answer.whole(200, answer_to(message, initialized()).dump(), "application/json",
                                  "Mcp-Session-Id: s-1");
        } else if (!message.contains("id")) {
            co_await answer.whole(202, "");
        } else {
            co_await on_call(request, answer);
        }
    };
}

/// A client of a scripted server.
class remote_host {
  public:
    explicit remote_host(web_server::handler handle, std::string const& path = "/mcp")
        : server(context, std::move(handle)), registry_(context.get_executor(), with_http()) {
        params.url = server.url(path);
        params.stop_grace = std::chrono::milliseconds(500);
        params.connect_timeout = std::chrono::seconds(2);
        params.call_timeout = std::chrono::seconds(5);
    }
    ~remote_host() {
        try {
            run(context, registry_.stop());
        } catch (std::exception const&) {} // NOLINT(bugprone-empty-catch)
        server.close();
    }

    void begin(std::optional<result<mcp::call_result>>& outcome, asio::cancellation_slot slot = {}) {
        if (!is_added_) REQUIRE(registry_.add("s", params));
        is_added_ = true;
        auto keep = [&outcome](std::exception_ptr thrown, result<mcp::call_result> value) {
            CHECK_FALSE(thrown);
            outcome = std::move(value);
        };
        asio::co_spawn(context, registry_.call("s", "t", json{{"a", argument}}),
                       asio::bind_cancellation_slot(slot, keep));
    }

    result<mcp::call_result> call() {
        std::optional<result<mcp::call_result>> outcome;
        begin(outcome);
        run_until(outcome);
        return *outcome;
    }

    std::string text_of_call() {
        auto const called = call();
        return called ? called->text() : "<" + std::string(called.error().name()) + "> " + called.error().text();
    }

    void run_until(std::optional<result<mcp::call_result>> const& outcome) {
        context.restart();
        auto const bound = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!outcome && std::chrono::steady_clock::now() < bound) context.run_one_for(std::chrono::seconds(1));
        REQUIRE(outcome);
    }

    void kill() { registry_.kill(); }

    void run_for(std::chrono::milliseconds time) {
        context.restart();
        context.run_for(time);
    }

    /// The requests with that method of JSON-RPC.
    std::vector<web_request> posted(std::string const& method) const {
        std::vector<web_request> found;
        for (auto const& each : server.requests) {
            auto const message = each.message();
            if (message.is_object() && message.value("method", "") == method) found.push_back(each);
        }
        return found;
    }

    asio::io_context context;
    web_server server;
    mcp::server_params params;
    json argument = 1; ///< of the tool

  private:
    static mcp::registry_options with_http() {
        mcp::registry_options options;
        options.make_channel = [](asio::any_io_executor const& executor, mcp::server_params const& server) {
            return http::make_remote_channel(executor, server);
        };
        return options;
    }

    mcp::server_registry registry_;
    bool is_added_ = false;
};

inline asio::awaitable<void> echo(web_request const& request, web_answer& answer) {
    co_await answer.whole(200, answer_to(request.message(), text("done")).dump());
}

} // namespace ipybox::test
