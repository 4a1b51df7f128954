#include <support/mcp_host.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

namespace {

using namespace ipybox;
using namespace ipybox::test::mcp_host_names;

class task_host : public mcp_host {
  public:
    /// tests/mcp/servers/resourceful.py, whose tools are listed: it says then which ones are tasks.
    void use_resourceful(std::string era) {
        use({test::python().string(),
             {(test::source_dir() / "tests/mcp/servers/resourceful.py").string(), "--era", std::move(era)}});
        REQUIRE(test::run(context(), registry().list_tools("s")));
    }
};

} // namespace

TEST_CASE_METHOD(task_host, "tasks: a tool that its server runs as a task only is called as one, in both eras") {
    for (auto const* const era : {"handshake", "stateless"}) {
        CAPTURE(era);
        use_resourceful(era);
        CHECK(text("work", {{"steps", 3}}) == "worked");
        auto const asked = text("asked");
        CHECK(contains(asked, "tools/call\ntasks/get\ntasks/get\ntasks/get"));
        CHECK(asked.ends_with("tasks/result\ntools/call") == (std::string(era) == "handshake"));
        CHECK_FALSE(contains(asked, "tasks/cancel"));
    }
}

TEST_CASE_METHOD(task_host, "tasks: a tool that is called without a list of tools, as code in a kernel calls it") {
    use({test::python().string(), {(test::source_dir() / "tests/mcp/servers/resourceful.py").string()}});
    auto const called = test::run(
        context(), registry().call_listed("s", "work", mcp::raw_json::read("{}").value(), mcp::call_options()));
    REQUIRE(called);
    CHECK(called->text() == "worked");
}

TEST_CASE_METHOD(task_host, "tasks: one that fails, or is cancelled at the server") {
    use_resourceful("handshake");
    auto const failed = call("work", {{"ends", "failed"}});
    REQUIRE(failed);
    CHECK(failed->is_error);
    CHECK(failed->text() == "it failed");
    CHECK(contains(failure_of("work", {{"ends", "cancelled"}}).text(), "cancelled the task of the call"));
    use_resourceful("stateless");
    CHECK(contains(failure_of("work", {{"ends", "failed"}}).text(), "failed in the task of the call: it failed"));
    CHECK(failure_of("work", {{"ends", "input_required"}}) == errc::mcp_input_required);
    CHECK(contains(text("asked"), "tasks/cancel"));
}

TEST_CASE_METHOD(task_host, "tasks: a call that is not waited for any more cancels its task") {
    for (auto const* const era : {"handshake", "stateless"}) {
        CAPTURE(era);
        use_resourceful(era);
        mcp::call_options hurried;
        hurried.timeout = 300ms;
        CHECK(failure_of("work", {{"steps", 100'000}}, hurried) == errc::timed_out);
        CHECK(contains(text("asked"), "tasks/get\ntasks/cancel"));

        auto const waiting = begin("work", {{"steps", 100'000}});
        auto const began = std::chrono::steady_clock::now();
        (void)until([&] { return std::chrono::steady_clock::now() - began > 300ms; });
        REQUIRE_FALSE(waiting->outcome);
        waiting->cancel.emit(asio::cancellation_type::terminal);
        REQUIRE(until([&] { return waiting->outcome.has_value(); }));
        CHECK(waiting->outcome->error() == errc::cancelled);
        auto const asked = text("asked");
        CHECK(contains(asked.substr(asked.find("tasks/cancel") + 1), "tasks/cancel"));
    }
}

TEST_CASE_METHOD(task_host, "tasks: a server that ends fails the call whose task is being waited for") {
    use_resourceful("handshake");
    auto const waiting = begin("work", {{"steps", 100'000}});
    auto const began = std::chrono::steady_clock::now();
    (void)until([&] { return std::chrono::steady_clock::now() - began > 300ms; });
    (void)stop();
    REQUIRE(until([&] { return waiting->outcome.has_value(); }));
    CHECK(waiting->outcome->error() == errc::not_running);
}

TEST_CASE_METHOD(task_host, "server-everything: the tool that is a task") {
    auto const script =
        std::filesystem::path(IPYBOX_TEST_MCP_NODE) / "@modelcontextprotocol/server-everything/dist/index.js";
    REQUIRE(std::filesystem::exists(script));
    use({"node", {script.string()}});
    REQUIRE(test::run(context(), registry().list_tools("s")));
    CHECK(contains(text("simulate-research-query", {{"topic", "tides"}}), "# Research Report: tides"));
    CHECK(contains(text("simulate-research-query", {{"topic", "tides"}, {"ambiguous", true}}), "# Research Report"));
}
