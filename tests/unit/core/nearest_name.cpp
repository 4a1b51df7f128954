#include <ipybox/core/nearest_name.hpp>

#include <support/catch.hpp>

#include <string>
#include <vector>

namespace {

using ipybox::detail::nearest_name;

std::vector<std::string> const known_options{
    "timeout", "tool-timeout", "working-dir", "approve", "approve-shell-cmds", "mcp-config", "times", "yes"};

} // namespace

TEST_CASE("nearest_name: a few letters are wrong, missing, too many or exchanged") {
    CHECK(nearest_name("time-out", known_options) == "timeout");
    CHECK(nearest_name("tiemout", known_options) == "timeout");
    CHECK(nearest_name("tooltimeout", known_options) == "tool-timeout");
    CHECK(nearest_name("working_dir", known_options) == "working-dir");
    CHECK(nearest_name("time", known_options) == "times");
    CHECK(nearest_name("yse", known_options) == "yes");
    CHECK(nearest_name("approv", known_options) == "approve");
    CHECK(nearest_name("timeout", known_options) == "timeout");
}

TEST_CASE("nearest_name: the beginning is the same") {
    CHECK(nearest_name("workdir", known_options) == "working-dir");
    CHECK(nearest_name("approve-shell", known_options) == "approve-shell-cmds");
    CHECK(nearest_name("mcp", known_options) == "mcp-config");
    CHECK(nearest_name("work", known_options) == "working-dir");
}

TEST_CASE("nearest_name: other words are like none") {
    CHECK(nearest_name("fast", known_options).empty());
    CHECK(nearest_name("colour", known_options).empty());
    CHECK(nearest_name("", known_options).empty());
    CHECK(nearest_name("y", known_options).empty());
    CHECK(nearest_name("workload-manager", known_options).empty());
    CHECK(nearest_name(std::string(1'000'000, 'x'), known_options).empty());
    CHECK(nearest_name("timeout", {}).empty());
}
