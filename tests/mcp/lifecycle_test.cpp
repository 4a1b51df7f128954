#include <support/mcp_host.hpp>

#include <asio/io_context.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace ipybox;
using namespace ipybox::test::mcp_host_names;

std::ptrdiff_t open_descriptors() {
    std::filesystem::directory_iterator const descriptors("/proc/self/fd");
    return std::distance(begin(descriptors), end(descriptors));
}

std::string children() {
    std::ifstream list("/proc/self/task/" + std::to_string(::getpid()) + "/children");
    std::string all;
    std::getline(list, all);
    return all;
}

/// A server of three lines, for it is started often.
mcp::server_params tiny() {
    constexpr auto script = R"sh(
while read -r line; do
    id=${line#*\"id\":}; id=${id%%,*}
    case $line in
        *initialize\"*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\"}}" ;;
        *tools/call*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}" ;;
    esac
done)sh";
    mcp::server_params params;
    params.command = "/bin/sh";
    params.args = {"-c", script};
    return params;
}

} // namespace

TEST_CASE_METHOD(mcp_host, "Q13 lifecycle: started and stopped 200 times, nothing is left") {
    use(tiny());
    CHECK(text("t") == "hi");
    stop();
    auto const before = open_descriptors();
    for (int round = 0; round < 200; ++round) {
        REQUIRE(text("t") == "hi");
        stop();
    }
    CHECK(open_descriptors() == before);
    CHECK(children().empty());
}

TEST_CASE("lifecycle: registries made and dropped, with calls under way") {
    std::optional<std::ptrdiff_t> before;
    for (int round = 0; round < 30; ++round) {
        {
            mcp_host host;
            host.use(tiny());
            REQUIRE(host.text("t") == "hi");
            (void)host.begin("t");
            (void)host.begin("t");
        }
        if (!before) before = open_descriptors();
    }
    CHECK(open_descriptors() == before);
    CHECK(children().empty());
}

TEST_CASE("lifecycle: a context that is destroyed with servers that run") {
    for (int round = 0; round < 5; ++round) {
        asio::io_context context{1};
        mcp::server_registry registry(context.get_executor());
        REQUIRE(registry.add("s", tiny()));
        REQUIRE(test::run(context, registry.call("s", "t", json::object())));
        asio::co_spawn(context, registry.call("s", "t", json::object()),
                       [](std::exception_ptr, result<mcp::call_result>) {});
        context.restart();
        context.poll();
    }
    CHECK(children().empty());
}
