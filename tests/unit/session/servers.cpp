#include <ipybox/codegen/write_package.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/eventually.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>
#include <support/scripted_box.hpp>

#include <signal.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

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

} // namespace

TEST_CASE("session: MCP servers are reached as the options say") {
    mcp::registry_options servers;
    servers.variables = [](std::string const& name) { return std::optional<std::string>("https://" + name); };
    auto const reached = std::make_shared<std::string>();
    servers.make_channel = [reached](auto const&,
                                     mcp::server_params const& params) -> result<std::shared_ptr<mcp::channel>> {
        *reached = std::get<mcp::remote_server>(params.server).url;
        return failure(errc::mcp_start_failed, "nobody is there");
    };
    test::scripted_box box;
    box.adapt([&](executor_options& options) {
        options.servers = std::make_shared<mcp::registry_options const>(std::move(servers));
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

TEST_CASE_METHOD(test::scripted_box,
                 "session: the destructor does not wait for a stubborn MCP server as long as it may take") {
    auto const told = dir() / "pid";
    mcp::server_params params;
    params.server = mcp::stdio_server{"/bin/sh", {"-c", stubborn, told.string()}};
    params.stop_grace = std::chrono::hours(1);
    REQUIRE((*this)->register_mcp_server("slow", params));
    REQUIRE((*this)->generate_mcp_sources("slow", dir() / "mcptools"));
    pid_t const pid = std::stoi(test::read_file(told));
    REQUIRE(::kill(pid, 0) == 0);
    auto const began = std::chrono::steady_clock::now();
    drop();
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(30));
    CHECK(test::eventually([pid] { return ::kill(pid, 0) != 0; }));
}
