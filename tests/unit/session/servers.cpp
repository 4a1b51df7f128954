#include <ipybox/codegen/write_package.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scratch_dir.hpp>
#include <support/scripted_box.hpp>

#include <memory>
#include <string>
#include <utility>

using namespace ipybox;

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
