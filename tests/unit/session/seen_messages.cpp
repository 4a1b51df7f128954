#include <ipybox/session/seen_messages.hpp>

#include <support/catch.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <vector>

namespace {

using namespace std::chrono_literals;
using ipybox::detail::seen_messages;

/// What waits for messages, and which waits have ended.
struct waits {
    void wait(std::uint64_t number, seen_messages::clock::duration bound = 1h) {
        auto const work = [this, number, bound]() -> asio::awaitable<void> {
            co_await seen_messages::reach(seen, number, bound);
            over.push_back(number);
        };
        asio::co_spawn(context, work, asio::detached);
        settle();
    }

    void saw(std::uint64_t number) {
        seen->saw(number);
        settle();
    }

    void settle() {
        context.restart();
        context.poll();
    }

    asio::io_context context;
    std::shared_ptr<seen_messages> seen = std::make_shared<seen_messages>(context.get_executor());
    std::vector<std::uint64_t> over;
};

using seen_numbers = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("seen messages: a wait ends with its message, and not before") {
    waits on;
    on.wait(3);
    on.wait(2);
    on.saw(1);
    CHECK(on.over.empty());
    on.saw(2);
    CHECK(on.over == seen_numbers{2});
    on.saw(5);
    CHECK(on.over == seen_numbers{2, 3});
    on.wait(5);
    on.wait(0);
    CHECK(on.over == seen_numbers{2, 3, 5, 0});
}

TEST_CASE("seen messages: a kernel that names a message that never comes waits for the bound alone") {
    waits on;
    on.wait(1000, 1ms);
    on.context.restart();
    on.context.run_for(30s);
    CHECK(on.over == seen_numbers{1000});
    on.saw(1000); // finds nothing that waits
}

TEST_CASE("seen messages: another kernel counts from the start") {
    waits on;
    on.saw(9);
    on.seen->begin();
    on.wait(1);
    CHECK(on.over.empty());
    on.saw(1);
    CHECK(on.over == seen_numbers{1});
}

TEST_CASE("seen messages: a context that is destroyed takes the waits along") {
    auto const on = std::make_unique<waits>();
    on->wait(1);
    on->wait(2);
    CHECK(on->over.empty());
}
