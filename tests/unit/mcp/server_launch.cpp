#include <ipybox/mcp/server_launch.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <filesystem>
#include <memory>
#include <utility>

namespace {

/// A sandbox whose program may reach hosts by name, if it is served.
struct sandbox_with_hosts {
    [[nodiscard]] ipybox::result<ipybox::launch_spec> wrap(ipybox::launch_spec spec) const {
        spec.network = std::make_shared<ipybox::sandbox_config const>();
        return ipybox::result<ipybox::launch_spec>(std::move(spec));
    }
};

} // namespace

TEST_CASE("server launch: a current directory that is gone is named, where it is needed") {
    auto const before = std::filesystem::current_path();
    ipybox::mcp::server_params server;
    server.command = "/bin/true";
    {
        ipybox::test::scratch_dir const dir;
        std::filesystem::current_path(dir.path());
    }
    auto const launch = ipybox::mcp::launch_of(server);
    server.working_dir = "/";
    auto const elsewhere = ipybox::mcp::launch_of(server);
    std::filesystem::current_path(before);
    REQUIRE_FALSE(launch);
    CHECK(launch.error() == ipybox::errc::io_error);
    CHECK(launch.error().text() == "finding the current directory, in which /bin/true would start (set `working_dir`): "
                                   "No such file or directory");
    CHECK(elsewhere);
}

TEST_CASE("server launch: a sandbox that names hosts is refused, as nothing serves them to a server") {
    ipybox::mcp::server_params server;
    server.command = "/bin/true";
    server.sandbox = ipybox::any_sandbox(sandbox_with_hosts());
    auto const launch = ipybox::mcp::sandboxed_launch_of(server);
    REQUIRE_FALSE(launch);
    CHECK(launch.error() == ipybox::errc::mcp_start_failed);
    CHECK(launch.error().text() ==
          "the sandbox of /bin/true names hosts (network/allowedDomains), which a server cannot "
          "reach by name: remove them");
}
