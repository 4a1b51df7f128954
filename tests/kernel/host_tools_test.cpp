// Functions of the application that cells call, with real kernels.

#include <ipybox/codegen.hpp>
#include <ipybox/gate/audit_log.hpp>
#include <ipybox/rules/approval_rules.hpp>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/eventually.hpp"
#include "support/host_box.hpp"

namespace shop {

enum class side { buy, sell };
NLOHMANN_JSON_SERIALIZE_ENUM(side, {{side::buy, "buy"}, {side::sell, "sell"}})

struct leg {
    std::string symbol;
    double amount = 0;
};
IPYBOX_TOOL_TYPE(leg, symbol, amount)

struct order {
    std::string id;
    side what = side::buy;
    std::vector<leg> legs;
    std::optional<int> limit;
};
IPYBOX_TOOL_TYPE(order, id, what, legs, limit)

struct receipt {
    std::string id;
    double total = 0;
    std::map<std::string, double> parts;
};
IPYBOX_TOOL_TYPE(receipt, id, total, parts)

} // namespace shop

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

host_tool add_tool() {
    return host_tool("add", "Adds two numbers. Nothing else.", {{"a", "the first"}, "b"},
                     [](double a, double b) { return a + b; });
}

} // namespace

TEST_CASE("host tools: a function is called like every tool", "[kernel][compat]") {
    host_box box({add_tool()});
    CHECK(box.run("from mcptools.host import add\nadd.run(add.Params(a=1, b=2.5))") == "3.5");
    CHECK(box.run("add.run(a=1, b=2), add.run({'a': 1, 'b': 2})") == "(3.0, 3.0)");
    CHECK(box.run("import asyncio\n"
                  "pair = await asyncio.gather(add.run(a=1, b=1), add.arun(a=2, b=2))\n"
                  "await add.run(a=1, b=2), pair, asyncio.run(add.run(a=3, b=3)), await asyncio.wait_for(add.run(a=4, "
                  "b=4), 9)") == "(3.0, [2.0, 4.0], 6.0, 8.0)");
    CHECK(box.run("import mcptools\nmcptools.search('numbers')") == "host.add(a, b) - Adds two numbers.");
    CHECK(contains(box.run("mcptools.describe('host.add')"), "the first"));
    CHECK(contains(box.run("mcptools.describe('host.add')"), "def run(params: Params) -> Result"));
    CHECK(contains(box.run("print(add.run.__doc__)"), "Adds two numbers. Nothing else."));
    CHECK(contains(box.run("print(mcptools.host.__doc__)"), "Tools of the application."));
    CHECK(box->tools() == std::vector<std::string>{"host.add"});
    CHECK(box->mcp_servers().empty());
}

TEST_CASE("host tools: structs, enumerations, optional and nested values", "[kernel]") {
    host_box box({host_tool("place", "Places an order", [](shop::order const& o) {
        shop::receipt made{o.id + (o.what == shop::side::sell ? "-sold" : "-bought"), 0, {}};
        for (auto const& leg : o.legs) {
            made.total += leg.amount;
            made.parts[leg.symbol] = leg.amount;
        }
        if (o.limit) made.total = std::min(made.total, double(*o.limit));
        return made;
    })});
    CHECK(
        box.run(
            "from mcptools.host import place\n"
            "done = place.run(id='7', what='sell', legs=[{'symbol': 'A', 'amount': 2}, {'symbol': 'B', 'amount': 3}])\n"
            "done.id, done.total, done.parts['B']") == "('7-sold', 5.0, 3.0)");
    CHECK(box.run("place.run(id='8', what='buy', legs=[{'symbol': 'A', 'amount': 9}], limit=4).total") == "4.0");
    CHECK(contains(
        box.run(
            "try:\n    place.run(id='8', what='lend', legs=[])\nexcept Exception as e:\n    print(type(e).__name__)"),
        "ArgumentsError"));
}

TEST_CASE("host tools: functions of JSON", "[kernel]") {
    nlohmann::ordered_json const schema = {
        {"type", "object"}, {"properties", {{"n", {{"type", "integer"}}}}}, {"required", {"n"}}};
    host_box box({host_tool::of_json("twice", "Doubles", schema, [](nlohmann::json const& arguments) -> nlohmann::json {
        return {{"n", arguments.at("n").get<int>() * 2}, {"list", {1, nullptr, "x"}}};
    })});
    CHECK(box.run("from mcptools.host import twice\ntwice.run(n=4)") == "{'list': [1, None, 'x'], 'n': 8}");
}

TEST_CASE("host tools: what a function may return", "[kernel]") {
    std::string const png = "\x89PNG\r\n\x1a\n not really";
    host_box box({
        host_tool("text", "", [] { return std::string("plain, \xC3\xA4 \xFF"); }),
        host_tool("nothing", "", [] {}),
        host_tool("flag", "", [] { return true; }),
        host_tool("maybe", "", {"some"}, [](bool some) { return some ? std::optional(3) : std::nullopt; }),
        host_tool("picture", "", [png] { return tool_result::image(png); }),
        host_tool(
            "parts", "",
            [png] {
                auto made = tool_result::text("two");
                made.add_image(png).add_file("app://notes.txt", "read me", "text/plain").add_link("app://more", "more");
                return made;
            }),
        host_tool("both", "",
                  [png] {
                      auto made = tool_result::value({{"n", 1}});
                      made.add_image(png);
                      return made;
                  }),
        host_tool("fails", "", [] { return tool_result::failed("out of stock\nuntil Monday"); }),
        host_tool("refuses", "", []() -> result<int> { return failure(errc::invalid_argument, "not that"); }),
        host_tool("throws", "", []() -> int { throw std::runtime_error("it broke"); }),
        host_tool("odd", "", []() -> int { throw 42; }),
        host_tool("endless", "", [] { return std::numeric_limits<double>::infinity(); }),
    });
    CHECK(box.run("from mcptools import host\nhost.text.run()") == "'plain, ä \uFFFD'");
    CHECK(box.run("print(host.nothing.run())") == "None");
    CHECK(box.run("host.flag.run()") == "True");
    CHECK(box.run("host.maybe.run(some=True), host.maybe.run(some=False)") == "(3, None)");
    CHECK(box.run("p = host.picture.run().parts[0]; type(p).__name__, p.mime, p.data[:4]") ==
          R"(('Image', 'image/png', b'\x89PNG'))");
    CHECK(box.run("r = host.parts.run(); [type(p).__name__ for p in r.parts], r.splitlines()") ==
          "(['Image', 'Document', 'Link'], ['two', 'read me', 'app://more'])");
    CHECK(box.run("r = host.both.run(); r['n'], len(r.parts)") == "(1, 1)");
    auto const failing = [&](std::string const& tool) {
        return box.run("from ipybox_kernel.tools import ToolRunnerError\ntry:\n    host." + tool +
                       ".run()\nexcept ToolRunnerError as e:\n    print(e)");
    };
    CHECK(failing("fails") == "out of stock\nuntil Monday");
    CHECK(failing("refuses") == "not that");
    CHECK(failing("throws") == "it broke");
    CHECK(failing("odd") == "an exception of an unknown type");
    CHECK(contains(failing("endless"), "a number that JSON does not have: inf"));
}

TEST_CASE("host tools: arguments are checked on the host", "[kernel]") {
    int calls = 0;
    host_box box({host_tool("f", "", {"n", "list"}, [&calls](std::int8_t n, std::vector<int> const& list) {
        ++calls;
        return n + int(list.size());
    })});
    // Code may leave the generated module out.
    auto const call = [&](std::string const& arguments) {
        return box.run("from ipybox_kernel.tools import ToolRunner\ntry:\n    print(ToolRunner('host').run_sync('f', " +
                       arguments + "))\nexcept Exception as e:\n    print(e)");
    };
    CHECK(call("{'n': 1, 'list': [1, 2]}") == "3");
    CHECK(call("{'n': 'x', 'list': []}") == R"(the arguments of f are refused: n has to be an integer, not "x")");
    CHECK(call("{'n': 300, 'list': []}") == "the arguments of f are refused: n has to be at most 127");
    CHECK(call("{'n': 1, 'list': [0, 10**30]}") == "list: 1: has to be from -2147483648 to 2147483647");
    CHECK(call("{'n': 1}") == "the arguments of f are refused: list is missing");
    CHECK(call("{'n': 1, 'list': [], 'more': 1}") == "the arguments of f are refused: more is not expected");
    CHECK(calls == 1);
    CHECK(box.run("try:\n    ToolRunner('host').run_sync('g', {})\nexcept Exception as e:\n    print(e)") ==
          "the application offers no tool host.g");
}

TEST_CASE("host tools: several at once, from threads and asyncio", "[kernel]") {
    std::mutex mutex;
    std::condition_variable all_here;
    int here = 0;
    // Each waits for the others.
    auto const meet = [&](int n) {
        std::unique_lock lock(mutex);
        ++here;
        all_here.notify_all();
        all_here.wait_for(lock, 10s, [&] { return here >= 8; });
        return here >= 8 ? n : -1;
    };
    host_box box({host_tool("meet", "", {"n"}, meet)});
    REQUIRE(box->generate_mcp_sources("host", box.root(), {.style = codegen::generate_options::call_style::both}));
    CHECK(box.run(
              "from concurrent.futures import ThreadPoolExecutor\nfrom mcptools.host import meet\n"
              "with ThreadPoolExecutor(8) as pool:\n    print(sorted(pool.map(lambda n: meet.run(n=n), range(8))))") ==
          "[0, 1, 2, 3, 4, 5, 6, 7]");
    here = 0;
    CHECK(box.run("import asyncio\nprint(await asyncio.gather(*(meet.arun(n=n) for n in range(8))))") ==
          "[0, 1, 2, 3, 4, 5, 6, 7]");
}

TEST_CASE("host tools: the gate decides about them", "[kernel]") {
    scratch_dir dir;
    std::atomic<int> asked = 0;
    std::atomic<int> called = 0;
    auto const decide = [&](approval_request request) {
        ++asked;
        CHECK(request.server() == "host");
        if (request.tool() == "edited")
            request.accept(nlohmann::ordered_json{{"n", 40}});
        else
            request.reject("not " + request.tool());
    };
    auto const count = [&](int n) {
        ++called;
        return n + 1;
    };
    auto rules = approval_rules::parse(
        R"({"allow": [{"tool": "host.free"}], "deny": [{"tool": "host.never", "reason": "a rule"}]})");
    REQUIRE(rules);
    auto log = audit_log::open({.file = dir.path() / "audit.jsonl"});
    REQUIRE(log);
    host_box box({host_tool("edited", "", {"n"}, count), host_tool("rejected", "", {"n"}, count),
                  host_tool("free", "", {"n"}, count), host_tool("never", "", {"n"}, count)},
                 decide, [&](executor_options& options) {
                     options.approval.rules = std::move(*rules);
                     options.approval.audit = *log;
                     options.approval.calls_per_cell = 3;
                 });
    auto const run = [&](std::string const& tool) {
        return box.run("from mcptools import host\ntry:\n    print(host." + tool +
                       ".run(n=1))\nexcept Exception as e:\n    print(type(e).__name__, e)");
    };
    CHECK(run("edited") == "41");
    CHECK(run("rejected") == "ApprovalRejectedError not rejected");
    CHECK(run("free") == "2");
    CHECK(run("never") == "ApprovalRejectedError a rule");
    CHECK(asked == 2);
    CHECK(called == 2);
    CHECK(contains(box.run("[host.free.run(n=n) for n in range(5)]"), "ApprovalRejectedError"));
    CHECK(called == 5);
    auto const audit = read_file(dir.path() / "audit.jsonl");
    CHECK(contains(audit, R"("tool":"edited")"));
    CHECK(contains(audit, R"("server":"host")"));
}

TEST_CASE("host tools: rules name what a tool says about its effects", "[kernel]") {
    auto rules = approval_rules::parse(R"({
        "allow": [{"tool": "*.*", "annotations": {"readOnlyHint": true}}],
        "deny":  [{"tool": "*.*", "annotations": {"destructiveHint": true}, "reason": "nothing is lost here"}]
    })");
    REQUIRE(rules);
    std::atomic<int> asked = 0;
    auto const decide = [&](approval_request request) {
        ++asked;
        request.accept();
    };
    auto const one = [] { return 1; };
    host_box box({host_tool("look", "", one, {.read_only = true}), host_tool("add", "", one, {.destructive = false}),
                  host_tool("forget", "", one)},
                 decide, [&](executor_options& options) { options.approval.rules = std::move(*rules); });
    auto const run = [&](std::string const& tool) {
        return box.run("from mcptools import host\ntry:\n    print(host." + tool +
                       ".run())\nexcept Exception as e:\n    print(type(e).__name__, e)");
    };
    CHECK(run("look") == "1");
    CHECK(asked == 0);
    CHECK(run("add") == "1");
    CHECK(asked == 1);
    CHECK(run("forget") == "ApprovalRejectedError nothing is lost here");
    CHECK(asked == 1);
}

TEST_CASE("host tools: added and removed while a kernel runs", "[kernel]") {
    host_box box({add_tool()});
    CHECK(box.run("import mcptools.host\nmcptools.host.add.run(a=1, b=1)") == "2.0");
    REQUIRE(box->add_tool(host_tool("more", "Comes later", {"n"}, [](int n) { return n + 1; })));
    CHECK(box.run("from mcptools.host import more\nmore.run(n=1)") == "2");
    CHECK(box.run("mcptools.search('later')") == "host.more(n) - Comes later");
    CHECK(box.run("mcptools.host.more.run(n=2), 'more' in dir(mcptools.host)") == "(3, True)");

    CHECK(box->remove_tool("add") == true);
    CHECK(box->remove_tool("add") == false);
    CHECK(box.run("try:\n    mcptools.host.add.run(a=1, b=1)\nexcept Exception as e:\n    print(e)") ==
          "the application offers no tool host.add");
    CHECK(box.run("mcptools.search('numbers')") ==
          "None of 1 tools has 'numbers'. Other words may; search() lists all.");

    CHECK(box->remove_tools("host"));
    CHECK_FALSE(box->remove_tools("host"));
    CHECK(contains(box.run("try:\n    more.run(n=1)\nexcept Exception as e:\n    print(e)"), "no MCP server 'host'"));
}

TEST_CASE("host tools: a package that could not be written is not written again", "[kernel]") {
    host_box box({add_tool()});
    scratch_dir const dir;
    auto const to_a_file = dir.write("file", "");
    for (auto const& nowhere : {std::filesystem::path("/proc/none"), to_a_file}) {
        CHECK_FALSE(box->generate_mcp_sources("host", nowhere));
        auto made = box->async_generate_mcp_sources("host", nowhere, asio::use_future);
        CHECK_FALSE(made.get());
    }
    CHECK(box->add_tool(host_tool("more", "", {"n"}, [](int n) { return n + 1; })));
    CHECK(box.run("from mcptools.host import more\nmore.run(n=1)") == "2");
    CHECK(box->remove_tool("more") == true);
}

TEST_CASE("host tools: names", "[kernel]") {
    host_box box({add_tool()});
    auto const code_of = [](result<void> const& r) { return r ? std::error_code() : r.error().code(); };
    CHECK(code_of(box->add_tool(add_tool())) == errc::invalid_argument);
    CHECK(code_of(box->add_tool(host_tool("", "", [] {}))) == errc::invalid_argument);
    CHECK(code_of(box->add_tool(add_tool(), "no name")) == errc::invalid_argument);
    CHECK(code_of(box->register_mcp_server("host", mcp::server_params())) == errc::mcp_server_exists);
    CHECK(code_of(box->replace_mcp_server("host", mcp::server_params())) == errc::mcp_server_exists);
    REQUIRE(box->register_mcp_server("server", {.command = "none"}));
    CHECK(code_of(box->add_tool(add_tool(), "server")) == errc::mcp_server_exists);
    CHECK(code_of(box->add_tool(host_tool::of_json("p", "", {{"type", "object"}, {"patternProperties", {{"a", true}}}},
                                                   [](nlohmann::json const&) { return 1; }))) ==
          errc::invalid_argument);
    REQUIRE(box->add_tools(host_tools("robot").add("up", "", [] { return 1; }).add("down", "", [] { return 2; })));
    REQUIRE_FALSE(box->add_tools(host_tools("robot").add("left", "", [] {}).add("up", "", [] {})));
    CHECK(box->tools() == std::vector<std::string>{"host.add", "robot.up", "robot.down"});
}

// --- how they answer ------------------------------------------------------------------------------------------------

TEST_CASE("host tools: answers by callback and by coroutine", "[kernel]") {
    asio::thread_pool pool(2);
    std::optional<tool_reply<int>> kept;
    std::thread later;
    host_box box({host_tool("later", "", {"n"},
                            [&](int n, tool_reply<int> reply) {
                                if (later.joinable()) later.join();
                                later = std::thread([n, reply] { reply(n * 2); });
                            }),
                  host_tool("dropped", "", [](tool_reply<void>) {}),
                  host_tool("unlucky", "", [](tool_reply<std::string> reply) { reply.fail("no luck"); }),
                  host_tool("slow", "", {"n"},
                            [](int n) -> asio::awaitable<int> {
                                asio::steady_timer timer(co_await asio::this_coro::executor, 20ms);
                                co_await timer.async_wait(asio::use_awaitable);
                                co_return n + 1;
                            }),
                  host_tool("pooled", "", {"text"},
                            [](std::string const& text) -> asio::awaitable<std::string> {
                                asio::steady_timer timer(co_await asio::this_coro::executor, 5ms);
                                co_await timer.async_wait(asio::use_awaitable);
                                if (text == "bad") throw std::runtime_error("bad text");
                                co_return text + "!";
                            },
                            {.executor = pool.get_executor()})});
    CHECK(box.run("from mcptools import host\nhost.later.run(n=4), host.slow.run(n=4), host.pooled.run(text='hi')") ==
          "(8, 5, 'hi!')");
    auto const failing = [&](std::string const& call) {
        return box.run("try:\n    host." + call + "\nexcept Exception as e:\n    print(type(e).__name__, e)");
    };
    CHECK(failing("dropped.run()") == "ToolRunnerError the application has dropped the call without an answer");
    CHECK(failing("unlucky.run()") == "ToolRunnerError no luck");
    CHECK(failing("pooled.run(text='bad')") == "ToolRunnerError bad text");
    later.join();
    box.drop();
    pool.join();
}

// --- the end of calls ----------------------------------------------------------------------------------------------------

TEST_CASE("host tools: a cell that is cancelled tells the function, and a late answer is ignored", "[kernel]") {
    std::atomic<bool> told = false;
    std::promise<void> ended;
    host_box box({host_tool("wait", "",
                            [&](tool_context const& call) {
                                std::mutex mutex;
                                std::condition_variable_any stopped;
                                std::unique_lock lock(mutex);
                                stopped.wait_for(lock, call.stop_token(), 20s, [] { return false; });
                                told = call.stop_requested();
                                ended.set_value();
                                return 1; // nobody waits for it
                            }),
                  host_tool("ping", "", [] { return 1; })});
    REQUIRE(box.run("from mcptools import host") == "");
    auto const r = box->execute("host.wait.run()", {.timeout = 3s}); // time for the call to begin on a busy machine
    REQUIRE_FALSE(r);
    CHECK(r.error() == condition::timeout);
    REQUIRE(ended.get_future().wait_for(60s) == std::future_status::ready);
    CHECK(told);
    CHECK(box.run("host.ping.run()") == "1");
}

TEST_CASE("host tools: a cancelled cell cancels a coroutine and a call that waits for its loop", "[kernel]") {
    std::atomic<bool> cancelled = false;
    asio::io_context never_run;
    bool was_called = false;
    host_box box({host_tool("sleep", "",
                            [&]() -> asio::awaitable<void> {
                                asio::steady_timer timer(co_await asio::this_coro::executor, 20s);
                                asio::error_code ended;
                                co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
                                cancelled = ended == asio::error::operation_aborted;
                            }),
                  host_tool("queued", "", [&] { was_called = true; }, {.executor = never_run.get_executor()})});
    REQUIRE(box.run("from mcptools import host") == "");
    auto const r = box->execute("host.sleep.run()", {.timeout = 3s}); // time for the call to begin on a busy machine
    REQUIRE_FALSE(r);
    CHECK(r.error() == condition::timeout);
    CHECK(eventually([&] { return cancelled.load(); }));
    auto const q = box->execute("host.queued.run()", {.timeout = 300ms});
    REQUIRE_FALSE(q);
    CHECK(q.error() == condition::timeout);
    never_run.run();
    CHECK_FALSE(was_called);
    CHECK(box.run("1 + 1") == "2");
}

TEST_CASE("host tools: code gives a call up, and goes on", "[kernel]") {
    std::atomic<int> told = 0;
    auto const wait = [&](tool_context const& call) {
        while (!call.stop_requested()) std::this_thread::sleep_for(1ms);
        ++told;
    };
    host_box box({host_tool("wait", "", wait)});
    REQUIRE(box->generate_mcp_sources("host", box.root(), {.style = codegen::generate_options::call_style::awaitable}));
    CHECK(box.run(
              "import asyncio\nfrom mcptools.host import wait\n"
              "try:\n    await asyncio.wait_for(wait.run(), 0.1)\nexcept asyncio.TimeoutError:\n    print('enough')") ==
          "enough");
    CHECK(eventually([&] { return told == 1; }));
}

TEST_CASE("host tools: a function that never answers does not hold up the end", "[kernel]") {
    auto const gate = std::make_shared<std::promise<void>>();
    auto const open = gate->get_future().share();
    std::atomic<bool> begun = false;
    {
        host_box box({host_tool("stuck", "", [open, &begun] {
            begun = true;
            open.wait();
        })});
        auto running = std::async(std::launch::async,
                                  [&] { return box->execute("from mcptools.host import stuck\nstuck.run()"); });
        REQUIRE(eventually([&] { return begun.load(); }));
        auto const from = std::chrono::steady_clock::now();
        box.drop();
        CHECK(std::chrono::steady_clock::now() - from < 5s);
        CHECK_FALSE(running.get());
    }
    gate->set_value();
}

TEST_CASE("host tools: a function that takes the hint has returned when the executor is gone", "[kernel]") {
    bool returned = false; // no atomic: the destructor waits for the function
    std::atomic<bool> begun = false;
    {
        host_box box({host_tool("wait", "", [&](tool_context const& call) {
            begun = true;
            while (!call.stop_requested()) std::this_thread::sleep_for(1ms);
            std::this_thread::sleep_for(20ms);
            returned = true;
        })});
        auto running =
            std::async(std::launch::async, [&] { return box->execute("from mcptools.host import wait\nwait.run()"); });
        REQUIRE(eventually([&] { return begun.load(); }));
        box.drop();
        CHECK_FALSE(running.get());
    }
    CHECK(returned);
}

TEST_CASE("host tools: the context of a function goes under its call", "[kernel]") {
    auto pool = std::make_unique<asio::io_context>();
    std::atomic<bool> begun = false;
    host_box box({host_tool("sleep", "",
                            [&]() -> asio::awaitable<void> {
                                begun = true;
                                asio::steady_timer timer(co_await asio::this_coro::executor, 20s);
                                co_await timer.async_wait(asio::use_awaitable);
                            },
                            {.executor = pool->get_executor()})});
    auto const code = "from mcptools.host import sleep\ntry:\n    sleep.run()\nexcept Exception as e:\n    "
                      "print(type(e).__name__, e)";
    auto running = std::async(std::launch::async, [&] { return box.run(code); });
    REQUIRE(eventually([&] {
        pool->restart();
        pool->run_for(10ms);
        return begun.load();
    }));
    pool.reset();
    CHECK(running.get() == "ToolRunnerError the application has dropped the call without an answer");
    CHECK(box.run(code) == "ToolRunnerError the executor of the host tool is gone");
}

TEST_CASE("host tools: a tool is removed under its call", "[kernel]") {
    std::atomic<bool> begun = false;
    std::atomic<bool> told = false;
    host_box box({host_tool("wait", "", [&](tool_context const& call) {
        begun = true;
        while (!call.stop_requested()) std::this_thread::sleep_for(1ms);
        told = true;
    })});
    auto running = std::async(std::launch::async, [&] {
        return box.run("from mcptools.host import wait\ntry:\n    wait.run()\nexcept Exception as e:\n    "
                       "print(type(e).__name__, e)");
    });
    REQUIRE(eventually([&] { return begun.load(); }));
    REQUIRE(box->remove_tool("wait") == true);
    CHECK(running.get() == "ToolRunnerError the tool was removed");
    CHECK(eventually([&] { return told.load(); }));
}

TEST_CASE("host tools: more calls than threads", "[kernel]") {
    std::atomic<int> at_once = 0;
    std::atomic<int> most = 0;
    host_box box({host_tool("hold", "", {"n"}, [&](int n) {
        auto const now = ++at_once;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {}
        std::this_thread::sleep_for(5ms);
        --at_once;
        return n;
    })});
    REQUIRE(box->generate_mcp_sources("host", box.root(), {.style = codegen::generate_options::call_style::awaitable}));
    CHECK(box.run("import asyncio\nfrom mcptools.host import hold\n"
                  "print(sum(await asyncio.gather(*(hold.run(n=n) for n in range(300)))))") == "44850");
    CHECK(most <= 64);
    CHECK(most > 4);
}

// --- progress ------------------------------------------------------------------------------------------------------------

TEST_CASE("host tools: progress is heard where code asks for it", "[kernel][compat]") {
    auto const work = [](int steps, tool_context const& call) {
        for (int done = 1; done <= steps; ++done) call.progress(done, steps, "step " + std::to_string(done));
        return steps;
    };
    host_box box({host_tool("work", "", {"steps"}, work)});
    REQUIRE(box->generate_mcp_sources("host", box.root(), {.style = codegen::generate_options::call_style::both}));
    CHECK(box.run("import mcptools\nfrom mcptools.host import work\nwork.run(steps=3)") == "3");
    // Of reports in quick succession the last one is heard.
    CHECK(box.run("heard = []\nwith mcptools.progress(heard.append):\n    work.run(steps=2000)\n"
                  "print(heard[-1], len(heard) <= 2000, [r.done for r in heard] == sorted({r.done for r in heard}))") ==
          "2000 of 2000: step 2000 True True");
    CHECK(box.run(
              "heard.clear()\nwith mcptools.progress(heard.append):\n    await work.arun(steps=5)\nprint(heard[-1])") ==
          "5 of 5: step 5");
    CHECK(box.run("with mcptools.progress():\n    work.run(steps=1)") == "1 of 1: step 1");
    CHECK(box.run("heard.clear()\nwork.run(steps=5)\nheard") == "[]");
}

TEST_CASE("host tools: what hears of progress may end the call", "[kernel]") {
    std::atomic<bool> told = false;
    host_box box({host_tool("work", "", [&](tool_context const& call) {
        for (int done = 1; !call.stop_requested(); ++done) {
            call.progress(done);
            std::this_thread::sleep_for(1ms);
        }
        told = true;
    })});
    CHECK(box.run("import mcptools\nfrom mcptools.host import work\n"
                  "def enough(report):\n    if report.done > 3:\n        raise LookupError(report.total)\n"
                  "try:\n    with mcptools.progress(enough):\n        work.run()\nexcept LookupError as e:\n    "
                  "print('ended', e)") == "ended None");
    CHECK(eventually([&] { return told.load(); }));
    // A cell that waits for reports can be interrupted as any other.
    told = false;
    auto const r = box->execute("with mcptools.progress(lambda report: None):\n    work.run()", {.timeout = 300ms});
    REQUIRE_FALSE(r);
    CHECK(r.error() == condition::timeout);
    CHECK(eventually([&] { return told.load(); }));
    CHECK(box.run("1 + 1") == "2");
}

// --- much ----------------------------------------------------------------------------------------------------------------

namespace {

/// Resident memory of this process in KiB.
long kept_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
    return 0;
}

} // namespace

TEST_CASE("host tools: 30,000 calls take no more memory than 5,000", "[kernel]") {
    host_box box({host_tool("add", "", {"a", "b"}, [](int a, int b) { return a + b; })});
    // Many at once: one after the other they would wait for each other's threads most of the time.
    auto const calls = [&](int count) {
        return box.run(
            "import asyncio\nfrom ipybox_kernel.tools import ToolRunner\nhost = ToolRunner('host')\nsum = 0\n"
            "for first in range(0, " +
            std::to_string(count) +
            ", 500):\n    some = range(first, first + 500)\n"
            "    for got in await asyncio.gather(*(host.run('add', {'a': n, 'b': 1}) for n in some)):\n        sum += "
            "got\nprint(sum)");
    };
    CHECK(calls(5'000) == "12502500");
    auto const before = kept_kib();
    CHECK(calls(30'000) == "450015000");
    CHECK(kept_kib() - before < 4096);
}
