// The channel to a server that is a child process.

#include <ipybox/mcp/stdio_channel.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <support/catch.hpp>
#include <support/coroutines.hpp>
#include <support/scratch_dir.hpp>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/use_awaitable.hpp>

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;

/// The end of a pipe that can be read, with the other end.
struct watched_pipe {
    explicit watched_pipe(asio::io_context& context) : reader(context) {
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        reader.assign(ends[0]);
        writer = os::unique_fd(ends[1]);
    }

    void write() const { REQUIRE(::write(writer.get(), "x", 1) == 1); }

    asio::posix::stream_descriptor reader;
    os::unique_fd writer;
};

} // namespace

TEST_CASE("stdio_channel: an event of a descriptor that was closed is not taken for the end of the server") {
    asio::io_context context;
    auto const converse = [&context]() -> asio::awaitable<std::string> {
        watched_pipe first(context);
        std::vector<std::unique_ptr<watched_pipe>> others;
        // As many as a channel watches: it gets what Asio knew of them.
        for (int i = 0; i < 4; ++i) {
            others.push_back(std::make_unique<watched_pipe>(context));
            others.back()->reader.async_wait(asio::posix::stream_descriptor::wait_read, [](asio::error_code) {});
        }
        first.write();
        for (auto const& other : others) other->write();
        co_await first.reader.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
        others.clear(); // Asio has seen their events, and not told anyone yet
        mcp::server_params server;
        server.command = "cat";
        auto const channel = mcp::make_stdio_channel(context.get_executor(), server, 5s);
        auto opened = co_await channel->open();
        if (!opened) co_return opened.error().text();
        channel->send("hello");
        auto answer = co_await channel->receive();
        auto const said = answer ? std::string(*answer) : answer.error().text();
        co_await channel->close();
        co_return said;
    };
    CHECK(test::run(context, converse()) == "hello");
}

TEST_CASE("stdio_channel: 1 MiB of answers waits for a server that does not read, and every request") {
    asio::io_context context;
    test::scratch_dir const scratch;
    auto const signal = scratch.path() / "read";
    std::size_t const size = 1000;
    std::size_t const many = 6000;
    struct echoes {
        std::size_t answers = 0;
        std::string other = {};
        std::string later = {};
    };
    auto const converse = [&]() -> asio::awaitable<echoes> {
        mcp::server_params server;
        server.command = "sh";
        server.args = {"-c", "until [ -e " + signal.string() + " ]; do sleep 0.02; done; exec cat"};
        auto const channel = mcp::make_stdio_channel(context.get_executor(), server, 5s);
        echoes heard;
        auto opened = co_await channel->open();
        if (!opened) co_return heard;
        for (std::size_t i = 0; i < many; ++i) channel->answer(std::string(size, 'a'));
        channel->send(std::string(2 << 20, 'r'));
        std::ofstream(signal) << "now";
        for (auto line = co_await channel->receive(); line; line = co_await channel->receive()) {
            if (line->starts_with('a')) ++heard.answers;
            if (!line->starts_with('r')) continue;
            heard.other = *line;
            break;
        }
        channel->answer("there is room again");
        auto const last = co_await channel->receive();
        if (last) heard.later = *last;
        co_await channel->close();
        co_return heard;
    };
    auto const heard = test::run(context, converse());
    CHECK(heard.answers * (size + 1) > (1 << 20) - 2 * size);
    CHECK(heard.answers < many); // those that the system keeps come to them
    CHECK((heard.other == std::string(2 << 20, 'r')));
    CHECK(heard.later == "there is room again");
}
