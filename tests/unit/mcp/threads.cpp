#include <ipybox/async/io_thread.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <support/catch.hpp>
#include <support/mcp_host.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/use_future.hpp>

#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ipybox;
using nlohmann::json;

std::future<result<mcp::call_result>> begin(asio::any_io_executor const& where, mcp::server_registry& registry,
                                            std::string tool, json arguments) {
    return asio::co_spawn(where, registry.call("s", std::move(tool), std::move(arguments)), asio::use_future);
}

} // namespace

TEST_CASE("server_registry: called from several threads, on another executor than its own", "[tsan]") {
    ipybox::detail::io_thread home;
    ipybox::detail::io_thread other;
    mcp::server_registry registry(home.get_executor());
    REQUIRE(registry.add("s", test::wayward()));
    std::vector<std::thread> callers;
    std::atomic<int> good = 0;
    for (int t = 0; t < 3; ++t)
        callers.emplace_back([&, t] {
            for (int i = 0; i < 20; ++i) {
                auto const text = std::to_string(100 * t + i);
                auto const r = begin(other.get_executor(), registry, "echo", {{"text", text}}).get();
                if (r && r->text() == text) ++good;
            }
        });
    for (auto& caller : callers) caller.join();
    CHECK(good == 60);

    // Cancelled from a third thread.
    asio::cancellation_signal signal;
    std::promise<result<mcp::call_result>> outcome;
    auto const finish = [&](std::exception_ptr, result<mcp::call_result> r) { outcome.set_value(std::move(r)); };
    asio::co_spawn(other.get_executor(), registry.call("s", "sleep", {{"seconds", 60}}),
                   asio::bind_cancellation_slot(signal.slot(), finish));
    asio::post(other.get_executor(), [&] { signal.emit(asio::cancellation_type::terminal); });
    CHECK(outcome.get_future().get().error() == errc::cancelled);

    asio::co_spawn(other.get_executor(), registry.stop(), asio::use_future).get();
}

TEST_CASE("server_registry: destroyed on another thread with calls under way", "[tsan]") {
    ipybox::detail::io_thread home;
    std::future<result<mcp::call_result>> waiting;
    {
        mcp::server_registry registry(home.get_executor());
        REQUIRE(registry.add("s", test::wayward()));
        REQUIRE(begin(home.get_executor(), registry, "echo", {{"text", "a"}}).get());
        waiting = begin(home.get_executor(), registry, "sleep", {{"seconds", 60}});
    }
    auto const r = waiting.get();
    REQUIRE_FALSE(r);
}
