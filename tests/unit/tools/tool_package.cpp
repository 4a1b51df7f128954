#include <ipybox/async/spawn.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/tools/host_tool.hpp>
#include <ipybox/tools/tool_package.hpp>
#include <ipybox/tools/tool_threads.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <latch>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/eventually.hpp"
#include "support/signal_mask.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::detail;
using namespace ipybox::test;

/// A package whose calls are asked for on a context that the test runs, as a session does on its own.
class offering {
  public:
    explicit offering(std::vector<host_tool> tools) {
        tool_places const places(context->get_executor());
        threads = places.threads;
        package = std::make_shared<tool_package>("host", places);
        REQUIRE(package->add(std::move(tools)));
    }
    offering(offering const&) = delete;
    offering& operator=(offering const&) = delete;
    ~offering() {
        package->end();
        threads->end();
        package.reset();
        context.reset();
        // A thread that has answered may not have let go of its call yet, and who lets go last joins the threads.
        for (int i = 0; i < 1000 && threads.use_count() > 1; ++i) std::this_thread::sleep_for(1ms);
    }

    struct call {
        asio::cancellation_signal cancel;
        std::optional<result<mcp::call_result>> outcome;
    };

    std::shared_ptr<call> begin(std::string tool, nlohmann::json const& arguments = nlohmann::json::object(),
                                mcp::call_options options = {}) {
        auto made = std::make_shared<call>();
        auto const ended = [made](std::exception_ptr thrown, result<mcp::call_result> r) {
            made->outcome = thrown ? result<mcp::call_result>(failure(errc::io_error, "thrown")) : std::move(r);
        };
        spawn(context->get_executor(),
              package->call(std::move(tool), *mcp::raw_json::of(arguments), std::move(options)), ended,
              made->cancel.slot());
        return made;
    }

    template <class Condition>
    bool until(Condition condition) {
        context->restart();
        auto const deadline = std::chrono::steady_clock::now() + 30s;
        while (!condition() && std::chrono::steady_clock::now() < deadline) context->run_one_for(10ms);
        return condition();
    }

    /// The text of a call, or its error in angle brackets.
    std::string text(std::shared_ptr<call> const& c) {
        REQUIRE(until([&] { return c->outcome.has_value(); }));
        auto const& r = *c->outcome;
        if (!r) return "<" + r.error().code().message() + ": " + std::string(r.error().text()) + ">";
        return r->structured_content ? r->structured_content->text() : r->text();
    }

    std::string text(std::string tool, nlohmann::json const& arguments = nlohmann::json::object()) {
        return text(begin(std::move(tool), arguments));
    }

    std::unique_ptr<asio::io_context> context = std::make_unique<asio::io_context>(1);
    std::shared_ptr<tool_threads> threads;
    std::shared_ptr<tool_package> package;
};

} // namespace

TEST_CASE("tool_package: calls by name", "[fast][tsan]") {
    offering on({host_tool("add", "", {"a", "b"}, [](int a, int b) { return a + b; }),
                 host_tool("say", "", [] { return std::string("hi"); })});
    CHECK(on.text("add", {{"a", 1}, {"b", 2}}) == "3");
    CHECK(on.text("say") == "hi");
    CHECK(on.text("add", {{"a", 1}}) == "the arguments of add are refused: b is missing");
    CHECK(on.text("add", {{"a", 1}, {"bb", 2}}) ==
          R"(the arguments of add are refused: b is missing, and "bb" is not known)");
    CHECK(contains(on.text("sub"), "the application offers no tool host.sub"));
    CHECK(on.package->tools().size() == 2);
}

TEST_CASE("tool_package: many calls from many threads", "[fast][tsan]") {
    std::atomic<int> sum = 0;
    asio::thread_pool pool(3);
    auto const count = [&sum](int n) {
        sum += n;
        return n;
    };
    offering on({host_tool("own", "", {"n"}, count),
                 host_tool("pooled", "", {"n"}, count, {.executor = pool.get_executor()}),
                 host_tool("home", "", {"n"},
                           [&sum](int n, tool_reply<int> const& reply) {
                               sum += n;
                               reply(n);
                           }),
                 host_tool("coroutine", "", {"n"},
                           [&sum](int n) -> asio::awaitable<int> {
                               sum += n;
                               co_return n;
                           },
                           {.executor = pool.get_executor()})});
    std::vector<std::shared_ptr<offering::call>> calls;
    for (int i = 0; i < 100; ++i)
        for (auto const* tool : {"own", "pooled", "home", "coroutine"}) calls.push_back(on.begin(tool, {{"n", 1}}));
    for (auto const& call : calls) CHECK(on.text(call) == "1");
    CHECK(sum == 400);
    pool.join();
}

TEST_CASE("tool_package: the first outcome counts", "[fast][tsan]") {
    std::vector<tool_reply<int>> kept;
    offering on({host_tool("late", "", [&](tool_reply<int> reply) { kept.push_back(std::move(reply)); })});
    auto const call = on.begin("late");
    REQUIRE(on.until([&] { return kept.size() == 1; }));
    call->cancel.emit(asio::cancellation_type::terminal);
    CHECK(contains(on.text(call), "the call was cancelled"));
    // From other threads, when nobody waits any more.
    std::thread a([&] { CHECK_FALSE(kept[0](1)); });
    std::thread b([&] { CHECK_FALSE(kept[0].fail("too late")); });
    a.join();
    b.join();

    auto const twice = on.begin("late");
    REQUIRE(on.until([&] { return kept.size() == 2; }));
    std::atomic<int> waited_for = 0;
    std::thread c([&] { waited_for += kept[1](1); });
    std::thread d([&] { waited_for += kept[1](2); });
    c.join();
    d.join();
    CHECK(waited_for == 1);
    CHECK((bool(contains(on.text(twice), "1")) || bool(contains(on.text(twice), "2"))));
}

TEST_CASE("tool_package: cancelled while the answer comes", "[fast][tsan]") {
    offering on({host_tool("quick", "", [](tool_context const& call) { return call.stop_requested(); })});
    for (int i = 0; i < 200; ++i) {
        auto const call = on.begin("quick");
        on.context->restart();
        on.context->poll();
        call->cancel.emit(asio::cancellation_type::terminal);
        REQUIRE(on.until([&] { return call->outcome.has_value(); }));
    }
}

TEST_CASE("tool_package: progress, of which the last counts", "[fast][tsan]") {
    std::promise<void> seen;
    auto const told = seen.get_future().share();
    offering on({host_tool("work", "", [told](tool_context const& call) {
        for (int i = 1; i <= 1000; ++i) call.progress(i, 1000, "step " + std::to_string(i));
        told.wait();
        call.progress(1001);
        return 1;
    })});
    std::vector<mcp::call_options::progress> reports;
    mcp::call_options options;
    options.on_progress = [&](mcp::call_options::progress const& p) {
        reports.push_back(p);
        if (p.done == 1000) seen.set_value();
        throw std::runtime_error("which is dropped");
    };
    auto const call = on.begin("work", nlohmann::json::object(), options);
    CHECK(on.text(call) == "1");
    REQUIRE_FALSE(reports.empty());
    CHECK(reports.size() <= 1001);
    auto const last = reports.back().done == 1001 ? reports[reports.size() - 2] : reports.back();
    CHECK(last.done == 1000);
    CHECK(last.total == 1000);
    CHECK(last.message == "step 1000");
    for (std::size_t i = 1; i < reports.size(); ++i) CHECK(reports[i - 1].done < reports[i].done);
}

TEST_CASE("tool_package: its end, while calls are under way", "[fast][tsan]") {
    std::latch begun(4);
    std::atomic<int> told = 0;
    auto const wait = [&](tool_context const& call) {
        begun.count_down();
        while (!call.stop_requested()) std::this_thread::sleep_for(1ms);
        ++told;
    };
    offering on({host_tool("wait", "", wait)});
    std::vector<std::shared_ptr<offering::call>> calls;
    for (int i = 0; i < 4; ++i) calls.push_back(on.begin("wait"));
    on.context->restart();
    on.context->poll();
    begun.wait();
    CHECK_FALSE(on.threads->wait(0ms));
    on.package->end();
    CHECK(on.threads->wait(10s));
    CHECK(told == 4);
    for (auto const& call : calls) CHECK(contains(on.text(call), "the session has ended"));
    CHECK(contains(on.text("wait"), "the application offers no tool"));
    CHECK_FALSE(on.package->add({host_tool("late", "", [] {})}));
}

TEST_CASE("tool_package: short functions on the strand take turns with it", "[fast][tsan]") {
    int begun = 0;
    offering on({host_tool("next", "", [&] { return ++begun; }, {.executor = host_tool::own_strand()})});
    std::vector<std::shared_ptr<offering::call>> calls;
    for (int i = 0; i < 50; ++i) calls.push_back(on.begin("next"));
    REQUIRE(on.until([&] { return begun == 1; }));
    asio::post(*on.context, [&] { on.package->end(); }); // as the end of a session is posted
    REQUIRE(on.until([&] { return std::ranges::all_of(calls, [](auto const& c) { return c->outcome.has_value(); }); }));
    CHECK(begun <= 3);
    CHECK(contains(on.text(calls.back()), "the session has ended"));
}

TEST_CASE("tool_package: calls that wait for their turn fail with the context", "[fast][tsan]") {
    offering on({host_tool("next", "", [] {}, {.executor = host_tool::own_strand()})});
    auto const first = on.begin("next");
    auto const second = on.begin("next");
    on.context->restart();
    on.context->run_one();
    on.context->run_one(); // both have asked for their turn
    on.context.reset();
    CHECK_FALSE(second->outcome);
}

TEST_CASE("tool_package: the context of the session goes under a call", "[fast][tsan]") {
    std::promise<void> gate;
    std::latch begun(1);
    offering on({host_tool("wait", "", [&, open = gate.get_future().share()] {
        begun.count_down();
        open.wait();
        return 1;
    })});
    auto const call = on.begin("wait");
    on.context->poll();
    begun.wait();
    on.context.reset();
    gate.set_value(); // answers into nothing
    CHECK(on.threads->wait(10s));
    CHECK_FALSE(call->outcome);
}

TEST_CASE("tool_package: a function that throws in its loop, and a loop that refuses", "[fast]") {
    auto const here = [](std::function<void()> const& work) { work(); };
    auto const refuses = [](std::function<void()> const&) { throw std::runtime_error("the window is closed"); };
    auto const drops = [](std::function<void()> const&) {};
    offering on({host_tool("throws", "", []() -> int { throw std::runtime_error("in the loop"); }, {.executor = here}),
                 host_tool("refused", "", [] {}, {.executor = refuses}),
                 host_tool("dropped", "", [] {}, {.executor = drops})});
    CHECK(on.text("throws") == "in the loop");
    CHECK(on.text("refused") == "the window is closed");
    CHECK(contains(on.text("dropped"), "the application has dropped the call without an answer"));
}

TEST_CASE("tool_package: an exception without a text", "[fast]") {
    struct silent : std::exception {
        [[nodiscard]] char const* what() const noexcept override { return nullptr; }
    };
    offering on({host_tool("blocks", "", []() -> int { throw silent(); }),
                 host_tool("replies", "", [](tool_reply<int> const&) { throw silent(); }),
                 host_tool("coroutine", "", []() -> asio::awaitable<int> {
                     throw silent();
                     co_return 1;
                 })});
    for (auto const* tool : {"blocks", "replies", "coroutine"})
        CHECK(on.text(tool) == "an exception of an unknown type");
}

TEST_CASE("tool_package: a loop that does its work twice, and keeps it", "[fast]") {
    std::vector<std::function<void()>> kept;
    auto const twice = [&kept](std::function<void()> const& work) {
        kept.push_back(work);
        work();
        work();
    };
    std::vector<tool_reply<int>> replies;
    offering on({host_tool("later", "", {"n"}, [&](int, tool_reply<int> reply) { replies.push_back(std::move(reply)); },
                           {.executor = twice})});
    auto const call = on.begin("later", {{"n", 1}});
    REQUIRE(on.until([&] { return !replies.empty(); }));
    kept.at(0)();
    REQUIRE(replies.size() == 1);
    CHECK(replies[0](7));
    CHECK(on.text(call) == "7");
}

TEST_CASE("tool_package: arguments that can be read in exponentially many ways do not hold up the session", "[fast]") {
    auto const schema = nlohmann::ordered_json::parse(
        R"({"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}},)"
        R"("$defs": {"n": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]},)"
        R"("a": {"type": "array", "items": {"$ref": "#/$defs/n"}}, "b": {"type": "array", "items": {"$ref": "#/$defs/n"}}}})");
    offering on({host_tool::of_json("read", "", schema, [](nlohmann::json const& all) { return all; })});
    nlohmann::json value = "x";
    for (int i = 0; i < 100; ++i) value = nlohmann::json::array({std::move(value)});
    CHECK(
        contains(on.text("read", {{"n", value}}), "the arguments of read are refused: the value takes too many steps"));
    CHECK(on.text("read", {{"n", {1}}}) == R"({"n":[1]})");
}

TEST_CASE("tool_package: functions that return a reference", "[fast]") {
    static std::string const name = "R2";
    struct robot {
        std::vector<int> legs{1, 2};
        [[nodiscard]] std::vector<int> const& all_legs() const { return legs; }
    } robot;
    offering on({host_tool("name", "", []() -> std::string const& { return name; }),
                 host_tool("legs", "", host_tool::method(robot, &robot::all_legs))});
    CHECK(on.text("name") == "R2");
    CHECK(on.text("legs") == "[1,2]");
}

TEST_CASE("tool_package: numbers that no one can have told", "[fast]") {
    std::vector<mcp::call_options::progress> heard;
    offering on({host_tool("work", "", [](tool_context const& call) {
        call.progress(std::nan(""));
        call.progress(1, std::numeric_limits<double>::infinity());
    })});
    mcp::call_options options;
    options.on_progress = [&](mcp::call_options::progress const& reached) { heard.push_back(reached); };
    (void)on.text(on.begin("work", nlohmann::json::object(), std::move(options)));
    REQUIRE(heard.size() == 1);
    CHECK(heard[0].done == 1);
    CHECK_FALSE(heard[0].total);
}

TEST_CASE("tool_package: long arguments are read aside", "[fast][tsan]") {
    auto const here = [](std::function<void()> const& work) { work(); };
    auto const size = [](std::string const& text) { return text.size(); };
    offering on({host_tool("own", "", {"text"}, size), host_tool("loop", "", {"text"}, size, {.executor = here})});
    nlohmann::json const arguments = {{"text", std::string(3'000'000, 'x')}};
    CHECK(on.text("own", arguments) == "3000000");
    CHECK(on.text("loop", arguments) == "3000000");
}

TEST_CASE("tool_threads: functions take no signals but those of their own instructions", "[fast][tsan]") {
    tool_threads threads;
    std::promise<bool> answer;
    REQUIRE(threads.run({[&] { answer.set_value(test::takes_own_signals_alone()); }}));
    CHECK(answer.get_future().get());
    CHECK(threads.wait(30s));
}

TEST_CASE("tool_threads: one more than run at once waits", "[fast][tsan]") {
    tool_threads threads;
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t begun = 0;
    bool open = false;
    auto const hold = [&] {
        std::unique_lock lock(mutex);
        ++begun;
        changed.notify_all();
        changed.wait(lock, [&] { return open; });
    };
    for (std::size_t i = 0; i < tool_threads::most_threads + 1; ++i) REQUIRE(threads.run({hold}));
    {
        std::unique_lock lock(mutex);
        CHECK(changed.wait_for(lock, 30s, [&] { return begun == tool_threads::most_threads; }));
        CHECK_FALSE(changed.wait_for(lock, 20ms, [&] { return begun > tool_threads::most_threads; }));
        open = true;
        changed.notify_all();
        CHECK(changed.wait_for(lock, 30s, [&] { return begun == tool_threads::most_threads + 1; }));
    }
    CHECK(threads.wait(30s));
    threads.end();
    CHECK_FALSE(threads.run({[] {}}));
}

TEST_CASE("host tools: a function or an executor that is empty is refused", "[fast]") {
    auto const wrong = [](host_tool const& tool) { return tool.check() ? std::string() : tool.check().error().text(); };
    CHECK(contains(wrong(host_tool("f", "", std::function<int()>())), "its function is empty"));
    CHECK(contains(wrong(host_tool("f", "", static_cast<int (*)()>(nullptr))), "its function is empty"));
    CHECK(contains(wrong(host_tool("f", "", [] {}, {.executor = asio::any_io_executor()})), "its executor is empty"));
    CHECK(contains(wrong(host_tool("f", "", [] {}, {.executor = std::function<void(std::function<void()>)>()})),
                   "its executor is empty"));
}

TEST_CASE("host tools: what was moved from is harmless", "[fast]") {
    // NOLINTBEGIN(bugprone-use-after-move)
    auto result = tool_result::text("full");
    auto const taken = std::move(result);
    CHECK_FALSE(result.has_failed());
    CHECK(result.get().content.empty());
    CHECK(result.add_text("again").get().text() == "again");
    CHECK(taken.get().text() == "full");

    auto json = *mcp::raw_json::of(nlohmann::json{1});
    auto const kept = std::move(json);
    CHECK(json.text() == "null");
    CHECK_FALSE(json.is_object());
    CHECK(std::move(json).take() == "null");
    CHECK(kept.text() == "[1]");

    bool answered_late = true;
    auto const late = [&](tool_context call, tool_reply<int> const& reply) {
        auto first = reply;
        auto const second = std::move(first);
        auto const own = std::move(call);
        answered_late = first(1) || first.fail("");
        call.progress(1);
        CHECK_FALSE(call.stop_requested());
        CHECK(second(2));
    };
    offering on({host_tool("late", "", late)});
    CHECK(on.text("late") == "2");
    CHECK_FALSE(answered_late);
    // NOLINTEND(bugprone-use-after-move)
}

TEST_CASE("tool_threads: functions whose calls have ended keep no tool from running", "[fast][tsan]") {
    tool_threads threads;
    std::promise<void> gate;
    std::atomic<bool> ended = false;
    std::atomic<std::size_t> begun = 0;
    auto const stuck = [&, open = gate.get_future().share()] {
        ++begun;
        open.wait();
    };
    auto const begin_stuck = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) REQUIRE(threads.run({stuck, [&] { return ended.load(); }}));
    };
    begin_stuck(tool_threads::most_threads);
    std::promise<void> waited;
    REQUIRE(threads.run({[&] { waited.set_value(); }}));
    auto next = waited.get_future();
    CHECK(next.wait_for(20ms) == std::future_status::timeout);
    ended = true;
    threads.call_ended();
    CHECK(next.wait_for(30s) == std::future_status::ready);

    // Beyond a bound nothing runs any more, which is said at once.
    begin_stuck(tool_threads::most_stuck);
    while (begun < tool_threads::most_threads + tool_threads::most_stuck) std::this_thread::sleep_for(1ms);
    bool refused = false;
    REQUIRE(threads.run({[] { FAIL("there is no thread"); }, [] { return false; }, [&] { refused = true; }}));
    CHECK(refused);
    gate.set_value();
    CHECK(threads.wait(30s));
    std::promise<void> again;
    REQUIRE(threads.run({[&] { again.set_value(); }}));
    CHECK(again.get_future().wait_for(30s) == std::future_status::ready);
}

TEST_CASE("tool_threads: its end joins all threads but those that are in functions", "[fast][tsan]") {
    std::promise<void> gate;
    std::atomic<int> threads_ended = 0;
    struct at_thread_end {
        std::atomic<int>* count = nullptr;
        ~at_thread_end() {
            if (count) ++*count;
        }
    };
    auto const mark = [&] {
        thread_local at_thread_end end;
        end.count = &threads_ended;
    };
    {
        tool_threads threads;
        std::promise<void> in_function;
        REQUIRE(threads.run({[&, open = gate.get_future().share()] {
            mark();
            in_function.set_value();
            open.wait();
        }}));
        in_function.get_future().wait();
        std::latch begun(3);
        for (int i = 0; i < 3; ++i)
            REQUIRE(threads.run({[&] {
                mark();
                begun.arrive_and_wait();
            }}));
        begun.wait();
        threads.end();
        CHECK_FALSE(threads.wait(20ms));
        CHECK(threads_ended == 3);
    }
    gate.set_value(); // its thread owns what it touches
    while (threads_ended < 4) std::this_thread::sleep_for(1ms);
}
