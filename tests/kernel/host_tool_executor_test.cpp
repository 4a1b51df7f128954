// The executor, strand, thread or loop on which functions of the application are called, with real kernels.

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "support/catch.hpp"
#include "support/host_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// A loop that owns the only thread of what is shown, as a GUI has it.
class event_loop {
  public:
    void post(std::function<void()> work) {
        std::scoped_lock const lock(mutex_);
        queue_.push_back(std::move(work));
        came_.notify_one();
    }

    /// Runs until `quit`.
    void run() {
        thread = std::this_thread::get_id();
        for (;;) {
            std::function<void()> work;
            {
                std::unique_lock lock(mutex_);
                came_.wait(lock, [this] { return !queue_.empty() || quits_; });
                if (queue_.empty()) return;
                work = std::move(queue_.front());
                queue_.pop_front();
            }
            work();
        }
    }

    void quit() {
        std::scoped_lock const lock(mutex_);
        quits_ = true;
        came_.notify_one();
    }

    std::thread::id thread;

  private:
    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<std::function<void()>> queue_;
    bool quits_ = false;
};

} // namespace

TEST_CASE("host tools: called on the executor that is named", "[kernel]") {
    asio::thread_pool pool(1);
    std::thread::id pool_thread;
    asio::post(pool, [&] { pool_thread = std::this_thread::get_id(); });
    event_loop loop;
    std::thread gui([&] { loop.run(); });

    host_box box(
        {host_tool("on_pool", "", [&] { return std::this_thread::get_id() == pool_thread; },
                   {.executor = pool.get_executor()}),
         host_tool("on_loop", "", [&] { return std::this_thread::get_id() == loop.thread; },
                   {.executor = [&loop](std::function<void()> work) { loop.post(std::move(work)); }}),
         host_tool("on_own", "", [main = std::this_thread::get_id()] { return std::this_thread::get_id() != main; })});
    CHECK(box.run("from mcptools import host\nhost.on_pool.run(), host.on_loop.run(), host.on_own.run()") ==
          "(True, True, True)");
    box.drop();
    loop.quit();
    gui.join();
    pool.join();
}

TEST_CASE("host tools: a short function on the executor's own strand", "[kernel]") {
    asio::io_context context;
    scratch_dir dir;
    executor box(context.get_executor(), options_in(dir.path()), auto_approval{}, unsandboxed);
    std::thread::id caller;
    bool refused = false;
    REQUIRE(box.add_tool(host_tool("which", "", {"i"},
                                   [&](int i) {
                                       caller = std::this_thread::get_id();
                                       auto const said = box.execute("1");
                                       refused = !said && said.error().code() == errc::would_deadlock;
                                       return i;
                                   },
                                   {.executor = host_tool::own_strand()})));
    std::thread loop([&] {
        auto const work = asio::make_work_guard(context);
        context.run();
    });
    auto const loop_thread = loop.get_id();
    REQUIRE(box.generate_mcp_sources("host", dir.path() / "work/mcptools"));
    CHECK(text_of(box.execute("from mcptools.host import which\n[which.run(i=n) for n in range(3)]")) == "[0, 1, 2]");
    CHECK(caller == loop_thread);
    CHECK(refused);
    CHECK(box.stop());
    context.stop();
    loop.join();
}

/// What blocking operations say in a function that the running cell waits for.
std::vector<std::string> blocking_in(executor& own) {
    std::vector<std::string> said;
    auto const note = [&said](auto const& outcome) { said.emplace_back(outcome ? "done" : outcome.error().name()); };
    note(own.execute("1"));
    note(own.get("x"));
    note(own.put("x", nlohmann::ordered_json(1)));
    note(own.start());
    note(own.install_package("x"));
    auto const note_event = [&](execution_stream stream) {
        auto const event = stream.next();
        auto const* const last = event ? std::get_if<result<execution_result>>(&*event) : nullptr;
        last ? note(*last) : note(result<void>());
    };
    note_event(own.stream("1"));
    note_event(own.finish());
    return said;
}

TEST_CASE("host tools: a function that would wait for the code that called it is told so", "[kernel]") {
    executor* own = nullptr;
    std::vector<std::string> said;
    host_box box({host_tool("back", "", [&] {
        said = blocking_in(*own);
        own->async_execute("y = 2", {}, [](result<execution_result> const&) {}); // waits its turn, and no thread
    })});
    own = box.operator->();
    CHECK(box.run("from mcptools.host import back\nback.run()") == "");
    CHECK(said == std::vector<std::string>(7, "would_deadlock"));
    CHECK(box.run("y") == "2");
    box.drop();
}

TEST_CASE("host tools: a generation that is under way completes before the executor has gone", "[kernel]") {
    scratch_dir dir;
    auto box = std::make_unique<executor>(options_in(dir.path()), auto_approval{}, unsandboxed);
    REQUIRE(box->add_tool(host_tool("t", "", [] { return 1; })));
    std::promise<void> begun;
    std::promise<void> gate;
    auto const open = gate.get_future().share();
    auto const first = std::make_shared<std::atomic<bool>>(true);
    codegen::generate_options options;
    options.filter = [&begun, open, first](mcp::tool const&) {
        if (first->exchange(false)) begun.set_value();
        open.wait();
        return true;
    };
    std::vector<std::string> said;
    box->async_generate_mcp_sources("host", dir.path() / "mcptools", options,
                                    [&](result<codegen::generated_sources> const& outcome) {
                                        said.emplace_back(outcome ? "done" : outcome.error().name());
                                    });
    begun.get_future().wait();
    std::thread later([&] {
        std::this_thread::sleep_for(20ms); // the destructor has begun, or begins
        gate.set_value();
    });
    box.reset();
    CHECK(said == std::vector<std::string>{"not_running"});
    later.join();
}

TEST_CASE("host tools: the same in a coroutine, a reply and a loop of other threads", "[kernel]") {
    asio::thread_pool pool(2);
    executor* own = nullptr;
    std::vector<std::string> said;
    host_tool::options const there{.executor = pool.get_executor()};
    auto const coroutine = [&]() -> asio::awaitable<int> {
        said = blocking_in(*own);
        asio::steady_timer timer(co_await asio::this_coro::executor, 1ms);
        co_await timer.async_wait(asio::use_awaitable);
        auto const later = blocking_in(*own); // resumed by another handler
        said.insert(said.end(), later.begin(), later.end());
        co_return 1;
    };
    auto const reply = [&](tool_reply<int> answer) {
        said = blocking_in(*own);
        answer(2);
    };
    host_tool::options const loop{
        .executor = [&pool](std::function<void()> work) { asio::post(pool, std::move(work)); }};
    auto const plain = [&] {
        said = blocking_in(*own);
        return 3;
    };
    host_box box(
        {host_tool("a", "", coroutine, there), host_tool("b", "", reply, there), host_tool("c", "", plain, loop)});
    own = box.operator->();
    CHECK(box.run("from mcptools.host import a\na.run()") == "1");
    CHECK(said == std::vector<std::string>(14, "would_deadlock"));
    CHECK(box.run("from mcptools.host import b\nb.run()") == "2");
    CHECK(said == std::vector<std::string>(7, "would_deadlock"));
    CHECK(box.run("from mcptools.host import c\nc.run()") == "3");
    CHECK(said == std::vector<std::string>(7, "would_deadlock"));
    box.drop();
    pool.join();
}

TEST_CASE("host tools: an application with one loop, which is the executor's too", "[kernel]") {
    asio::io_context context;
    scratch_dir dir;
    executor box(context.get_executor(), options_in(dir.path()), auto_approval{}, unsandboxed);
    int state = 0; // of the loop's only thread
    REQUIRE(box.add_tool(
        host_tool("bump", "", {"by"}, [&state](int by) { return state += by; }, {.executor = context.get_executor()})));
    auto made = box.async_generate_mcp_sources("host", dir.path() / "work/mcptools", asio::use_future);
    while (made.wait_for(0s) != std::future_status::ready) {
        context.restart();
        context.run_for(10ms);
    }
    REQUIRE(made.get());
    std::string said;
    box.async_execute("from mcptools.host import bump\n[bump.run(by=n) for n in range(4)]",
                      [&](result<execution_result> r) { said = text_of(r); });
    context.restart();
    auto const deadline = std::chrono::steady_clock::now() + 30s;
    while (said.empty() && std::chrono::steady_clock::now() < deadline) context.run_one_for(100ms);
    CHECK(said == "[0, 1, 3, 6]");
}
