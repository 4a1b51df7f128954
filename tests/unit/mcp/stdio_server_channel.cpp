#include <ipybox/mcp/stdio_server_channel.hpp>
#include <ipybox/os/datagram.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <support/catch.hpp>
#include <support/coroutines.hpp>
#include <support/eventually.hpp>

#include <asio/io_context.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ipybox;
using namespace std::chrono_literals;

/// The descriptors of a server, and the client's ends of them.
struct standard_streams {
    os::unique_fd to_server, input, output, from_server;
};

standard_streams pipes() {
    int in[2];
    int out[2];
    REQUIRE(::pipe2(in, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
    return {os::unique_fd(in[1]), os::unique_fd(in[0]), os::unique_fd(out[1]), os::unique_fd(out[0])};
}

standard_streams sockets() { // as Node's child processes have them
    int in[2];
    int out[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) == 0);
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out) == 0);
    return {os::unique_fd(in[1]), os::unique_fd(in[0]), os::unique_fd(out[1]), os::unique_fd(out[0])};
}

struct channel_under_test {
    explicit channel_under_test(standard_streams made, std::size_t longest = 1000) : streams(std::move(made)) {
        auto opened = mcp::server::channel::stdio(longest, streams.input.get(), streams.output.get());
        REQUIRE(opened);
        channel = std::move(*opened);
    }

    void say(std::string_view bytes) const {
        while (!bytes.empty()) {
            auto const count = ::write(streams.to_server.get(), bytes.data(), bytes.size());
            REQUIRE(count > 0);
            bytes.remove_prefix(static_cast<std::size_t>(count));
        }
    }

    /// The next line; "(end)", or "(too long)".
    std::string hear() {
        auto const line = test::run<result<std::optional<std::string_view>>>(context, channel->receive(), 30s);
        if (!line) return line.error() == errc::message_too_large ? "(too long)" : line.error().text();
        return *line ? std::string(**line) : "(end)";
    }

    bool drained(std::size_t most, std::chrono::milliseconds patience) {
        return test::run<bool>(context, channel->drained(most, patience), 30s);
    }

    /// What the client reads, as much as that; also on another thread, where nothing may be checked.
    [[nodiscard]] std::string read(std::size_t size) const {
        std::string bytes(size, '\0');
        std::size_t got = 0;
        for (ssize_t count = 1; count > 0 && got < size; got += static_cast<std::size_t>(std::max(count, ssize_t(0))))
            count = ::read(streams.from_server.get(), bytes.data() + got, size - got);
        bytes.resize(got);
        return bytes;
    }

    asio::io_context context{1};
    standard_streams streams;
    std::shared_ptr<mcp::server::channel> channel;
};

} // namespace

TEST_CASE("stdio_server_channel: lines in and out, over pipes and sockets", "[tsan]") {
    for (auto* const make : {&pipes, &sockets}) {
        channel_under_test c(make());
        c.say("first\nsec");
        CHECK(c.hear() == "first");
        c.say("ond\r\n\nthird\nunfinished");
        CHECK(c.hear() == "second");
        CHECK(c.hear().empty());
        CHECK(c.hear() == "third");
        c.channel->send("an answer");
        c.channel->send("another");
        CHECK(c.read(18) == "an answer\nanother\n");
        CHECK(c.drained(0, 5s));
        CHECK(c.channel->unread() == 0);
        c.streams.to_server = os::unique_fd();
        CHECK(c.hear() == "(end)");
        CHECK(c.hear() == "(end)");
        c.channel->send("still"); // it can be written to, for it is not closed
        CHECK(c.read(6) == "still\n");
    }
}

TEST_CASE("stdio_server_channel: a line at the bound, one beyond it, and the next") {
    channel_under_test c(pipes(), 100);
    c.say(std::string(99, 'x') + "\n" + std::string(100, 'y') + "\nnext\n");
    CHECK(c.hear() == std::string(99, 'x'));
    CHECK(c.hear() == "(too long)");
    CHECK(c.channel->dropped_id().empty());
    CHECK(c.hear() == "next");
    std::thread client([&] { // a pipe takes less at once
        c.say(R"({"params":")" + std::string(500'000, 'y'));
        c.say(R"(","id":7})" + std::string("\nlast\n"));
    });
    CHECK(c.hear() == "(too long)");
    client.join();
    CHECK(c.channel->dropped_id() == "7");
    CHECK(c.hear() == "last");
}

TEST_CASE("stdio_server_channel: a client that reads late gets all, and no one waits for it meanwhile", "[tsan]") {
    for (auto* const make : {&pipes, &sockets}) {
        channel_under_test c(make());
        std::string expected;
        for (int i = 0; i < 100; ++i) {
            expected += std::string(50'000, static_cast<char>('a' + i % 26)) + "\n";
            c.channel->send(std::string(50'000, static_cast<char>('a' + i % 26)));
        }
        CHECK(c.channel->unread() > 4'000'000);
        c.say("meanwhile\n");
        CHECK(c.hear() == "meanwhile");
        std::string got;
        std::thread client([&] { got = c.read(expected.size()); });
        CHECK(c.drained(1'000'000, 20s));
        CHECK(c.channel->unread() <= 1'000'000);
        CHECK(c.drained(0, 20s));
        client.join();
        CHECK(got == expected);
    }
}

TEST_CASE("stdio_server_channel: a client that takes nothing is given up in time") {
    channel_under_test c(pipes());
    c.channel->send(std::string(1'000'000, 'x'));
    auto const begin = std::chrono::steady_clock::now();
    CHECK_FALSE(c.drained(0, 100ms));
    auto const took = std::chrono::steady_clock::now() - begin;
    CHECK(took >= 90ms);
    CHECK(took < 20s);
    // One that takes a little at a time is waited for longer than the bound.
    std::thread client([&c] {
        for (int i = 0; i < 40; ++i) {
            std::this_thread::sleep_for(50ms);
            (void)c.read(25'000);
        }
    });
    CHECK(c.drained(0, 1s));
    client.join();
    CHECK(std::chrono::steady_clock::now() - begin > 1500ms);
}

TEST_CASE("stdio_server_channel: a client that has closed its input") {
    for (auto* const make : {&pipes, &sockets}) {
        channel_under_test c(make());
        c.streams.from_server = os::unique_fd();
        c.channel->send("no one reads this");
        CHECK_FALSE(c.drained(0, 20s));
        CHECK(c.channel->unread() == 0);
        c.channel->send("nor this");
        CHECK(c.channel->unread() == 0);
        CHECK_FALSE(c.drained(0, 20s));
        c.say("heard all the same\n");
        CHECK(c.hear() == "heard all the same");
    }
}

TEST_CASE("stdio_server_channel: closing ends who waits, at once", "[tsan]") {
    channel_under_test c(pipes());
    c.channel->send(std::string(1'000'000, 'x'));
    std::thread closer([&] {
        std::this_thread::sleep_for(20ms);
        c.channel->close();
    });
    CHECK(c.hear() == "(end)");
    closer.join();
    CHECK_FALSE(c.drained(0, 20s));
    CHECK(c.hear() == "(end)");
    c.channel->send("dropped");
    c.channel.reset(); // does not wait for the client to read
}

TEST_CASE("stdio_server_channel: a file, and descriptors that are none") {
    char name[] = "/tmp/ipybox-lines-XXXXXX";
    os::unique_fd const file(::mkstemp(name));
    ::unlink(name);
    REQUIRE(::write(file.get(), "one\ntwo\n", 8) == 8);
    ::lseek(file.get(), 0, SEEK_SET);
    auto streams = pipes();
    streams.input = os::unique_fd(::dup(file.get()));
    channel_under_test c(std::move(streams));
    CHECK(c.hear() == "one");
    CHECK(c.hear() == "two");
    CHECK(c.hear() == "(end)");

    asio::io_context context;
    CHECK(mcp::server::channel::stdio(100, 0, -1).error() == errc::io_error);
    CHECK(mcp::server::channel::stdio(100, 987'654, 1).error() == errc::io_error);
}

TEST_CASE("stdio_server_channel: does not make the descriptors of its client non-blocking") {
    channel_under_test c(pipes());
    c.say("x\n");
    CHECK(c.hear() == "x");
    for (int const descriptor : {c.streams.input.get(), c.streams.output.get()})
        CHECK((::fcntl(descriptor, F_GETFL) & O_NONBLOCK) == 0);
}
