#include <ipybox/async/await_completion.hpp>

#include <support/catch.hpp>
#include <support/coroutines.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_future.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ipybox::detail;

/// A value that only moves, and has no default.
struct single_copy {
    explicit single_copy(int n) : number(std::make_unique<int>(n)) {}
    std::unique_ptr<int> number;
};

/// Waits, and tells what has become of it.
asio::awaitable<void> wait_for_token(std::optional<completion<std::shared_ptr<int>>>& open, std::string& told) {
    auto const begin = [&open](completion<std::shared_ptr<int>> done) { open.emplace(std::move(done)); };
    auto const token = co_await await_completion<std::shared_ptr<int>>(begin);
    told += "resumed with " + std::to_string(*token);
}

} // namespace

TEST_CASE("await_completion: completed at once, the coroutine resumes later") {
    asio::io_context context;
    std::string order;
    auto const wait = [](std::string& told) -> asio::awaitable<int> {
        auto const begin = [&told](completion<single_copy> done) {
            done(single_copy(7));
            told += "begun ";
        };
        auto const came = co_await await_completion<single_copy>(begin);
        told += "resumed";
        co_return *came.number;
    };
    CHECK(ipybox::test::run(context, wait(order)) == 7);
    CHECK(order == "begun resumed");
}

TEST_CASE("await_completion: a coroutine resumes on its own strand", "[tsan]") {
    asio::thread_pool pool(2);
    auto const strand = asio::make_strand(pool);
    std::vector<std::thread> others;
    auto const all = [&]() -> asio::awaitable<int> {
        int there = 0;
        for (int i = 0; i < 50; ++i) {
            auto const begin = [&others](completion<int> done) {
                others.emplace_back([done = std::move(done)]() mutable { done(1); });
            };
            there += co_await await_completion<int>(begin);
            if (!strand.running_in_this_thread()) co_return -1;
        }
        co_return there;
    };
    CHECK(asio::co_spawn(strand, all(), asio::use_future).get() == 50);
    for (auto& other : others) other.join();
}

TEST_CASE("await_completion: dropped, it takes its coroutine along, on the coroutine's executor") {
    asio::io_context context;
    std::optional<completion<std::shared_ptr<int>>> open;
    std::string told;
    auto const held = std::make_shared<int>();
    auto const wait = [&](std::shared_ptr<int> frame) -> asio::awaitable<void> {
        co_await wait_for_token(open, told);
        *frame = 1;
    };
    asio::co_spawn(context, wait(held), asio::detached);
    context.poll();
    CHECK_FALSE(context.stopped());
    open.reset();
    CHECK(held.use_count() > 1);
    context.run();
    CHECK(held.use_count() == 1);
    CHECK(told.empty());
}

TEST_CASE("await_completion: the value goes with the context when the coroutine has not resumed") {
    std::optional<completion<std::shared_ptr<int>>> open;
    std::string told;
    auto token = std::make_shared<int>(3);
    std::weak_ptr<int> const weak = token;
    {
        asio::io_context context;
        asio::co_spawn(asio::make_strand(context), wait_for_token(open, told), asio::detached);
        context.poll();
        (*open)(std::move(token));
        CHECK_FALSE(weak.expired());
    }
    CHECK(weak.expired());
    CHECK(told.empty());
}

TEST_CASE("await_completion: behind the end of the context the value is dropped at once") {
    std::optional<completion<std::shared_ptr<int>>> open;
    std::string told;
    auto token = std::make_shared<int>(3);
    std::weak_ptr<int> const weak = token;
    {
        asio::io_context context;
        asio::co_spawn(context, wait_for_token(open, told), asio::detached);
        context.poll();
    }
    CHECK(*open);
    (*open)(std::move(token));
    CHECK_FALSE(*open);
    CHECK(weak.expired());
    CHECK(told.empty());
}

TEST_CASE("await_completion: a cancellation of the coroutine comes to the completion's slot") {
    asio::io_context context;
    asio::cancellation_signal signal;
    std::string told;
    auto const wait = [&]() -> asio::awaitable<void> {
        auto const open = std::make_shared<completion<std::string>>();
        auto const begin = [open](completion<std::string> done) {
            auto slot = done.slot();
            *open = std::move(done);
            slot.assign([open](asio::cancellation_type) { (*open)("cancelled"); });
        };
        told = co_await await_completion<std::string>(begin);
    };
    asio::co_spawn(context, wait(), asio::bind_cancellation_slot(signal.slot(), asio::detached));
    context.poll();
    CHECK(told.empty());
    signal.emit(asio::cancellation_type::terminal);
    CHECK(told.empty());
    context.run();
    CHECK(told == "cancelled");
}

TEST_CASE("await_completion: an exception behind it ends the coroutine as any other") {
    asio::io_context context;
    auto const wait = []() -> asio::awaitable<int> {
        auto const begin = [](completion<int> done) { done(1); };
        auto const came = co_await await_completion<int>(begin);
        if (came == 1) throw std::runtime_error("thrown");
        co_return came;
    };
    CHECK_THROWS_WITH(ipybox::test::run(context, wait()), "thrown");
    CHECK(context.poll() == 0);
}
