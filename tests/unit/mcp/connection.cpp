#include <ipybox/mcp/impl/connection.hpp>

#include <support/catch.hpp>
#include <support/coroutines.hpp>
#include <support/scripted_channel.hpp>

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

using namespace ipybox;

TEST_CASE("connection: other handlers run while a server floods it with short messages") {
    asio::io_context context{1};
    auto const server = std::make_shared<test::scripted_server>();
    auto const channel = std::make_shared<test::scripted_channel>(context.get_executor(), server);
    auto const connection = std::make_shared<mcp::detail::connection>(context.get_executor(), channel, nullptr);
    REQUIRE(test::run(context, connection->open()));

    constexpr std::size_t messages = 6400;
    std::string const ping = R"({"jsonrpc":"2.0","id":7,"method":"ping"})";
    SECTION("in one line") {
        std::string batch = "[" + ping;
        for (std::size_t i = 1; i < messages; ++i) batch += "," + ping;
        server->say(batch + "]");
    }
    SECTION("in a line each, between empty ones") {
        for (std::size_t i = 0; i < messages; ++i) {
            server->say(ping);
            server->say("");
        }
    }
    std::size_t turns = 0;
    std::function<void()> const take_turn = [&] {
        if (server->heard.size() == messages) return;
        ++turns;
        asio::post(context, take_turn);
    };
    asio::post(context, take_turn);
    context.restart();
    auto const bound = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (server->heard.size() < messages && std::chrono::steady_clock::now() < bound) context.run_one_until(bound);
    CHECK(server->heard.size() == messages);
    CHECK(turns >= messages / 64 - 1);
    test::run(context, connection->close());
}
