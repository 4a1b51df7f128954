// Packages of real servers: with an executor, without one, and with servers that executors share. No kernel is started.

#include <ipybox/codegen.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/coroutines.hpp"
#include "support/mcp_host.hpp"
#include "support/scratch_dir.hpp"

namespace {

using namespace ipybox;
using namespace ipybox::test;
using sources = result<codegen::generated_sources>;

/// tests/support/tool_server.py.
mcp::server_params tool_server() {
    mcp::server_params params;
    params.command = python().string();
    params.args = {(source_dir() / "tests/support/tool_server.py").string()};
    return params;
}

/// A server that answers nothing.
mcp::server_params silent_server() {
    mcp::server_params params;
    params.command = "/bin/sleep";
    params.args = {"60"};
    return params;
}

executor_options in(scratch_dir const& dir) {
    executor_options options;
    options.working_dir = dir.path();
    return options;
}

bool has_tools(std::filesystem::path const& root, sources const& made) {
    return made && made->modules.front() == "echo" && std::filesystem::exists(root / "tools/echo.py");
}

} // namespace

TEST_CASE("generate: without an executor, of a server that is started for it and ended") {
    scratch_dir const dir;
    auto const made = codegen::generate("tools", tool_server(), dir.path());
    CHECK(has_tools(dir.path(), made));
    CHECK(mcp::server_registry::list_tools_of("tools", tool_server())->tools.front().name == "echo");
    CHECK(codegen::generate("no name", tool_server(), dir.path()).error() == errc::invalid_argument);
    auto missing = tool_server();
    missing.command = "/no/such/program";
    CHECK(codegen::generate("tools", missing, dir.path()).error() == errc::mcp_start_failed);
}

TEST_CASE("generate: on the application's own context, where waiting would be a deadlock") {
    scratch_dir const dir;
    asio::io_context context;
    executor box(context.get_executor(), in(dir), {}, no_sandbox{});
    REQUIRE(box.register_mcp_server("tools", tool_server()));
    std::optional<sources> first, second, unknown;
    auto const generate = [&]() -> asio::awaitable<void> {
        first = co_await box.async_generate_mcp_sources("tools", dir.path() / "first");
        codegen::generate_options how;
        how.filter = [](mcp::tool const& tool) { return tool.name == "echo"; };
        second = co_await box.async_generate_mcp_sources("tools", dir.path() / "second", how);
        unknown = co_await box.async_generate_mcp_sources("others", dir.path() / "third");
        (void)co_await box.async_stop();
    };
    asio::co_spawn(context, generate, [](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    });
    context.run();
    CHECK(has_tools(dir.path() / "first", *first));
    CHECK((*second)->modules == std::vector<std::string>{"echo"});
    CHECK(unknown->error() == errc::mcp_server_unknown);
}

TEST_CASE("generate: cancelled, and cut off by the executor's end, it completes") {
    scratch_dir const dir;
    asio::io_context context;
    auto box = std::make_unique<executor>(context.get_executor(), in(dir), any_approval{}, no_sandbox{});
    REQUIRE(box->register_mcp_server("tools", silent_server()));
    asio::cancellation_signal unwanted;
    std::optional<sources> cancelled, cut_off;
    box->async_generate_mcp_sources(
        "tools", dir.path(),
        asio::bind_cancellation_slot(unwanted.slot(), [&](sources made) { cancelled = std::move(made); }));
    box->async_generate_mcp_sources("tools", dir.path(), [&](sources made) { cut_off = std::move(made); });
    context.poll();
    unwanted.emit(asio::cancellation_type::total);
    context.poll();
    REQUIRE(cancelled);
    CHECK(cancelled->error() == condition::cancelled);
    CHECK_FALSE(cut_off);
    box.reset();
    context.restart();
    context.run();
    REQUIRE(cut_off);
    CHECK(cut_off->error() == errc::not_running);
    CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("generate: servers of an executor are replaced, removed and named") {
    scratch_dir const dir;
    executor box(in(dir), {}, no_sandbox{});
    REQUIRE(box.register_mcp_server("tools", silent_server()));
    CHECK(box.register_mcp_server("tools", tool_server()).error() == errc::mcp_server_exists);
    REQUIRE(box.replace_mcp_server("tools", tool_server()));
    CHECK(box.mcp_servers() == std::vector<std::string>{"tools"});
    CHECK(has_tools(dir.path() / "a", box.generate_mcp_sources("tools", dir.path() / "a")));
    CHECK(box.remove_mcp_server("tools"));
    CHECK_FALSE(box.remove_mcp_server("tools"));
    CHECK(box.mcp_servers().empty());
}

TEST_CASE("generate: executors that share a registry share its servers, which outlive them") {
    scratch_dir const dir;
    mcp_host host;
    auto const shared = std::make_shared<mcp::server_registry>(host.context().get_executor());
    REQUIRE(shared->add("tools", tool_server()));
    auto const pid = [&] {
        auto const told = run(host.context(), shared->call("tools", "server", nlohmann::json::object()));
        return told ? told->structured_content->value().at("pid").get<int>() : 0;
    };
    auto const before = pid();
    REQUIRE(before > 0);
    for (auto const* const name : {"a", "b"}) {
        auto options = in(dir);
        options.mcp.registry = shared;
        executor box(host.context().get_executor(), options, {}, no_sandbox{});
        CHECK(box.mcp_servers() == std::vector<std::string>{"tools"});
        auto const made = run(host.context(), box.async_generate_mcp_sources("tools", dir.path() / name));
        CHECK(has_tools(dir.path() / name, made));
        REQUIRE(run(host.context(), box.async_stop()));
    }
    CHECK(pid() == before);
    run(host.context(), shared->stop());
}
