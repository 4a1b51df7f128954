#include <ipybox/codegen.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/eventually.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>
#include <support/scripted_box.hpp>

#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace ipybox;

namespace {

/// Works, and then does not end: neither with its input nor at SIGTERM.
constexpr auto stubborn = R"sh(
trap '' TERM
while read -r line; do
    id=${line#*\"id\":}; id=${id%%,*}
    case $line in
        *initialize\"*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\"}}" ;;
        *tools/list*) echo $$ > "$0"; echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[]}}" ;;
    esac
done
sleep 1000)sh";

/// Writes its pid into a file when its tools are listed.
mcp::server_params stubborn_server(std::filesystem::path const& told) {
    mcp::server_params params{"/bin/sh", {"-c", stubborn, told.string()}};
    params.stop_grace = std::chrono::hours(1);
    return params;
}

/// Lists one tool.
constexpr auto one_tool = R"sh(
while read -r line; do
    id=${line#*\"id\":}; id=${id%%,*}
    case $line in
        *initialize\"*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\"}}" ;;
        *tools/list*)
            tool='{"name":"a","inputSchema":{"type":"object"}}'
            echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[$tool]}}" ;;
    esac
done)sh";

} // namespace

TEST_CASE("session: MCP servers are reached as the options say") {
    mcp::registry_options servers;
    servers.variables = [](std::string const& name) { return std::optional<std::string>("https://" + name); };
    auto const reached = std::make_shared<std::string>();
    servers.make_channel = [reached](auto const&,
                                     mcp::server_params const& params) -> result<std::shared_ptr<mcp::channel>> {
        *reached = params.url;
        return failure(errc::mcp_start_failed, "nobody is there");
    };
    test::scripted_box box;
    box.adapt([&](executor_options& options) {
        options.mcp.options = std::make_shared<mcp::registry_options const>(std::move(servers));
    });
    test::scratch_dir const dir;
    auto const registered =
        box->register_mcp_servers(dir.write("mcp.json", R"({"mcpServers":{"far-off":{"url":"${HOST}/mcp"}}})"));
    REQUIRE(registered);
    CHECK(registered->names == std::vector<std::string>{"far_off"});
    CHECK(registered->notices.size() == 1);
    auto const made = box->generate_mcp_sources("far_off", dir.path() / "mcptools");
    REQUIRE_FALSE(made);
    CHECK(made.error() == errc::mcp_start_failed);
    CHECK(test::contains(made.error().text(), "nobody is there"));
    CHECK(*reached == "https://HOST/mcp");
}

namespace {

/// An executor with a server that lists one tool.
struct box_with_a_tool : test::scripted_box {
    box_with_a_tool() { register_tool(); }

    void register_tool() {
        mcp::server_params params;
        params.command = "/bin/sh";
        params.args = {"-c", one_tool};
        REQUIRE((*this)->register_mcp_server("tools", params));
    }

    auto generate(std::function<bool(mcp::tool const&)> filter) {
        codegen::generate_options how;
        how.filter = std::move(filter);
        return (*this)->async_generate_mcp_sources("tools", dir() / "mcptools", how, asio::use_future);
    }
};

} // namespace

TEST_CASE_METHOD(box_with_a_tool, "session: no package is written through a link in the middle of the way to it") {
    std::filesystem::create_directories(dir() / "work");
    std::filesystem::create_directories(dir() / "outside");
    std::filesystem::create_directory_symlink("../outside", dir() / "work/link");
    adapt([&](executor_options& options) { options.working_dir = dir() / "work"; });
    register_tool();
    auto const blocking = (*this)->generate_mcp_sources("tools", dir() / "work/link/mcptools");
    auto const asynchronous =
        test::got((*this)->async_generate_mcp_sources("tools", dir() / "work/link/mcptools", asio::use_future));
    for (auto const& made : {blocking, asynchronous}) {
        REQUIRE_FALSE(made);
        CHECK(made.error() == errc::io_error);
        CHECK(test::contains(made.error().text(), "link is a symbolic link"));
    }
    CHECK(std::filesystem::is_empty(dir() / "outside"));
}

TEST_CASE_METHOD(box_with_a_tool, "session: what a filter of tools throws is the error of its call") {
    auto const made = test::got(generate([](auto const&) -> bool { throw std::runtime_error("a filter's mistake"); }));
    REQUIRE_FALSE(made);
    CHECK(made.error() == errc::io_error);
    CHECK(test::contains(made.error().text(), "a filter's mistake"));
}

TEST_CASE_METHOD(box_with_a_tool, "session: a filter of tools may destroy the executor") {
    std::promise<void> dropped;
    auto made = generate([&](auto const&) {
        drop();
        dropped.set_value();
        return true;
    });
    CHECK(test::got(std::move(made)).error() == errc::not_running);
    // The program must not end meanwhile.
    REQUIRE(dropped.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready);
}

TEST_CASE_METHOD(test::scripted_box, "session: a configuration that is slow to read holds up nothing else") {
    auto const pipe = dir() / "mcp.json";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    auto registered = std::async(std::launch::async, [&] { return (*this)->register_mcp_servers(pipe); });
    // Opening waits until the other side reads.
    std::ofstream writing(pipe);
    auto const asked = std::async(std::launch::async, [&] { return (*this)->mcp_servers().size(); });
    if (asked.wait_for(std::chrono::seconds(30)) != std::future_status::ready) {
        std::cerr << "a file that is read holds up the executor" << std::endl;
        std::abort(); // the future would wait too
    }
    writing << R"({"mcpServers":{"far":{"command":"/bin/true"}}})" << std::flush;
    writing.close();
    CHECK(test::got(std::move(registered))->names == std::vector<std::string>{"far"});
}

TEST_CASE_METHOD(test::scripted_box,
                 "session: the destructor does not wait for a stubborn MCP server as long as it may take") {
    auto const told = dir() / "pid";
    REQUIRE((*this)->register_mcp_server("slow", stubborn_server(told)));
    REQUIRE((*this)->generate_mcp_sources("slow", dir() / "mcptools"));
    pid_t const pid = std::stoi(test::read_file(told));
    REQUIRE(::kill(pid, 0) == 0);
    auto const began = std::chrono::steady_clock::now();
    drop();
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(30));
    CHECK(test::eventually([pid] { return ::kill(pid, 0) != 0; }));
}

TEST_CASE_METHOD(test::scripted_box,
                 "session: the destructor kills an MCP server also where its context has been stopped") {
    asio::io_context context;
    on(context.get_executor());
    auto const told = dir() / "pid";
    REQUIRE((*this)->register_mcp_server("slow", stubborn_server(told)));
    auto made = (*this)->async_generate_mcp_sources("slow", dir() / "mcptools", asio::use_future);
    while (made.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        context.run_for(std::chrono::milliseconds(1));
    REQUIRE(made.get());
    pid_t const pid = std::stoi(test::read_file(told));
    REQUIRE(::kill(pid, 0) == 0);
    context.stop();
    drop();
    CHECK(test::eventually([pid] { return ::waitpid(pid, nullptr, WNOHANG) == pid; }));
}
