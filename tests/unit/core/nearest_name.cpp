#include <ipybox/core/nearest_name.hpp>

#include <support/catch.hpp>

#include <string>
#include <vector>

namespace {

using ipybox::detail::nearest_name;

std::vector<std::string> const names{"timeout",    "tool-timeout", "working-dir", "approve", "approve-shell-cmds",
                                     "mcp-config", "times",        "yes"};

} // namespace

TEST_CASE("nearest_name: a few letters are wrong, missing, too many or exchanged") {
    CHECK(nearest_name("time-out", names) == "timeout");
    CHECK(nearest_name("tiemout", names) == "timeout");
    CHECK(nearest_name("tooltimeout", names) == "tool-timeout");
    CHECK(nearest_name("working_dir", names) == "working-dir");
    CHECK(nearest_name("time", names) == "times");
    CHECK(nearest_name("yse", names) == "yes");
    CHECK(nearest_name("approv", names) == "approve");
    CHECK(nearest_name("timeout", names) == "timeout");
}

TEST_CASE("nearest_name: the beginning is the same") {
    CHECK(nearest_name("workdir", names) == "working-dir");
    CHECK(nearest_name("approve-shell", names) == "approve-shell-cmds");
    CHECK(nearest_name("mcp", names) == "mcp-config");
    CHECK(nearest_name("work", names) == "working-dir");
}

TEST_CASE("nearest_name: other words are like none") {
    CHECK(nearest_name("fast", names).empty());
    CHECK(nearest_name("colour", names).empty());
    CHECK(nearest_name("", names).empty());
    CHECK(nearest_name("y", names).empty());
    CHECK(nearest_name("workload-manager", names).empty());
    CHECK(nearest_name(std::string(1'000'000, 'x'), names).empty());
    CHECK(nearest_name("timeout", {}).empty());
}
