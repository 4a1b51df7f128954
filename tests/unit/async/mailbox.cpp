#include <ipybox/async/mailbox.hpp>

#include <support/catch.hpp>
#include <support/transport_driver.hpp>

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using ipybox::detail::mailbox;
using ipybox::test::run;
using clock_type = std::chrono::steady_clock;

/// Reads n items, each as long as it takes.
asio::awaitable<std::string> read(mailbox<std::string>& box, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) {
        auto item = co_await box.pop();
        all += item ? *item : "none";
    }
    co_return all;
}

} // namespace

TEST_CASE("mailbox: keeps the order, whether somebody waits or not") {
    asio::io_context context;
    mailbox<std::string> box(context.get_executor());
    box.push("a");
    box.push("b");
    asio::post(context, [&] { box.push("c"); });
    asio::post(context, [&] {
        box.push("d");
        box.push("e");
    });
    CHECK(run(context, read(box, 5)) == "abcde");
}

TEST_CASE("mailbox: a deadline that passes, and one that does not") {
    asio::io_context context;
    mailbox<std::string> box(context.get_executor());
    auto const before = clock_type::now();
    CHECK(run(context, box.pop(before + 20ms)) == std::nullopt);
    CHECK(clock_type::now() >= before + 20ms);
    CHECK(run(context, box.pop(before - 1s)) == std::nullopt);
    box.push("late");
    CHECK(run(context, box.pop(before - 1s)) == "late"); // what is there is taken, however late
    asio::post(context, [&] { box.push("in time"); });
    CHECK(run(context, box.pop(clock_type::now() + 60s)) == "in time");
}

TEST_CASE("mailbox: cleared, it is empty") {
    asio::io_context context;
    mailbox<std::string> box(context.get_executor());
    box.push("a");
    box.push("b");
    box.clear();
    CHECK(run(context, box.pop(clock_type::now())) == std::nullopt);
    // Taken away while the reader was about to get it.
    asio::post(context, [&] {
        box.push("taken away");
        box.clear();
        asio::post(context, [&] { box.push("after"); });
    });
    CHECK(run(context, box.pop()) == "after");
}

TEST_CASE("mailbox: items that only move") {
    asio::io_context context;
    mailbox<std::unique_ptr<int>> box(context.get_executor());
    box.push(std::make_unique<int>(3));
    box.push(std::make_unique<int>(4));
    CHECK(**run(context, box.pop()) == 3);
}
